"""Uvicorn's protocol within bounds: what a peer sends, how long it takes, and how a connection ends.

Nothing is kept of a peer beyond `Bounds`, whatever it sends. A connection ends with an answer that says so;
what its peer still sends is read and thrown away for a while, since closing earlier would take the
answer away with it.
"""

import asyncio
import functools
import math
import os
import socket
import ssl
from collections.abc import Callable
from typing import Any, ClassVar, Final

import httptools
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle

from qwed.domain.codes import Code
from qwed.http.connections import Connections
from qwed.http.load_limit import REFUSAL, EndedBy, RequestGate, is_whole_post
from qwed.http.refusals import write_refusal

#: Set in the scope of a request that has arrived to its last byte.
WHOLE: Final = "qwed.whole"
#: In the scope of every request: what writes a whole answer at once (`write_answer`).
CYCLE: Final = "qwed.cycle"
#: The parser gets so much at once: what is over a bound is noticed after this many bytes more.
PIECE_BYTES: Final = 16_384
#: Requests that wait on one connection for the answer to an earlier one.
MAX_PIPELINED: Final = 16
#: What is read and thrown away after the last answer.
LINGER_BYTES: Final = 8 * 1024 * 1024
LINGER_SECONDS: Final = 5.0

_MALFORMED: Final = write_refusal(400, Code.REQUEST_MALFORMED, "this is not HTTP/1.1")
_SLOW: Final = write_refusal(
    408, Code.REQUEST_MALFORMED, "the request did not arrive in time; send it faster"
)
_LARGE: Final = write_refusal(
    431, Code.REQUEST_TOO_LARGE, "the headers are too large, or too many; send less"
)
_CROWDED: Final = write_refusal(
    503, Code.RATE_LIMITED, "too many connections are open; close some, or retry later", retry_after=1
)
_WHY: Final = {_MALFORMED: EndedBy.MALFORMED, _SLOW: EndedBy.TOO_SLOW, _LARGE: EndedBy.TOO_LARGE}


class _StopParsing(Exception):
    """Raised in a callback, to end the parser's work there."""


class _Wire:
    """A transport as uvicorn uses it; who closes it ends the connection as `BoundedProtocol` does."""

    __slots__ = ("_protocol", "_transport", "close", "write")

    def __init__(self, transport: asyncio.Transport, protocol: "BoundedProtocol") -> None:
        self._transport = transport
        self._protocol = protocol
        self.write: Callable[[bytes], None] = transport.write
        self.close: Callable[[], None] = protocol.end

    def is_closing(self) -> bool:
        return self._protocol.is_over or self._transport.is_closing()


class BoundedProtocol(HttpToolsProtocol):
    gate: ClassVar[RequestGate]
    everyone: ClassVar[Connections]
    tls: ClassVar[ssl.SSLContext | None] = None

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.bounds = self.everyone.bounds
        self.has_asked = False
        self.idle_since: float | None = None
        #: The last answer was given: nothing more is read or written.
        self.is_over = False
        self._raw: asyncio.Transport = None  # type: ignore[assignment]
        #: Nothing of a request that is not complete is in the parser.
        self._is_between = True
        self._is_in_head = True
        #: What arrives is not looked at any more; answers may still be due.
        self._is_deaf = False
        self._began = 0.0
        self._due = math.inf
        self._unread_due = math.inf
        self._has_moved = False
        self._head_bytes = self._thrown_away = self._requests = 0
        self._keeps_alive, self._is_last = True, False
        self._refusal = _MALFORMED
        self._securing: asyncio.Task[None] | None = None

    # --- the beginning -------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        if self._securing is not None:
            self._start(transport)
            return
        self._take_over(transport)
        peer = transport.get_extra_info("peername")
        self._began = self.loop.time()
        if not self.everyone.admit(self, str(peer[0]) if isinstance(peer, tuple) else "", self.loop):
            self._turn_away()
            return
        self._due = self._began + self.bounds.header_seconds
        if self.tls is None:
            self._start(transport)
        else:
            self._secure(transport, self.tls)

    def _start(self, transport: asyncio.Transport) -> None:
        super().connection_made(transport)
        self._take_over(transport)

    def _take_over(self, transport: asyncio.Transport) -> None:
        self._raw, self.transport = transport, _Wire(transport, self)  # type: ignore[assignment]

    def _secure(self, transport: asyncio.Transport, tls: ssl.SSLContext) -> None:
        """Counted from here on, though nothing can be asked before both sides have agreed on keys. The
        connection changes to a transport with TLS; the one it came with never reads from it."""
        self.connections.add(self)
        taken = socket.socket(fileno=os.dup(transport.get_extra_info("socket").fileno()))
        taken.setblocking(False)
        transport.set_protocol(asyncio.Protocol())
        transport.abort()
        self._securing = self.loop.create_task(self._agree_on_keys(taken, tls))

    async def _agree_on_keys(self, taken: socket.socket, tls: ssl.SSLContext) -> None:
        try:
            await self.loop.connect_accepted_socket(
                lambda: self, taken, ssl=tls, ssl_handshake_timeout=self.bounds.header_seconds
            )
        # Whatever a peer does wrong here, or where it leaves: there is nobody to be told.
        except (OSError, asyncio.CancelledError):
            taken.close()
            self.connection_lost(None)

    def _drop(self) -> None:
        self.is_over = self._is_deaf = True
        if self._securing is not None and self.flow is None:
            self._securing.cancel()
        else:
            self._raw.abort()

    def _turn_away(self) -> None:
        """Where there is room for that, until it has read why."""
        self._is_deaf = True
        self.gate.ended[EndedBy.CROWDED] += 1
        if self.tls is None and self.everyone.turn_away(self, self.loop):
            self._raw.write(_CROWDED)
            self.end()
        else:
            self._drop()

    # --- what arrives --------------------------------------------------------------------------

    def data_received(self, data: bytes) -> None:
        if self._is_deaf:
            self._throw_away(len(data))
            return
        if self._is_between:
            if self.gate.is_full and self._may_refuse() and is_whole_post(data):
                self._shed()
                return
            self._began = self.loop.time()
            self._is_between, self.idle_since = False, None
        if len(data) <= PIECE_BYTES:
            self._feed(data)
        else:
            self._feed_pieces(memoryview(data))

    def _may_refuse(self) -> bool:
        """Whether a refusal can be written at once: everything before was answered, and is being read."""
        return self._is_answered() and not self.flow.write_paused

    def _shed(self) -> None:
        self.gate.refused += 1
        self.transport.write(REFUSAL)
        self.has_asked = True
        self._rest()

    def _feed_pieces(self, data: memoryview) -> None:
        for start in range(0, len(data), PIECE_BYTES):
            if self._is_deaf:
                self._throw_away(len(data) - start)
                return
            self._feed(data[start : start + PIECE_BYTES])

    def _feed(self, piece: bytes | memoryview) -> None:
        self._has_moved = False
        size = len(piece)
        while size:
            try:
                self.parser.feed_data(piece)
                size = 0
            except httptools.HttpParserUpgrade as upgrade:
                # An offer to speak another protocol may be ignored, and is; what follows is a request.
                piece = memoryview(piece)[upgrade.args[0] :]
                size = len(piece)
            except httptools.HttpParserError:
                if not self._is_deaf:
                    self._refuse(self._refusal)
                return
        if not self._is_between:
            self._measure(len(piece))

    def _measure(self, size: int) -> None:
        """A request is not complete: how long it may take, and how much may come that is no body."""
        self._due = self._began + (
            self.bounds.header_seconds if self._is_in_head else self.bounds.request_seconds
        )
        if not self._has_moved:
            self._head_bytes += size
            if self._head_bytes > self.bounds.max_header_bytes:
                self._refuse(_LARGE)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._is_between, self._is_in_head, self._has_moved = False, True, True

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self._is_in_head:
            # What follows a body was not there when the request was judged: it says nothing.
            return
        if len(self.headers) >= self.bounds.max_headers:
            self._refusal = _LARGE
            raise _StopParsing
        name = name.lower()
        if name == b"expect" and value.lower() == b"100-continue":
            self.expect_100_continue = True
        self.headers.append((name, value))

    def on_headers_complete(self) -> None:
        super().on_headers_complete()
        self._is_in_head, self._has_moved = False, True
        self._requests += 1
        is_enough = self._requests >= self.bounds.max_requests_per_connection
        self._is_last = is_enough or len(self.pipeline) >= MAX_PIPELINED
        self._keeps_alive = self.cycle.keep_alive and not self._is_last
        # An answer that is given before the rest of the request has come is the last one.
        self.cycle.keep_alive = False
        self.scope[CYCLE] = self.cycle  # type: ignore[typeddict-unknown-key]

    def on_body(self, body: bytes) -> None:
        self._has_moved = True
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._is_between = self.has_asked = True
        self._head_bytes, self._due = 0, math.inf
        self.scope[WHOLE] = True  # type: ignore[typeddict-unknown-key]
        if not self.cycle.response_started:
            self.cycle.keep_alive = self._keeps_alive
        super().on_message_complete()
        if self._is_last:
            self._is_deaf = True
            raise _StopParsing

    # --- what is answered ----------------------------------------------------------------------

    def _is_answered(self) -> bool:
        return (self.cycle is None or self.cycle.response_complete) and not self.pipeline

    def on_response_complete(self) -> None:
        self.server_state.total_requests += 1
        if self.is_over or self._raw.is_closing():
            return
        self.flow.resume_reading()
        if self.pipeline:
            self._start_asgi_task(*self.pipeline.pop())
        elif self._is_deaf:
            self.end()
        elif self._is_between:
            self._rest()

    def _rest(self) -> None:
        """Until the next request: looked after like every deadline, without a timer of its own."""
        self.idle_since = self.loop.time()
        self._due = self.idle_since + self.bounds.idle_seconds

    def pause_writing(self) -> None:
        self._unread_due = self.loop.time() + self.bounds.answer_seconds
        super().pause_writing()

    def resume_writing(self) -> None:
        self._unread_due = math.inf
        super().resume_writing()

    def _refuse(self, answer: bytes) -> None:
        """The request that is being read is refused, after those before it were answered."""
        self.gate.ended[_WHY[answer]] += 1
        self._answer_no(answer)

    def _answer_no(self, answer: bytes) -> None:
        self._is_deaf = True
        if self._is_in_head or self._is_between:
            if self._is_answered():
                self.transport.write(answer)
                self.end()
        elif self.pipeline:
            self.pipeline.popleft()
        else:
            self._refuse_body(answer)

    def _refuse_body(self, answer: bytes) -> None:
        if not self.cycle.response_started:
            self.transport.write(answer)
        self.cycle.disconnected = True
        self.cycle.message_event.set()
        self.end()

    # --- the end -------------------------------------------------------------------------------

    def end(self) -> None:
        """After the last answer. Who may still be sending is listened to for a while."""
        if self.is_over:
            return
        if self.flow is None and not self._is_deaf:
            self._drop()
            return
        self.is_over = True
        if self._is_between and not self._is_deaf:
            self._due = self.loop.time() + self.bounds.answer_seconds
            self._raw.close()
            return
        self._is_deaf = True
        self._due = self.loop.time() + LINGER_SECONDS
        if self.flow is not None:
            self.flow.resume_reading()
        if self._raw.can_write_eof():
            self._raw.write_eof()

    def _throw_away(self, size: int) -> None:
        self._thrown_away += size
        if self._thrown_away > LINGER_BYTES:
            self._drop()

    def give_way(self) -> None:
        if self.is_over:
            # It has its last answer: nothing can be written after that.
            self._drop()
            return
        self.gate.ended[EndedBy.GAVE_WAY] += 1
        if self.flow is None or self._is_between or self._raw.get_write_buffer_size():
            self._drop()
        else:
            self._answer_no(_SLOW)
            self._raw.close()

    def check_deadlines(self, now: float) -> None:
        if now > self._unread_due:
            self._drop()
        elif now > self._due:
            self._end_overdue(now)

    def _end_overdue(self, now: float) -> None:
        if self.is_over:
            if not self._raw.get_write_buffer_size() or now > self._due + self.bounds.answer_seconds:
                self._drop()
        elif self.flow is None or self._is_between:
            # Nothing was asked, or everything was answered: there is nothing to say.
            self.end()
        elif not self.flow.read_paused:
            self._refuse(_SLOW)

    def shutdown(self) -> None:
        # Half a request is no idle connection: it is answered, and its answer closes it.
        if self._is_between or not self._is_answered():
            self._keeps_alive = False
            super().shutdown()

    def connection_lost(self, exc: Exception | None) -> None:
        self.is_over = True
        self.everyone.leave(self)
        super().connection_lost(exc)


@functools.lru_cache(maxsize=4)
def _default_lines(headers: tuple[tuple[bytes, bytes], ...]) -> bytes:
    """The lines that uvicorn adds to every answer; they change once a second."""
    return b"".join([b"%b: %b\r\n" % header for header in headers])


async def write_answer(cycle: RequestResponseCycle, status: int, headers: bytes, body: bytes) -> None:
    """A whole answer in one write: what uvicorn's `send` does with two messages, and two packets. `headers`
    are lines that name the body's length and hold nothing that a caller wrote unchecked."""
    if cycle.flow.write_paused and not cycle.disconnected:
        await cycle.flow.drain()
    if cycle.disconnected:
        return
    cycle.response_started, cycle.waiting_for_100_continue = True, False
    usual = _default_lines(tuple(cycle.default_headers))
    end = b"\r\n" if cycle.keep_alive else b"connection: close\r\n\r\n"
    cycle.transport.write(b"".join((STATUS_LINE[status], usual, headers, end, body)))
    cycle.response_complete = True
    cycle.message_event.set()
    if not cycle.keep_alive:
        cycle.transport.close()
    cycle.on_response()


def has_not_asked(connection: object) -> bool:
    """Whether no request has been read from it yet."""
    return isinstance(connection, HttpToolsProtocol) and connection.cycle is None


def protocol_with(
    everyone: Connections, gate: RequestGate | None = None, tls: ssl.SSLContext | None = None
) -> type[BoundedProtocol]:
    """The protocol of one server: all of its connections share `everyone`, and the gate in front."""
    members = {"everyone": everyone, "gate": gate or RequestGate(), "tls": tls}
    return type("BoundedProtocol", (BoundedProtocol,), members)
