"""Which claims are arithmetic and nothing more: they load no library and grow no number."""

from math import isqrt
from typing import Final

from qwed.engines.math import exact
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
from qwed.engines.math.ratios import reduce_ratio

_MAX_EXPONENT: Final = 12
_MAX_BASE: Final = 10**6
_MAX_FACTORIAL: Final = 20
_MAX_TERMS: Final = 8
_PLAIN: Final = (Negation, Sum, Product, Percent, UnitQuantity, Scaled)
_COUNTS: Final = {"gcd": _MAX_BASE, "lcm": 10_000, "binomial": 60, "permutations": 20}
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
    return _is_whole(node.exponent, _MAX_EXPONENT) and _is_small(node.base)


def _is_small(node: Node) -> bool:
    """A few small numbers, and nothing that lets them grow."""
    if isinstance(node, Literal):
        return node.numerator < _MAX_BASE
    return (
        isinstance(node, _PLAIN) and len(children(node)) <= _MAX_TERMS and all(map(_is_small, children(node)))
    )


def _is_small_call(node: FunctionCall) -> bool:
    if node.name == "factorial":
        return _is_whole(node.arguments[0], _MAX_FACTORIAL)
    if node.name == "sqrt":
        return _is_square(node.arguments[0])
    if node.name in _COUNTS:
        return len(node.arguments) <= _MAX_TERMS and all(
            _is_whole(one, _COUNTS[node.name]) for one in node.arguments
        )
    return node.name in _CALLS and all(map(_is_number, node.arguments))


def _is_whole(node: Node, most: int) -> bool:
    return isinstance(node, Literal) and node.denominator == 1 and node.numerator <= most


def _is_square(node: Node) -> bool:
    """√144, √0.0081, √(5² + 12²)."""
    if not _is_number(node) or not _is_small_sum(node):
        return False
    top, bottom = reduce_ratio(exact.evaluate(node))
    return 0 <= top < _MAX_BASE**2 and isqrt(top) ** 2 == top and isqrt(bottom) ** 2 == bottom


def _is_small_sum(node: Node) -> bool:
    return _is_small(node) or (
        isinstance(node, Sum) and all(_is_small(one) or _is_number(one) for one in node.terms)
    )
