"""What the columns of an expression mean, by the tables around it."""

from collections.abc import Mapping
from itertools import islice
from typing import Any, Final

from sqlglot import exp

from qwed.engines.sql.nodes import children
from qwed.engines.sql.notes import Notes
from qwed.engines.sql.schema import Schema, TypeFamily, family_of
from qwed.engines.sql.scopes import Columns, SqlScope, SqlSource, levels, row_names, with_lambda
from qwed.engines.sql.type_checks import check_types
from qwed.engines.words import words

_ALIAS_IN_WHERE: Final = frozenset({"sqlite", "snowflake", "duckdb", "redshift", "teradata", "clickhouse"})
STRUCTS: Final = words("bigquery snowflake databricks spark hive duckdb trino presto clickhouse redshift")
_PSEUDO_COLUMNS: Final = words(
    """
    rowid oid _rowid_ ctid xmin xmax cmin cmax tableoid rownum level sysdate _partitiontime _partitiondate
    _table_suffix _file_name metadata$filename metadata$file_row_number user excluded current_date default
    """
)
NOTHING: Final[Mapping[str, TypeFamily]] = {}
_COMPARISONS: Final[dict[type[exp.Expr], Any]] = {
    **dict.fromkeys((exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE), lambda node: [node.expression]),
    exp.Between: lambda node: [node.args["low"], node.args["high"]],
    exp.In: lambda node: node.expressions,
}


class ColumnNames:
    """Columns and aliases in expressions."""

    def __init__(self, schema: Schema, notes: Notes, text: str) -> None:
        self.schema = schema
        self.notes = notes
        self.text = text
        self.declared = notes.context.dialect is not None
        self.alias_in_where = not self.declared or notes.dialect in _ALIAS_IN_WHERE
        self.loose_strings = not self.declared or notes.dialect == "sqlite"

    def query(self, node: exp.Expr, parent: SqlScope | None, ctes: dict[str, SqlSource]) -> Columns | None:
        raise NotImplementedError

    def known(self, name: str, source: SqlSource, node: exp.Expr) -> None:
        if name and not source.is_open and name.lower() not in source.columns:
            self.notes.incorrect("unknown_column", f"there is no column {name[:80]!r}", node)

    def expressions(self, value: Any, scope: SqlScope, *, visible: Mapping[str, TypeFamily]) -> None:
        for item in value if isinstance(value, list) else (value,):
            if isinstance(item, exp.Expr):
                self.expression(item, scope, visible=visible)

    def expression(self, root: exp.Expr, scope: SqlScope, *, visible: Mapping[str, TypeFamily]) -> None:
        stack = [root]
        while stack:
            node = stack.pop()
            kind = type(node)
            if kind is exp.Column:
                self._column(node, scope, visible=visible)
                continue
            if isinstance(node, exp.Query) or kind is exp.Values:
                self.query(node, scope, scope.ctes)
                continue
            if kind is exp.Lambda:
                scope = with_lambda(node, scope)
            elif kind in _COMPARISONS:
                self._check_comparison(node, scope)
            stack.extend(reversed(children(node)))

    def _check_comparison(self, node: exp.Expr, scope: SqlScope) -> None:
        others = _COMPARISONS[type(node)](node)
        left = self._family(node.this, scope)
        for other in others:
            right = self._family(other, scope) if isinstance(other, exp.Column) else None
            check_types(left, other, right, node, self.notes)

    def _family(self, node: Any, scope: SqlScope) -> TypeFamily:
        while isinstance(node, exp.Paren):
            node = node.this
        if isinstance(node, exp.Column):
            return self._column_family(node, scope)
        if isinstance(node, exp.Cast):
            target = node.args.get("to")
            return family_of(str(target.this.value)) if isinstance(target, exp.DataType) else TypeFamily.OTHER
        if isinstance(node, exp.Count | exp.Sum | exp.Avg | exp.Length):
            return TypeFamily.NUMBER
        return TypeFamily.OTHER

    def _column_family(self, node: exp.Expr, scope: SqlScope) -> TypeFamily:
        name = node.name.lower()
        table = node.args.get("table")
        level: SqlScope | None = scope
        while level is not None:
            for alias, source in level.sources.items():
                if (table is None or alias == table.name.lower()) and name in source.columns:
                    return source.columns[name]
            level = level.parent
        return TypeFamily.OTHER

    def _find_source(self, alias: str, scope: SqlScope) -> SqlSource | None:
        level: SqlScope | None = scope
        while level is not None:
            if alias in level.sources:
                return level.sources[alias]
            level = level.parent
        return None

    def _column(self, node: exp.Expr, scope: SqlScope, *, visible: Mapping[str, TypeFamily]) -> None:
        table = node.args.get("table")
        if isinstance(node.this, exp.Star):
            if table is not None and self._find_source(table.name.lower(), scope) is None:
                self._unknown_alias(node, table.name, scope)
            return
        name = node.name.lower()
        if table is not None:
            self._check_qualified(node, name, table.name.lower(), scope)
        else:
            self._check_unqualified(node, name, scope, visible=visible)

    def _check_qualified(self, node: exp.Expr, name: str, alias: str, scope: SqlScope) -> None:
        source = self._find_source(alias, scope)
        if source is None:
            self._unknown_alias(node, alias, scope)
        elif not source.is_open and name not in source.columns and name not in _PSEUDO_COLUMNS:
            self.notes.incorrect("unknown_column", f"{alias[:60]!r} has no column {name[:80]!r}", node)

    def _unknown_alias(self, node: exp.Expr, alias: str, scope: SqlScope) -> None:
        qualifiers = [node.args[key].name.lower() for key in ("table", "db", "catalog") if node.args.get(key)]
        if (not self.declared or self.notes.dialect in STRUCTS) and self._is_column(qualifiers[-1], scope):
            return
        if (
            any(source.is_open for level in levels(scope) for source in level.sources.values())
            and not self.declared
        ):
            return
        db = node.args.get("db")
        if db is not None and self._find_source(db.name.lower(), scope) is not None:
            return
        self.notes.incorrect("unknown_table", f"nothing in the query is called {alias[:60]!r}", node)

    def _is_column(self, name: str, scope: SqlScope) -> bool:
        return any(
            source.is_open or name in source.columns
            for level in levels(scope)
            for source in level.sources.values()
        )

    def _check_unqualified(
        self, node: exp.Expr, name: str, scope: SqlScope, *, visible: Mapping[str, TypeFamily]
    ) -> None:
        for level in levels(scope):
            # Whether there is a second is all that matters: the rest of a thousand tables is not looked at.
            holders = list(islice((s for s in level.sources.values() if name in s.columns), 2))
            if len(holders) > 1 and name not in level.merged:
                if name not in visible or level is not scope:
                    self.notes.incorrect("ambiguous_column", f"{name[:80]!r} is in more than one table", node)
                return
            if holders or any(source.is_open for source in level.sources.values()):
                return
            if name in (visible if level is scope else level.aliases):
                return
        if name in _PSEUDO_COLUMNS or name in row_names(scope) or self._is_loose_string(node):
            return
        self.notes.incorrect("unknown_column", f"there is no column {name[:80]!r}", node)

    def _is_loose_string(self, node: exp.Expr) -> bool:
        """A double-quoted name that names nothing is a string to SQLite (and to MySQL)."""
        start = node.this.meta.get("start") if isinstance(node.this, exp.Identifier) else None
        return self.loose_strings and isinstance(start, int) and self.text[start : start + 1] == '"'
