"""Conditions whose answer stands in the text: constants, and local names that hold one."""

import ast
import operator
from collections.abc import Callable, Mapping
from typing import Any, Final

from qwed.engines.code.python.values import Const, PythonValue

_MAX_NUMBER: Final = 10**12
_MAX_TEXT: Final = 1_000
_SIMPLE: Final = (int, float, str, bool, type(None))
_ARITHMETIC: Final[Mapping[type, Callable[[Any, Any], Any]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_COMPARISONS: Final[Mapping[type, Callable[[Any, Any], Any]]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
}


class UndecidedCondition(Exception):
    """The answer is not in the text."""


def decide(test: ast.expr, names: Mapping[str, PythonValue]) -> bool | None:
    """Whether a condition holds, None where that is not known. `names` are those of the function alone:
    others may have been changed by somebody else."""
    if isinstance(test, ast.Constant):
        # Whoever writes `while True` or `if False` may change it any day.
        return None
    try:
        return bool(compute(test, names))
    except (UndecidedCondition, ArithmeticError, TypeError, ValueError, IndexError, RecursionError):
        return None


def compute(node: ast.expr, names: Mapping[str, PythonValue]) -> Any:
    match node:
        case ast.Constant(value=value):
            return _bound(value)
        case ast.Name(id=name):
            known = names.get(name)
            if not isinstance(known, Const) or known.taint:
                raise UndecidedCondition
            return _bound(known.data)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _ARITHMETIC:
            sides = compute(left, names), compute(right, names)
            if any(isinstance(side, str) for side in sides):
                raise UndecidedCondition
            return _bound(_ARITHMETIC[type(op)](*sides))
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return not compute(operand, names)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -compute(operand, names)
        case ast.BoolOp(op=op, values=values):
            answers = [bool(compute(value, names)) for value in values]
            return all(answers) if isinstance(op, ast.And) else any(answers)
        case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _COMPARISONS:
            return _COMPARISONS[type(op)](compute(left, names), compute(right, names))
        case ast.Subscript(value=value, slice=index):
            text, position = compute(value, names), compute(index, names)
            if isinstance(text, str) and isinstance(position, int):
                return text[position]
    raise UndecidedCondition


def _bound(value: Any) -> Any:
    is_small = len(value) <= _MAX_TEXT if isinstance(value, str) else True
    if not isinstance(value, _SIMPLE) or not is_small:
        raise UndecidedCondition
    if isinstance(value, (int, float)) and abs(value) > _MAX_NUMBER:
        raise UndecidedCondition
    return value


def matches(pattern: ast.pattern, subject: Any) -> bool | None:
    """Whether a case takes a known subject, None where that is not known."""
    match pattern:
        case ast.MatchValue(value=ast.Constant(value=value)):
            return bool(value == subject)
        case ast.MatchAs(pattern=None):
            return True
        case ast.MatchOr(patterns=patterns):
            answers = [matches(each, subject) for each in patterns]
            return True if any(answers) else None if None in answers else False
    return None
