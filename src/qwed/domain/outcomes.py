"""What happened when an approved action ran."""

import enum

import msgspec

from qwed.domain.json_types import Json
from qwed.domain.rule_windows import Proof


class OutcomeResult(enum.StrEnum):
    SUCCESS = "success"
    PARTIAL = "partial"
    FAILURE = "failure"
    #: Nobody can say: an identical retry waits until a person settles it.
    UNKNOWN = "unknown"


class Outcome(msgspec.Struct, frozen=True):
    activity_id: str
    agent_id: str
    result: OutcomeResult
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
        return self.result is OutcomeResult.UNKNOWN or self.settled_by is not None

    @property
    def proves(self) -> Proof:
        """How far it shows that the action happened: by the agent's word, or by somebody else's."""
        if self.result is not OutcomeResult.SUCCESS:
            return Proof.NONE
        is_own_word = self.settled_by is None and self.reported_by.startswith("agent:")
        return Proof.SUCCESS if is_own_word else Proof.CONFIRMED

    def to_wire(self) -> dict[str, Json]:
        wire: dict[str, Json] = {
            "outcome": self.result,
            "success": self.result is OutcomeResult.SUCCESS,
            "result_hash": self.result_hash,
            "error": self.error,
        }
        if self.settled_by is not None:
            wire["settled_by"] = self.settled_by
        return wire
