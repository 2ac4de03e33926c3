"""What happened when an approved action ran."""

import enum
from typing import Any

import msgspec


class Result(enum.StrEnum):
    SUCCESS = "success"
    PARTIAL = "partial"
    FAILURE = "failure"
    #: Nobody can say: an identical retry waits until a person settles it.
    UNKNOWN = "unknown"


class Outcome(msgspec.Struct, frozen=True):
    activity_id: str
    agent_id: str
    result: Result
    reported_by: str
    reported_ms: int
    fingerprint: bytes
    result_hash: str | None = None
    error: str | None = None
    settled_by: str | None = None
    settled_ms: int | None = None

    @property
    def is_binding(self) -> bool:
        """Whether it keeps the agent from trying again, or a person said that it does not any more."""
        return self.result is Result.UNKNOWN or self.settled_by is not None

    def to_wire(self) -> dict[str, Any]:
        wire: dict[str, Any] = {
            "outcome": self.result,
            "success": self.result is Result.SUCCESS,
            "result_hash": self.result_hash,
            "error": self.error,
        }
        if self.settled_by is not None:
            wire["settled_by"] = self.settled_by
        return wire
