"""What a principal does with its agents after registering them."""

from collections.abc import Callable
from typing import Any

import msgspec

from qwed.domain.agents import Agent, AgentId, AgentStatus, Permissions
from qwed.domain.budgets import budget_status
from qwed.domain.codes import Code
from qwed.domain.credentials import Caller, Scope, credential_hash
from qwed.domain.json_types import Json
from qwed.domain.trust_changes import Cause
from qwed.gateway.agents.register_agent import BudgetBody, check_permissions, read_budget
from qwed.gateway.kernel.answers import Answer, malformed, refuse
from qwed.gateway.kernel.changes import noted
from qwed.gateway.kernel.records import Record
from qwed.gateway.kernel.requests import MAX_TEXT, convert
from qwed.gateway.kernel.services import Services
from qwed.gateway.kernel.trust_entries import list_notices_of, publish_trust, record_standing_change
from qwed.gateway.kernel.visibility import require_agent, require_own_or_scope, require_scope


class PermissionsBody(msgspec.Struct, forbid_unknown_fields=True):
    """What is left out stays as it is: a list of engines must not unblock a tool."""

    allowed_engines: tuple[str, ...] | msgspec.UnsetType = msgspec.UNSET
    allowed_tools: tuple[str, ...] | msgspec.UnsetType = msgspec.UNSET
    blocked_tools: tuple[str, ...] | msgspec.UnsetType = msgspec.UNSET


class ChangeBody(msgspec.Struct, forbid_unknown_fields=True):
    permissions: PermissionsBody | None = None
    budget: BudgetBody | None = None
    description: str | None = None


class ReasonBody(msgspec.Struct, forbid_unknown_fields=True):
    reason: str | None = None


async def list_agents(services: Services, caller: Caller, after: str | None, limit: int) -> Answer:
    require_scope(caller, Scope.READ)
    agents = await services.store.agents(caller.principal_id, after, limit + 1)
    page = agents[:limit]
    body: dict[str, Json] = {"agents": [agent.to_wire() for agent in page]}
    if len(agents) > limit:
        body["next"] = page[-1].agent_id
    return Answer(body)


async def show_agent(services: Services, caller: Caller, agent_id: AgentId) -> Answer:
    agent = await require_agent(services, caller, agent_id)
    require_own_or_scope(caller, Scope.READ)
    return Answer(agent.to_wire())


async def show_budget(services: Services, caller: Caller, agent_id: AgentId) -> Answer:
    agent = await require_agent(services, caller, agent_id)
    require_own_or_scope(caller, Scope.READ)
    spending = await services.store.spending(agent, services.clock.now_ms())
    return Answer({"agent_id": agent_id, **budget_status(agent.budget, spending)})


async def change_agent(services: Services, caller: Caller, agent_id: AgentId, raw: Json) -> Answer:
    require_scope(caller, Scope.REGISTER)
    await require_agent(services, caller, agent_id)
    body = convert(raw, ChangeBody)
    given = {} if body.permissions is None else msgspec.structs.asdict(body.permissions)
    permissions = {name: names for name, names in given.items() if names is not msgspec.UNSET}
    check_permissions(Permissions(**permissions))
    if body.description is not None and len(body.description) > MAX_TEXT:
        raise malformed("description", f"is longer than {MAX_TEXT} characters")

    def changed(agent: Agent) -> Agent:
        return msgspec.structs.replace(
            agent,
            permissions=msgspec.structs.replace(agent.permissions, **permissions),
            budget=read_budget(agent.budget, body.budget),
            description=agent.description if body.description is None else body.description,
        )

    return await change(services, caller, agent_id, "change_agent", changed, raw)


async def deregister_agent(services: Services, caller: Caller, agent_id: AgentId) -> Answer:
    """Its token stops working; its history stays."""
    require_scope(caller, Scope.REGISTER)

    def gone(agent: Agent) -> Agent:
        if agent.status is AgentStatus.SUSPENDED and agent.suspended_for_violation and not caller.is_operator:
            raise refuse(
                Code.AUTH_FORBIDDEN,
                "the agent is suspended for a violation: an operator has to deregister it",
            )
        return msgspec.structs.replace(agent, status=AgentStatus.DEREGISTERED)

    return await change(services, caller, agent_id, "deregister_agent", gone, {})


async def suspend_agent(services: Services, caller: Caller, agent_id: AgentId, raw: Json) -> Answer:
    require_scope(caller, Scope.REGISTER)
    return await _suspend(services, caller, agent_id, raw, "suspend_agent", Cause.SUSPENDED)


async def complain(services: Services, caller: Caller, agent_id: AgentId, raw: Json) -> Answer:
    """A principal's complaint suspends at once (section 8)."""
    require_scope(caller, Scope.REGISTER)
    return await _suspend(services, caller, agent_id, raw, "complaint", Cause.COMPLAINT)


async def _suspend(
    services: Services, caller: Caller, agent_id: AgentId, raw: Json, what: str, cause: Cause
) -> Answer:
    await require_agent(services, caller, agent_id)
    reason = convert({} if raw is None else raw, ReasonBody).reason
    if reason is not None and len(reason) > MAX_TEXT:
        raise malformed("reason", f"is longer than {MAX_TEXT} characters")

    def suspend(agent: Agent) -> Agent:
        return msgspec.structs.replace(
            agent,
            status=AgentStatus.SUSPENDED,
            status_reason=reason,
            suspended_for_violation=agent.suspended_for_violation or cause is Cause.COMPLAINT,
        )

    return await change(services, caller, agent_id, what, suspend, {"reason": reason}, cause)


async def reactivate_agent(services: Services, caller: Caller, agent_id: AgentId) -> Answer:
    """After a violation this needs the scope `trust`: whoever can act through the agent usually lacks it."""
    require_scope(caller, Scope.REGISTER)

    def active(agent: Agent) -> Agent:
        if agent.suspended_for_violation:
            require_scope(caller, Scope.TRUST)
        return msgspec.structs.replace(
            agent, status=AgentStatus.ACTIVE, status_reason=None, suspended_for_violation=False
        )

    return await change(services, caller, agent_id, "reactivate_agent", active, {}, Cause.REACTIVATED)


async def rotate_token(services: Services, caller: Caller, agent_id: AgentId) -> Answer:
    require_scope(caller, Scope.REGISTER)
    token = ""

    def renew(agent: Agent) -> Agent:
        nonlocal token
        token = services.ids.agent_token(agent.principal_id)
        token_hash = credential_hash(token)
        assert token_hash is not None
        seen_by = dict.fromkeys((*agent.token_seen_by, *caller.names))
        return msgspec.structs.replace(agent, token_hash=token_hash, token_seen_by=tuple(seen_by))

    answer = await change(services, caller, agent_id, "rotate_token", renew, {})
    return Answer({**answer.body, "agent_token": token})


async def change(
    services: Services,
    caller: Caller,
    agent_id: AgentId,
    what: str,
    changed: Callable[[Agent], Agent],
    details: Any,
    cause: Cause | None = None,
) -> Answer:
    """One change of an agent at a time, made from what it is now: no change undoes another.

    With a cause it is a change of the agent's standing: its history keeps it, and people are told of it.
    """
    async with services.turns.turn(agent_id):
        before = await require_agent(services, caller, agent_id)
        agent = changed(before)
        activity = noted(services, caller, what, details, agent=agent)
        record, standing = Record(activity, agent=agent), None
        if cause is not None:
            standing = record_standing_change(caller, before, agent, cause, details.get("reason"), activity)
            told = await list_notices_of(services, agent, standing)
            record = msgspec.structs.replace(record, trust_changes=(standing,), deliveries=told)
        await services.store.commit(record)
    if standing is not None:
        publish_trust(services, standing)
    return Answer({**agent.to_wire(), "activity_id": activity.activity_id})
