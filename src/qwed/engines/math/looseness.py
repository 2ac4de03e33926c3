"""What people write that does not hold to the letter: a claim in this manner is not called wrong.

All of it is asked only of a claim that does not hold as it is written, and the answer is then that it is
open: "5+3=8*2=16" carries a result on, "7/2 = 4 boxes" rounds, "20 + 25 = 45%" counts in percent.
"""

from fractions import Fraction
from itertools import pairwise
from typing import Final

from qwed.engines.math import exact
from qwed.engines.math.comparison import compare, find_stated
from qwed.engines.math.nodes import (
    FunctionCall,
    Literal,
    Node,
    Percent,
    Product,
    Scaled,
    Sum,
    Symbol,
    UnitQuantity,
    walk,
)
from qwed.engines.math.problems import MathProblem

_HALF: Final = Fraction(1, 2)
# Halves, quarters, fifths, … twentieths.
_USUAL_PARTS: Final = 20
_EQUALITIES: Final = frozenset({"=", "≈"})


def is_loose(sides: tuple[Node, ...], relations: tuple[str, ...], in_prose: bool) -> bool:
    """Whether the chain holds in a manner of writing that is in use."""
    if not _EQUALITIES.issuperset(relations):
        return False
    # "Let e be the number of eggs: e = 12" speaks of no constant.
    if in_prose and isinstance(sides[0], Symbol):
        return True
    try:
        if len(sides) > 2 and _carries_on(sides, in_prose):
            return True
        is_about = in_prose or "≈" in relations
        return all(_holds_loosely(left, right, is_about) for left, right in pairwise(sides))
    except MathProblem:
        return False


def _carries_on(sides: tuple[Node, ...], in_prose: bool) -> bool:
    """5 + 3 = 8 * 2 = 16: each step begins with the result of the one before."""
    return all(
        (first := _leading(after)) is not None and _holds_loosely(before, first, in_prose)
        for before, after in pairwise(sides)
    )


def _leading(node: Node) -> Node | None:
    """The number that a side begins with."""
    while not isinstance(node, Literal):
        match node:
            case Sum() if not node.negative[0]:
                node = node.terms[0]
            case Product() if not node.inverse[0]:
                node = node.factors[0]
            case UnitQuantity() | Percent():
                node = node.operand
            case _:
                return None
    return node


def _holds_loosely(left: Node, right: Node, in_prose: bool) -> bool:
    if compare(left, "=", right).holds:
        return True
    # 4 + 2 = 6 dozen = 6 * 12: the word counts on one side alone.
    if isinstance(right, Scaled) and compare(left, "=", right.operand).holds:
        return True
    if in_prose and isinstance(right, FunctionCall) and right.name == "factorial":
        # "That makes 3 + 4 = 7!"
        return compare(left, "=", right.arguments[0]).holds
    number = find_stated(right)
    if number is None:
        return False
    value = Fraction(*exact.evaluate(left))
    shown = Fraction(number.literal.numerator, number.literal.denominator)
    if _counts_percent(left, value, shown, number.is_percent):
        return True
    if not in_prose:
        return False
    return (
        _is_rounded(value / number.factor, shown, number.literal)
        or _is_cut(value / number.factor, shown, number.literal)
        or _has_rounded_parts(left, value, shown * number.factor)
        or _begins_later(left, right)
    )


def _counts_percent(left: Node, value: Fraction, shown: Fraction, is_percent: bool) -> bool:
    """20 + 25 = 45%, and 20% + 25% = 45."""
    has_percent = any(isinstance(part, Percent) for part in walk(left))
    if is_percent == has_percent:
        return False
    return shown in (value, value * 100)


def _is_rounded(value: Fraction, shown: Fraction, literal: Literal) -> bool:
    """7/2 = 4 boxes, 100/3 = 33 people: a whole number for one that is not."""
    return not literal.has_point and value.denominator != 1 and abs(value - shown) < 1


def _is_cut(value: Fraction, shown: Fraction, literal: Literal) -> bool:
    """100/7 = 14.28: the digits that follow were left out, not rounded."""
    step = Fraction(1, 10**literal.places)
    return literal.has_point and literal.places > 1 and 0 < abs(value) - abs(shown) < step


def _has_rounded_parts(left: Node, value: Fraction, shown: Fraction) -> bool:
    """3.33 * 5 = 16.67: the numbers on the left may have been rounded before. Money is not."""
    money = {id(part.operand) for part in walk(left) if isinstance(part, UnitQuantity)}
    error = Fraction(0)
    for part in walk(left):
        if isinstance(part, Literal) and id(part) not in money and _may_be_rounded(part):
            error += _HALF / abs(part.numerator)
    return bool(error) and abs(value - shown) <= error * max(abs(value), abs(shown))


def _may_be_rounded(part: Literal) -> bool:
    """0.75 and 1.5 are parts that people mean; 3.33 may have been something else."""
    if not part.has_point or not part.numerator % 10:
        return False
    return Fraction(part.numerator, part.denominator).denominator > _USUAL_PARTS


def _begins_later(left: Node, right: Node) -> bool:
    """Day 1 - 5 * 3 = 15: the first number may belong to the words."""
    if not isinstance(left, Sum):
        return False
    rests = [_rest(left, start) for start in range(1, len(left.terms)) if left.negative[start]]
    return any(find_stated(rest) is None and compare(rest, "=", right).holds for rest in rests)


def _rest(node: Sum, start: int) -> Node:
    terms = node.terms[start:]
    return terms[0] if len(terms) == 1 else Sum(terms, (False, *node.negative[start + 1 :]))
