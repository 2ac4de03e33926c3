"""How actions come in: proposed, called as a tool, granted by a person, or edited by one.

Check 1 (the credential) has been made by the caller of this module: see `authenticate.py`.
"""

import functools
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from qwed.domain.actions import Action
from qwed.domain.agents import Agent, AgentId, AgentStatus
from qwed.domain.approvals import Approval
from qwed.domain.budgets import Charge
from qwed.domain.codes import CODES, Code, Refusal
from qwed.domain.credentials import Caller
from qwed.domain.decisions import Decision
from qwed.domain.money import NanoUsd
from qwed.gateway.decide.case import Case, Door, Place, open_case
from qwed.gateway.decide.facts import Live
from qwed.gateway.decide.finish import finish
from qwed.gateway.decide.gates import assess_tool
from qwed.gateway.decide.run import decide, leave_unrecorded
from qwed.gateway.kernel.answers import Answer
from qwed.gateway.kernel.records import Remembered
from qwed.gateway.kernel.requests import ToolRequest, VerifyRequest
from qwed.gateway.kernel.services import Services
from qwed.gateway.kernel.visibility import visible_agent


async def verify_action(
    services: Services, caller: Caller, agent_id: AgentId, request: VerifyRequest
) -> Answer | Remembered:
    """Checks 2 to 20. Raises `StoreUnavailable` when the answer could not be recorded."""

    def case_of(agent: Agent) -> Case:
        return open_case(
            services,
            Door.ACTION,
            caller,
            agent,
            request.action,
            parameters=request.parameters,
            context=request.context,
            usage=request.usage,
            idempotency=request.idempotency,
            require_attestation=request.require_attestation,
            threshold=request.risk_threshold,
            presented=request.presented,
        )

    return await _decide_for(services, caller, agent_id, request.idempotency, case_of)


async def verify_tool(
    services: Services, caller: Caller, agent_id: AgentId, request: ToolRequest
) -> Answer | Remembered:
    """One tool call (section 6): never wider than `verify_action`. It executes nothing."""
    parameters = request.parameters if isinstance(request.parameters, Mapping) else {}

    def case_of(agent: Agent) -> Case:
        return open_case(
            services,
            Door.TOOL,
            caller,
            agent,
            Action(request.tool_name, parameters=parameters),
            parameters=request.parameters,
            context=_add_justification(request),
            usage=request.usage,
            idempotency=request.idempotency,
            presented=request.presented,
            is_advisory=request.context is None,
            assessment=assess_tool(services.policy, agent, request.tool_name, parameters),
        )

    return await _decide_for(services, caller, agent_id, request.idempotency, case_of)


def _add_justification(request: ToolRequest) -> Any:
    if request.justification is None:
        return request.context
    context = request.context if isinstance(request.context, Mapping) else {}
    return {"user_intent": request.justification, **context}


async def redeem_grant(
    services: Services,
    caller: Caller,
    agent: Agent,
    grant: Approval,
    action: Action,
    idempotency: bytes | None = None,
) -> Answer:
    """`grant` as it is once it is used, for exactly this action."""
    case = open_case(
        services,
        Door.GRANT,
        caller,
        agent,
        action,
        parameters=action.parameters,
        context={"conversation_id": grant.conversation_id, "step_number": grant.step},
        charge=Charge(NanoUsd(grant.cost_nano), grant.tokens),
        now_ms=grant.redeemed_ms,
        idempotency=idempotency,
        require_attestation=True,
        approval=grant,
        place=Place(*grant.place) if grant.place is not None else None,
    )
    return await _decide_and_record(services, case)


async def weigh_edit(
    services: Services, caller: Caller, agent: Agent, approval: Approval, action: Action
) -> Case:
    """All that a proposed action passes, at the place and under the profile of the one it replaces."""
    context: dict[str, Any] = {"conversation_id": approval.conversation_id, "step_number": approval.step}
    if approval.place is not None:
        context["workflow_id"], context["node_id"] = approval.place
    case = open_case(
        services,
        Door.EDIT,
        caller,
        agent,
        action,
        parameters=action.parameters,
        context=context,
        approval=approval,
    )
    return await decide(case, Live(services), leave_unrecorded)


async def _decide_for(
    services: Services,
    caller: Caller,
    agent_id: AgentId,
    key: bytes | None,
    case_of: Callable[[Agent], Case],
) -> Answer | Remembered:
    agent = await visible_agent(services, caller, agent_id)
    if agent is None:  # 2
        return deny_unrecorded(Code.AGENT_UNKNOWN, f"agent {agent_id[:80]!r} is not registered")
    if key is None:
        return await _decide_and_record(services, case_of(agent))
    return await decide_once(services, agent, key, lambda: _decide_and_record(services, case_of(agent)))


async def decide_once(
    services: Services, agent: Agent, key: bytes | None, decide_now: Callable[[], Awaitable[Answer]]
) -> Answer | Remembered:
    """A request repeated under its key gets the recorded answer (looked up before check 4)."""
    if key is None:
        return await decide_now()

    async def recall_or_decide() -> Answer | Remembered:
        recorded = await services.store.recall(agent.agent_id, key, services.clock.now_ms())
        if recorded is not None and agent.status is AgentStatus.ACTIVE:
            return recorded
        return await decide_now()

    return await services.repeats.do((agent.agent_id, key), recall_or_decide)


def _decide_and_record(services: Services, case: Case) -> Awaitable[Answer]:
    return decide(case, Live(services), functools.partial(finish, services))


def deny_unrecorded(code: Code, message: str) -> Answer:
    """A denial with no agent of the caller's to record it under."""
    body = {"decision": Decision.DENIED.value, "error": Refusal(code, message).to_wire()}
    return Answer(body, CODES[code].status)
