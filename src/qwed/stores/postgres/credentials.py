"""Agents and keys that were read lately. A change anywhere is heard of, and ends what was kept.

While the database cannot be heard, nothing is kept; and nothing is kept for longer than a moment.
"""

import threading
import time
from collections.abc import Callable
from typing import Final, Generic, TypeVar

T = TypeVar("T")

KEPT_SECONDS: Final = 5.0
MAX_KEPT: Final = 10_000


class Kept(Generic[T]):
    """Values by name. What was being read while it changed is not kept."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._values: dict[str, tuple[float, T]] = {}
        self._changes = 0
        self._is_listening = False
        self._lock = threading.Lock()

    def get(self, name: str) -> T | None:
        found = self._values.get(name)
        if found is None or found[0] < self._clock():
            return None
        return found[1]

    @property
    def moment(self) -> int:
        """To be taken before reading what is then `put`."""
        return self._changes

    def put(self, name: str, value: T, moment: int) -> None:
        with self._lock:
            if moment != self._changes or not self._is_listening:
                return
            if len(self._values) >= MAX_KEPT:
                self._values.clear()
            self._values[name] = (self._clock() + KEPT_SECONDS, value)

    def changed(self, name: str) -> None:
        with self._lock:
            self._changes += 1
            self._values.pop(name, None)

    def clear(self) -> None:
        with self._lock:
            self._changes += 1
            self._values.clear()

    def listen(self, is_listening: bool) -> None:
        with self._lock:
            self._changes += 1
            self._is_listening = is_listening
            self._values.clear()
