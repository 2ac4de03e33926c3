"""Numbers with units, as sets of values that a statement leaves open.

"330 m" is one value, "more than 5" is a half-line, "about 5 million" a span. A source entails a claim when
its set lies within the claim's, and contradicts it when the two have nothing in common.
"""

import enum
from fractions import Fraction
from typing import Final

import msgspec


class Relation(enum.Enum):
    """How what a source leaves open lies to what a claim leaves open."""

    SAME = enum.auto()
    WITHIN = enum.auto()
    DISJOINT = enum.auto()
    UNKNOWN = enum.auto()


class Unit(msgspec.Struct, frozen=True):
    """`factor` times a value, plus `offset`, is the value in the base unit of the dimension."""

    dimension: str
    factor: Fraction = Fraction(1)
    offset: Fraction = Fraction(0)


_FAMILIES: Final[dict[str, dict[str, str]]] = {
    "length": {
        "1": "m meter meters metre metres",
        "1000": "km kilometer kilometers kilometre kilometres",
        "0.01": "cm centimeter centimeters centimetre centimetres",
        "0.001": "mm millimeter millimeters millimetre millimetres",
        "0.3048": "ft foot feet",
        "0.0254": "inch inches",
        "0.9144": "yd yard yards",
        "1609.344": "mi mile miles",
    },
    "mass": {
        "1": "kg kilogram kilograms kilo kilos",
        "0.001": "g gram grams gramme grammes",
        "0.000001": "mg milligram milligrams",
        "1000": "t tonne tonnes",
        "0.45359237": "lb lbs pound pounds",
        "0.028349523125": "oz ounce ounces",
    },
    "time": {
        "1": "s sec second seconds",
        "60": "min minute minutes",
        "3600": "h hr hrs hour hours",
        "86400": "day days",
        "604800": "week weeks",
        "0.001": "ms millisecond milliseconds",
    },
    # Months and years have no fixed number of days, so they are a dimension of their own.
    "calendar": {
        "1": "month months",
        "12": "year years yr yrs",
        "120": "decade decades",
        "1200": "century centuries",
    },
    "area": {
        "1": "m2 m²",
        "1000000": "km2 km²",
        "10000": "ha hectare hectares",
        "4046.8564224": "acre acres",
    },
    "volume": {
        "1": "l liter liters litre litres",
        "0.001": "ml milliliter milliliters millilitre millilitres",
    },
    "speed": {"1": "km/h kmh kph", "1.609344": "mph", "3.6": "m/s"},
    "power": {"1": "w watt watts", "1000": "kw kilowatt kilowatts", "1000000": "megawatt megawatts"},
    "data": {"1": "byte bytes", "1000": "kb", "1000000": "mb", "1000000000": "gb", "1000000000000": "tb"},
    "percent": {"1": "% percent pct"},
    "USD": {"1": "$ usd dollar dollars us$", "0.01": "cent cents ¢"},
    "EUR": {"1": "€ eur euro euros"},
    "GBP": {"1": "£ gbp"},
    "JPY": {"1": "¥ jpy yen"},
    "INR": {"1": "₹ inr rupee rupees"},
    "CHF": {"1": "chf"},
}


def _unit_table() -> dict[str, Unit]:
    table = {
        spelling: Unit(dimension, Fraction(factor))
        for dimension, factors in _FAMILIES.items()
        for factor, spellings in factors.items()
        for spelling in spellings.split()
    }
    table.update(dict.fromkeys(("°c", "celsius"), Unit("temperature")))
    table.update(dict.fromkeys(("°f", "fahrenheit"), Unit("temperature", Fraction(5, 9), Fraction(-160, 9))))
    table["kelvin"] = Unit("temperature", Fraction(1), Fraction(-27315, 100))
    return table


UNITS: Final = _unit_table()
NUMBER: Final = Unit("number")
SCALES: Final = {
    "hundred": Fraction(100),
    "thousand": Fraction(10**3),
    "million": Fraction(10**6),
    "billion": Fraction(10**9),
    "trillion": Fraction(10**12),
    "dozen": Fraction(12),
    "mn": Fraction(10**6),
    "bn": Fraction(10**9),
}
_ONES: Final = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen"
)
_TENS: Final = "twenty thirty forty fifty sixty seventy eighty ninety"
NUMBER_WORDS: Final = {word: Fraction(value) for value, word in enumerate(_ONES.split())} | {
    word: Fraction(10 * value) for value, word in enumerate(_TENS.split(), start=2)
}


class OpenQuantity(msgspec.Struct, frozen=True):
    """The values a statement leaves open, in `unit`; `None` is an open end.

    `step` is the place of the last digit written: what rounding could have hidden.
    """

    low: Fraction | None
    high: Fraction | None
    unit: Unit = NUMBER
    step: Fraction = Fraction(1)
    is_approximate: bool = False
    low_excluded: bool = False
    high_excluded: bool = False

    @property
    def is_point(self) -> bool:
        return (
            self.low is not None and self.low == self.high and not (self.low_excluded or self.high_excluded)
        )

    @property
    def is_exact(self) -> bool:
        return self.is_point and not self.is_approximate

    @property
    def key(self) -> tuple[object, ...]:
        """Equal for quantities that say the same, whatever the unit."""
        return (
            self.unit.dimension,
            in_base(self.low, self.unit),
            in_base(self.high, self.unit),
            self.is_approximate,
            self.low_excluded,
            self.high_excluded,
        )


def exactly(value: Fraction, unit: Unit = NUMBER, step: Fraction = Fraction(1)) -> OpenQuantity:
    return OpenQuantity(value, value, unit, step)


def in_base(value: Fraction | None, unit: Unit) -> Fraction | None:
    return None if value is None else value * unit.factor + unit.offset


def compare(claim: OpenQuantity, source: OpenQuantity) -> Relation:
    """How the source's quantity lies to the claim's."""
    if claim.unit.dimension != source.unit.dimension:
        return Relation.UNKNOWN
    if claim.key == source.key:
        return Relation.SAME
    if claim.is_point and source.is_point:
        return _compare_points(claim, source)
    if claim.is_approximate or source.is_approximate or _may_be_rounded(claim, source):
        return Relation.UNKNOWN
    return _compare_spans(claim, source)


def _may_be_rounded(claim: OpenQuantity, source: OpenQuantity) -> bool:
    """9.0 million may be rounded up from a little less than 9 million, or down from a little more."""
    if not source.is_exact or source.step <= 1:
        return False
    value, half = in_base(source.low, source.unit), source.step * source.unit.factor / 2
    bounds = [in_base(bound, claim.unit) for bound in (claim.low, claim.high)]
    return any(bound is not None and value is not None and abs(bound - value) <= half for bound in bounds)


def _compare_points(claim: OpenQuantity, source: OpenQuantity) -> Relation:
    said, found = in_base(claim.low, claim.unit), in_base(source.low, source.unit)
    assert said is not None
    assert found is not None
    gap = abs(said - found)
    half_claim = claim.step * claim.unit.factor / 2
    half_source = source.step * source.unit.factor / 2
    if claim.is_approximate or source.is_approximate:
        return _compare_approximate(claim, source, gap, half_claim, found)
    if claim.unit.factor != source.unit.factor or claim.unit.offset != source.unit.offset:
        # A converted value is right when it rounds to the digits that the claim gives.
        if gap <= half_claim:
            return Relation.WITHIN
        return Relation.UNKNOWN if gap * 50 <= abs(found) else Relation.DISJOINT
    # One of the two may be the other, rounded: neither proof nor contradiction.
    if claim.step != source.step and gap <= max(half_claim, half_source):
        return Relation.UNKNOWN
    return Relation.DISJOINT


def _compare_approximate(
    claim: OpenQuantity, source: OpenQuantity, gap: Fraction, half_claim: Fraction, found: Fraction
) -> Relation:
    if claim.is_approximate and not source.is_approximate and gap <= half_claim:
        return Relation.WITHIN
    return Relation.DISJOINT if gap * 4 > abs(found) else Relation.UNKNOWN


def _compare_spans(claim: OpenQuantity, source: OpenQuantity) -> Relation:
    claim_low, claim_high = in_base(claim.low, claim.unit), in_base(claim.high, claim.unit)
    low, high = in_base(source.low, source.unit), in_base(source.high, source.unit)
    above = claim_low is None or (low is not None and _not_below(low, claim_low, claim, source))
    below = claim_high is None or (high is not None and _not_above(high, claim_high, claim, source))
    if above and below:
        return Relation.WITHIN
    if _misses(high, source.high_excluded, claim_low, claim.low_excluded):
        return Relation.DISJOINT
    if _misses(claim_high, claim.high_excluded, low, source.low_excluded):
        return Relation.DISJOINT
    return Relation.UNKNOWN


def _not_below(low: Fraction, claim_low: Fraction, claim: OpenQuantity, source: OpenQuantity) -> bool:
    return low > claim_low or (low == claim_low and (source.low_excluded or not claim.low_excluded))


def _not_above(high: Fraction, claim_high: Fraction, claim: OpenQuantity, source: OpenQuantity) -> bool:
    return high < claim_high or (high == claim_high and (source.high_excluded or not claim.high_excluded))


def _misses(high: Fraction | None, high_excluded: bool, low: Fraction | None, low_excluded: bool) -> bool:
    """Whether everything up to `high` lies below everything from `low` on."""
    if high is None or low is None:
        return False
    return high < low or (high == low and (high_excluded or low_excluded))
