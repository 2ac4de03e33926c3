"""`Conversation`: one conversation of one agent, synchronously."""

# Written from async_conversation.py by scripts/generate-sync-client: change that, and run it.

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from qwed_sdk.carried_permits import carry, drop
from qwed_sdk.conversations import Permit, Steps, permission, reporting
from qwed_sdk.procedures import shielded
from qwed_sdk.results import Decision, Json
from qwed_sdk.tool_outcomes import outcome_members

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

    def hear(self, text: str) -> None:
        """What the user wrote, in a person's own words: the next proposal tells it. Values in it count as
        said by the user."""
        if self._client.tells_values:
            self._steps.hear(text)

    @contextmanager
    def action(
        self, action: Mapping[str, Json], *, wait_seconds: float = 0.0, **details: Json
    ) -> Iterator[Permit]:
        """Run the block only if the action is approved, and report whether it succeeded.

        What is PENDING waits up to `wait_seconds` for a person, and is then denied. What the block puts into
        `permit.result` goes with the report.
        """
        decision = self.verify(action, **details)
        somewhere = self._client.somewhere
        leave = permission(self.agent_id, action, decision, wait_seconds, somewhere=somewhere)
        permit = self._client.carry_out(leave)
        carry(permit.token)
        try:
            yield permit
        except BaseException as error:
            drop(permit.token)
            self._report(permit, error)
            raise
        drop(permit.token)
        self._report(permit, None)

    def _report(self, permit: Permit, error: BaseException | None) -> None:
        tells_values, unsent = self._client.tells_values, self._client.unsent
        outcome = outcome_members(permit, permit.result, error, tells_values=tells_values)
        shielded(self._client.carry_out(reporting(self.agent_id, permit, outcome, unsent)))
