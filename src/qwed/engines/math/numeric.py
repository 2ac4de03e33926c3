"""Which claims are arithmetic and nothing more: they load no library and grow no number."""

from math import isqrt
from typing import Final

from qwed.engines.math.functions import CONSTANTS
from qwed.engines.math.grammar import Chain
from qwed.engines.math.nodes import (
    FunctionCall,
    Literal,
    Negation,
    Node,
    Percent,
    Power,
    Product,
    Scaled,
    Sum,
    Symbol,
    UnitQuantity,
    children,
)

_MAX_EXPONENT: Final = 12
_MAX_BASE: Final = 10**6
_MAX_FACTORIAL: Final = 20
_PLAIN: Final = (Negation, Sum, Product, Percent, UnitQuantity, Scaled)
_CALLS: Final = frozenset({"sum", "mean", "round", "abs", "min", "max", "floor", "ceil", "median"})


def is_numeric(chain: Chain) -> bool:
    """Numbers alone, after a letter that names them."""
    sides = chain.sides
    is_named = len(sides) > 2 and isinstance(sides[0], Symbol) and sides[0].name not in CONSTANTS
    return all(map(_is_number, sides[1:] if is_named else sides))


def _is_number(node: Node) -> bool:
    match node:
        case Literal():
            return True
        case Power():
            return _is_small_power(node)
        case FunctionCall():
            return _is_small_call(node)
    return isinstance(node, _PLAIN) and all(map(_is_number, children(node)))


def _is_small_power(node: Power) -> bool:
    base = node.base.operand if isinstance(node.base, Negation) else node.base
    return (
        _is_whole(node.exponent, _MAX_EXPONENT) and isinstance(base, Literal) and base.numerator < _MAX_BASE
    )


def _is_small_call(node: FunctionCall) -> bool:
    if node.name == "factorial":
        return _is_whole(node.arguments[0], _MAX_FACTORIAL)
    if node.name == "sqrt":
        return _is_whole(node.arguments[0], _MAX_BASE) and _is_square(node.arguments[0])
    return node.name in _CALLS and all(map(_is_number, node.arguments))


def _is_whole(node: Node, most: int) -> bool:
    return isinstance(node, Literal) and node.denominator == 1 and node.numerator <= most


def _is_square(node: Node) -> bool:
    return isinstance(node, Literal) and isqrt(node.numerator) ** 2 == node.numerator
