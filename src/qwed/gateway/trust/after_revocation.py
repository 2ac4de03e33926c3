"""What stands in an agent's way after its trust was reinstated: a revocation is only one of the reasons."""

from collections.abc import Iterator

from qwed.assurance.in_force import level_borne_out
from qwed.assurance.profiles import Mechanism
from qwed.domain.agents import DEFAULT_TRUST, Agent, AgentId, AgentStatus
from qwed.domain.approvals import ApprovalKind, ApprovalStatus
from qwed.domain.nodes import AGENT_DID
from qwed.domain.policy import plain_amount
from qwed.gateway.kernel.scorekeeper import Scorekeeper
from qwed.gateway.kernel.services import Services

#: How many open approvals are looked at for a review.
_APPROVALS = 100


async def list_needs(services: Services, keeper: Scorekeeper, peer: str) -> list[str]:
    """In sentences, for the operator who reinstates: each says what is missing and what to do."""
    needs = list(_score_needs(services, keeper, peer))
    if not peer.startswith(AGENT_DID):
        return needs
    agent = await services.store.agent(AgentId(peer.removeprefix(AGENT_DID)))
    if agent is None:
        return [*needs, "the agent is not registered any more: it has to be registered again"]
    needs += _level_needs(services, keeper, agent)
    return needs + await _review_needs(services, agent)


def _score_needs(services: Services, keeper: Scorekeeper, peer: str) -> Iterator[str]:
    now, asked, own = services.clock.now_ms() // 1000, services.assurance.thresholds, services.assurance.own
    score, confidence = keeper.table.score(peer, now), keeper.table.confidence(peer, now)
    floor, is_enforced = keeper.table.rules.floor, own is not None and own.has(Mechanism.TRUST_THRESHOLDS)
    if is_enforced and asked.min_trust is not None and score < asked.min_trust:
        yield (
            f"its score is {plain_amount(score)}, and every action asks for {plain_amount(asked.min_trust)}:"
            " seed it (qwed trust seed)"
        )
    elif score < floor:
        yield (
            f"its score is {plain_amount(score)}, below the floor of {plain_amount(floor)}:"
            " the next failure revokes it again, unless you seed it (qwed trust seed)"
        )
    if is_enforced and asked.min_confidence is not None and confidence < asked.min_confidence:
        yield (
            f"confidence in its score is {confidence.name.lower()}, and every action asks for"
            f" {asked.min_confidence.name.lower()}: that takes more interactions"
        )


def _level_needs(services: Services, keeper: Scorekeeper, agent: Agent) -> Iterator[str]:
    if agent.status is AgentStatus.SUSPENDED:
        reason = f" ({agent.status_reason})" if agent.status_reason else ""
        yield f"the agent is suspended{reason}: reactivate it (qwed agents reactivate)"
    begins = DEFAULT_TRUST[agent.type]
    if agent.trust_level < begins:
        yield (
            f"its trust level is {int(agent.trust_level)}, where its type begins with {int(begins)}:"
            " set the level (qwed trust set)"
        )
    score = keeper.table.score(agent.did, services.clock.now_ms() // 1000)
    held = level_borne_out(agent.trust_level, score, services.policy.assurance.level_scores)
    if held < agent.trust_level:
        yield (
            f"its score bears out level {int(held)} and not its own, {int(agent.trust_level)}"
            " (assurance.level_scores): seed it, or set a lower level"
        )


async def _review_needs(services: Services, agent: Agent) -> list[str]:
    waiting = await services.store.approvals(
        agent.principal_id,
        agent.agent_id,
        ApprovalStatus.OPEN,
        services.clock.now_ms(),
        None,
        _APPROVALS,
    )
    return [
        f"a review of its behaviour waits for an answer: {approval.approval_id}"
        for approval in waiting
        if approval.kind is ApprovalKind.REVIEW
    ]
