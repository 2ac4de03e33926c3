"""Derivatives by rule on the tree, and integrals that are proven by taking the derivative back."""

from collections.abc import Callable
from typing import Final

from qwed.engines.math import polynomial
from qwed.engines.math.nodes import (
    ONE,
    TWO,
    ZERO,
    Derivative,
    FunctionCall,
    Integral,
    Literal,
    Negation,
    Node,
    Percent,
    Power,
    Product,
    Sum,
    Symbol,
    UnitQuantity,
    divide,
    multiply,
    rebuild,
    substitute,
    subtract,
    symbols,
    walk,
)
from qwed.engines.math.problems import UndecidedMath

_MAX_NODES: Final = 3_000


def without_derivatives(node: Node) -> Node:
    """Every derivative carried out, innermost first."""
    node = rebuild(node, without_derivatives)
    if not isinstance(node, Derivative):
        return node
    result = node.operand
    for _ in range(node.order):
        result = differentiate(result, node.variable)
    return result


def differentiate(node: Node, variable: str) -> Node:
    result = _derivative(node, variable)
    if sum(1 for _ in walk(result)) > _MAX_NODES:
        raise UndecidedMath("the derivative has too many parts")
    return result


def _derivative(node: Node, variable: str) -> Node:
    if variable not in symbols(node):
        return ZERO
    match node:
        case Symbol():
            return ONE
        case Sum():
            return _of_sum(node, variable)
        case Product():
            return _of_product(node, variable)
        case Negation():
            return Negation(_derivative(node.operand, variable))
        case Percent():
            return Percent(_derivative(node.operand, variable))
        case UnitQuantity():
            return _derivative(node.operand, variable)
        case Power():
            return _of_power(node, variable)
        case FunctionCall():
            return _of_call(node, variable)
    raise UndecidedMath(f"no rule for the derivative of a {type(node).__name__.lower()}")


def _of_sum(node: Sum, variable: str) -> Node:
    parts = [
        (_derivative(term, variable), negative)
        for term, negative in zip(node.terms, node.negative, strict=True)
    ]
    kept = [(part, negative) for part, negative in parts if part != ZERO]
    return Sum(tuple(part for part, _ in kept), tuple(negative for _, negative in kept)) if kept else ZERO


def _of_product(node: Product, variable: str) -> Node:
    """Each factor in turn; a divisor g contributes -g'/g times the whole."""
    terms: list[Node] = []
    for index, (factor, inverse) in enumerate(zip(node.factors, node.inverse, strict=True)):
        inner = _derivative(factor, variable)
        if inner == ZERO:
            continue
        if inverse:
            terms.append(Negation(divide(multiply(node, inner), factor)))
        else:
            factors = (*node.factors[:index], inner, *node.factors[index + 1 :])
            terms.append(Product(factors, node.inverse))
    return Sum(tuple(terms), (False,) * len(terms)) if terms else ZERO


def _of_power(node: Power, variable: str) -> Node:
    inner, outer = _derivative(node.base, variable), _derivative(node.exponent, variable)
    if outer == ZERO:
        lowered = Power(node.base, subtract(node.exponent, ONE))
        return multiply(node.exponent, lowered, inner)
    growth = multiply(node, outer, _ln(node.base))
    if inner == ZERO:
        return growth
    return Sum((growth, divide(multiply(node, node.exponent, inner), node.base)), (False, False))


def _ln(node: Node) -> Node:
    return ONE if node == Symbol("e") else FunctionCall("ln", (node,))


def _of_call(node: FunctionCall, variable: str) -> Node:
    rule = _CHAIN_RULES.get(node.name)
    if rule is None or len(node.arguments) != 1:
        raise UndecidedMath(f"no rule for the derivative of {node.name}")
    argument = node.arguments[0]
    return multiply(rule(argument), _derivative(argument, variable))


def _call(name: str, argument: Node) -> Node:
    return FunctionCall(name, (argument,))


def _square(node: Node) -> Node:
    return Power(node, TWO)


_CHAIN_RULES: Final[dict[str, Callable[[Node], Node]]] = {
    "sqrt": lambda u: divide(ONE, multiply(TWO, _call("sqrt", u))),
    "cbrt": lambda u: divide(ONE, multiply(Literal(3), _square(_call("cbrt", u)))),
    "exp": lambda u: _call("exp", u),
    "ln": lambda u: divide(ONE, u),
    "log10": lambda u: divide(ONE, multiply(u, _call("ln", Literal(10)))),
    "log2": lambda u: divide(ONE, multiply(u, _call("ln", TWO))),
    "sin": lambda u: _call("cos", u),
    "cos": lambda u: Negation(_call("sin", u)),
    "tan": lambda u: _square(_call("sec", u)),
    "cot": lambda u: Negation(_square(_call("csc", u))),
    "sec": lambda u: multiply(_call("sec", u), _call("tan", u)),
    "csc": lambda u: Negation(multiply(_call("csc", u), _call("cot", u))),
    "asin": lambda u: divide(ONE, _call("sqrt", subtract(ONE, _square(u)))),
    "acos": lambda u: Negation(divide(ONE, _call("sqrt", subtract(ONE, _square(u))))),
    "atan": lambda u: divide(ONE, Sum((ONE, _square(u)), (False, False))),
    "sinh": lambda u: _call("cosh", u),
    "cosh": lambda u: _call("sinh", u),
    "tanh": lambda u: divide(ONE, _square(_call("cosh", u))),
}


def antiderivative(node: Node, variable: str) -> Node | None:
    """An antiderivative of a polynomial; None for anything else."""
    try:
        value = polynomial.quotient(without_derivatives(node))
    except UndecidedMath:
        return None
    if variable in symbols(polynomial.as_node(value.bottom)):
        return None
    integrated = polynomial.as_node(polynomial.integrate(value.top, variable))
    return divide(integrated, polynomial.as_node(value.bottom))


def definite(node: Integral) -> Node | None:
    """F(b) - F(a) where F is known; None otherwise."""
    assert node.lower is not None and node.upper is not None
    primitive = antiderivative(node.operand, node.variable)
    if primitive is None:
        return None
    upper = substitute(primitive, {node.variable: node.upper})
    return subtract(upper, substitute(primitive, {node.variable: node.lower}))
