"""What rules remember: actions in windows that slide, and when something happened last.

An entry counts while less than the window has passed since: at exactly its end it is gone. A key never goes
back in time. A sum keeps so many entries; beyond that the oldest are joined under the later of their times,
which is stricter and never looser.
"""

import enum
from collections.abc import Iterable, Iterator, Sequence
from decimal import Context, Decimal
from typing import Final

import msgspec

from qwed.domain.codes import Code, Refusal
from qwed.domain.rules import MAX_COUNT, Measure

#: Wide enough for every sum of bounded amounts: nothing is ever rounded.
EXACT: Final = Context(prec=100)
#: Before what stands for a value that is told apart.
DISTINCT_PREFIX: Final = "="
_NOTHING: Final = Decimal(0)


class TimeForm(enum.StrEnum):
    #: No more than so much in the window.
    LIMIT = "limit"
    #: It must not have happened within the window (`never_after`, `cooldown`).
    ABSENT = "absent"
    #: It must have happened within the window (`requires`).
    PRESENT = "present"


class WindowCheck(msgspec.Struct, frozen=True):
    """One matching rule, as the store checks and counts it. `value` is an amount, or stands for a value
    that is told apart; `is_counted` adds the action to the key of a limit, once nothing stands against it."""

    rule: str
    key: bytes
    form: TimeForm
    within_ms: int
    at_most: Decimal = _NOTHING
    measure: Measure = Measure.COUNT
    value: str = ""
    is_checked: bool = True
    is_counted: bool = True


class CountedEntry(msgspec.Struct, frozen=True):
    """An entry as a store that counts in memory writes it down, and when nobody can ask for it any more."""

    key: bytes
    measure: Measure
    number: int
    at_ms: int
    value: str
    until_ms: int


class Proof(enum.IntEnum):
    """What it takes until an action counts as one that happened."""

    NONE = 0
    SUCCESS = 1
    #: Of somebody else than the agent.
    CONFIRMED = 2


class WindowMark(msgspec.Struct, frozen=True):
    """The action is one that another rule asks about: when it happened is kept under a key."""

    key: bytes
    within_ms: int
    proof: Proof = Proof.NONE


class Reached(msgspec.Struct, frozen=True):
    """A rule whose form of time stands against the action, and what its window held."""

    rule: str
    used: str | None = None
    is_merged: bool = False


class WindowsReached(Refusal, frozen=True):
    """The store counted nothing: these rules stand against the record."""

    reached: tuple[Reached, ...] = ()


def refuse_reached(reached: Sequence[Reached]) -> WindowsReached | None:
    if not reached:
        return None
    names = ", ".join(each.rule for each in reached)
    return WindowsReached(Code.RULE_LIMIT, f"a limit is reached: {names}", reached=tuple(reached))


class WindowEntry(msgspec.Struct, frozen=True):
    """One counted action, or several that were joined."""

    number: int
    at_ms: int
    value: str = ""
    is_merged: bool = False


def join_pairs(entries: Sequence[WindowEntry]) -> list[WindowEntry]:
    """Two after the other become one, at the time of the later."""
    joined = [
        WindowEntry(
            second.number, second.at_ms, str(EXACT.add(Decimal(first.value), Decimal(second.value))), True
        )
        for first, second in zip(entries[::2], entries[1::2], strict=False)
    ]
    return [*joined, *entries[len(joined) * 2 :]]


class Window:
    """The entries of one key, oldest first."""

    __slots__ = ("_entries", "_next", "_total", "in_flight", "last_ms", "measure")

    def __init__(self, measure: Measure, entries: Iterable[WindowEntry] = ()) -> None:
        self.measure = measure
        #: By number; of values that are told apart, by the value.
        self._entries: dict[int | str, WindowEntry] = {}
        self._total = _NOTHING
        self._next = 1
        self.last_ms = 0
        self.in_flight = 0
        for entry in entries:
            self._put(entry)
        self._keep_bound()

    def reach(self, check: WindowCheck, at_ms: int) -> Reached | None:
        """What stands against one more; None where there is room."""
        self._roll(max(at_ms, self.last_ms) - check.within_ms)
        used = self._count_used(check)
        if used <= check.at_most:
            return None
        return Reached(
            check.rule, str(self._count_held()), any(entry.is_merged for entry in self._entries.values())
        )

    def add(self, check: WindowCheck, at_ms: int) -> WindowEntry:
        entry = WindowEntry(self._next, max(at_ms, self.last_ms), check.value)
        self._put(entry)
        self._keep_bound()
        return entry

    def take_back(self, number: int) -> None:
        """It was not written. A value that was there before stays: that is stricter."""
        if self.measure is not Measure.DISTINCT:
            self._drop(number)

    def __iter__(self) -> Iterator[WindowEntry]:
        return iter(self._entries.values())

    def _count_used(self, check: WindowCheck) -> Decimal:
        """With the action itself."""
        match self.measure:
            case Measure.COUNT:
                return Decimal(len(self._entries) + 1)
            case Measure.DISTINCT:
                return Decimal(len(self._entries) + (check.value not in self._entries))
            case Measure.SUM:
                return EXACT.add(self._total, Decimal(check.value))

    def _count_held(self) -> Decimal:
        return self._total if self.measure is Measure.SUM else Decimal(len(self._entries))

    def _put(self, entry: WindowEntry) -> None:
        name: int | str = entry.value if self.measure is Measure.DISTINCT else entry.number
        self._drop(name)
        self._entries[name] = entry
        self._next, self.last_ms = max(self._next, entry.number + 1), max(self.last_ms, entry.at_ms)
        if self.measure is Measure.SUM:
            self._total = EXACT.add(self._total, Decimal(entry.value))

    def _drop(self, name: int | str) -> None:
        entry = self._entries.pop(name, None)
        if entry is not None and self.measure is Measure.SUM:
            self._total = EXACT.subtract(self._total, Decimal(entry.value))

    def _roll(self, before_ms: int) -> None:
        while self._entries:
            name = next(iter(self._entries))
            if self._entries[name].at_ms > before_ms:
                return
            self._drop(name)

    def _keep_bound(self) -> None:
        """One more than can be asked about is enough to know that it is too many."""
        while len(self._entries) > MAX_COUNT + 1:
            if self.measure is Measure.SUM:
                kept, half = list(self._entries.values()), MAX_COUNT // 2
                self._entries = {entry.number: entry for entry in (*join_pairs(kept[:half]), *kept[half:])}
            else:
                self._drop(next(iter(self._entries)))


class LastTime:
    """When something happened last: as far as it is on record, and with what is being written."""

    __slots__ = ("in_flight", "recorded_ms", "seen_ms")

    def __init__(self, recorded_ms: int | None = None) -> None:
        self.recorded_ms = self.seen_ms = recorded_ms
        self.in_flight = 0

    def reach(self, check: WindowCheck, at_ms: int) -> Reached | None:
        # What must have happened is on record; what must not have happened may be on its way.
        is_required = check.form is TimeForm.PRESENT
        last = self.recorded_ms if is_required else self.seen_ms
        is_recent = last is not None and max(at_ms, last) - last < check.within_ms
        return None if is_recent == is_required else Reached(check.rule)

    def see(self, at_ms: int) -> None:
        self.seen_ms = max(at_ms, self.seen_ms or at_ms)

    def record(self, at_ms: int) -> None:
        self.recorded_ms = max(at_ms, self.recorded_ms or at_ms)
        self.see(at_ms)

    def take_back(self) -> None:
        if not self.in_flight:
            self.seen_ms = self.recorded_ms
