"""Searching the record across agents, and one entry with everything that belongs to it."""

from collections.abc import Mapping
from typing import Final

import msgspec

from qwed.domain.agents import AgentId
from qwed.domain.codes import Code
from qwed.domain.credentials import Caller, Scope
from qwed.domain.decisions import Decision
from qwed.domain.json_types import Json
from qwed.domain.policy import Policy
from qwed.domain.times import iso
from qwed.gateway.decide.account import tell_account
from qwed.gateway.kernel.answers import Answer, malformed, refuse
from qwed.gateway.kernel.changes import GATEWAY, NOTED
from qwed.gateway.kernel.masks import sought_name, sought_type
from qwed.gateway.kernel.records import Activity, SearchQuery
from qwed.gateway.kernel.services import Services
from qwed.gateway.kernel.visibility import names_of, require_own_or_scope, require_scope
from qwed.gateway.kernel.wire import encode_json
from qwed.gateway.reporting.read_activity import (
    cursor_of,
    entry_with_outcome,
    position_of,
    read_instant,
    read_limit,
)

PARAMETERS: Final = (
    "agent_id",
    "decision",
    "action_type",
    "error_code",
    "conversation_id",
    "text",
    "from",
    "to",
    "limit",
    "cursor",
)
MAX_TEXT_SOUGHT: Final = 256


async def search_activity(services: Services, caller: Caller, given: Mapping[str, str]) -> Answer:
    """Newest first. `searched_to` says how far back was looked: a page may be short and yet have a `next`."""
    require_scope(caller, Scope.READ)
    query = _query(services.policy, caller, given)
    page = await services.store.search(query)
    # The gateway's own entries, of keys and the like, are for operators and auditors.
    seen = [(entry, told) for entry, told in page.entries if caller.reads_all or entry.agent_id != GATEWAY]
    body: dict[str, Json] = {
        "activities": [entry_with_outcome(entry.payload, told) for entry, told in seen],
        "agents": await names_of(services, {entry.agent_id for entry, _ in seen}),
    }
    if page.reached_ms is not None:
        body["searched_to"] = iso(page.reached_ms)
    if page.next_seq is not None:
        body["next"] = cursor_of(page.next_seq)
    return Answer(body)


def _query(policy: Policy, caller: Caller, given: Mapping[str, str]) -> SearchQuery:
    for name in given:
        if name not in PARAMETERS:
            raise malformed(name[:80], f"is no parameter of this query; there are {', '.join(PARAMETERS)}")
    decision, text = given.get("decision"), given.get("text")
    if decision is not None and decision not in (*Decision, NOTED):
        raise malformed("decision", f"is one of {', '.join((*Decision, NOTED))}")
    if text is not None and not 1 <= len(text) <= MAX_TEXT_SOUGHT:
        raise malformed("text", f"has 1 to {MAX_TEXT_SOUGHT} characters")
    return SearchQuery(
        caller.reads_of,
        agent_id=AgentId(given["agent_id"]) if "agent_id" in given else None,
        from_ms=read_instant("from", given.get("from")),
        to_ms=read_instant("to", given.get("to")),
        decision=decision,
        action_type=sought_type(policy, given.get("action_type")),
        error_code=given.get("error_code"),
        conversation_id=sought_name(given.get("conversation_id")),
        # As it stands in the entry, where quotes and backslashes are escaped.
        text=None if text is None else encode_json(text)[1:-1],
        limit=read_limit(given.get("limit")),
        before_seq=position_of(given.get("cursor")),
    )


async def show_activity(services: Services, caller: Caller, activity_id: str) -> Answer:
    """One entry, the checks it went through, and the approval that belongs to it."""
    require_own_or_scope(caller, Scope.READ)
    found = await services.store.activity(activity_id)
    if found is None or not _is_visible(caller, found[0]):
        raise refuse(Code.NOT_FOUND, f"there is no activity {activity_id[:80]!r}")
    activity, outcome = found
    entry = msgspec.json.decode(activity.payload)
    body: dict[str, Json] = {
        "activity": entry_with_outcome(activity.payload, outcome),
        "agents": await names_of(services, {activity.agent_id}),
        "checks": tell_account(entry if isinstance(entry, dict) else {}),
    }
    approval_id = entry.get("approval_id") if isinstance(entry, dict) else None
    approval = await services.store.approval(approval_id) if isinstance(approval_id, str) else None
    if approval is not None and approval.principal_id == activity.principal_id:
        body["approval"] = approval.to_wire(services.clock.now_ms())
    return Answer(body)


def _is_visible(caller: Caller, activity: Activity) -> bool:
    if caller.agent_id is not None:
        return activity.agent_id == caller.agent_id
    if caller.reads_all:
        return True
    return activity.principal_id == caller.principal_id and activity.agent_id != GATEWAY
