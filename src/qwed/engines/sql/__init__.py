"""SQL: parsed per dialect, classified statement by statement, searched for injection."""

from qwed.engines.sql.engine import SqlEngine, inspect_sql, warm_up
from qwed.engines.sql.rules import SqlRules
from qwed.engines.sql.verdict import Kind, Problem, SqlVerdict, Statement

__all__ = ["Kind", "Problem", "SqlEngine", "SqlRules", "SqlVerdict", "Statement", "inspect_sql", "warm_up"]
