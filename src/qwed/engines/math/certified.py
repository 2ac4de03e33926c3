"""Irrational values as certified intervals (ball arithmetic): the true value surely lies inside."""

import importlib
from collections.abc import Callable
from fractions import Fraction
from math import prod
from typing import Any, Final

import msgspec

from qwed.engines.math import exact
from qwed.engines.math.nodes import (
    FunctionCall,
    Literal,
    Negation,
    Node,
    Percent,
    Power,
    Product,
    Scaled,
    Sum,
    Symbol,
    UnitQuantity,
)
from qwed.engines.math.problems import MAX_BITS, NotRational, Symbolic, UndecidedMath, Undefined, too_large
from qwed.engines.math.ratios import reduce_ratio

# Working precisions, in bits, tried in this order.
PRECISIONS: Final = (96, 384, 1_536)
_MAX_EXPONENT_BITS: Final = 20


class Interval(msgspec.Struct, frozen=True):
    low: Fraction
    high: Fraction

    @property
    def is_point(self) -> bool:
        return self.low == self.high


def enclose(node: Node, bits: int) -> Interval:
    """An interval that surely holds the value. Raises `MathProblem`."""
    flint = importlib.import_module("flint")
    with flint.ctx.workprec(bits):
        ball = _Balls(flint).value(node)
        return interval(ball)


def interval(ball: Any) -> Interval:
    if not ball.is_finite():
        raise UndecidedMath("no finite real value could be certified")
    # Looked at before it is written out: e^(10^9) is a small ball and a huge fraction.
    if any(abs(int(part.man_exp()[1])) > MAX_BITS for part in (ball.mid(), ball.rad())):
        raise too_large()
    low, high = ball.lower().fmpq(), ball.upper().fmpq()
    return Interval(Fraction(int(low.p), int(low.q)), Fraction(int(high.p), int(high.q)))


class _Balls:
    def __init__(self, flint: Any) -> None:
        self.arb = flint.arb
        self.fmpq = flint.fmpq

    def value(self, node: Node) -> Any:
        try:
            numerator, denominator = reduce_ratio(exact.evaluate(node))
            return self.arb(self.fmpq(numerator, denominator))
        except NotRational:
            return self.irrational(node)

    def irrational(self, node: Node) -> Any:
        match node:
            case Literal():
                return self.arb(self.fmpq(node.numerator, node.denominator))
            case Symbol():
                return self.constant(node.name)
            case Negation():
                return -self.value(node.operand)
            case Percent():
                return self.value(node.operand) / 100
            case UnitQuantity():
                return self.value(node.operand)
            case Scaled():
                return self.value(node.operand) * node.numerator / node.denominator
            case Sum():
                return self.sum(node)
            case Product():
                return self.product(node)
            case Power():
                return self.power(self.value(node.base), node.exponent)
            case FunctionCall():
                return self.call(node)
        raise UndecidedMath(f"a {type(node).__name__.lower()} has no certified value")

    def constant(self, name: str) -> Any:
        if name == "pi":
            return self.arb.pi()
        if name == "tau":
            return 2 * self.arb.pi()
        if name == "e":
            return self.arb.const_e()
        raise Symbolic(f"the value of {name!r} is not given")

    def sum(self, node: Sum) -> Any:
        total = self.arb(0)
        for term, negative in zip(node.terms, node.negative, strict=True):
            total = total - self.value(term) if negative else total + self.value(term)
        return total

    def product(self, node: Product) -> Any:
        total = self.arb(1)
        for factor, inverse in zip(node.factors, node.inverse, strict=True):
            value = self.value(factor)
            if inverse and value.contains(0):
                raise UndecidedMath("a divisor may be zero")
            total = total / value if inverse else total * value
        return total

    def power(self, base: Any, exponent: Node) -> Any:
        try:
            count, index = reduce_ratio(exact.evaluate(exponent))
        except NotRational:
            return self.real_power(base, self.value(exponent))
        if count.bit_length() > _MAX_EXPONENT_BITS:
            raise UndecidedMath("the exponent is too large")
        if index == 1:
            return base**count
        if index % 2 and base < 0:
            root = -((-base) ** (self.arb(1) / index))
            return root**count
        return self.real_power(base, self.arb(self.fmpq(count, index)))

    def real_power(self, base: Any, exponent: Any) -> Any:
        if not base > 0:
            raise UndecidedMath("a power of a number that may not be positive")
        return base**exponent

    def call(self, node: FunctionCall) -> Any:
        function = _FUNCTIONS.get(node.name)
        if function is None:
            raise UndecidedMath(f"{node.name} has no certified value")
        values = [self.value(argument) for argument in node.arguments]
        result = function(self.arb, values)
        if result.is_nan():
            raise self.outside(node, values)
        return result

    def outside(self, node: FunctionCall, values: list[Any]) -> UndecidedMath | Undefined:
        if node.name in ("ln", "log", "log10", "log2") and values[0] <= 0:
            return Undefined(f"{node.name} of a number that is not positive")
        if node.name in ("asin", "acos") and (values[0] > 1 or values[0] < -1):
            return Undefined(f"{node.name} of a number beyond 1")
        return UndecidedMath(f"{node.name} has no certified real value there")


def _cube_root(arb: Any, value: Any) -> Any:
    return -((-value).root(3)) if value < 0 else value.root(3)


def _round(arb: Any, values: list[Any]) -> Any:
    """Half away from zero; a ball that straddles a half stays wide, and decides nothing."""
    scale = arb(10) ** (values[1] if len(values) > 1 else arb(0))
    scaled = values[0] * scale
    return (scaled + arb("0.5")).floor() / scale if scaled >= 0 else -((-scaled + arb("0.5")).floor()) / scale


def _mean_square(arb: Any, values: list[Any], divisor: int) -> Any:
    if divisor < 1:
        raise Undefined("the variance of a sample needs two values")
    mean = sum(values, arb(0)) / len(values)
    return sum(((value - mean) ** 2 for value in values), arb(0)) / divisor


def _payment(arb: Any, values: list[Any]) -> Any:
    principal, rate, years = values[:3]
    per_year = values[3] if len(values) > 3 else arb(12)
    step = rate / per_year
    return principal * step / (1 - (1 + step) ** (-per_year * years))


def _growth(arb: Any, values: list[Any]) -> Any:
    per_year = values[3] if len(values) > 3 else arb(1)
    return (1 + values[1] / per_year) ** (per_year * values[2])


def _annuity(arb: Any, values: list[Any]) -> Any:
    per_year = values[3] if len(values) > 3 else arb(1)
    return values[0] * (_growth(arb, values) - 1) / (values[1] / per_year)


_FUNCTIONS: Final[dict[str, Callable[[Any, list[Any]], Any]]] = {
    "sqrt": lambda arb, v: v[0].sqrt(),
    "cbrt": lambda arb, v: _cube_root(arb, v[0]),
    "root": lambda arb, v: v[0] ** (1 / v[1]),
    "abs": lambda arb, v: abs(v[0]),
    "exp": lambda arb, v: v[0].exp(),
    "ln": lambda arb, v: v[0].log(),
    "log": lambda arb, v: v[0].log() / v[1].log(),
    "log10": lambda arb, v: v[0].log() / arb(10).log(),
    "log2": lambda arb, v: v[0].log() / arb(2).log(),
    "sin": lambda arb, v: v[0].sin(),
    "cos": lambda arb, v: v[0].cos(),
    "tan": lambda arb, v: v[0].tan(),
    "cot": lambda arb, v: v[0].cot(),
    "sec": lambda arb, v: v[0].sec(),
    "csc": lambda arb, v: v[0].csc(),
    "asin": lambda arb, v: v[0].asin(),
    "acos": lambda arb, v: v[0].acos(),
    "atan": lambda arb, v: v[0].atan(),
    "sinh": lambda arb, v: v[0].sinh(),
    "cosh": lambda arb, v: v[0].cosh(),
    "tanh": lambda arb, v: v[0].tanh(),
    "asinh": lambda arb, v: v[0].asinh(),
    "acosh": lambda arb, v: v[0].acosh(),
    "atanh": lambda arb, v: v[0].atanh(),
    "radians": lambda arb, v: v[0] * arb.pi() / 180,
    "degrees": lambda arb, v: v[0] * 180 / arb.pi(),
    "pow": lambda arb, v: v[0] ** v[1],
    "floor": lambda arb, v: v[0].floor(),
    "ceil": lambda arb, v: v[0].ceil(),
    "round": lambda arb, v: _round(arb, v),
    "factorial": lambda arb, v: (v[0] + 1).gamma(),
    "sum": lambda arb, v: sum(v, arb(0)),
    "product": lambda arb, v: prod(v, start=arb(1)),
    "geometric_mean": lambda arb, v: prod(v, start=arb(1)) ** (arb(1) / len(v)),
    "mean": lambda arb, v: sum(v, arb(0)) / len(v),
    "variance": lambda arb, v: _mean_square(arb, v, len(v)),
    "sample_variance": lambda arb, v: _mean_square(arb, v, len(v) - 1),
    "stdev": lambda arb, v: _mean_square(arb, v, len(v)).sqrt(),
    "sample_stdev": lambda arb, v: _mean_square(arb, v, len(v) - 1).sqrt(),
    "compound_amount": lambda arb, v: v[0] * _growth(arb, v),
    "compound_interest": lambda arb, v: v[0] * (_growth(arb, v) - 1),
    "present_value": lambda arb, v: v[0] / _growth(arb, v),
    "loan_payment": _payment,
    "annuity_value": _annuity,
    "cagr": lambda arb, v: (v[1] / v[0]) ** (1 / v[2]) - 1,
}


# -- quadrature ----------------------------------------------------------------------------------


def integrate(operand: Node, variable: str, lower: Node, upper: Node) -> Interval:
    """A certified enclosure of a definite integral. Raises `UndecidedMath` where there is none."""
    flint = importlib.import_module("flint")
    with flint.ctx.workprec(PRECISIONS[0]):
        balls = _Balls(flint)
        start, end = balls.value(lower), balls.value(upper)
        if not (start.is_finite() and end.is_finite()):
            raise UndecidedMath("an improper integral")
        function = _Complex(flint, variable)
        result = flint.acb.integral(
            lambda point, analytic: function.value(operand, point, analytic), flint.acb(start), flint.acb(end)
        )
        return interval(result.real)


_ENTIRE: Final = frozenset({"sin", "cos", "exp", "sinh", "cosh", "tan", "tanh", "sec", "csc", "cot"})


class _Complex:
    """The integrand near the path of integration: analytic functions only."""

    def __init__(self, flint: Any, variable: str) -> None:
        self.acb = flint.acb
        self.fmpq = flint.fmpq
        self.balls = _Balls(flint)
        self.variable = variable

    def value(self, node: Node, point: Any, analytic: bool) -> Any:
        match node:
            case Symbol(name=self.variable):
                return point
            case Negation():
                return -self.value(node.operand, point, analytic)
            case Sum():
                total = self.acb(0)
                for term, negative in zip(node.terms, node.negative, strict=True):
                    part = self.value(term, point, analytic)
                    total = total - part if negative else total + part
                return total
            case Product():
                total = self.acb(1)
                for factor, inverse in zip(node.factors, node.inverse, strict=True):
                    part = self.value(factor, point, analytic)
                    total = total / part if inverse else total * part
                return total
            case Power():
                return self.power(node, point, analytic)
            case FunctionCall(arguments=(argument,)):
                return self.call(node.name, self.value(argument, point, analytic), analytic)
        return self.acb(self.balls.value(node))

    def power(self, node: Power, point: Any, analytic: bool) -> Any:
        base = self.value(node.base, point, analytic)
        try:
            count, index = reduce_ratio(exact.evaluate(node.exponent))
        except NotRational:
            count, index = 1, 0
        except Symbolic:
            if node.base == Symbol("e"):
                return self.value(node.exponent, point, analytic).exp()
            exponent = self.value(node.exponent, point, analytic)
            return (exponent * base.log(analytic=analytic)).exp()
        if index == 1 and abs(count) <= 1_000:
            return base**count
        exponent = self.acb(self.balls.value(node.exponent))
        return (exponent * base.log(analytic=analytic)).exp()

    def call(self, name: str, value: Any, analytic: bool) -> Any:
        if name in _ENTIRE:
            return getattr(value, name)()
        if name == "ln":
            return value.log(analytic=analytic)
        if name == "sqrt":
            return value.sqrt(analytic=analytic)
        raise UndecidedMath(f"no certified integral of {name}")
