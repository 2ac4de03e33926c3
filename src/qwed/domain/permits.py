"""A permit: signed leave to run one action, once, at one place; and what is found when that was not kept."""

import enum
from typing import Final

import msgspec

from qwed.domain.agents import AgentId, PrincipalId
from qwed.domain.codes import Code, Refusal
from qwed.domain.json_types import Json
from qwed.domain.times import iso

PERMIT_TYPE: Final = "qwed-permit+jwt"
#: Its name in requests for a tool: a header, an argument, and a member of MCP's `_meta`.
PERMIT_HEADER: Final = "QWED-Permit"
PERMIT_ARGUMENT: Final = "qwed_permit"
PERMIT_META: Final = "qwed/permit"
MAX_PERMIT_SECONDS: Final = 600
#: How far the clocks of those who verify may be apart from the gateway's.
LEEWAY_SECONDS: Final = 5
HASH_PREFIX: Final = "sha256:"


class PermitState(enum.StrEnum):
    ISSUED = "issued"
    USED = "used"
    #: The tool said what it ran.
    REPORTED = "reported"
    #: It expired before anybody used it.
    UNUSED = "unused"


class FindingKind(enum.StrEnum):
    """What is wrong between what was approved and what was run."""

    RECEIPT_MISMATCH = "receipt_mismatch"
    EFFECT_WITHOUT_PERMIT = "effect_without_permit"
    PERMIT_UNUSED = "permit_unused"
    CALL_REFUSED = "call_refused"


class ExecutionReceipt(msgspec.Struct, frozen=True):
    """What a tool says it ran: hashes of the action and of its result, never their text. `signature` is a
    compact JWS of the tool's own, kept as it came."""

    action_hash: str
    outcome: str
    result_hash: str | None = None
    duration_ms: int | None = None
    signature: str | None = None
    #: Who made sure that the permit was used once: the gateway, or the tool's own side.
    replay: str = "gateway"


class IssuedPermit(msgspec.Struct, frozen=True):
    """What the gateway keeps of a permit. `version` rises with every change: of two changes that were made
    from the same state the store takes one, so a permit is used once."""

    jti: str
    activity_id: str
    agent_id: AgentId
    principal_id: PrincipalId
    audience: str
    action_type: str
    #: SHA-256 of the exact action, in hexadecimal.
    action_hash: str
    issued_ms: int
    expires_ms: int
    state: PermitState = PermitState.ISSUED
    version: int = 0
    used_ms: int | None = None
    used_by: str | None = None
    receipt: ExecutionReceipt | None = None

    def claims(self, issuer: str) -> dict[str, Json]:
        return {
            "jti": self.jti,
            "iss": issuer,
            "aud": self.audience,
            "sub": self.agent_id,
            "act": f"{HASH_PREFIX}{self.action_hash}",
            "aid": self.activity_id,
            "iat": self.issued_ms // 1000,
            "exp": self.expires_ms // 1000,
            "use": "once",
        }

    def to_wire(self) -> dict[str, Json]:
        return {
            "jti": self.jti,
            "activity_id": self.activity_id,
            "agent_id": self.agent_id,
            "audience": self.audience,
            "action_type": self.action_type,
            "action_hash": self.action_hash,
            "state": self.state,
            "issued_at": iso(self.issued_ms),
            "expires_at": iso(self.expires_ms),
            "used_at": None if self.used_ms is None else iso(self.used_ms),
            "used_by": self.used_by,
            "receipt": self.receipt,
        }


class PermitFinding(msgspec.Struct, frozen=True):
    """`finding_id` is the activity that states it. A call without a permit belongs to no agent. `count`: so
    many of the same kind, where there were too many for an entry each."""

    finding_id: str
    kind: FindingKind
    principal_id: PrincipalId
    agent_id: AgentId
    at_ms: int
    message: str
    jti: str | None = None
    audience: str | None = None
    code: str | None = None
    count: int = 1

    def to_wire(self) -> dict[str, Json]:
        return {
            "id": self.finding_id,
            "count": self.count,
            "kind": self.kind,
            "agent_id": self.agent_id,
            "at": iso(self.at_ms),
            "message": self.message,
            "jti": self.jti,
            "audience": self.audience,
            "code": self.code,
        }


def issue_permit(
    activity_id: str,
    agent_id: AgentId,
    principal_id: PrincipalId,
    audience: str,
    action_type: str,
    action_hash: str,
    now_ms: int,
    seconds: int,
) -> IssuedPermit:
    issued_ms = now_ms // 1000 * 1000
    return IssuedPermit(
        jti=f"pmt_{activity_id.partition('_')[2] or activity_id}",
        activity_id=activity_id,
        agent_id=agent_id,
        principal_id=principal_id,
        audience=audience,
        action_type=action_type,
        action_hash=action_hash,
        issued_ms=issued_ms,
        expires_ms=issued_ms + min(seconds, MAX_PERMIT_SECONDS) * 1000,
    )


def use_permit(
    permit: IssuedPermit, audience: str, action_hash: str, used_by: str, now_ms: int
) -> IssuedPermit | Refusal:
    """The permit once it is used, at this place and for exactly this action."""
    if permit.state is not PermitState.ISSUED:
        return permit_used(permit.jti)
    if audience != permit.audience:
        return Refusal(Code.PERMIT_MISMATCH, "the permit is for another tool")
    if action_hash != permit.action_hash:
        return Refusal(Code.PERMIT_MISMATCH, "the permit is for another action")
    if now_ms >= permit.expires_ms + LEEWAY_SECONDS * 1000:
        return Refusal(Code.PERMIT_EXPIRED, "the permit has expired")
    return msgspec.structs.replace(
        permit, state=PermitState.USED, version=permit.version + 1, used_ms=now_ms, used_by=used_by
    )


def permit_used(jti: str) -> Refusal:
    return Refusal(Code.PERMIT_USED, f"the permit {jti[:80]} was used already, or has lapsed")


def add_receipt(permit: IssuedPermit, receipt: ExecutionReceipt) -> IssuedPermit | Refusal:
    """One receipt for one use."""
    if permit.receipt is not None:
        return Refusal(Code.PERMIT_USED, f"the permit {permit.jti} has its receipt already")
    return msgspec.structs.replace(
        permit, state=PermitState.REPORTED, version=permit.version + 1, receipt=receipt
    )


def find_in_receipt(permit: IssuedPermit, receipt: ExecutionReceipt) -> tuple[FindingKind, str] | None:
    """What a receipt says against its permit, as it was before."""
    if permit.used_ms is None and receipt.replay == "gateway":
        return FindingKind.EFFECT_WITHOUT_PERMIT, "a tool ran although nobody had used the permit"
    if receipt.action_hash != permit.action_hash:
        return FindingKind.RECEIPT_MISMATCH, "what ran is not what was approved"
    return None


def lapse(permit: IssuedPermit) -> IssuedPermit:
    return msgspec.structs.replace(permit, state=PermitState.UNUSED, version=permit.version + 1)
