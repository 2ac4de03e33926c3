"""A conversation that counts its own steps, waits for people, and says what became of its actions."""

import asyncio
import json
import logging
import secrets
import threading
import uuid
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Any, Final

from qwed_sdk import calls
from qwed_sdk.errors import QWEDError, RequestRefused
from qwed_sdk.procedures import Pause, Procedure, approval_answer
from qwed_sdk.results import Approval, Decision

if TYPE_CHECKING:
    from qwed_sdk.async_client import AsyncQWEDClient
    from qwed_sdk.client import QWEDClient

_REPLAYED: Final = "QWED-AGENT-LOOP-002"
_REPORTED_ALREADY: Final = "QWED-OUTCOME-001"
_COMMITTED: Final = ("APPROVED", "CORRECTED", "PENDING")
_TRIES_FOR_A_STEP: Final = 5
_MAX_ERROR_TEXT: Final = 2000
_BESIDE_CONTEXT: Final = ("options", "usage", "execution_context")

logger = logging.getLogger("qwed_sdk")


class ActionDenied(QWEDError):
    """The gateway did not let the action run now; `decision` says why, and `approval` what a person said."""

    def __init__(self, decision: Decision, approval: Approval | None = None) -> None:
        self.decision = decision
        self.approval = approval
        super().__init__(_reason(decision, approval))


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

    def __init__(self, decision: Decision, action: Mapping[str, Any]) -> None:
        self.decision = decision
        self.action: Mapping[str, Any] = decision.get("corrected_action") or action
        self.outcome = "success"
        self.usage: Mapping[str, Any] | None = None


class Steps:
    """The numbers of one conversation's steps. Only what was approved or is pending uses one up.

    An answer that was lost may have used one up as well. The same action asked again goes out under its
    earlier key, so it gets that answer; another action finds out from the record where the count stands.
    """

    def __init__(self, agent_id: str, conversation_id: str | None = None) -> None:
        self.agent_id = agent_id
        self.conversation_id = conversation_id or str(uuid.uuid4())
        #: Held while a step is in flight: the gateway refuses two of one conversation at once.
        self.lock = threading.Lock()
        self._next = 1
        self._unanswered: tuple[str, str] | None = None

    def verification(self, action: Mapping[str, Any], details: Mapping[str, Any]) -> Procedure[Decision]:
        context = {name: value for name, value in details.items() if name not in _BESIDE_CONTEXT}
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
            if decision.may_act or decision.is_pending:
                self._next += 1
            if decision.code != _REPLAYED:
                break
            yield from self._catch_up(attempt)
        return decision

    def _key(self, action: Mapping[str, Any], context: Mapping[str, Any]) -> str:
        question = json.dumps([action, context], sort_keys=True, default=repr)
        if self._unanswered is None or self._unanswered[0] != question:
            self._unanswered = (question, secrets.token_hex(16))
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


def _step(entry: Mapping[str, Any]) -> int:
    step = (entry.get("context") or {}).get("step_number")
    return step if isinstance(step, int) else 0


def permission(
    agent_id: str,
    action: Mapping[str, Any],
    decision: Decision,
    wait_seconds: float,
    *,
    holds_thread: bool = False,
) -> Procedure[Permit]:
    """From a decision to leave to act. Waits for a person where the decision does. Raises `ActionDenied`."""
    if decision.may_act:
        return Permit(decision, action)
    if not decision.is_pending or decision.approval_id is None or wait_seconds <= 0:
        raise ActionDenied(decision)
    approval = yield from approval_answer(
        decision.approval_id, agent_id, wait_seconds, holds_thread=holds_thread
    )
    return (yield from redemption(agent_id, action, decision, approval))


def redemption(
    agent_id: str, action: Mapping[str, Any], decision: Decision, approval: Approval
) -> Procedure[Permit]:
    """Use what a person approved, once. Raises `ActionDenied` where nobody did."""
    if approval.status != "approved" or decision.approval_id is None:
        raise ActionDenied(decision, approval)
    granted = granted_action(action, approval, decision.corrected_action)
    redeemed: Decision = yield calls.redeem(decision.approval_id, agent_id, granted)
    if not redeemed.may_act:
        raise ActionDenied(redeemed)
    return Permit(redeemed, granted)


def granted_action(
    action: Mapping[str, Any], approval: Approval, corrected: Mapping[str, Any] | None = None
) -> Mapping[str, Any]:
    """What the grant is for: the proposed action, unless an engine corrected it or a person edited it.

    The approval masks secrets: what was proposed or corrected is used where its hash is the granted one.
    """
    granted = approval.get("action_hash")
    if granted is None:
        return corrected or action
    for known in (action, corrected):
        if known is not None and _hash_of(known) == granted:
            return known
    shown: Mapping[str, Any] = approval.get("action") or action
    return shown


def _hash_of(action: Mapping[str, Any]) -> str:
    from qwed.domain.actions import Action, action_hash  # noqa: PLC0415 - only approvals need it

    fields = ("query", "code", "target", "parameters")
    given = {name: action[name] for name in fields if action.get(name) is not None}
    return action_hash(Action(str(action.get("type") or action.get("action_type")), **given))


def reporting(agent_id: str, permit: Permit, outcome: Mapping[str, Any]) -> Procedure[None]:
    """What became of it. The action ran already, so a report that fails must not look like its failure."""
    activity_id = permit.decision.activity_id
    if activity_id is None:
        return
    try:
        yield calls.report_outcome(agent_id, activity_id, {"usage": permit.usage, **outcome})
    except RequestRefused as error:
        if error.code != _REPORTED_ALREADY:
            logger.warning("the outcome of %s was not taken: %s", activity_id, error)
    except QWEDError as error:
        logger.warning("the outcome of %s could not be reported: %s", activity_id, error)


def outcome_of(error: BaseException) -> str:
    """A tool that was stopped from outside, or ran out of time, may have done its work or not."""
    if isinstance(error, TimeoutError) or not isinstance(error, Exception):
        return "unknown"
    return "failure"


def described(error: BaseException) -> str:
    text = f"{type(error).__name__}: {error}"[:_MAX_ERROR_TEXT]
    # What is no Unicode could not be sent.
    return text.encode("utf-8", "replace").decode()


class Conversation:
    """One action at a time: the gateway refuses two steps of one conversation in flight, so this waits."""

    def __init__(self, client: "QWEDClient", agent_id: str, conversation_id: str | None = None) -> None:
        self._client = client
        self._steps = Steps(agent_id, conversation_id)
        self.agent_id = agent_id
        self.conversation_id = self._steps.conversation_id

    def verify(self, action: Mapping[str, Any], **details: Any) -> Decision:
        """`details` go into the context (`user_intent`, `pre_action_state_hash`, …), but for `options` and
        `usage`."""
        with self._steps.lock:
            return self._client.carry_out(self._steps.verification(action, details))

    @contextmanager
    def action(
        self, action: Mapping[str, Any], *, wait_seconds: float = 0.0, **details: Any
    ) -> Iterator[Permit]:
        """Run the block only if the action is approved, and report whether it succeeded.

        What is PENDING waits up to `wait_seconds` for a person, and is then denied.
        """
        decision = self.verify(action, **details)
        permit = self._client.carry_out(permission(self.agent_id, action, decision, wait_seconds))
        try:
            yield permit
        except BaseException as error:
            self._report(permit, {"outcome": outcome_of(error), "error": described(error)})
            raise
        self._report(permit, {"outcome": permit.outcome})

    def _report(self, permit: Permit, outcome: Mapping[str, Any]) -> None:
        self._client.carry_out(reporting(self.agent_id, permit, outcome))


class AsyncConversation:
    """As `Conversation`, under asyncio."""

    def __init__(self, client: "AsyncQWEDClient", agent_id: str, conversation_id: str | None = None) -> None:
        self._client = client
        self._steps = Steps(agent_id, conversation_id)
        self._lock = asyncio.Lock()
        self.agent_id = agent_id
        self.conversation_id = self._steps.conversation_id

    async def verify(self, action: Mapping[str, Any], **details: Any) -> Decision:
        async with self._lock:
            return await self._client.carry_out(self._steps.verification(action, details))

    @asynccontextmanager
    async def action(
        self, action: Mapping[str, Any], *, wait_seconds: float = 0.0, **details: Any
    ) -> AsyncIterator[Permit]:
        decision = await self.verify(action, **details)
        permit = await self._client.carry_out(permission(self.agent_id, action, decision, wait_seconds))
        try:
            yield permit
        except BaseException as error:
            await self._report(permit, {"outcome": outcome_of(error), "error": described(error)})
            raise
        await self._report(permit, {"outcome": permit.outcome})

    async def _report(self, permit: Permit, outcome: Mapping[str, Any]) -> None:
        await self._client.carry_out(reporting(self.agent_id, permit, outcome))
