"""One gate for the tools of every framework: verify, wait for a person, run, report.

Whatever goes wrong before a tool runs is `ToolRefused`, and the tool does not run. What is done is written
once, as procedures; `permit` and `apermit`, `ask` and `aask`, … carry them out in a thread or in a task.
"""

import asyncio
import contextvars
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Final, TypeVar

from qwed_sdk import calls
from qwed_sdk.async_client import AsyncQWEDClient
from qwed_sdk.carried_permits import carry, drop
from qwed_sdk.client import QWEDClient
from qwed_sdk.conversations import (
    ActionDenied,
    Permit,
    action_hash_of,
    late_reports,
    permission,
    redemption,
    reporting,
)
from qwed_sdk.errors import GatewayUnavailable, QWEDError, RequestRefused
from qwed_sdk.gate_conversations import Conversations
from qwed_sdk.pending_calls import PendingCalls
from qwed_sdk.procedures import Procedure, acarry_out, approval_answer, ashielded
from qwed_sdk.reported_values import said_here
from qwed_sdk.results import Approval, Decision, Json
from qwed_sdk.tool_map import NotApplicable, NotShowable, ToolAs, ToolCall, ToolMap, action_of_call
from qwed_sdk.tool_outcomes import outcome_members

R = TypeVar("R")

DEFAULT_WAIT_SECONDS: Final = 300.0
_current_run: contextvars.ContextVar[str | None] = contextvars.ContextVar("qwed_tool_run", default=None)


class ToolRefused(QWEDError):
    """The tool did not run. The message is fit to be shown to the model.

    `decision` is the gateway's, where it gave one.
    """

    def __init__(self, tool_name: str, reason: str, decision: Decision | None = None) -> None:
        self.tool_name = tool_name
        self.reason = reason
        self.decision = decision
        super().__init__(f"QWED did not let {tool_name[:100]} run: {reason}")

    def __reduce__(self) -> tuple[type, tuple[str, str, Decision | None]]:
        return type(self), (self.tool_name, self.reason, self.decision)


class ToolPermit(Permit):
    """Leave to run one tool call, with exactly these arguments."""

    def __init__(self, permit: Permit, call: ToolCall) -> None:
        super().__init__(permit.decision, permit.action)
        self.tool_name = call.tool_name
        #: What was asked for; `arguments` is what may run.
        self.proposed = call.arguments
        self.arguments = call.arguments_for(self.action)
        # Frameworks run the tool in the context that asked, or in a copy of it.
        carry(self.token)


class PendingCall:
    """A tool call that waits for a person."""

    def __init__(self, call: ToolCall, decision: Decision) -> None:
        self.call = call
        self.decision = decision

    @property
    def approval_id(self) -> str:
        assert self.decision.approval_id is not None
        return self.decision.approval_id


@contextmanager
def tool_run(conversation_id: str) -> Iterator[str]:
    """Tool calls in this block belong to this conversation, where their framework names none."""
    token = _current_run.set(conversation_id)
    try:
        yield conversation_id
    finally:
        _current_run.reset(token)


def current_run() -> str | None:
    """The conversation that `tool_run` opened around this code."""
    return _current_run.get()


class ToolGate:
    """Thread-safe, and usable from asyncio as well: with an `AsyncQWEDClient`, or with a `QWEDClient`, whose
    calls then run in threads. Without a client, one is made from `QWED_API_KEY` and `QWED_BASE_URL`.

    `tool_map` gives the action types of tools; a tool it does not name goes by its own. `wait_seconds` is how
    long a PENDING call waits for a person; 0 refuses it at once. A yes that comes later counts: the same
    call, asked for again, uses it. `permits` asks for a permit with every call; where the gateway's policy
    asks for one, it comes by itself. The tool finds it with `current_permit`.
    """

    def __init__(
        self,
        agent_id: str,
        *,
        client: QWEDClient | AsyncQWEDClient | None = None,
        agent_token: str | None = None,
        tool_map: ToolMap | None = None,
        wait_seconds: float = DEFAULT_WAIT_SECONDS,
        user_intent: str | None = None,
        conversation_id: str | None = None,
        permits: bool = False,
    ) -> None:
        self.agent_id = agent_id
        self.wait_seconds = wait_seconds
        self._client = client if client is not None else QWEDClient()
        if agent_token is not None:
            self._client.use_agent_token(agent_id, agent_token)
        self._tool_map: dict[str, str | ToolAs] = dict(tool_map or {})
        self._details: dict[str, Json] = {} if user_intent is None else {"user_intent": user_intent}
        if permits:
            self._details["options"] = {"permit": True}
        self._conversations = Conversations(agent_id, conversation_id)
        self._pending = PendingCalls()

    def map_tool(self, tool_name: str, as_action: str | ToolAs) -> None:
        """What one more tool is to the gateway."""
        if self._tool_map.setdefault(tool_name, as_action) != as_action:
            raise ValueError(f"this gate has another meaning for the tool {tool_name!r}")

    # --- in a thread ---------------------------------------------------------------------------

    def run(
        self,
        tool_name: str,
        arguments: Mapping[str, Json],
        function: Callable[[dict[str, Json]], R],
        *,
        conversation_id: str | None = None,
    ) -> R:
        """`function` gets the arguments that may run. Raises `ToolRefused`, or what the function raises."""
        permit = self.permit(tool_name, arguments, conversation_id=conversation_id)
        try:
            result = function(permit.arguments)
        except BaseException as error:
            self.report(permit, error=error)
            raise
        self.report(permit, result=result)
        return result

    def permit(
        self, tool_name: str, arguments: Mapping[str, Json], *, conversation_id: str | None = None
    ) -> ToolPermit:
        """Ask, and wait for a person where one is asked. Raises `ToolRefused`."""
        with _refusing(tool_name):
            return self._carry_out(self._permission(tool_name, arguments, conversation_id, False))

    def ask(
        self,
        tool_name: str,
        arguments: Mapping[str, Json],
        *,
        conversation_id: str | None = None,
        is_resumed: bool = False,
    ) -> ToolPermit | PendingCall:
        """Ask, without waiting. A call that waits already is not asked about twice: once a person approved
        it, this is the leave to run it. `is_resumed`: an earlier process may have asked, so the gateway is
        searched for what it asked. Raises `ToolRefused`."""
        with _refusing(tool_name):
            return self._carry_out(self._question(tool_name, arguments, conversation_id, is_resumed))

    def answer(self, pending: PendingCall, wait_seconds: float = 0.0) -> Approval:
        """How the approval stands, once it is answered or the time is over. Raises `ToolRefused`."""
        with _refusing(pending.call.tool_name):
            return self._carry_out(approval_answer(pending.approval_id, self.agent_id, wait_seconds))

    def redeem(self, pending: PendingCall, approval: Approval) -> ToolPermit:
        """Leave to run what a person approved. Raises `ToolRefused`."""
        with _refusing(pending.call.tool_name):
            return self._carry_out(self._redemption(pending, approval))

    def report(
        self, permit: ToolPermit, *, result: object = None, error: BaseException | None = None
    ) -> None:
        """What became of it. Never raises: the tool ran already."""
        drop(permit.token)
        self._carry_out(self._reporting(permit, result, error))

    def _carry_out(self, procedure: Procedure[R]) -> R:
        if not isinstance(self._client, QWEDClient):
            raise TypeError("this gate has an AsyncQWEDClient: give it a QWEDClient, or use it from asyncio")
        return self._client.carry_out(procedure)

    # --- in a task -----------------------------------------------------------------------------

    async def arun(
        self,
        tool_name: str,
        arguments: Mapping[str, Json],
        function: Callable[[dict[str, Json]], Awaitable[R]],
        *,
        conversation_id: str | None = None,
    ) -> R:
        permit = await self.apermit(tool_name, arguments, conversation_id=conversation_id)
        try:
            result = await function(permit.arguments)
        except BaseException as error:
            await self.areport(permit, error=error)
            raise
        await self.areport(permit, result=result)
        return result

    async def apermit(
        self, tool_name: str, arguments: Mapping[str, Json], *, conversation_id: str | None = None
    ) -> ToolPermit:
        with _refusing(tool_name):
            procedure = self._permission(tool_name, arguments, conversation_id, self._holds_thread)
            return await self._acarry_out(procedure)

    async def aask(
        self,
        tool_name: str,
        arguments: Mapping[str, Json],
        *,
        conversation_id: str | None = None,
        is_resumed: bool = False,
    ) -> ToolPermit | PendingCall:
        with _refusing(tool_name):
            procedure = self._question(tool_name, arguments, conversation_id, is_resumed)
            return await self._acarry_out(procedure)

    async def aanswer(self, pending: PendingCall, wait_seconds: float = 0.0) -> Approval:
        with _refusing(pending.call.tool_name):
            procedure = approval_answer(
                pending.approval_id, self.agent_id, wait_seconds, holds_thread=self._holds_thread
            )
            return await self._acarry_out(procedure)

    async def aredeem(self, pending: PendingCall, approval: Approval) -> ToolPermit:
        with _refusing(pending.call.tool_name):
            return await self._acarry_out(self._redemption(pending, approval))

    async def areport(
        self, permit: ToolPermit, *, result: object = None, error: BaseException | None = None
    ) -> None:
        drop(permit.token)
        # A cancelled task could not await it otherwise.
        await ashielded(self._acarry_out(self._reporting(permit, result, error)))

    @property
    def _holds_thread(self) -> bool:
        return isinstance(self._client, QWEDClient)

    async def _acarry_out(self, procedure: Procedure[R]) -> R:
        client = self._client
        if isinstance(client, AsyncQWEDClient):
            return await client.carry_out(procedure)
        return await acarry_out(procedure, lambda call: asyncio.to_thread(client.send, call))

    # --- what is done --------------------------------------------------------------------------

    def pending(
        self, tool_name: str, arguments: Mapping[str, Json], decision: Mapping[str, Json]
    ) -> PendingCall:
        """A call that waits, from the decision that a framework kept for it. Raises `ToolRefused`."""
        with _refusing(tool_name):
            return PendingCall(action_of_call(tool_name, arguments, self._tool_map), Decision(decision))

    def _permission(
        self,
        tool_name: str,
        arguments: Mapping[str, Json],
        conversation_id: str | None,
        holds_thread: bool,
    ) -> Procedure[ToolPermit]:
        call = action_of_call(tool_name, arguments, self._tool_map)
        kept = self._pending.take(call.action)
        if kept is not None:
            permit = yield from self._late_permission(call, kept, self.wait_seconds, holds_thread)
            if permit is not None:
                return permit
        decision = yield from self._decision(call, conversation_id)
        return (yield from self._waiting(call, decision, self.wait_seconds, holds_thread))

    def _late_permission(
        self, call: ToolCall, decision: Decision, wait_seconds: float, holds_thread: bool
    ) -> Procedure[ToolPermit | None]:
        """With what was answered since; None where that is over and the call is to be asked about anew."""
        try:
            return (yield from self._waiting(call, decision, wait_seconds, holds_thread, was_asked=True))
        except ActionDenied as denied:
            if denied.approval is not None and denied.approval.status in ("expired", "redeemed"):
                return None
            raise

    def _waiting(
        self,
        call: ToolCall,
        decision: Decision,
        wait_seconds: float,
        holds_thread: bool,
        *,
        was_asked: bool = False,
    ) -> Procedure[ToolPermit]:
        is_over = False
        try:
            permit = yield from permission(
                self.agent_id,
                call.action,
                decision,
                wait_seconds,
                somewhere=self._client.somewhere,
                holds_thread=holds_thread,
                was_asked=was_asked,
            )
            is_over = True
            return ToolPermit(permit, call)
        except ActionDenied as denied:
            is_over = not denied.is_late
            raise
        finally:
            # Also where the task was cancelled, or the gateway went away meanwhile.
            if not is_over and decision.is_pending and decision.approval_id is not None:
                self._pending.keep(call.action, decision)

    def _question(
        self, tool_name: str, arguments: Mapping[str, Json], conversation_id: str | None, is_resumed: bool
    ) -> Procedure[ToolPermit | PendingCall]:
        call = action_of_call(tool_name, arguments, self._tool_map)
        decision = self._pending.take(call.action)
        if decision is None and is_resumed:
            decision = yield from self._search(call)
        try:
            if decision is not None:
                permit = yield from self._late_permission(call, decision, 0.0, False)
                if permit is not None:
                    return permit
            decision = yield from self._decision(call, conversation_id)
            return (yield from self._waiting(call, decision, 0.0, False))
        except ActionDenied as denied:
            if decision is not None and denied.is_late and decision.approval_id is not None:
                return PendingCall(call, decision)
            raise

    def _decision(self, call: ToolCall, conversation_id: str | None) -> Procedure[Decision]:
        steps = self._conversations.steps(conversation_id or _current_run.get())
        for text in said_here() if self._client.tells_values else ():
            steps.hear(text)
        # What a tool returned is to be known before the next call is judged.
        yield from late_reports(self._client.unsent)
        return (yield from steps.verification(call.action, self._details))

    def _redemption(self, pending: PendingCall, approval: Approval) -> Procedure[ToolPermit]:
        call = pending.call
        self._pending.take(call.action)
        permit = yield from redemption(self.agent_id, call.action, pending.decision, approval)
        return ToolPermit(permit, call)

    def _search(self, call: ToolCall) -> Procedure[Decision | None]:
        """This very call, where another process asked for it and it waits, or was approved and not used."""
        name = action_hash_of(call.action)
        for status in ("approved", "open"):
            found = yield calls.approvals({"agent_id": self.agent_id, "status": status}, self.agent_id)
            for approval in found["approvals"]:
                if approval.get("action_hash") == name and approval.get("agent_id") == self.agent_id:
                    return Decision(decision="PENDING", approval={"id": str(approval["id"])})
        return None

    def _reporting(self, permit: ToolPermit, result: object, error: BaseException | None) -> Procedure[None]:
        told = outcome_members(permit, result, error, tells_values=self._client.tells_values)
        yield from reporting(self.agent_id, permit, told, self._client.unsent)


@contextmanager
def _refusing(tool_name: str) -> Iterator[None]:
    """Every way of not getting leave, told as one."""
    try:
        yield
    except ToolRefused:
        raise
    except ActionDenied as error:
        raise ToolRefused(tool_name, str(error), error.decision) from error
    except GatewayUnavailable as error:
        raise ToolRefused(tool_name, "the gateway gave no usable answer") from error
    except (RequestRefused, NotShowable, NotApplicable) as error:
        raise ToolRefused(tool_name, str(error)) from error
    except Exception as error:  # the boundary around asking: an error is a refusal
        raise ToolRefused(tool_name, f"asking the gateway failed ({type(error).__name__})") from error
