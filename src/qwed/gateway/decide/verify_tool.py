"""Verify one tool call (section 6): the door for tools, never wider than `verify_action`.

Checks 1 to 3, 7, 14, 16 and trust × risk always; all of 4 to 13 when the call has a context.
It executes nothing.
"""

from collections.abc import Mapping
from typing import Any

from qwed.assurance.in_force import InForce
from qwed.domain.actions import Action
from qwed.domain.agents import Agent, AgentId
from qwed.domain.codes import Code, Refusal
from qwed.domain.conduct import BLOCKED_TOOL
from qwed.domain.contexts import StepContext, read_context
from qwed.domain.credentials import Caller
from qwed.domain.decisions import Decision
from qwed.domain.tools import Group, ToolApprovalSystem, ToolAssessment
from qwed.gateway.decide.proposals import (
    Conclusion,
    Proposal,
    attempt_of,
    conclude,
    propose,
)
from qwed.gateway.decide.verify_action import (
    decided_once,
    decision_of,
    denied_unrecorded,
    enter,
    permission_refusal,
    rule_for,
    weigh,
)
from qwed.gateway.kernel.answers import Answer
from qwed.gateway.kernel.ports import Admission
from qwed.gateway.kernel.records import Remembered
from qwed.gateway.kernel.requests import ToolRequest
from qwed.gateway.kernel.services import Services
from qwed.gateway.kernel.visibility import visible_agent


async def verify_tool(
    services: Services, caller: Caller, agent_id: AgentId, request: ToolRequest
) -> Answer | Remembered:
    agent = await visible_agent(services, caller, agent_id)
    if agent is None:  # 2
        return denied_unrecorded(Code.AGENT_UNKNOWN, f"agent {agent_id[:80]!r} is not registered")
    if request.idempotency is None:
        return await _verify(services, caller, agent, request)
    return await decided_once(
        services, agent, request.idempotency, lambda: _verify(services, caller, agent, request)
    )


async def _verify(services: Services, caller: Caller, agent: Agent, request: ToolRequest) -> Answer:
    parameters = request.parameters if isinstance(request.parameters, Mapping) else {}
    proposal = propose(
        services,
        caller,
        agent,
        Action(request.tool_name, parameters=parameters),
        parameters=request.parameters,
        context=_with_justification(request),
        usage=request.usage,
        now_ms=services.clock.now_ms(),
        idempotency=request.idempotency,
    )
    assessment = _assess(services, agent, request.tool_name, parameters)
    call = _Call(proposal, assessment, advisory=request.context is None)
    call.proposal, call.assured, refused = await enter(proposal, request.presented)
    if refused is not None:
        return await call.conclude(refused)
    admitted = await _admit(services, agent, call.proposal, request)
    if isinstance(admitted, Refusal):
        return await call.refuse(admitted)
    admission, call.context = admitted
    call.admission = admission
    try:
        return await _deliberate(call, agent)
    finally:
        await services.store.release(admission)


def _with_justification(request: ToolRequest) -> Any:
    if request.justification is None:
        return request.context
    context = request.context if isinstance(request.context, Mapping) else {}
    return {"user_intent": request.justification, **context}


def _assess(
    services: Services, agent: Agent, tool_name: str, parameters: Mapping[str, Any]
) -> ToolAssessment:
    groups = ToolApprovalSystem(
        services.policy.safe_tools,
        services.policy.dangerous_tools,
        allowed=agent.permissions.allowed_tools,
        blocked=agent.permissions.blocked_tools,
    )
    return groups.assess(tool_name, parameters)


async def _admit(
    services: Services, agent: Agent, proposal: Proposal, request: ToolRequest
) -> tuple[Admission, StepContext | None] | Refusal:
    """Checks 4 to 14 with a context, 7 and 14 without one (where the policy allows that)."""
    if request.context is None and not services.policy.tools_require_context:
        if proposal.parameters_problem is not None:
            return proposal.parameters_problem
        held = await services.store.hold(agent, proposal.charge, proposal.now_ms)
        return held if isinstance(held, Refusal) else (held, None)
    context = read_context(request.context, state_required=services.state_required)
    if isinstance(context, Refusal):
        return context
    admitted = await services.store.admit(agent, attempt_of(proposal, context), proposal.now_ms)
    return admitted if isinstance(admitted, Refusal) else (admitted, context)


class _Call:
    """A tool call on its way to its answer, with the checks it went through."""

    def __init__(self, proposal: Proposal, assessment: ToolAssessment, *, advisory: bool) -> None:
        self.proposal = proposal
        self.assessment = assessment
        self.advisory = advisory
        self.context: StepContext | None = None
        self.admission: Admission | None = None
        self.checks: list[dict[str, Any]] = []
        self.assured: InForce | None = None

    def check(self, policy: str, passed: bool) -> bool:
        self.checks.append({"policy": policy, "passed": passed})
        return passed

    async def refuse(self, refusal: Refusal) -> Answer:
        return await self.conclude(Conclusion(decision_of(refusal), refusal))

    async def conclude(self, conclusion: Conclusion) -> Answer:
        conclusion.context, conclusion.admission = self.context, self.admission
        conclusion.extra = self._body(conclusion)
        return await conclude(self.proposal, conclusion)

    def _body(self, conclusion: Conclusion) -> dict[str, Any]:
        assessment, refusal = self.assessment, conclusion.refusal
        approved = conclusion.decision is Decision.APPROVED
        body: dict[str, Any] = {
            "tool_name": assessment.tool_name,
            "approved": approved,
            "risk_score": assessment.risk_score,
            "risk_assessment": {
                **assessment["risk_assessment"],
                "requires_approval": conclusion.decision is Decision.PENDING,
            },
            "policy_checks": self.checks,
        }
        if not approved:
            body["blocked_reason"] = refusal.message if refusal else "not approved"
        if self.advisory:
            # Without a conversation nothing stops a repeat: the answer says what it is worth.
            body["advisory"] = True
        return body


def _unknown(assessment: ToolAssessment) -> str:
    """A name that only looks like a dangerous one is known to nobody: no person is asked about it."""
    if assessment.group is Group.DANGEROUS:
        return f"Unknown tool '{assessment.tool_name[:100]}' looks like a dangerous one"
    return assessment.blocked_reason or f"Unknown tool '{assessment.tool_name[:100]}'"


async def _deliberate(call: _Call, agent: Agent) -> Answer:
    services, assessment, name = call.proposal.services, call.assessment, call.assessment.tool_name
    call.check("budget", True)
    if not call.check("not_blocked", assessment.group is not Group.BLOCKED):  # 16
        blocked = {BLOCKED_TOOL: name[:80]}
        return await call.refuse(Refusal(Code.TOOL_NOT_ALLOWED, assessment.blocked_reason or "", blocked))
    rule = rule_for(services.policy, agent, name)
    if (
        not call.check("known_tool", assessment.group is not Group.UNKNOWN and rule is not None)
        or rule is None
    ):
        return await call.refuse(Refusal(Code.TOOL_NOT_ALLOWED, _unknown(assessment)))
    refusal = permission_refusal(agent, rule, name)
    if not call.check("allowed_engine", refusal is None) and refusal is not None:
        return await call.refuse(refusal)
    conclusion = await weigh(call.proposal, rule, call.assured)  # 17 to 20
    finding = conclusion.examined.finding if conclusion.examined is not None else None
    call.check("parameters", finding is not None and finding.failure is None)
    call.check("trust", conclusion.decision is not Decision.DENIED)
    return await call.conclude(conclusion)
