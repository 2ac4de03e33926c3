"""`AsyncConversation`: one conversation of one agent, under asyncio."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from qwed_sdk.carried_permits import carry, drop
from qwed_sdk.conversations import Permit, Steps, permission, reporting
from qwed_sdk.procedures import ashielded
from qwed_sdk.results import Decision, Json
from qwed_sdk.tool_outcomes import outcome_members

if TYPE_CHECKING:
    from qwed_sdk.async_client import AsyncQWEDClient


class AsyncConversation:
    """One action at a time: the gateway refuses two steps of one conversation in flight, so this waits."""

    def __init__(self, client: "AsyncQWEDClient", agent_id: str, conversation_id: str | None = None) -> None:
        self._client = client
        self._steps = Steps(agent_id, conversation_id)
        self.agent_id = agent_id
        self.conversation_id = self._steps.conversation_id

    async def verify(self, action: Mapping[str, Json], **details: Json) -> Decision:
        """`details` go into the context (`user_intent`, `pre_action_state_hash`, …), but for `options` and
        `usage`."""
        return await self._client.carry_out(self._steps.verification(action, details))

    def hear(self, text: str) -> None:
        """What the user wrote, in a person's own words: the next proposal tells it. Values in it count as
        said by the user."""
        if self._client.tells_values:
            self._steps.hear(text)

    @asynccontextmanager
    async def action(
        self, action: Mapping[str, Json], *, wait_seconds: float = 0.0, **details: Json
    ) -> AsyncIterator[Permit]:
        """Run the block only if the action is approved, and report whether it succeeded.

        What is PENDING waits up to `wait_seconds` for a person, and is then denied. What the block puts into
        `permit.result` goes with the report.
        """
        decision = await self.verify(action, **details)
        somewhere = self._client.somewhere
        leave = permission(self.agent_id, action, decision, wait_seconds, somewhere=somewhere)
        permit = await self._client.carry_out(leave)
        carry(permit.token)
        try:
            yield permit
        except BaseException as error:
            drop(permit.token)
            await self._report(permit, error)
            raise
        drop(permit.token)
        await self._report(permit, None)

    async def _report(self, permit: Permit, error: BaseException | None) -> None:
        tells_values, unsent = self._client.tells_values, self._client.unsent
        outcome = outcome_members(permit, permit.result, error, tells_values=tells_values)
        await ashielded(self._client.carry_out(reporting(self.agent_id, permit, outcome, unsent)))
