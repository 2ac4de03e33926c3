"""What the gateway's own record says of an agent, for whoever decides about its trust.

Nothing here is the agent's word, but for the outcomes it reported itself, which are counted apart: they
show what it says, and never speak for it.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Final

from qwed.domain.agents import Agent
from qwed.domain.decisions import Decision
from qwed.domain.json_types import Json
from qwed.domain.outcomes import Outcome
from qwed.domain.times import iso
from qwed.domain.trust_changes import Cause, TrustChange
from qwed.gateway.kernel.records import ActivityQuery
from qwed.gateway.kernel.services import Services

MAX_CHANGES: Final = 1_000
MAX_OUTCOMES: Final = 1_000

_COUNTED: Final = {
    "violations": Cause.SECURITY_VIOLATION,
    "repeated_denials": Cause.REPEATED_DENIALS,
    "budget_abuses": Cause.BUDGET_ABUSE,
    "complaints": Cause.COMPLAINT,
    "suspensions": Cause.SUSPENDED,
}


async def read_recorded_evidence(services: Services, agent: Agent) -> dict[str, Json]:
    """Figures since the agent has its level, and since it was registered."""
    changes = [change for _, change in await services.store.trust_changes(agent.agent_id, None, MAX_CHANGES)]
    outcomes = await services.store.outcomes(agent.agent_id, MAX_OUTCOMES)
    since = _level_since(agent, changes)
    return {
        **await _figures(services, agent, changes, since),
        "outcomes": _outcomes(agent, outcomes, since),
        "since_registration": await _figures(services, agent, changes, agent.created_ms),
    }


def _level_since(agent: Agent, changes: Sequence[TrustChange]) -> int:
    moves = (change.at_ms for change in changes if change.from_level is not change.to_level)
    return next(moves, agent.created_ms)


async def _figures(
    services: Services, agent: Agent, changes: Sequence[TrustChange], since: int
) -> dict[str, Json]:
    page = await services.store.activities(ActivityQuery(agent.agent_id, from_ms=since, limit=1))
    decided = {decision.lower(): page.summary.get(decision, (0, 0))[0] for decision in Decision}
    causes = Counter(change.cause for change in changes if change.at_ms >= since)
    return {
        "period": {"from": iso(since), "to": iso(services.clock.now_ms())},
        "actions": sum(decided.values()),
        **decided,
        **{name: causes[cause] for name, cause in _COUNTED.items()},
    }


def _outcomes(agent: Agent, outcomes: Sequence[Outcome], since: int) -> dict[str, dict[str, int]]:
    """A settled outcome is the word of the person who settled it."""
    own = f"agent:{agent.agent_id}"
    recent = [outcome for outcome in outcomes if outcome.reported_ms >= since]
    by_agent = [o for o in recent if o.reported_by == own and o.settled_by is None]
    by_others = [o for o in recent if o.reported_by != own or o.settled_by is not None]
    return {"reported_by_agent": _results(by_agent), "reported_by_others": _results(by_others)}


def _results(outcomes: Sequence[Outcome]) -> dict[str, int]:
    return dict(Counter(outcome.result.value for outcome in outcomes))
