"""Probes: parts of a query that ask the server about itself, or make it fail with the answer."""

from collections.abc import Callable
from typing import Final

from sqlglot import exp

from qwed.engines.sql.constants import is_constant
from qwed.engines.sql.functions import SERVER_FACTS
from qwed.engines.sql.nodes import descendants, unwrap
from qwed.engines.sql.notes import Notes

_FILTERS: Final = (exp.Where, exp.Having, exp.Qualify)


def check_server_probe(term: exp.Expr, notes: Notes) -> None:
    """A condition on the server (its version, its user) and on no column."""
    if type(term) in (exp.EQ, exp.Like, exp.NEQ) and type(term.this) is exp.Column:
        return
    facts = False
    for node in descendants(term):
        kind = type(node)
        if kind is exp.Column or kind is exp.From:
            return
        facts = facts or is_server_fact(node)
    if facts:
        notes.forbidden("blind_probe", "a condition on the server itself, not on the data", term)


def is_server_fact(node: exp.Expr) -> bool:
    kind = type(node)
    if kind is exp.Anonymous:
        return str(node.this).lower() in SERVER_FACTS
    if kind is exp.Parameter:
        return type(node.this) is exp.Parameter
    return kind is exp.SessionParameter or kind in _FACT_TYPES


_FACT_TYPES: Final = frozenset(
    {exp.CurrentUser, exp.CurrentVersion, exp.CurrentSchema, exp.CurrentDatabase, exp.CurrentCatalog}
    | {exp.SessionUser, exp.CurrentRole, exp.CurrentSchemas, exp.CurrentAccount}
)


def check_extraction(node: exp.Expr, notes: Notes) -> None:
    """`SUBSTRING((SELECT …), 1, 1)`: a value read letter by letter."""
    source = unwrap(node.this)
    if type(source) is exp.Subquery and _within_filter(node):
        notes.forbidden("blind_probe", "a queried value is taken apart inside a condition", node)


def _within_filter(node: exp.Expr) -> bool:
    return node.find_ancestor(*_FILTERS, exp.Order) is not None


def check_choice(node: exp.Expr, notes: Notes) -> None:
    """`CASE WHEN 1=1 THEN …` in a condition or an order: a probe that answers by what it picks."""
    case = node.parent
    is_simple_case = isinstance(case, exp.Case) and case.this is not None
    if not is_simple_case and is_constant(node.this) and _within_filter(node):
        notes.forbidden("blind_probe", "a choice inside a condition is made by a constant", node)


def check_cast(node: exp.Expr, notes: Notes) -> None:
    """Casts that can only be meant to fail with the value in the message."""
    target = node.this if type(node) is exp.Convert else node.args.get("to")
    source = unwrap(node.args.get("expression") if type(node) is exp.Convert else node.this)
    if not (isinstance(target, exp.DataType) and target.this in _NUMERIC) or source is None:
        return
    if is_server_fact(source) or _is_fact_subquery(source):
        notes.forbidden("error_probe", "a fact about the server is forced into a number", node)
    elif isinstance(source, exp.DPipe | exp.Concat | exp.Add) and source.find(exp.Select):
        notes.forbidden("error_probe", "a queried text is forced into a number", node)
    elif type(node) is exp.Convert and type(source) is exp.Subquery and not source.find(exp.AggFunc):
        notes.forbidden("error_probe", "a queried value is forced into a number", node)


_NUMERIC: Final = frozenset(exp.DataType.NUMERIC_TYPES)


def _is_fact_subquery(source: exp.Expr) -> bool:
    query = source.this if type(source) is exp.Subquery else None
    return type(query) is exp.Select and any(map(is_server_fact, query.expressions))


def check_floor(node: exp.Expr, notes: Notes) -> None:
    """`FLOOR(RAND(0)*2)` in a GROUP BY: the double-query error."""
    product = unwrap(node.this)
    if type(product) is exp.Mul and any(
        type(side) is exp.Rand and side.this for side in product.args.values()
    ):
        notes.forbidden("error_probe", "a seeded random number is rounded to provoke a duplicate key", node)


VISITS: Final[dict[type[exp.Expr], Callable[[exp.Expr, Notes], None]]] = {
    exp.Substring: check_extraction,
    exp.Ascii: check_extraction,
    exp.Length: check_extraction,
    exp.If: check_choice,
    exp.Cast: check_cast,
    exp.TryCast: check_cast,
    exp.Convert: check_cast,
    exp.Floor: check_floor,
}
