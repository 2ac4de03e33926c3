"""What the evaluator knows: the declarations of a problem, and a model of it."""

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from qwed.engines.logic.evaluate import Definition, World
from qwed.engines.logic.sexpr import Sexpr
from qwed.engines.logic.values import Element, FunctionTable, Value, Vector


class Model(msgspec.Struct, frozen=True):
    """Values and definitions of the declared names, and the members of the sorts without any."""

    values: Mapping[str, Value] = {}
    definitions: Mapping[str, Definition] = {}
    universes: Mapping[Sexpr, Sequence[Value]] = {}


def world(declarations: Sequence[Sexpr], model: Model) -> World:
    """The model completed: a name it leaves open may have any value."""
    constructors: dict[str, int] = {}
    selectors: dict[str, tuple[str, int]] = {}
    universes: dict[Sexpr, Sequence[Value]] = dict(model.universes)
    for sort, alternatives in datatypes(declarations):
        for alternative in alternatives:
            name, fields = _constructor(alternative)
            constructors[name] = len(fields)
            selectors.update((field, (name, place)) for place, field in enumerate(fields))
        if all(isinstance(each, str) or len(each) == 1 for each in alternatives):
            universes[sort] = [Element(_constructor(each)[0]) for each in alternatives]
    values = dict(model.values)
    for name, arity, sort in functions(declarations):
        if name not in values and name not in model.definitions:
            default = default_value(sort, universes)
            if default is not None:
                values[name] = FunctionTable({}, default) if arity else default
    definitions = {**dict(_definitions(declarations)), **model.definitions}
    return World(values, definitions, universes, constructors, selectors)


def default_value(sort: Sexpr, universes: Mapping[Sexpr, Sequence[Value]]) -> Value | None:
    match sort:
        case "Bool":
            return False
        case "Int" | "Real":
            return 0
        case ("_", "BitVec", str(width)):
            return Vector(0, int(width))
        case ("Array", _, element):
            default = default_value(element, universes)
            return None if default is None else FunctionTable({}, default)
    universe = universes.get(sort)
    return universe[0] if universe else None


def functions(declarations: Iterable[Sexpr]) -> Iterable[tuple[str, int, Sexpr]]:
    """Name, number of arguments and sort of what is declared and not defined."""
    for declaration in declarations:
        match declaration:
            case ("declare-const", str(name), sort):
                yield name, 0, sort
            case ("declare-fun", str(name), tuple(arguments), sort):
                yield name, len(arguments), sort


def datatypes(declarations: Iterable[Sexpr]) -> Iterable[tuple[Sexpr, tuple[Sexpr, ...]]]:
    """Each datatype without parameters, and its constructors."""
    for declaration in declarations:
        match declaration:
            case ("declare-datatype", sort, tuple(body)) if body[:1] != ("par",):
                yield sort, body
            case ("declare-datatypes", tuple(sorts), tuple(bodies)):
                for sort, alternatives in zip(sorts, bodies, strict=False):
                    if isinstance(sort, str) or isinstance(alternatives, str):
                        continue
                    if alternatives[:1] != ("par",):
                        yield sort[0], alternatives


def _constructor(alternative: Sexpr) -> tuple[str, tuple[str, ...]]:
    if isinstance(alternative, str):
        return alternative, ()
    return str(alternative[0]), tuple(str(field[0]) for field in alternative[1:])


def _definitions(declarations: Iterable[Sexpr]) -> Iterable[tuple[str, Definition]]:
    for declaration in declarations:
        match declaration:
            case ("define-fun" | "define-fun-rec", str(name), tuple(parameters), _, body):
                yield name, Definition(tuple(str(parameter[0]) for parameter in parameters), body)
            case ("define-const", str(name), _, body):
                yield name, Definition((), body)
