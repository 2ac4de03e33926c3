"""Who may see what. Everything foreign looks exactly like nothing at all."""

from qwed.domain.agents import Agent, AgentId
from qwed.domain.codes import Code
from qwed.domain.credentials import Caller, Scope
from qwed.gateway.kernel.answers import RequestError, refuse
from qwed.gateway.kernel.degrade_trust import charge_foreign_token
from qwed.gateway.kernel.services import Services


async def visible_agent(services: Services, caller: Caller, agent_id: AgentId) -> Agent | None:
    """The agent, if it exists and is the caller's."""
    if caller.agent_id is not None and caller.agent_id != agent_id:
        await charge_foreign_token(services, caller, agent_id)
        return None
    agent = await services.store.agent(agent_id)
    if agent is None or caller.is_operator or caller.agent_id is not None:
        return agent
    return agent if caller.principal_id == agent.principal_id else None


async def require_agent(services: Services, caller: Caller, agent_id: AgentId) -> Agent:
    agent = await visible_agent(services, caller, agent_id)
    if agent is None:
        raise agent_unknown(agent_id)
    return agent


def agent_unknown(agent_id: AgentId) -> RequestError:
    return refuse(Code.AGENT_UNKNOWN, f"agent {agent_id[:80]!r} is not registered")


def require_scope(caller: Caller, scope: Scope) -> None:
    """A key with this scope; an agent's token never has one."""
    if not caller.may(scope):
        raise refuse(Code.AUTH_FORBIDDEN, f"this needs an API key with the scope '{scope.value}'")


def require_own_or_scope(caller: Caller, scope: Scope) -> None:
    """The agent itself (walls have been checked), or a key with this scope."""
    if caller.agent_id is None:
        require_scope(caller, scope)


def require_operator(caller: Caller) -> None:
    if not caller.is_operator:
        raise refuse(Code.AUTH_FORBIDDEN, "this needs an operator's key")


async def names_of(services: Services, agent_ids: set[AgentId]) -> dict[str, str]:
    """What the agents are called; one that is gone has no name any more."""
    found = {agent_id: await services.store.agent(agent_id) for agent_id in sorted(agent_ids)}
    return {agent_id: agent.name for agent_id, agent in found.items() if agent is not None}
