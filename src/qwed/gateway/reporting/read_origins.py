"""Who said this value: asked of what a conversation has heard. For people, never for the agent itself."""

import msgspec

from qwed.domain.agents import AgentId
from qwed.domain.credentials import Caller, Scope
from qwed.domain.json_types import Json
from qwed.gateway.decide.value_origins import coverage_of, trace_value
from qwed.gateway.kernel.answers import Answer, malformed
from qwed.gateway.kernel.masks import conceal_name
from qwed.gateway.kernel.records import SearchQuery
from qwed.gateway.kernel.requests import MAX_TEXT, convert
from qwed.gateway.kernel.services import Services
from qwed.gateway.kernel.visibility import require_scope
from qwed.origins.trace import Traced


class OriginsBody(msgspec.Struct, forbid_unknown_fields=True):
    conversation_id: str
    value: str


async def read_origins(services: Services, caller: Caller, raw: Json) -> Answer:
    """Each agent that has such a conversation within the caller's walls, with what its conversation knows."""
    require_scope(caller, Scope.READ)
    body = convert(raw, OriginsBody)
    if not 1 <= len(body.value) <= MAX_TEXT:
        raise malformed("value", f"has 1 to {MAX_TEXT} characters")
    # As it is stored: a name that looks like a secret is not.
    name = conceal_name(body.conversation_id)
    page = await services.store.search(SearchQuery(caller.principal_id, conversation_id=name))
    agents = dict.fromkeys(activity.agent_id for activity, _ in page.entries)
    found = [await _of_agent(services, agent_id, name, body.value) for agent_id in agents]
    return Answer({"conversation_id": name, "agents": found})


async def _of_agent(
    services: Services, agent_id: AgentId, conversation_id: str, value: str
) -> dict[str, Json]:
    index = await services.hearing.index_of(services.store, services.signer, agent_id, conversation_id)
    traced = [] if index is None else trace_value(index, value)
    return {
        "agent_id": agent_id,
        "provenance": coverage_of(index),
        "origins": [_show(each) for each in traced],
    }


def _show(traced: Traced) -> dict[str, Json]:
    shown: dict[str, Json] = {"value": traced.value, "origin": traced.origin.value, "says": traced.says}
    return {**shown, "tool": traced.tool, "step_number": traced.step} if traced.tool else shown
