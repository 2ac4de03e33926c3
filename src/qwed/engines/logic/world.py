"""From declarations to what the evaluator knows without a model: definitions and constructors."""

from collections.abc import Iterable, Mapping, Sequence

from qwed.engines.logic.evaluate import Definition, Element, Table, Value, Vector, World
from qwed.engines.logic.problem import Problem
from qwed.engines.logic.sexpr import Sexpr


def world(problem: Problem, values: Mapping[str, Value], universes: Mapping[Sexpr, Sequence[Value]]) -> World:
    """The values completed: a name the model leaves open may have any value."""
    constructors: dict[str, int] = {}
    members: dict[Sexpr, Sequence[Value]] = dict(universes)
    for sort, names in _datatypes(problem.declarations):
        constructors.update(names)
        if not any(names.values()):
            members[sort] = [Element(name) for name in names]
    completed = dict(values)
    for name, arity, sort in _functions(problem.declarations):
        if name not in completed:
            default = default_value(sort, members)
            if default is not None:
                completed[name] = Table({}, default) if arity else default
    return World(completed, dict(_definitions(problem.declarations)), members, constructors)


def default_value(sort: Sexpr, members: Mapping[Sexpr, Sequence[Value]]) -> Value | None:
    match sort:
        case "Bool":
            return False
        case "Int" | "Real":
            return 0
        case ("_", "BitVec", str(width)):
            return Vector(0, int(width))
        case ("Array", _, element):
            default = default_value(element, members)
            return None if default is None else Table({}, default)
    universe = members.get(sort)
    return universe[0] if universe else None


def _functions(declarations: tuple[Sexpr, ...]) -> Iterable[tuple[str, int, Sexpr]]:
    for declaration in declarations:
        match declaration:
            case ("declare-const", str(name), sort):
                yield name, 0, sort
            case ("declare-fun", str(name), tuple(arguments), sort):
                yield name, len(arguments), sort


def _definitions(declarations: tuple[Sexpr, ...]) -> Iterable[tuple[str, Definition]]:
    for declaration in declarations:
        match declaration:
            case ("define-fun" | "define-fun-rec", str(name), tuple(parameters), _, body):
                yield name, Definition(tuple(str(parameter[0]) for parameter in parameters), body)
            case ("define-const", str(name), _, body):
                yield name, Definition((), body)


def _datatypes(declarations: tuple[Sexpr, ...]) -> Iterable[tuple[Sexpr, dict[str, int]]]:
    for declaration in declarations:
        match declaration:
            case ("declare-datatype", sort, tuple(constructors)):
                yield sort, dict(map(_constructor, constructors))
            case ("declare-datatypes", tuple(sorts), tuple(bodies)):
                for sort, body in zip(sorts, bodies, strict=False):
                    if isinstance(sort, tuple) and isinstance(body, tuple) and body[:1] != ("par",):
                        yield sort[0], dict(map(_constructor, body))


def _constructor(constructor: Sexpr) -> tuple[str, int]:
    if isinstance(constructor, str):
        return constructor, 0
    return str(constructor[0]), len(constructor) - 1
