"""What rules remember, for a store that decides in memory: loaded on first use, counted under its lock."""

import threading
from typing import Final, TypeVar

import msgspec

from qwed.domain.rule_windows import (
    CountedEntry,
    LastTime,
    Reached,
    TimeForm,
    Window,
    WindowCheck,
    WindowsReached,
    refuse_reached,
)
from qwed.gateway.kernel.coroutines import SingleFlight
from qwed.gateway.kernel.records import Record
from qwed.stores.access import StoreAccess
from qwed.stores.cache import GenerationCache

T = TypeVar("T")

MAX_WINDOWS: Final = 10_000


class Past:
    """What one record asks about: in use, so none of it is forgotten meanwhile."""

    __slots__ = ("happened", "times", "windows")

    def __init__(
        self,
        windows: dict[bytes, Window],
        times: dict[bytes, LastTime],
        happened: tuple[tuple[bytes, int], ...],
    ) -> None:
        self.windows = windows
        self.times = times
        #: What the record makes true, and when it happened.
        self.happened = happened


class RuleMemory:
    """All but `look_back` is called under the store's lock."""

    def __init__(self, access: StoreAccess, loads: SingleFlight, lock: threading.Lock) -> None:
        self._access = access
        self._loads = loads
        self._lock = lock
        self._windows: GenerationCache[bytes, Window] = GenerationCache(MAX_WINDOWS, _is_busy)
        self._times: GenerationCache[bytes, LastTime] = GenerationCache(MAX_WINDOWS, _is_busy)

    async def look_back(self, record: Record) -> Past:
        """Load what the record asks about, and hold on to it. The most ask nothing: `Record.looks_back`."""
        outcome = record.outcome
        at_ms = record.activity.at_ms
        happened = [(mark.key, at_ms) for mark in record.marks if not mark.proof]
        if outcome is not None and outcome.proves:
            tables = self._access.tables
            happened += await self._access.read(
                tables.waiting_marks, outcome.activity_id, int(outcome.proves)
            )
        limits = {check.key: check for check in record.windows if check.form is TimeForm.LIMIT}
        asked = {check.key for check in record.windows if check.form is not TimeForm.LIMIT}
        keys = asked | {key for key, _ in happened}
        while True:
            with self._lock:
                windows = {key: self._windows.use(key) for key in limits}
                times = {key: self._times.use(key) for key in keys}
                found = Past(_present(windows), _present(times), tuple(happened))
                if len(found.windows) == len(limits) and len(found.times) == len(keys):
                    _hold(found, 1)
                    return found
            # Loading one may push out another, so the look is repeated until all are there at once.
            for key, check in limits.items():
                if windows[key] is None:
                    await self._load_window(check, at_ms)
            for key in keys:
                if times[key] is None:
                    await self._load_time(key)

    def check(self, record: Record, past: Past) -> WindowsReached | None:
        at_ms = record.activity.at_ms
        found = (_reach(past, check, at_ms) for check in record.windows if check.is_checked)
        return refuse_reached([reached for reached in found if reached is not None])

    def count(self, record: Record, past: Past) -> Record:
        """The record with its entries, which are on their way from now on."""
        counted = []
        for check in record.windows:
            if check.form is TimeForm.LIMIT and check.is_counted:
                entry = past.windows[check.key].add(check, record.activity.at_ms)
                until_ms = entry.at_ms + check.within_ms
                counted.append(
                    CountedEntry(check.key, check.measure, entry.number, entry.at_ms, entry.value, until_ms)
                )
        for mark in record.marks:
            if not mark.proof:
                past.times[mark.key].see(record.activity.at_ms)
        return msgspec.structs.replace(record, counted=tuple(counted)) if counted else record

    def end(self, record: Record, past: Past, *, is_written: bool) -> None:
        self.forget(past)
        if is_written:
            for key, at_ms in past.happened:
                past.times[key].record(at_ms)
            return
        for entry in record.counted:
            past.windows[entry.key].take_back(entry.number)
        for last in past.times.values():
            last.take_back()

    def forget(self, past: Past) -> None:
        _hold(past, -1)

    async def _load_window(self, check: WindowCheck, at_ms: int) -> None:
        async def load() -> None:
            # As for accounts: absent now, it stays absent until the put, since no other load of it runs.
            if self._windows.get(check.key) is None:
                since_ms = at_ms - check.within_ms
                entries = await self._access.read(self._access.tables.window, check.key, since_ms)
                with self._lock:
                    self._windows.put(check.key, Window(check.measure, entries))

        await self._loads.do(("window", check.key), load)

    async def _load_time(self, key: bytes) -> None:
        async def load() -> None:
            if self._times.get(key) is None:
                last = LastTime(await self._access.read(self._access.tables.last_time, key))
                with self._lock:
                    self._times.put(key, last)

        await self._loads.do(("last_time", key), load)


def _is_busy(kept: Window | LastTime) -> bool:
    return kept.in_flight > 0


def _hold(past: Past, change: int) -> None:
    for window in past.windows.values():
        window.in_flight += change
    for last in past.times.values():
        last.in_flight += change


def _present(found: dict[bytes, T | None]) -> dict[bytes, T]:
    return {key: item for key, item in found.items() if item is not None}


def _reach(past: Past, check: WindowCheck, at_ms: int) -> Reached | None:
    kept = past.windows if check.form is TimeForm.LIMIT else past.times
    return kept[check.key].reach(check, at_ms)
