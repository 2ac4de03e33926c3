"""Whoever has seen an agent's token can act as that agent, so another key answers its approvals."""

from typing import Final

from qwed.domain.agents import Agent
from qwed.domain.approvals import Approval
from qwed.domain.codes import Code, Refusal
from qwed.domain.credentials import ApiKey, Caller, Scope
from qwed.domain.policy import Separate
from qwed.gateway.kernel.services import Services

_HAS_SEEN: Final = Refusal(
    Code.APPROVAL_FORBIDDEN,
    "this key registered the agent or rotated its token, so it could act as the agent: another key has"
    " to answer (approvals.separate)",
)
_NOBODY_KNOWS: Final = Refusal(
    Code.APPROVAL_FORBIDDEN,
    "nobody knows which key has seen this agent's token: rotate it with a key that does not answer approvals"
    " (approvals.separate)",
)


async def separation_refusal(
    services: Services, caller: Caller, agent: Agent, approval: Approval
) -> Refusal | None:
    """Why this key may not answer for this agent, whatever else it may."""
    rule = services.policy.approvals.separate
    if rule is Separate.OFF:
        return None
    if rule is Separate.ALWAYS and not agent.token_seen_by:
        return _NOBODY_KNOWS
    if not set(caller.names).intersection(agent.token_seen_by):
        return None
    # Who else may sign in, the provider knows and the gateway does not: it is possible that somebody can.
    if rule is Separate.WHEN_POSSIBLE and not services.policy.people.groups:
        keys = await services.store.keys(agent.principal_id)
        now_ms = services.clock.now_ms()
        if not any(key.is_valid(now_ms) and _could_answer(key, agent, approval) for key in keys):
            return None
    return _HAS_SEEN


def _could_answer(key: ApiKey, agent: Agent, approval: Approval) -> bool:
    """Only a key that is able to answer this very approval makes it possible to separate."""
    names = set(Caller.of_key(key).names)
    if Scope.APPROVE not in key.scopes:
        return False
    if names.intersection(agent.token_seen_by) or names.intersection(approval.requested_by):
        return False
    if any(vote.names & names for vote in approval.votes):
        return False
    return approval.role is None or bool(set(key.roles).intersection(approval.roles_asked))
