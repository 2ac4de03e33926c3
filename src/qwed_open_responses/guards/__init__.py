"""The six guards, and what a guard of one's own begins from."""

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
