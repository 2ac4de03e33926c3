"""What a decision procedure can answer, and the procedures' one protocol."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, Protocol

import msgspec

from qwed.engines.logic.problem import LogicProblem
from qwed.engines.logic.sexpr import Sexpr
from qwed.engines.logic.values import Element, FunctionTable, Value, Vector


class Satisfiable(msgspec.Struct, frozen=True):
    """`model` is JSON; `checked_by` says who evaluated the formulas under it."""

    model: Mapping[str, Any]
    checked_by: str


class Unsatisfiable(msgspec.Struct, frozen=True):
    pass


class UnknownOutcome(msgspec.Struct, frozen=True):
    """`limit` names what stood in the way."""

    limit: str
    reason: str


Outcome = Satisfiable | Unsatisfiable | UnknownOutcome


class Decider(Protocol):
    """Decides whether assertions can hold together. Never guesses: what it can't tell is `UnknownOutcome`."""

    @property
    def name(self) -> str: ...

    def decide(self, problem: LogicProblem, assertions: Sequence[Sexpr]) -> Outcome: ...

    def unsatisfiable_part(self, problem: LogicProblem, assertions: Sequence[Sexpr]) -> list[int]:
        """Indices of some assertions that can't hold together, of ones that can't: perhaps all."""
        ...


def show(value: Value) -> Any:
    """A value as JSON."""
    match value:
        case Fraction():
            return value.numerator if value.denominator == 1 else str(value)
        case Vector(value=number, width=width):
            return f"#x{number:0{width // 4}x}" if width % 4 == 0 else f"#b{number:0{width}b}"
        case Element(name=name, fields=()):
            return name
        case Element(name=name, fields=fields):
            return {"constructor": name, "fields": [show(field) for field in fields]}
        case FunctionTable(entries=entries, default=default):
            listed = [[*map(show, arguments), show(result)] for arguments, result in entries.items()]
            return {"entries": listed, "else": show(default)}
    return value
