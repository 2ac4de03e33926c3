"""How often a key may pass: at most `limit` times in any window, measured hit by hit.

A hit at t counts until just before t + window; a refused hit does not count, so that a caller who
waits as told gets through.
"""

import math
import threading
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Callable
from typing import Final, Protocol

import msgspec

DEFAULT_MAX_KEYS: Final = 100_000


class Allowed(msgspec.Struct, frozen=True):
    pass


class Limited(msgspec.Struct, frozen=True):
    retry_after_seconds: float


ALLOWED: Final = Allowed()


class RateLimiter(Protocol):
    """Counts and answers in one atomic step. One that cannot count raises `LimiterUnavailable`; it never
    lets through."""

    async def hit(self, key: str) -> Allowed | Limited: ...


class LocalLimiter:
    """The limiter of one process. Thread-safe; memory is bounded by `max_keys` × `limit` times.

    With `max_keys` keys in use, the keys beyond share one window among them until others go quiet:
    forgetting a known key instead would let a caller with many addresses reset its own count.
    """

    def __init__(
        self,
        limit: int,
        window_seconds: float,
        clock: Callable[[], float],
        max_keys: int = DEFAULT_MAX_KEYS,
    ) -> None:
        if limit < 1 or max_keys < 1:
            raise ValueError(f"a limiter needs a limit and room for a key, not {limit} and {max_keys}")
        if not (math.isfinite(window_seconds) and window_seconds > 0):
            raise ValueError(f"a window lasts a positive number of seconds, not {window_seconds}")
        self._limit = limit
        self._window = window_seconds
        self._clock = clock
        self._max_keys = max_keys
        self._lock = threading.Lock()
        # Ordered by each key's latest counted hit, so that quiet keys are found at the front.
        self._hits: OrderedDict[str, list[float]] = OrderedDict()
        self._overflow: list[float] = []
        self._now = -math.inf

    async def hit(self, key: str) -> Allowed | Limited:
        return self.hit_now(key)

    def hit_now(self, key: str) -> Allowed | Limited:
        with self._lock:
            # A clock set back must not bring expired hits to life, nor count one hit for longer.
            self._now = now = max(self._now, self._clock())
            self._forget_quiet_keys(now)
            times = self._hits.get(key)
            if times is None:
                return self._hit_new(key, now)
            answer = self._count(times, now)
            if answer is ALLOWED:
                self._hits.move_to_end(key)
            return answer

    def __len__(self) -> int:
        """How many keys are held in memory."""
        return len(self._hits)

    def _hit_new(self, key: str, now: float) -> Allowed | Limited:
        if len(self._hits) >= self._max_keys:
            return self._count(self._overflow, now)
        self._hits[key] = [now]
        return ALLOWED

    def _count(self, times: list[float], now: float) -> Allowed | Limited:
        if len(times) >= self._limit and times[0] + self._window > now:
            return Limited(times[0] + self._window - now)
        if times and times[0] + self._window <= now:
            del times[: bisect_right(times, now, key=self._end_of)]
        times.append(now)
        return ALLOWED

    def _end_of(self, time: float) -> float:
        return time + self._window

    def _forget_quiet_keys(self, now: float) -> None:
        while self._hits:
            key, times = next(iter(self._hits.items()))
            if times[-1] + self._window > now:
                return
            del self._hits[key]
