"""Units of known size, and what may be added to or compared with what."""

from fractions import Fraction
from typing import Final

import msgspec

from qwed.engines.math.nodes import (
    Brackets,
    FunctionCall,
    Literal,
    Negation,
    Node,
    Percent,
    PlusMinus,
    Power,
    Product,
    Scaled,
    Sum,
    UnitQuantity,
    rebuild,
    walk,
)
from qwed.engines.math.problems import UndecidedMath

# unit: (dimension, how many of the dimension's base unit)
UNITS: Final[dict[str, tuple[str, Fraction]]] = {
    "USD": ("USD", Fraction(1)),
    "cent": ("USD", Fraction(1, 100)),
    "EUR": ("EUR", Fraction(1)),
    "GBP": ("GBP", Fraction(1)),
    "JPY": ("JPY", Fraction(1)),
    "INR": ("INR", Fraction(1)),
    "second": ("time", Fraction(1)),
    "minute": ("time", Fraction(60)),
    "hour": ("time", Fraction(3_600)),
    "day": ("time", Fraction(86_400)),
    "week": ("time", Fraction(604_800)),
    "month": ("calendar", Fraction(1)),
    "year": ("calendar", Fraction(12)),
    "mm": ("length", Fraction(1, 1_000)),
    "cm": ("length", Fraction(1, 100)),
    "metre": ("length", Fraction(1)),
    "km": ("length", Fraction(1_000)),
    "inch": ("length", Fraction(254, 10_000)),
    "foot": ("length", Fraction(3_048, 10_000)),
    "yard": ("length", Fraction(9_144, 10_000)),
    "mile": ("length", Fraction(1_609_344, 1_000)),
    "gram": ("mass", Fraction(1)),
    "kg": ("mass", Fraction(1_000)),
    "mg": ("mass", Fraction(1, 1_000)),
    "ounce": ("mass", Fraction(28_349_523_125, 10**9)),
    "pound": ("mass", Fraction(45_359_237, 10**5)),
    "litre": ("volume", Fraction(1)),
    "ml": ("volume", Fraction(1, 1_000)),
}
_CURRENCIES: Final = frozenset({"USD", "EUR", "GBP", "JPY", "INR"})

UNIT_WORDS: Final[dict[str, str]] = {
    **{name: name for name in ("cent", "second", "minute", "hour", "day", "week", "month", "year")},
    **{f"{name}s": name for name in ("cent", "second", "minute", "hour", "day", "week", "month", "year")},
    "sec": "second",
    "secs": "second",
    "min": "minute",
    "mins": "minute",
    "hr": "hour",
    "hrs": "hour",
    "mm": "mm",
    "cm": "cm",
    "km": "km",
    "kms": "km",
    "kg": "kg",
    "kgs": "kg",
    "mg": "mg",
    "ml": "ml",
    "meter": "metre",
    "meters": "metre",
    "metre": "metre",
    "metres": "metre",
    "kilometer": "km",
    "kilometers": "km",
    "kilometre": "km",
    "kilometres": "km",
    "centimeter": "cm",
    "centimeters": "cm",
    "millimeter": "mm",
    "millimeters": "mm",
    "inch": "inch",
    "inches": "inch",
    "foot": "foot",
    "feet": "foot",
    "ft": "foot",
    "yard": "yard",
    "yards": "yard",
    "mile": "mile",
    "miles": "mile",
    "gram": "gram",
    "grams": "gram",
    "kilogram": "kg",
    "kilograms": "kg",
    "milligrams": "mg",
    "ounce": "ounce",
    "ounces": "ounce",
    "oz": "ounce",
    "pound": "pound",
    "pounds": "pound",
    "lbs": "pound",
    "liter": "litre",
    "liters": "litre",
    "litre": "litre",
    "litres": "litre",
    "milliliters": "ml",
}

# Letters that are units only beside others of their kind: they are variables too.
UNIT_LETTERS: Final = {"m": "metre", "g": "gram", "h": "hour", "s": "second", "l": "litre", "L": "litre"}

Dimension = dict[str, int]


class Unitless(msgspec.Struct, frozen=True):
    """The sides as plain numbers; `size` is the last side's unit in what they are now given in."""

    sides: tuple[Node, ...]
    size: Fraction
    # False where the units of the sides disagree and only the numbers are compared.
    agrees: bool = True


def without_units(sides: tuple[Node, ...]) -> list[Unitless]:
    """The sides as plain numbers, in each way that they may be meant; the usual one first.

    Where each dimension is written in one unit only, the numbers mean the same without it, also in the
    loose way of "5 hours * 10 dollars = 50 dollars". Otherwise everything is converted to base units,
    which needs dimensions that agree. Unlike things are neither added nor set equal.
    """
    dimensions = [_dimension(side) for side in sides]
    named = [dimension for dimension in dimensions if dimension]
    agrees = all(dimension == named[0] for dimension in named)
    if not agrees and _are_unlike(sides, dimensions):
        raise UndecidedMath("the sides have different units")
    stripped = Unitless(tuple(map(_strip, sides)), Fraction(1), agrees)
    if _has_one_unit_each(sides):
        return [stripped]
    loose = msgspec.structs.replace(stripped, agrees=False)
    # "4*2 = 8 hours per day" computes with bare numbers and names the unit of the result.
    if not any(map(_quantities, sides[:-1])):
        return [loose]
    opaque = any(isinstance(part, Power | FunctionCall | Brackets) for side in sides for part in walk(side))
    converts = not opaque and all(dimension == dimensions[0] for dimension in dimensions)
    found = [Unitless(tuple(map(_to_base, sides)), _size_of(sides[-1]))] if converts else []
    if _converts_by_factor(sides) or _counts_at_a_rate(sides):
        found.append(loose)
    if not found:
        raise UndecidedMath("the sides have different units")
    return found


def bare(sides: tuple[Node, ...]) -> tuple[Node, ...] | None:
    """The numbers alone; None where numbers of different units are added."""
    for side in sides:
        for part in walk(side):
            if isinstance(part, Sum) and len({quantity.unit for quantity in _quantities(part)}) > 1:
                return None
    return tuple(map(_strip, sides))


def _quantities(side: Node) -> list[UnitQuantity]:
    return [part for part in walk(side) if isinstance(part, UnitQuantity)]


def _has_one_unit_each(sides: tuple[Node, ...]) -> bool:
    units = {part.unit.lstrip("/") for side in sides for part in _quantities(side)}
    return len({UNITS[unit][0] for unit in units}) == len(units)


def _converts_by_factor(sides: tuple[Node, ...]) -> bool:
    """Whether a bare factor is the ratio of the two units: 10 hours * 60 = 600 minutes."""
    if len(sides) != 2 or not isinstance(sides[0], Product):
        return False
    before, after = _quantities(sides[0]), _quantities(sides[1])
    if len(before) != 1 or len(after) != 1:
        return False
    ratio = _size(before[0].unit) / _size(after[0].unit)
    pairs = zip(sides[0].factors, sides[0].inverse, strict=True)
    return ratio in [_whole(factor) ** (-1 if inverse else 1) for factor, inverse in pairs if _whole(factor)]


def _counts_at_a_rate(sides: tuple[Node, ...]) -> bool:
    """Whether products of rates give a bare number: 6 fish a day * 7 days/week = 42."""
    if any(isinstance(part, Sum) for side in sides for part in walk(side)) or _quantities(sides[-1]):
        return False
    return all(
        any(part.unit.startswith("/") for part in _quantities(side)) for side in sides if _quantities(side)
    )


def _whole(node: Node) -> Fraction:
    return Fraction(node.numerator, node.denominator) if isinstance(node, Literal) else Fraction(0)


def _are_unlike(sides: tuple[Node, ...], dimensions: list[Dimension]) -> bool:
    """Two currencies, or two quantities that nothing was worked out of: $5 = €5, 52 weeks = 1 year."""
    currencies = {tuple(sorted(_CURRENCIES.intersection(dimension))) for dimension in dimensions} - {()}
    return len(currencies) > 1 or not any(isinstance(side, Product) for side in sides)


def _size_of(node: Node) -> Fraction:
    """The unit a stated result is written in."""
    quantities = [part for part in walk(node) if isinstance(part, UnitQuantity)]
    if len(quantities) != 1:
        return Fraction(1)
    return _size(quantities[0].unit)


def _size(unit: str) -> Fraction:
    """In base units; `/hour` is one per hour."""
    size = UNITS[unit.lstrip("/")][1]
    return 1 / size if unit.startswith("/") else size


def _strip(node: Node) -> Node:
    if isinstance(node, UnitQuantity):
        return _strip(node.operand)
    return rebuild(node, _strip)


def _to_base(node: Node) -> Node:
    if isinstance(node, UnitQuantity):
        size = _size(node.unit)
        return Scaled(_to_base(node.operand), size.numerator, size.denominator)
    return rebuild(node, _to_base)


def _dimension(node: Node) -> Dimension:
    match node:
        case UnitQuantity():
            sign = -1 if node.unit.startswith("/") else 1
            return _times(_dimension(node.operand), {UNITS[node.unit.lstrip("/")][0]: 1}, sign)
        case Sum():
            return _same([_dimension(term) for term in node.terms])
        case Product():
            total: Dimension = {}
            for factor, inverse in zip(node.factors, node.inverse, strict=True):
                total = _times(total, _dimension(factor), -1 if inverse else 1)
            return total
        case Negation() | Percent() | PlusMinus() | Scaled():
            return _dimension(node.operand)
        case FunctionCall(
            name=("sum" | "mean" | "median" | "min" | "max" | "mode" | "range" | "round" | "abs")
        ):
            return _same([_dimension(argument) for argument in node.arguments])
    return {}


def _times(left: Dimension, right: Dimension, sign: int) -> Dimension:
    result = dict(left)
    for name, count in right.items():
        result[name] = result.get(name, 0) + sign * count
        if not result[name]:
            del result[name]
    return result


def _same(dimensions: list[Dimension]) -> Dimension:
    """The one dimension of a sum. A bare number may be added to anything, as people write it."""
    named = [dimension for dimension in dimensions if dimension]
    if any(dimension != named[0] for dimension in named):
        raise UndecidedMath("things of different kinds are added")
    return named[0] if named else {}
