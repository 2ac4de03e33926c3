"""Check 19: what is due is signed, and what must be signed and can't be is denied."""

from functools import partial

from qwed.domain.actions import action_hash
from qwed.domain.codes import Code
from qwed.domain.decisions import LETS_ACT
from qwed.domain.nodes import jti_of
from qwed.domain.permits import PERMIT_TYPE, issue_permit
from qwed.domain.risk import Risk
from qwed.domain.verdicts import deny
from qwed.gateway.decide.attestations import attest
from qwed.gateway.decide.case import Case
from qwed.gateway.decide.execution_context import NodeFacts, is_issued_at_once, issue_node
from qwed.gateway.decide.run import tighten
from qwed.gateway.decide.table import SIGNED
from qwed.gateway.kernel.ask_signer import ask_signer
from qwed.gateway.kernel.ports import SigningFailed
from qwed.gateway.kernel.services import Services


async def sign(services: Services, case: Case) -> Case:
    """The id, what led here, attestation and token; nothing of an earlier round stays."""
    activity_id = services.ids.activity(case.now_ms)
    case = case.add(activity_id=activity_id, par=_causes(case), attestation=None, token=None, permit=None)
    if case.is_observed:
        # It vouches for nothing that it would not have stopped.
        return case
    risk, lets_act = None if case.examined is None else case.examined.risk, case.verdict.decision in LETS_ACT
    if risk is not None and lets_act and (case.require_attestation or risk >= Risk.HIGH):
        case = await _attest(services, case)
        lets_act = case.verdict.decision in LETS_ACT
    if is_issued_at_once(lets_act, risk, case.execution):
        case = await _issue(services, case)
    if case.verdict.decision in LETS_ACT and (audience := _audience(case)) is not None:
        case = await _permit(services, case, audience)
    return case


def _audience(case: Case) -> str | None:
    """Where a permit may be used: as the policy says, else at the tool of this name. None: none is due."""
    rule = case.policy.actions.get(case.action.type)
    named = None if rule is None else rule.permit
    return named or (case.action.type if case.wants_permit else None)


async def _permit(services: Services, case: Case, audience: str) -> Case:
    signer = services.signer
    corrected = None if case.examined is None else case.examined.finding.corrected
    permit = issue_permit(
        case.activity_id,
        case.agent.agent_id,
        case.agent.principal_id,
        audience,
        case.kept_type,
        case.action_hash if corrected is None else action_hash(corrected),
        case.now_ms,
        case.policy.permits.seconds,
    )
    try:
        claims = permit.claims(signer.issuer)
        return case.add(permit=(permit, await ask_signer(signer, lambda: signer.sign(PERMIT_TYPE, claims))))
    # As with an attestation: a tool that asks for a permit would refuse the call anyway.
    except Exception as error:  # noqa: BLE001
        return _deny_unsigned(case, "permit", error)


async def _attest(services: Services, case: Case) -> Case:
    examined = case.examined
    assert examined is not None
    attestation_id = services.ids.attestation()
    action = examined.finding.corrected or case.action
    try:
        make = partial(
            attest,
            services.signer,
            attestation_id=attestation_id,
            agent=case.agent,
            action=action,
            action_hash=action_hash(action) if examined.finding.corrected else case.action_hash,
            finding=examined.finding,
            decision=case.verdict.decision,
            conversation_id=case.step.conversation_id if case.step else None,
            step=case.step.step if case.step else None,
            activity_id=case.activity_id,
            now_ms=case.now_ms,
        )
        token = await ask_signer(services.signer, make)
    # Whatever goes wrong in making or signing it: what must be attested and is not, is denied.
    except Exception as error:  # noqa: BLE001
        return _deny_unsigned(case, "attestation", error)
    return case.add(attestation=(attestation_id, token))


async def _issue(services: Services, case: Case) -> Case:
    facts = NodeFacts(
        case.activity_id,
        case.agent.agent_id,
        case.now_ms,
        case.kept_type,
        case.verdict.decision.value,
        None if case.verdict.refusal is None else case.verdict.refusal.code.value,
        case.par,
        case.wid,
        case.action_hash,
    )
    try:
        return case.add(token=await ask_signer(services.signer, lambda: issue_node(services.signer, facts)))
    # As with an attestation: what must be signed and is not, is denied.
    except Exception as error:  # noqa: BLE001
        return _deny_unsigned(case, "token", error)


def _deny_unsigned(case: Case, what: str, error: Exception) -> Case:
    if case.verdict.decision not in LETS_ACT:
        return case
    reason = str(error) if isinstance(error, SigningFailed) else type(error).__name__
    refusal = deny(Code.ATTESTATION_UNSIGNED, f"the {what} could not be signed: {reason}")
    return tighten(
        case.add(redeemed=None, attestation=None, permit=None), SIGNED, refusal, refusal.precedence
    )


def _causes(case: Case) -> tuple[str, ...]:
    """What led here: the person's word, or what was presented and the step before in this conversation."""
    if (granted := case.redeemed) is not None:
        return tuple(map(jti_of, (granted.activity_id, *granted.answers)))
    leaves, wid = case.execution.leaves, case.wid
    previous = case.admission.previous if case.admission is not None else None
    if previous is None or not previous.activity_id:
        return leaves
    # A node has no parent in another workflow.
    if wid is not None and previous.wid not in (None, wid):
        return leaves
    before = jti_of(previous.activity_id)
    return leaves if before in leaves else (*leaves, before)
