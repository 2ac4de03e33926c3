"""More than can be decided: what is over the limit is refused at once, at a fraction of a decision's cost.

Whether there is room is asked before a request is parsed. A refusal that cost as much as a tenth of a
decision would, at ten times the capacity, leave nothing for decisions.
"""

import contextlib
import enum
import re
from collections import Counter
from collections.abc import Iterator
from typing import Final

from qwed.domain.codes import Code
from qwed.http.refusals import write_refusal

MAX_IN_FLIGHT: Final = 384
RETRY_AFTER_SECONDS: Final = 1
_LENGTH: Final = re.compile(rb"\r\ncontent-length: *([0-9]{1,7})\r\n", re.IGNORECASE)


class EndedBy(enum.StrEnum):
    """Why a connection was ended before a request of it was judged."""

    CROWDED = "crowded"
    GAVE_WAY = "gave_way"
    TOO_LARGE = "too_large"
    TOO_SLOW = "too_slow"
    MALFORMED = "malformed"


class RequestGate:
    """How many requests are at work in this process: each goes through it (`with gate:`)."""

    def __init__(self, limit: int = MAX_IN_FLIGHT) -> None:
        self._limit = limit
        self._in_flight = 0
        self.refused = 0
        self.ended: Counter[EndedBy] = Counter()

    @property
    def is_full(self) -> bool:
        return self._in_flight >= self._limit

    def __enter__(self) -> None:
        self._in_flight += 1

    def __exit__(self, *_: object) -> None:
        self._in_flight -= 1

    @contextlib.contextmanager
    def left(self) -> Iterator[None]:
        """Outside for a while, for somebody who is inside and only waits."""
        self._in_flight -= 1
        try:
            yield
        finally:
            self._in_flight += 1


REFUSAL: Final = write_refusal(
    503,
    Code.RATE_LIMITED,
    "the gateway has as many requests at work as it can: nothing was decided, retry later",
    retry_after=RETRY_AFTER_SECONDS,
    closes=False,
)


def is_whole_post(data: bytes) -> bool:
    """One request to change something, all of it and nothing else: it can be answered without a parser."""
    if not data.startswith(b"POST "):
        return False
    end = data.find(b"\r\n\r\n")
    length = _LENGTH.search(data, 0, end + 2) if end > 0 else None
    return length is not None and end + 4 + int(length.group(1)) == len(data)
