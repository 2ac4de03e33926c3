"""Approvals that nobody answers: people are reminded, a second role is asked, and silence means no.

Each step is recorded like an answer, once: it is made from what the approval is now, and of two changes
from the same state the store takes one. What was due while no gateway ran is done when one runs again.
"""

from collections.abc import Mapping
from typing import Final

from qwed.domain.approvals import Approval, ApprovalKind, Stage, unanswered
from qwed.domain.webhooks import Event
from qwed.gateway.kernel.changes import noted
from qwed.gateway.kernel.notifications import approval_news, deliveries_of
from qwed.gateway.kernel.records import Record
from qwed.gateway.kernel.services import Services

BATCH: Final = 100

_EVENTS: Final[Mapping[Stage, Event]] = {
    Stage.REMINDED: Event.APPROVAL_REMINDED,
    Stage.ESCALATED: Event.APPROVAL_ESCALATED,
    Stage.EXPIRED: Event.APPROVAL_EXPIRED,
}


async def sweep_approvals(services: Services) -> int:
    """Do what is due; how much was done, at most `BATCH`: then there may be more."""
    due = await services.store.approvals_due(services.clock.now_ms(), BATCH)
    return sum([await _attend(services, approval) for approval in due])


async def _attend(services: Services, seen: Approval) -> bool:
    # A vote takes its turn among the changes of its agent, and so does this.
    async with services.turns.turn(seen.agent_id):
        approval = await services.store.approval(seen.approval_id)
        step = None if approval is None else unanswered(approval, services.clock.now_ms())
        if step is not None:
            await _record(services, *step)
        return step is not None


async def _record(services: Services, approval: Approval, stage: Stage) -> None:
    details = {
        "approval_id": approval.approval_id,
        "status": approval.status,
        # An answer that never came is an answer; but only a person's word suspends an agent.
        "means": "denied" if stage is Stage.EXPIRED and approval.kind is not ApprovalKind.REVIEW else None,
        "escalated_to": approval.escalate_to if stage is Stage.ESCALATED else None,
    }
    activity = noted(
        services,
        None,
        f"approval_{stage}",
        details,
        agent_id=approval.agent_id,
        principal_id=approval.principal_id,
        caused_by=(approval.activity_id, *approval.answers),
    )
    news = approval_news(_EVENTS[stage], approval, activity.activity_id, activity.at_ms)
    told = await deliveries_of(services, news)
    if await services.store.commit(Record(activity, approval=approval, deliveries=told)) is not None:
        # Somebody answered at the same moment: there is nothing left to do.
        return
    services.events.publish(
        {
            "type": "approval",
            "agent_id": approval.agent_id,
            "principal_id": approval.principal_id,
            "activity_id": activity.activity_id,
            "approval": approval.to_wire(activity.at_ms),
        }
    )
