"""What the caller is told of a case, and how what it said is shown."""

from collections.abc import Callable
from typing import Any

from qwed.domain.approvals import Approval
from qwed.domain.budgets import FREE, Spending, remaining
from qwed.domain.codes import CODES
from qwed.domain.decisions import Decision
from qwed.domain.risk import RISK_NAMES
from qwed.domain.times import iso, parse_iso
from qwed.domain.verdicts import APPROVED
from qwed.gateway.decide import table
from qwed.gateway.decide.case import Case, Door, Examined
from qwed.gateway.decide.observe import tell_would
from qwed.gateway.decide.rule_row import rules_to_wire
from qwed.gateway.kernel.answers import Answer
from qwed.gateway.kernel.masks import is_harmless, rename, shown

Show = Callable[[Any], Any]

#: The names under which the tool door tells of the rows it walked, in their order.
_TOLD_ROWS = (
    (table.ADMITTED, "budget"),
    (table.NOT_BLOCKED, "not_blocked"),
    (table.KNOWN_TOOL, "known_tool"),
    (table.PERMITTED, "allowed_engine"),
)


def choose_masking(case: Case) -> tuple[Show, dict[str, Any] | None]:
    """How what was said is shown, and what the engine found, shown so.

    Mostly as it is: one look at everything says so. Findings and refusals quote what the agent said, so they
    are masked where that is; a type that looks like a secret goes by another name wherever it is quoted."""
    kept, name, examined = case.kept_type, case.action.type, case.examined
    if kept != name:
        renamed: Show = lambda value: shown(rename(value, name, kept))  # noqa: E731
        return renamed, _show_verification(examined, renamed)
    if examined is None:
        return show_as_is if is_harmless((case.action, case.context)) else shown, None
    finding = examined.finding
    if is_harmless((case.action, case.context, finding.reason, finding.evidence)):
        return show_as_is, _verification(examined)
    show = show_as_is if is_harmless((case.action, case.context)) else shown
    return show, _show_verification(examined, show)


def show_as_is(value: Any) -> Any:
    return value


def answer_of(
    case: Case,
    spending: Spending,
    approval: Approval | None,
    verification: dict[str, Any] | None,
    show: Show,
) -> Answer:
    """`spending` is the agent's; what this request holds of it is counted in."""
    told = case.add(verdict=APPROVED) if case.is_observed else case
    decision, refusal = told.verdict.decision, told.verdict.refusal
    body: dict[str, Any] = {
        "decision": decision.value,
        "activity_id": case.activity_id,
        "policy_version": case.policy.version,
    }
    if case.examined is not None:
        body["verification"] = verification
        corrected = case.examined.finding.corrected
        # Of what waits, this is what a person is asked about, and what the grant will be for.
        if corrected is not None and decision in (Decision.CORRECTED, Decision.PENDING):
            body["corrected_action"] = corrected.to_wire()
    if approval is not None:
        body["approval"] = {
            "id": approval.approval_id,
            "status": approval.status.value,
            "expires_at": iso(approval.expires_ms),
            "url": f"/approvals/{approval.approval_id}",
        }
    if case.coverage is not None:
        body["provenance"] = case.coverage
    if case.attestation is not None:
        body["attestation"] = case.attestation[1]
    if case.token is not None:
        body["execution_context"] = case.token
    if case.permit is not None:
        body["permit"] = case.permit[1]
    if case.is_observed:
        body["observed"] = True
        body["would"] = tell_would(case, show)
    held, budget = case.admission, case.agent.budget
    returned = FREE if held is None or case.acts else held.charge
    body["budget_remaining"] = remaining(budget, spending, returned)
    if refusal is not None:
        body["error"] = show(refusal.to_wire())
    if (
        case.ruled is not None
        and not case.is_observed
        and (rules := rules_to_wire(case, with_observed=False))
    ):
        body["rules"] = show(rules)
    if case.door is Door.TOOL:
        body.update(show(_tool_members(told)))
    status = CODES[refusal.code].status if refusal is not None else 200
    retry_after = _retry_after(case) if decision is Decision.BUDGET_EXCEEDED else None
    return Answer(body, status, retry_after, case.log)


def _retry_after(case: Case) -> int | None:
    if case.verdict.refusal is None:
        return None
    reset_at = (case.verdict.refusal.details or {}).get("reset_at")
    # Without a reset, waiting does not help: the request itself is too large.
    if not isinstance(reset_at, str):
        return 0
    return max(1, -(-(parse_iso(reset_at) - case.now_ms) // 1000))


def _show_verification(examined: Examined | None, show: Show) -> dict[str, Any] | None:
    """An engine decodes and joins what the agent wrote: what it found is looked at for itself."""
    if examined is None:
        return None
    found = _verification(examined)
    is_plain = is_harmless((examined.finding.reason, examined.finding.evidence))
    masked: dict[str, Any] = show(found) if is_plain else shown(show(found))
    return masked


def _verification(examined: Examined) -> dict[str, Any]:
    finding = examined.finding
    verification: dict[str, Any] = {
        "status": finding.status,
        "engine": finding.engine,
        "risk_level": RISK_NAMES[examined.risk],
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


# --- the tool door ----------------------------------------------------------------------------------


def _tool_members(case: Case) -> dict[str, Any]:
    assessment, refusal, decision = case.assessment, case.verdict.refusal, case.verdict.decision
    assert assessment is not None
    is_approved = decision is Decision.APPROVED
    members: dict[str, Any] = {
        "tool_name": assessment.tool_name,
        "approved": is_approved,
        "risk_score": assessment.risk_score,
        "risk_assessment": {
            **assessment["risk_assessment"],
            "requires_approval": decision is Decision.PENDING,
        },
        "policy_checks": [{"policy": name, "passed": passed} for name, passed in _tell_rows(case)],
    }
    if not is_approved:
        members["blocked_reason"] = refusal.message if refusal else "not approved"
    if case.is_advisory:
        # Without a conversation nothing stops a repeat: the answer says what it is worth.
        members["advisory"] = True
    return members


def _tell_rows(case: Case) -> list[tuple[str, bool]]:
    """The rows from the budget on, as far as the walk came."""
    if case.admission is None:
        return []
    refused = {tightened.row for tightened in case.tightened}
    told: list[tuple[str, bool]] = []
    for row, name in _TOLD_ROWS:
        told.append((name, row.name not in refused))
        if row.name in refused:
            return told
    if case.examined is not None:
        told.append(("parameters", case.examined.finding.failure is None))
        told.append(("trust", not _is_denied_by_walk(case)))
    return told


def _is_denied_by_walk(case: Case) -> bool:
    late = (table.SIGNED, table.RECORDED)
    return any(
        tightened.verdict.decision is Decision.DENIED and tightened.row not in late
        for tightened in case.tightened
    )
