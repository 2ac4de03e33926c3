"""The six guards, and what a guard of one's own begins from. Each is imported when it is first named."""

import importlib
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from qwed_open_responses.guards.argument import ArgumentGuard
    from qwed_open_responses.guards.base import BaseGuard
    from qwed_open_responses.guards.math import MathGuard
    from qwed_open_responses.guards.safety import SafetyGuard
    from qwed_open_responses.guards.schema import SchemaGuard
    from qwed_open_responses.guards.state import StateGuard
    from qwed_open_responses.guards.tool import ToolGuard
    from qwed_open_responses.results import GuardResult

__all__ = [
    "ArgumentGuard",
    "BaseGuard",
    "GuardResult",
    "MathGuard",
    "SafetyGuard",
    "SchemaGuard",
    "StateGuard",
    "ToolGuard",
]

_HOMES: Final = {
    "ArgumentGuard": "qwed_open_responses.guards.argument",
    "BaseGuard": "qwed_open_responses.guards.base",
    "GuardResult": "qwed_open_responses.results",
    "MathGuard": "qwed_open_responses.guards.math",
    "SafetyGuard": "qwed_open_responses.guards.safety",
    "SchemaGuard": "qwed_open_responses.guards.schema",
    "StateGuard": "qwed_open_responses.guards.state",
    "ToolGuard": "qwed_open_responses.guards.tool",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
