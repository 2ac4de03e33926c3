"""The exact value of a tree."""

from collections.abc import Callable
from typing import Any, Final

from qwed.engines.math.nodes import (
    Brackets,
    Derivative,
    FunctionCall,
    Integral,
    Literal,
    Negation,
    Node,
    Percent,
    PlusMinus,
    Power,
    Product,
    Scaled,
    Sum,
    Symbol,
    UnitQuantity,
)
from qwed.engines.math.problems import NotRational, Symbolic, Undefined
from qwed.engines.math.rational_functions import FUNCTIONS
from qwed.engines.math.ratios import LARGE, Ratio, checked, power, reduce_ratio

_OF_MATRICES: Final = frozenset({"det", "inverse", "transpose", "trace", "rank", "dot", "cross"})


def evaluate(node: Node) -> Ratio:
    """The rational value. Raises `MathProblem`."""
    return _RULES[type(node)](node)


def _literal(node: Literal) -> Ratio:
    return node.numerator, node.denominator


def _sum(node: Sum) -> Ratio:
    numerator, denominator = 0, 1
    for term, negative in zip(node.terms, node.negative, strict=True):
        top, bottom = (
            (term.numerator, term.denominator) if type(term) is Literal else _RULES[type(term)](term)
        )
        if negative:
            top = -top
        if bottom == denominator:
            numerator += top
        elif denominator == 1:
            numerator, denominator = numerator * bottom + top, bottom
        elif bottom == 1:
            numerator += top * denominator
        else:
            numerator, denominator = checked(numerator * bottom + top * denominator, denominator * bottom)
    return checked(numerator, denominator)


def _product(node: Product) -> Ratio:
    numerator, denominator = 1, 1
    for factor, inverse in zip(node.factors, node.inverse, strict=True):
        top, bottom = (
            (factor.numerator, factor.denominator)
            if type(factor) is Literal
            else _RULES[type(factor)](factor)
        )
        if inverse:
            if not top:
                raise Undefined("division by zero")
            top, bottom = (bottom, top) if top > 0 else (-bottom, -top)
        numerator *= top
        denominator *= bottom
        if denominator > LARGE or not -LARGE < numerator < LARGE:
            numerator, denominator = checked(numerator, denominator)
    return numerator, denominator


def _negation(node: Negation) -> Ratio:
    top, bottom = evaluate(node.operand)
    return -top, bottom


def _percent(node: Percent) -> Ratio:
    top, bottom = evaluate(node.operand)
    return top, bottom * 100


def _quantity(node: UnitQuantity) -> Ratio:
    return evaluate(node.operand)


def _evaluate_scaled(node: Scaled) -> Ratio:
    top, bottom = evaluate(node.operand)
    return checked(top * node.numerator, bottom * node.denominator)


def _power(node: Power) -> Ratio:
    return power(evaluate(node.base), reduce_ratio(evaluate(node.exponent)))


def _symbol(node: Symbol) -> Ratio:
    if node.name in ("pi", "e", "tau"):
        raise NotRational(f"{node.name} is irrational")
    raise Symbolic(f"the value of {node.name!r} is not given")


def _call(node: FunctionCall) -> Ratio:
    function = FUNCTIONS.get(node.name)
    if function is None:
        if node.name in _OF_MATRICES:
            raise Symbolic(f"{node.name} is a function of matrices")
        raise NotRational(f"{node.name} has no rational value in general")
    return function([reduce_ratio(evaluate(argument)) for argument in node.arguments])


def _no_number(node: Node) -> Ratio:
    raise Symbolic(f"a {type(node).__name__.lower()} is not a number")


_RULES: Final[dict[type, Callable[[Any], Ratio]]] = {
    Literal: _literal,
    Sum: _sum,
    Product: _product,
    Negation: _negation,
    Percent: _percent,
    UnitQuantity: _quantity,
    Scaled: _evaluate_scaled,
    Power: _power,
    Symbol: _symbol,
    FunctionCall: _call,
    Brackets: _no_number,
    Derivative: _no_number,
    Integral: _no_number,
    PlusMinus: _no_number,
}
