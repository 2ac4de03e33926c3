"""Verify one proposed action: the numbered checks of the agent protocol, top to bottom.

Check 1 (the credential) has been made by the caller of this module: see `authenticate.py`.
"""

from collections.abc import Awaitable, Callable
from typing import Final, NamedTuple

from qwed.assurance.in_force import InForce
from qwed.domain.actions import Action
from qwed.domain.agents import Agent, AgentId, AgentStatus
from qwed.domain.codes import CODES, Code, Refusal
from qwed.domain.conduct import BLOCKED_TOOL
from qwed.domain.contexts import StepContext, read_context
from qwed.domain.credentials import Caller
from qwed.domain.deciding import Verdict
from qwed.domain.decisions import Decision
from qwed.domain.policy import ActionRule, Policy, ToolGroup, mark_dangerous
from qwed.domain.registry import TOOL_CONTROL
from qwed.domain.risk import Risk
from qwed.domain.skeleton import compact_skeleton
from qwed.domain.tools import explain_danger, skeletons
from qwed.engines.fair_queue import Client
from qwed.gateway.decide.execution_context import NotAccepted
from qwed.gateway.decide.profile_checks import entry_refusal, hold_to_thresholds, is_idle, judged, tightened
from qwed.gateway.decide.proposals import (
    Conclusion,
    Examined,
    Proposal,
    attempt_of,
    conclude,
    propose,
    with_execution_context,
)
from qwed.gateway.kernel.answers import Answer
from qwed.gateway.kernel.ports import Admission
from qwed.gateway.kernel.records import Remembered
from qwed.gateway.kernel.requests import VerifyRequest
from qwed.gateway.kernel.services import Services
from qwed.gateway.kernel.visibility import visible_agent
from qwed.gateway.policy.workflows import may_be_placed, placed, under_human_rules

#: What a type comes to that no registry knows any more and a person was asked about before.
UNKNOWN_TOOL: Final = ActionRule(TOOL_CONTROL, Risk.CRITICAL)


async def verify_action(
    services: Services, caller: Caller, agent_id: AgentId, request: VerifyRequest
) -> Answer | Remembered:
    """Checks 2 to 20. Raises `StoreUnavailable` when the answer could not be recorded."""
    agent = await visible_agent(services, caller, agent_id)
    if agent is None:  # 2
        return denied_unrecorded(Code.AGENT_UNKNOWN, f"agent {agent_id[:80]!r} is not registered")
    if request.idempotency is None:
        return await _verify(services, caller, agent, request)
    return await decided_once(
        services, agent, request.idempotency, lambda: _verify(services, caller, agent, request)
    )


async def decided_once(
    services: Services, agent: Agent, key: bytes, decide: Callable[[], Awaitable[Answer]]
) -> Answer | Remembered:
    """A request repeated under its key gets the recorded answer (looked up before check 4)."""

    async def recalled_or_decided() -> Answer | Remembered:
        recorded = await services.store.recall(agent.agent_id, key, services.clock.now_ms())
        if recorded is not None and agent.status is AgentStatus.ACTIVE:
            return recorded
        return await decide()

    return await services.repeats.do((agent.agent_id, key), recalled_or_decided)


async def _verify(services: Services, caller: Caller, agent: Agent, request: VerifyRequest) -> Answer:
    proposal = propose(
        services,
        caller,
        agent,
        request.action,
        parameters=request.parameters,
        context=request.context,
        usage=request.usage,
        now_ms=services.clock.now_ms(),
        idempotency=request.idempotency,
        require_attestation=request.require_attestation,
    )
    proposal, assured, refused = await enter(proposal, request.presented)
    if refused is not None:
        return await conclude(proposal, refused)
    context = read_context(request.context, state_required=services.state_required)  # 4, 5
    if isinstance(context, Refusal):
        return await conclude(proposal, Conclusion(Decision.DENIED, context))
    admission = await services.store.admit(agent, attempt_of(proposal, context), proposal.now_ms)  # 6 to 14
    if isinstance(admission, Refusal):
        conclusion = Conclusion(decision_of(admission), admission, context=context)
        return await conclude(proposal, conclusion)
    try:
        return await _deliberate(proposal, request, context, admission, assured)
    finally:
        # Whatever went wrong inside, the step is free again; after a commit there is nothing to free.
        await services.store.release(admission)


async def _deliberate(
    proposal: Proposal,
    request: VerifyRequest,
    context: StepContext,
    admission: Admission,
    assured: InForce | None,
) -> Answer:
    agent, name = proposal.agent, proposal.action.type
    rule = rule_for(proposal.services.policy, agent, name)  # 15
    refusal = unknown_action(name) if rule is None else permission_refusal(agent, rule, name)  # 16
    if rule is None or refusal is not None:
        denied = Conclusion(Decision.DENIED, refusal, context=context, admission=admission)
        return await conclude(proposal, denied)
    conclusion = await weigh(proposal, rule, assured, request.risk_threshold)  # 17 to 20
    conclusion.context, conclusion.admission = context, admission
    return await conclude(proposal, conclusion)


# --- what every door asks ---------------------------------------------------------------------------


class Entered(NamedTuple):
    """A proposal with what came along, the profile in force for it, and what speaks against looking at it."""

    proposal: Proposal
    assured: InForce | None = None
    refused: Conclusion | None = None


async def enter(proposal: Proposal, presented: tuple[str, ...] = ()) -> Entered:
    """Before the numbered checks go on: suspension, tokens, the place in a workflow, the profile."""
    refusal = suspended(proposal.agent)  # 3
    if refusal is None and presented:
        accepted = await with_execution_context(proposal, presented)
        if isinstance(accepted, NotAccepted):
            return Entered(proposal, refused=_not_accepted(accepted))
        proposal = accepted
    if refusal is None and may_be_placed(proposal.context):
        at_its_place = await placed(proposal)
        if isinstance(at_its_place, Refusal):
            refusal = at_its_place
        else:
            proposal = at_its_place
    assured = None if refusal is not None or is_idle(proposal) else entry_refusal(proposal)
    if isinstance(assured, Refusal):
        refusal, assured = assured, None
    refused = None if refusal is None else Conclusion(Decision.DENIED, refusal)
    return Entered(proposal, assured, refused)


def _not_accepted(token: NotAccepted) -> Conclusion:
    log = {"ect": token.says}
    return Conclusion(Decision.DENIED, token.refusal, log=log, is_forged=token.is_forged)


async def weigh(
    proposal: Proposal, rule: ActionRule, assured: InForce | None, threshold: Risk | None = None
) -> Conclusion:
    """Checks 17 to 20: engine, risk, trust, the danger of the name, profile, workflow, thresholds."""
    services, agent, action = proposal.services, proposal.agent, proposal.action
    examined = await examine(services, rule, action, Client(agent.principal_id, agent.agent_id))
    verdict = await judged(services, agent, examined, proposal.now_ms, threshold)
    if rule.group is ToolGroup.DANGEROUS and verdict.decision.lets_act:
        message = explain_danger(action.type, action.parameters)
        verdict = Verdict(Decision.PENDING, Refusal(Code.APPROVAL_REQUIRED, message))
    verdict = await tightened(proposal, assured, verdict, examined.risk)
    profile = None if assured is None else assured.profile
    conclusion = Conclusion(verdict.decision, verdict.refusal, examined, profile=profile)
    await under_human_rules(proposal, conclusion)
    await hold_to_thresholds(proposal, assured, conclusion)
    return conclusion


async def examine(services: Services, rule: ActionRule, action: Action, client: Client) -> Examined:
    """Ask the engine; the risk is the higher of what the type and what the content say."""
    started = services.clock.counter()
    finding = await services.prover.prove(rule.engine, action, client)
    latency_ms = round((services.clock.counter() - started) * 1000, 3)
    return Examined(finding, max(rule.risk or Risk.LOW, finding.risk), latency_ms)


def denied_unrecorded(code: Code, message: str) -> Answer:
    """A denial with no agent of the caller's to record it under."""
    body = {"decision": Decision.DENIED.value, "error": Refusal(code, message).to_wire()}
    return Answer(body, CODES[code].status)


def suspended(agent: Agent) -> Refusal | None:
    if agent.status is not AgentStatus.SUSPENDED:
        return None
    reason = f": {agent.status_reason}" if agent.status_reason else ""
    return Refusal(Code.AGENT_SUSPENDED, f"the agent is suspended{reason}")


def decision_of(refusal: Refusal) -> Decision:
    budgets = (Code.BUDGET_COST, Code.BUDGET_REQUESTS, Code.BUDGET_TOKENS)
    return Decision.BUDGET_EXCEEDED if refusal.code in budgets else Decision.DENIED


def rule_for(policy: Policy, agent: Agent, action_type: str) -> ActionRule | None:
    """What a type means for this agent. Its own tools are MEDIUM, unless they look like a dangerous one."""
    rule = policy.rules.get(action_type)
    if rule is not None or action_type not in agent.permissions.allowed_tools:
        return rule
    own = ActionRule(TOOL_CONTROL, Risk.MEDIUM)
    return mark_dangerous(own) if policy.reads_dangerous(action_type) else own


def permission_refusal(agent: Agent, rule: ActionRule, action_type: str) -> Refusal | None:
    permissions = agent.permissions
    if permissions.blocked_tools and compact_skeleton(action_type) in skeletons(permissions.blocked_tools):
        return Refusal(
            Code.TOOL_NOT_ALLOWED,
            f"'{action_type[:80]}' is blocked for this agent",
            {BLOCKED_TOOL: action_type[:80]},
        )
    if rule.engine != TOOL_CONTROL and rule.engine not in permissions.allowed_engines:
        return Refusal(
            Code.TOOL_NOT_ALLOWED,
            f"engine '{rule.engine}' is not among this agent's allowed engines",
            {"engine": rule.engine, "allowed_engines": permissions.allowed_engines},
        )
    return None


def unknown_action(action_type: str) -> Refusal:
    return Refusal(
        Code.ACTION_UNKNOWN,
        f"Unknown action_type '{action_type}' cannot be verified without explicit registered semantics",
    )
