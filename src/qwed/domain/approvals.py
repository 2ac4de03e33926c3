"""What waits for a person: exactly which action, why, and until when."""

import enum
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from qwed.domain.agents import AgentId, PrincipalId
from qwed.domain.codes import Code, Refusal
from qwed.domain.credentials import Person
from qwed.domain.policy import Profile
from qwed.domain.risk import Risk
from qwed.domain.times import iso

NEVER_MS: Final = 2**62


class ApprovalStatus(enum.StrEnum):
    OPEN = "open"
    APPROVED = "approved"
    DENIED = "denied"
    EXPIRED = "expired"
    REDEEMED = "redeemed"


class Vote(msgspec.Struct, frozen=True):
    """What one person said. `by` is the credential; `person` is known where they signed in themselves."""

    by: str
    approves: bool
    at_ms: int
    note: str | None = None
    person: Person | None = None
    #: The person behind the credential: who signed in, or who created the key.
    person_id: str | None = None
    #: The passkey that signed it; the signature is in the record.
    passkey: str | None = None

    @property
    def names(self) -> frozenset[str]:
        return frozenset(name for name in (self.by, self.person_id) if name is not None)

    def to_wire(self) -> dict[str, Any]:
        wire: dict[str, Any] = {
            "by": self.by,
            "approves": self.approves,
            "at": iso(self.at_ms),
            "note": self.note,
        }
        if self.passkey is not None:
            wire["passkey"] = self.passkey
        return wire if self.person is None else {**wire, "person": self.person.to_wire()}


class ApprovalKind(enum.StrEnum):
    ACTION = "action"
    TRUST = "trust"
    #: What an agent did: approved, it is acknowledged; denied, the agent is suspended.
    REVIEW = "review"
    #: Another policy: approved, it comes in force.
    POLICY = "policy"


class Approval(msgspec.Struct, frozen=True):
    """Bound to the agent, conversation, step, exact action and policy that asked for it.

    `requested_by` are the credentials that made the request; none of them may answer it. `version` rises
    with every change, so that of two changes made from the same state one is refused. Approved, it is
    a grant until `grant_expires_ms`, for exactly the action that `action_hash` names.
    """

    approval_id: str
    activity_id: str
    agent_id: AgentId
    principal_id: PrincipalId
    requested_by: tuple[str, ...]
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
    kind: ApprovalKind = ApprovalKind.ACTION
    version: int = 0
    approvers_needed: int = 1
    role: str | None = None
    votes: tuple[Vote, ...] = ()
    #: The activities in which people answered, in their order.
    answers: tuple[str, ...] = ()
    edited_by: str | None = None
    grant_expires_ms: int | None = None
    redeemed_ms: int | None = None
    #: Where in a workflow it was asked for: the workflow and its node.
    place: tuple[str, str] | None = None
    #: The assurance profile under which it was asked for; the tokens that came along may have raised it.
    profile: Profile | None = None
    #: What the request would have cost; it is charged when the grant is used.
    cost_nano: int = 0
    tokens: int = 0
    #: Whether the use of the grant is answered with a permit.
    wants_permit: bool = False
    #: While nobody has answered: when people are reminded, and when which second role may answer too.
    remind_ms: int | None = None
    escalate_ms: int | None = None
    escalate_to: str | None = None
    reminded_ms: int | None = None
    escalated_ms: int | None = None
    #: The policy's rules that the grant satisfies, and roles that each voter needs besides.
    rules: tuple[str, ...] = ()
    also_roles: tuple[str, ...] = ()

    @property
    def attention_ms(self) -> int:
        """When the gateway has something to do about it, unless somebody answers before."""
        if self.status is not ApprovalStatus.OPEN:
            return NEVER_MS
        ahead = [self.expires_ms]
        if self.remind_ms is not None and self.reminded_ms is None:
            ahead.append(self.remind_ms)
        if self.escalate_ms is not None and self.escalated_ms is None:
            ahead.append(self.escalate_ms)
        return min(ahead)

    @property
    def roles_asked(self) -> tuple[str, ...]:
        """The roles of which each voter needs one; none where anybody entitled may answer."""
        first = () if self.role is None else (self.role,)
        return first if self.escalated_ms is None or self.escalate_to is None else (*first, self.escalate_to)

    @property
    def ends_ms(self) -> int:
        """When it stops being what its status says."""
        if self.status in (ApprovalStatus.OPEN, ApprovalStatus.EXPIRED):
            return self.expires_ms
        if self.status is ApprovalStatus.APPROVED and self.kind is ApprovalKind.ACTION:
            return self.grant_expires_ms or 0
        return NEVER_MS

    def status_at(self, now_ms: int) -> ApprovalStatus:
        """Past its time an open approval, or an unused grant, has expired, whoever noted it."""
        return ApprovalStatus.EXPIRED if now_ms >= self.ends_ms else self.status

    def to_wire(self, now_ms: int) -> dict[str, Any]:
        return {
            "id": self.approval_id,
            "kind": self.kind,
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
            "approvers_needed": self.approvers_needed,
            "required_role": self.role,
            "escalated_to": self.escalate_to if self.escalated_ms is not None else None,
            "reminded_at": None if self.reminded_ms is None else iso(self.reminded_ms),
            "escalated_at": None if self.escalated_ms is None else iso(self.escalated_ms),
            "votes": [vote.to_wire() for vote in self.votes],
            "edited_by": self.edited_by,
            "grant_expires_at": None if self.grant_expires_ms is None else iso(self.grant_expires_ms),
            "redeemed_at": None if self.redeemed_ms is None else iso(self.redeemed_ms),
        }


def later(now_ms: int, seconds: int | None) -> int | None:
    return None if seconds is None else now_ms + seconds * 1000


def answered(
    approval: Approval, vote: Vote, *, roles: tuple[str, ...], ttl_ms: int, separates: bool = True
) -> Approval | Refusal:
    """The approval after one more vote: one denial denies, the last needed approval grants.

    A credential never answers its own request. With `separates`, neither does the person behind it."""
    refusal = _open_refusal(approval, vote.at_ms) or _voter_refusal(approval, vote, roles, separates)
    if refusal is not None:
        return refusal
    votes = (*approval.votes, vote)
    changed = msgspec.structs.replace(approval, votes=votes, version=approval.version + 1)
    if not vote.approves:
        return msgspec.structs.replace(changed, status=ApprovalStatus.DENIED)
    if len(votes) < approval.approvers_needed:
        return changed
    return msgspec.structs.replace(
        changed, status=ApprovalStatus.APPROVED, grant_expires_ms=vote.at_ms + ttl_ms
    )


class Stage(enum.StrEnum):
    """What happens to an approval that nobody answers."""

    REMINDED = "reminded"
    ESCALATED = "escalated"
    EXPIRED = "expired"


def unanswered(approval: Approval, now_ms: int) -> tuple[Approval, Stage] | None:
    """What its waiting has come to by now: one step at a time, the last of them first."""
    if approval.status is not ApprovalStatus.OPEN or now_ms < approval.attention_ms:
        return None
    changed = msgspec.structs.replace(approval, version=approval.version + 1)
    if now_ms >= approval.expires_ms:
        return msgspec.structs.replace(changed, status=ApprovalStatus.EXPIRED), Stage.EXPIRED
    if approval.escalate_ms is not None and approval.escalated_ms is None and now_ms >= approval.escalate_ms:
        # Whoever is asked now needs no reminder of what was asked before.
        reminded_ms = approval.reminded_ms or now_ms
        return (
            msgspec.structs.replace(changed, escalated_ms=now_ms, reminded_ms=reminded_ms),
            Stage.ESCALATED,
        )
    return msgspec.structs.replace(changed, reminded_ms=now_ms), Stage.REMINDED


def redeemed(approval: Approval, action_hash: str, now_ms: int) -> Approval | Refusal:
    """The grant, used up. Anything but the exact action is refused."""
    match approval.status_at(now_ms):
        case ApprovalStatus.REDEEMED:
            return Refusal(Code.APPROVAL_REDEEMED, "the grant was used already")
        case ApprovalStatus.EXPIRED:
            return Refusal(Code.APPROVAL_EXPIRED, "the approval expired")
        case ApprovalStatus.OPEN:
            return Refusal(Code.APPROVAL_MISMATCH, "nobody has approved this yet")
        case ApprovalStatus.DENIED:
            return Refusal(Code.APPROVAL_MISMATCH, "the approval was denied")
    if approval.kind is not ApprovalKind.ACTION or approval.action_hash != action_hash:
        return Refusal(Code.APPROVAL_MISMATCH, "the grant is for another action")
    return msgspec.structs.replace(
        approval, status=ApprovalStatus.REDEEMED, redeemed_ms=now_ms, version=approval.version + 1
    )


def _open_refusal(approval: Approval, now_ms: int) -> Refusal | None:
    status = approval.status_at(now_ms)
    if status is ApprovalStatus.EXPIRED:
        return Refusal(Code.APPROVAL_EXPIRED, "the approval expired, which means denied")
    if status is not ApprovalStatus.OPEN:
        return Refusal(Code.APPROVAL_ANSWERED, f"the approval was answered already: {status}")
    return None


def _voter_refusal(approval: Approval, vote: Vote, roles: tuple[str, ...], separates: bool) -> Refusal | None:
    if vote.by != vote.person_id and vote.by in approval.requested_by:
        return Refusal(Code.APPROVAL_FORBIDDEN, "nobody answers their own request: it takes another key")
    if separates and vote.person_id in approval.requested_by:
        return Refusal(
            Code.APPROVAL_FORBIDDEN,
            "you asked for this yourself, or a key of yours did: another person has to answer"
            " (approvals.separate)",
        )
    if any(earlier.names & vote.names for earlier in approval.votes):
        return Refusal(Code.APPROVAL_ANSWERED, "you answered already; somebody else has to")
    if missing := sorted(set(approval.also_roles).difference(roles)):
        return Refusal(Code.APPROVAL_FORBIDDEN, f"this needs the role {' and '.join(map(repr, missing))}")
    if approval.role is not None and not set(roles).intersection(approval.roles_asked):
        return Refusal(Code.APPROVAL_FORBIDDEN, f"this needs the role '{approval.role}'")
    return None
