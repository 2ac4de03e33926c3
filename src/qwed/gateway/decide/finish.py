"""The end of every recorded walk: sign, record, tell, answer. Nothing is answered before it is durable."""

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from qwed.domain.approvals import Approval
from qwed.domain.codes import Code, Refusal
from qwed.domain.decisions import Decision
from qwed.domain.deliveries import Delivery
from qwed.domain.findings import Status
from qwed.domain.refusal_counts import COUNTED_CODES
from qwed.domain.rule_windows import Reached, WindowsReached
from qwed.domain.times import iso
from qwed.domain.verdicts import APPROVED, Verdict
from qwed.domain.webhooks import Event
from qwed.gateway.decide.answer import Show, answer_of, choose_masking
from qwed.gateway.decide.case import Case
from qwed.gateway.decide.execution_context import NOTHING_PRESENTED
from qwed.gateway.decide.facts import Live
from qwed.gateway.decide.observe import observe
from qwed.gateway.decide.record import count_as, open_approval, record_of
from qwed.gateway.decide.refused_often import count_refusal
from qwed.gateway.decide.rule_row import take_reached
from qwed.gateway.decide.run import ask_about_agent, tighten
from qwed.gateway.decide.sign import sign
from qwed.gateway.decide.table import RECORDED, RECORDED_PRECEDENCE
from qwed.gateway.kernel.answers import Answer
from qwed.gateway.kernel.degrade_trust import commit_deed
from qwed.gateway.kernel.kept_answers import seal_answer
from qwed.gateway.kernel.notifications import News, approval_news, deliveries_of
from qwed.gateway.kernel.ports import AgentChanged, LeaseLost, StoreUnavailable
from qwed.gateway.kernel.services import Services

#: What the store refuses is recorded as refused; what it refuses once more is not answered.
MAX_ROUNDS: Final = 2
#: Rounds for windows of a policy that only watches; the store names all that are full at once.
MAX_WATCHED: Final = 4


async def finish(case: Case, facts: Live) -> Answer:
    services, walked = facts.services, case
    # Each round that finds more windows full asks about fewer of them.
    for _ in range(_rounds(services, case)):
        if services.observes_until_ms is not None:
            case = await observe(services, case, facts)
        if case.verdict.refusal is not None and _is_counted(case):
            await count_refusal(services, case.agent, case.verdict.refusal, case.now_ms)
        if services.shadow is not None:
            case = await services.shadow.look(case, facts)
        case = await sign(services, case)
        try:
            answer, late = await _record(services, case)
        except AgentChanged as changed:
            case = walked = await _judge_again(facts, case, changed)
            continue
        if late is None:
            if services.shadow is not None:
                services.shadow.report_count(case)
            return answer
        if isinstance(late, WindowsReached):
            case = _take_reached(walked, (*case.reached, *late.reached))
        else:
            case = walked = _take_late(case, late)
    raise StoreUnavailable("the decision was refused by the store twice")


def _rounds(services: Services, case: Case) -> int:
    """A policy that only watches has windows too, and takes no round from the one in force."""
    windows = 0 if case.ruled is None else len(case.ruled.windows)
    return MAX_ROUNDS + windows + (0 if services.shadow is None else MAX_WATCHED)


async def _judge_again(facts: Live, case: Case, changed: AgentChanged) -> Case:
    """The agent is another than the one that was decided upon: the rows that look at it are asked again."""
    services = facts.services
    agent = await services.store.agent(case.agent.agent_id)
    if agent is None:
        return _take_late(case, Verdict(Decision.DENIED, Refusal(Code.AGENT_SUSPENDED, str(changed))))
    admission = case.admission and msgspec.structs.replace(case.admission, agent=agent)
    again = ask_about_agent(case.add(agent=agent, admission=admission), facts)
    if again.tightened == case.tightened:
        # What speaks was said of the agent of before: the record names that one.
        return again
    return again.add(agent_digest=await services.shared_facts.keep(services.store, agent, case.policy))


def _is_counted(case: Case) -> bool:
    """Refused before anything was held or examined. What is forged is recorded, however often it comes."""
    return (
        case.verdict.refusal is not None
        and case.verdict.refusal.code in COUNTED_CODES
        and case.admission is None
        and case.examined is None
        and not case.is_forged
        and not case.is_observed
    )


def _take_reached(walked: Case, reached: Sequence[Reached]) -> Case:
    """Windows that the store found full, all of them as one fact; a rule that only notes changes nothing."""
    case, verdict = take_reached(walked, reached)
    if verdict is APPROVED:
        return case
    if verdict.decision is Decision.DENIED:
        case = case.add(redeemed=None)
    return tighten(case, RECORDED, verdict, RECORDED_PRECEDENCE)


async def _record(services: Services, case: Case) -> tuple[Answer, Verdict | WindowsReached | None]:
    """The answer, once it is durable; or what the store has against it."""
    show, verification = choose_masking(case)
    is_asked = case.verdict.decision is Decision.PENDING and not case.is_observed
    approval = open_approval(services, case, show) if is_asked else None
    held = case.admission
    spending = await services.store.spending(case.agent, case.now_ms) if held is None else held.spending
    answer = answer_of(case, spending, approval, verification, show)
    deed = count_as(case)
    record = record_of(case, approval, verification, answer, show, deed)
    if record.remembered is not None:
        sealed = seal_answer(services.signer, record.remembered)
        record = msgspec.structs.replace(record, remembered=sealed)
    if approval is not None or _is_failed(case):
        told = await _tell(services, case, approval, verification, show)
        record = msgspec.structs.replace(record, deliveries=told)
    try:
        refusal = await commit_deed(services, record, deed, case.admission, case.verdict.refusal)
    except LeaseLost as lost:
        return answer, Verdict(Decision.DENIED, Refusal(Code.LOOP_REPLAY, str(lost)))
    if isinstance(refusal, WindowsReached):
        return answer, refusal
    if refusal is not None:
        is_denied = refusal.code is Code.ECT_REFUSED or case.redeemed is not None
        return answer, Verdict(Decision.DENIED if is_denied else Decision.BUDGET_EXCEEDED, refusal)
    if case.claim is not None and record.remembered is None:
        await services.store.give_up_key(case.claim)
    if services.commons.events.is_heard:
        _publish(services, case, approval)
    return answer, None


def _is_failed(case: Case) -> bool:
    return case.examined is not None and case.examined.finding.status is Status.FAILED


def _take_late(case: Case, late: Verdict) -> Case:
    """The store's refusal is one more fact: it uses no step, opens nothing and redeems nothing."""
    case = tighten(case.add(redeemed=None), RECORDED, late, RECORDED_PRECEDENCE)
    is_token = late.refusal is not None and late.refusal.code is Code.ECT_REFUSED
    return case.add(execution=NOTHING_PRESENTED) if is_token else case


async def _tell(
    services: Services,
    case: Case,
    approval: Approval | None,
    verification: dict[str, Any] | None,
    show: Show,
) -> tuple[Delivery, ...]:
    """People hear of what waits for them, and of every FAILED."""
    if approval is not None:
        news = approval_news(Event.APPROVAL_REQUESTED, approval, case.activity_id, case.now_ms)
        return await deliveries_of(services, news)
    data = {
        "decision": {
            **({"observed": True} if case.is_observed else {}),
            "decision": case.verdict.decision.value,
            "action": show(case.action.to_wire()),
            "error": None if case.verdict.refusal is None else show(case.verdict.refusal.to_wire()),
            "verification": verification,
        }
    }
    agent = case.agent
    news = News(
        Event.DECISION_FAILED, agent.agent_id, agent.principal_id, case.activity_id, case.now_ms, data
    )
    return await deliveries_of(services, news)


def _publish(services: Services, case: Case, approval: Approval | None) -> None:
    common = {
        "agent_id": case.agent.agent_id,
        "principal_id": case.agent.principal_id,
        "activity_id": case.activity_id,
        "timestamp": iso(case.now_ms),
    }
    services.events.publish(
        {
            "type": "decision",
            **common,
            "action_type": case.kept_type,
            "decision": case.verdict.decision.value,
            **({"observed": True} if case.is_observed else {}),
            "error_code": case.verdict.refusal.code.value if case.verdict.refusal else None,
            "failed": _is_failed(case),
        }
    )
    if approval is not None:
        services.events.publish({"type": "approval", **common, "approval": approval.to_wire(case.now_ms)})
