"""Conditions that do not depend on any row: what a tautology is, however it is written."""

import enum
import itertools
import re
from decimal import Decimal, InvalidOperation
from typing import Any, Final

from sqlglot import exp

from qwed.engines.sql.nodes import descendants, operands, unwrap

_MAX_DIGITS: Final = 60
_MAX_EVALUATED_NODES: Final = 150
_MAX_PAIRED_TERMS: Final = 40


class Opaque(enum.Enum):
    """Constant, but its value was not worked out."""

    OPAQUE = "opaque"


OPAQUE: Final = Opaque.OPAQUE
Value = Decimal | str | bool | None | Opaque

_VARYING: Final = frozenset(
    {
        exp.Column,
        exp.Placeholder,
        exp.Parameter,
        exp.SessionParameter,
        exp.Star,
        exp.From,
        exp.Window,
        exp.Rand,
        exp.Randn,
        exp.Uuid,
        exp.Localtime,
        exp.Localtimestamp,
        exp.SessionUser,
        exp.NextValueFor,
        exp.Dot,
        exp.Identifier,
    }
)


def is_constant(node: exp.Expr) -> bool:
    """No row, parameter, clock, user or random number can change it."""
    return not any(map(_varies, descendants(node)))


def _varies(node: exp.Expr) -> bool:
    kind = type(node)
    if kind in _VARYING:
        return True
    if isinstance(node, exp.Func):
        if kind is exp.Anonymous:
            return not node.expressions
        return isinstance(node, exp.AggFunc) or kind.__name__.startswith(("Current", "Utc", "Systime"))
    return False


def is_tautology(node: exp.Expr) -> bool:
    """True for every row (NULLs apart): the condition filters nothing."""
    node = unwrap(node)
    kind = type(node)
    if kind is exp.Or:
        terms = operands(node)
        return any(map(is_tautology, terms)) or has_complementary_terms(terms)
    if kind is exp.And:
        return all(map(is_tautology, operands(node)))
    if kind is exp.Not and type(unwrap(node.this)) is not exp.Not:
        return is_contradiction(node.this)
    if is_constant(node):
        return truth(constant_value(node)) is not False
    if node.args.get("negate"):
        return False
    return _same_on_both_sides(node, _REFLEXIVE) or _matches_anything(node)


def is_contradiction(node: exp.Expr) -> bool:
    node = unwrap(node)
    if is_constant(node):
        return truth(constant_value(node)) is False
    return _same_on_both_sides(node, _IRREFLEXIVE)


_REFLEXIVE: Final = frozenset(
    {exp.EQ, exp.GTE, exp.LTE, exp.Like, exp.ILike, exp.NullSafeEQ, exp.RegexpLike, exp.Glob, exp.SimilarTo}
)
_IRREFLEXIVE: Final = frozenset({exp.NEQ, exp.GT, exp.LT, exp.NullSafeNEQ})


def _same_on_both_sides(node: exp.Expr, operators: frozenset[type[exp.Expr]]) -> bool:
    kind = type(node)
    if kind in operators:
        left, right = unwrap(node.this), unwrap(node.args.get("expression"))
        return type(left) is type(right) and bool(left == right)
    if operators is not _REFLEXIVE:
        return False
    if kind is exp.Between:
        return bool(node.this == node.args["low"] and node.this == node.args["high"])
    if kind is exp.In:
        return any(node.this == item for item in node.expressions)
    return False


def _matches_anything(node: exp.Expr) -> bool:
    """`x LIKE '%'`, `x RLIKE '.*'`, `x LIKE CHAR(37)`."""
    kind = type(node)
    pattern = node.args.get("expression")
    if type(pattern) is exp.Chr and (kind is exp.Like or kind is exp.ILike):
        return all(str(code.this) == "37" for code in pattern.expressions)
    if type(pattern) is not exp.Literal or not pattern.is_string:
        return False
    if kind is exp.Like or kind is exp.ILike:
        return bool(pattern.this) and not pattern.this.strip("%")
    return (kind is exp.RegexpLike and pattern.this in (".*", "^", "$", "")) or (
        kind is exp.Glob and pattern.this == "*"
    )


_COMPLEMENTS: Final = {
    exp.EQ: exp.NEQ,
    exp.NEQ: exp.EQ,
    exp.GT: exp.LTE,
    exp.LTE: exp.GT,
    exp.LT: exp.GTE,
    exp.GTE: exp.LT,
}


def has_complementary_terms(terms: list[exp.Expr]) -> bool:
    """`x = 1 OR x <> 1`, `x IS NULL OR x IS NOT NULL`, `x IS NOT NULL OR x = 1`."""
    if len(terms) > _MAX_PAIRED_TERMS:
        return False
    seen: set[tuple[Any, ...]] = set()
    wanted: set[tuple[Any, ...]] = set()
    not_null: list[exp.Expr] = []
    compared: list[exp.Expr] = []
    for term in map(unwrap, terms):
        kind = type(term)
        if kind in _COMPLEMENTS:
            seen.add((kind, term.this, term.expression))
            wanted.add((_COMPLEMENTS[kind], term.this, term.expression))
            compared.append(term.this)
            continue
        if kind is exp.And:
            compared += [part.this for part in operands(term) if type(part) in _COMPLEMENTS]
            continue
        negated = kind is exp.Not
        test = unwrap(term.this) if negated else term
        if type(test) is exp.Is and type(test.expression) is exp.Null:
            if negated != bool(test.args.get("negate")):
                wanted.add((exp.Is, test.this))
                not_null.append(test.this)
            else:
                seen.add((exp.Is, test.this))
    return not seen.isdisjoint(wanted) or any(item in compared for item in not_null)


def truth(value: Value) -> bool | None:
    """As a condition; None where dialects differ or nothing is known."""
    if isinstance(value, bool):
        return value
    if isinstance(value, Decimal):
        return bool(value)
    # NULL filters everything out.
    return False if value is None else None


def constant_value(node: exp.Expr) -> Value:
    """The value of a constant expression, as far as all dialects agree on it and it is worth the work."""
    size = sum(1 for _ in itertools.islice(descendants(node), _MAX_EVALUATED_NODES))
    return OPAQUE if size == _MAX_EVALUATED_NODES else _value_of(node)


def _value_of(node: exp.Expr) -> Value:
    """As `constant_value`, for an expression that is known to be small."""
    node = unwrap(node)
    evaluate = _EVALUATE.get(type(node))
    value: Value = evaluate(node) if evaluate else OPAQUE
    return not value if isinstance(value, bool) and node.args.get("negate") else value


def _literal(node: exp.Expr) -> Value:
    if node.args.get("is_string"):
        return str(node.this)
    return _number(str(node.this))


def _number(text: str) -> Value:
    if len(text) > _MAX_DIGITS:
        return OPAQUE
    try:
        return Decimal(text)
    except InvalidOperation:
        return OPAQUE


def _not(node: exp.Expr) -> Value:
    held = truth(_value_of(node.this))
    return OPAQUE if held is None else not held


def _negate(node: exp.Expr) -> Value:
    value = _value_of(node.this)
    return -value if isinstance(value, Decimal) else OPAQUE


def _connect(node: exp.Expr) -> Value:
    deciding = type(node) is exp.Or
    held = [truth(_value_of(term)) for term in operands(node)]
    if deciding in held:
        return deciding
    return OPAQUE if None in held else not deciding


def _compare(node: exp.Expr) -> Value:
    left, right = _value_of(node.this), _value_of(node.expression)
    if left is OPAQUE or right is OPAQUE:
        return OPAQUE
    if left is None or right is None:
        return None
    if type(left) is not type(right):
        left, right = _as_number(left), _as_number(right)
        if left is OPAQUE or right is OPAQUE:
            return OPAQUE
    return bool(_COMPARE[type(node)](left, right))


def _as_number(value: Value) -> Value:
    if isinstance(value, bool):
        return Decimal(value)
    return _number(value) if isinstance(value, str) else value


_COMPARE: Final[dict[type[exp.Expr], Any]] = {
    exp.EQ: lambda a, b: a == b,
    exp.NullSafeEQ: lambda a, b: a == b,
    exp.NEQ: lambda a, b: a != b,
    exp.GT: lambda a, b: a > b,
    exp.GTE: lambda a, b: a >= b,
    exp.LT: lambda a, b: a < b,
    exp.LTE: lambda a, b: a <= b,
}

_ARITHMETIC: Final[dict[type[exp.Expr], Any]] = {
    exp.Add: lambda a, b: a + b,
    exp.Sub: lambda a, b: a - b,
    exp.Mul: lambda a, b: a * b,
    exp.Mod: lambda a, b: a % b,
    exp.Div: lambda a, b: a / b,
}


def _compute(node: exp.Expr) -> Value:
    left, right = _value_of(node.this), _value_of(node.expression)
    if not (isinstance(left, Decimal) and isinstance(right, Decimal)):
        return OPAQUE
    try:
        result: Decimal = _ARITHMETIC[type(node)](left, right)
    except ArithmeticError:
        return OPAQUE
    return result


def _like(node: exp.Expr) -> Value:
    value, pattern = _value_of(node.this), _value_of(node.expression)
    if isinstance(value, Decimal) and isinstance(pattern, Decimal):
        return value == pattern
    if not (isinstance(value, str) and isinstance(pattern, str)) or len(pattern) > _MAX_DIGITS:
        return OPAQUE
    if pattern.count("%") > 4:
        return OPAQUE
    parts = (".*" if sign == "%" else "." if sign == "_" else re.escape(sign) for sign in pattern)
    return re.fullmatch("".join(parts), value[:1_000], re.IGNORECASE | re.DOTALL) is not None


def _is(node: exp.Expr) -> Value:
    value, expected = _value_of(node.this), _value_of(node.expression)
    if value is OPAQUE or expected is OPAQUE:
        return OPAQUE
    return value is None if expected is None else truth(value) == truth(expected)


def _between(node: exp.Expr) -> Value:
    value, low, high = (_value_of(node.args[name]) for name in ("this", "low", "high"))
    if type(value) is type(low) is type(high) and isinstance(value, Decimal | str):
        return low <= value <= high  # type: ignore[operator]
    return OPAQUE


def _in(node: exp.Expr) -> Value:
    value = _value_of(node.this)
    values = [_value_of(item) for item in node.expressions]
    if not values or OPAQUE in (value, *values):
        return OPAQUE
    return value in values


def _join(node: exp.Expr) -> Value:
    left, right = _value_of(node.this), _value_of(node.expression)
    return left + right if isinstance(left, str) and isinstance(right, str) else OPAQUE


_EVALUATE: Final[dict[type[exp.Expr], Any]] = {
    exp.Literal: _literal,
    exp.Boolean: lambda node: bool(node.this),
    exp.Null: lambda node: None,
    exp.Not: _not,
    exp.Neg: _negate,
    exp.And: _connect,
    exp.Or: _connect,
    exp.Like: _like,
    exp.ILike: _like,
    exp.Is: _is,
    exp.Between: _between,
    exp.In: _in,
    exp.DPipe: _join,
    **dict.fromkeys(_COMPARE, _compare),
    **dict.fromkeys(_ARITHMETIC, _compute),
}
