"""The action types that have a meaning, and what each is bound to.

These tables are the defaults of the policy file; a type that is in neither is refused.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from qwed.domain.risk import Risk

MATH: Final = "math"
LOGIC: Final = "logic"
FACT: Final = "fact"
SQL: Final = "sql"
CODE: Final = "code"
WORKSPACE: Final = "workspace"
TOOL_CONTROL: Final = "tool_control"
ENGINE_NAMES: Final = (MATH, LOGIC, FACT, SQL, CODE, WORKSPACE, TOOL_CONTROL)

ACTION_ENGINES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "calculate": MATH,
        "verify_math": MATH,
        "verify": MATH,
        "verify_logic": LOGIC,
        "prove": LOGIC,
        "verify_fact": FACT,
        "execute_sql": SQL,
        "execute_code": CODE,
        "shell": WORKSPACE,
    }
)

SAFE_TOOLS: Final = frozenset(
    {"read_database", "query_data", "search_web", "send_email", "log_message", "get_weather"}
)
DANGEROUS_TOOLS: Final = frozenset(
    {"delete_database", "drop_table", "send_money", "delete_files", "shutdown_server", "revoke_access"}
)

TOOL_RISK_LEVELS: Final[Mapping[str, Risk]] = MappingProxyType(
    {
        **dict.fromkeys(("database_read", "read_database", "file_read", "read_file"), Risk.LOW),
        **dict.fromkeys(("send_email", "api_call", "call_api", "network_request"), Risk.MEDIUM),
        **dict.fromkeys(("file_write", "database_write"), Risk.HIGH),
        "file_delete": Risk.CRITICAL,
        **dict.fromkeys(sorted(SAFE_TOOLS - {"send_email"}), Risk.LOW),
        **dict.fromkeys(sorted(DANGEROUS_TOOLS), Risk.CRITICAL),
    }
)
