"""The bridge to the computer algebra system: trees are built object by object, never from a string."""

import importlib
from typing import Any, Final

from qwed.engines.math import exact
from qwed.engines.math.nodes import (
    FunctionCall,
    Literal,
    Negation,
    Node,
    Percent,
    Power,
    Product,
    Sum,
    Symbol,
    UnitQuantity,
    walk,
)
from qwed.engines.math.problems import UndecidedMath
from qwed.engines.math.ratios import reduce_ratio

_MAX_NODES: Final = 150
_SMALL: Final = 60
_MAX_EXPONENT: Final = 50
_MAX_DIGITS: Final = 60

_NEEDS_POSITIVE: Final = frozenset({"ln", "log10", "log2", "sqrt"})
_FUNCTIONS: Final = {
    "sqrt": "sqrt",
    "cbrt": "cbrt",
    "abs": "Abs",
    "exp": "exp",
    "ln": "log",
    "sin": "sin",
    "cos": "cos",
    "tan": "tan",
    "cot": "cot",
    "sec": "sec",
    "csc": "csc",
    "asin": "asin",
    "acos": "acos",
    "atan": "atan",
    "sinh": "sinh",
    "cosh": "cosh",
    "tanh": "tanh",
    "asinh": "asinh",
    "acosh": "acosh",
    "atanh": "atanh",
}


def _sympy() -> Any:
    return importlib.import_module("sympy")


def build(node: Node) -> Any:
    """The tree as a symbolic object; real variables. Raises `UndecidedMath` beyond the bounds.

    A variable whose logarithm or square root occurs is positive wherever the whole is defined (but for
    a single point), and is built so.
    """
    if _size(node) > _MAX_NODES:
        raise UndecidedMath("the expression has too many parts for a symbolic proof")
    return _Builder(_sympy(), _positive(node)).build(node)


def _positive(node: Node) -> frozenset[str]:
    return frozenset(
        part.arguments[0].name
        for part in walk(node)
        if isinstance(part, FunctionCall)
        and part.name in _NEEDS_POSITIVE
        and isinstance(part.arguments[0], Symbol)
    )


class _Builder:
    def __init__(self, sympy: Any, positive: frozenset[str]) -> None:
        self.sympy = sympy
        self.positive = positive

    def build(self, node: Node) -> Any:
        match node:
            case Literal():
                return self.rational(node.numerator, node.denominator)
            case Symbol():
                return self.symbol(node.name)
            case Negation():
                return -self.build(node.operand)
            case Percent():
                return self.build(node.operand) / 100
            case UnitQuantity():
                return self.build(node.operand)
            case Sum():
                return self.sympy.Add(*self.terms(node))
            case Product():
                return self.sympy.Mul(*self.factors(node))
            case Power():
                return self.power(self.build(node.base), self.build(node.exponent))
            case FunctionCall():
                return self.call(node)
        raise UndecidedMath(f"a {type(node).__name__.lower()} has no symbolic form")

    def terms(self, node: Sum) -> list[Any]:
        pairs = zip(node.terms, node.negative, strict=True)
        return [-self.build(term) if negative else self.build(term) for term, negative in pairs]

    def factors(self, node: Product) -> list[Any]:
        found = []
        for factor, inverse in zip(node.factors, node.inverse, strict=True):
            value = self.build(factor)
            if inverse and value == 0:
                raise UndecidedMath("division by zero")
            found.append(1 / value if inverse else value)
        return found

    def rational(self, numerator: int, denominator: int) -> Any:
        if max(abs(numerator), denominator).bit_length() > _MAX_DIGITS * 4:
            raise UndecidedMath("a number is too long for a symbolic proof")
        return self.sympy.Rational(numerator, denominator)

    def symbol(self, name: str) -> Any:
        constants = {"pi": self.sympy.pi, "e": self.sympy.E, "tau": 2 * self.sympy.pi}
        if name == "i":
            raise UndecidedMath("complex numbers are not supported")
        if name in constants:
            return constants[name]
        return self.sympy.Symbol(name, **({"positive": True} if name in self.positive else {"real": True}))

    def power(self, base: Any, exponent: Any) -> Any:
        if exponent.is_number and abs(exponent.evalf(10)) > _MAX_EXPONENT:
            raise UndecidedMath("an exponent is too large for a symbolic proof")
        if base == 0 and exponent.is_number and exponent.is_positive is not True:
            raise UndecidedMath("zero to a power that is not positive")
        # The real root of a negative number, as in the rest of the engine.
        if exponent.is_Rational and exponent.q % 2 and exponent.q > 1 and base.is_negative:
            return (-((-base) ** self.sympy.Rational(1, exponent.q))) ** exponent.p
        return base**exponent

    def call(self, node: FunctionCall) -> Any:
        sympy = self.sympy
        arguments = [self.build(argument) for argument in node.arguments]
        match node.name, arguments:
            case "log10", [value]:
                return sympy.log(value) / sympy.log(10)
            case "log2", [value]:
                return sympy.log(value) / sympy.log(2)
            case "log", [value, base]:
                return sympy.log(value) / sympy.log(base)
            case "radians", [value]:
                return value * sympy.pi / 180
            case "degrees", [value]:
                return value * 180 / sympy.pi
            case "root", [value, index]:
                return self.power(value, 1 / index)
            case "pow", [base, exponent]:
                return self.power(base, exponent)
            case "cbrt", [value] if value.is_negative:
                return -sympy.cbrt(-value)
        name = _FUNCTIONS.get(node.name)
        if name is not None and len(arguments) == 1:
            return getattr(sympy, name)(arguments[0])
        return self.rational(*reduce_ratio(exact.evaluate(node)))


def is_zero(node: Node) -> bool:
    """Proven to be zero everywhere it is defined; False is no disproof."""
    sympy = _sympy()
    expression = build(node)
    if expression.has(sympy.zoo, sympy.nan, sympy.oo, sympy.I):
        raise UndecidedMath("not a finite real expression")
    steps = [
        lambda e: e,
        sympy.expand,
        lambda e: sympy.expand(sympy.expand_trig(e)),
        lambda e: sympy.expand_log(e, force=False),
        sympy.radsimp,
        lambda e: sympy.expand(e.rewrite(sympy.exp)),
    ]
    # The general simplifier has no bound of its own, so it only sees what is small.
    if _size(node) <= _SMALL:
        steps += [sympy.simplify, lambda e: sympy.simplify(e.rewrite(sympy.exp))]
    return any(step(expression) == 0 for step in steps)


def _size(node: Node) -> int:
    return sum(1 for _ in walk(node))


def simplified(node: Node) -> str:
    expression = build(node)
    return _text(_sympy().simplify(expression) if _size(node) <= _SMALL else expression)


def antiderivative(node: Node, variable: str) -> str | None:
    """A candidate by the rules of the textbook, to be proven by the caller."""
    if _size(node) > _SMALL:
        return None
    sympy = _sympy()
    rules = importlib.import_module("sympy.integrals.manualintegrate")
    builder = _Builder(sympy, _positive(node))
    found = rules.manualintegrate(builder.build(node), builder.symbol(variable))
    return None if found.has(sympy.Integral, sympy.Piecewise) else _text(found)


def _text(expression: Any) -> str:
    # Here log is the natural one; in our own notation that is ln.
    return str(expression).replace("log(", "ln(").replace("**", "^").replace("E", "e")
