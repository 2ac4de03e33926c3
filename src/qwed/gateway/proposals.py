"""One proposed action on its way to an answer: what is known of it, and how the answer is recorded.

`/verify` and the tool door share this, so that both record, charge and answer alike. Nothing is
answered before `conclude` has made it durable.
"""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from qwed.domain.actions import Action, action_hash, hashes
from qwed.domain.admission import Attempt
from qwed.domain.agents import Agent
from qwed.domain.approvals import Approval
from qwed.domain.budgets import FREE, Charge, remaining
from qwed.domain.codes import CODES, Code, Refusal
from qwed.domain.contexts import StepContext
from qwed.domain.conversations import Step
from qwed.domain.credentials import Caller
from qwed.domain.decisions import Decision
from qwed.domain.findings import Finding, Status
from qwed.domain.money import nano_of, usd_of
from qwed.domain.parameters import parameters_problem
from qwed.domain.risk import Risk
from qwed.domain.times import day_of, iso, parse_iso
from qwed.gateway.answers import Answer
from qwed.gateway.attestations import attest
from qwed.gateway.masking import is_harmless, shown
from qwed.gateway.ports import Admission, AgentChanged, LeaseLost, SigningFailed
from qwed.gateway.records import Activity, Booking, CommittedStep, Crossing, Record, Remembered
from qwed.gateway.requests import NO_USAGE, Usage
from qwed.gateway.services import Services
from qwed.gateway.wire import encode_json

REMEMBERED_MS: Final = 60_000


class Proposal(msgspec.Struct, frozen=True):
    """`action_hash` and `fingerprint` are empty where the parameters are not JSON (check 7 refuses)."""

    services: Services
    caller: Caller
    agent: Agent
    action: Action
    context: Any
    now_ms: int
    charge: Charge
    action_hash: str
    fingerprint: bytes
    parameters_problem: Refusal | None
    idempotency: bytes | None = None
    require_attestation: bool = False


class Examined(msgspec.Struct, frozen=True):
    """What the engine found, and the risk that follows for this action."""

    finding: Finding
    risk: Risk
    latency_ms: float


def propose(
    services: Services,
    caller: Caller,
    agent: Agent,
    action: Action,
    *,
    parameters: Any,
    context: Any,
    usage: Usage,
    now_ms: int,
    idempotency: bytes | None = None,
    require_attestation: bool = False,
) -> Proposal:
    problem = None if parameters == {} else parameters_problem(parameters)
    exact, folded = ("", "") if problem else hashes(action)
    charge = services.charges.get(action.type) if usage is NO_USAGE else None
    if charge is None:
        cost = services.policy.cost_of(action.type, usage.cost_usd)
        charge = Charge(nano_of(cost), usage.tokens)
    return Proposal(
        services,
        caller,
        agent,
        action,
        context,
        now_ms,
        charge,
        exact,
        bytes.fromhex(folded),
        problem,
        idempotency,
        require_attestation,
    )


def attempt_of(proposal: Proposal, context: StepContext) -> Attempt:
    return Attempt(
        context.conversation_id,
        context.step,
        proposal.fingerprint,
        proposal.charge,
        context.state,
        proposal.parameters_problem,
        context.state_problem,
    )


class Conclusion(msgspec.Struct):
    """An answer in the making."""

    decision: Decision
    refusal: Refusal | None = None
    examined: Examined | None = None
    context: StepContext | None = None
    admission: Admission | None = None
    #: The tool door adds its own members to the body.
    extra: Mapping[str, Any] | None = None
    verification: dict[str, Any] | None = None
    #: The grant that this conclusion uses up.
    redeemed: Approval | None = None


async def conclude(proposal: Proposal, conclusion: Conclusion) -> Answer:
    """Checks 19 and 20: attest, record, answer. What cannot be recorded is not answered."""
    services = proposal.services
    activity_id = services.ids.activity(proposal.now_ms)
    attestation = _attestation(proposal, conclusion, activity_id)
    approval = _approval(proposal, conclusion, activity_id)
    answer = await _answer(proposal, conclusion, activity_id, attestation, approval)
    record = _record(proposal, conclusion, activity_id, attestation, approval, answer)
    try:
        refusal = await services.store.commit(record, conclusion.admission)
    except LeaseLost as lost:
        refusal = Refusal(Code.LOOP_REPLAY, str(lost))
        return await _conclude_instead(proposal, conclusion, Decision.DENIED, refusal)
    except AgentChanged as changed:
        refusal = Refusal(Code.AGENT_SUSPENDED, str(changed))
        return await _conclude_instead(proposal, conclusion, Decision.DENIED, refusal)
    if refusal is not None:
        decision = Decision.DENIED if conclusion.redeemed else Decision.BUDGET_EXCEEDED
        conclusion.redeemed = None
        return await _conclude_instead(proposal, conclusion, decision, refusal)
    _publish(proposal, conclusion, activity_id, approval)
    return answer


async def _conclude_instead(
    proposal: Proposal, conclusion: Conclusion, decision: Decision, refusal: Refusal
) -> Answer:
    """The store would not take the first conclusion: this one uses no step and opens nothing."""
    conclusion.decision, conclusion.refusal = decision, refusal
    return await conclude(proposal, conclusion)


def _attestation(proposal: Proposal, conclusion: Conclusion, activity_id: str) -> tuple[str, str] | None:
    """Id and token where one is due; if it can't be signed, the conclusion becomes a denial."""
    examined = conclusion.examined
    if examined is None or not conclusion.decision.lets_act:
        return None
    if examined.risk < Risk.HIGH and not proposal.require_attestation:
        return None
    attestation_id = proposal.services.ids.attestation()
    action = examined.finding.corrected or proposal.action
    try:
        token = attest(
            proposal.services.signer,
            attestation_id=attestation_id,
            agent=proposal.agent,
            action=action,
            action_hash=action_hash(action) if examined.finding.corrected else proposal.action_hash,
            finding=examined.finding,
            decision=conclusion.decision,
            conversation_id=conclusion.context.conversation_id if conclusion.context else None,
            step=conclusion.context.step if conclusion.context else None,
            activity_id=activity_id,
            now_ms=proposal.now_ms,
        )
    # Whatever goes wrong in making or signing it: what must be attested and is not, is denied.
    except Exception as error:  # noqa: BLE001
        reason = str(error) if isinstance(error, SigningFailed) else type(error).__name__
        conclusion.decision, conclusion.redeemed = Decision.DENIED, None
        conclusion.refusal = Refusal(
            Code.ATTESTATION_UNSIGNED, f"the attestation could not be signed: {reason}"
        )
        return None
    return attestation_id, token


def _approval(proposal: Proposal, conclusion: Conclusion, activity_id: str) -> Approval | None:
    examined = conclusion.examined
    if conclusion.decision is not Decision.PENDING or examined is None:
        return None
    agent, context, rules = proposal.agent, conclusion.context, proposal.services.policy.approvals
    wanted = examined.finding.corrected or proposal.action
    given = proposal.context.get("user_intent") if isinstance(proposal.context, Mapping) else None
    intent = given if isinstance(given, str) else None
    return Approval(
        approval_id=proposal.services.ids.approval(proposal.now_ms),
        activity_id=activity_id,
        agent_id=agent.agent_id,
        principal_id=agent.principal_id,
        requested_by=proposal.caller.names,
        conversation_id=context.conversation_id if context else None,
        step=context.step if context else None,
        action=shown(wanted.to_wire()),
        action_hash=action_hash(wanted) if examined.finding.corrected else proposal.action_hash,
        policy_version=proposal.services.policy.version,
        risk=examined.risk,
        reason=shown(conclusion.refusal.message) if conclusion.refusal else "",
        evidence=shown(examined.finding.evidence),
        intent=shown(intent),
        created_ms=proposal.now_ms,
        expires_ms=proposal.now_ms + rules.ttl_seconds * 1000,
        approvers_needed=rules.approvers,
        role=rules.role,
        cost_nano=proposal.charge.cost,
        tokens=proposal.charge.tokens,
    )


async def _answer(
    proposal: Proposal,
    conclusion: Conclusion,
    activity_id: str,
    attestation: tuple[str, str] | None,
    approval: Approval | None,
) -> Answer:
    body: dict[str, Any] = {
        "decision": conclusion.decision.value,
        "activity_id": activity_id,
        "policy_version": proposal.services.policy.version,
    }
    examined, refusal = conclusion.examined, conclusion.refusal
    if examined is not None:
        body["verification"] = conclusion.verification = _verification(examined)
        if conclusion.decision is Decision.CORRECTED and examined.finding.corrected is not None:
            body["corrected_action"] = examined.finding.corrected.to_wire()
    if approval is not None:
        body["approval"] = {
            "id": approval.approval_id,
            "status": approval.status.value,
            "expires_at": iso(approval.expires_ms),
            "url": f"/approvals/{approval.approval_id}",
        }
    if attestation is not None:
        body["attestation"] = attestation[1]
    body["budget_remaining"] = await _remaining(proposal, conclusion)
    if refusal is not None:
        body["error"] = refusal.to_wire()
    if conclusion.extra is not None:
        body.update(conclusion.extra)
    status = CODES[refusal.code].status if refusal is not None else 200
    return Answer(body, status, _retry_after(proposal, conclusion))


async def _remaining(proposal: Proposal, conclusion: Conclusion) -> dict[str, Any]:
    admission = conclusion.admission
    if admission is None:
        spending = await proposal.services.store.spending(proposal.agent, proposal.now_ms)
        return remaining(proposal.agent.budget, spending)
    returned = FREE if conclusion.decision.lets_act else admission.charge
    return remaining(proposal.agent.budget, admission.spending, returned)


def _retry_after(proposal: Proposal, conclusion: Conclusion) -> int | None:
    if conclusion.decision is not Decision.BUDGET_EXCEEDED or conclusion.refusal is None:
        return None
    reset_at = (conclusion.refusal.details or {}).get("reset_at")
    # Without a reset, waiting does not help: the request itself is too large.
    if not isinstance(reset_at, str):
        return 0
    return max(1, -(-(parse_iso(reset_at) - proposal.now_ms) // 1000))


def _verification(examined: Examined) -> dict[str, Any]:
    finding = examined.finding
    verification: dict[str, Any] = {
        "status": finding.status.value,
        "engine": finding.engine,
        "risk_level": examined.risk.wire,
        "checks_passed": finding.checks_passed,
        "checks_failed": finding.checks_failed,
    }
    if finding.reason:
        verification["reason"] = finding.reason
    if finding.failure is not None:
        verification["failure"] = finding.failure.value
    if finding.evidence:
        verification["evidence"] = finding.evidence
    return verification


def _record(
    proposal: Proposal,
    conclusion: Conclusion,
    activity_id: str,
    attestation: tuple[str, str] | None,
    approval: Approval | None,
    answer: Answer,
) -> Record:
    agent, decision, context = proposal.agent, conclusion.decision, conclusion.context
    lets_act = decision.lets_act
    uses_step = lets_act or decision is Decision.PENDING
    charge = proposal.charge if lets_act else FREE
    activity = Activity(
        activity_id=activity_id,
        agent_id=agent.agent_id,
        principal_id=agent.principal_id,
        at_ms=proposal.now_ms,
        action_type=proposal.action.type,
        decision=decision.value,
        error_code=conclusion.refusal.code.value if conclusion.refusal else None,
        conversation_id=context.conversation_id if context else None,
        cost_nano=charge.cost,
        tokens=charge.tokens,
        fingerprint=proposal.fingerprint,
        payload=_payload(proposal, conclusion, activity_id, attestation, approval, charge),
    )
    step = None
    # A grant that is redeemed used its step when it was asked for: it has a context, but no reservation.
    if uses_step and context is not None and _has_reservation(conclusion.admission):
        committed = Step(context.step, proposal.fingerprint, context.state, lets_act)
        step = CommittedStep(agent.agent_id, context.conversation_id, committed)
    return Record(
        activity,
        step=step,
        booking=_booking(conclusion.admission, charge),
        approval=conclusion.redeemed or approval,
        remembered=_remembered(proposal, answer),
        crossing=_crossing(proposal, conclusion) if step else None,
    )


def _has_reservation(admission: Admission | None) -> bool:
    return admission is not None and admission.reservation is not None


def _payload(
    proposal: Proposal,
    conclusion: Conclusion,
    activity_id: str,
    attestation: tuple[str, str] | None,
    approval: Approval | None,
    charge: Charge,
) -> bytes:
    wire = proposal.action.to_wire()
    # Findings and refusals quote what the agent said, so they are masked exactly where that is.
    show = _as_it_is if is_harmless((wire, proposal.context)) else shown
    entry: dict[str, Any] = {
        "activity_id": activity_id,
        "agent_id": proposal.agent.agent_id,
        "timestamp": iso(proposal.now_ms),
        "action_type": show(proposal.action.type),
        "action": show(wire),
        "context": show(proposal.context),
        "decision": conclusion.decision.value,
        "cost": {"usd": usd_of(charge.cost), "tokens": charge.tokens},
        "policy_version": proposal.services.policy.version,
        "requested_by": proposal.caller.name,
    }
    if conclusion.refusal is not None:
        entry["error_code"] = conclusion.refusal.code.value
        entry["error"] = show(conclusion.refusal.to_wire())
    if conclusion.examined is not None and conclusion.verification is not None:
        verification = show(conclusion.verification)
        entry["verification"] = {**verification, "latency_ms": conclusion.examined.latency_ms}
    if attestation is not None:
        entry["attestation_id"] = attestation[0]
    if (asked := conclusion.redeemed or approval) is not None:
        entry["approval_id"] = asked.approval_id
    return encode_json(entry)


def _as_it_is(value: Any) -> Any:
    return value


def _booking(admission: Admission | None, charge: Charge) -> Booking | None:
    if admission is None:
        return None
    return Booking(
        admission.agent_id,
        admission.principal_id,
        day_of(admission.at_ms),
        admission.at_ms // 1000,
        1,
        charge.cost,
        charge.tokens,
    )


def _remembered(proposal: Proposal, answer: Answer) -> Remembered | None:
    if proposal.idempotency is None:
        return None
    expires = proposal.now_ms + REMEMBERED_MS
    return Remembered(
        proposal.agent.agent_id,
        proposal.idempotency,
        answer.status,
        encode_json(answer.body),
        expires,
        answer.retry_after_seconds,
    )


def _crossing(proposal: Proposal, conclusion: Conclusion) -> Crossing | None:
    examined, context = conclusion.examined, conclusion.context
    if proposal.services.policy.loops.cross_conversation is None or context is None or examined is None:
        return None
    if examined.risk is Risk.LOW:
        return None
    return Crossing(proposal.agent.agent_id, proposal.fingerprint, context.conversation_id, proposal.now_ms)


def _publish(proposal: Proposal, conclusion: Conclusion, activity_id: str, approval: Approval | None) -> None:
    events = proposal.services.events
    if not events.is_heard:
        return
    examined = conclusion.examined
    common = {
        "agent_id": proposal.agent.agent_id,
        "principal_id": proposal.agent.principal_id,
        "activity_id": activity_id,
        "timestamp": iso(proposal.now_ms),
    }
    events.publish(
        {
            "type": "decision",
            **common,
            "action_type": shown(proposal.action.type),
            "decision": conclusion.decision.value,
            "error_code": conclusion.refusal.code.value if conclusion.refusal else None,
            "failed": examined is not None and examined.finding.status is Status.FAILED,
        }
    )
    if approval is not None:
        events.publish({"type": "approval", **common, "approval": approval.to_wire(proposal.now_ms)})
