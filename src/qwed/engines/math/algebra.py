"""Claims with variables: identities, derivatives and integrals.

A claim is refuted by a point where the two sides certainly differ, and proven as rational functions
or by the computer algebra system. What is neither stays open.
"""

from collections.abc import Iterator
from fractions import Fraction
from typing import Any, Final

import msgspec

from qwed.engines.math import calculus, certified, comparison, polynomial, symbolic
from qwed.engines.math.nodes import (
    Derivative,
    Integral,
    Literal,
    Negation,
    Node,
    Power,
    Product,
    Sum,
    Symbol,
    divide,
    rebuild,
    substitute,
    subtract,
    symbols,
    walk,
)
from qwed.engines.math.parser import Parser
from qwed.engines.math.polynomial import NotPolynomial
from qwed.engines.math.problems import MathProblem, NotRational, UndecidedMath
from qwed.engines.math.tokens import split
from qwed.engines.math.values import bounds_text, fixed

# Points without a special meaning for any common function.
_SAMPLES: Final = tuple(
    map(Fraction, ("3/7", "11/5", "-5/7", "17/6", "1/9", "-13/4", "29/8", "-1/3", "47/10", "2/11"))
)

_SMALL: Final = 25
_LONGEST: Final = 300


class AlgebraVerdict(msgspec.Struct, frozen=True):
    holds: bool
    reason: str
    note: dict[str, Any]
    correction: str = ""
    corrected_side: int = 1


def compare(left: Node, relation: str, right: Node) -> AlgebraVerdict:
    """Decide a relation that holds variables. Raises `MathProblem`."""
    if relation not in ("=", "≈"):
        raise UndecidedMath("only equations with variables are decided")
    if _indefinite(left) is not None or _indefinite(right) is not None:
        return _integral(left, right)
    if isinstance(left, Integral) and not _variables(right) and calculus.definite(left) is None:
        return _definite(left, relation, right)
    first, second = resolved(left), resolved(right)
    if not (_variables(first) or _variables(second)):
        return _numbers(first, relation, second)
    if _holds_identically(first, second):
        return AlgebraVerdict(True, "holds", {"how": "as an identity, wherever both sides are defined"})
    return _refute(left, first, second)


def resolved(node: Node) -> Node:
    """Derivatives and definite integrals carried out."""
    return calculus.without_derivatives(_without_definite(node))


def _without_definite(node: Node) -> Node:
    node = rebuild(node, _without_definite)
    if isinstance(node, Integral) and node.lower is not None:
        found = calculus.definite(node) or _definite_by_algebra(node)
        if found is None:
            raise UndecidedMath("the integral has no known closed form")
        return found
    return node


def _variables(node: Node) -> set[str]:
    return {name for name in symbols(node) if not polynomial.is_constant_name(name)}


def _numbers(left: Node, relation: str, right: Node) -> AlgebraVerdict:
    try:
        link = comparison.compare(left, relation, right)
    except NotRational:
        if is_zero_difference(left, right):
            return AlgebraVerdict(True, "holds", {"how": "exactly, by symbolic proof"})
        raise
    note = {"how": link.how, "left": str(link.left.low), "right": str(link.right.low)}
    if link.holds:
        return AlgebraVerdict(True, "holds", note)
    if not link.left.is_point:
        return AlgebraVerdict(False, "the two sides differ", note)
    value = link.left.low
    text = str(value.numerator) if value.denominator == 1 else f"{value.numerator}/{value.denominator}"
    return AlgebraVerdict(False, "the two sides differ", note, text)


# -- identities ------------------------------------------------------------------------------------


def _holds_identically(left: Node, right: Node) -> bool:
    """True is a proof; False is a refutation; anything else raises."""
    try:
        return polynomial.are_equal(polynomial.quotient(left), polynomial.quotient(right))
    except NotPolynomial:
        pass
    if counterexample(left, right) is not None:
        return False
    if symbolic.is_zero(subtract(left, right)):
        return True
    raise UndecidedMath("neither a proof nor a counterexample was found")


def counterexample(left: Node, right: Node) -> dict[str, str] | None:
    """Values of the variables where the two sides certainly differ."""
    for point in _points(sorted(_variables(left) | _variables(right))):
        values: dict[str, Node] = {
            name: divide(Literal(value.numerator), Literal(value.denominator))
            for name, value in point.items()
        }
        try:
            link = comparison.compare(substitute(left, values), "!=", substitute(right, values))
        except MathProblem:
            continue
        if link.holds:
            return {name: str(value) for name, value in point.items()}
    return None


def _points(names: list[str]) -> Iterator[dict[str, Fraction]]:
    for start in range(len(_SAMPLES)):
        yield {name: _SAMPLES[(start + 3 * index) % len(_SAMPLES)] for index, name in enumerate(names)}


def _refute(written: Node, left: Node, right: Node) -> AlgebraVerdict:
    note = {"how": "not as an identity", "counterexample": counterexample(left, right)}
    correction = _work_out(written, left, right)
    if not _is_claim(written, left, right, correction):
        raise UndecidedMath("an equation that holds for some values only")
    return AlgebraVerdict(False, "the two sides are not identical", note, correction)


def _is_claim(written: Node, left: Node, right: Node, correction: str) -> bool:
    """(x+1)^2 = x^2+1 claims an identity; 2x+3 = 7 and x^2 = x are equations to be solved."""
    if _has_derivative(written):
        return True
    # C = 2πr names something.
    if isinstance(left, Symbol) and left.name not in symbols(right):
        return False
    if _variables(left) and not _variables(right):
        return not _variables(parsed(correction)) if correction else False
    try:
        difference = polynomial.quotient(subtract(left, right))
    except NotPolynomial:
        return True
    return set(difference.top) <= {()} or (bool(_variables(left)) and not _is_collected(written))


def _has_derivative(node: Node) -> bool:
    return any(isinstance(part, Derivative) for part in walk(node))


def _size(node: Node) -> int:
    return sum(1 for _ in walk(node))


def _work_out(written: Node, left: Node, right: Node) -> str:
    """The worked-out form of a side; empty where there is none short enough to put into the text."""
    try:
        found = polynomial.quotient_text(polynomial.quotient(left))
    except NotPolynomial:
        # Only a derivative, or a side that may be a constant, has one form to be put right into.
        needs_form = _has_derivative(written) or (not _variables(right) and _size(left) <= _SMALL)
        found = symbolic.simplified(left) if needs_form else ""
    return found if len(found) <= _LONGEST else ""


def _is_collected(node: Node) -> bool:
    """Already a sum of different monomials, so that nothing is left to work out."""
    terms = node.terms if isinstance(node, Sum) else (node,)
    seen: set[polynomial.Monomial] = set()
    for term in terms:
        if not _is_monomial(term):
            return False
        (monomial,) = polynomial.quotient(term).top or ((),)
        if monomial in seen:
            return False
        seen.add(monomial)
    return True


def _is_monomial(node: Node) -> bool:
    match node:
        case Literal() | Symbol():
            return True
        case Negation():
            return _is_monomial(node.operand)
        case Power():
            return isinstance(node.base, Symbol) and isinstance(node.exponent, Literal)
        case Product():
            names = [name for factor in node.factors for name in symbols(factor)]
            return (
                len(names) == len(set(names))
                and all(map(_is_monomial, node.factors))
                and not any(node.inverse)
            )
    return False


def simplified(node: Node) -> tuple[str, str]:
    """The result of an expression with variables, and how it was found."""
    if (integral := _indefinite(node)) is not None:
        return f"{_antiderivative_text(integral)} + C", "antiderivative, proven by its derivative"
    done = resolved(node)
    if not _variables(done) and done != node:
        return _number_text(done), "exact arithmetic"
    try:
        return polynomial.quotient_text(polynomial.quotient(done)), "exact algebra"
    except NotPolynomial:
        return symbolic.simplified(done), "computer algebra"


def _number_text(node: Node) -> str:
    try:
        return polynomial.quotient_text(polynomial.quotient(node))
    except NotPolynomial:
        return symbolic.simplified(node)


def is_zero_difference(left: Node, right: Node) -> bool:
    return symbolic.is_zero(subtract(left, right))


# -- integrals -------------------------------------------------------------------------------------


def _indefinite(node: Node) -> Integral | None:
    return node if isinstance(node, Integral) and node.lower is None else None


def _integral(left: Node, right: Node) -> AlgebraVerdict:
    """Proven by differentiating the claimed antiderivative; a constant of integration drops out."""
    integral, claimed, side = _indefinite(left), right, 1
    if integral is None:
        integral, claimed, side = _indefinite(right), left, 0
    assert integral is not None
    if _indefinite(claimed) is not None:
        raise UndecidedMath("an integral is compared with an integral")
    derivative = calculus.differentiate(resolved(claimed), integral.variable)
    if _same(derivative, resolved(integral.operand)):
        return AlgebraVerdict(True, "holds", {"how": "its derivative is the integrand"})
    note = {"how": "its derivative is not the integrand"}
    try:
        correction = f"{_antiderivative_text(integral)} + C"
    except UndecidedMath:
        correction = ""
    return AlgebraVerdict(False, "not an antiderivative", note, correction, side)


def _definite(integral: Integral, relation: str, claimed: Node) -> AlgebraVerdict:
    """By certified quadrature; an exact result besides by its closed form."""
    assert integral.lower is not None and integral.upper is not None
    operand = resolved(integral.operand)
    value = certified.integrate(operand, integral.variable, integral.lower, integral.upper)
    second = certified.enclose(claimed, certified.PRECISIONS[0])
    link = comparison.decide(integral, relation, claimed, value, second)
    if link is not None:
        note = {
            "how": f"{link.how}, by certified quadrature",
            "enclosure": bounds_text(value.low, value.high),
        }
        if link.holds:
            return AlgebraVerdict(True, "holds", note)
        return AlgebraVerdict(
            False, "the integral has another value", note, _integral_text(integral, claimed, value)
        )
    return _numbers(resolved(integral), relation, claimed)


def _integral_text(integral: Integral, claimed: Node, value: certified.Interval) -> str:
    """The value in the manner of the wrong one: its decimals, or else a closed form."""
    number = comparison.find_stated(claimed)
    if number is not None and number.literal.has_point:
        low, high = (fixed(end, number.literal.places) for end in (value.low, value.high))
        return low if low == high else ""
    try:
        return _number_text(resolved(integral))
    except UndecidedMath:
        return ""


def _same(left: Node, right: Node) -> bool:
    if not (_variables(left) or _variables(right)):
        return _numbers(left, "=", right).holds
    return _holds_identically(left, right)


def _antiderivative_text(integral: Integral) -> str:
    operand = resolved(integral.operand)
    primitive = calculus.antiderivative(operand, integral.variable)
    if primitive is not None:
        return polynomial.quotient_text(polynomial.quotient(primitive))
    text = symbolic.antiderivative(operand, integral.variable)
    if text is None or not _same(calculus.differentiate(parsed(text), integral.variable), operand):
        raise UndecidedMath("no antiderivative could be proven")
    return text


def parsed(text: str) -> Node:
    """A tree from our own notation."""
    return Parser(split(text)).whole_chain().sides[0]


def _definite_by_algebra(integral: Integral) -> Node | None:
    """F(b) - F(a), where certified quadrature agrees: a pole or a jump in between would show."""
    assert integral.lower is not None and integral.upper is not None
    operand = resolved(integral.operand)
    primitive = parsed(_antiderivative_text(Integral(operand, integral.variable)))
    upper = substitute(primitive, {integral.variable: integral.upper})
    difference = subtract(upper, substitute(primitive, {integral.variable: integral.lower}))
    return difference if quadrature_agrees(integral, operand, difference) else None


def quadrature_agrees(integral: Integral, operand: Node, difference: Node) -> bool:
    from_algebra = certified.enclose(difference, certified.PRECISIONS[0])
    assert integral.lower is not None and integral.upper is not None
    by_quadrature = certified.integrate(operand, integral.variable, integral.lower, integral.upper)
    return from_algebra.low <= by_quadrature.high and by_quadrature.low <= from_algebra.high
