"""Plain HTTP/1.1 to a gateway nearby, with as little between a call and the socket as possible.

Made for one who asks before every step of somebody else's work: httpx2's own transport costs a
millisecond of CPU for a request. It speaks only what the gateway speaks (no TLS, no redirects, no streamed
bodies), keeps connections, and takes anything unexpected for no answer.
"""

import asyncio
from typing import Any, Final

import httpx2

from qwed_sdk.calls import MAX_ANSWER_BYTES

MAX_HEAD_BYTES: Final = 64 * 1024
MAX_IDLE: Final = 8


class _Line:
    """One connection, for one request at a time."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    @property
    def is_usable(self) -> bool:
        return not (self.reader.at_eof() or self.writer.is_closing())


class DirectTransport(httpx2.AsyncBaseTransport):
    def __init__(self) -> None:
        self._idle: dict[tuple[str, int], list[_Line]] = {}

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        if request.url.scheme != "http":
            raise httpx2.UnsupportedProtocol(f"only http, not {request.url.scheme}")
        timeout: dict[str, Any] = request.extensions.get("timeout") or {}
        address = (request.url.host, request.url.port or 80)
        try:
            async with asyncio.timeout(timeout.get("read")):
                line = self._take(address) or await _connect(address, timeout.get("connect"))
                return await self._exchange(address, line, request)
        except TimeoutError:
            raise httpx2.ReadTimeout("no answer in time", request=request) from None
        except (OSError, EOFError, asyncio.LimitOverrunError) as error:
            raise httpx2.ReadError(type(error).__name__, request=request) from None

    def _take(self, address: tuple[str, int]) -> _Line | None:
        idle = self._idle.get(address, [])
        while idle:
            line = idle.pop()
            if line.is_usable:
                return line
            line.writer.close()
        return None

    async def _exchange(
        self, address: tuple[str, int], line: _Line, request: httpx2.Request
    ) -> httpx2.Response:
        is_whole = False
        try:
            line.writer.write(_head(request) + await request.aread())
            await line.writer.drain()
            status, headers = _read_head(await line.reader.readuntil(b"\r\n\r\n"))
            body = await line.reader.readexactly(_length(status, headers))
            is_whole = True
        finally:
            idle = self._idle.setdefault(address, [])
            if is_whole and _stays(headers) and len(idle) < MAX_IDLE:
                idle.append(line)
            else:
                line.writer.close()
        return httpx2.Response(status, headers=headers, content=body, request=request)

    async def aclose(self) -> None:
        for lines in self._idle.values():
            for line in lines:
                line.writer.close()
        self._idle.clear()


async def _connect(address: tuple[str, int], seconds: float | None) -> _Line:
    try:
        async with asyncio.timeout(seconds):
            return _Line(*await asyncio.open_connection(*address, limit=MAX_HEAD_BYTES))
    except (TimeoutError, OSError) as error:
        raise httpx2.ConnectError(f"{type(error).__name__}") from None


def _head(request: httpx2.Request) -> bytes:
    lines = [request.method.encode() + b" " + request.url.raw_path + b" HTTP/1.1"]
    # httpx2 has checked that neither names nor values hold a line break.
    lines += [name + b": " + value for name, value in request.headers.raw]
    return b"\r\n".join(lines) + b"\r\n\r\n"


def _read_head(head: bytes) -> tuple[int, list[tuple[bytes, bytes]]]:
    first, *lines = head[:-4].split(b"\r\n")
    version, _, rest = first.partition(b" ")
    code = rest[:3]
    if version != b"HTTP/1.1" or not code.isdigit():
        raise httpx2.RemoteProtocolError("not an answer in HTTP/1.1")
    headers = []
    for line in lines:
        name, colon, value = line.partition(b":")
        if not colon or not name or name.strip() != name:
            raise httpx2.RemoteProtocolError("a header that is none")
        headers.append((name.lower(), value.strip()))
    return int(code), headers


def _length(status: int, headers: list[tuple[bytes, bytes]]) -> int:
    """The body's length, which must be said, once."""
    if status < 200:
        raise httpx2.RemoteProtocolError("an interim answer")
    lengths = [value for name, value in headers if name == b"content-length"]
    if any(name == b"transfer-encoding" for name, _ in headers) or (not lengths and status != 204):
        raise httpx2.RemoteProtocolError("an answer of unknown length")
    if len(set(lengths)) > 1 or not all(value.isdigit() for value in lengths):
        raise httpx2.RemoteProtocolError("an answer with an odd length")
    length = int(lengths[0]) if lengths else 0
    if length > MAX_ANSWER_BYTES:
        raise httpx2.RemoteProtocolError(f"an answer of {length} bytes")
    return length


def _stays(headers: list[tuple[bytes, bytes]]) -> bool:
    return (b"connection", b"close") not in [(name, value.lower()) for name, value in headers]
