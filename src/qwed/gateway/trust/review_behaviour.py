"""An agent that breaks its specification is put before a person, in the inbox where everything waits.

Approved, the violations are acknowledged and the agent goes on; denied, it is suspended for them. Nobody's
silence suspends: a review that expires says that nobody looked, and the next violation opens another.
"""

from typing import Final

import msgspec

from qwed.assurance.compliance import ComplianceCheck
from qwed.domain.agents import Agent
from qwed.domain.approvals import Approval, ApprovalKind, ApprovalStatus, later
from qwed.domain.canonical import encode_exact, sha256_hex
from qwed.domain.json_types import Json
from qwed.domain.risk import Risk
from qwed.domain.webhooks import Event
from qwed.gateway.kernel.answers import RequestError
from qwed.gateway.kernel.changes import GATEWAY
from qwed.gateway.kernel.masks import shown
from qwed.gateway.kernel.notifications import approval_news, deliveries_of
from qwed.gateway.kernel.records import Record
from qwed.gateway.kernel.services import Services

REVIEW: Final = "behaviour_review"
_PAGE: Final = 100


async def commit_for_review(services: Services, agent: Agent, record: Record, check: ComplianceCheck) -> None:
    """The finding, and with it what asks a person, unless one is asked about this specification already."""
    action = _describe_asked(check)
    if await _waits(services, agent, action):
        await services.store.commit(record)
        return
    activity = record.activity
    approval = _review(services, agent, activity.activity_id, action, check)
    news = approval_news(Event.APPROVAL_REQUESTED, approval, activity.activity_id, activity.at_ms)
    told = await deliveries_of(services, news)
    refusal = await services.store.commit(msgspec.structs.replace(record, approval=approval, deliveries=told))
    if refusal is not None:
        raise RequestError(refusal)
    services.events.publish(
        {
            "type": "approval",
            "agent_id": agent.agent_id,
            "principal_id": agent.principal_id,
            "activity_id": activity.activity_id,
            "approval": approval.to_wire(approval.created_ms),
        }
    )


def _describe_asked(check: ComplianceCheck) -> dict[str, Json]:
    named = ("apae.subject", "apae.spec_version")
    return {"type": REVIEW, "parameters": shown({name: check.ext[name] for name in named})}


async def _waits(services: Services, agent: Agent, action: dict[str, Json]) -> bool:
    after: str | None = None
    while True:
        page = await services.store.approvals(
            agent.principal_id,
            agent.agent_id,
            ApprovalStatus.OPEN,
            services.clock.now_ms(),
            after,
            _PAGE,
        )
        if any(found.kind is ApprovalKind.REVIEW and found.action == action for found in page):
            return True
        if len(page) < _PAGE:
            return False
        after = page[-1].approval_id


def _review(
    services: Services, agent: Agent, activity_id: str, action: dict[str, Json], check: ComplianceCheck
) -> Approval:
    now_ms, rules = services.clock.now_ms(), services.policy.approvals
    return Approval(
        approval_id=services.ids.approval(now_ms),
        activity_id=activity_id,
        agent_id=agent.agent_id,
        principal_id=agent.principal_id,
        requested_by=(GATEWAY,),
        conversation_id=None,
        step=None,
        action=action,
        action_hash=sha256_hex(encode_exact(action)),
        policy_version=services.policy.version,
        risk=Risk.HIGH,
        reason="the agent broke its behaviour specification: approve to acknowledge, deny to suspend it",
        evidence=shown(check.ext),
        intent=None,
        created_ms=now_ms,
        expires_ms=now_ms + rules.ttl_seconds * 1000,
        kind=ApprovalKind.REVIEW,
        approvers_needed=rules.approvers,
        role=rules.role,
        remind_ms=later(now_ms, rules.remind_after_seconds),
        escalate_ms=later(now_ms, rules.escalate_after_seconds),
        escalate_to=rules.escalate_to_role,
    )
