"""A conversation that counts its own steps, waits for people, and says what became of its actions."""

import json
import logging
import threading
import uuid
from collections.abc import Mapping
from typing import Final

from qwed_sdk import calls
from qwed_sdk.calls import Call
from qwed_sdk.errors import QWEDError, RateLimited, RequestRefused
from qwed_sdk.forks import PerProcess
from qwed_sdk.person_wait import Somewhere
from qwed_sdk.procedures import Hold, Pause, Procedure, approval_answer
from qwed_sdk.questions import new_key
from qwed_sdk.reported_values import UserMessages, lesser_reports, without_result
from qwed_sdk.results import Approval, Decision, Json, Result
from qwed_sdk.unsent import Unsent

_REPLAYED: Final = "QWED-AGENT-LOOP-002"
_REPORTED_ALREADY: Final = "QWED-OUTCOME-001"
_COMMITTED: Final = ("APPROVED", "CORRECTED", "PENDING")
_TRIES_FOR_A_STEP: Final = 5
_MAX_ERROR_TEXT: Final = 2000
_BESIDE_CONTEXT: Final = ("options", "usage", "execution_context")
#: So many outcomes are kept with their results, which may be large; the others without.
_KEPT_WHOLE: Final = 30

logger = logging.getLogger("qwed_sdk")


class ActionDenied(QWEDError):
    """The gateway did not let the action run now; `decision` says why, and `approval` what a person said."""

    def __init__(self, decision: Decision, approval: Approval | None = None) -> None:
        self.decision = decision
        self.approval = approval
        super().__init__(_reason(decision, approval))

    def __reduce__(self) -> tuple[type, tuple[Decision, Approval | None]]:
        return type(self), (self.decision, self.approval)

    @property
    def is_late(self) -> bool:
        """Whether a person may still say yes: then the same action, asked for again, is not asked twice."""
        return self.decision.is_pending and (self.approval is None or self.approval.is_open)


def _reason(decision: Decision, approval: Approval | None) -> str:
    if approval is None:
        return f"{decision.decision}: {decision.message} ({decision.code or 'no code'})"
    if approval.status == "open":
        return f"PENDING: nobody has answered the approval {decision.approval_id} yet"
    notes = [str(vote["note"]) for vote in approval.get("votes", ()) if vote.get("note")]
    said = f": {notes[-1]}" if notes else ""
    return f"DENIED: the approval {decision.approval_id} is {approval.status}{said}"


class Permit:
    """Leave to run one action. `action` is what may run: the corrected one, where it was corrected, and the
    one a person approved, where a person was asked."""

    def __init__(self, decision: Decision, action: Mapping[str, Json]) -> None:
        self.decision = decision
        self.action: Mapping[str, Json] = decision.get("corrected_action") or action
        self.outcome = "success"
        #: What the tool returned, where its values are to be known later.
        self.result: object = None
        self.usage: Mapping[str, Json] | None = None
        #: What a tool that verifies permits asks for; None where the gateway issued none.
        self.token: str | None = decision.get("permit")


class Steps:
    """The numbers of one conversation's steps. Only what was approved or is pending uses one up.

    An answer that was lost may have used one up as well. The same action asked again goes out under its
    earlier key, so it gets that answer; another action finds out from the record where the count stands.
    """

    def __init__(self, agent_id: str, conversation_id: str | None = None) -> None:
        self.agent_id = agent_id
        self.conversation_id = conversation_id or str(uuid.uuid4())
        #: Held while a step is in flight: the gateway refuses two of one conversation at once.
        self._lock = PerProcess(threading.Lock)
        self._next = 1
        self._unanswered: tuple[str, str] | None = None
        self._user = UserMessages()

    def hear(self, text: str) -> None:
        """What the user wrote: the next proposal tells it."""
        self._user.hear(text)

    def verification(self, action: Mapping[str, Json], details: Mapping[str, Json]) -> Procedure[Decision]:
        """In turn: no two of one conversation are under way at once."""
        lock = self._lock.get()
        yield Hold(lock)
        try:
            return (yield from self._verification(action, details))
        finally:
            lock.release()

    def _verification(self, action: Mapping[str, Json], details: Mapping[str, Json]) -> Procedure[Decision]:
        context = {name: value for name, value in details.items() if name not in _BESIDE_CONTEXT}
        heard = self._user.next()
        if heard:
            said = [{"role": "user", "content": text} for text in heard.values()]
            context["messages"] = [*(context.get("messages") or ()), *said]
        for attempt in range(_TRIES_FOR_A_STEP):
            context |= {"conversation_id": self.conversation_id, "step_number": self._next}
            key = self._key(action, context)
            decision: Decision = yield calls.verify_action(
                self.agent_id,
                action,
                context,
                details.get("options"),
                details.get("usage"),
                key,
                details.get("execution_context") or (),
            )
            self._unanswered = None
            self._user.settle(heard)
            if decision.may_act or decision.is_pending:
                self._next += 1
            if decision.code != _REPLAYED:
                break
            yield from self._catch_up(attempt)
        return decision

    def _key(self, action: Mapping[str, Json], context: Mapping[str, Json]) -> str:
        question = json.dumps([action, context], sort_keys=True, default=repr)
        if self._unanswered is None or self._unanswered[0] != question:
            self._unanswered = (question, new_key())
        return self._unanswered[1]

    def _catch_up(self, attempt: int) -> Procedure[None]:
        """Somebody else counted too: another process, an earlier one, or an answer that was lost."""
        last = yield from self._last_committed()
        if last < self._next:
            # The other step is still in flight.
            yield Pause(0.05 * 2**attempt)
        self._next = max(self._next, last + 1)

    def _last_committed(self) -> Procedure[int]:
        last, cursor = 0, None
        while True:
            query = {"conversation_id": self.conversation_id, "limit": 500, "cursor": cursor}
            try:
                page = yield calls.get_activity_page(self.agent_id, query)
            except RequestRefused:
                return last
            steps = [_step(entry) for entry in page["activities"] if entry.get("decision") in _COMMITTED]
            last = max([last, *steps])
            cursor = page.get("next")
            if cursor is None:
                return last


def _step(entry: Mapping[str, Json]) -> int:
    step = (entry.get("context") or {}).get("step_number")
    return step if isinstance(step, int) else 0


def permission(
    agent_id: str,
    action: Mapping[str, Json],
    decision: Decision,
    wait_seconds: float,
    *,
    somewhere: Somewhere,
    holds_thread: bool = False,
    was_asked: bool = False,
) -> Procedure[Permit]:
    """From a decision to leave to act. Waits for a person where the decision does; where one `was_asked`
    before, looks for the answer also without waiting. Raises `ActionDenied`."""
    if decision.may_act:
        return Permit(decision, action)
    waits = wait_seconds > 0 or was_asked
    if decision.is_pending and not was_asked:
        somewhere.announce(str(calls.type_of(action)), decision, wait_seconds)
    if not decision.is_pending or decision.approval_id is None or not waits:
        raise ActionDenied(decision)
    approval = yield from approval_answer(
        decision.approval_id, agent_id, wait_seconds, holds_thread=holds_thread
    )
    return (yield from redemption(agent_id, action, decision, approval))


def redemption(
    agent_id: str, action: Mapping[str, Json], decision: Decision, approval: Approval
) -> Procedure[Permit]:
    """Use what a person approved, once. Raises `ActionDenied` where nobody did."""
    if approval.status != "approved" or decision.approval_id is None:
        raise ActionDenied(decision, approval)
    granted = find_granted_action(action, approval, decision.corrected_action)
    redeemed: Decision = yield calls.redeem(decision.approval_id, agent_id, granted)
    if not redeemed.may_act:
        raise ActionDenied(redeemed)
    return Permit(redeemed, granted)


def find_granted_action(
    action: Mapping[str, Json], approval: Approval, corrected: Mapping[str, Json] | None = None
) -> Mapping[str, Json]:
    """What the grant is for: the proposed action, unless an engine corrected it or a person edited it.

    The approval masks secrets: what was proposed or corrected is used where its hash is the granted one.
    """
    granted = approval.get("action_hash")
    if granted is None:
        return corrected or action
    for known in (action, corrected):
        if known is not None and action_hash_of(known) == granted:
            return known
    shown: Mapping[str, Json] = approval.get("action") or action
    return shown


def action_hash_of(action: Mapping[str, Json]) -> str:
    from qwed.domain.actions import Action, action_hash  # noqa: PLC0415 - only approvals need it

    fields = ("query", "code", "target", "parameters")
    given = {name: action[name] for name in fields if action.get(name) is not None}
    return action_hash(Action(str(action.get("type") or action.get("action_type")), **given))


def reporting(agent_id: str, permit: Permit, outcome: Mapping[str, Json], unsent: Unsent) -> Procedure[None]:
    """What became of it. The action ran already, so a report that fails must not look like its failure: it
    is kept, and sent after the next one that gets through."""
    activity_id = permit.decision.activity_id
    if activity_id is None:
        return
    report = calls.report_outcome(agent_id, activity_id, {"usage": permit.usage, **outcome})
    while (yield from _delivery(report, unsent)):
        kept = unsent.take()
        if kept is None:
            return
        report = kept


def _delivery(report: Call[Result], unsent: Unsent) -> Procedure[bool]:
    """Whether the gateway heard it. An outcome that is refused with its result is told without it."""
    try:
        yield from _telling(report)
    except RequestRefused as error:
        if error.code != _REPORTED_ALREADY:
            logger.warning("an outcome was not taken (%s): %s", report.path, error)
    except QWEDError as error:
        unsent.keep(report if len(unsent) < _KEPT_WHOLE else without_result(report))
        logger.warning("an outcome could not be reported, and is kept (%s): %s", report.path, error)
        return False
    except GeneratorExit:
        # The task was cancelled while the report was on its way.
        unsent.keep(report)
        raise
    return True


def _telling(report: Call[Result]) -> Procedure[None]:
    for lesser in lesser_reports(report):
        try:
            yield report
        except RateLimited:
            raise
        except RequestRefused as error:
            if error.code == _REPORTED_ALREADY:
                raise
            logger.warning("an outcome was not taken with its result (%s): %s", report.path, error)
        else:
            return
        report = lesser
    yield report


def late_reports(unsent: Unsent) -> Procedure[None]:
    """What is still to be told, until something stops it."""
    while (report := unsent.take()) is not None:
        if not (yield from _delivery(report, unsent)):
            return


def outcome_of(error: BaseException) -> str:
    """A tool that was stopped from outside, or ran out of time, may have done its work or not."""
    if isinstance(error, TimeoutError) or not isinstance(error, Exception):
        return "unknown"
    return "failure"


def describe(error: BaseException) -> str:
    text = f"{type(error).__name__}: {error}"[:_MAX_ERROR_TEXT]
    # What is no Unicode could not be sent.
    return text.encode("utf-8", "replace").decode()
