"""Guards in the caller's own process: verify what an AI agent outputs before anything acts on it.

Nothing has to run, and importing this package imports no server, database, solver or framework.
"""

from qwed_open_responses.decorator import guarded
from qwed_open_responses.errors import OutputBlocked, ResponseBlocked, ToolCallBlocked
from qwed_open_responses.guards.base import BaseGuard
from qwed_open_responses.outputs import Output, Text, ToolCall, normalise
from qwed_open_responses.policy import PolicyError
from qwed_open_responses.results import GuardResult, VerificationResult
from qwed_open_responses.verifier import ResponseVerifier

__all__ = [
    "BaseGuard",
    "GuardResult",
    "Output",
    "OutputBlocked",
    "PolicyError",
    "ResponseBlocked",
    "ResponseVerifier",
    "Text",
    "ToolCall",
    "ToolCallBlocked",
    "VerificationResult",
    "guarded",
    "normalise",
]
