"""The signs and words of the notation, and the readings it allows."""

import enum
from typing import Final

import msgspec

from qwed.engines.math.nodes import Node


class LessUsual(enum.StrEnum):
    """The less usual of two readings of one notation."""

    PERCENT_ALONE = "a percentage added to a number is a number of its own"
    TIGHT_PRODUCT = "a product written without a sign binds more tightly than a division"
    NOT_EQUAL = "!= after a digit means 'is not equal to', not a factorial"
    NATURAL_LOG = "log is the natural logarithm"
    SAMPLE = "the spread is that of a sample (divisor n - 1)"
    WIDE_OF = "'of' takes the whole sum after it"
    SHORT_LIST = "an operator after a list applies to the result"
    SCALE = "the scale of the result is the unit of all the numbers"
    DOZENS = "a dozen is the unit the numbers count"
    DOZEN_TERMS = "a dozen is the unit of the terms"
    DEGREES = "the angle is given in degrees"
    NARROW_SCOPE = "the operator takes the next term alone"


DEFAULT: Final[frozenset[LessUsual]] = frozenset()

RELATIONS: Final = {
    "=": "=",
    "==": "=",
    "is": "=",
    "≈": "≈",
    "≅": "≈",
    "≃": "≈",
    "<": "<",
    ">": ">",
    "<=": "<=",
    "≤": "<=",
    ">=": ">=",
    "≥": ">=",
    "!=": "!=",
    " !=": "!=",
    "≠": "!=",
    "<>": "!=",
}

CURRENCIES: Final = {"$": "USD", "€": "EUR", "£": "GBP", "¥": "JPY", "₹": "INR"}
UNIT_MARK: Final = "\x00"
SCALE_MARK: Final = UNIT_MARK + "*"
ROUND_MARK: Final = UNIT_MARK + "~"

PLUS_MINUS: Final = {"+": False, "-": True, "−": True, "–": True}
TIMES: Final = frozenset({"*", "×", "·", "⋅", "∙", "✕", "✖"})
OVER: Final = frozenset({"/", "÷", "∕", "⁄", "outof"})
MULTIPLICATIVE: Final = TIMES | OVER | {"mod", "choose", "of", "//"}

SUPERSCRIPT_DIGITS: Final = "⁰¹²³⁴⁵⁶⁷⁸⁹⁻"


SHIFTED: Final = frozenset({"lessthan", "morethan", "takenfrom", "addedto", "off", "incby", "decby"})
# Words that stand between expressions; none of them begins a factor.
SEPARATORS: Final = (
    frozenset({"of", "and", "or", "by", "from", "to", "is", "wrt", "mod", "choose", "for", "as", "at", "on"})
    | SHIFTED
)


class Chain(msgspec.Struct, frozen=True):
    """`sides[0] relations[0] sides[1] …`; one side and no relation is a bare expression."""

    sides: tuple[Node, ...]
    relations: tuple[str, ...]
    # The tokens each side was read from, first and past the last.
    bounds: tuple[tuple[int, int], ...]
