"""What the tables of a query give to its columns."""

from typing import Any, Final

from sqlglot import exp

from qwed.engines.sql.column_names import NOTHING, ColumnNames
from qwed.engines.sql.schema import TypeFamily
from qwed.engines.sql.scopes import SqlScope, SqlSource, alias_columns, source_of
from qwed.engines.words import words

_BUILT_IN_TABLES: Final = words("dual sqlite_sequence generate_series inserted deleted excluded")


class SourceNames(ColumnNames):
    """Tables, joins and what else stands in a FROM."""

    def _joins(self, joins: list[exp.Expr], scope: SqlScope) -> None:
        for join in joins:
            merges = join.args.get("using") or str(join.args.get("method") or "").upper() == "NATURAL"
            before = dict(scope.sources) if merges else scope.sources
            self.source(join.this, scope)
            if merges:
                self._merge_columns(join, before, scope)
            on = join.args.get("on")
            if on is not None:
                self.expression(on, scope, visible=NOTHING)

    def _merge_columns(self, join: exp.Expr, before: dict[str, SqlSource], scope: SqlScope) -> None:
        new = [source for alias, source in scope.sources.items() if before.get(alias) is not source]
        names = [item.name.lower() for item in join.args.get("using") or ()]
        for name in names:
            for side in (list(before.values()), new):
                if not any(source.is_open or name in source.columns for source in side):
                    self.notes.incorrect("unknown_column", f"USING needs {name[:80]!r} on both sides", join)
        if str(join.args.get("method") or "").upper() == "NATURAL":
            left = {name for source in before.values() for name in source.columns}
            names = [name for source in new for name in source.columns if name in left]
        scope.merged.update(names)

    def source(self, node: Any, scope: SqlScope) -> None:
        if isinstance(node, exp.Table):
            self._table_source(node, scope)
        elif isinstance(node, exp.Subquery):
            self._subquery_source(node, scope)
        elif isinstance(node, exp.Lateral):
            self._lateral(node, scope)
        elif isinstance(node, exp.Values):
            names = [column.name.lower() for column in alias_columns(node)]
            scope.sources[node.alias.lower()] = SqlSource(
                dict.fromkeys(names, TypeFamily.OTHER), is_open=not names
            )
        elif isinstance(node, exp.Paren):
            self.source(node.this, scope)
        elif isinstance(node, exp.Expr):
            self.expression(node, scope, visible=NOTHING)
            scope.sources[node.alias_or_name.lower()] = SqlSource({}, is_open=True)

    def _table_source(self, node: exp.Expr, scope: SqlScope) -> None:
        renamed = [column.name.lower() for column in alias_columns(node)]
        source = self.table(node, scope.ctes, scope)
        if renamed:
            families = [*source.columns.values()]
            families += [TypeFamily.OTHER] * (len(renamed) - len(families))
            kept = list(source.columns.items())[len(renamed) :]
            source = SqlSource(dict([*zip(renamed, families, strict=False), *kept]), is_open=source.is_open)
        alias = node.alias_or_name.lower()
        if node.args.get("pivots"):
            source = SqlSource(source.columns, is_open=True)
            alias = node.args["pivots"][-1].alias.lower() or alias
        scope.sources[alias] = source
        self._joins(node.args.get("joins") or [], scope)
        for lateral in node.args.get("laterals") or ():
            self._lateral(lateral, scope)

    def _subquery_source(self, node: exp.Expr, scope: SqlScope) -> None:
        if isinstance(node.this, exp.Table):
            self._table_source(node.this, scope)
            if node.alias:
                scope.sources[node.alias.lower()] = SqlSource({}, is_open=True)
        else:
            columns = self.query(node, scope.parent, scope.ctes)
            renamed = [column.name.lower() for column in alias_columns(node)]
            source = source_of(columns, renamed)
            if node.args.get("pivots"):
                source = SqlSource({}, is_open=True)
            scope.sources[node.alias.lower() or f"({len(scope.sources)})"] = source
        self._joins(node.args.get("joins") or [], scope)

    def _lateral(self, node: exp.Expr, scope: SqlScope) -> None:
        inner = node.this
        source = SqlSource({}, is_open=True)
        if isinstance(inner, exp.Subquery | exp.Query):
            source = source_of(self.query(inner, scope, scope.ctes), [])
        elif isinstance(inner, exp.Expr):
            self.expression(inner, scope, visible=NOTHING)
        scope.sources[node.alias_or_name.lower() or f"({len(scope.sources)})"] = source

    def table(self, node: exp.Expr, ctes: dict[str, SqlSource], scope: SqlScope | None = None) -> SqlSource:
        identifier = node.this
        if not isinstance(identifier, exp.Identifier):
            if isinstance(identifier, exp.Expr) and scope is not None:
                self.expression(identifier, scope, visible=NOTHING)
            return SqlSource({}, is_open=True)
        name = identifier.name.lower()
        db = node.args.get("db")
        if not isinstance(db, exp.Expr) and name in ctes:
            return ctes[name]
        qualified = f"{db.name.lower()}.{name}" if isinstance(db, exp.Expr) else name
        table = self.schema.find(name, qualified)
        if table is None:
            if name not in _BUILT_IN_TABLES:
                self.notes.incorrect(
                    "unknown_table", f"there is no table {qualified[:80]!r} in the schema", node
                )
            return SqlSource({}, is_open=True)
        return SqlSource(dict(table.columns), is_open=table.is_open)
