"""Tools: what a tool call may touch, argument by argument."""

from qwed.engines.tools.engine import ToolControlEngine
from qwed.engines.tools.paths import inspect_path
from qwed.engines.tools.patterns import BadPattern
from qwed.engines.tools.problems import ArgumentProblem
from qwed.engines.tools.rules import (
    Checker,
    EmailRules,
    FileRules,
    PaymentRules,
    ToolRules,
    UrlRules,
)
from qwed.engines.tools.urls import inspect_url

__all__ = [
    "ArgumentProblem",
    "BadPattern",
    "Checker",
    "EmailRules",
    "FileRules",
    "PaymentRules",
    "ToolControlEngine",
    "ToolRules",
    "UrlRules",
    "inspect_path",
    "inspect_url",
]
