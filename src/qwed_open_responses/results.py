"""What one guard says, and what all of them together decide."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal

import msgspec

from qwed.domain.json_types import Json

Severity = Literal["error", "warning", "info"]


class GuardResult(msgspec.Struct, frozen=True):
    """`message` is one sentence for a person; `details` name paths and kinds, never a secret itself."""

    guard_name: str
    passed: bool
    message: str = ""
    details: Mapping[str, Json] = msgspec.field(default_factory=dict)
    severity: Severity = "info"

    def to_dict(self) -> dict[str, Json]:
        return {
            "guard_name": self.guard_name,
            "passed": self.passed,
            "message": self.message,
            "details": dict(self.details),
            "severity": self.severity,
        }


class VerificationResult(msgspec.Struct, frozen=True):
    """True only when at least one guard looked and none that looked blocks."""

    verified: bool
    tool_name: str | None
    arguments: Any
    response: Any
    block_reason: str | None
    failed_guard: str | None
    guard_results: list[GuardResult]
    timestamp: datetime

    def __bool__(self) -> bool:
        return self.verified

    @property
    def guards_passed(self) -> list[str]:
        return [result.guard_name for result in self.guard_results if result.passed]

    @property
    def guards_failed(self) -> list[str]:
        return [result.guard_name for result in self.guard_results if not result.passed]

    def to_dict(self) -> dict[str, Json]:
        return {
            "verified": self.verified,
            "tool_name": self.tool_name,
            "arguments": self.arguments,
            "response": self.response,
            "block_reason": self.block_reason,
            "failed_guard": self.failed_guard,
            "guards_passed": self.guards_passed,
            "guards_failed": self.guards_failed,
            "guard_results": [result.to_dict() for result in self.guard_results],
            "timestamp": self.timestamp.isoformat(),
        }
