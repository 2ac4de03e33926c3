"""Check 20: one record of a case, with everything that becomes true with it."""

from collections.abc import Mapping
from typing import Any, Final

from qwed.domain.actions import action_hash
from qwed.domain.approvals import Approval, later
from qwed.domain.budgets import FREE, Charge
from qwed.domain.conduct import Deed, deed_of
from qwed.domain.conversations import Step
from qwed.domain.decisions import LETS_ACT, Decision
from qwed.domain.money import usd_of
from qwed.domain.nodes import jti_of
from qwed.domain.risk import Risk
from qwed.domain.times import day_of, iso
from qwed.gateway.decide.account import write_account
from qwed.gateway.decide.answer import Show, show_as_is
from qwed.gateway.decide.case import Case
from qwed.gateway.kernel.answers import Answer
from qwed.gateway.kernel.masking import shorten, shown
from qwed.gateway.kernel.records import Activity, Booking, CommittedStep, Crossing, Record, Remembered
from qwed.gateway.kernel.services import Services
from qwed.gateway.kernel.wire import encode_json

REMEMBERED_MS: Final = 60_000


def record_of(
    case: Case,
    approval: Approval | None,
    verification: dict[str, Any] | None,
    answer: Answer,
    show: Show,
) -> Record:
    decision, step = case.verdict.decision, case.step
    charge = case.charge if case.verdict.decision in LETS_ACT else FREE
    fingerprint = _fingerprint(case)
    activity = Activity(
        activity_id=case.activity_id,
        agent_id=case.agent.agent_id,
        principal_id=case.agent.principal_id,
        at_ms=case.now_ms,
        action_type=case.kept_type,
        decision=decision.value,
        error_code=case.verdict.refusal.code.value if case.verdict.refusal else None,
        conversation_id=step.conversation_id if step else None,
        cost_nano=charge.cost,
        tokens=charge.tokens,
        fingerprint=fingerprint,
        payload=encode_json(_entry(case, approval, verification, charge, show)),
        par=case.par,
        wid=case.wid,
    )
    committed = _step_taken(case, fingerprint)
    return Record(
        activity,
        step=committed,
        booking=_booking(case, charge),
        approval=case.redeemed or approval,
        remembered=None if case.idempotency is None else _remember(case, case.idempotency, answer),
        crossing=_crossing(case, fingerprint) if committed else None,
        ects=case.execution.received,
        completions=case.execution.completions,
    )


def _step_taken(case: Case, fingerprint: bytes) -> CommittedStep | None:
    """A grant that is redeemed used its step when it was asked for: it has a step, but no reservation."""
    is_taken = case.verdict.decision in LETS_ACT or case.verdict.decision is Decision.PENDING
    is_reserved = case.admission is not None and case.admission.reservation is not None
    if not is_taken or not is_reserved or case.step is None:
        return None
    step = Step(
        case.step.step,
        fingerprint,
        case.step.state,
        case.verdict.decision in LETS_ACT,
        case.activity_id,
        case.wid,
    )
    return CommittedStep(case.agent.agent_id, case.step.conversation_id, step)


def _fingerprint(case: Case) -> bytes:
    """In the version that its conversation is written in."""
    previous = case.admission.previous if case.admission is not None else None
    return case.fingerprints.beside(previous.fingerprint if previous is not None else b"")


def _entry(
    case: Case, approval: Approval | None, verification: dict[str, Any] | None, charge: Charge, show: Show
) -> dict[str, Any]:
    # What no engine looked at is the agent's word alone: a flood of it must not fill the record.
    is_whole = case.verdict.refusal is None or case.examined is not None
    keep = show_as_is if is_whole else shorten
    entry: dict[str, Any] = {
        "activity_id": case.activity_id,
        "agent_id": case.agent.agent_id,
        "timestamp": iso(case.now_ms),
        "action_type": show(case.action.type),
        "action": keep(show(case.action.to_wire())),
        "context": keep(show(case.context)),
        "decision": case.verdict.decision.value,
        "cost": {"usd": usd_of(charge.cost), "tokens": charge.tokens},
        "policy_version": case.policy.version,
        "requested_by": case.caller.name,
        "ect_jti": jti_of(case.activity_id),
        "ect_par": case.par,
        "action_hash": case.action_hash,
    }
    if case.place is not None:
        entry["workflow"] = case.place
    if case.verdict.refusal is not None:
        entry["error_code"] = case.verdict.refusal.code.value
        entry["error"] = show(case.verdict.refusal.to_wire())
    if case.examined is not None and verification is not None:
        entry["verification"] = {**verification, "latency_ms": case.examined.latency_ms}
    if case.attestation is not None:
        entry["attestation_id"] = case.attestation[0]
    if case.is_forged and case.caller.agent_id is not None:
        entry["attestation_invalid"] = True
    if case.token is not None:
        entry["execution_context"] = case.token
    if (asked := case.redeemed or approval) is not None:
        entry["approval_id"] = asked.approval_id
    entry["account"] = write_account(case, show)
    return entry


def count_as(case: Case) -> Deed | None:
    """What the agent did with it. What a grant allows was counted when it was proposed."""
    if case.redeemed is not None:
        return None
    finding, risk = (None, None) if case.examined is None else (case.examined.finding, case.examined.risk)
    return deed_of(case.verdict.decision, case.verdict.refusal, finding, risk)


def _booking(case: Case, charge: Charge) -> Booking | None:
    admission = case.admission
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
        int(count_as(case) is Deed.ACTION),
    )


def _remember(case: Case, key: bytes, answer: Answer) -> Remembered:
    return Remembered(
        case.agent.agent_id,
        key,
        answer.status,
        encode_json(answer.body),
        case.now_ms + REMEMBERED_MS,
        answer.retry_after_seconds,
    )


def _crossing(case: Case, fingerprint: bytes) -> Crossing | None:
    if case.policy.loops.cross_conversation is None or case.step is None or case.examined is None:
        return None
    if case.examined.risk is Risk.LOW:
        return None
    return Crossing(case.agent.agent_id, fingerprint, case.step.conversation_id, case.now_ms)


# --- what waits for a person ------------------------------------------------------------------------


def open_approval(services: Services, case: Case, show: Show) -> Approval | None:
    examined = case.examined
    if examined is None:
        return None
    agent, step, rules, asked = case.agent, case.step, case.policy.approvals, case.verdict.asked
    ttl_seconds = rules.ttl_seconds if asked.seconds is None else asked.seconds
    wanted = examined.finding.corrected or case.action
    given = case.context.get("user_intent") if isinstance(case.context, Mapping) else None
    return Approval(
        approval_id=services.ids.approval(case.now_ms),
        activity_id=case.activity_id,
        agent_id=agent.agent_id,
        principal_id=agent.principal_id,
        requested_by=case.caller.names,
        conversation_id=step.conversation_id if step else None,
        step=step.step if step else None,
        action=show(wanted.to_wire()),
        action_hash=action_hash(wanted) if examined.finding.corrected else case.action_hash,
        policy_version=case.policy.version,
        risk=examined.risk,
        reason=show(case.verdict.refusal.message) if case.verdict.refusal else "",
        evidence=evidence_for_people(case, show),
        intent=shown(given if isinstance(given, str) else None),
        created_ms=case.now_ms,
        expires_ms=case.now_ms + ttl_seconds * 1000,
        approvers_needed=rules.approvers,
        role=next(iter(asked.roles), rules.role),
        remind_ms=later(case.now_ms, rules.remind_after_seconds),
        escalate_ms=later(case.now_ms, rules.escalate_after_seconds),
        escalate_to=rules.escalate_to_role,
        place=(case.place.workflow_id, case.place.node_id) if case.place else None,
        profile=case.profile,
        cost_nano=case.charge.cost,
        tokens=case.charge.tokens,
    )


def evidence_for_people(case: Case, show: Show) -> Mapping[str, Any]:
    """What the engine found, and which rules of the workflow ask for a person."""
    evidence: Mapping[str, Any] = {} if case.examined is None else case.examined.finding.evidence
    if case.verdict.asked.rules and case.place is not None:
        evidence = {**evidence, "workflow": case.place, "rules": case.verdict.asked.rules}
    found: Mapping[str, Any] = shown(show(evidence))
    return found
