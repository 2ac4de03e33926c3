"""SQL: parsed per dialect, classified statement by statement, searched for injection."""

from qwed.engines.sql.engine import SqlEngine, inspect_sql, warm_up
from qwed.engines.sql.rules import SqlRules
from qwed.engines.sql.verdict import SqlProblem, SqlStatement, SqlVerdict, StatementKind

__all__ = [
    "SqlEngine",
    "SqlProblem",
    "SqlRules",
    "SqlStatement",
    "SqlVerdict",
    "StatementKind",
    "inspect_sql",
    "warm_up",
]
