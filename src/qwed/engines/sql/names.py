"""Names against a schema: every table, column and alias of a query finds what it means.

Where dialects differ (an alias used in the WHERE, a double-quoted string) the query gets the
benefit of the doubt unless its dialect is declared: a false alarm is worse here than a late one,
since the database itself refuses a name that does not exist.
"""

from typing import Any, Final

from sqlglot import exp

from qwed.engines.sql.column_names import NOTHING, STRUCTS
from qwed.engines.sql.schema import TypeFamily
from qwed.engines.sql.scopes import Columns, SqlScope, SqlSource, source_of
from qwed.engines.sql.sensitive import is_sensitive
from qwed.engines.sql.source_names import SourceNames

# A CTE may speak of itself without being called RECURSIVE.
_SILENT_RECURSION: Final = frozenset({"tsql", "oracle", "sqlite"})


class Resolver(SourceNames):
    """One walk over one statement; problems go to the notes."""

    def statement(self, node: exp.Expr) -> None:
        if isinstance(node, exp.Query | exp.Values):
            self.query(node, None, {})
        elif isinstance(node, exp.Create | exp.Describe):
            inner = node.args.get("expression") if isinstance(node, exp.Create) else node.this
            if isinstance(inner, exp.Query):
                self.query(inner, None, {})

    def query(self, node: exp.Expr, parent: SqlScope | None, ctes: dict[str, SqlSource]) -> Columns | None:
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
                self.expressions(node.expressions, SqlScope(parent, ctes), visible=NOTHING)
        return columns

    def _subquery(
        self, node: exp.Expr, parent: SqlScope | None, ctes: dict[str, SqlSource]
    ) -> Columns | None:
        if isinstance(node.this, exp.Table):
            return None
        columns = self.query(node.this, parent, ctes)
        if node.args.get("order") is not None:
            self._trailing(node, columns, parent, ctes)
        return columns

    def _set_operation(
        self, node: exp.Expr, parent: SqlScope | None, ctes: dict[str, SqlSource]
    ) -> Columns | None:
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
        parent: SqlScope | None,
        ctes: dict[str, SqlSource],
    ) -> None:
        """The ORDER BY of a whole union speaks of its output."""
        order = node.args.get("order")
        if order is None or columns is None:
            return
        scope = SqlScope(parent, ctes)
        scope.outputs = dict(columns)
        if all(name for name, _ in columns) and self.declared:
            self.expression(order, scope, visible=scope.outputs)

    def ctes(
        self, node: exp.Expr, parent: SqlScope | None, ctes: dict[str, SqlSource]
    ) -> dict[str, SqlSource]:
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
        self, cte: exp.Expr, name: str, declared: list[str], known: dict[str, SqlSource]
    ) -> None:
        """Inside its own definition the name stands for the columns of the first arm."""
        if declared:
            known[name] = SqlSource(dict.fromkeys(declared, TypeFamily.OTHER))
        elif isinstance(cte.this, exp.SetOperation):
            known[name] = SqlSource({}, is_open=True)

    def _select(self, node: exp.Expr, parent: SqlScope | None, ctes: dict[str, SqlSource]) -> Columns | None:
        scope = SqlScope(parent, ctes)
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

    def _outputs(self, node: exp.Expr, scope: SqlScope) -> Columns | None:
        columns: Columns | None = []
        # An alias is known to what stands after it, where dialects allow that at all.
        visible = scope.aliases if not self.declared or self.notes.dialect in STRUCTS else NOTHING
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

    def _star(self, star: exp.Expr, scope: SqlScope) -> Columns | None:
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
        seen: dict[str, TypeFamily] = {}
        columns: Columns = []
        for source in sources:
            for name, family in source.columns.items():
                if name in scope.merged and name in seen:
                    continue
                seen[name] = family
                columns.append((name, family))
        return columns

    def _check_star(self, star: exp.Expr, sources: list[SqlSource]) -> None:
        rules = self.notes.rules
        if not rules.no_sensitive_columns and not rules.forbidden_columns:
            return
        forbidden = set(map(str.lower, rules.forbidden_columns))
        for name in (name for source in sources for name in source.columns):
            if name in forbidden or (rules.no_sensitive_columns and is_sensitive(name)):
                self.notes.forbidden_column(name, star)


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


def _is_star(node: exp.Expr) -> bool:
    return isinstance(node, exp.Star) or (isinstance(node, exp.Column) and isinstance(node.this, exp.Star))
