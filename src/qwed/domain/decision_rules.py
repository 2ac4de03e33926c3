"""From proof, risk and trust to a verdict: section 4, on one screen."""

from qwed.domain.codes import Code
from qwed.domain.decisions import Decision
from qwed.domain.findings import Finding, Status
from qwed.domain.risk import Risk
from qwed.domain.trust import MATRIX, TrustLevel
from qwed.domain.verdicts import APPROVED, CORRECTED, Verdict, ask, deny


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
        return disprove(finding)
    verdict = weigh(finding, risk, trust, denied_cells_pend=denied_cells_pend)
    return verdict if verdict is not APPROVED else hold_to_threshold(risk, threshold)


def disprove(finding: Finding) -> Verdict:
    return deny(Code.VERIFICATION_FAILED, finding.reason or "the engine disproved the action")


def weigh(finding: Finding, risk: Risk, trust: TrustLevel, *, denied_cells_pend: bool) -> Verdict:
    """A finding that did not fail, against what this level of trust may do at this risk."""
    allowed = MATRIX[trust][risk]
    if allowed is Decision.DENIED:
        message = f"trust level {trust} ({trust.name.lower()}) may not act at {risk.wire} risk"
        return ask(message) if denied_cells_pend else deny(Code.TRUST_INSUFFICIENT, message)
    if finding.status is Status.UNCERTAIN:
        return ask(f"the engine could not decide: {finding.reason}")
    if finding.status is Status.CORRECTED:
        if risk is Risk.LOW and allowed is Decision.APPROVED:
            return CORRECTED
        return ask("the corrected action needs a person's approval")
    if allowed is Decision.PENDING:
        return ask(f"{risk.wire} risk at trust level {trust} needs a person's approval")
    return APPROVED


def hold_to_threshold(risk: Risk, threshold: Risk | None) -> Verdict:
    """The risk above which this very request wants a person."""
    if threshold is None or risk <= threshold:
        return APPROVED
    return ask(f"{risk.wire} risk is above the requested threshold {threshold.wire}")
