"""Arms of a union that are no query of their own."""

import re
from collections.abc import Callable
from typing import Any, Final

from sqlglot import exp

from qwed.engines.sql.constants import is_constant
from qwed.engines.sql.nodes import descendants, is_number, operands, strip_alias
from qwed.engines.sql.notes import Notes
from qwed.engines.sql.probes import is_server_fact
from qwed.engines.sql.sensitive import is_credential


def check_union(node: exp.Expr, notes: Notes) -> None:
    """An arm that is no query of its own: padding, facts about the server, credentials."""
    if type(node.parent) is exp.Union and node.parent.this is node:
        return
    arms = [arm for arm in map(_select_of, operands(node)) if arm is not None]
    if len(arms) < 2:
        return
    first = arms[0]
    if first.args.get("from_") is None:
        return
    for arm in arms[1:]:
        reason = _find_smuggled(first, arm)
        if reason:
            notes.forbidden("union_smuggling", reason, arm)


def _select_of(arm: Any) -> exp.Expr | None:
    while type(arm) in (exp.Paren, exp.Subquery):
        arm = arm.this
    return arm if type(arm) is exp.Select else None


def _find_smuggled(first: exp.Expr, arm: exp.Expr) -> str | None:
    shown = [strip_alias(item) for item in arm.expressions]
    has_source = arm.args.get("from_") is not None
    if not has_source and (_is_padding(shown) or any(item.find(exp.Column) for item in shown)):
        return "the arm is padding: values that belong to no table"
    if any(is_server_fact(node) for item in shown for node in descendants(item)):
        return "the arm tells facts about the server"
    expected = first.expressions
    if has_source and _takes_everything(expected, shown, arm):
        return "the arm takes every column of another table"
    if has_source and is_numbered(arm.expressions, expected):
        return "the arm is filled up with numbers to fit the number of columns"
    wanted = {column.name.lower() for item in expected for column in item.find_all(exp.Column)}
    for item in shown:
        for column in item.find_all(exp.Column):
            if is_credential(column.name) and column.name.lower() not in wanted:
                return f"the arm adds the credential column {column.name[:60]!r}"
    return None


_GUARDED_TABLE: Final = re.compile(
    r"(?:^|_)(?:admins?|administrators?|credentials?|passwords?|passwd|secrets?|api_?keys?|tokens?"
    r"|sessions?|auth_users?)$",
    re.IGNORECASE,
)


def _takes_everything(expected: list[exp.Expr], shown: list[exp.Expr], arm: exp.Expr) -> bool:
    """`*` beside columns that somebody chose, or `*` of a table that others must not see."""
    if not any(type(item) is exp.Star for item in shown):
        return False
    chosen = not any(item.find(exp.Star) for item in expected)
    source = arm.args["from_"].this
    return chosen or (type(source) is exp.Table and _GUARDED_TABLE.search(source.name) is not None)


def _is_padding(shown: list[exp.Expr]) -> bool:
    """Only NULLs and numbers, or NULLs among constants; `0, 'All'` is an honest extra row."""
    kinds = [type(item) for item in shown]
    if not all(map(is_constant, shown)):
        return False
    numbers = all(kind is exp.Null or is_number(item) for kind, item in zip(kinds, shown, strict=True))
    return numbers or exp.Null in kinds


def is_numbered(shown: list[exp.Expr], expected: list[exp.Expr]) -> bool:
    """`SELECT 1, username, 3`: literals equal to their own position, where the first arm has columns."""
    numbered = 0
    for position, item in enumerate(shown, 1):
        if is_number(item) and str(item.this) == str(position):
            beside = expected[position - 1] if position <= len(expected) else None
            if beside is not None and is_number(strip_alias(beside)):
                return False
            numbered += 1
    return numbered >= 2 or (numbered == 1 and len(shown) <= 2)


VISITS: Final[dict[type[exp.Expr], Callable[[exp.Expr, Notes], None]]] = {
    exp.Union: check_union,
}
