"""Polynomials in several variables with rational coefficients, and quotients of them.

A quotient decides identities of rational functions: a/b = c/d exactly when a*d = c*b.
"""

from collections.abc import Mapping
from fractions import Fraction
from functools import reduce
from typing import Final

import msgspec

from qwed.engines.math import exact
from qwed.engines.math.functions import CONSTANTS
from qwed.engines.math.nodes import (
    Literal,
    Negation,
    Node,
    Percent,
    Power,
    Product,
    Sum,
    Symbol,
    UnitQuantity,
)
from qwed.engines.math.problems import NotRational, Symbolic, UndecidedMath, Undefined
from qwed.engines.math.ratios import reduce_ratio

# The exponents of a monomial by variable, sorted by name.
Monomial = tuple[tuple[str, int], ...]
Polynomial = Mapping[Monomial, Fraction]

_MAX_TERMS: Final = 400
_MAX_DEGREE: Final = 60
_UNIT: Final[Monomial] = ()


class NotPolynomial(UndecidedMath):
    pass


class Quotient(msgspec.Struct, frozen=True):
    top: Polynomial
    bottom: Polynomial


ONE: Final[Polynomial] = {_UNIT: Fraction(1)}
ZERO: Final[Polynomial] = {}


def constant(value: Fraction) -> Polynomial:
    return {_UNIT: value} if value else ZERO


def variable(name: str) -> Polynomial:
    return {((name, 1),): Fraction(1)}


def plus(left: Polynomial, right: Polynomial, factor: int = 1) -> Polynomial:
    result = dict(left)
    for monomial, coefficient in right.items():
        total = result.get(monomial, Fraction(0)) + factor * coefficient
        if total:
            result[monomial] = total
        else:
            result.pop(monomial, None)
    return result


def times(left: Polynomial, right: Polynomial) -> Polynomial:
    if len(left) * len(right) > _MAX_TERMS * 4:
        raise UndecidedMath("the expansion has too many terms")
    result: dict[Monomial, Fraction] = {}
    for first, a in left.items():
        for second, b in right.items():
            monomial = _join(first, second)
            result[monomial] = result.get(monomial, Fraction(0)) + a * b
    result = {monomial: coefficient for monomial, coefficient in result.items() if coefficient}
    if len(result) > _MAX_TERMS or degree(result) > _MAX_DEGREE:
        raise UndecidedMath("the expansion has too many terms")
    return result


def _join(left: Monomial, right: Monomial) -> Monomial:
    exponents = dict(left)
    for name, count in right:
        exponents[name] = exponents.get(name, 0) + count
    return tuple(sorted(exponents.items()))


def degree(polynomial: Polynomial) -> int:
    return max((sum(count for _, count in monomial) for monomial in polynomial), default=0)


def power(base: Polynomial, count: int) -> Polynomial:
    if count > _MAX_DEGREE:
        raise UndecidedMath("the expansion has too many terms")
    return reduce(times, [base] * count, ONE)


# -- from trees ------------------------------------------------------------------------------------


def quotient(node: Node) -> Quotient:
    """The rational function a tree stands for. Raises `NotPolynomial` when it is none."""
    try:
        value = exact.evaluate(node)
        return Quotient(constant(Fraction(*value)), ONE)
    except NotRational as problem:
        raise NotPolynomial(str(problem)) from None
    except Symbolic:
        return _structure(node)


def _structure(node: Node) -> Quotient:
    match node:
        case Symbol():
            if node.name == "i":
                raise UndecidedMath("complex numbers are not supported")
            return Quotient(variable(node.name), ONE)
        case Sum():
            parts = [quotient(term) for term in node.terms]
            signs = [-1 if negative else 1 for negative in node.negative]
            return reduce(_plus, map(_sign, parts, signs))
        case Product():
            parts = [quotient(factor) for factor in node.factors]
            return reduce(_times, map(_invert, parts, node.inverse))
        case Negation():
            return _sign(quotient(node.operand), -1)
        case Percent():
            return _times(quotient(node.operand), Quotient(constant(Fraction(1, 100)), ONE))
        case UnitQuantity():
            return quotient(node.operand)
        case Power():
            return _raise_to(quotient(node.base), node.exponent)
    raise NotPolynomial(f"a {type(node).__name__.lower()} is not a rational function")


def _sign(part: Quotient, sign: int) -> Quotient:
    return part if sign > 0 else Quotient(plus(ZERO, part.top, -1), part.bottom)


def _invert(part: Quotient, inverse: bool) -> Quotient:
    if not inverse:
        return part
    if not part.top:
        raise Undefined("division by zero")
    return Quotient(part.bottom, part.top)


def _plus(left: Quotient, right: Quotient) -> Quotient:
    if left.bottom == right.bottom:
        return Quotient(plus(left.top, right.top), left.bottom)
    top = plus(times(left.top, right.bottom), times(right.top, left.bottom))
    return Quotient(top, times(left.bottom, right.bottom))


def _times(left: Quotient, right: Quotient) -> Quotient:
    return Quotient(times(left.top, right.top), times(left.bottom, right.bottom))


def _raise_to(base: Quotient, exponent: Node) -> Quotient:
    try:
        count, index = reduce_ratio(exact.evaluate(exponent))
    except (NotRational, Symbolic):
        raise NotPolynomial("the exponent is not a number") from None
    if index != 1:
        raise NotPolynomial("the exponent is not a whole number")
    if count < 0:
        return _raise_to(_invert(base, True), Literal(-count))
    return Quotient(power(base.top, count), power(base.bottom, count))


def are_equal(left: Quotient, right: Quotient) -> bool:
    if left.bottom == right.bottom:
        return left.top == right.top
    return times(left.top, right.bottom) == times(right.top, left.bottom)


# -- one variable ----------------------------------------------------------------------------------


def coefficients(polynomial: Polynomial, name: str) -> list[Fraction]:
    """Lowest degree first. Raises `NotPolynomial` when another variable occurs."""
    result = [Fraction(0)] * (degree(polynomial) + 1)
    for monomial, coefficient in polynomial.items():
        if any(other != name for other, _ in monomial):
            raise NotPolynomial("another variable occurs")
        result[monomial[0][1] if monomial else 0] = coefficient
    return result


def integrate(polynomial: Polynomial, name: str) -> Polynomial:
    result: dict[Monomial, Fraction] = {}
    for monomial, coefficient in polynomial.items():
        exponents = dict(monomial)
        count = exponents.get(name, 0) + 1
        exponents[name] = count
        result[tuple(sorted(exponents.items()))] = coefficient / count
    return result


# -- to text ---------------------------------------------------------------------------------------


def text(polynomial: Polynomial) -> str:
    """x^2 + 2x*y - (1/2)x + 1, highest degree first."""
    if not polynomial:
        return "0"
    ordered = sorted(polynomial.items(), key=_rank)
    parts = [_term(monomial, coefficient) for monomial, coefficient in ordered]
    joined = parts[0]
    for part in parts[1:]:
        joined += f" - {part[1:]}" if part.startswith("-") else f" + {part}"
    return joined


def _rank(item: tuple[Monomial, Fraction]) -> tuple[int, list[tuple[str, int]]]:
    monomial, _ = item
    return -sum(count for _, count in monomial), [(name, -count) for name, count in monomial]


def _term(monomial: Monomial, coefficient: Fraction) -> str:
    names = "*".join(name if count == 1 else f"{name}^{count}" for name, count in monomial)
    if not names:
        return _number(coefficient)
    if coefficient == 1:
        return names
    if coefficient == -1:
        return f"-{names}"
    if coefficient.denominator == 1:
        return f"{coefficient.numerator}{names}"
    sign = "-" if coefficient < 0 else ""
    return f"{sign}({abs(coefficient.numerator)}/{coefficient.denominator}){names}"


def _number(value: Fraction) -> str:
    return str(value.numerator) if value.denominator == 1 else f"{value.numerator}/{value.denominator}"


def quotient_text(value: Quotient) -> str:
    if set(value.bottom) <= {_UNIT}:
        scale = value.bottom[_UNIT]
        return text({monomial: coefficient / scale for monomial, coefficient in value.top.items()})
    return f"({text(value.top)})/({text(value.bottom)})"


def as_node(polynomial: Polynomial) -> Node:
    """The same polynomial as a tree."""
    terms = []
    for monomial, coefficient in sorted(polynomial.items(), key=_rank):
        factors: list[Node] = [Literal(coefficient.numerator), Literal(coefficient.denominator)]
        inverse = [False, True]
        for name, count in monomial:
            factors.append(Power(Symbol(name), Literal(count)))
            inverse.append(False)
        terms.append(Product(tuple(factors), tuple(inverse)))
    return Sum(tuple(terms), (False,) * len(terms)) if terms else Literal(0)


def is_constant_name(name: str) -> bool:
    return name in CONSTANTS
