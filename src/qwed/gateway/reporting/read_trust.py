"""An agent's standing and how it came about, as its agent, principal or an operator may read it."""

from qwed.domain.agents import Agent, AgentId, AgentStatus
from qwed.domain.conduct import conduct_status
from qwed.domain.credentials import Caller, Scope
from qwed.domain.json_types import Json
from qwed.domain.risk import Risk
from qwed.domain.times import DAY_MS, day_of
from qwed.domain.trust import cell
from qwed.gateway.kernel.answers import Answer
from qwed.gateway.kernel.services import Services
from qwed.gateway.kernel.visibility import require_own_or_scope
from qwed.gateway.reporting.read_activity import cursor_of, position_of, require_history


async def read_trust(
    services: Services, caller: Caller, agent_id: AgentId, cursor: str | None, limit: int
) -> Answer:
    """Newest change first. The history outlives the agent."""
    await require_history(services, caller, agent_id, sees_all=caller.reads_all)
    require_own_or_scope(caller, Scope.READ)
    found = await services.store.trust_changes(agent_id, position_of(cursor), limit + 1)
    page = found[:limit]
    agent = await services.store.agent(agent_id)
    body: dict[str, Json] = {"agent_id": agent_id, **await _standing(services, agent)}
    body["changes"] = [change.to_wire() for _, change in page]
    if len(found) > limit:
        body["next"] = cursor_of(page[-1][0])
    return Answer(body)


async def _standing(services: Services, agent: Agent | None) -> dict[str, Json]:
    if agent is None:
        return {"status": AgentStatus.DEREGISTERED}
    standing, now_ms = await services.store.standing(agent.agent_id), services.clock.now_ms()
    today_ms = day_of(now_ms) * DAY_MS
    found = await services.store.count_findings(None, agent.agent_id, today_ms, now_ms + 1)
    return {
        "status": agent.status,
        "trust_level": int(agent.trust_level),
        "may": {risk.wire: cell(agent.trust_level, risk) for risk in Risk},
        "conduct": {**conduct_status(standing, now_ms), "permit_findings": found},
    }
