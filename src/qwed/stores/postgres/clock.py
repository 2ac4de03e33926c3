"""One time for all gateways: the database's. A machine whose clock is wrong decides by the same time."""

import time
from typing import Any, Final

#: What a round trip may be off by; less is not worth a correction.
TOLERANCE_MS: Final = 20.0


class DatabaseClock:
    """Goes with this machine's steady clock from the moment at which the database last told the time."""

    def __init__(self) -> None:
        self._anchor_ms = time.time_ns() / 1e6
        self._anchored = time.monotonic()
        self._is_anchored = False

    def now_ms(self) -> int:
        return int(self._now_ms())

    def counter(self) -> float:
        return time.perf_counter()

    def _now_ms(self) -> float:
        return self._anchor_ms + (time.monotonic() - self._anchored) * 1000

    async def ask(self, connection: Any) -> None:
        before = time.monotonic()
        told: float = await connection.fetchval("SELECT extract(epoch FROM clock_timestamp())::float8 * 1000")
        after = time.monotonic()
        here = told + (after - before) * 500
        if not self._is_anchored or abs(here - self._now_ms()) > TOLERANCE_MS + (after - before) * 1000:
            self._anchor_ms, self._anchored, self._is_anchored = here, after, True
