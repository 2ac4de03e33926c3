"""The audit trail, as its owner may read it."""

import base64
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from qwed.domain.agents import AgentId, PrincipalId
from qwed.domain.credentials import Caller, Scope
from qwed.domain.decisions import Decision
from qwed.domain.json_types import Json
from qwed.domain.money import usd_of
from qwed.domain.outcomes import Outcome
from qwed.domain.policy import Policy
from qwed.domain.times import iso, parse_iso
from qwed.gateway.kernel.answers import Answer, malformed
from qwed.gateway.kernel.changes import GATEWAY, NOTED
from qwed.gateway.kernel.masks import sought_name, sought_type
from qwed.gateway.kernel.records import ActivityPage, ActivityQuery
from qwed.gateway.kernel.services import Services
from qwed.gateway.kernel.visibility import agent_unknown, require_own_or_scope, visible_agent

DEFAULT_LIMIT: Final = 50
MAX_LIMIT: Final = 1_000
_PARAMETERS: Final = ("from", "to", "decision", "action_type", "conversation_id", "limit", "cursor")


async def read_activity(
    services: Services, caller: Caller, agent_id: AgentId, parameters: Mapping[str, str]
) -> Answer:
    await require_history(services, caller, agent_id, sees_all=caller.reads_all)
    require_own_or_scope(caller, Scope.READ)
    query = _query(services.policy, agent_id, parameters)
    page = await services.store.activities(query)
    body: dict[str, Json] = {
        "agent_id": agent_id,
        "period": {
            "from": None if query.from_ms is None else iso(query.from_ms),
            "to": None if query.to_ms is None else iso(query.to_ms),
        },
        "summary": _summary(page),
        "activities": [entry_with_outcome(payload, outcome) for payload, outcome in page.entries],
    }
    if page.next_seq is not None:
        body["next"] = cursor_of(page.next_seq)
    return Answer(body)


async def require_history(services: Services, caller: Caller, agent_id: AgentId, *, sees_all: bool) -> None:
    """An agent's record outlives the agent. `sees_all`: it may be anybody's, or the gateway's own."""
    if agent_id == GATEWAY and sees_all:
        return
    if await visible_agent(services, caller, agent_id) is None:
        # An agent's token opens its own record only.
        if agent_id == GATEWAY or caller.agent_id is not None:
            raise agent_unknown(agent_id)
        owner = await _last_owner(services, agent_id)
        if owner is None or not (sees_all or owner == caller.principal_id):
            raise agent_unknown(agent_id)


async def _last_owner(services: Services, agent_id: AgentId) -> PrincipalId | None:
    """Whose record it is, by its newest entry: an agent that is gone is found nowhere else."""
    page = await services.store.activities(ActivityQuery(agent_id, limit=1))
    if not page.entries:
        return None
    newest = msgspec.json.decode(page.entries[0][0], type=_Named)
    found = await services.store.activity(newest.activity_id)
    return None if found is None else found[0].principal_id


class _Named(msgspec.Struct):
    activity_id: str


def entry_with_outcome(payload: bytes, outcome: Outcome | None) -> Any:
    """The stored entry as it is; what happened later is added beside it."""
    if outcome is None:
        return msgspec.Raw(payload)
    entry = msgspec.json.decode(payload, type=dict[str, msgspec.Raw])
    return {**entry, "execution": outcome.to_wire()}


def _summary(page: ActivityPage) -> dict[str, Json]:
    counts = {decision: page.summary.get(decision.value, (0, 0))[0] for decision in Decision}
    return {
        "total_actions": sum(counts.values()),
        **{decision.value.lower(): count for decision, count in counts.items()},
        "total_cost_usd": usd_of(sum(cost for _, cost in page.summary.values())),
    }


def _query(policy: Policy, agent_id: AgentId, given: Mapping[str, str]) -> ActivityQuery:
    for name in given:
        if name not in _PARAMETERS:
            raise malformed(name[:80], f"is no parameter of this query; there are {', '.join(_PARAMETERS)}")
    decision = given.get("decision")
    if decision is not None and decision not in (*Decision, NOTED):
        raise malformed("decision", f"is one of {', '.join((*Decision, NOTED))}")
    return ActivityQuery(
        agent_id,
        from_ms=read_instant("from", given.get("from")),
        to_ms=read_instant("to", given.get("to")),
        decision=decision,
        action_type=sought_type(policy, given.get("action_type")),
        conversation_id=sought_name(given.get("conversation_id")),
        limit=read_limit(given.get("limit")),
        before_seq=position_of(given.get("cursor")),
    )


def read_limit(given: str | int | None) -> int:
    """A page's size, as text from a query or as a number from a caller in this process."""
    if given is None:
        return DEFAULT_LIMIT
    if isinstance(given, str):
        given = int(given) if given.isascii() and given.isdigit() and len(given) <= 4 else 0
    if type(given) is not int or not 1 <= given <= MAX_LIMIT:
        raise malformed("limit", f"is a number from 1 to {MAX_LIMIT}")
    return given


def read_instant(field: str, text: str | None) -> int | None:
    if text is None:
        return None
    try:
        # A plus sign that was not percent-encoded arrives as a space.
        return parse_iso(text.replace(" ", "+"))
    except (ValueError, OverflowError):
        raise malformed(
            field, "is a time in ISO 8601, such as 2026-04-06T12:00:00Z (years 1970 to 9999)"
        ) from None


def cursor_of(seq: int) -> str:
    return base64.urlsafe_b64encode(str(seq).encode()).decode().rstrip("=")


def position_of(cursor: str | None) -> int | None:
    if cursor is None:
        return None
    try:
        text = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)).decode("ascii")
    except (ValueError, UnicodeError):
        text = ""
    if not text.isdigit() or len(text) > 18:
        raise malformed("cursor", "is the 'next' of an earlier answer")
    return int(text)
