"""Rational numbers as pairs (numerator, denominator > 0), not always in lowest terms.

Reducing after every step costs more than the arithmetic itself; `reduced` is called when a number
grows, and once at the end.
"""

from math import gcd, isqrt
from typing import Final

from qwed.engines.math.problems import MAX_BITS, NotRational, UndecidedMath, Undefined, too_large

Ratio = tuple[int, int]

LARGE: Final = 1 << 1_024


def reduce_ratio(value: Ratio) -> Ratio:
    numerator, denominator = value
    if denominator == 1:
        return value
    divisor = gcd(numerator, denominator)
    return numerator // divisor, denominator // divisor


def checked(numerator: int, denominator: int) -> Ratio:
    """In lowest terms once it is large; refused once it is huge."""
    if denominator > LARGE or not -LARGE < numerator < LARGE:
        numerator, denominator = reduce_ratio((numerator, denominator))
        if numerator.bit_length() > MAX_BITS or denominator.bit_length() > MAX_BITS:
            raise too_large()
    return numerator, denominator


def power(base: Ratio, exponent: Ratio) -> Ratio:
    """base ** exponent where that is rational; the exponent in lowest terms."""
    top, bottom = reduce_ratio(base)
    count, index = exponent
    if top == 0:
        return _power_of_zero(count)
    if index != 1:
        top, bottom = root((top, bottom), index)
    if count < 0:
        top, bottom, count = (bottom, top, -count) if top > 0 else (-bottom, -top, -count)
    if (max(abs(top), bottom).bit_length() - 1) * count > MAX_BITS:
        raise too_large()
    if abs(top) == 1 and bottom == 1:
        return (top if count % 2 else 1), 1
    return top**count, bottom**count


def _power_of_zero(count: int) -> Ratio:
    if count > 0:
        return 0, 1
    if count < 0:
        raise Undefined("zero to a negative power")
    raise UndecidedMath("zero to the power of zero is a matter of convention")


def root(value: Ratio, index: int) -> Ratio:
    top, bottom = reduce_ratio(value)
    if top < 0:
        if index % 2 == 0:
            raise UndecidedMath("an even root of a negative number is not real")
        above, below = root((-top, bottom), index)
        return -above, below
    return integer_root(top, index), integer_root(bottom, index)


def integer_root(value: int, index: int) -> int:
    """The exact root of a natural number. Raises `NotRational` when there is none."""
    if value < 2:
        return value
    if index == 2:
        root = isqrt(value)
    elif index > value.bit_length():
        raise NotRational(f"no rational root of degree {index}")
    else:
        root = _floor_root(value, index)
    if root**index != value:
        raise NotRational(f"no rational root of degree {index}")
    return root


def _floor_root(value: int, index: int) -> int:
    low, high = 1, 1 << (value.bit_length() // index + 1)
    while low < high:
        middle = (low + high + 1) // 2
        if middle**index <= value:
            low = middle
        else:
            high = middle - 1
    return low
