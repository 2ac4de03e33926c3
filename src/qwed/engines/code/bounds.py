"""Upper bounds instead of values: what a proof that a program only computes is made of.

The program is run once over bounds: how large a number, how long a text, how many members a container can
have. A variable keeps the join of everything that was ever put into it, so branches need no care. A loop is
run until a round changes nothing, and what that round cost is then taken as often as the loop may run. What
each round adds to a sum, a text or a container is added once for all rounds.
"""

import math
from collections.abc import Callable, Hashable, Iterable
from typing import Any, Final, TypeVar

MAX_COST: Final = 4_000_000
MAX_STEPS: Final = 12_000
MAX_ROUNDS: Final = 200
MAX_CALLS: Final = 12
MAX_BITS: Final = 32_768
# What an argument that nobody has given yet counts as: a function that is only defined is bounded by these.
NOMINAL: Final = 50
_KEPT_TEXT: Final = 400
_MAX_NESTING: Final = 6

Bound = int | float
Result = TypeVar("Result")
INFINITE: Final = math.inf


class NotPure(Exception):
    """What stands in the proof's way."""


class BoundedValue:
    """Numbers lie within ±`size`, texts are at most `length` long; `cells` and `calls` are what it may be."""

    __slots__ = ("calls", "cells", "kinds", "length", "size", "text")

    def __init__(
        self,
        kinds: frozenset[str] = frozenset(),
        size: Bound = 0,
        length: Bound = 0,
        text: str | None = None,
        cells: frozenset["ObjectCell"] = frozenset(),
        calls: frozenset[Any] = frozenset(),
    ) -> None:
        self.kinds = kinds
        self.size = size
        self.length = length
        self.text = text
        self.cells = cells
        self.calls = calls

    def has(self, *kinds: str) -> bool:
        return not self.kinds.isdisjoint(kinds)

    def without(self, *kinds: str) -> "BoundedValue":
        return BoundedValue(
            self.kinds - set(kinds), self.size, self.length, self.text, self.cells, self.calls
        )


class ObjectCell:
    """All containers or objects that one place of the program makes."""

    __slots__ = ("again", "fields", "kind", "length", "member", "walks")

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.length: Bound = 0
        self.member = EMPTY
        self.fields: dict[str, BoundedValue] = {}
        # An iterator does its work when it is walked over, not where it is made.
        self.again: Callable[[], tuple[Bound, BoundedValue]] | None = None
        # The containers that an iterator reads, one member at a time.
        self.walks: frozenset[ObjectCell] = frozenset()


class BoundedVariable:
    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value = EMPTY


_NUMBER: Final = frozenset({"number"})
_FLOAT: Final = frozenset({"float"})
_TEXT: Final = frozenset({"text"})
_CELL: Final = frozenset({"cell"})
_CALL: Final = frozenset({"call"})
EMPTY: Final = BoundedValue()
NOTHING: Final = BoundedValue(frozenset({"none"}))
FLAG: Final = BoundedValue(_NUMBER, 1)
ANYTHING: Final = BoundedValue(frozenset({"any"}), NOMINAL, NOMINAL)


def number(size: Bound) -> BoundedValue:
    return BoundedValue(_NUMBER, size)


def real(size: Bound = INFINITE) -> BoundedValue:
    return BoundedValue(_FLOAT, size)


def string(length: Bound, known: str | None = None) -> BoundedValue:
    return BoundedValue(
        _TEXT, length=length, text=known if known is not None and len(known) <= _KEPT_TEXT else None
    )


def held(cell: ObjectCell) -> BoundedValue:
    return BoundedValue(_CELL, cells=frozenset((cell,)))


def callables(*calls: Hashable) -> BoundedValue:
    return BoundedValue(_CALL, calls=frozenset(calls))


def join(first: BoundedValue, second: BoundedValue) -> BoundedValue:
    if first is second or not second.kinds:
        return first
    if not first.kinds:
        return second
    known = first.text if first.text == second.text or "text" not in second.kinds else None
    return BoundedValue(
        first.kinds | second.kinds,
        max(first.size, second.size),
        max(first.length, second.length),
        second.text if "text" not in first.kinds else known,
        first.cells | second.cells,
        first.calls | second.calls,
    )


def join_all(values: Iterable[BoundedValue]) -> BoundedValue:
    made = EMPTY
    for value in values:
        made = join(made, value)
    return made


def covers(first: BoundedValue, second: BoundedValue) -> bool:
    """Whether the second is already within the first."""
    return first is second or (
        second.kinds <= first.kinds
        and second.size <= first.size
        and second.length <= first.length
        and (first.text is None or "text" not in second.kinds or first.text == second.text)
        and second.cells <= first.cells
        and second.calls <= first.calls
    )


class PurityProof:
    """The state of one proof: what is known so far, and what running that far can have cost."""

    def __init__(self) -> None:
        self.version = 0
        self.steps = 0
        self.cost: Bound = 0
        self.line = 1
        self.rounds: list[Bound] = []
        self.outermost = 0
        self.stack: list[int] = []
        self.running: list[Any] = []
        self.added: dict[Hashable, Bound] = {}
        self.cells: dict[Hashable, ObjectCell] = {}
        # Containers that are being read, and the places that hold one of which nothing is known.
        self.walked: list[frozenset[Hashable]] = []

    def refuse(self, what: str) -> NotPure:
        return NotPure(f"line {self.line}: {what}")

    def step(self) -> None:
        self.steps += 1
        self.cost += 1
        if self.steps > MAX_STEPS:
            raise self.refuse("there is too much to follow")

    def spend(self, cost: Bound) -> None:
        # Asked before it is added: a cost may be a whole number beyond what a float can hold.
        if cost > MAX_COST or self.cost + cost > MAX_COST:
            raise self.refuse("the work is not known to be small")
        self.cost += cost

    def put(self, variable: BoundedVariable, value: BoundedValue) -> None:
        if not covers(variable.value, value):
            variable.value = join(variable.value, value)
            self.version += 1

    def put_member(self, cell: ObjectCell, value: BoundedValue) -> None:
        if not covers(cell.member, value):
            cell.member = join(cell.member, value)
            self.version += 1

    def put_field(self, cell: ObjectCell, name: str, value: BoundedValue) -> None:
        known = cell.fields.get(name)
        if known is None or not covers(known, value):
            cell.fields[name] = value if known is None else join(known, value)
            self.version += 1

    def stretch(self, cell: ObjectCell, length: Bound) -> None:
        if length > cell.length:
            self.spend(length - cell.length)
            cell.length = length
            self.version += 1

    def cell(self, place: Hashable, kind: str) -> ObjectCell:
        known = self.cells.get((place, kind))
        if known is None:
            known = self.cells[(place, kind)] = ObjectCell(kind)
            self.version += 1
        return known

    def accumulate(self, place: Hashable, amount: Bound) -> Bound:
        """What adding `amount` here adds that was not counted yet: in a loop, for all of its rounds."""
        if not self.rounds:
            return amount
        total = amount * math.prod(max(each, 1) for each in self.rounds)
        if total == INFINITE:
            raise self.refuse("something grows in a loop, and how far is not known")
        key = (place, self.outermost, *self.stack)
        fresh = total - self.added.get(key, 0)
        if fresh <= 0:
            return 0
        self.added[key] = total
        return fresh

    def walk_over(self, walked: frozenset[Hashable], body: Callable[[], Result]) -> Result:
        """Runs what happens between two members of containers: nothing may grow these then."""
        self.walked.append(walked)
        made = body()
        self.walked.pop()
        return made

    def sources(self, value: BoundedValue) -> frozenset[ObjectCell]:
        """The containers that are read while the value is walked over."""
        return value.cells.union(self.read_later(value))

    def read_later(self, value: BoundedValue) -> frozenset[ObjectCell]:
        return frozenset(source for cell in value.cells for source in cell.walks)

    def note_walk(self, iterator: ObjectCell, sources: frozenset[ObjectCell]) -> None:
        if not sources <= iterator.walks:
            iterator.walks |= sources
            self.version += 1

    def grow(self, cell: ObjectCell, amount: Bound, place: Hashable) -> None:
        if amount:
            self.refuse_walked(cell)
        self.lengthen(cell, amount, place)

    def refuse_walked(self, thing: Hashable) -> None:
        if any(thing in each for each in self.walked):
            raise self.refuse("something grows while it is walked over, and how far is not known")

    def lengthen(self, cell: ObjectCell, amount: Bound, place: Hashable) -> None:
        more = self.accumulate((place, id(cell)), amount)
        if more:
            self.stretch(cell, cell.length + more)

    def repeat(self, rounds: Bound, body: Callable[[], object]) -> None:
        """Runs a loop's body until nothing changes; the remaining rounds cost what the last one did."""
        if rounds == INFINITE:
            raise self.refuse("a loop whose length is not known")
        self.spend(rounds)
        if not self.rounds:
            self.outermost += 1
        self.rounds.append(rounds)
        done = 0
        while done < max(rounds, 1):
            version, cost = self.version, self.cost
            body()
            done += 1
            if self.version == version:
                self.spend((self.cost - cost) * max(rounds - done, 0))
                break
            if done >= MAX_ROUNDS:
                raise self.refuse("something grows from round to round, and how far is not known")
        self.rounds.pop()

    def enter(self, function: object, place: int, body: Callable[[], BoundedValue]) -> BoundedValue:
        """Runs a function's body for one call of it."""
        if function in self.running:
            raise self.refuse("a function may call itself, and how often is not proven")
        if len(self.running) >= MAX_CALLS:
            raise self.refuse("calls are nested too deeply to follow")
        self.running.append(function)
        self.stack.append(place)
        try:
            return body()
        finally:
            self.stack.pop()
            self.running.pop()

    def spelled(self, value: BoundedValue, within: tuple[ObjectCell, ...] = ()) -> Bound:
        """How long the value is when it is written out as text."""
        longest: Bound = 24
        if value.has("number"):
            longest = max(longest, value.size * 2 if value.size == INFINITE else digits(value.size))
        if value.has("fraction"):
            longest = max(longest, value.size if value.size == INFINITE else 2 * digits(value.size) + 12)
        if value.has("text", "any"):
            longest = max(longest, value.length * (10 if within else 1))
        if value.has("any"):
            longest = max(longest, NOMINAL * NOMINAL)
        for cell in value.cells:
            if cell in within or len(within) >= _MAX_NESTING:
                return INFINITE
            inner = (*within, cell)
            members = self.spelled(cell.member, inner) * (cell.length + 1)
            fields = sum(len(name) + 4 + self.spelled(each, inner) for name, each in cell.fields.items())
            longest = max(longest, members + cell.length * 4 + fields + 40)
        return longest


def digits(size: Bound) -> int:
    return int(size).bit_length() * 31 // 100 + 3


def bits(size: Bound) -> Bound:
    return INFINITE if size == INFINITE else int(size).bit_length()
