"""More than can be decided: what is over the limit is refused at once, at a fraction of a decision's cost.

Whether there is room is asked before a request is parsed. A refusal that cost as much as a tenth of a
decision would, at ten times the capacity, leave nothing for decisions.
"""

import re
from typing import Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from qwed.domain.codes import Code
from qwed.http.reading import WHOLE
from qwed.http.responses import refusal_response

MAX_IN_FLIGHT: Final = 384
RETRY_AFTER_SECONDS: Final = 1
_LENGTH: Final = re.compile(rb"\r\ncontent-length: *([0-9]{1,7})\r\n", re.IGNORECASE)


class Gate:
    """How many requests are at work in this process: each goes through it (`with gate:`)."""

    def __init__(self, limit: int = MAX_IN_FLIGHT) -> None:
        self._limit = limit
        self._in_flight = 0
        self.refused = 0

    @property
    def is_full(self) -> bool:
        return self._in_flight >= self._limit

    def __enter__(self) -> None:
        self._in_flight += 1

    def __exit__(self, *_: object) -> None:
        self._in_flight -= 1


def _refusal() -> bytes:
    message = "the gateway has as many requests at work as it can: nothing was decided, retry later"
    body = bytes(refusal_response(Code.RATE_LIMITED, message, status=503).body)
    head = (
        "HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\ncache-control: no-store\r\n"
        f"x-content-type-options: nosniff\r\nretry-after: {RETRY_AFTER_SECONDS}\r\n"
        f"content-length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


REFUSAL: Final = _refusal()


def is_whole_post(data: bytes) -> bool:
    """One request to change something, all of it and nothing else: it can be answered without a parser."""
    if not data.startswith(b"POST "):
        return False
    end = data.find(b"\r\n\r\n")
    length = _LENGTH.search(data, 0, end + 2) if end > 0 else None
    return length is not None and end + 4 + int(length.group(1)) == len(data)


def has_not_asked(connection: object) -> bool:
    """Whether no request has been read from it yet."""
    return isinstance(connection, HttpToolsProtocol) and connection.cycle is None


def protocol_with(gate: Gate) -> type[HttpToolsProtocol]:
    """Uvicorn's protocol, with the gate in front of its parser."""

    class SheddingProtocol(HttpToolsProtocol):
        #: Nothing of a request that is not complete is in the parser.
        _is_between = True

        def data_received(self, data: bytes) -> None:
            if gate.is_full and self._is_between and self._is_answered() and is_whole_post(data):
                gate.refused += 1
                self.transport.write(REFUSAL)
                return
            self._is_between = False
            super().data_received(data)

        def _is_answered(self) -> bool:
            return (self.cycle is None or self.cycle.response_complete) and not self.pipeline

        def on_message_complete(self) -> None:
            self._is_between = True
            self.scope[WHOLE] = True  # type: ignore[typeddict-unknown-key]
            super().on_message_complete()

        def shutdown(self) -> None:
            # Half a request is no idle connection: it is answered, and its answer closes it.
            if self._is_between or not self._is_answered():
                super().shutdown()

    return SheddingProtocol
