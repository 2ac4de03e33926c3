"""Guards in the caller's own process: verify what an AI agent outputs before anything acts on it.

Nothing has to run, and importing this package imports no server, database, solver or framework.
"""

import importlib
from typing import TYPE_CHECKING, Any, Final

from qwed_open_responses.errors import OutputBlocked, ResponseBlocked, ToolCallBlocked
from qwed_open_responses.guards.base import BaseGuard
from qwed_open_responses.outputs import Output, OutputText, OutputToolCall, normalise
from qwed_open_responses.results import GuardResult, VerificationResult
from qwed_open_responses.verifier import ResponseVerifier

if TYPE_CHECKING:
    from qwed_open_responses.decorator import guarded
    from qwed_open_responses.policy import PolicyError

__all__ = [
    "BaseGuard",
    "GuardResult",
    "Output",
    "OutputBlocked",
    "OutputText",
    "OutputToolCall",
    "PolicyError",
    "ResponseBlocked",
    "ResponseVerifier",
    "ToolCallBlocked",
    "VerificationResult",
    "guarded",
    "normalise",
]

# Named less often, and dear to import.
_HOMES: Final = {"PolicyError": "qwed_open_responses.policy", "guarded": "qwed_open_responses.decorator"}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = value
    return value
