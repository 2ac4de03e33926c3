"""Which names a condition vouches for: the checks by which programs refuse bad input."""

import ast
from collections.abc import Callable

from qwed.engines.code.python.names import VALIDATING_CALLS, VALIDATING_METHODS, VALIDATORS

IsValidator = Callable[[str], bool]


def sounds_like_validation(name: str) -> bool:
    return VALIDATORS.search(name) is not None


def when_true(test: ast.expr, is_validator: IsValidator) -> set[str]:
    """Names that are checked if the condition holds."""
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return when_false(operand, is_validator)
        case ast.BoolOp(op=ast.And(), values=values):
            return set().union(*(when_true(value, is_validator) for value in values))
        case ast.BoolOp(values=values):
            sides = [when_true(value, is_validator) for value in values]
            return set.intersection(*sides)
        case ast.Compare(left=left, ops=[ast.In() | ast.Eq() | ast.Is()], comparators=[right]):
            return _find_compared(left, right)
        case ast.Compare(left=left, ops=[ast.NotEq() | ast.IsNot()], comparators=[ast.Constant(value=None)]):
            return _names(left) if _is_validating_call(left, is_validator) else set()
        case ast.Compare(left=ast.Constant(value=str(mark)), ops=[ast.NotIn()], comparators=[right]):
            return _names(right) if mark in ("..", "/", "\\") else set()
        case ast.Call() | ast.Attribute():
            return _names(test) if _is_validating_call(test, is_validator) else set()
        case ast.NamedExpr(value=value):
            return when_true(value, is_validator)
    return set()


def when_false(test: ast.expr, is_validator: IsValidator) -> set[str]:
    """Names that are checked if the condition does not hold."""
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return when_true(operand, is_validator)
        case ast.BoolOp(op=ast.Or(), values=values):
            return set().union(*(when_false(value, is_validator) for value in values))
        case ast.BoolOp(values=values):
            return set.intersection(*(when_false(value, is_validator) for value in values))
        case ast.Compare(left=left, ops=[ast.NotIn() | ast.NotEq() | ast.IsNot()], comparators=[right]):
            return _find_compared(left, right)
        case ast.Compare(left=left, ops=[ast.Is() | ast.Eq()], comparators=[ast.Constant(value=None)]):
            return _names(left) if _is_validating_call(left, is_validator) else set()
        case ast.Compare(left=ast.Constant(value=str(mark)), ops=[ast.In()], comparators=[right]):
            return _names(right) if mark in ("..", "/", "\\") else set()
    return set()


def _find_compared(left: ast.expr, right: ast.expr) -> set[str]:
    """`x in ALLOWED`, `x == "known"`; comparing with nothing checks nothing."""
    if isinstance(left, ast.Constant):
        return set()
    if isinstance(right, ast.Constant) and right.value in (None, "", b"", True, False):
        return set()
    return _names(left)


def _is_validating_call(node: ast.expr, is_validator: IsValidator) -> bool:
    if isinstance(node, ast.NamedExpr):
        return _is_validating_call(node.value, is_validator)
    if not isinstance(node, ast.Call):
        return False
    match node.func:
        case ast.Attribute(attr=name):
            return name in VALIDATING_METHODS or name in VALIDATING_CALLS or is_validator(name)
        case ast.Name(id=name):
            return name in VALIDATING_CALLS or is_validator(name)
    return False


def _names(node: ast.expr) -> set[str]:
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
