"""The names in statements that change rows: INSERT, UPDATE, DELETE and MERGE."""

from collections.abc import Callable
from typing import Any, Final

from sqlglot import exp

from qwed.engines.sql.column_names import NOTHING
from qwed.engines.sql.names import Resolver
from qwed.engines.sql.schema import TypeFamily
from qwed.engines.sql.scopes import SqlScope, SqlSource
from qwed.engines.sql.type_checks import check_types

# What RETURNING and OUTPUT call the rows before and after.
_CHANGED_ROWS: Final = ("inserted", "deleted", "old", "new")


def resolve(node: exp.Expr, resolver: Resolver) -> None:
    """Every name of a statement; what is neither a query nor a change has none that a schema knows."""
    change = _CHANGES.get(type(node))
    if change:
        change(node, resolver)
    else:
        resolver.statement(node)


def _insert(node: exp.Expr, resolver: Resolver) -> None:
    target = node.this
    table = target.this if isinstance(target, exp.Schema) else target
    if not isinstance(table, exp.Table):
        return
    ctes = resolver.ctes(node, None, {})
    source = resolver.table(table, ctes)
    names = target.expressions if isinstance(target, exp.Schema) else []
    for name in names:
        resolver.known(name.name, source, name)
    families = [source.columns.get(name.name.lower(), TypeFamily.OTHER) for name in names]
    if not names and not source.is_open:
        families = list(source.columns.values())
    _check_inserted(node.args.get("expression"), families, ctes, resolver)
    for part in (node.args.get("conflict"), node.args.get("returning")):
        if part is not None:
            _check_upserted(part, table.alias_or_name.lower(), source, ctes, resolver)


def _check_inserted(
    values: Any, families: list[TypeFamily], ctes: dict[str, SqlSource], resolver: Resolver
) -> None:
    if isinstance(values, exp.Values):
        for row in values.expressions:
            items = row.expressions if isinstance(row, exp.Tuple) else [row]
            _check_width(len(items), len(families), row, resolver)
            for item, family in zip(items, families, strict=False):
                check_types(family, item, None, row, resolver.notes)
            resolver.expression(row, SqlScope(None, ctes), visible=NOTHING)
    elif isinstance(values, exp.Query):
        columns = resolver.query(values, None, ctes)
        if columns is not None:
            _check_width(len(columns), len(families), values, resolver)


def _check_width(given: int, width: int, node: exp.Expr, resolver: Resolver) -> None:
    if width and given != width:
        resolver.notes.incorrect("column_count", f"{given} values for {width} columns", node)


def _check_upserted(
    part: exp.Expr, table: str, source: SqlSource, ctes: dict[str, SqlSource], resolver: Resolver
) -> None:
    outer = SqlScope(None, ctes)
    outer.sources[table] = source
    inner = SqlScope(outer, ctes)
    inner.sources = dict.fromkeys(("excluded", *_CHANGED_ROWS), source)
    inner.merged = set(source.columns)
    inner.outputs = dict(source.columns)
    resolver.expression(part, inner, visible=inner.outputs)


def _update_or_delete(node: exp.Expr, resolver: Resolver) -> None:
    """With whatever FROM, USING and JOIN the dialect has."""
    scope = SqlScope(None, resolver.ctes(node, None, {}))
    others = node.args.get("using")
    clause = node.args.get("from_")
    for other in others if isinstance(others, list) else []:
        resolver.source(other, scope)
    if clause is not None:
        resolver.source(clause.this, scope)
    # Where the FROM names the target, the target may be given by its alias alone.
    if isinstance(node.this, exp.Table) and node.this.name.lower() not in scope.sources:
        resolver.source(node.this, scope)
    for key, value in node.args.items():
        if key == "returning":
            _check_returned(value, scope, resolver)
        elif key not in ("this", "from_", "using", "with_", "tables"):
            resolver.expressions(value, scope, visible=NOTHING)


def _check_returned(returning: Any, scope: SqlScope, resolver: Resolver) -> None:
    rows = SqlScope(scope, scope.ctes)
    rows.sources = {name: SqlSource({}, is_open=True) for name in _CHANGED_ROWS}
    for item in returning.expressions if isinstance(returning, exp.Expr) else ():
        is_qualified = isinstance(item, exp.Column) and item.args.get("table") is not None
        resolver.expression(item, rows if is_qualified else scope, visible=NOTHING)


def _merge(node: exp.Expr, resolver: Resolver) -> None:
    scope = SqlScope(None, resolver.ctes(node, None, {}))
    resolver.source(node.this, scope)
    target = scope.sources.get(node.this.alias_or_name.lower(), SqlSource({}, is_open=True))
    resolver.source(node.args["using"], scope)
    resolver.expression(node.args["on"], scope, visible=NOTHING)
    whens = node.args.get("whens")
    for when in whens.expressions if whens is not None else ():
        resolver.expressions(when.args.get("condition"), scope, visible=NOTHING)
        _when(when.args.get("then"), target, scope, resolver)


def _when(then: Any, target: SqlSource, scope: SqlScope, resolver: Resolver) -> None:
    if isinstance(then, exp.Update):
        # The left side of an assignment names a column of the target alone.
        inner = SqlScope(scope, scope.ctes)
        inner.outputs = dict(target.columns)
        resolver.expressions(then.expressions, inner, visible=inner.outputs)
    elif isinstance(then, exp.Insert):
        for name in then.this.expressions if isinstance(then.this, exp.Tuple) else ():
            resolver.known(name.name, target, name)
        resolver.expressions(then.args.get("expression"), scope, visible=NOTHING)


_CHANGES: Final[dict[type[exp.Expr], Callable[[exp.Expr, Resolver], None]]] = {
    exp.Insert: _insert,
    exp.Update: _update_or_delete,
    exp.Delete: _update_or_delete,
    exp.Merge: _merge,
}
