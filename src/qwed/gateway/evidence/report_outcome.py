"""What happened when an approved action ran: reported once, and settled by a person when unknown."""

import re
from typing import Any, Final

import msgspec

from qwed.domain.agents import Agent, AgentId
from qwed.domain.codes import Code
from qwed.domain.credentials import Caller, Scope
from qwed.domain.decisions import LETS_ACT
from qwed.domain.deliveries import Delivery
from qwed.domain.json_types import Json
from qwed.domain.money import nano_of
from qwed.domain.nodes import jti_of
from qwed.domain.outcomes import Outcome, OutcomeResult
from qwed.domain.provenance_rules import NO_PROVENANCE_RULES
from qwed.domain.times import day_of
from qwed.domain.webhooks import Event
from qwed.domain.workflows import Completion
from qwed.gateway.decide.case import Place
from qwed.gateway.decide.value_origins import coverage_of
from qwed.gateway.evidence.permits import note_effect_without_permit
from qwed.gateway.kernel.answers import Answer, RequestError, malformed, refuse
from qwed.gateway.kernel.changes import noted
from qwed.gateway.kernel.masks import shown
from qwed.gateway.kernel.notifications import News, deliveries_of
from qwed.gateway.kernel.records import Activity, Booking, Record
from qwed.gateway.kernel.reports import take_reports
from qwed.gateway.kernel.requests import MAX_TEXT, OutcomeBody, convert, read_usage
from qwed.gateway.kernel.services import Services
from qwed.gateway.kernel.visibility import require_agent, require_own_or_scope, require_scope

#: More than any one action costs, and small enough that no sum of them overflows.
MAX_SETTLED_USD: Final = 100_000
_HASH: Final = re.compile(r"(?:sha256:)?[0-9a-f]{64}")


class SettleBody(msgspec.Struct, forbid_unknown_fields=True):
    outcome: OutcomeResult
    note: str | None = None


async def report_outcome(
    services: Services, caller: Caller, agent_id: AgentId, activity_id: str, raw: Json
) -> Answer:
    agent = await require_agent(services, caller, agent_id)
    require_own_or_scope(caller, Scope.VERIFY)
    body = convert(raw, OutcomeBody)
    _check_texts(body)
    activity, earlier = await _activity(services, agent, activity_id)
    if activity.decision not in LETS_ACT and not _is_observed(activity):
        raise refuse(Code.OUTCOME_CONFLICT, "only what was approved can have an outcome")
    if earlier is not None:
        raise refuse(Code.OUTCOME_CONFLICT, f"the outcome was reported already: {earlier.result}")
    outcome = Outcome(
        activity_id=activity_id,
        agent_id=agent_id,
        result=body.outcome,
        reported_by=caller.name,
        reported_ms=services.clock.now_ms(),
        fingerprint=activity.fingerprint,
        result_hash=body.result_hash,
        error=shown(body.error),
    )
    settlement = _settlement(services, activity, body)
    coverage = await _hear(services, activity, body)
    details = {"activity_id": activity_id, **outcome.to_wire(), **coverage}
    if _is_observed(activity):
        details["observed"] = True
    record = Record(
        noted(
            services,
            caller,
            "report_outcome",
            details,
            agent=agent,
            caused_by=(activity_id,),
            cost_nano=settlement.cost_nano if settlement else 0,
            tokens=settlement.tokens if settlement else 0,
        ),
        outcome=outcome,
        booking=settlement,
        completions=_completions(activity, outcome),
    )
    if outcome.result is OutcomeResult.UNKNOWN:
        told = await _notify(services, agent, activity, record.activity, outcome)
        record = msgspec.structs.replace(record, deliveries=told)
    await _commit_once(services, record)
    if outcome.result in (OutcomeResult.SUCCESS, OutcomeResult.PARTIAL):
        await note_effect_without_permit(services, caller, activity_id)
    return Answer({"activity_id": activity_id, **outcome.to_wire(), **coverage})


class _Called(msgspec.Struct):
    """What an entry says of the call that was made."""

    #: The agent acted, whatever was decided.
    observed: bool = False

    action: Any = None
    context: Any = None


def _is_observed(activity: Activity) -> bool:
    return msgspec.json.decode(activity.payload, type=_Called).observed


async def _hear(services: Services, activity: Activity, body: OutcomeBody) -> dict[str, str]:
    """Before the outcome is recorded: who may not report twice could not report it later."""
    if activity.conversation_id is None or (body.result is None and body.messages is None):
        return {}
    called = msgspec.json.decode(activity.payload, type=_Called)
    action = called.action if isinstance(called.action, dict) else {}
    context = called.context if isinstance(called.context, dict) else {}
    step = context.get("step_number")
    said = {"parameters": action.get("parameters"), "step_number": step, "truncated": body.truncated}
    results = [] if body.result is None else [{"tool": activity.action_type, "result": body.result, **said}]
    _, reports = take_reports({"messages": body.messages or [], "results": results})
    assert reports is not None
    rules = services.policy.provenance or NO_PROVENANCE_RULES
    place = (activity.agent_id, activity.conversation_id)
    index = await services.hearing.hear(
        services.store, services.signer, place, rules, reports, services.clock.now_ms()
    )
    return {"provenance": coverage_of(index)}


async def _notify(
    services: Services, agent: Agent, activity: Activity, report: Activity, outcome: Outcome
) -> tuple[Delivery, ...]:
    """A person has to settle it before the agent may try the same again."""
    data = {
        "outcome": {
            "activity_id": activity.activity_id,
            "action_type": shown(activity.action_type),
            **outcome.to_wire(),
        }
    }
    news = News(
        Event.OUTCOME_UNKNOWN, agent.agent_id, agent.principal_id, report.activity_id, report.at_ms, data
    )
    return await deliveries_of(services, news)


class _Placed(msgspec.Struct):
    """What an entry says of its place in a workflow."""

    workflow: Place | None = None


def _completions(activity: Activity, outcome: Outcome) -> tuple[Completion, ...]:
    """An action that succeeded at a node of a workflow completes it."""
    if activity.wid is None or outcome.result is not OutcomeResult.SUCCESS:
        return ()
    place = msgspec.json.decode(activity.payload, type=_Placed).workflow
    if place is None:
        return ()
    return (Completion(place.workflow_id, place.node_id, jti_of(activity.activity_id)),)


async def settle_outcome(
    services: Services, caller: Caller, agent_id: AgentId, activity_id: str, raw: Json
) -> Answer:
    """A person says what became of an action whose outcome nobody knew; an agent never may."""
    require_scope(caller, Scope.APPROVE)
    agent = await require_agent(services, caller, agent_id)
    body = convert(raw, SettleBody)
    if body.outcome is OutcomeResult.UNKNOWN:
        raise malformed("outcome", "is success, partial or failure: unknown settles nothing")
    if body.note is not None and len(body.note) > MAX_TEXT:
        raise malformed("note", f"is longer than {MAX_TEXT} characters")
    decided, earlier = await _activity(services, agent, activity_id)
    if earlier is None or earlier.result is not OutcomeResult.UNKNOWN:
        raise refuse(Code.OUTCOME_CONFLICT, "only an unknown outcome can be settled")
    settled = msgspec.structs.replace(
        earlier, result=body.outcome, settled_by=caller.name, settled_ms=services.clock.now_ms()
    )
    details = {"activity_id": activity_id, "note": body.note, **settled.to_wire()}
    activity = noted(services, caller, "settle_outcome", details, agent=agent, caused_by=(activity_id,))
    record = Record(activity, outcome=settled, completions=_completions(decided, settled))
    await _commit_once(services, record)
    return Answer({"activity_id": activity_id, **settled.to_wire()})


async def _commit_once(services: Services, record: Record) -> None:
    """Of two reports at the same time the store takes one."""
    refusal = await services.store.commit(record)
    if refusal is not None:
        raise RequestError(refusal)


def _check_texts(body: OutcomeBody) -> None:
    if body.result_hash is not None and not _HASH.fullmatch(body.result_hash):
        raise malformed("result_hash", "is a SHA-256 in 64 lower-case hexadecimal digits")
    if body.error is not None and len(body.error) > MAX_TEXT:
        raise malformed("error", f"is longer than {MAX_TEXT} characters")


async def _activity(services: Services, agent: Agent, activity_id: str) -> tuple[Activity, Outcome | None]:
    found = await services.store.activity(activity_id)
    if found is None or found[0].agent_id != agent.agent_id:
        raise refuse(Code.NOT_FOUND, f"the agent has no activity {activity_id[:80]!r}")
    return found


def _settlement(services: Services, activity: Activity, body: OutcomeBody) -> Booking | None:
    """The difference between what was held and what was really spent (section 7)."""
    if body.usage is None:
        return None
    usage = read_usage(body.usage)
    if usage.cost_usd > MAX_SETTLED_USD:
        raise malformed("usage.cost_usd", f"is an amount from 0 to {MAX_SETTLED_USD}")
    actual = nano_of(services.policy.cost_of(activity.action_type, usage.cost_usd))
    return Booking(
        activity.agent_id,
        activity.principal_id,
        day_of(activity.at_ms),
        activity.at_ms // 1000,
        0,
        actual - activity.cost_nano,
        usage.tokens - activity.tokens,
    )
