"""Every change of an agent's standing, as a value that explains itself: what, why, and from which acts."""

import enum
from collections.abc import Collection, Mapping

import msgspec

from qwed.domain.agents import AgentId, AgentStatus, PrincipalId
from qwed.domain.json_types import Json
from qwed.domain.times import iso
from qwed.domain.trust import TrustLevel


class Cause(enum.StrEnum):
    """What people do, and the rules of section 8 that nobody has to apply."""

    REGISTERED = "registered"
    SET = "set"
    GRANTED = "granted"
    SUSPENDED = "suspended"
    COMPLAINT = "complaint"
    REACTIVATED = "reactivated"
    SECURITY_VIOLATION = "security_violation"
    REPEATED_DENIALS = "repeated_denials"
    BUDGET_ABUSE = "budget_abuse"

    @property
    def is_automatic(self) -> bool:
        return self in (Cause.SECURITY_VIOLATION, Cause.REPEATED_DENIALS, Cause.BUDGET_ABUSE)


class TrustChange(msgspec.Struct, frozen=True):
    """`activity_id` is the entry that records the change, `activities` are those that led to it."""

    activity_id: str
    agent_id: AgentId
    principal_id: PrincipalId
    at_ms: int
    cause: Cause
    by: str
    from_level: TrustLevel
    to_level: TrustLevel
    status: AgentStatus
    reason: str | None = None
    activities: tuple[str, ...] = ()
    evidence: Mapping[str, Json] = msgspec.field(default_factory=dict)

    def without_texts_of(self, erased: Collection[str]) -> "TrustChange":
        """Without what people wrote, where an entry that said it is erased. The rule's own words stay."""
        if self.cause.is_automatic or not any(
            name in erased for name in (self.activity_id, *self.activities)
        ):
            return self
        return msgspec.structs.replace(self, reason=None, evidence={})

    def to_wire(self) -> dict[str, Json]:
        return {"activity_id": self.activity_id, "timestamp": iso(self.at_ms), **self.details()}

    def details(self) -> dict[str, Json]:
        """What the entry in the audit trail and the event say."""
        return {
            "cause": self.cause,
            "by": self.by,
            "from_level": int(self.from_level),
            "to_level": int(self.to_level),
            "status": self.status,
            "reason": self.reason,
            "activities": self.activities,
            "evidence": self.evidence,
        }
