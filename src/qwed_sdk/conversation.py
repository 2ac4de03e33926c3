"""`Conversation`: one conversation of one agent, synchronously."""

# Written from async_conversation.py by scripts/generate-sync-client: change that, and run it.

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from qwed_sdk.conversations import Permit, Steps, described, outcome_of, permission, reporting
from qwed_sdk.procedures import shielded
from qwed_sdk.results import Decision, Json

if TYPE_CHECKING:
    from qwed_sdk.client import QWEDClient


class Conversation:
    """One action at a time: the gateway refuses two steps of one conversation in flight, so this waits."""

    def __init__(self, client: "QWEDClient", agent_id: str, conversation_id: str | None = None) -> None:
        self._client = client
        self._steps = Steps(agent_id, conversation_id)
        self.agent_id = agent_id
        self.conversation_id = self._steps.conversation_id

    def verify(self, action: Mapping[str, Json], **details: Json) -> Decision:
        """`details` go into the context (`user_intent`, `pre_action_state_hash`, …), but for `options` and
        `usage`."""
        return self._client.carry_out(self._steps.verification(action, details))

    @contextmanager
    def action(
        self, action: Mapping[str, Json], *, wait_seconds: float = 0.0, **details: Json
    ) -> Iterator[Permit]:
        """Run the block only if the action is approved, and report whether it succeeded.

        What is PENDING waits up to `wait_seconds` for a person, and is then denied.
        """
        decision = self.verify(action, **details)
        somewhere = self._client.somewhere
        leave = permission(self.agent_id, action, decision, wait_seconds, somewhere=somewhere)
        permit = self._client.carry_out(leave)
        try:
            yield permit
        except BaseException as error:
            self._report(permit, {"outcome": outcome_of(error), "error": described(error)})
            raise
        self._report(permit, {"outcome": permit.outcome})

    def _report(self, permit: Permit, outcome: Mapping[str, Json]) -> None:
        unsent = self._client.unsent
        shielded(self._client.carry_out(reporting(self.agent_id, permit, outcome, unsent)))
