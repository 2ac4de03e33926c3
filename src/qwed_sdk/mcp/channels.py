"""A channel carries messages to and from one side. Over pipes a message is a line."""

import asyncio
import os
import re
import selectors
import signal
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any, Final, Protocol

import msgspec

from qwed_sdk.mcp.messages import MalformedMessage, McpMessage, MessageId, encode, read_message

#: How long a server may take to leave after its input was closed, and after it was asked to.
LEAVE_SECONDS: Final = 2.0


CHUNK_BYTES: Final = 256 * 1024
#: Where the id of a message stands that is too large to be read: SDKs write it first or last.
_ID: Final = rb'"id"\s*:\s*(-?[0-9]{1,18}|"[^"\\\x00-\x1f]{1,200}")\s*'
_ID_FIRST: Final = re.compile(rb'\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?' + _ID + rb",")
_ID_LAST: Final = re.compile(rb'[}\]"]\s*,\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?' + _ID + rb"\}\s*$")
_END_BYTES: Final = 512


class ChannelBroken(Exception):
    """The other side is gone, or sends what cannot be read on."""


class MessageTooLarge(MalformedMessage):
    """A message was skipped unread. `id` is its own where that could be told."""

    def __init__(self, id: MessageId | None) -> None:
        self.id = id
        super().__init__("a message is larger than allowed")


class NoPipes(Exception):
    """Standard input or output is something that cannot be waited for, such as a file."""


class MessageChannel(Protocol):
    async def receive(self) -> McpMessage | None:
        """The next message; None at the end.

        Raises `MalformedMessage`, `MessageTooLarge` (read on) or `ChannelBroken`."""

    async def send(self, message: McpMessage, related: MessageId | None = None) -> None:
        """`related` is the request that made the other side say this. Raises `ChannelBroken`."""

    async def settle(self, request_id: MessageId) -> None:
        """A request of the other side that gets no answer, because it was cancelled."""


class LineChannel:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, max_bytes: int) -> None:
        self._reader = reader
        self._writer = writer
        self._max_bytes = max_bytes

    async def receive(self) -> McpMessage | None:
        while True:
            try:
                line = await self._line()
            except OSError as error:
                raise ChannelBroken(str(error)) from None
            if not line:
                return None
            if not line.isspace():
                return read_message(line)

    async def _line(self) -> bytes:
        """Up to and with its end; empty at the end of all. Raises `MessageTooLarge`."""
        try:
            return await self._reader.readuntil(b"\n")
        except asyncio.IncompleteReadError as end:
            return end.partial
        except asyncio.LimitOverrunError:
            return await self._long_line()

    async def _long_line(self) -> bytes:
        """Larger than the reader's own buffer, which stays small so that it is never copied around."""
        parts: list[bytes] = []
        size = 0
        first = last = b""
        while True:
            part, is_end = await self._part()
            size += len(part)
            if size <= self._max_bytes:
                parts.append(part)
            else:
                first = first or b"".join(parts)[:_END_BYTES] or part[:_END_BYTES]
                last = ((last or b"".join(parts[-1:])) + part)[-_END_BYTES:]
                parts.clear()
            if is_end:
                break
        if size > self._max_bytes:
            raise MessageTooLarge(_id_of(first, last))
        return b"".join(parts)

    async def _part(self) -> tuple[bytes, bool]:
        try:
            return await self._reader.readuntil(b"\n"), True
        except asyncio.IncompleteReadError as end:
            return end.partial, True
        except asyncio.LimitOverrunError as overrun:
            return await self._reader.readexactly(overrun.consumed), False

    async def send(self, message: McpMessage, related: MessageId | None = None) -> None:
        try:
            self._writer.writelines((encode(message), b"\n"))
            await self._writer.drain()
        except OSError as error:
            raise ChannelBroken(str(error)) from None

    async def settle(self, request_id: MessageId) -> None:
        """Nothing: a pipe has no request to end."""


@asynccontextmanager
async def own_stdio(max_bytes: int) -> AsyncIterator[LineChannel]:
    """This process's standard input and output. Raises `NoPipes`."""
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=CHUNK_BYTES)
    try:
        # What cannot be waited for (a file, /dev/null) asyncio would notice only after it said yes.
        with selectors.DefaultSelector() as probe:
            probe.register(sys.stdin.buffer, selectors.EVENT_READ)
        arriving, _ = await loop.connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), sys.stdin.buffer
        )
        leaving, protocol = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, sys.stdout.buffer)
    except (ValueError, OSError):
        raise NoPipes("a client talks to this over pipes: start it from one, or use --listen") from None
    writer = asyncio.StreamWriter(leaving, protocol, None, loop)
    try:
        yield LineChannel(reader, writer, max_bytes)
        with suppress(OSError):
            await asyncio.wait_for(_flush(leaving), LEAVE_SECONDS)
    finally:
        arriving.close()
        leaving.close()


def _id_of(first: bytes, last: bytes) -> MessageId | None:
    found = _ID_FIRST.match(first) or _ID_LAST.search(last)
    return None if found is None else msgspec.json.decode(found.group(1), type=int | str)


async def _flush(transport: asyncio.WriteTransport) -> None:
    while transport.get_write_buffer_size():
        await asyncio.sleep(0.005)


@asynccontextmanager
async def child_process(
    command: Sequence[str], environ: Mapping[str, str], max_bytes: int
) -> AsyncIterator[LineChannel]:
    """A server of its own process group, so that what it started ends with it. Raises `OSError`."""
    process = await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        env=dict(environ),
        limit=CHUNK_BYTES,
        start_new_session=True,
    )
    assert process.stdin is not None and process.stdout is not None
    try:
        yield LineChannel(process.stdout, process.stdin, max_bytes)
    finally:
        await asyncio.shield(_leave(process))


async def _leave(process: asyncio.subprocess.Process) -> None:
    """Close its input, then ask, then force: the order the protocol gives."""
    assert process.stdin is not None
    with suppress(OSError, RuntimeError):
        process.stdin.close()
    for end in (None, signal.SIGTERM, signal.SIGKILL):
        if end is not None:
            _signal_group(process, end)
        if await _has_left(process):
            break
    _signal_group(process, signal.SIGKILL)
    transport: Any = getattr(process, "_transport", None)
    if transport is not None:
        transport.close()


async def _has_left(process: asyncio.subprocess.Process) -> bool:
    """By its return code: `wait` would also wait for children that keep its output open."""
    deadline = asyncio.get_running_loop().time() + LEAVE_SECONDS
    while process.returncode is None and asyncio.get_running_loop().time() < deadline:
        await asyncio.sleep(0.01)
    return process.returncode is not None


def _signal_group(process: asyncio.subprocess.Process, number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)
