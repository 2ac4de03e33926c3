"""What people are told of, written with what it tells of: a crash in between loses nothing.

Only what is notable comes here, and only where somebody wants to hear of it is anything made.
"""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from qwed.domain.agents import Agent, AgentId, PrincipalId
from qwed.domain.approvals import Approval
from qwed.domain.deliveries import Delivery
from qwed.domain.times import iso
from qwed.domain.webhooks import Event, Webhook
from qwed.gateway.kernel.services import Services
from qwed.gateway.kernel.wire import encode_json

MAX_BODY: Final = 65_536
#: In a body that would be longer, members longer than this are named and left out.
MAX_MEMBER: Final = 4_096


class News(msgspec.Struct, frozen=True):
    """What happened, to whose agent. `data` is shown as it stands: secrets are masked before."""

    event: Event
    agent_id: AgentId
    principal_id: PrincipalId
    activity_id: str
    at_ms: int
    data: Mapping[str, Any]
    #: Who may answer, where the event concerns an approval.
    roles: tuple[str, ...] = ()


async def deliveries_of(services: Services, *told: News | None) -> tuple[Delivery, ...]:
    """One delivery for each webhook that hears of it: those of the principal, and those of the operators."""
    made: list[Delivery] = []
    for news in told:
        if news is None:
            continue
        hooks = await services.store.destinations(news.principal_id)
        hearing = [hook for hook in hooks if hook.hears(news.event, news.roles)]
        if hearing:
            event_id = services.ids.event(news.at_ms)
            body = _body(event_id, news)
            made += [addressed(services, hook, news.event, event_id, news.at_ms, body) for hook in hearing]
    return tuple(made)


def addressed(
    services: Services, hook: Webhook, event: Event, event_id: str, at_ms: int, body: bytes
) -> Delivery:
    return Delivery(
        services.ids.delivery(at_ms),
        hook.webhook_id,
        hook.principal_id,
        event_id,
        event,
        at_ms,
        at_ms,
        body,
    )


def approval_news(event: Event, approval: Approval, activity_id: str, now_ms: int) -> News:
    return News(
        event,
        approval.agent_id,
        approval.principal_id,
        activity_id,
        now_ms,
        {"approval": approval.to_wire(now_ms)},
        approval.roles_asked,
    )


def agent_news(event: Event, agent: Agent, activity_id: str, now_ms: int, details: Mapping[str, Any]) -> News:
    """Of an agent's standing: its trust level, or whether it may act at all."""
    data = {"agent": {"name": agent.name, "status": agent.status, "trust_level": int(agent.trust_level)}}
    return News(event, agent.agent_id, agent.principal_id, activity_id, now_ms, {**data, **details})


def _body(event_id: str, news: News) -> bytes:
    wire: dict[str, Any] = {
        "id": event_id,
        "type": news.event,
        "created_at": iso(news.at_ms),
        "principal_id": news.principal_id,
        "agent_id": news.agent_id,
        "activity_id": news.activity_id,
        "data": news.data,
    }
    body = encode_json(wire)
    if len(body) <= MAX_BODY:
        return body
    wire["data"] = {name: _shorten(member) for name, member in news.data.items()}
    return encode_json(wire)


def _shorten(member: Any) -> Any:
    """A member's own members as far as they are short; the record holds the rest."""
    if not isinstance(member, Mapping):
        return member if len(encode_json(member)) <= MAX_MEMBER else None
    sizes = {name: len(encode_json(inner)) for name, inner in member.items()}
    left_out = [name for name, size in sizes.items() if size > MAX_MEMBER]
    kept = {name: inner for name, inner in member.items() if sizes[name] <= MAX_MEMBER}
    return {**kept, "left_out": left_out}
