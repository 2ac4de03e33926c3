"""Trust levels: an agent asks, its principal decides (section 8)."""

from typing import Any

import msgspec

from qwed.domain.agents import Agent, AgentId, AgentStatus
from qwed.domain.approvals import Approval, ApprovalKind, later
from qwed.domain.canonical import encode_exact, sha256_hex
from qwed.domain.codes import Code
from qwed.domain.credentials import Caller, Scope
from qwed.domain.json_types import Json
from qwed.domain.risk import Risk
from qwed.domain.trust import TrustLevel
from qwed.domain.trust_changes import Cause
from qwed.domain.webhooks import Event
from qwed.gateway.agents.register_agent import read_trust_level
from qwed.gateway.kernel.answers import Answer, RequestError, malformed, refuse
from qwed.gateway.kernel.changes import noted
from qwed.gateway.kernel.masks import shown
from qwed.gateway.kernel.notifications import approval_news, deliveries_of
from qwed.gateway.kernel.records import Record
from qwed.gateway.kernel.requests import MAX_TEXT, convert
from qwed.gateway.kernel.services import Services
from qwed.gateway.kernel.trust_entries import list_notices_of, publish_trust, record_trust_change
from qwed.gateway.kernel.visibility import require_agent, require_own_or_scope, require_scope
from qwed.gateway.trust.trust_evidence import read_recorded_evidence

ELEVATION = "trust_elevation"


class TrustBody(msgspec.Struct, forbid_unknown_fields=True):
    """Either a request (`request` and both levels) or a change (`to_level` and `reason`)."""

    to_level: Any
    request: str | None = None
    from_level: Any = None
    justification: str | None = None
    evidence: Any = None
    reason: str | None = None


async def change_trust(services: Services, caller: Caller, agent_id: AgentId, raw: Json) -> Answer:
    agent = await require_agent(services, caller, agent_id)
    body = convert(raw, TrustBody)
    target = read_trust_level("to_level", body.to_level)
    for field in ("justification", "reason"):
        if len(getattr(body, field) or "") > MAX_TEXT:
            raise malformed(field, f"is longer than {MAX_TEXT} characters")
    if body.request is not None:
        require_own_or_scope(caller, Scope.REGISTER)
        return await _request(services, caller, agent, target, body)
    require_scope(caller, Scope.TRUST)
    return await _set(services, caller, agent, target, body)


async def _set(
    services: Services, caller: Caller, agent: Agent, target: TrustLevel, body: TrustBody
) -> Answer:
    if not (body.reason or "").strip():
        raise malformed("reason", "is missing: a change of trust says why")
    if target is TrustLevel.TRUSTED and not caller.is_operator:
        raise refuse(Code.AUTH_FORBIDDEN, "trust level 3 needs an operator's key")
    async with services.turns.turn(agent.agent_id):
        before = await require_agent(services, caller, agent.agent_id)
        after = msgspec.structs.replace(before, trust_level=target)
        changed, entry = record_trust_change(services, caller, before, after, Cause.SET, body.reason)
        told = await list_notices_of(services, after, changed)
        await services.store.commit(Record(entry, agent=after, trust_changes=(changed,), deliveries=told))
    publish_trust(services, changed)
    return Answer({**after.to_wire(), "activity_id": entry.activity_id})


async def _request(
    services: Services, caller: Caller, agent: Agent, target: TrustLevel, body: TrustBody
) -> Answer:
    """One level at a time, from the level it really has; what it claims is replaced by what is on record."""
    if body.request != ELEVATION:
        raise malformed("request", f"is '{ELEVATION}'")
    if agent.status is not AgentStatus.ACTIVE:
        raise refuse(Code.AGENT_SUSPENDED, "a suspended agent can't ask for trust: it has to be reactivated")
    current = read_trust_level("from_level", body.from_level)
    if current is not agent.trust_level:
        raise malformed("from_level", f"is {int(agent.trust_level)} at present")
    if target != current + 1:
        raise malformed("to_level", "is one above from_level")
    if not (body.justification or "").strip():
        raise malformed("justification", "is missing")
    approval = await _open(services, caller, agent, target, body)
    details = {"approval_id": approval.approval_id, "from_level": int(current), "to_level": int(target)}
    activity = noted(services, caller, "request_trust", details, agent=agent)
    approval = msgspec.structs.replace(approval, activity_id=activity.activity_id)
    news = approval_news(Event.APPROVAL_REQUESTED, approval, activity.activity_id, activity.at_ms)
    told = await deliveries_of(services, news)
    refusal = await services.store.commit(Record(activity, approval=approval, deliveries=told))
    if refusal is not None:
        raise RequestError(refusal)
    now_ms = services.clock.now_ms()
    wire = approval.to_wire(now_ms)
    services.events.publish(
        {
            "type": "approval",
            "agent_id": agent.agent_id,
            "principal_id": agent.principal_id,
            "activity_id": activity.activity_id,
            "approval": wire,
        }
    )
    return Answer({"decision": "PENDING", "approval": wire, "activity_id": activity.activity_id})


async def _open(
    services: Services, caller: Caller, agent: Agent, target: TrustLevel, body: TrustBody
) -> Approval:
    action = {
        "type": ELEVATION,
        "parameters": {
            "from_level": int(agent.trust_level),
            "to_level": int(target),
            "justification": shown(body.justification),
        },
    }
    now_ms, rules = services.clock.now_ms(), services.policy.approvals
    return Approval(
        approval_id=services.ids.approval(now_ms),
        activity_id="",
        agent_id=agent.agent_id,
        principal_id=agent.principal_id,
        requested_by=caller.names,
        conversation_id=None,
        step=None,
        action=action,
        action_hash=sha256_hex(encode_exact(action)),
        policy_version=services.policy.version,
        # Level 3 acts without approval at every risk; what it may then do is what is asked for here.
        risk=Risk.CRITICAL if target is TrustLevel.TRUSTED else Risk.HIGH,
        reason="the agent asks for a higher trust level",
        evidence={"recorded": await read_recorded_evidence(services, agent), "claimed": shown(body.evidence)},
        intent=None,
        created_ms=now_ms,
        expires_ms=now_ms + rules.ttl_seconds * 1000,
        kind=ApprovalKind.TRUST,
        approvers_needed=rules.approvers,
        # Level 3 needs an operator, whoever the principal is.
        role="operator" if target is TrustLevel.TRUSTED else rules.role,
        remind_ms=later(now_ms, rules.remind_after_seconds),
        # An operator's place is taken by nobody, however long it takes.
        escalate_ms=None if target is TrustLevel.TRUSTED else later(now_ms, rules.escalate_after_seconds),
        escalate_to=rules.escalate_to_role,
    )
