"""What a term is worth under given values, computed here and not by the solver.

A quantifier is evaluated where its variables have finitely many values; what can't be computed
raises `NotEvaluable`.
"""

import itertools
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Final

import msgspec

from qwed.engines.logic.operations import INDEXED, OPERATIONS, truth
from qwed.engines.logic.sexpr import Sexpr
from qwed.engines.logic.values import Element, FunctionTable, NotEvaluable, Value, Vector

MAX_STEPS: Final = 300_000
MAX_QUANTIFIED: Final = 20_000
MAX_WIDTH: Final = 20_000


class Definition(msgspec.Struct, frozen=True):
    """`define-fun`: parameters and body."""

    parameters: tuple[str, ...]
    body: Sexpr


class World(msgspec.Struct, frozen=True):
    """Everything a term may mention: values, functions, definitions, and the members of sorts."""

    values: Mapping[str, Value]
    definitions: Mapping[str, Definition] = {}
    universes: Mapping[Sexpr, Sequence[Value]] = {}
    constructors: Mapping[str, int] = {}
    # A field's name, by the constructor it belongs to and its place there.
    selectors: Mapping[str, tuple[str, int]] = {}


def evaluate(term: Sexpr, world: World) -> Value:
    """Raises `NotEvaluable` only."""
    try:
        return _Evaluation(world).value(term)
    except RecursionError:
        raise NotEvaluable("nested too deeply") from None
    except (TypeError, ValueError, IndexError, OverflowError):
        raise NotEvaluable("a term that is not well formed") from None


class _Evaluation:
    def __init__(self, world: World) -> None:
        self._world = world
        self._scope: dict[str, Value] = {}
        self._steps = 0

    def value(self, term: Sexpr) -> Value:
        self._steps += 1
        if self._steps > MAX_STEPS:
            raise NotEvaluable("too many steps")
        if isinstance(term, str):
            return self._atom(term)
        head = term[0]
        if isinstance(head, tuple):
            return self._call_indexed(head, term[1:])
        special = _SPECIAL.get(head)
        if special is not None:
            return special(self, term)
        return self._apply(head, [self.value(argument) for argument in term[1:]])

    def _atom(self, token: str) -> Value:
        if token in self._scope:
            return self._scope[token]
        if token in self._world.values:
            return self._world.values[token]
        if token in _TRUTHS:
            return _TRUTHS[token]
        if token[0].isdigit():
            return int(token) if token.isdigit() else Fraction(token)
        if token.startswith("#b"):
            return Vector(int(token[2:], 2), len(token) - 2)
        if token.startswith("#x"):
            return Vector(int(token[2:], 16), 4 * (len(token) - 2))
        if token in self._world.definitions:
            return self._call_defined(token, [])
        if self._world.constructors.get(token) == 0:
            return Element(token)
        raise NotEvaluable(f"{token[:40]} has no value")

    def _apply(self, head: str, arguments: list[Value]) -> Value:
        operation = OPERATIONS.get(head)
        if operation is not None:
            return operation(*arguments)
        if head in self._world.definitions:
            return self._call_defined(head, arguments)
        function = self._world.values.get(head)
        if isinstance(function, FunctionTable):
            return function(*arguments)
        if self._world.constructors.get(head) == len(arguments):
            return Element(head, tuple(arguments))
        selected = self._world.selectors.get(head)
        if selected is not None and isinstance(arguments[0], Element) and arguments[0].name == selected[0]:
            return arguments[0].fields[selected[1]]
        raise NotEvaluable(f"{head[:40]} is not computed here")

    def _call_defined(self, name: str, arguments: list[Value]) -> Value:
        definition = self._world.definitions[name]
        outer, self._scope = self._scope, dict(zip(definition.parameters, arguments, strict=False))
        try:
            return self.value(definition.body)
        finally:
            self._scope = outer

    def _call_indexed(self, head: tuple[Sexpr, ...], arguments: tuple[Sexpr, ...]) -> Value:
        values = [self.value(argument) for argument in arguments]
        match head:
            case ("_", str(name), *indices) if name in INDEXED:
                numbers = [int(str(index)) for index in indices]
                if max(numbers) > MAX_WIDTH:
                    raise NotEvaluable("a bit vector too wide")
                return INDEXED[name](*numbers, *values)
            case ("_", "is", str(constructor)) if isinstance(values[0], Element):
                return values[0].name == constructor
            case ("as", "const", _):
                return FunctionTable({}, values[0])
            case ("as", str(name), _):
                return self._apply(name, values)
        raise NotEvaluable("an indexed function")

    # What does not evaluate all its arguments first

    def and_(self, term: tuple[Sexpr, ...]) -> Value:
        return all(truth(self.value(part)) for part in term[1:])

    def or_(self, term: tuple[Sexpr, ...]) -> Value:
        return any(truth(self.value(part)) for part in term[1:])

    def implies(self, term: tuple[Sexpr, ...]) -> Value:
        *conditions, conclusion = term[1:]
        return not all(truth(self.value(part)) for part in conditions) or truth(self.value(conclusion))

    def ite(self, term: tuple[Sexpr, ...]) -> Value:
        return self.value(term[2] if truth(self.value(term[1])) else term[3])

    def let(self, term: tuple[Sexpr, ...]) -> Value:
        _, bindings, body = term
        bound = {str(binding[0]): self.value(binding[1]) for binding in bindings}
        return self._within(bound, body)

    def annotated(self, term: tuple[Sexpr, ...]) -> Value:
        return self.value(term[1])

    def literal(self, term: tuple[Sexpr, ...]) -> Value:
        match term:
            case ("_", str(name), str(width)) if name.startswith("bv") and int(width) <= MAX_WIDTH:
                return Vector(int(name[2:]) % (1 << int(width)), int(width))
        raise NotEvaluable("an indexed constant")

    def qualified(self, term: tuple[Sexpr, ...]) -> Value:
        return self.value(term[1])

    def forall(self, term: tuple[Sexpr, ...]) -> Value:
        return all(truth(self._within(bound, term[2])) for bound in self._assignments(term))

    def exists(self, term: tuple[Sexpr, ...]) -> Value:
        return any(truth(self._within(bound, term[2])) for bound in self._assignments(term))

    def _assignments(self, term: tuple[Sexpr, ...]) -> list[dict[str, Value]]:
        names = [str(binding[0]) for binding in term[1]]
        domains = [self._members(binding[1]) for binding in term[1]]
        count = 1
        for domain in domains:
            count *= len(domain)
        if count > MAX_QUANTIFIED:
            raise NotEvaluable("a quantifier over too many values")
        return [dict(zip(names, values, strict=True)) for values in itertools.product(*domains)]

    def _members(self, sort: Sexpr) -> Sequence[Value]:
        if sort == "Bool":
            return (False, True)
        if sort in self._world.universes:
            return self._world.universes[sort]
        match sort:
            case ("_", "BitVec", str(width)) if int(width) <= 10:
                return [Vector(value, int(width)) for value in range(1 << int(width))]
        raise NotEvaluable("a quantifier over infinitely many values")

    def _within(self, bound: dict[str, Value], body: Sexpr) -> Value:
        shadowed = {name: self._scope[name] for name in bound if name in self._scope}
        self._scope.update(bound)
        try:
            return self.value(body)
        finally:
            for name in bound:
                del self._scope[name]
            self._scope.update(shadowed)


_SPECIAL: Final[dict[str, Callable[[_Evaluation, tuple[Sexpr, ...]], Value]]] = {
    "and": _Evaluation.and_,
    "or": _Evaluation.or_,
    "=>": _Evaluation.implies,
    "implies": _Evaluation.implies,
    "ite": _Evaluation.ite,
    "let": _Evaluation.let,
    "!": _Evaluation.annotated,
    "_": _Evaluation.literal,
    "as": _Evaluation.qualified,
    "forall": _Evaluation.forall,
    "exists": _Evaluation.exists,
}
_TRUTHS: Final = {"true": True, "false": False}
