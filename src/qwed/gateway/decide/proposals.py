"""One proposed action on its way to an answer: what is known of it, and how the answer is recorded.

`/verify` and the tool door share this, so that both record, charge and answer alike. Nothing is
answered before `conclude` has made it durable.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from qwed.assurance.explanations import Thresholds
from qwed.domain.actions import Action, action_hash
from qwed.domain.admission import Attempt
from qwed.domain.agents import Agent
from qwed.domain.approvals import Approval, later
from qwed.domain.budgets import FREE, Charge, remaining
from qwed.domain.codes import CODES, Code, Refusal
from qwed.domain.conduct import Deed, deed_of
from qwed.domain.contexts import StepContext
from qwed.domain.conversations import Step
from qwed.domain.credentials import Caller
from qwed.domain.decisions import Decision
from qwed.domain.deliveries import Delivery
from qwed.domain.findings import Finding, Status
from qwed.domain.fingerprints import Fingerprints, identify
from qwed.domain.money import nano_of, usd_of
from qwed.domain.nodes import jti_of
from qwed.domain.parameters import parameters_problem
from qwed.domain.policy import Profile
from qwed.domain.refusal_counts import COUNTED_CODES
from qwed.domain.registry import SQL
from qwed.domain.risk import Risk
from qwed.domain.times import day_of, iso, parse_iso
from qwed.domain.webhooks import Event
from qwed.gateway.decide.attestations import attest
from qwed.gateway.decide.execution_context import (
    NOTHING_PRESENTED,
    ExecutionContext,
    NodeFacts,
    NotAccepted,
    accept,
    is_issued_at_once,
    issue_node,
)
from qwed.gateway.decide.refused_often import count_refusal
from qwed.gateway.kernel.answers import Answer
from qwed.gateway.kernel.degrade_trust import commit_deed
from qwed.gateway.kernel.masking import is_harmless, keep_type, rename, shorten, shown
from qwed.gateway.kernel.notifications import News, approval_news, deliveries_of
from qwed.gateway.kernel.ports import Admission, AgentChanged, LeaseLost, SigningFailed
from qwed.gateway.kernel.records import Activity, Booking, CommittedStep, Crossing, Record, Remembered
from qwed.gateway.kernel.requests import NO_USAGE, Usage
from qwed.gateway.kernel.services import Services
from qwed.gateway.kernel.wire import encode_json

REMEMBERED_MS: Final = 60_000


class Place(msgspec.Struct, frozen=True):
    """Where in a workflow an action is taken, and what the node and all before it ask for."""

    workflow_id: str
    node_id: str
    profile: Profile | None = None
    thresholds: Thresholds = Thresholds()
    is_critical: bool = False


class HumanGate(msgspec.Struct, frozen=True):
    """Who has to be asked, and how long, where a rule of the workflow says so."""

    role: str
    timeout_seconds: int
    rules: tuple[str, ...]


class Proposal(msgspec.Struct, frozen=True):
    """`action_hash` and `fingerprints` are empty where the parameters are not JSON (check 7 refuses)."""

    services: Services
    caller: Caller
    agent: Agent
    action: Action
    context: Any
    now_ms: int
    charge: Charge
    action_hash: str
    fingerprints: Fingerprints
    parameters_problem: Refusal | None
    idempotency: bytes | None = None
    require_attestation: bool = False
    execution: ExecutionContext = NOTHING_PRESENTED
    place: Place | None = None
    #: The approval whose action this one shall replace: tokens and checkpoint came with that one.
    replaces: Approval | None = None

    @property
    def kept_type(self) -> str:
        """The action's type as it is stored and shown."""
        return keep_type(self.services.policy, self.action.type)

    @property
    def wid(self) -> str | None:
        """The workflow it belongs to, by its place or by the tokens that came along."""
        return self.execution.wid if self.place is None else self.place.workflow_id


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
    execution: ExecutionContext = NOTHING_PRESENTED,
) -> Proposal:
    problem = None if parameters == {} else parameters_problem(parameters)
    is_sql = services.policy.engine_of(action.type) == SQL
    exact, fingerprints = ("", Fingerprints()) if problem else identify(action, is_sql=is_sql)
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
        fingerprints,
        problem,
        idempotency,
        require_attestation,
        execution,
    )


async def with_execution_context(proposal: Proposal, presented: tuple[str, ...]) -> Proposal | NotAccepted:
    """The proposal with the tokens that came along, verified."""
    agent, now_ms = proposal.agent, proposal.now_ms
    accepted = await accept(proposal.services, presented, agent.principal_id, now_ms)
    if isinstance(accepted, NotAccepted):
        return accepted
    return msgspec.structs.replace(proposal, execution=accepted)


def attempt_of(proposal: Proposal, context: StepContext) -> Attempt:
    return Attempt(
        context.conversation_id,
        context.step,
        proposal.fingerprints.current,
        proposal.charge,
        context.state,
        proposal.parameters_problem,
        context.state_problem,
        proposal.fingerprints.older,
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
    #: The nodes that led here, and the decision's own token where it is issued at once.
    par: tuple[str, ...] = ()
    token: str | None = None
    gate: HumanGate | None = None
    #: The assurance profile that was in force.
    profile: Profile | None = None
    #: For the log alone.
    log: Mapping[str, str] | None = None
    #: The agent brought a token whose signature is wrong.
    is_forged: bool = False
    #: How what the agent said is shown, to itself and to everybody else.
    show: Callable[[Any], Any] = shown


async def conclude(proposal: Proposal, conclusion: Conclusion) -> Answer:
    """Checks 19 and 20: attest, record, answer. What cannot be recorded is not answered."""
    services = proposal.services
    if conclusion.refusal is not None and _is_counted(conclusion):
        await count_refusal(services, proposal.agent, conclusion.refusal, proposal.now_ms)
    conclusion.show = _showing(proposal)
    activity_id = services.ids.activity(proposal.now_ms)
    conclusion.par = _causes(proposal, conclusion)
    attestation = _attestation(proposal, conclusion, activity_id)
    conclusion.token = _token(proposal, conclusion, activity_id)
    if not conclusion.decision.lets_act:
        attestation = None
    approval = _approval(proposal, conclusion, activity_id)
    answer = await _answer(proposal, conclusion, activity_id, attestation, approval)
    record = _record(proposal, conclusion, activity_id, attestation, approval, answer)
    told = await _told(proposal, conclusion, activity_id, approval)
    if told:
        record = msgspec.structs.replace(record, deliveries=told)
    try:
        refusal = await commit_deed(services, record, _deed(conclusion), conclusion.admission)
    except LeaseLost as lost:
        refusal = Refusal(Code.LOOP_REPLAY, str(lost))
        return await _conclude_instead(proposal, conclusion, Decision.DENIED, refusal)
    except AgentChanged as changed:
        refusal = Refusal(Code.AGENT_SUSPENDED, str(changed))
        return await _conclude_instead(proposal, conclusion, Decision.DENIED, refusal)
    if refusal is not None and refusal.code is Code.ECT_REFUSED:
        proposal = msgspec.structs.replace(proposal, execution=NOTHING_PRESENTED)
        return await _conclude_instead(proposal, conclusion, Decision.DENIED, refusal)
    if refusal is not None:
        decision = Decision.DENIED if conclusion.redeemed else Decision.BUDGET_EXCEEDED
        conclusion.redeemed = None
        return await _conclude_instead(proposal, conclusion, decision, refusal)
    _publish(proposal, conclusion, activity_id, approval)
    return answer


def _showing(proposal: Proposal) -> Callable[[Any], Any]:
    """Mostly as it is. Findings and refusals quote what the agent said, so they are masked where that is; a
    type that looks like a secret goes by another name wherever it is quoted."""
    kept, name = proposal.kept_type, proposal.action.type
    if kept != name:
        return lambda value: shown(rename(value, name, kept))
    is_plain = is_harmless((proposal.action.to_wire(), proposal.context))
    return _as_it_is if is_plain else shown


def _is_counted(conclusion: Conclusion) -> bool:
    """Refused before anything was held or examined. What is forged is recorded, however often it comes."""
    refusal = conclusion.refusal
    return (
        refusal is not None
        and refusal.code in COUNTED_CODES
        and conclusion.admission is None
        and conclusion.examined is None
        and not conclusion.is_forged
    )


async def _told(
    proposal: Proposal, conclusion: Conclusion, activity_id: str, approval: Approval | None
) -> tuple[Delivery, ...]:
    """People hear of what waits for them, and of every FAILED."""
    if approval is not None:
        news = approval_news(Event.APPROVAL_REQUESTED, approval, activity_id, proposal.now_ms)
        return await deliveries_of(proposal.services, news)
    if conclusion.examined is None or conclusion.examined.finding.status is not Status.FAILED:
        return ()
    agent, refusal = proposal.agent, conclusion.refusal
    data = {
        "decision": {
            "decision": conclusion.decision.value,
            "action": conclusion.show(proposal.action.to_wire()),
            "error": None if refusal is None else conclusion.show(refusal.to_wire()),
            "verification": conclusion.verification,
        }
    }
    news = News(Event.DECISION_FAILED, agent.agent_id, agent.principal_id, activity_id, proposal.now_ms, data)
    return await deliveries_of(proposal.services, news)


async def _conclude_instead(
    proposal: Proposal, conclusion: Conclusion, decision: Decision, refusal: Refusal
) -> Answer:
    """The store would not take the first conclusion: this one uses no step and opens nothing."""
    conclusion.decision, conclusion.refusal = decision, refusal
    return await conclude(proposal, conclusion)


def _deed(conclusion: Conclusion) -> Deed | None:
    # What a grant allows was counted when it was proposed.
    if conclusion.redeemed is not None:
        return None
    examined = conclusion.examined
    finding, risk = (None, None) if examined is None else (examined.finding, examined.risk)
    return deed_of(conclusion.decision, conclusion.refusal, finding, risk)


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
        _deny_unsigned(conclusion, "attestation", error)
        return None
    return attestation_id, token


def _approval(proposal: Proposal, conclusion: Conclusion, activity_id: str) -> Approval | None:
    examined = conclusion.examined
    if conclusion.decision is not Decision.PENDING or examined is None:
        return None
    agent, context, rules = proposal.agent, conclusion.context, proposal.services.policy.approvals
    gate = conclusion.gate
    ttl_seconds = rules.ttl_seconds if gate is None else gate.timeout_seconds
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
        action=conclusion.show(wanted.to_wire()),
        action_hash=action_hash(wanted) if examined.finding.corrected else proposal.action_hash,
        policy_version=proposal.services.policy.version,
        risk=examined.risk,
        reason=conclusion.show(conclusion.refusal.message) if conclusion.refusal else "",
        evidence=evidence_for_people(proposal, conclusion),
        intent=shown(intent),
        created_ms=proposal.now_ms,
        expires_ms=proposal.now_ms + ttl_seconds * 1000,
        approvers_needed=rules.approvers,
        role=rules.role if gate is None else gate.role,
        remind_ms=later(proposal.now_ms, rules.remind_after_seconds),
        escalate_ms=later(proposal.now_ms, rules.escalate_after_seconds),
        escalate_to=rules.escalate_to_role,
        place=(proposal.place.workflow_id, proposal.place.node_id) if proposal.place else None,
        profile=conclusion.profile,
        cost_nano=proposal.charge.cost,
        tokens=proposal.charge.tokens,
    )


def evidence_for_people(proposal: Proposal, conclusion: Conclusion) -> Mapping[str, Any]:
    """What the engine found, and which rules of the workflow ask for a person."""
    evidence: Mapping[str, Any] = {} if conclusion.examined is None else conclusion.examined.finding.evidence
    if conclusion.gate is not None and proposal.place is not None:
        evidence = {**evidence, "workflow": proposal.place, "rules": conclusion.gate.rules}
    found: Mapping[str, Any] = shown(conclusion.show(evidence))
    return found


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
        body["verification"] = conclusion.verification = _shown_verification(examined, conclusion)
        # Of what waits, this is what a person is asked about, and what the grant will be for.
        is_told = conclusion.decision in (Decision.CORRECTED, Decision.PENDING)
        if is_told and examined.finding.corrected is not None:
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
    if conclusion.token is not None:
        body["execution_context"] = conclusion.token
    body["budget_remaining"] = await _remaining(proposal, conclusion)
    if refusal is not None:
        body["error"] = conclusion.show(refusal.to_wire())
    if conclusion.extra is not None:
        body.update(conclusion.show(conclusion.extra))
    status = CODES[refusal.code].status if refusal is not None else 200
    return Answer(body, status, _retry_after(proposal, conclusion), conclusion.log)


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


def _shown_verification(examined: Examined, conclusion: Conclusion) -> dict[str, Any]:
    """An engine decodes and joins what the agent wrote: what it found is looked at for itself."""
    found = _verification(examined)
    is_plain = is_harmless((examined.finding.reason, examined.finding.evidence))
    masked: dict[str, Any] = conclusion.show(found) if is_plain else shown(conclusion.show(found))
    return masked


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
    wid = proposal.wid
    lets_act = decision.lets_act
    uses_step = lets_act or decision is Decision.PENDING
    charge = proposal.charge if lets_act else FREE
    fingerprint = _fingerprint(proposal, conclusion)
    activity = Activity(
        activity_id=activity_id,
        agent_id=agent.agent_id,
        principal_id=agent.principal_id,
        at_ms=proposal.now_ms,
        action_type=proposal.kept_type,
        decision=decision.value,
        error_code=conclusion.refusal.code.value if conclusion.refusal else None,
        conversation_id=context.conversation_id if context else None,
        cost_nano=charge.cost,
        tokens=charge.tokens,
        fingerprint=fingerprint,
        payload=_payload(proposal, conclusion, activity_id, attestation, approval, charge),
        par=conclusion.par,
        wid=wid,
    )
    step = None
    # A grant that is redeemed used its step when it was asked for: it has a context, but no reservation.
    if uses_step and context is not None and _has_reservation(conclusion.admission):
        committed = Step(context.step, fingerprint, context.state, lets_act, activity_id, wid)
        step = CommittedStep(agent.agent_id, context.conversation_id, committed)
    return Record(
        activity,
        step=step,
        booking=_booking(conclusion, charge),
        approval=conclusion.redeemed or approval,
        remembered=_remembered(proposal, answer),
        crossing=_crossing(proposal, conclusion, fingerprint) if step else None,
        ects=proposal.execution.received,
        completions=proposal.execution.completions,
    )


def _fingerprint(proposal: Proposal, conclusion: Conclusion) -> bytes:
    """In the version that its conversation is written in."""
    previous = conclusion.admission.previous if conclusion.admission is not None else None
    return proposal.fingerprints.beside(previous.fingerprint if previous is not None else b"")


def _causes(proposal: Proposal, conclusion: Conclusion) -> tuple[str, ...]:
    """What led here: the person's word, or what was presented and the step before in this conversation."""
    if (granted := conclusion.redeemed) is not None:
        return tuple(map(jti_of, (granted.activity_id, *granted.answers)))
    leaves, wid = proposal.execution.leaves, proposal.wid
    previous = conclusion.admission.previous if conclusion.admission is not None else None
    if previous is None or not previous.activity_id:
        return leaves
    # A node has no parent in another workflow.
    if wid is not None and previous.wid not in (None, wid):
        return leaves
    before = jti_of(previous.activity_id)
    return leaves if before in leaves else (*leaves, before)


def _token(proposal: Proposal, conclusion: Conclusion, activity_id: str) -> str | None:
    """The decision's own token where it is due now; if it can't be signed, the conclusion is a denial."""
    examined, refusal = conclusion.examined, conclusion.refusal
    risk = examined.risk if examined is not None else None
    if not is_issued_at_once(conclusion.decision.lets_act, risk, proposal.execution):
        return None
    facts = NodeFacts(
        activity_id,
        proposal.agent.agent_id,
        proposal.now_ms,
        proposal.kept_type,
        conclusion.decision.value,
        refusal.code.value if refusal is not None else None,
        conclusion.par,
        proposal.wid,
        proposal.action_hash,
    )
    try:
        return issue_node(proposal.services.signer, facts)
    # As with an attestation: what must be signed and is not, is denied.
    except Exception as error:  # noqa: BLE001
        _deny_unsigned(conclusion, "token", error)
        return None


def _deny_unsigned(conclusion: Conclusion, what: str, error: Exception) -> None:
    reason = str(error) if isinstance(error, SigningFailed) else type(error).__name__
    if conclusion.decision.lets_act:
        conclusion.decision, conclusion.redeemed = Decision.DENIED, None
        message = f"the {what} could not be signed: {reason}"
        conclusion.refusal = Refusal(Code.ATTESTATION_UNSIGNED, message)


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
    show = conclusion.show
    # What no engine looked at is the agent's word alone: a flood of it must not fill the record.
    is_whole = conclusion.refusal is None or conclusion.examined is not None
    keep = _as_it_is if is_whole else shorten
    entry: dict[str, Any] = {
        "activity_id": activity_id,
        "agent_id": proposal.agent.agent_id,
        "timestamp": iso(proposal.now_ms),
        "action_type": show(proposal.action.type),
        "action": keep(show(wire)),
        "context": keep(show(proposal.context)),
        "decision": conclusion.decision.value,
        "cost": {"usd": usd_of(charge.cost), "tokens": charge.tokens},
        "policy_version": proposal.services.policy.version,
        "requested_by": proposal.caller.name,
        "ect_jti": jti_of(activity_id),
        "ect_par": conclusion.par,
        "action_hash": proposal.action_hash,
    }
    if proposal.place is not None:
        entry["workflow"] = proposal.place
    if conclusion.refusal is not None:
        entry["error_code"] = conclusion.refusal.code.value
        entry["error"] = show(conclusion.refusal.to_wire())
    if conclusion.examined is not None and conclusion.verification is not None:
        entry["verification"] = {**conclusion.verification, "latency_ms": conclusion.examined.latency_ms}
    if attestation is not None:
        entry["attestation_id"] = attestation[0]
    if conclusion.is_forged and proposal.caller.agent_id is not None:
        entry["attestation_invalid"] = True
    if conclusion.token is not None:
        entry["execution_context"] = conclusion.token
    if (asked := conclusion.redeemed or approval) is not None:
        entry["approval_id"] = asked.approval_id
    return encode_json(entry)


def _as_it_is(value: Any) -> Any:
    return value


def _booking(conclusion: Conclusion, charge: Charge) -> Booking | None:
    admission = conclusion.admission
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
        int(_deed(conclusion) is Deed.ACTION),
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


def _crossing(proposal: Proposal, conclusion: Conclusion, fingerprint: bytes) -> Crossing | None:
    examined, context = conclusion.examined, conclusion.context
    if proposal.services.policy.loops.cross_conversation is None or context is None or examined is None:
        return None
    if examined.risk is Risk.LOW:
        return None
    return Crossing(proposal.agent.agent_id, fingerprint, context.conversation_id, proposal.now_ms)


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
            "action_type": proposal.kept_type,
            "decision": conclusion.decision.value,
            "error_code": conclusion.refusal.code.value if conclusion.refusal else None,
            "failed": examined is not None and examined.finding.status is Status.FAILED,
        }
    )
    if approval is not None:
        events.publish({"type": "approval", **common, "approval": approval.to_wire(proposal.now_ms)})
