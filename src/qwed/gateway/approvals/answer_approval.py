"""People answer what waits for them; the agent then uses the grant, once (section 5)."""

from typing import Any, Final

import msgspec

from qwed.domain.actions import Action, action_hash
from qwed.domain.agents import Agent, AgentStatus
from qwed.domain.approvals import Approval, ApprovalKind, ApprovalStatus, Vote, answered, redeemed
from qwed.domain.codes import Code, Refusal
from qwed.domain.credentials import Caller, Scope
from qwed.domain.decisions import Decision
from qwed.domain.deliveries import Delivery
from qwed.domain.money import NanoUsd, nano_of, usd_of
from qwed.domain.parameters import parameters_problem
from qwed.domain.passkeys import PasskeyProof, SignedApproval, hash_shown
from qwed.domain.policy import ZERO_USD, Separate
from qwed.domain.risk import Risk
from qwed.domain.trust import TrustLevel
from qwed.domain.trust_changes import Cause, TrustChange
from qwed.domain.webhooks import Event
from qwed.gateway.approvals.answer_policy_change import answer_policy_change
from qwed.gateway.approvals.find_repeat import find_repeat
from qwed.gateway.approvals.read_approvals import visible_approval
from qwed.gateway.approvals.separate_approvers import separation_refusal
from qwed.gateway.decide.doors import decide_once, redeem_grant, under_newest, weigh_edit
from qwed.gateway.decide.record import evidence_for_people
from qwed.gateway.kernel.answers import Answer, RequestError, malformed, refuse
from qwed.gateway.kernel.changes import noted
from qwed.gateway.kernel.degrade_trust import charge_forged_grant
from qwed.gateway.kernel.masks import shown
from qwed.gateway.kernel.notifications import approval_news, deliveries_of
from qwed.gateway.kernel.ports import KeyClaim
from qwed.gateway.kernel.records import Activity, Record, Remembered
from qwed.gateway.kernel.requests import MAX_TEXT, ActionBody, PasskeyAnswer, convert, read_verify
from qwed.gateway.kernel.services import Services
from qwed.gateway.kernel.trust_entries import list_notices_of, publish_trust, record_trust_change
from qwed.gateway.kernel.visibility import require_own_or_scope, require_scope

#: How an approval stands after a vote, as it is told.
_ANSWERS: Final = {
    ApprovalStatus.OPEN: Event.APPROVAL_VOTED,
    ApprovalStatus.APPROVED: Event.APPROVAL_APPROVED,
    ApprovalStatus.DENIED: Event.APPROVAL_DENIED,
}

BROKE_SPECIFICATION: Final = "it broke its behaviour specification"


class VoteBody(msgspec.Struct, forbid_unknown_fields=True):
    """`action_hash` is of the action that was looked at, `action` what shall be granted in its place."""

    note: str | None = None
    action: Any = None
    action_hash: str | None = None
    passkey: PasskeyAnswer | None = None


class RedeemBody(msgspec.Struct, forbid_unknown_fields=True):
    action: ActionBody


async def approve(
    services: Services, caller: Caller, approval_id: str, raw: Any, proof: PasskeyProof | None = None
) -> Answer:
    """With an edited `action`, that action is verified again before it is granted. `proof` is what the
    caller's passkey signed, checked already; whether that is this approval is checked here."""
    return await _vote(services, caller, approval_id, raw, proof, approves=True)


async def deny(services: Services, caller: Caller, approval_id: str, raw: Any) -> Answer:
    return await _vote(services, caller, approval_id, raw, None, approves=False)


async def _vote(
    services: Services,
    caller: Caller,
    approval_id: str,
    raw: Any,
    proof: PasskeyProof | None,
    *,
    approves: bool,
) -> Answer:
    require_scope(caller, Scope.APPROVE)
    body = convert({} if raw is None else raw, VoteBody)
    if body.note is not None and len(body.note) > MAX_TEXT:
        raise malformed("note", f"is longer than {MAX_TEXT} characters")
    approval = await visible_approval(services, caller, approval_id)
    if approves and services.policy.people.only_people_approve and caller.person is None:
        raise refuse(Code.APPROVAL_FORBIDDEN, "a person who signed in has to approve this, not a key")
    if services.policy.people.needs_reason(approval.risk) and not (body.note or "").strip():
        raise refuse(Code.APPROVAL_REASON, f"say why, in `note`: the risk is {approval.risk.wire}")
    vote = Vote(
        caller.name,
        approves,
        services.clock.now_ms(),
        shown(body.note),
        person=caller.person,
        person_id=caller.person_id,
        passkey=None if proof is None else proof.credential_id,
    )
    if approval.kind is ApprovalKind.POLICY:
        _require_seen(services, approval, body, proof, approves=approves)
        return await answer_policy_change(services, caller, approval, vote, proof)
    # A vote can change its agent's trust, so it takes its turn among the changes of that agent.
    async with services.turns.turn(approval.agent_id):
        # Where several have to agree, somebody may have voted while this one waited for its turn.
        approval = await visible_approval(services, caller, approval_id)
        _require_seen(services, approval, body, proof, approves=approves)
        agent = await services.store.agent(approval.agent_id)
        if agent is None:
            raise refuse(Code.APPROVAL_UNKNOWN, "its agent is no longer registered")
        refusal = await separation_refusal(services, caller, agent, approval)
        if refusal is not None:
            raise RequestError(refusal)
        result = _answer(services, caller, approval, vote)
        if approves and body.action is not None:
            approval = await _edit(services, caller, agent, approval, body.action)
            _require_passkey(services, approval.risk, proof)
            result = _answer(services, caller, approval, vote)
        return await _save(services, caller, agent, result, vote, proof)


def _require_seen(
    services: Services, approval: Approval, body: VoteBody, proof: PasskeyProof | None, *, approves: bool
) -> None:
    """That the vote is about the action as it is now, and is signed where the policy asks for that."""
    if approves and body.action_hash not in (None, approval.action_hash):
        # The first of several may have edited it while the next one was reading.
        raise refuse(Code.APPROVAL_MISMATCH, "the action is another one by now: look at it again")
    if approves:
        _require_passkey(services, approval.risk, proof)
    if proof is not None:
        _require_same(approval, body.action, proof.signed)


def _require_passkey(services: Services, risk: Risk, proof: PasskeyProof | None) -> None:
    if proof is None and services.policy.people.needs_passkey(risk):
        message = f"at {risk.wire} risk, approving takes your passkey: approve it in the dashboard"
        raise refuse(Code.APPROVAL_PASSKEY, message)


def _require_same(approval: Approval, edited: Any, signed: SignedApproval) -> None:
    """That the passkey signed this approval, of this action, as the person saw it."""
    shown_hash = hash_shown(approval.action if edited is None else edited)
    expected = (approval.approval_id, approval.action_hash, shown_hash)
    if (signed.approval_id, signed.action_hash, signed.shown_hash) != expected:
        raise refuse(Code.APPROVAL_PASSKEY, "your passkey signed something else: look at it again")


def _answer(services: Services, caller: Caller, approval: Approval, vote: Vote) -> Approval:
    rules = services.policy.approvals
    separates = rules.separate is not Separate.OFF
    result = answered(
        approval, vote, roles=caller.roles, ttl_ms=rules.ttl_seconds * 1000, separates=separates
    )
    if isinstance(result, Refusal):
        raise RequestError(result)
    return result


async def _edit(services: Services, caller: Caller, agent: Agent, approval: Approval, raw: Any) -> Approval:
    """The approval for another action, if the agent could have proposed that one in its place."""
    if approval.kind is not ApprovalKind.ACTION:
        raise malformed("action", "only an action that waits can be edited")
    if approval.votes:
        raise refuse(
            Code.APPROVAL_MISMATCH, "somebody approved the action as it stands; it can't be edited now"
        )
    case = await weigh_edit(services, caller, agent, approval, _read_action(raw))
    examined, asked = case.examined, case.verdict.asked
    if examined is None or case.verdict.decision is Decision.DENIED:
        assert case.verdict.refusal is not None
        raise _unacceptable(case.verdict.refusal)
    granted = examined.finding.corrected or case.action
    repeat = await find_repeat(services, approval, granted)
    if repeat is not None:
        raise _unacceptable(repeat)
    return msgspec.structs.replace(
        approval,
        action=shown(granted.to_wire()),
        action_hash=action_hash(granted),
        risk=examined.risk,
        evidence=evidence_for_people(case, shown),
        policy_version=services.policy.version,
        edited_by=caller.name,
        role=next(iter(asked.roles), approval.role),
        rules=tuple(sorted(asked.policy_rules)),
        also_roles=tuple(sorted(asked.also_roles)),
        approvers_needed=max(approval.approvers_needed, asked.approvers),
        cost_nano=_cost_instead(services, approval, granted),
        profile=case.profile,
    )


def _cost_instead(services: Services, approval: Approval, action: Action) -> int:
    """What the agent said that it would use, at the price of the other action."""
    policy, before = services.policy, approval.action["type"]
    usage = usd_of(NanoUsd(approval.cost_nano)) - policy.price_of(before)
    return nano_of(policy.cost_of(action.type, max(usage, ZERO_USD)))


def _read_action(raw: Any) -> Action:
    request = read_verify({"action": raw})
    problem = parameters_problem(request.parameters)
    if problem is not None:
        raise _unacceptable(problem)
    return request.action


def _unacceptable(refusal: Refusal) -> RequestError:
    return RequestError(refusal, status=422)


async def _save(
    services: Services,
    caller: Caller,
    agent: Agent,
    approval: Approval,
    vote: Vote,
    proof: PasskeyProof | None,
) -> Answer:
    """What an answer does to its agent takes effect in the same transaction, with an entry of its own."""
    granted, stopped = _with_trust(agent, approval), _suspend_for(agent, approval)
    details = {
        "approval_id": approval.approval_id,
        "approves": vote.approves,
        "note": vote.note,
        "status": approval.status,
        "edited": approval.edited_by is not None,
        "trust_level": None if granted is None else int(granted.trust_level),
    }
    if vote.person is not None:
        details["person"] = vote.person.to_wire()
    # What was asked, and what others said of it before.
    causes = (approval.activity_id, *approval.answers)
    activity = noted(
        services, caller, "answer_approval", details, agent=agent, caused_by=causes, passkey=proof
    )
    approval = msgspec.structs.replace(approval, answers=(*approval.answers, activity.activity_id))
    told = await _notify(services, approval, activity)
    changed, change = granted or stopped, None
    record = Record(activity, approval=approval, agent=changed, deliveries=told)
    if changed is not None:
        change, entry = _change_of(services, caller, agent, changed, approval)
        record = msgspec.structs.replace(
            record,
            trust_changes=(change,),
            consequences=(entry,),
            deliveries=(*told, *await list_notices_of(services, changed, change)),
        )
    refusal = await services.store.commit(record)
    if refusal is not None:
        raise RequestError(refusal)
    if change is not None:
        publish_trust(services, change)
    now_ms = services.clock.now_ms()
    services.events.publish(
        {
            "type": "approval",
            "agent_id": agent.agent_id,
            "principal_id": agent.principal_id,
            "activity_id": activity.activity_id,
            "approval": approval.to_wire(now_ms),
        }
    )
    return Answer(approval.to_wire(now_ms))


async def _notify(services: Services, approval: Approval, activity: Activity) -> tuple[Delivery, ...]:
    answer = approval_news(_ANSWERS[approval.status], approval, activity.activity_id, activity.at_ms)
    return await deliveries_of(services, answer)


def _change_of(
    services: Services, caller: Caller, agent: Agent, changed: Agent, approval: Approval
) -> tuple[TrustChange, Activity]:
    """What was asked for and all that was said of it led to this; the last is the answer itself."""
    is_granted = approval.kind is ApprovalKind.TRUST
    return record_trust_change(
        services,
        caller,
        agent,
        changed,
        Cause.GRANTED if is_granted else Cause.SUSPENDED,
        approval.action["parameters"]["justification"] if is_granted else changed.status_reason,
        activities=(approval.activity_id, *approval.answers),
        evidence={"approval_id": approval.approval_id, **approval.evidence},
    )


def _suspend_for(agent: Agent, approval: Approval) -> Agent | None:
    """A review that is denied suspends for the violation it shows."""
    if approval.kind is not ApprovalKind.REVIEW or approval.status is not ApprovalStatus.DENIED:
        return None
    return msgspec.structs.replace(
        agent,
        status=AgentStatus.SUSPENDED,
        status_reason=BROKE_SPECIFICATION,
        suspended_for_violation=True,
    )


def _with_trust(agent: Agent, approval: Approval) -> Agent | None:
    if approval.kind is not ApprovalKind.TRUST or approval.status is not ApprovalStatus.APPROVED:
        return None
    asked = approval.action["parameters"]
    if asked["from_level"] != agent.trust_level:
        raise refuse(
            Code.APPROVAL_MISMATCH,
            f"the agent's trust level is {int(agent.trust_level)} by now, not {asked['from_level']}:"
            " it has to ask again",
        )
    level = TrustLevel(asked["to_level"])
    return msgspec.structs.replace(agent, trust_level=level)


async def redeem(
    services: Services, caller: Caller, approval_id: str, raw: Any, key: bytes | None = None
) -> Answer | Remembered:
    """Use a grant: suspension, permissions, unknown outcomes and the budget are checked again, the budget is
    charged, and the answer attests. Repeated under its key, it gets the recorded answer."""
    require_own_or_scope(caller, Scope.VERIFY)
    convert(raw, RedeemBody)
    action = _read_action(raw["action"])
    approval = await _grant(services, caller, approval_id)
    agent = await services.store.agent(approval.agent_id)
    if agent is None:
        raise refuse(Code.APPROVAL_UNKNOWN, "its agent is no longer registered")
    return await decide_once(
        services, agent, key, lambda claim: _use(services, caller, agent, approval, action, claim)
    )


async def _use(
    services: Services,
    caller: Caller,
    agent: Agent,
    approval: Approval,
    action: Action,
    claim: KeyClaim | None,
) -> Answer:
    now_ms = services.clock.now_ms()
    used = redeemed(approval, action_hash(action), now_ms)
    if isinstance(used, Refusal):
        raise RequestError(used)

    async def redeem_under(newest: Services) -> Answer:
        if approval.policy_version != newest.policy.version:
            await _require_good_still(newest, caller, agent, approval, action)
        return await redeem_grant(newest, caller, agent, used, action, claim)

    return await under_newest(services, redeem_under)


async def _require_good_still(
    services: Services, caller: Caller, agent: Agent, grant: Approval, action: Action
) -> None:
    """Given under another policy, a grant is good only if today's allows the action, with the votes cast."""
    case = await weigh_edit(services, caller, agent, grant, action)
    verdict, corrected = case.verdict, case.examined.finding.corrected if case.examined else None
    why = None
    if verdict.decision is Decision.PENDING:
        missing = sorted(set(verdict.asked.roles) - {grant.role})
        if missing:
            why = f"it asks for somebody with the role '{missing[0]}'"
        elif len(grant.votes) < services.policy.approvals.approvers:
            why = f"it asks for {services.policy.approvals.approvers} people"
    elif not verdict.decision.lets_act:
        why = verdict.refusal.message if verdict.refusal else verdict.decision.value
    elif corrected is not None and action_hash(corrected) != grant.action_hash:
        why = "it would run another action"
    if why is not None:
        raise refuse(
            Code.APPROVAL_MISMATCH, f"the grant is void: the policy has changed since, and today {why}"
        )


async def _grant(services: Services, caller: Caller, approval_id: str) -> Approval:
    """A grant that was made up, or is another agent's, is a forged one (section 8)."""
    try:
        return await visible_approval(services, caller, approval_id)
    except RequestError:
        await charge_forged_grant(services, caller, approval_id)
        raise
