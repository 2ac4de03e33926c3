"""Looking at syntax trees: without recursion, because a chain of ORs is as deep as it is long."""

import itertools
from collections.abc import Iterator
from typing import Any, Final

from sqlglot import exp

MAX_NODE_TEXT: Final = 200
_MAX_PRINTED_NODES: Final = 400


def descendants(root: exp.Expr) -> Iterator[exp.Expr]:
    """The root and every node below it, in the order of the text."""
    stack: list[exp.Expr] = [root]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(reversed(children(node)))


def children(node: exp.Expr) -> list[exp.Expr]:
    found: list[exp.Expr] = []
    for value in node.args.values():
        if isinstance(value, exp.Expr):
            found.append(value)
        elif type(value) is list:
            found.extend(item for item in value if isinstance(item, exp.Expr))
    return found


def unwrap(node: Any) -> Any:
    """Without the parentheses around it."""
    while type(node) is exp.Paren:
        node = node.this
    return node


def operands(node: exp.Expr) -> list[exp.Expr]:
    """The terms of a chain of one operator (`a AND b AND c`), left to right."""
    kind = type(node)
    terms: list[exp.Expr] = []
    while type(node) is kind:
        terms.append(node.args["expression"])
        node = node.this
    terms.append(node)
    terms.reverse()
    return terms


def text_of(node: exp.Expr, dialect: str) -> str:
    """The SQL of a node, for evidence; shortened where it is long."""
    if sum(1 for _ in itertools.islice(descendants(node), _MAX_PRINTED_NODES)) == _MAX_PRINTED_NODES:
        return f"{type(node).__name__.upper()} …"
    try:
        text = node.sql(dialect=dialect, comments=False)
    except Exception:  # noqa: BLE001 - evidence is a courtesy: printing it must not change the answer
        text = type(node).__name__.upper()
    return text if len(text) <= MAX_NODE_TEXT else text[: MAX_NODE_TEXT - 1] + "…"


def parent_beyond_parens(node: exp.Expr) -> exp.Expr | None:
    parent = node.parent
    while type(parent) is exp.Paren:
        parent = parent.parent
    return parent


def strip_alias(item: exp.Expr) -> exp.Expr:
    return item.this if type(item) is exp.Alias else item


def is_number(node: Any) -> bool:
    return type(node) is exp.Literal and not node.is_string
