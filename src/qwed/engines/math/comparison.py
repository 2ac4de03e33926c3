"""Whether one relation between two numbers holds, and what would make it hold.

A result is right when it is equal, or when it is written with decimals and the exact value rounds to
it; the answer says which. A result written without decimals has to be exact, unless the text says
"about".
"""

from fractions import Fraction
from typing import Final

import msgspec

from qwed.engines.math import exact
from qwed.engines.math.certified import PRECISIONS, Interval, enclose
from qwed.engines.math.nodes import Literal, Negation, Node, Percent, Product, Scaled, Sum, UnitQuantity, walk
from qwed.engines.math.problems import NotRational, UndecidedMath

_HUNDREDTH: Final = Fraction(1, 100)
# "About" is loose: nearer than this it is a matter of opinion, farther it is wrong.
_LOOSE: Final = Fraction(5, 100)
_HOLDS: Final = {
    "=": lambda order: order == 0,
    "≈": lambda order: order == 0,
    "!=": lambda order: order != 0,
    "<": lambda order: order < 0,
    "<=": lambda order: order <= 0,
    ">": lambda order: order > 0,
    ">=": lambda order: order >= 0,
}


class Link(msgspec.Struct, frozen=True):
    """One relation, decided. `how` says exactly, rounded to 2 decimals, …"""

    holds: bool
    how: str
    left: Interval
    right: Interval


class StatedValue(msgspec.Struct, frozen=True):
    """A side that is one written number: its value is `literal` times `factor`."""

    literal: Literal
    factor: Fraction
    is_percent: bool = False


def find_stated(node: Node) -> StatedValue | None:
    """The written number a side consists of, if it is one."""
    match node:
        case Literal():
            return StatedValue(node, Fraction(1))
        case Negation():
            inner = find_stated(node.operand)
            return inner and StatedValue(inner.literal, -inner.factor, inner.is_percent)
        case Percent():
            inner = find_stated(node.operand)
            return inner and StatedValue(inner.literal, inner.factor * _HUNDREDTH, True)
        case UnitQuantity():
            return find_stated(node.operand)
        case Scaled():
            inner = find_stated(node.operand)
            factor = Fraction(node.numerator, node.denominator)
            return inner and StatedValue(inner.literal, inner.factor * factor, inner.is_percent)
    return None


def compare(left: Node, relation: str, right: Node) -> Link:
    """Decide one relation between two sides. Raises `MathProblem`."""
    try:
        low, high = exact.evaluate(left), exact.evaluate(right)
    except NotRational:
        return _compare_intervals(left, relation, right)
    first, second = Fraction(*low), Fraction(*high)
    link = decide(left, relation, right, Interval(first, first), Interval(second, second))
    assert link is not None
    return link


def _compare_intervals(left: Node, relation: str, right: Node) -> Link:
    for bits in PRECISIONS:
        first, second = enclose(left, bits), enclose(right, bits)
        link = decide(left, relation, right, first, second)
        if link is not None:
            return link
    raise NotRational("the two sides agree as far as they were computed")


def _order(first: Interval, second: Interval) -> int | None:
    if first.high < second.low:
        return -1
    if first.low > second.high:
        return 1
    if first.is_point and second.is_point:
        return 0
    return None


def decide(left: Node, relation: str, right: Node, first: Interval, second: Interval) -> Link | None:
    """The relation between two sides whose values lie in these intervals; None while they are too wide."""
    order = _order(first, second)
    if order == 0 or relation not in ("=", "≈"):
        return None if order is None else Link(bool(_HOLDS[relation](order)), "exactly", first, second)
    how = _rounding(left, relation, right, first, second)
    if how is not None:
        return Link(True, how, first, second)
    if order is None:
        return None
    if relation == "≈" and _is_near(first, second):
        raise UndecidedMath("near, but neither side rounds to the other")
    return Link(False, "exactly", first, second)


def _is_near(first: Interval, second: Interval) -> bool:
    distance = max(abs(first.high - second.low), abs(second.high - first.low))
    return distance <= _LOOSE * max(abs(first.high), abs(second.high))


# -- rounding ------------------------------------------------------------------------------------


def _rounding(left: Node, relation: str, right: Node, first: Interval, second: Interval) -> str | None:
    """How the computed side rounds to the stated one; None when it does not."""
    is_about = relation == "≈"
    for side, other, value in ((right, left, first), (left, right, second)):
        number = find_stated(side)
        # Of two written numbers neither is a result of the other.
        if number is None or (
            find_stated(other) is not None and not is_about and not number.literal.continues
        ):
            continue
        how = _rounds_to(number, value, is_about) or _percent_as_unit(number, other, value)
        if how is not None:
            return how
    return None


def _rounds_to(number: StatedValue, value: Interval, is_about: bool) -> str | None:
    literal = number.literal
    shown = Fraction(literal.numerator, literal.denominator) * number.factor
    if literal.continues:
        return _continues(shown, Fraction(10) ** -literal.places * number.factor, value)
    if not (literal.has_point or number.is_percent or is_about):
        return None
    places = literal.places if literal.has_point or not is_about else -_trailing_zeros(literal.numerator)
    half = abs(Fraction(10) ** -places * number.factor) / 2
    if shown - half <= value.low and value.high <= shown + half:
        return f"rounded to {places} decimals" if places >= 0 else f"rounded to 10^{-places}"
    return None


def _continues(shown: Fraction, unit: Fraction, value: Interval) -> str | None:
    low, high = sorted((shown, shown + unit))
    return "as its first digits" if low <= value.low and value.high <= high else None


def _trailing_zeros(value: int) -> int:
    count = 0
    while value and value % 10 == 0:
        value, count = value // 10, count + 1
    return count


def _percent_as_unit(number: StatedValue, other: Node, value: Interval) -> str | None:
    """30 / 200 * 100 = 15%: the factor 100 and the sign both make it a percentage; people write both."""
    has_percent = any(isinstance(part, Percent) for part in walk(other))
    if not number.is_percent or has_percent or not _has_factor_hundred(other):
        return None
    as_unit = StatedValue(number.literal, number.factor / _HUNDREDTH)
    shown = Fraction(number.literal.numerator, number.literal.denominator) * as_unit.factor
    if value.low == value.high == shown:
        return "exactly, with % as the unit of the 100"
    how = _rounds_to(as_unit, value, False)
    return how and f"{how}, with % as the unit of the 100"


def find_written_factor(number: StatedValue, other: Node) -> Fraction | None:
    """By what the written number is multiplied to be a result of the other side; None where unclear."""
    if not number.is_percent or any(isinstance(part, Percent) for part in walk(other)):
        return number.factor
    if _has_factor_hundred(other):
        return number.factor / _HUNDREDTH
    # 30/200 = 15% is a part of a whole; 20 + 25 = 45% counts in percent.
    return number.factor if isinstance(other, Product) else None


def _has_factor_hundred(node: Node) -> bool:
    """A factor 100, or a sum that starts from a whole of 100."""
    if isinstance(node, Sum):
        return _is_hundred(node.terms[0])
    if isinstance(node, Product):
        pairs = zip(node.factors, node.inverse, strict=True)
        return any(_is_hundred(factor) and not inverse for factor, inverse in pairs)
    return False


def _is_hundred(node: Node) -> bool:
    return isinstance(node, Literal) and node.numerator == 100 * node.denominator
