"""A decision procedure of our own for small questions, without a solver.

Where every comparison is linear in one variable, a formula's truth can only change at finitely
many points of each variable. Trying those, a point between each two and one beyond either end
is trying everything. Each answer is an evaluation; none is an estimate.
"""

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Final

from qwed.engines.logic.evaluate import World, evaluate
from qwed.engines.logic.outcomes import Outcome, Satisfiable, Unsatisfiable, show
from qwed.engines.logic.problem import LogicProblem
from qwed.engines.logic.sexpr import Sexpr
from qwed.engines.logic.values import Value
from qwed.engines.logic.world import Model, functions, world

# A few milliseconds of evaluation.
MAX_EVALUATIONS: Final = 6_000

_CONNECTIVES: Final = frozenset({"and", "or", "not", "xor", "=>", "ite"})
_ORDERS: Final = frozenset({"<", "<=", ">", ">="})
_EQUALITIES: Final = frozenset({"=", "distinct"})
_NUMERIC: Final = frozenset({"Int", "Real"})


class OutOfReach(Exception):
    """The question is not of the kind decided here."""


class CriticalPoints:
    """Raises `OutOfReach` when built for a question it does not decide."""

    name = "critical points"

    def __init__(self, problem: LogicProblem, terms: Sequence[Sexpr]) -> None:
        self._world = world(problem.declarations, Model())
        survey = _Survey(problem, self._world)
        for term in (*problem.axioms, *problem.definedness, *terms):
            survey.formula(term)
        self._domains = survey.domains()
        points = math.prod(map(len, self._domains.values()))
        # A core is found by leaving out one statement after the other.
        if points * survey.size * (1 + len(terms)) > MAX_EVALUATIONS:
            raise OutOfReach

    def decide(self, problem: LogicProblem, assertions: Sequence[Sexpr]) -> Outcome:
        every = (*problem.axioms, *assertions)
        for values in itertools.product(*self._domains.values()):
            assignment = dict(zip(self._domains, values, strict=True))
            here = World(assignment, universes=self._world.universes, constructors=self._world.constructors)
            if all(evaluate(term, here) for term in every):
                model = {name.strip("|"): show(value) for name, value in assignment.items()}
                return Satisfiable(model, "evaluation")
        return Unsatisfiable()

    def unsatisfiable_part(self, problem: LogicProblem, assertions: Sequence[Sexpr]) -> list[int]:
        return list(range(len(assertions)))


class _Survey:
    """Walks the formulas for the points that matter, and refuses what is not of the kind."""

    def __init__(self, problem: LogicProblem, known: World) -> None:
        self.size = 0
        self._sorts: dict[str, Sexpr] = {}
        self._points: dict[str, set[Fraction]] = {}
        self._members = known.universes
        self._constants = {name for name, fields in known.constructors.items() if fields == 0}
        for name, arity, sort in functions(problem.declarations):
            if arity or not (sort == "Bool" or sort in _NUMERIC or sort in self._members):
                raise OutOfReach
            self._sorts[name] = sort

    def domains(self) -> Mapping[str, Sequence[Value]]:
        return {name: self._domain(name, sort) for name, sort in self._sorts.items()}

    def _domain(self, name: str, sort: Sexpr) -> Sequence[Value]:
        if sort == "Bool":
            return (False, True)
        if sort in self._members:
            return self._members[sort]
        points = sorted(self._points.get(name, ()))
        spread = _integers(points) if sort == "Int" else _reals(points)
        # Small witnesses read best.
        return sorted(spread, key=lambda value: (abs(value), value < 0))

    def formula(self, term: Sexpr) -> None:
        self.size += 1
        if isinstance(term, str):
            if term not in ("true", "false") and self._sorts.get(term) != "Bool":
                raise OutOfReach
            return
        head, *operands = term
        if head in _CONNECTIVES:
            for operand in operands:
                self.formula(operand)
        elif head in _ORDERS or (head in _EQUALITIES and self._are_numbers(operands)):
            self.size += 3 * len(operands)
            for left, right in itertools.combinations(operands, 2):
                self._comparison(left, right)
        elif head in _EQUALITIES:
            for operand in operands:
                self._survey_equated(operand)
        else:
            raise OutOfReach

    def _are_numbers(self, operands: Sequence[Sexpr]) -> bool:
        return any(
            isinstance(each, tuple) and each[0] in _ARITHMETIC
            if isinstance(each, tuple)
            else each[0].isdigit() or self._sorts.get(each) in _NUMERIC
            for each in operands
        )

    def _survey_equated(self, operand: Sexpr) -> None:
        if isinstance(operand, str) and (
            operand in self._constants or self._sorts.get(operand) in self._members
        ):
            self.size += 1
        else:
            self.formula(operand)

    def _comparison(self, left: Sexpr, right: Sexpr) -> None:
        slopes, constant = self._linear(("-", left, right))
        slopes = {name: slope for name, slope in slopes.items() if slope}
        if len(slopes) > 1:
            raise OutOfReach
        for name, slope in slopes.items():
            self._points.setdefault(name, set()).add(-constant / slope)

    def _linear(self, term: Sexpr) -> tuple[dict[str, Fraction], Fraction]:
        """Slopes by variable, and the constant."""
        self.size += 1
        if isinstance(term, str):
            if term[0].isdigit():
                return {}, Fraction(term)
            if self._sorts.get(term) in _NUMERIC:
                return {term: Fraction(1)}, Fraction(0)
            raise OutOfReach
        head, *operands = term
        if head not in _ARITHMETIC:
            raise OutOfReach
        parts = [self._linear(operand) for operand in operands]
        if head == "to_real":
            return parts[0]
        if head in ("+", "-"):
            return _sum(parts, negate_rest=head == "-")
        return _product(parts, divide=head == "/")


_ARITHMETIC: Final = frozenset({"+", "-", "*", "/", "to_real"})
_Linear = tuple[dict[str, Fraction], Fraction]


def _sum(parts: list[_Linear], *, negate_rest: bool) -> _Linear:
    if negate_rest and len(parts) == 1:
        parts = [({}, Fraction(0)), *parts]
    slopes: dict[str, Fraction] = {}
    total = Fraction(0)
    for place, (part, constant) in enumerate(parts):
        sign = -1 if negate_rest and place else 1
        total += sign * constant
        for name, slope in part.items():
            slopes[name] = slopes.get(name, Fraction(0)) + sign * slope
    return slopes, total


def _product(parts: list[_Linear], *, divide: bool) -> _Linear:
    slopes, constant = parts[0]
    for part, factor in parts[1:]:
        if divide:
            if part or factor == 0:
                raise OutOfReach
            factor = 1 / factor
        elif part:
            if slopes:
                raise OutOfReach
            slopes, constant, factor = part, factor, constant
        slopes = {name: slope * factor for name, slope in slopes.items()}
        constant *= factor
    return slopes, constant


def _integers(points: Sequence[Fraction]) -> set[int]:
    """Every whole point, one whole number in each gap, and one beyond either end."""
    if not points:
        return {0}
    chosen = {int(point) for point in points if point.denominator == 1}
    chosen |= {math.ceil(points[0]) - 1, math.floor(points[-1]) + 1}
    for low, high in itertools.pairwise(points):
        if math.floor(low) + 1 < high:
            chosen.add(math.floor(low) + 1)
    return chosen


def _reals(points: Sequence[Fraction]) -> set[Fraction]:
    if not points:
        return {Fraction(0)}
    middles = {(low + high) / 2 for low, high in itertools.pairwise(points)}
    return {*points, *middles, points[0] - 1, points[-1] + 1}


def fits(problem: LogicProblem, terms: Iterable[Sexpr]) -> CriticalPoints | None:
    """The procedure for these terms, where it is one for it."""
    try:
        return CriticalPoints(problem, tuple(terms))
    except (OutOfReach, RecursionError):
        return None
