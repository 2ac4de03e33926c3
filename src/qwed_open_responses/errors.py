"""What is raised where a framework stops for nothing but an exception.

OutputBlocked
├── ToolCallBlocked     a tool call was not made
└── ResponseBlocked     a model's response was not handed out
    └── AttributeRefused    a client's attribute whose answers nobody would verify
"""

from qwed_open_responses.results import VerificationResult


class OutputBlocked(Exception):
    """`result` says which guard refused what, and why."""

    def __init__(self, result: VerificationResult) -> None:
        subject = result.tool_name or "the response"
        super().__init__(f"QWED blocked {subject}: {result.block_reason}")
        self.result = result


class ToolCallBlocked(OutputBlocked):
    pass


class ResponseBlocked(OutputBlocked):
    pass


class AttributeRefused(ResponseBlocked, AttributeError):
    """Also an `AttributeError`, so that code that asks with `hasattr` goes another way."""
