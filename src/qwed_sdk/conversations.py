"""A conversation that counts its own steps and says what became of them."""

import threading
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from qwed_sdk.errors import QWEDError
from qwed_sdk.results import Decision

if TYPE_CHECKING:
    from qwed_sdk.client import QWEDClient


class ActionDenied(QWEDError):
    """The gateway did not let the action run now; `decision` says why."""

    def __init__(self, decision: Decision) -> None:
        self.decision = decision
        super().__init__(f"{decision.decision}: {decision.message} ({decision.code or 'no code'})")


class Permit:
    """Leave to run one action. `action` is what may run: the corrected one, where it was corrected."""

    def __init__(self, decision: Decision, action: Mapping[str, Any]) -> None:
        self.decision = decision
        self.action: Mapping[str, Any] = decision.get("corrected_action") or action
        self.outcome = "success"
        self.usage: Mapping[str, Any] | None = None


class Conversation:
    """Steps are used only by what was approved or is pending, so a denied action's number is used again.

    One action at a time: the gateway refuses two steps of one conversation in flight, so this waits.
    """

    def __init__(self, client: "QWEDClient", agent_id: str, conversation_id: str | None = None) -> None:
        self._client = client
        self.agent_id = agent_id
        self.conversation_id = conversation_id or str(uuid.uuid4())
        self._next_step = 1
        self._lock = threading.Lock()

    def verify(self, action: Mapping[str, Any], **details: Any) -> Decision:
        """`details` go into the context (`user_intent`, `pre_action_state_hash`, …), but for `options` and
        `usage`."""
        options, usage = details.pop("options", None), details.pop("usage", None)
        with self._lock:
            context = {
                "conversation_id": self.conversation_id,
                "step_number": self._next_step,
                **details,
            }
            decision = self._client.verify_action(
                self.agent_id, action, context, options=options, usage=usage
            )
            if decision.may_act or decision.is_pending:
                self._next_step += 1
            return decision

    @contextmanager
    def action(self, action: Mapping[str, Any], **details: Any) -> Iterator[Permit]:
        """Run the block only if the action is approved, and report whether it succeeded."""
        decision = self.verify(action, **details)
        if not decision.may_act:
            raise ActionDenied(decision)
        permit = Permit(decision, action)
        try:
            yield permit
        except BaseException as error:
            self._report(permit, "failure", f"{type(error).__name__}: {error}")
            raise
        self._report(permit, permit.outcome, None)

    def _report(self, permit: Permit, outcome: str, error: str | None) -> None:
        activity_id = permit.decision.activity_id
        if activity_id is not None:
            self._client.report_outcome(
                self.agent_id, activity_id, outcome, error=error and error[:2000], usage=permit.usage
            )
