"""From proof, risk, trust and threshold to a decision: section 4, on one screen."""

import msgspec

from qwed.domain.codes import Code, Refusal
from qwed.domain.decisions import Decision
from qwed.domain.findings import Finding, Status
from qwed.domain.risk import Risk
from qwed.domain.trust import TrustLevel, cell


class Verdict(msgspec.Struct, frozen=True):
    decision: Decision
    refusal: Refusal | None = None


_APPROVED = Verdict(Decision.APPROVED)
_CORRECTED = Verdict(Decision.CORRECTED)


def decide(
    finding: Finding,
    risk: Risk,
    trust: TrustLevel,
    *,
    threshold: Risk | None = None,
    denied_cells_pend: bool = False,
) -> Verdict:
    """The rules in their order; the first that applies decides.

    The threshold can only tighten: it turns APPROVED into PENDING, never anything into APPROVED.
    """
    if finding.status is Status.FAILED:
        return _denied(Code.VERIFICATION_FAILED, finding.reason or "the engine disproved the action")
    allowed = cell(trust, risk)
    if allowed is Decision.DENIED:
        message = f"trust level {trust} ({trust.name.lower()}) may not act at {risk.wire} risk"
        return _pending(message) if denied_cells_pend else _denied(Code.TRUST_INSUFFICIENT, message)
    if finding.status is Status.UNCERTAIN:
        return _pending(f"the engine could not decide: {finding.reason}")
    if finding.status is Status.CORRECTED:
        if risk is Risk.LOW and allowed is Decision.APPROVED:
            return _CORRECTED
        return _pending("the corrected action needs a person's approval")
    if allowed is Decision.PENDING:
        return _pending(f"{risk.wire} risk at trust level {trust} needs a person's approval")
    if threshold is not None and risk > threshold:
        return _pending(f"{risk.wire} risk is above the requested threshold {threshold.wire}")
    return _APPROVED


def _denied(code: Code, message: str) -> Verdict:
    return Verdict(Decision.DENIED, Refusal(code, message))


def _pending(message: str) -> Verdict:
    return Verdict(Decision.PENDING, Refusal(Code.APPROVAL_REQUIRED, message))
