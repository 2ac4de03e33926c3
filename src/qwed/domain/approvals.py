"""What waits for a person: exactly which action, why, and until when."""

import enum
from collections.abc import Mapping
from typing import Any

import msgspec

from qwed.domain.agents import AgentId, PrincipalId
from qwed.domain.risk import Risk
from qwed.domain.times import iso


class ApprovalStatus(enum.StrEnum):
    OPEN = "open"
    APPROVED = "approved"
    DENIED = "denied"
    EXPIRED = "expired"
    REDEEMED = "redeemed"


class Approval(msgspec.Struct, frozen=True):
    """Bound to the agent, conversation, step, exact action and policy that asked for it.

    `requested_by` is the credential that made the request; it may never answer it.
    """

    approval_id: str
    activity_id: str
    agent_id: AgentId
    principal_id: PrincipalId
    requested_by: str
    conversation_id: str | None
    step: int | None
    action: Mapping[str, Any]
    action_hash: str
    policy_version: str
    risk: Risk
    reason: str
    evidence: Mapping[str, Any]
    intent: str | None
    created_ms: int
    expires_ms: int
    status: ApprovalStatus = ApprovalStatus.OPEN
    answered_by: str | None = None
    answered_ms: int | None = None
    note: str | None = None

    def status_at(self, now_ms: int) -> ApprovalStatus:
        """An open approval past its time has expired, whether or not anybody noted it."""
        if self.status is ApprovalStatus.OPEN and now_ms >= self.expires_ms:
            return ApprovalStatus.EXPIRED
        return self.status

    def to_wire(self, now_ms: int) -> dict[str, Any]:
        return {
            "id": self.approval_id,
            "status": self.status_at(now_ms),
            "agent_id": self.agent_id,
            "principal_id": self.principal_id,
            "activity_id": self.activity_id,
            "conversation_id": self.conversation_id,
            "step_number": self.step,
            "action": self.action,
            "action_hash": self.action_hash,
            "policy_version": self.policy_version,
            "risk_level": self.risk.wire,
            "reason": self.reason,
            "evidence": self.evidence,
            "user_intent": self.intent,
            "created_at": iso(self.created_ms),
            "expires_at": iso(self.expires_ms),
            "answered_by": self.answered_by,
            "answered_at": None if self.answered_ms is None else iso(self.answered_ms),
            "note": self.note,
        }
