"""A channel carries messages to and from one side. Over pipes a message is a line."""

import asyncio
import os
import selectors
import signal
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any, Final, Protocol

from qwed_sdk.mcp.messages import Message, MessageId, encode, read_message

#: How long a server may take to leave after its input was closed, and after it was asked to.
LEAVE_SECONDS: Final = 2.0


class ChannelBroken(Exception):
    """The other side is gone, or sends what cannot be read on."""


class NoPipes(Exception):
    """Standard input or output is something that cannot be waited for, such as a file."""


class Channel(Protocol):
    async def receive(self) -> Message | None:
        """The next message; None at the end. Raises `Malformed` (read on) or `ChannelBroken`."""

    async def send(self, message: Message, related: MessageId | None = None) -> None:
        """`related` is the request that made the other side say this. Raises `ChannelBroken`."""

    async def settle(self, request_id: MessageId) -> None:
        """A request of the other side that gets no answer, because it was cancelled."""


class LineChannel:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def receive(self) -> Message | None:
        while True:
            try:
                line = await self._reader.readline()
            except ValueError:
                raise ChannelBroken("a message is larger than allowed") from None
            except OSError as error:
                raise ChannelBroken(str(error)) from None
            if not line:
                return None
            if not line.isspace():
                return read_message(line)

    async def send(self, message: Message, related: MessageId | None = None) -> None:
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
    reader = asyncio.StreamReader(limit=max_bytes)
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
        yield LineChannel(reader, writer)
        with suppress(OSError):
            await asyncio.wait_for(_flushed(leaving), LEAVE_SECONDS)
    finally:
        arriving.close()
        leaving.close()


async def _flushed(transport: asyncio.WriteTransport) -> None:
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
        limit=max_bytes,
        start_new_session=True,
    )
    assert process.stdin is not None and process.stdout is not None
    try:
        yield LineChannel(process.stdout, process.stdin)
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
