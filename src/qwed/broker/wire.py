"""HTTP/1.1 with a client, read and written by h11, over a stream. Every wait and size has a limit."""

import asyncio
import contextlib
import ssl
from typing import Final

import h11

from qwed.broker.refusals import BrokerRefused, Headers
from qwed.domain.codes import Code

MAX_HEAD_BYTES: Final = 64 * 1024
READ_BYTES: Final = 64 * 1024
HEAD_SECONDS: Final = 60.0
BODY_SECONDS: Final = 60.0
WRITE_SECONDS: Final = 300.0
LINGER_SECONDS: Final = 1.0
LINGER_BYTES: Final = 1024 * 1024


class ClientGone(Exception):
    """Nobody is there to answer."""


class Wire:
    """One connection of the agent's."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer
        self._http = h11.Connection(h11.SERVER, max_incomplete_event_size=MAX_HEAD_BYTES)

    async def request(self) -> h11.Request | None:
        """The next one; None at the end. Raises `BrokerRefused` for what is no HTTP."""
        while True:
            event = await self._event(HEAD_SECONDS)
            if isinstance(event, h11.Request):
                return event
            if isinstance(event, h11.ConnectionClosed):
                return None

    async def body_piece(self) -> bytes | None:
        """None at its end."""
        if self._http.they_are_waiting_for_100_continue:
            await self.send(h11.InformationalResponse(status_code=100, headers=[]))
        event = await self._event(BODY_SECONDS)
        if isinstance(event, h11.Data):
            return bytes(event.data)
        if isinstance(event, h11.EndOfMessage):
            return None
        raise ClientGone

    async def _event(self, seconds: float) -> h11.Event | type[h11.PAUSED]:
        while True:
            try:
                event = self._http.next_event()
            except h11.RemoteProtocolError as error:
                raise BrokerRefused(Code.BROKER_REQUEST, f"the request is not HTTP: {error}") from None
            if event is not h11.NEED_DATA:
                return event  # type: ignore[return-value]
            try:
                async with asyncio.timeout(seconds):
                    data = await self.reader.read(READ_BYTES)
            except (TimeoutError, OSError, ssl.SSLError):
                raise ClientGone from None
            self._http.receive_data(data)

    async def send(self, event: h11.Event) -> None:
        data = self._http.send(event)
        if not data:
            return
        try:
            self.writer.write(data)
            async with asyncio.timeout(WRITE_SECONDS):
                await self.writer.drain()
        except (TimeoutError, OSError, ssl.SSLError, RuntimeError):
            raise ClientGone from None

    async def answer(self, status: int, headers: Headers, body: bytes, reason: bytes = b"") -> None:
        """A whole answer, after which nothing is read."""
        if self._http.our_state not in (h11.IDLE, h11.SEND_RESPONSE):
            return
        await self.send(h11.Response(status_code=status, headers=headers, reason=reason))
        await self.send(h11.Data(data=body))
        await self.send(h11.EndOfMessage())

    def next_cycle(self) -> bool:
        """Whether the connection goes on with another request."""
        if self._http.our_state is not h11.DONE or self._http.their_state is not h11.DONE:
            return False
        self._http.start_next_cycle()
        return True

    @property
    def early(self) -> bytes:
        """What came before it was asked for."""
        return bytes(self._http.trailing_data[0])

    async def start_tls(self, context: ssl.SSLContext) -> "Wire":
        try:
            async with asyncio.timeout(HEAD_SECONDS):
                await self.writer.start_tls(context)
        except (TimeoutError, OSError, ssl.SSLError):
            raise ClientGone from None
        return Wire(self.reader, self.writer)

    async def close(self) -> None:
        """What still comes is read for a moment: a reset would take the answer with it."""
        with contextlib.suppress(TimeoutError, OSError, ssl.SSLError, RuntimeError, ValueError):
            if self.writer.can_write_eof():
                self.writer.write_eof()
            left = LINGER_BYTES
            async with asyncio.timeout(LINGER_SECONDS):
                while left > 0 and (piece := await self.reader.read(READ_BYTES)):
                    left -= len(piece)
        self.writer.close()
        with contextlib.suppress(TimeoutError, OSError, ssl.SSLError, RuntimeError):
            async with asyncio.timeout(LINGER_SECONDS):
                await self.writer.wait_closed()
