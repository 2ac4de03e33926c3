"""How actions come in: proposed, called as a tool, granted by a person, or edited by one.

Check 1 (the credential) has been made by the caller of this module: see `authenticate.py`.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, TypeVar

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
from qwed.gateway.decide.plan import find_plan, plan_for
from qwed.gateway.decide.run import decide, leave_unrecorded
from qwed.gateway.decide.table import TABLE
from qwed.gateway.kernel.answers import Answer, RequestError
from qwed.gateway.kernel.coroutines import pause
from qwed.gateway.kernel.kept_answers import open_answer
from qwed.gateway.kernel.live_policy import catch_up
from qwed.gateway.kernel.ports import KeyClaim, KeyTaken, PolicyMoved, StoreUnavailable
from qwed.gateway.kernel.records import Remembered
from qwed.gateway.kernel.requests import ToolRequest, VerifyRequest
from qwed.gateway.kernel.services import Services
from qwed.gateway.kernel.visibility import visible_agent

#: How long a retry waits for the first request under its key, and how often it looks.
MAX_WAIT_SECONDS: Final = 10.0
LOOK_SECONDS: Final = 0.05
_STILL_AT_WORK: Final = "the first request under this Idempotency-Key is still at work: send it again later"

T = TypeVar("T")


async def verify_action(
    services: Services, caller: Caller, agent_id: AgentId, request: VerifyRequest
) -> Answer | Remembered:
    """Checks 2 to 20. Raises `StoreUnavailable` when the answer could not be recorded."""

    def case_of(services: Services, agent: Agent, claim: KeyClaim | None) -> Case:
        return open_case(
            services,
            Door.ACTION,
            caller,
            agent,
            request.action,
            parameters=request.parameters,
            context=request.context,
            usage=request.usage,
            claim=claim,
            require_attestation=request.require_attestation,
            threshold=request.risk_threshold,
            presented=request.presented,
            wants_permit=request.wants_permit,
            takes_next_step=request.takes_next_step,
        )

    return await _decide_for(services, caller, agent_id, request.idempotency, case_of)


async def verify_tool(
    services: Services, caller: Caller, agent_id: AgentId, request: ToolRequest
) -> Answer | Remembered:
    """One tool call (section 6): never wider than `verify_action`. It executes nothing."""
    parameters = request.parameters if isinstance(request.parameters, Mapping) else {}

    def case_of(services: Services, agent: Agent, claim: KeyClaim | None) -> Case:
        return open_case(
            services,
            Door.TOOL,
            caller,
            agent,
            Action(request.tool_name, parameters=parameters),
            parameters=request.parameters,
            context=_add_justification(request),
            usage=request.usage,
            claim=claim,
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
    claim: KeyClaim | None = None,
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
        claim=claim,
        require_attestation=True,
        wants_permit=grant.wants_permit,
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
    return await decide(case, Live(services), leave_unrecorded, TABLE[case.door])


async def _decide_for(
    services: Services,
    caller: Caller,
    agent_id: AgentId,
    key: bytes | None,
    case_of: Callable[[Services, Agent, KeyClaim | None], Case],
) -> Answer | Remembered:
    agent = await visible_agent(services, caller, agent_id)
    if agent is None:  # 2
        return deny_unrecorded(Code.AGENT_UNKNOWN, f"agent {agent_id[:80]!r} is not registered")
    known: Agent = agent

    def decide_with(newest: Services, claim: KeyClaim | None = None) -> Awaitable[Answer]:
        return _decide_and_record(newest, case_of(newest, known, claim))

    if key is None:
        return await under_newest(services, decide_with)

    def decide_now(claim: KeyClaim | None) -> Awaitable[Answer]:
        return under_newest(services, lambda newest: decide_with(newest, claim))

    return await decide_once(services, agent, key, decide_now)


async def under_newest(services: Services, decide_with: Callable[[Services], Awaitable[T]]) -> T:
    """Decide, and decide once more where another policy came in force meanwhile. A second time is 503."""
    try:
        return await decide_with(services)
    except PolicyMoved:
        newest = await catch_up(services)
    try:
        return await decide_with(newest)
    except PolicyMoved:
        raise StoreUnavailable("the policy changed twice while this was decided: ask again") from None


async def decide_once(
    services: Services,
    agent: Agent,
    key: bytes | None,
    decide_now: Callable[[KeyClaim | None], Awaitable[Answer]],
) -> Answer | Remembered:
    """A request repeated under its key gets the recorded answer (looked up before check 4); one that is
    repeated while the first is at work waits for it, and takes its place where it has ended or died."""
    if key is None:
        return await decide_now(None)
    return await services.repeats.do(
        (agent.agent_id, key), lambda: _recall_or_decide(services, agent, key, decide_now)
    )


async def _recall_or_decide(
    services: Services,
    agent: Agent,
    key: bytes,
    decide_now: Callable[[KeyClaim | None], Awaitable[Answer]],
) -> Answer | Remembered:
    store, clock = services.store, services.clock
    patience = min(services.policy.limits.lease_seconds, MAX_WAIT_SECONDS)
    end = clock.counter() + patience
    while True:
        found = await store.claim_key(agent.agent_id, key, clock.now_ms())
        if agent.status is not AgentStatus.ACTIVE and not isinstance(found, KeyClaim):
            return await decide_now(None)
        if isinstance(found, Remembered):
            return open_answer(services.signer, found)
        if isinstance(found, KeyClaim):
            try:
                return await decide_now(found)
            except KeyTaken:
                pass
            except BaseException:
                await store.give_up_key(found)
                raise
        if clock.counter() >= end:
            raise RequestError(Refusal(Code.KEY_IN_FLIGHT, _STILL_AT_WORK), retry_after=1)
        await pause(LOOK_SECONDS)


async def _decide_and_record(services: Services, case: Case) -> Answer:
    facts = Live(services)
    plan = find_plan(services, case) or await plan_for(services, case, facts)
    begun = case.add(rule=plan.rule, agent_digest=plan.agent_digest)
    return await decide(begun, facts, finish, plan.rows)


def deny_unrecorded(code: Code, message: str) -> Answer:
    """A denial with no agent of the caller's to record it under."""
    body = {"decision": Decision.DENIED.value, "error": Refusal(code, message).to_wire()}
    return Answer(body, CODES[code].status)
