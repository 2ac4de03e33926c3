"""The decision, against a table written down apart from it, and the laws nothing may break."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qwed.domain.actions import Action
from qwed.domain.codes import Code
from qwed.domain.decision_rules import decide
from qwed.domain.decisions import Decision
from qwed.domain.findings import Failure, Finding, Status
from qwed.domain.risk import Risk
from qwed.domain.trust import TrustLevel

#: Trust × risk (low, medium, high, critical), as the guide prints it: Approved, Pending, Denied.
GUIDE = ("PDDD", "APDD", "AAPD", "AAAA")
#: What rules 1 to 5 make of a cell, for each status.
BY_STATUS = {
    "VERIFIED": {"A": "APPROVED", "P": "PENDING", "D": "DENIED"},
    "FAILED": {"A": "DENIED", "P": "DENIED", "D": "DENIED"},
    "UNCERTAIN": {"A": "PENDING", "P": "PENDING", "D": "DENIED"},
    "CORRECTED": {"A": "PENDING", "P": "PENDING", "D": "DENIED"},
}
STRICTNESS = {"APPROVED": 0, "CORRECTED": 0, "PENDING": 1, "DENIED": 2}


def expected(status: str, trust: int, risk: int, threshold: int | None, denied_cells_pend: bool) -> str:
    cell = GUIDE[trust][risk]
    if status == "CORRECTED" and cell == "A" and risk == 0:
        return "CORRECTED"
    decision = BY_STATUS[status][cell]
    if denied_cells_pend and cell == "D" and status != "FAILED":
        return "PENDING"
    if decision == "APPROVED" and threshold is not None and risk > threshold:
        return "PENDING"
    return decision


def finding(status: Status, risk: Risk) -> Finding:
    return Finding(
        status,
        risk,
        "math",
        "a reason",
        corrected=Action("calculate", "2+2=4") if status is Status.CORRECTED else None,
        failure=Failure.INCORRECT if status is Status.FAILED else None,
    )


THRESHOLDS = (None, *Risk)


@pytest.mark.parametrize("status", Status)
@pytest.mark.parametrize("trust", TrustLevel)
def test_every_case_is_as_the_documents_table_says(status, trust):
    for risk, threshold, pend in itertools.product(Risk, THRESHOLDS, (False, True)):
        verdict = decide(finding(status, risk), risk, trust, threshold=threshold, denied_cells_pend=pend)
        wanted = expected(status.value, int(trust), int(risk), threshold, pend)

        assert verdict.decision.value == wanted, (risk, threshold, pend)


cases = {
    "status": st.sampled_from(Status),
    "risk": st.sampled_from(Risk),
    "trust": st.sampled_from(TrustLevel),
    "threshold": st.sampled_from(THRESHOLDS),
    "pend": st.booleans(),
}


@given(**cases)
def test_a_threshold_only_tightens(status, risk, trust, threshold, pend):
    free = decide(finding(status, risk), risk, trust, denied_cells_pend=pend).decision
    bound = decide(finding(status, risk), risk, trust, threshold=threshold, denied_cells_pend=pend).decision

    assert STRICTNESS[bound] >= STRICTNESS[free]


@given(**cases)
def test_what_failed_is_never_allowed_and_never_waits(status, risk, trust, threshold, pend):
    verdict = decide(finding(Status.FAILED, risk), risk, trust, threshold=threshold, denied_cells_pend=pend)

    assert verdict.decision is Decision.DENIED
    assert verdict.refusal.code is Code.VERIFICATION_FAILED


@given(**cases)
def test_what_is_uncertain_never_lets_anybody_act(status, risk, trust, threshold, pend):
    verdict = decide(
        finding(Status.UNCERTAIN, risk), risk, trust, threshold=threshold, denied_cells_pend=pend
    )

    assert not verdict.decision.lets_act


@given(**cases)
def test_every_refusal_has_its_code_and_every_permission_has_none(status, risk, trust, threshold, pend):
    verdict = decide(finding(status, risk), risk, trust, threshold=threshold, denied_cells_pend=pend)
    codes = {
        Decision.PENDING: {Code.APPROVAL_REQUIRED},
        Decision.DENIED: {Code.VERIFICATION_FAILED, Code.TRUST_INSUFFICIENT},
    }

    if verdict.decision.lets_act:
        assert verdict.refusal is None
    else:
        assert verdict.refusal.code in codes[verdict.decision]


@given(**cases, higher=st.sampled_from(Risk))
def test_more_risk_is_never_treated_more_kindly(status, risk, trust, threshold, pend, higher):
    low, high = sorted((risk, higher))

    def strictness(at):
        verdict = decide(finding(status, at), at, trust, threshold=threshold, denied_cells_pend=pend)
        return STRICTNESS[verdict.decision]

    assert strictness(low) <= strictness(high)


@given(**cases, more=st.sampled_from(TrustLevel))
def test_more_trust_is_never_treated_more_harshly(status, risk, trust, threshold, pend, more):
    less, most = sorted((trust, more))

    def strictness(at):
        verdict = decide(finding(status, risk), risk, at, threshold=threshold, denied_cells_pend=pend)
        return STRICTNESS[verdict.decision]

    assert strictness(most) <= strictness(less)
