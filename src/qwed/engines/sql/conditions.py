"""Conditions that no honest query needs: true of every row, or of none, whatever the rows are."""

from collections.abc import Callable
from typing import Any, Final

from sqlglot import exp

from qwed.engines.sql.constants import (
    constant_value,
    has_complementary_terms,
    is_constant,
    is_tautology,
    truth,
)
from qwed.engines.sql.nodes import is_number, operands, parent_beyond_parens, strip_alias, unwrap
from qwed.engines.sql.notes import Notes
from qwed.engines.sql.probes import check_server_probe

_TAUTOLOGY: Final = "a condition that is true of every row stands beside the real one"
_CONSTANT: Final = "a condition that depends on no row stands beside the real one"


def check_filter(node: exp.Expr, notes: Notes) -> None:
    """A whole WHERE that is constant: `1=1` and its like are how programs build queries; the rest is not."""
    condition = unwrap(node.this)
    kind = type(condition)
    if kind is exp.Or or kind is exp.And or not is_constant(condition):
        check_server_probe(condition, notes)
        return
    if type(node) is exp.Having or not _is_builder_stub(condition):
        notes.forbidden("tautology", "the whole condition is a constant", node)


def check_or(node: exp.Expr, notes: Notes) -> None:
    """OR, XOR and MySQL's ||: one constant term undoes, or probes, all the others."""
    if type(parent_beyond_parens(node)) is type(node):
        return
    terms = operands(node)
    found = [problem for problem in map(_wrong_term, range(len(terms)), terms) if problem]
    if has_complementary_terms(terms):
        found.append(("tautology", "the terms together are true of every row", node))
    # Last, since the way up to the clause is as long as the query is deep.
    if found and not notes.is_saturated and _is_condition(node):
        for rule, message, term in found:
            notes.forbidden(rule, message, term)
    for term in terms:
        check_server_probe(unwrap(term), notes)


def _wrong_term(position: int, term: exp.Expr) -> tuple[str, str, exp.Expr] | None:
    if not is_constant(term):
        return ("tautology", _TAUTOLOGY, term) if is_tautology(term) else None
    held = truth(constant_value(term))
    if held is not False:
        return "tautology", _TAUTOLOGY, term
    if position == 0 and _is_builder_stub(unwrap(term)):
        return None
    return "constant_condition", _CONSTANT, term


def check_and(node: exp.Expr, notes: Notes) -> None:
    """AND: a constant term changes nothing for an honest query, and answers a blind probe."""
    if type(node.parent) is exp.And:
        return
    # Builders begin a WHERE or a group of their own with a stub; nothing else does.
    built = isinstance(node.parent, exp.Where | exp.Qualify | exp.Paren)
    found = []
    for position, term in enumerate(map(unwrap, operands(node))):
        if not is_constant(term) and not _compares_string_with_itself(term):
            check_server_probe(term, notes)
            continue
        harmless = _is_builder_stub(term) if position == 0 else type(term) is exp.Boolean and term.this
        if not (built and harmless):
            found.append(term)
    if found and not notes.is_saturated and _is_condition(node):
        for term in found:
            notes.forbidden("constant_condition", _CONSTANT, term)


def _compares_string_with_itself(term: exp.Expr) -> bool:
    """`"1" = "1"`, where it is not known whether these are names or strings."""
    if type(term) is not exp.EQ or type(term.this) is not exp.Column or term.this != term.expression:
        return False
    column = term.this
    return not column.args.get("table") and bool(column.this.args.get("quoted"))


def _is_condition(node: exp.Expr) -> bool:
    """Inside a WHERE, HAVING, QUALIFY, ON, or a choice: not a value that is merely shown."""
    ancestor = node.parent
    while ancestor is not None:
        if isinstance(ancestor, exp.Where | exp.Having | exp.Qualify | exp.Order | exp.Group):
            return True
        if isinstance(ancestor, exp.Join):
            return isinstance(node, exp.Or | exp.Xor)
        if isinstance(ancestor, exp.Select):
            return False
        ancestor = ancestor.parent
    return False


def _is_builder_stub(condition: exp.Expr) -> bool:
    """`1=1`, `1=0`, `TRUE`, `0`: what query builders begin with. Numbers and booleans, never strings."""
    kind = type(condition)
    if kind is exp.Boolean or (kind is exp.Literal and not condition.is_string):
        return True
    if kind not in (exp.EQ, exp.NEQ):
        return False
    sides = (condition.this, condition.expression)
    return all(type(side) is exp.Literal and not side.is_string for side in sides)


def check_comparison(node: exp.Expr, notes: Notes) -> None:
    """`a = '' = ''`: the outcome of a comparison compared once more."""
    left: Any = node.this
    right: Any = node.args.get("expression")
    if type(left) in _COMPARISONS and is_constant(right):
        notes.forbidden("tautology", "the outcome of a comparison is compared with a literal", node)
    elif type(right) in _OUTCOMES and is_constant(right) and type(right) is not exp.Boolean:
        notes.forbidden("tautology", "a value is compared with a constant comparison", node)
    elif type(right) in _CASTS and is_number(left):
        _check_error_cast(right, node, notes)
    if type(left) is exp.Subquery and type(right) is exp.Literal:
        _check_subquery_probe(left.this, node, notes)


def check_is(node: exp.Expr, notes: Notes) -> None:
    """`a = 1 IS NOT NULL`."""
    if type(node.args.get("expression")) is exp.Null and type(unwrap(node.this)) in _COMPARISONS:
        notes.forbidden("tautology", "the outcome of a comparison is tested for NULL", node)


def check_exists(node: exp.Expr, notes: Notes) -> None:
    """`EXISTS (SELECT 1 FROM users)`: whether a table has rows, and nothing about the row at hand."""
    query = node.this
    if type(query) is not exp.Select or query.args.get("from_") is None or notes.is_saturated:
        return
    asks_for_all = not any(query.args.get(key) for key in ("where", "joins", "group", "having", "laterals"))
    if asks_for_all and _is_condition(node):
        notes.forbidden("blind_probe", "the condition asks for the whole of a table", node)


def _check_subquery_probe(query: Any, node: exp.Expr, notes: Notes) -> None:
    if type(query) is not exp.Select or query.args.get("from_") is None or len(query.expressions) != 1:
        return
    shown = strip_alias(query.expressions[0])
    if is_constant(shown):
        notes.forbidden("blind_probe", "a subquery that always gives the same value is compared", node)
    elif type(shown) in _EXTRACTIONS:
        notes.forbidden("blind_probe", "a queried value is taken apart and compared", node)


_COMPARISONS: Final = frozenset({exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.Like})
_OUTCOMES: Final = _COMPARISONS | {exp.Boolean, exp.Not, exp.Exists, exp.In, exp.Is, exp.Between}
_EXTRACTIONS: Final = frozenset({exp.Substring, exp.Ascii, exp.Unicode})
_CASTS: Final = frozenset({exp.Cast, exp.TryCast, exp.Convert})


def _check_error_cast(cast: Any, node: exp.Expr, notes: Notes) -> None:
    source = unwrap(cast.args.get("expression") if type(cast) is exp.Convert else cast.this)
    if type(source) is exp.Subquery and not source.find(exp.AggFunc):
        notes.forbidden("error_probe", "a queried value is forced into a number beside a literal", node)


def check_division(node: exp.Expr, notes: Notes) -> None:
    divisor = unwrap(node.args.get("expression"))
    if is_number(divisor) and not str(divisor.this).strip("0."):
        notes.forbidden("error_probe", "a division by zero is an error on purpose", node)


def check_arithmetic(node: exp.Expr, notes: Notes) -> None:
    """`'' - ''`: arithmetic on nothing, which some dialects read as zero."""
    sides = (node.this, node.args.get("expression"))
    if any(map(_is_blank, sides)):
        notes.forbidden("tautology", "arithmetic on an empty string", node)


def check_addition(node: exp.Expr, notes: Notes) -> None:
    """`'' + (SELECT …) + ''`; a plus joins strings in some dialects, so that alone says nothing."""
    if type(node.parent) is not exp.Add:
        terms = operands(node)
        if any(map(_is_blank, terms)) and any(type(term) is exp.Subquery for term in terms):
            notes.forbidden("tautology", "a query is added to an empty string", node)


def _is_blank(node: Any) -> bool:
    return type(node) is exp.Literal and node.is_string and not str(node.this).strip()


def check_concatenation(node: exp.Expr, notes: Notes) -> None:
    """`1 || 1` is an OR to the dialect that it was written for; CHR(…)||CHR(…)||CHR(…) hides a word."""
    if type(node.parent) is exp.DPipe:
        return
    terms = operands(node)
    numbers = any(map(is_number, terms)) and all(type(term) is exp.Literal for term in terms)
    if numbers or any(type(unwrap(term)) in _OUTCOMES for term in terms):
        notes.forbidden("tautology", "what is no text is joined as if by OR", node)
    if _is_blank(terms[0]) and _is_blank(terms[-1]) and any(term.find(exp.Select) for term in terms[1:-1]):
        notes.forbidden("blind_probe", "a query is spliced into an empty value", node)
    if sum(type(term) is exp.Chr for term in terms) >= _SPELLED_OUT:
        notes.forbidden("obfuscation", "a string is spelled out by character codes", node)


def check_spelling(node: exp.Expr, notes: Notes) -> None:
    if len(node.expressions) >= _SPELLED_OUT and all(map(is_number, node.expressions)):
        notes.forbidden("obfuscation", "a string is spelled out by character codes", node)


_SPELLED_OUT: Final = 3


VISITS: Final[dict[type[exp.Expr], Callable[[exp.Expr, Notes], None]]] = {
    exp.Where: check_filter,
    exp.Having: check_filter,
    exp.Or: check_or,
    exp.Xor: check_or,
    exp.And: check_and,
    exp.Div: check_division,
    exp.Sub: check_arithmetic,
    exp.Add: check_addition,
    exp.Mul: check_arithmetic,
    exp.Mod: check_arithmetic,
    exp.IntDiv: check_arithmetic,
    exp.Pow: check_arithmetic,
    exp.BitwiseAnd: check_arithmetic,
    exp.BitwiseOr: check_arithmetic,
    exp.BitwiseXor: check_arithmetic,
    exp.DPipe: check_concatenation,
    exp.Chr: check_spelling,
    exp.Exists: check_exists,
    exp.Is: check_is,
    **dict.fromkeys(_COMPARISONS, check_comparison),
}
