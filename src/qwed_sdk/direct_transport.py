"""Plain HTTP/1.1 to a gateway nearby, with as little between a call and the socket as possible.

Made for one who asks before every step of somebody else's work: httpx2's own transport costs a
millisecond of CPU for a request, and its request and answer objects half of one. It speaks only what the
gateway speaks (no TLS, no redirects, no streamed bodies), keeps connections, and takes anything unexpected
for no answer.
"""

import asyncio
import re
import weakref
from collections.abc import Mapping
from typing import Final, TypeAlias

import httpx2
import msgspec

from qwed_sdk.calls import MAX_ANSWER_BYTES
from qwed_sdk.forks import PerProcess

MAX_HEAD_BYTES: Final = 64 * 1024
MAX_IDLE: Final = 8
_LINE_END: Final = re.compile(rb"[\r\n\0]")
_PLAIN_PATH: Final = re.compile(r"/[A-Za-z0-9._~/-]*")


class _Line:
    """One connection, for one request at a time."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    @property
    def is_usable(self) -> bool:
        return not (self.reader.at_eof() or self.writer.is_closing())


#: Connections that wait for their next request, by address.
_Idle: TypeAlias = dict[tuple[str, int], list[_Line]]


class DirectAnswer(msgspec.Struct, frozen=True):
    """Names of headers are in lower case."""

    status: int
    headers: list[tuple[bytes, bytes]]
    body: bytes

    def texts(self) -> dict[str, str]:
        """The headers by name; one that comes twice has both values, so that neither is believed alone."""
        found: dict[str, str] = {}
        for name, value in self.headers:
            key, text = str(name, "latin-1"), str(value, "latin-1")
            found[key] = f"{found[key]}, {text}" if key in found else text
        return found


class DirectTransport(httpx2.AsyncBaseTransport):
    """Connections belong to the process and the event loop that opened them."""

    def __init__(self) -> None:
        self._loops: PerProcess[weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, _Idle]]
        self._loops = PerProcess(weakref.WeakKeyDictionary)

    @property
    def _idle(self) -> _Idle:
        return self._loops.get().setdefault(asyncio.get_running_loop(), {})

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        if request.url.scheme != "http":
            raise httpx2.UnsupportedProtocol(f"only http, not {request.url.scheme}")
        timeout: dict[str, float | None] = request.extensions.get("timeout") or {}
        address = (request.url.host, request.url.port or 80)
        head = _head(request.method, request.url.raw_path, request.headers.raw)
        answered = await self.exchange(
            address, head + await request.aread(), timeout.get("connect"), timeout.get("read")
        )
        return httpx2.Response(
            answered.status, headers=answered.headers, content=answered.body, request=request
        )

    async def exchange(
        self,
        address: tuple[str, int],
        request: bytes,
        connect_seconds: float | None,
        read_seconds: float | None,
    ) -> DirectAnswer:
        """The answer to one whole request. Raises `httpx2.HTTPError` only."""
        try:
            async with asyncio.timeout(read_seconds):
                line = self._take(address) or await _connect(address, connect_seconds)
                return await self._exchange(address, line, request)
        except TimeoutError:
            raise httpx2.ReadTimeout("no answer in time") from None
        except (OSError, EOFError, asyncio.LimitOverrunError) as error:
            raise httpx2.ReadError(type(error).__name__) from error

    def _take(self, address: tuple[str, int]) -> _Line | None:
        idle = self._idle.get(address, [])
        while idle:
            line = idle.pop()
            if line.is_usable:
                return line
            line.writer.close()
        return None

    async def _exchange(self, address: tuple[str, int], line: _Line, request: bytes) -> DirectAnswer:
        is_whole = False
        try:
            line.writer.write(request)
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
        return DirectAnswer(status, headers, body)

    def drop(self) -> None:
        """Close what is idle; the next request opens a connection of its own."""
        for lines in self._idle.values():
            for line in lines:
                line.writer.close()
        self._idle.clear()

    async def aclose(self) -> None:
        self.drop()


class DirectGateway:
    """One gateway, asked over a direct transport without httpx2's request and answer in between."""

    def __init__(self, transport: DirectTransport, base_url: str) -> None:
        url = httpx2.URL(base_url)
        self._transport = transport
        self._address = (url.host, url.port or 80)
        self._host = url.netloc
        self._prefix = url.path.rstrip("/")
        # A name and password in the address, or another scheme, are httpx2's business.
        self._is_plain = url.scheme == "http" and not url.userinfo and not url.query

    def drop(self) -> None:
        self._transport.drop()

    async def ask(
        self, method: str, path: str, headers: Mapping[str, str], content: bytes | None, seconds: float
    ) -> DirectAnswer | None:
        """None, and nothing is sent, where httpx2 has to write the request: something in it is not plain."""
        path = self._prefix + path
        if not (self._is_plain and _PLAIN_PATH.fullmatch(path) and all(map(_is_plain, headers.values()))):
            return None
        body = content or b""
        lines = [(b"host", self._host), (b"content-length", b"%d" % len(body))]
        lines += [(name.encode("ascii"), value.encode("ascii")) for name, value in headers.items()]
        request = _head(method, path.encode("ascii"), lines) + body
        return await self._transport.exchange(self._address, request, seconds, seconds)


def _is_plain(value: str) -> bool:
    """No line break, and nothing else that would not arrive as it was written."""
    return value.isascii() and value.isprintable()


async def _connect(address: tuple[str, int], seconds: float | None) -> _Line:
    try:
        async with asyncio.timeout(seconds):
            return _Line(*await asyncio.open_connection(*address, limit=MAX_HEAD_BYTES))
    except (TimeoutError, OSError) as error:
        raise httpx2.ConnectError(f"{type(error).__name__}") from error


def _head(method: str, path: bytes, headers: list[tuple[bytes, bytes]]) -> bytes:
    """Raises `httpx2.LocalProtocolError` for what would end its line early: httpx2 does not look for it."""
    lines = [method.encode() + b" " + path + b" HTTP/1.1"]
    lines += [name + b": " + value for name, value in headers]
    if any(map(_LINE_END.search, lines)):
        raise httpx2.LocalProtocolError("a header holds a line break")
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
