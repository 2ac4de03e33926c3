"""What windows of rules would hold, had another policy decided: in memory, as the stores keep it."""

from collections.abc import Iterable, Sequence
from typing import Final

from qwed.domain.rule_windows import (
    LastTime,
    Proof,
    Reached,
    TimeForm,
    Window,
    WindowCheck,
    WindowMark,
)

#: Beyond so many keys, those that nobody can ask about any more are dropped.
MAX_KEYS: Final = 50_000
MAX_WAITING: Final = 50_000


class RuleHistory:
    """Every window by its key. Where more keys are in use than it holds, the oldest go, and it is not `whole`
    any more."""

    def __init__(self) -> None:
        self._windows: dict[bytes, tuple[Window, int]] = {}
        self._times: dict[bytes, tuple[LastTime, int]] = {}
        #: What counts once its success is reported, by the activity.
        self._waiting: dict[str, list[tuple[WindowMark, int]]] = {}
        self.is_whole = True

    def reach(self, checks: Iterable[WindowCheck], at_ms: int) -> tuple[Reached, ...]:
        found = (self._reach(check, at_ms) for check in checks if check.is_checked)
        return tuple(reached for reached in found if reached is not None)

    def _reach(self, check: WindowCheck, at_ms: int) -> Reached | None:
        if check.form is TimeForm.LIMIT:
            window = self._windows.get(check.key)
            return (Window(check.measure) if window is None else window[0]).reach(check, at_ms)
        time = self._times.get(check.key)
        return (LastTime() if time is None else time[0]).reach(check, at_ms)

    def count(
        self, checks: Iterable[WindowCheck], marks: Iterable[WindowMark], activity_id: str, at_ms: int
    ) -> None:
        for check in checks:
            if check.form is TimeForm.LIMIT and check.is_counted:
                known = self._windows.get(check.key)
                window = Window(check.measure) if known is None else known[0]
                window.add(check, at_ms)
                self._windows[check.key] = window, at_ms + check.within_ms
        waiting = []
        for mark in marks:
            if mark.proof:
                waiting.append((mark, at_ms))
            else:
                self._happen(mark, at_ms)
        if waiting:
            self._waiting[activity_id] = waiting
        self._forget(at_ms)

    def prove(self, activity_id: str, proof: Proof) -> None:
        """A report says that an action happened: it counts from now on, at its own time."""
        for mark, at_ms in self._waiting.get(activity_id, ()):
            if mark.proof <= proof:
                self._happen(mark, at_ms)

    def _happen(self, mark: WindowMark, at_ms: int) -> None:
        known = self._times.get(mark.key)
        time = LastTime() if known is None else known[0]
        time.record(at_ms)
        self._times[mark.key] = time, at_ms + mark.within_ms

    def _forget(self, now_ms: int) -> None:
        for kept in (self._windows, self._times):
            if len(kept) > MAX_KEYS:
                self._drop(kept, [key for key, (_, until_ms) in kept.items() if until_ms <= now_ms])
        if len(self._waiting) > MAX_WAITING:
            self.is_whole = False
            for name in list(self._waiting)[: MAX_WAITING // 2]:
                del self._waiting[name]

    def _drop(
        self, kept: dict[bytes, tuple[Window, int]] | dict[bytes, tuple[LastTime, int]], over: Sequence[bytes]
    ) -> None:
        if len(over) < MAX_KEYS // 10:
            self.is_whole = False
            over = list(kept)[: MAX_KEYS // 2]
        for key in over:
            del kept[key]
