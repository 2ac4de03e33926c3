"""Numbers as text: exact where a decimal ends, a fraction otherwise, and a rounded form beside it."""

from fractions import Fraction
from typing import Final

from qwed.engines.math.nodes import Literal
from qwed.engines.math.problems import MAX_DIGITS, UndecidedMath
from qwed.engines.math.ratios import Ratio, reduce_ratio

# The decimals shown of a number that has no end, where the text does not ask for a count.
SHOWN_PLACES: Final = 6
_LONGEST_EXACT: Final = 30


def exact_text(value: Ratio) -> str:
    """The exact value: 14.97 or 10/3."""
    numerator, denominator = reduce_ratio(value)
    if denominator == 1:
        return _digits(numerator)
    places = terminating_places(denominator)
    if places is not None and places <= _LONGEST_EXACT:
        return fixed(Fraction(numerator, denominator), places)
    return f"{_digits(numerator)}/{_digits(denominator)}"


def fraction_text(value: Fraction) -> str:
    """1/2 rather than 0.5, for a text that speaks in fractions."""
    if value.denominator == 1:
        return _digits(value.numerator)
    return f"{_digits(value.numerator)}/{_digits(value.denominator)}"


def terminating_places(denominator: int) -> int | None:
    """How many decimals n/denominator needs (in lowest terms); None when it never ends."""
    twos = (denominator & -denominator).bit_length() - 1
    rest = denominator >> twos
    fives = 0
    while rest % 5 == 0:
        rest //= 5
        fives += 1
    return max(twos, fives) if rest == 1 else None


def fixed(value: Fraction, places: int) -> str:
    """With exactly `places` decimals, half away from zero."""
    scaled = abs(value) * 10**places
    nearest = (2 * scaled.numerator + scaled.denominator) // (2 * scaled.denominator)
    digits = _digits(nearest).rjust(places + 1, "0")
    sign = "-" if value < 0 and nearest else ""
    return sign + (f"{digits[:-places]}.{digits[-places:]}" if places else digits)


def bounds_text(low: Fraction, high: Fraction) -> list[str]:
    """Both ends of a certified interval."""
    return [fixed(low, 30), fixed(high, 30)]


def _digits(value: int) -> str:
    # log2(10) > 3.32, so this many bits is at least that many digits.
    if value.bit_length() > MAX_DIGITS * 3.32:
        raise UndecidedMath(f"the value has more than {MAX_DIGITS} digits")
    return str(value)


def write_like(value: Fraction, literal: Literal, token: str) -> str:
    """The value in the manner of a number that stood there: its decimals, its thousands separators."""
    places = literal.places if literal.has_point and literal.places > 0 else 0
    needed = terminating_places(value.denominator)
    if needed is not None and needed <= 12:
        places = max(places, needed)
    elif not places:
        places = SHOWN_PLACES
    text = fixed(value, places)
    if "," not in token:
        return text
    whole, point, fraction = text.partition(".")
    return f"{int(whole):,}{point}{fraction}"
