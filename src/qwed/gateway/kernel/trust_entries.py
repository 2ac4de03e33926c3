"""A change of standing, written three times over: for the history, the audit trail, and whoever listens."""

from collections.abc import Mapping
from typing import Any

import msgspec

from qwed.domain.agents import Agent
from qwed.domain.credentials import Caller
from qwed.domain.deliveries import Delivery
from qwed.domain.times import iso
from qwed.domain.trust_changes import Cause, TrustChange
from qwed.domain.webhooks import Event
from qwed.gateway.kernel.changes import GATEWAY, noted
from qwed.gateway.kernel.masks import shown
from qwed.gateway.kernel.notifications import agent_news, deliveries_of
from qwed.gateway.kernel.records import Activity
from qwed.gateway.kernel.services import Services

CHANGE_TRUST = "change_trust"


def record_trust_change(
    services: Services,
    caller: Caller | None,
    before: Agent,
    after: Agent,
    cause: Cause,
    reason: str | None,
    *,
    activities: tuple[str, ...] = (),
    evidence: Mapping[str, Any] | None = None,
) -> tuple[TrustChange, Activity]:
    """The change and its own entry. Without a caller it is the gateway that applied a rule."""
    change = TrustChange(
        activity_id="",
        agent_id=after.agent_id,
        principal_id=after.principal_id,
        at_ms=0,
        cause=cause,
        by=GATEWAY if caller is None else caller.name,
        from_level=before.trust_level,
        to_level=after.trust_level,
        status=after.status,
        reason=shown(reason),
        activities=activities,
        evidence=shown(evidence or {}),
    )
    entry = noted(services, caller, CHANGE_TRUST, change.details(), agent=after, caused_by=activities)
    return note_in_entry(change, entry), entry


def record_standing_change(
    caller: Caller, before: Agent, after: Agent, cause: Cause, reason: str | None, entry: Activity
) -> TrustChange:
    """A change that an entry of another kind records: a registration, a suspension, a complaint."""
    change = TrustChange(
        activity_id="",
        agent_id=after.agent_id,
        principal_id=after.principal_id,
        at_ms=0,
        cause=cause,
        by=caller.name,
        from_level=before.trust_level,
        to_level=after.trust_level,
        status=after.status,
        reason=shown(reason),
    )
    return note_in_entry(change, entry)


def note_in_entry(change: TrustChange, entry: Activity) -> TrustChange:
    return msgspec.structs.replace(change, activity_id=entry.activity_id, at_ms=entry.at_ms)


async def list_notices_of(services: Services, agent: Agent, *changes: TrustChange) -> tuple[Delivery, ...]:
    """The notices of these changes, for whoever wants them."""
    told = (
        agent_news(_event(change), agent, change.activity_id, change.at_ms, {"change": change.details()})
        for change in changes
    )
    return await deliveries_of(services, *told)


def _event(change: TrustChange) -> Event:
    match change.cause:
        case Cause.SUSPENDED | Cause.COMPLAINT:
            return Event.TRUST_SUSPENDED
        case Cause.REACTIVATED:
            return Event.TRUST_REACTIVATED
    return Event.TRUST_CHANGED


def publish_trust(services: Services, change: TrustChange) -> None:
    services.events.publish(
        {
            "type": "trust",
            "agent_id": change.agent_id,
            "principal_id": change.principal_id,
            "activity_id": change.activity_id,
            "timestamp": iso(change.at_ms),
            **change.details(),
        }
    )
