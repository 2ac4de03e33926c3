"""The gateway's side of one MCP session: decide, wait, redeem, report. Whatever fails, nothing runs."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from contextlib import suppress
from typing import Any, Final

import msgspec

from qwed.domain.canonical import encode_exact, sha256_hex
from qwed_sdk.async_client import AsyncQWEDClient
from qwed_sdk.conversations import ActionDenied, Permit, redemption, reporting
from qwed_sdk.errors import GatewayUnavailable, QWEDError, RequestRefused
from qwed_sdk.reported_values import result_members
from qwed_sdk.results import Approval, Decision

#: Clients give a process about two seconds to leave.
CLOSE_SECONDS: Final = 2.0
TICK_SECONDS: Final = 5.0

_OUT_OF_STEPS: Final = "QWED-AGENT-LOOP-001"
UNREACHABLE: Final = (
    "The QWED gateway could not be asked, so this was not run. Nothing runs until it answers again;"
    " try later or tell the user."
)
#: The beginning of a code → what a model can do about it. The first that fits.
_ADVICE: Final = (
    ("QWED-AGENT-LOOP-001", "This session has used all its steps: a new session begins a new count."),
    ("QWED-AGENT-LOOP", "Do something else instead of repeating this."),
    ("QWED-AGENT-STATE", "Correct the arguments."),
    ("QWED-AGENT-BUDGET", "The agent's budget is used up: stop here, or ask for a higher one."),
    ("QWED-AGENT-ACTION-001", "No rule allows this tool: use another one, or ask for it to be allowed."),
    ("QWED-AGENT-003", "Stop: a person has to reactivate the agent."),
    ("QWED-AGENT-004", "This agent may not use it: use another tool."),
    ("QWED-AGENT-005", "Correct what was found, then try again."),
    (
        "QWED-AGENT-TRUST",
        "The agent is not trusted with this risk: choose a less risky way, or ask a person.",
    ),
)

Tick = Callable[[str], Awaitable[None]]


class RefusedCall(msgspec.Struct, frozen=True):
    """`text` is for a model to act on; `details` are for programs."""

    text: str
    details: Mapping[str, Any]

    @property
    def awaited(self) -> str | None:
        """The approval that a person has not answered yet."""
        return self.details.get("approval_id") if self.details.get("decision") == "PENDING" else None


class McpGate:
    def __init__(
        self,
        client: AsyncQWEDClient,
        agent_id: str,
        conversation_id: str,
        *,
        wait_seconds: float = 300.0,
        renews: bool = False,
        log: Callable[[str], None] = lambda text: None,
    ) -> None:
        self._client = client
        self._agent_id = agent_id
        self._session = conversation_id
        self._conversation = client.conversation(agent_id, conversation_id)
        self.wait_seconds = wait_seconds
        self._renews = renews
        self._log = log
        self._round = 1
        #: Action → the decision that waits for a person, so that the same call again finds its answer.
        self._pending: dict[str, Decision] = {}
        self._background: set[asyncio.Task[Any]] = set()

    async def decide(
        self, action: Mapping[str, Any], tick: Tick, wait_seconds: float
    ) -> Permit | RefusedCall:
        """`tick` is awaited from time to time while a person is asked. Raises nothing but cancellation."""
        try:
            return await self._decide(sha256_hex(encode_exact(action)), action, tick, wait_seconds)
        except ActionDenied as denial:
            return _deny(denial)
        except RequestRefused as error:
            return _refuse(error.code, str(error), {})
        except QWEDError as error:
            self._log(f"nothing was run: {error}")
            return RefusedCall(UNREACHABLE, {"decision": "UNAVAILABLE"})

    async def _decide(self, key: str, action: Mapping[str, Any], tick: Tick, wait_seconds: float) -> Permit:
        decision = self._pending.get(key)
        if decision is None:
            decision = await self._unless_cancelled(self._verify(action))
            if decision.may_act:
                return _record(Permit(decision, action))
            if not decision.is_pending:
                raise ActionDenied(decision)
            self._pending[key] = decision
        approval = await self._answer(decision, tick, wait_seconds)
        if approval.status != "open":
            self._pending.pop(key, None)
        redeeming = self._client.carry_out(redemption(self._agent_id, action, decision, approval))
        return _record(await self._unless_cancelled(redeeming))

    async def _verify(self, action: Mapping[str, Any]) -> Decision:
        conversation = self._conversation
        decision = await conversation.verify(action)
        if decision.code != _OUT_OF_STEPS or not self._renews:
            return decision
        if conversation is self._conversation:
            self._round += 1
            self._conversation = self._client.conversation(self._agent_id, f"{self._session}.{self._round}")
        return await self._conversation.verify(action)

    async def _answer(self, decision: Decision, tick: Tick, wait_seconds: float) -> Approval:
        """What a person said, or that nobody did within the time."""
        if decision.approval_id is None:
            raise GatewayUnavailable("the gateway answered PENDING without an approval")
        asking = self._client.wait_for_approval(decision.approval_id, wait_seconds, agent_id=self._agent_id)
        task = asyncio.ensure_future(asking)
        try:
            while not task.done():
                await tick(decision.approval_id)
                await asyncio.wait({task}, timeout=TICK_SECONDS)
            return task.result()
        finally:
            task.cancel()

    async def _unless_cancelled(self, asking: Coroutine[Any, Any, Any]) -> Any:
        """A caller that leaves does not undo what the gateway decides then: it is reported as not run."""
        task = self._spawn(asking)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            task.add_done_callback(self._not_run)
            raise

    def _not_run(self, task: "asyncio.Task[Any]") -> None:
        if task.cancelled() or task.exception() is not None:
            return
        answer = task.result()
        permit = answer if isinstance(answer, Permit) else Permit(answer, {})
        if permit.decision.may_act:
            self.report(permit, "failure", "cancelled before it ran")

    # --- what became of it ---------------------------------------------------------------------

    def report(
        self,
        permit: Permit,
        outcome: str,
        error: str | None = None,
        *,
        result_hash: str | None = None,
        result: msgspec.Raw | None = None,
    ) -> "asyncio.Task[None]":
        """In the background; `close` waits for it. `result` is what the server answered."""
        told: dict[str, Any] = {"outcome": outcome, "error": error, "result_hash": result_hash}
        if result is not None and self._client.tells_values:
            told |= result_members(_read(result))
        return self._spawn(
            self._client.carry_out(reporting(self._agent_id, permit, told, self._client.unsent))
        )

    async def close(self) -> None:
        """Wait, not for ever, until everything is reported."""
        clock = asyncio.get_running_loop().time
        deadline = clock() + CLOSE_SECONDS
        # A report may follow from a decision that is still under way.
        while self._background and (left := deadline - clock()) > 0:
            await asyncio.wait(set(self._background), timeout=left)
        for task in set(self._background):
            task.cancel()
            with suppress(asyncio.CancelledError, QWEDError):
                await task

    def _spawn(self, work: Coroutine[Any, Any, Any]) -> "asyncio.Task[Any]":
        task = asyncio.ensure_future(work)
        self._background.add(task)
        task.add_done_callback(self._forget)
        return task

    def _forget(self, task: "asyncio.Task[Any]") -> None:
        self._background.discard(task)
        if not task.cancelled():
            task.exception()


def _read(result: msgspec.Raw) -> object:
    """The answer as JSON; what is none has no form to tell."""
    try:
        return msgspec.json.decode(result)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return result


def _record(permit: Permit) -> Permit:
    """Nothing is approved that was not written down first."""
    if permit.decision.activity_id is None:
        raise GatewayUnavailable("the gateway allowed an action without recording it")
    return permit


def _deny(denial: ActionDenied) -> RefusedCall:
    decision, approval = denial.decision, denial.approval
    if approval is None:
        return _refuse(decision.code or decision.decision, decision.message, decision)
    if approval.status == "open":
        return RefusedCall(
            f"This waits for a person's approval ({decision.approval_id}) and was not run. Once it is"
            " approved, make the same call with the same arguments again and it runs; meanwhile do something"
            " else or tell the user.",
            {"decision": "PENDING", "approval_id": decision.approval_id},
        )
    return RefusedCall(
        f"QWED did not allow this, and it was not run. {str(denial)[:1000]}. Do not repeat it unchanged.",
        {"decision": "DENIED", "approval_id": decision.approval_id, "status": approval.status},
    )


def _refuse(code: str, message: str, decision: Mapping[str, Any]) -> RefusedCall:
    advice = next((text for start, text in _ADVICE if code.startswith(start)), "Do not repeat it unchanged.")
    details = {"decision": decision.get("decision", "DENIED"), "code": code}
    if "activity_id" in decision:
        details["activity_id"] = decision["activity_id"]
    suffix = "" if code in message else f" ({code})"
    return RefusedCall(
        f"QWED did not allow this, and it was not run: {message[:1000]}{suffix}. {advice}", details
    )
