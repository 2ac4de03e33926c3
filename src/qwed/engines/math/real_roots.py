"""The real roots of a polynomial in one variable: counted always, written down where they are elementary.

Coefficients stand lowest degree first.
"""

from fractions import Fraction
from itertools import pairwise
from math import gcd, isqrt, lcm
from typing import Final

_MAX_DIVISORS: Final = 2_000


def value_at(coefficients: list[Fraction], point: Fraction) -> Fraction:
    total = Fraction(0)
    for coefficient in reversed(coefficients):
        total = total * point + coefficient
    return total


def _remainder(left: list[Fraction], right: list[Fraction]) -> list[Fraction]:
    left = list(left)
    while len(left) >= len(right):
        factor = left[-1] / right[-1]
        shift = len(left) - len(right)
        for index, coefficient in enumerate(right):
            left[shift + index] -= factor * coefficient
        left.pop()
        while left and not left[-1]:
            left.pop()
    return left


def count_real_roots(coefficients: list[Fraction]) -> int:
    """Distinct real roots, by the sign changes of Sturm's chain at both infinities."""
    derivative = [index * coefficient for index, coefficient in enumerate(coefficients)][1:]
    chain = [coefficients, derivative]
    while chain[-1]:
        chain.append([-coefficient for coefficient in _remainder(chain[-2], chain[-1])])
    chain.pop()
    at_end = [link[-1] for link in chain]
    at_start = [link[-1] if len(link) % 2 else -link[-1] for link in chain]
    return _sign_changes(at_start) - _sign_changes(at_end)


def _sign_changes(values: list[Fraction]) -> int:
    return sum((first > 0) != (second > 0) for first, second in pairwise(values))


def exact_roots(coefficients: list[Fraction]) -> list[str] | None:
    """All real roots in our notation, when they are rational or come from a quadratic."""
    rest = _with_integer_coefficients(coefficients)
    rational: list[Fraction] = []
    while len(rest) > 1 and (root := _rational_root(rest)) is not None:
        rational.append(root)
        rest = _divide(rest, root)
    found = [number_text(root) for root in sorted(set(rational))]
    if len(rest) == 1:
        return found
    if len(rest) == 3:
        return found + _quadratic_roots(*rest)
    return found if count_real_roots(list(map(Fraction, rest))) == 0 else None


def _with_integer_coefficients(coefficients: list[Fraction]) -> list[int]:
    scale = lcm(*(coefficient.denominator for coefficient in coefficients))
    integers = [int(coefficient * scale) for coefficient in coefficients]
    divisor = gcd(*integers)
    return [integer // divisor for integer in integers]


def _rational_root(coefficients: list[int]) -> Fraction | None:
    if not coefficients[0]:
        return Fraction(0)
    tops, bottoms = _divisors(abs(coefficients[0])), _divisors(abs(coefficients[-1]))
    if tops is None or bottoms is None or len(tops) * len(bottoms) > _MAX_DIVISORS:
        return None
    exact = list(map(Fraction, coefficients))
    for top in tops:
        for bottom in bottoms:
            for root in (Fraction(top, bottom), Fraction(-top, bottom)):
                if not value_at(exact, root):
                    return root
    return None


def _divisors(value: int) -> list[int] | None:
    if value > 10**8:
        return None
    small = [divisor for divisor in range(1, isqrt(value) + 1) if value % divisor == 0]
    return sorted({*small, *(value // divisor for divisor in small)})


def _divide(coefficients: list[int], root: Fraction) -> list[int]:
    quotient: list[Fraction] = []
    carry = Fraction(0)
    for coefficient in reversed(coefficients):
        carry = carry * root + coefficient
        quotient.append(carry)
    return _with_integer_coefficients(list(reversed(quotient[:-1])))


def _quadratic_roots(c: int, b: int, a: int) -> list[str]:
    discriminant = b * b - 4 * a * c
    if discriminant < 0:
        return []
    return [f"({-b} {sign} sqrt({discriminant}))/{_bracket(2 * a)}" for sign in ("-", "+")]


def _bracket(value: int) -> str:
    return str(value) if value > 0 else f"({value})"


def number_text(value: Fraction) -> str:
    return str(value.numerator) if value.denominator == 1 else f"{value.numerator}/{value.denominator}"
