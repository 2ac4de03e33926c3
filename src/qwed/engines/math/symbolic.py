"""The bridge to the computer algebra system: trees are built object by object, never from a string."""

import importlib
from typing import Any, Final

from qwed.engines.math import exact
from qwed.engines.math.nodes import (
    Call,
    Literal,
    Negation,
    Node,
    Percent,
    Power,
    Product,
    Quantity,
    Sum,
    Symbol,
    walk,
)
from qwed.engines.math.problems import Undecided

_MAX_NODES: Final = 150
_MAX_EXPONENT: Final = 50
_MAX_DIGITS: Final = 60

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
    """The tree as a symbolic object; real variables. Raises `Undecided` beyond the bounds."""
    if sum(1 for _ in walk(node)) > _MAX_NODES:
        raise Undecided("the expression has too many parts for a symbolic proof")
    return _build(_sympy(), node)


def _build(sympy: Any, node: Node) -> Any:
    match node:
        case Literal():
            return _rational(sympy, node.numerator, node.denominator)
        case Symbol():
            return _symbol(sympy, node.name)
        case Negation():
            return -_build(sympy, node.operand)
        case Percent():
            return _build(sympy, node.operand) / 100
        case Quantity():
            return _build(sympy, node.operand)
        case Sum():
            signs = [-1 if negative else 1 for negative in node.negative]
            return sympy.Add(
                *(sign * _build(sympy, term) for sign, term in zip(signs, node.terms, strict=True))
            )
        case Product():
            signs = [-1 if inverse else 1 for inverse in node.inverse]
            factors = [_build(sympy, factor) for factor in node.factors]
            if any(sign < 0 and factor == 0 for sign, factor in zip(signs, factors, strict=True)):
                raise Undecided("division by zero")
            return sympy.Mul(*(factor**sign for factor, sign in zip(factors, signs, strict=True)))
        case Power():
            return _power(sympy, _build(sympy, node.base), _build(sympy, node.exponent))
        case Call():
            return _call(sympy, node)
    raise Undecided(f"a {type(node).__name__.lower()} has no symbolic form")


def _rational(sympy: Any, numerator: int, denominator: int) -> Any:
    if max(abs(numerator), denominator).bit_length() > _MAX_DIGITS * 4:
        raise Undecided("a number is too long for a symbolic proof")
    return sympy.Rational(numerator, denominator)


def _symbol(sympy: Any, name: str) -> Any:
    constants = {"pi": sympy.pi, "e": sympy.E, "tau": 2 * sympy.pi}
    if name == "i":
        raise Undecided("complex numbers are not supported")
    return constants.get(name) or sympy.Symbol(name, real=True)


def _power(sympy: Any, base: Any, exponent: Any) -> Any:
    if exponent.is_number and abs(exponent.evalf(10)) > _MAX_EXPONENT:
        raise Undecided("an exponent is too large for a symbolic proof")
    if base == 0 and exponent.is_number and exponent.is_positive is not True:
        raise Undecided("zero to a power that is not positive")
    # The real root of a negative number, as in the rest of the engine.
    if exponent.is_Rational and exponent.q % 2 and exponent.q > 1 and base.is_negative:
        return (-((-base) ** sympy.Rational(1, exponent.q))) ** exponent.p
    return base**exponent


def _call(sympy: Any, node: Call) -> Any:
    arguments = [_build(sympy, argument) for argument in node.arguments]
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
            return _power(sympy, value, 1 / index)
        case "pow", [base, exponent]:
            return _power(sympy, base, exponent)
        case "cbrt", [value] if value.is_negative:
            return -sympy.cbrt(-value)
    name = _FUNCTIONS.get(node.name)
    if name is not None and len(arguments) == 1:
        return getattr(sympy, name)(arguments[0])
    numerator, denominator = exact.reduced(exact.evaluate(node))
    return _rational(sympy, numerator, denominator)


def is_zero(node: Node) -> bool:
    """Proven to be zero everywhere it is defined; False is no disproof."""
    sympy = _sympy()
    expression = build(node)
    if expression.has(sympy.zoo, sympy.nan, sympy.oo, sympy.I):
        raise Undecided("not a finite real expression")
    steps = (
        lambda e: e,
        sympy.expand,
        lambda e: sympy.expand(sympy.expand_trig(e)),
        lambda e: sympy.expand_log(e, force=False),
        sympy.radsimp,
        lambda e: sympy.expand(e.rewrite(sympy.exp)),
        sympy.simplify,
        lambda e: sympy.simplify(e.rewrite(sympy.exp)),
    )
    return any(step(expression) == 0 for step in steps)


def simplified(node: Node) -> str:
    sympy = _sympy()
    return _text(sympy.simplify(build(node)))


def antiderivative(node: Node, variable: str) -> str | None:
    """A candidate, to be proven by the caller."""
    sympy = _sympy()
    found = sympy.integrate(build(node), _symbol(sympy, variable))
    return None if found.has(sympy.Integral, sympy.Piecewise) else _text(found)


def roots(node: Node, variable: str) -> list[str]:
    """The real solutions of node = 0 as text, smallest first; candidates for a bare question."""
    sympy = _sympy()
    name = _symbol(sympy, variable)
    found = sympy.roots(sympy.Poly(build(node), name))
    return [_text(root) for root in sorted((r for r in found if r.is_real), key=lambda r: r.evalf(30))]


def _text(expression: Any) -> str:
    # Here log is the natural one; in our own notation that is ln.
    return str(expression).replace("log(", "ln(").replace("**", "^").replace("E", "e")
