"""The dialects by the names people give them."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

# Where no dialect is declared, the first of these that parses the text is taken.
UNION: Final = ("postgres", "sqlite", "mysql", "tsql", "snowflake", "bigquery")

_NAMES: Final[Mapping[str, tuple[str, ...]]] = {
    "postgres": ("postgresql", "pg", "psql", "cockroachdb", "timescaledb", "greenplum"),
    "mysql": ("mariadb",),
    "sqlite": ("sqlite3",),
    "tsql": ("mssql", "sqlserver", "transactsql", "azuresql"),
    "snowflake": (),
    "bigquery": ("googlesql", "standardsql"),
    "redshift": (),
    "oracle": ("plsql",),
    "duckdb": (),
    "databricks": (),
    "spark": ("sparksql",),
    "hive": ("hiveql",),
    "trino": (),
    "presto": (),
    "clickhouse": (),
    "teradata": (),
}

_BY_NAME: Final[Mapping[str, str]] = MappingProxyType(
    {name: dialect for dialect, others in _NAMES.items() for name in (dialect, *others)}
)

BACKSLASH_ESCAPES: Final = frozenset(
    {"mysql", "bigquery", "snowflake", "databricks", "spark", "hive", "clickhouse"}
)
HASH_COMMENTS: Final = frozenset({"mysql", "bigquery", "clickhouse"})


def dialect_named(name: str) -> str | None:
    """The dialect that `name` means, or None. Case, blanks and punctuation do not matter."""
    return _BY_NAME.get("".join(filter(str.isalnum, name.lower())))
