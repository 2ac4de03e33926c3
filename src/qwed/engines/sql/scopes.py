"""What a query can see at each of its levels."""

from collections.abc import Iterator

from sqlglot import exp

from qwed.engines.sql.schema import TypeFamily

Columns = list[tuple[str, TypeFamily]]


class SqlSource:
    """What one alias of a FROM offers."""

    __slots__ = ("columns", "is_open")

    def __init__(self, columns: dict[str, TypeFamily], *, is_open: bool = False) -> None:
        self.columns = columns
        self.is_open = is_open


class SqlScope:
    __slots__ = ("aliases", "ctes", "merged", "outputs", "parent", "sources")

    def __init__(self, parent: "SqlScope | None", ctes: dict[str, SqlSource]) -> None:
        self.parent = parent
        self.ctes = ctes
        self.sources: dict[str, SqlSource] = {}
        self.merged: set[str] = set()
        self.outputs: dict[str, TypeFamily] = {}
        """Every name that the query gives out; ORDER BY, GROUP BY and HAVING know them."""
        self.aliases: dict[str, TypeFamily] = {}
        """Those that it gives itself (`AS`); in some dialects the rest of the query knows them too."""


def levels(scope: SqlScope) -> Iterator[SqlScope]:
    level: SqlScope | None = scope
    while level is not None:
        yield level
        level = level.parent


def row_names(scope: SqlScope) -> set[str]:
    """A whole row can be named by its table's alias."""
    return {alias for level in levels(scope) for alias in level.sources}


def source_of(columns: Columns | None, renamed: list[str]) -> SqlSource:
    if renamed:
        families = [family for _, family in columns or ()]
        families += [TypeFamily.OTHER] * (len(renamed) - len(families))
        return SqlSource(dict(zip(renamed, families, strict=False)))
    if columns is None:
        return SqlSource({}, is_open=True)
    # How a dialect names a column without an alias is its own affair.
    is_open = any(not name for name, _ in columns)
    return SqlSource({name: family for name, family in columns if name}, is_open=is_open)


def alias_columns(node: exp.Expr) -> list[exp.Expr]:
    alias = node.args.get("alias")
    return list(alias.args.get("columns") or ()) if isinstance(alias, exp.TableAlias) else []


def with_lambda(node: exp.Expr, scope: SqlScope) -> SqlScope:
    inner = SqlScope(scope, scope.ctes)
    names = {item.name.lower(): TypeFamily.OTHER for item in node.expressions}
    inner.sources["->"] = SqlSource(names)
    return inner
