"""Names against a schema: every table, column and alias of a query finds what it means.

Where dialects differ (an alias used in the WHERE, a double-quoted string) the query gets the
benefit of the doubt unless its dialect is declared: a false alarm is worse here than a late one,
since the database itself refuses a name that does not exist.
"""

from collections.abc import Mapping
from itertools import islice
from typing import Any, Final

from sqlglot import exp

from qwed.engines.sql.nodes import children
from qwed.engines.sql.notes import Notes
from qwed.engines.sql.schema import Family, Schema, family_of
from qwed.engines.sql.scopes import (
    Columns,
    Scope,
    Source,
    alias_columns,
    levels,
    row_names,
    source_of,
    with_lambda,
)
from qwed.engines.sql.sensitive import is_sensitive
from qwed.engines.sql.type_checks import check_types
from qwed.engines.words import words

_ALIAS_IN_WHERE: Final = frozenset({"sqlite", "snowflake", "duckdb", "redshift", "teradata", "clickhouse"})
_STRUCTS: Final = words("bigquery snowflake databricks spark hive duckdb trino presto clickhouse redshift")
# A CTE may speak of itself without being called RECURSIVE.
_SILENT_RECURSION: Final = frozenset({"tsql", "oracle", "sqlite"})
_PSEUDO_COLUMNS: Final = words(
    """
    rowid oid _rowid_ ctid xmin xmax cmin cmax tableoid rownum level sysdate _partitiontime _partitiondate
    _table_suffix _file_name metadata$filename metadata$file_row_number user excluded current_date default
    """
)


class Resolver:
    """One walk over one statement; problems go to the notes."""

    def __init__(self, schema: Schema, notes: Notes, text: str) -> None:
        self.schema = schema
        self.notes = notes
        self.text = text
        self.declared = notes.context.dialect is not None
        self.alias_in_where = not self.declared or notes.dialect in _ALIAS_IN_WHERE
        self.loose_strings = not self.declared or notes.dialect == "sqlite"

    # Statements

    def statement(self, node: exp.Expr) -> None:
        if isinstance(node, exp.Query | exp.Values):
            self.query(node, None, {})
        elif isinstance(node, exp.Create | exp.Describe):
            inner = node.args.get("expression") if isinstance(node, exp.Create) else node.this
            if isinstance(inner, exp.Query):
                self.query(inner, None, {})

    # Queries

    def query(self, node: exp.Expr, parent: Scope | None, ctes: dict[str, Source]) -> Columns | None:
        """The columns that it gives, in order; None where they cannot be known."""
        ctes = self.ctes(node, parent, ctes)
        if isinstance(node, exp.Subquery):
            columns = self._subquery(node, parent, ctes)
        elif isinstance(node, exp.SetOperation):
            columns = self._set_operation(node, parent, ctes)
        elif isinstance(node, exp.Select):
            columns = self._select(node, parent, ctes)
        else:
            columns = None
            if isinstance(node, exp.Values):
                self.expressions(node.expressions, Scope(parent, ctes), visible=NOTHING)
        return columns

    def _subquery(self, node: exp.Expr, parent: Scope | None, ctes: dict[str, Source]) -> Columns | None:
        if isinstance(node.this, exp.Table):
            return None
        columns = self.query(node.this, parent, ctes)
        if node.args.get("order") is not None:
            self._trailing(node, columns, parent, ctes)
        return columns

    def _set_operation(self, node: exp.Expr, parent: Scope | None, ctes: dict[str, Source]) -> Columns | None:
        arms: list[exp.Expr] = []
        operation: Any = node
        while isinstance(operation, exp.SetOperation):
            # What an inner operation carries of its own (a WITH, an ORDER BY) is rare, and resolved with it.
            if operation is not node and operation.args.get("with_"):
                break
            arms.append(operation.args["expression"])
            operation = operation.this
        arms.append(operation)
        arms.reverse()
        results = [self.query(arm, parent, ctes) for arm in arms]
        first = results[0]
        for arm, columns in zip(arms[1:], results[1:], strict=True):
            if first is not None and columns is not None and len(columns) != len(first):
                message = f"this part has {len(columns)} columns, the first has {len(first)}"
                self.notes.incorrect("column_count", message, arm)
        # SQLite looks for the name in every arm, the others in the first alone.
        seen = results if self.notes.dialect == "sqlite" else results[:1]
        if all(columns is not None for columns in seen):
            self._trailing(node, [column for columns in seen for column in columns or ()], parent, ctes)
        return first

    def _trailing(
        self,
        node: exp.Expr,
        columns: Columns | None,
        parent: Scope | None,
        ctes: dict[str, Source],
    ) -> None:
        """The ORDER BY of a whole union speaks of its output."""
        order = node.args.get("order")
        if order is None or columns is None:
            return
        scope = Scope(parent, ctes)
        scope.outputs = dict(columns)
        if all(name for name, _ in columns) and self.declared:
            self.expression(order, scope, visible=scope.outputs)

    def ctes(self, node: exp.Expr, parent: Scope | None, ctes: dict[str, Source]) -> dict[str, Source]:
        with_ = node.args.get("with_")
        if with_ is None:
            return ctes
        known = dict(ctes)
        for cte in with_.expressions:
            name = cte.alias.lower()
            declared = [column.name.lower() for column in (cte.args["alias"].args.get("columns") or ())]
            if with_.args.get("recursive") or not self.declared or self.notes.dialect in _SILENT_RECURSION:
                self._prepare_recursion(cte, name, declared, known)
            columns = self.query(cte.this, parent, known)
            known[name] = source_of(columns, declared)
        return known

    def _prepare_recursion(
        self, cte: exp.Expr, name: str, declared: list[str], known: dict[str, Source]
    ) -> None:
        """Inside its own definition the name stands for the columns of the first arm."""
        if declared:
            known[name] = Source(dict.fromkeys(declared, Family.OTHER))
        elif isinstance(cte.this, exp.SetOperation):
            known[name] = Source({}, is_open=True)

    def _select(self, node: exp.Expr, parent: Scope | None, ctes: dict[str, Source]) -> Columns | None:
        scope = Scope(parent, ctes)
        clause = node.args.get("from_")
        joins = node.args.get("joins") or []
        if clause is not None:
            self.source(clause.this, scope)
        self._joins(joins, scope)
        for lateral in node.args.get("laterals") or ():
            self._lateral(lateral, scope)
        columns = self._outputs(node, scope)
        for key, sees_outputs in _CLAUSES.items():
            visible = scope.outputs if sees_outputs else scope.aliases if self.alias_in_where else NOTHING
            self.expressions(node.args.get(key), scope, visible=visible)
        self._check_positions(node, columns)
        return columns

    def _check_positions(self, node: exp.Expr, columns: Columns | None) -> None:
        """`ORDER BY 7` of a query with three columns."""
        order = node.args.get("order")
        if order is None or columns is None:
            return
        for item in order.expressions:
            position = item.this if isinstance(item, exp.Ordered) else item
            digits = (
                str(position.this) if isinstance(position, exp.Literal) and not position.is_string else ""
            )
            if digits.isdigit() and not 1 <= int(digits[:9]) <= len(columns):
                message = f"there are only {len(columns)} columns to order by"
                self.notes.incorrect("column_count", message, item)

    def _outputs(self, node: exp.Expr, scope: Scope) -> Columns | None:
        columns: Columns | None = []
        # An alias is known to what stands after it, where dialects allow that at all.
        visible = scope.aliases if not self.declared or self.notes.dialect in _STRUCTS else NOTHING
        for item in node.expressions:
            self.expression(item, scope, visible=visible)
            inner = item.this if isinstance(item, exp.Alias) else item
            if _is_star(inner):
                expanded = self._star(inner, scope)
                columns = None if columns is None or expanded is None else [*columns, *expanded]
                continue
            family = self._family(inner, scope)
            name = item.alias_or_name.lower() if isinstance(item, exp.Alias | exp.Column) else ""
            if name:
                scope.outputs.setdefault(name, family)
            if isinstance(item, exp.Alias):
                scope.aliases.setdefault(name, family)
            if columns is not None:
                columns.append((name, family))
        return columns

    def _star(self, star: exp.Expr, scope: Scope) -> Columns | None:
        table = star.args.get("table")
        if table is not None:
            source = self._find_source(table.name.lower(), scope)
            sources = [source] if source else []
        else:
            sources = list(scope.sources.values())
        changed = star.this if isinstance(star, exp.Column) else star
        self._check_star(star, sources)
        if any(source.is_open for source in sources) or not sources or any(changed.args.values()):
            return None
        seen: dict[str, Family] = {}
        columns: Columns = []
        for source in sources:
            for name, family in source.columns.items():
                if name in scope.merged and name in seen:
                    continue
                seen[name] = family
                columns.append((name, family))
        return columns

    def _check_star(self, star: exp.Expr, sources: list[Source]) -> None:
        rules = self.notes.rules
        if not rules.no_sensitive_columns and not rules.forbidden_columns:
            return
        forbidden = set(map(str.lower, rules.forbidden_columns))
        for name in (name for source in sources for name in source.columns):
            if name in forbidden or (rules.no_sensitive_columns and is_sensitive(name)):
                self.notes.forbidden_column(name, star)

    # Sources

    def _joins(self, joins: list[exp.Expr], scope: Scope) -> None:
        for join in joins:
            merges = join.args.get("using") or str(join.args.get("method") or "").upper() == "NATURAL"
            before = dict(scope.sources) if merges else scope.sources
            self.source(join.this, scope)
            if merges:
                self._merge_columns(join, before, scope)
            on = join.args.get("on")
            if on is not None:
                self.expression(on, scope, visible=NOTHING)

    def _merge_columns(self, join: exp.Expr, before: dict[str, Source], scope: Scope) -> None:
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

    def source(self, node: Any, scope: Scope) -> None:
        if isinstance(node, exp.Table):
            self._table_source(node, scope)
        elif isinstance(node, exp.Subquery):
            self._subquery_source(node, scope)
        elif isinstance(node, exp.Lateral):
            self._lateral(node, scope)
        elif isinstance(node, exp.Values):
            names = [column.name.lower() for column in alias_columns(node)]
            scope.sources[node.alias.lower()] = Source(dict.fromkeys(names, Family.OTHER), is_open=not names)
        elif isinstance(node, exp.Paren):
            self.source(node.this, scope)
        elif isinstance(node, exp.Expr):
            self.expression(node, scope, visible=NOTHING)
            scope.sources[node.alias_or_name.lower()] = Source({}, is_open=True)

    def _table_source(self, node: exp.Expr, scope: Scope) -> None:
        renamed = [column.name.lower() for column in alias_columns(node)]
        source = self.table(node, scope.ctes, scope)
        if renamed:
            families = [*source.columns.values()]
            families += [Family.OTHER] * (len(renamed) - len(families))
            kept = list(source.columns.items())[len(renamed) :]
            source = Source(dict([*zip(renamed, families, strict=False), *kept]), is_open=source.is_open)
        alias = node.alias_or_name.lower()
        if node.args.get("pivots"):
            source = Source(source.columns, is_open=True)
            alias = node.args["pivots"][-1].alias.lower() or alias
        scope.sources[alias] = source
        self._joins(node.args.get("joins") or [], scope)
        for lateral in node.args.get("laterals") or ():
            self._lateral(lateral, scope)

    def _subquery_source(self, node: exp.Expr, scope: Scope) -> None:
        if isinstance(node.this, exp.Table):
            self._table_source(node.this, scope)
            if node.alias:
                scope.sources[node.alias.lower()] = Source({}, is_open=True)
        else:
            columns = self.query(node, scope.parent, scope.ctes)
            renamed = [column.name.lower() for column in alias_columns(node)]
            source = source_of(columns, renamed)
            if node.args.get("pivots"):
                source = Source({}, is_open=True)
            scope.sources[node.alias.lower() or f"({len(scope.sources)})"] = source
        self._joins(node.args.get("joins") or [], scope)

    def _lateral(self, node: exp.Expr, scope: Scope) -> None:
        inner = node.this
        source = Source({}, is_open=True)
        if isinstance(inner, exp.Subquery | exp.Query):
            source = source_of(self.query(inner, scope, scope.ctes), [])
        elif isinstance(inner, exp.Expr):
            self.expression(inner, scope, visible=NOTHING)
        scope.sources[node.alias_or_name.lower() or f"({len(scope.sources)})"] = source

    def table(self, node: exp.Expr, ctes: dict[str, Source], scope: Scope | None = None) -> Source:
        identifier = node.this
        if not isinstance(identifier, exp.Identifier):
            if isinstance(identifier, exp.Expr) and scope is not None:
                self.expression(identifier, scope, visible=NOTHING)
            return Source({}, is_open=True)
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
            return Source({}, is_open=True)
        return Source(dict(table.columns), is_open=table.is_open)

    # Expressions

    def known(self, name: str, source: Source, node: exp.Expr) -> None:
        if name and not source.is_open and name.lower() not in source.columns:
            self.notes.incorrect("unknown_column", f"there is no column {name[:80]!r}", node)

    def expressions(self, value: Any, scope: Scope, *, visible: Mapping[str, Family]) -> None:
        for item in value if isinstance(value, list) else (value,):
            if isinstance(item, exp.Expr):
                self.expression(item, scope, visible=visible)

    def expression(self, root: exp.Expr, scope: Scope, *, visible: Mapping[str, Family]) -> None:
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
                self._compared(node, scope)
            stack.extend(reversed(children(node)))

    def _compared(self, node: exp.Expr, scope: Scope) -> None:
        others = _COMPARISONS[type(node)](node)
        left = self._family(node.this, scope)
        for other in others:
            right = self._family(other, scope) if isinstance(other, exp.Column) else None
            check_types(left, other, right, node, self.notes)

    def _family(self, node: Any, scope: Scope) -> Family:
        while isinstance(node, exp.Paren):
            node = node.this
        if isinstance(node, exp.Column):
            return self._column_family(node, scope)
        if isinstance(node, exp.Cast):
            target = node.args.get("to")
            return family_of(str(target.this.value)) if isinstance(target, exp.DataType) else Family.OTHER
        if isinstance(node, exp.Count | exp.Sum | exp.Avg | exp.Length):
            return Family.NUMBER
        return Family.OTHER

    def _column_family(self, node: exp.Expr, scope: Scope) -> Family:
        name = node.name.lower()
        table = node.args.get("table")
        level: Scope | None = scope
        while level is not None:
            for alias, source in level.sources.items():
                if (table is None or alias == table.name.lower()) and name in source.columns:
                    return source.columns[name]
            level = level.parent
        return Family.OTHER

    def _find_source(self, alias: str, scope: Scope) -> Source | None:
        level: Scope | None = scope
        while level is not None:
            if alias in level.sources:
                return level.sources[alias]
            level = level.parent
        return None

    def _column(self, node: exp.Expr, scope: Scope, *, visible: Mapping[str, Family]) -> None:
        table = node.args.get("table")
        if isinstance(node.this, exp.Star):
            if table is not None and self._find_source(table.name.lower(), scope) is None:
                self._unknown_alias(node, table.name, scope)
            return
        name = node.name.lower()
        if table is not None:
            self._qualified(node, name, table.name.lower(), scope)
        else:
            self._unqualified(node, name, scope, visible=visible)

    def _qualified(self, node: exp.Expr, name: str, alias: str, scope: Scope) -> None:
        source = self._find_source(alias, scope)
        if source is None:
            self._unknown_alias(node, alias, scope)
        elif not source.is_open and name not in source.columns and name not in _PSEUDO_COLUMNS:
            self.notes.incorrect("unknown_column", f"{alias[:60]!r} has no column {name[:80]!r}", node)

    def _unknown_alias(self, node: exp.Expr, alias: str, scope: Scope) -> None:
        qualifiers = [node.args[key].name.lower() for key in ("table", "db", "catalog") if node.args.get(key)]
        if (not self.declared or self.notes.dialect in _STRUCTS) and self._is_column(qualifiers[-1], scope):
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

    def _is_column(self, name: str, scope: Scope) -> bool:
        return any(
            source.is_open or name in source.columns
            for level in levels(scope)
            for source in level.sources.values()
        )

    def _unqualified(self, node: exp.Expr, name: str, scope: Scope, *, visible: Mapping[str, Family]) -> None:
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


NOTHING: Final[Mapping[str, Family]] = {}
# Clauses of a SELECT, and whether they see its output.
_CLAUSES: Final = {
    "where": False,
    "group": True,
    "having": True,
    "qualify": True,
    "order": True,
    "windows": True,
    "distinct": True,
    "limit": False,
    "offset": False,
    "connect": True,
    "cluster": True,
    "sort": True,
    "distribute": True,
    "prewhere": True,
}
_BUILT_IN_TABLES: Final = words("dual sqlite_sequence generate_series inserted deleted excluded")
_COMPARISONS: Final[dict[type[exp.Expr], Any]] = {
    **dict.fromkeys((exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE), lambda node: [node.expression]),
    exp.Between: lambda node: [node.args["low"], node.args["high"]],
    exp.In: lambda node: node.expressions,
}


def _is_star(node: exp.Expr) -> bool:
    return isinstance(node, exp.Star) or (isinstance(node, exp.Column) and isinstance(node.this, exp.Star))
