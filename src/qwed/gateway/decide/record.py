"""Check 20: one record of a case, with everything that becomes true with it."""

from collections.abc import Mapping
from typing import Any, Final

from qwed.domain.actions import action_hash
from qwed.domain.approvals import Approval, later
from qwed.domain.budgets import FREE, Charge
from qwed.domain.codes import Code
from qwed.domain.conduct import Deed, deed_of
from qwed.domain.conversations import IN_FLIGHT, Step
from qwed.domain.decisions import BINDING
from qwed.domain.money import usd_of
from qwed.domain.nodes import jti_of
from qwed.domain.risk import Risk
from qwed.domain.times import day_of, iso
from qwed.gateway.decide.account import write_account
from qwed.gateway.decide.answer import Show, show_as_is
from qwed.gateway.decide.case import Case
from qwed.gateway.decide.rule_row import rules_to_wire, windows_of
from qwed.gateway.decide.table import RECORDED
from qwed.gateway.kernel.answers import Answer
from qwed.gateway.kernel.masks import shorten, shown
from qwed.gateway.kernel.ports import KeyClaim
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
    deed: Deed | None,
) -> Record:
    decision, step, wid = case.verdict.decision, case.step, case.wid
    charge = case.charge if case.acts else FREE
    # In the version that its conversation is written in.
    previous = None if case.admission is None else case.admission.previous
    prints = case.fingerprints
    fingerprint = prints.current if previous is None else prints.beside(previous.fingerprint)
    activity = Activity(
        activity_id=case.activity_id,
        agent_id=case.agent.agent_id,
        principal_id=case.agent.principal_id,
        at_ms=case.now_ms,
        action_type=case.kept_type,
        decision=decision._value_,
        error_code=case.verdict.refusal.code.value if case.verdict.refusal else None,
        conversation_id=step.conversation_id if step else None,
        cost_nano=charge.cost,
        tokens=charge.tokens,
        fingerprint=fingerprint,
        payload=encode_json(_entry(case, approval, verification, charge, show)),
        par=case.par,
        wid=wid,
    )
    committed = _step_taken(case, fingerprint, wid)
    windows, marks = windows_of(case) if case.ruled or case.watched or case.uncounted else ((), ())
    return Record(
        activity,
        step=committed,
        booking=_booking(case, charge, deed),
        approval=case.redeemed or approval,
        remembered=None if case.claim is None else _remember(case, case.claim, answer),
        crossing=_crossing(case, fingerprint) if committed is not None else None,
        ects=case.execution.received,
        completions=case.execution.completions,
        windows=windows,
        marks=marks,
        permit=None if case.permit is None else case.permit[0],
        policy_number=case.policy_number,
    )


def _step_taken(case: Case, fingerprint: bytes, wid: str | None) -> CommittedStep | None:
    """A grant that is redeemed used its step when it was asked for: it has a step, but no reservation."""
    step, decision = case.step, case.verdict.decision
    is_reserved = case.admission is not None and case.admission.reservation is not None
    if not is_reserved or step is None or not (case.is_observed or decision in BINDING):
        return None
    if case.is_observed and any(said.row == RECORDED for said in case.tightened) and _is_in_flight(case):
        # Another request has the step.
        return None
    taken = Step(step.step, fingerprint, step.state, case.acts, case.activity_id, wid)
    return CommittedStep(case.agent.agent_id, step.conversation_id, taken)


def _entry(
    case: Case, approval: Approval | None, verification: dict[str, Any] | None, charge: Charge, show: Show
) -> dict[str, Any]:
    # What no engine looked at is the agent's word alone: a flood of it must not fill the record.
    is_whole = case.verdict.refusal is None or case.examined is not None or case.is_observed
    action, context = case.action.to_wire(), case.context
    if show is not show_as_is:
        action, context = show(action), show(context)
    if not is_whole:
        action, context = shorten(action), shorten(context)
    entry: dict[str, Any] = {
        "activity_id": case.activity_id,
        "agent_id": case.agent.agent_id,
        "timestamp": iso(case.now_ms),
        "action_type": show(case.action.type),
        "action": action,
        "context": context,
        "decision": case.verdict.decision,
        "cost": {"usd": usd_of(charge.cost), "tokens": charge.tokens},
        "policy_version": case.policy.version,
        "requested_by": case.caller.name,
        "ect_jti": jti_of(case.activity_id),
        "ect_par": case.par,
        "action_hash": case.action_hash,
    }
    if case.is_observed:
        entry["observed"] = True
    if case.place is not None:
        entry["workflow"] = case.place
    if case.verdict.refusal is not None:
        entry["error_code"] = case.verdict.refusal.code.value
        entry["error"] = show(case.verdict.refusal.to_wire())
    if case.examined is not None and verification is not None:
        entry["verification"] = {**verification, "latency_ms": case.examined.latency_ms}
        if (corrected := case.examined.finding.corrected) is not None:
            # What would run, and what rules looked at; masked for itself, since an engine wrote it.
            entry["corrected_action"] = shown(show(corrected.to_wire()))
    if case.shadow is not None:
        entry["shadow"] = case.shadow
    if case.attestation is not None:
        entry["attestation_id"] = case.attestation[0]
    if case.is_forged and case.caller.agent_id is not None:
        entry["attestation_invalid"] = True
    if case.token is not None:
        entry["execution_context"] = case.token
    if case.permit is not None:
        permit = case.permit[0]
        entry["permit"] = {
            "jti": permit.jti,
            "audience": permit.audience,
            "action_hash": permit.action_hash,
            "expires_at": iso(permit.expires_ms),
        }
    if (asked := case.redeemed or approval) is not None:
        entry["approval_id"] = asked.approval_id
    if case.origins is not None and case.origins.traced:
        entry["origins"] = show_origins(case, show)
    if case.ruled is not None and (rules := rules_to_wire(case, with_observed=True)):
        entry["rules"] = show(rules)
    entry["account"] = write_account(case, show)
    return entry


def count_as(case: Case) -> Deed | None:
    """What the agent did with it. What a grant allows was counted when it was proposed."""
    if case.redeemed is not None or case.is_observed:
        return None
    finding, risk = (None, None) if case.examined is None else (case.examined.finding, case.examined.risk)
    return deed_of(case.verdict.decision, case.verdict.refusal, finding, risk)


def _booking(case: Case, charge: Charge, deed: Deed | None) -> Booking | None:
    admission, agent = case.admission, case.agent
    if admission is None and case.is_observed:
        # It was not admitted, and runs: what it costs counts.
        day, second = day_of(case.now_ms), case.now_ms // 1000
        return Booking(agent.agent_id, agent.principal_id, day, second, 0, charge.cost, charge.tokens)
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
        1 if deed is Deed.ACTION else 0,
    )


def _remember(case: Case, claim: KeyClaim, answer: Answer) -> Remembered | None:
    """A retry is told what the first was told, unless that holds for a moment only: then it is asked anew."""
    if _is_in_flight(case):
        return None
    return Remembered(
        case.agent.agent_id,
        claim.key_hash,
        answer.status,
        encode_json(answer.body),
        case.now_ms + REMEMBERED_MS,
        answer.retry_after_seconds,
        claim.token,
    )


def _is_in_flight(case: Case) -> bool:
    """Whether the answer is only that another request has the step, before this one or instead of it."""
    refusal = case.verdict.refusal
    if refusal is None or refusal.code is not Code.LOOP_REPLAY:
        return False
    return IN_FLIGHT in (refusal.details or {}) or case.admission is not None


def _crossing(case: Case, fingerprint: bytes) -> Crossing | None:
    if case.policy.loops_of(case.agent.agent_id).cross_conversation is None:
        return None
    if case.step is None or case.examined is None:
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
        approvers_needed=max(rules.approvers, asked.approvers),
        role=next(iter(asked.roles), rules.role),
        remind_ms=later(case.now_ms, rules.remind_after_seconds),
        escalate_ms=later(case.now_ms, rules.escalate_after_seconds),
        escalate_to=rules.escalate_to_role,
        place=(case.place.workflow_id, case.place.node_id) if case.place else None,
        profile=case.profile,
        cost_nano=case.charge.cost,
        tokens=case.charge.tokens,
        wants_permit=case.wants_permit,
        rules=tuple(sorted(asked.policy_rules)),
        also_roles=tuple(sorted(asked.also_roles)),
    )


def evidence_for_people(case: Case, show: Show) -> Mapping[str, Any]:
    """What the engine found, and which rules of the workflow and of the policy ask for a person."""
    evidence: Mapping[str, Any] = {} if case.examined is None else case.examined.finding.evidence
    if case.verdict.asked.rules and case.place is not None:
        evidence = {**evidence, "workflow": case.place, "rules": case.verdict.asked.rules}
    if case.origins is not None and case.origins.traced:
        evidence = {**evidence, "origins": show_origins(case, show)}
    if rules := rules_to_wire(case, with_observed=False):
        evidence = {**evidence, "policy_rules": rules}
    found: Mapping[str, Any] = shown(show(evidence))
    return found


def show_origins(case: Case, show: Show) -> list[dict[str, Any]]:
    """Each value with its origin, as people see it."""
    assert case.origins is not None
    told = [
        {"argument": each.where, "value": each.value, "origin": each.origin.value, "says": each.says}
        # The step at which a tool said it: the value's way through the conversation begins there.
        | ({"tool": each.tool, "step_number": each.step} if each.tool else {})
        for each in case.origins.traced
    ]
    masked: list[dict[str, Any]] = shown(show(told))
    return masked
