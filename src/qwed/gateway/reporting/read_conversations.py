"""An agent's latest conversations: how long each is, and how its steps were decided."""

from collections import Counter
from typing import Final

from qwed.domain.agents import AgentId
from qwed.domain.credentials import Caller, Scope
from qwed.domain.json_types import Json
from qwed.domain.times import iso
from qwed.gateway.kernel.answers import Answer
from qwed.gateway.kernel.records import Activity, SearchQuery
from qwed.gateway.kernel.services import Services
from qwed.gateway.kernel.visibility import require_own_or_scope
from qwed.gateway.reporting.read_activity import require_history

#: The newest entries that are looked at; older conversations are found by searching.
NEWEST: Final = 1_000
MAX_CONVERSATIONS: Final = 50


async def read_conversations(services: Services, caller: Caller, agent_id: AgentId) -> Answer:
    await require_history(services, caller, agent_id, sees_all=caller.reads_all)
    require_own_or_scope(caller, Scope.READ)
    query = SearchQuery(caller.reads_of, agent_id=agent_id, limit=NEWEST)
    found: dict[str, list[Activity]] = {}
    for activity, _ in (await services.store.search(query)).entries:
        if activity.conversation_id is not None:
            found.setdefault(activity.conversation_id, []).append(activity)
    newest = list(found.items())[:MAX_CONVERSATIONS]
    return Answer({"agent_id": agent_id, "conversations": [_describe(*item) for item in newest]})


def _describe(conversation_id: str, entries: list[Activity]) -> dict[str, Json]:
    """Entries come newest first."""
    decisions = Counter(activity.decision.lower() for activity in entries)
    return {
        "conversation_id": conversation_id,
        "from": iso(min(activity.at_ms for activity in entries)),
        "to": iso(max(activity.at_ms for activity in entries)),
        "entries": len(entries),
        "decisions": decisions,
    }
