"""The tree of an expression. Sums and products are flat, so that depth is bounded by the brackets."""

from collections.abc import Callable, Iterator

import msgspec


class Literal(msgspec.Struct, frozen=True, gc=False):
    """A written number: `places` is the position of its last digit (2 for 3.14, -20 for 1.2e21)."""

    numerator: int
    denominator: int = 1
    places: int = 0
    has_point: bool = False
    # 0.666… : the digits go on, so it stands for every number that begins so.
    continues: bool = False


class Symbol(msgspec.Struct, frozen=True, gc=False):
    name: str


class Negation(msgspec.Struct, frozen=True):
    operand: "Node"


class Sum(msgspec.Struct, frozen=True):
    terms: tuple["Node", ...]
    negative: tuple[bool, ...]


class Product(msgspec.Struct, frozen=True):
    factors: tuple["Node", ...]
    inverse: tuple[bool, ...]


class Power(msgspec.Struct, frozen=True):
    base: "Node"
    exponent: "Node"


class Percent(msgspec.Struct, frozen=True):
    operand: "Node"


class UnitQuantity(msgspec.Struct, frozen=True):
    """A number with a unit that has a known size ($, hours, km)."""

    operand: "Node"
    unit: str


class Scaled(msgspec.Struct, frozen=True):
    """A number of millions, dozens or base units: the scale belongs to the way the number is written."""

    operand: "Node"
    numerator: int
    denominator: int = 1


class FunctionCall(msgspec.Struct, frozen=True):
    name: str
    arguments: tuple["Node", ...]


class Brackets(msgspec.Struct, frozen=True):
    """A bracketed list; a matrix when its items are lists of one length."""

    items: tuple["Node", ...]


class Derivative(msgspec.Struct, frozen=True):
    operand: "Node"
    variable: str
    order: int = 1


class Integral(msgspec.Struct, frozen=True):
    operand: "Node"
    variable: str
    lower: "Node | None" = None
    upper: "Node | None" = None


class PlusMinus(msgspec.Struct, frozen=True):
    """±a, a stated pair of values."""

    operand: "Node"


Node = (
    Literal
    | Symbol
    | Negation
    | Sum
    | Product
    | Power
    | Percent
    | UnitQuantity
    | Scaled
    | FunctionCall
    | Brackets
    | Derivative
    | Integral
    | PlusMinus
)

ZERO = Literal(0)
ONE = Literal(1)
TWO = Literal(2)
HUNDRED = Literal(100)


def add(*terms: Node) -> Node:
    return Sum(terms, (False,) * len(terms))


def subtract(left: Node, right: Node) -> Node:
    return Sum((left, right), (False, True))


def multiply(*factors: Node) -> Node:
    return Product(factors, (False,) * len(factors))


def divide(left: Node, right: Node) -> Node:
    return Product((left, right), (False, True))


def children(node: Node) -> tuple[Node, ...]:
    match node:
        case Sum():
            return node.terms
        case Product():
            return node.factors
        case Power():
            return (node.base, node.exponent)
        case FunctionCall():
            return node.arguments
        case Brackets():
            return node.items
        case Negation() | Percent() | UnitQuantity() | Scaled() | Derivative() | PlusMinus():
            return (node.operand,)
        case Integral():
            bounds = tuple(bound for bound in (node.lower, node.upper) if bound is not None)
            return (node.operand, *bounds)
    return ()


def walk(node: Node) -> Iterator[Node]:
    pending = [node]
    while pending:
        current = pending.pop()
        yield current
        pending.extend(children(current))


def symbols(node: Node) -> frozenset[str]:
    return frozenset(part.name for part in walk(node) if isinstance(part, Symbol))


def rebuild(node: Node, change: Callable[[Node], Node]) -> Node:
    """The same node over changed children."""
    match node:
        case Sum():
            return Sum(tuple(map(change, node.terms)), node.negative)
        case Product():
            return Product(tuple(map(change, node.factors)), node.inverse)
        case Power():
            return Power(change(node.base), change(node.exponent))
        case FunctionCall():
            return FunctionCall(node.name, tuple(map(change, node.arguments)))
        case Brackets():
            return Brackets(tuple(map(change, node.items)))
        case Negation():
            return Negation(change(node.operand))
        case Percent():
            return Percent(change(node.operand))
        case PlusMinus():
            return PlusMinus(change(node.operand))
        case UnitQuantity():
            return UnitQuantity(change(node.operand), node.unit)
        case Scaled():
            return Scaled(change(node.operand), node.numerator, node.denominator)
        case Derivative():
            return Derivative(change(node.operand), node.variable, node.order)
        case Integral():
            lower = None if node.lower is None else change(node.lower)
            upper = None if node.upper is None else change(node.upper)
            return Integral(change(node.operand), node.variable, lower, upper)
    return node


def substitute(node: Node, values: dict[str, Node]) -> Node:
    if isinstance(node, Symbol):
        return values.get(node.name, node)
    return rebuild(node, lambda child: substitute(child, values))
