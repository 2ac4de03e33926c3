"""One gate for the tools of every framework: verify, wait for a person, run, report.

Whatever goes wrong before a tool runs is `ToolRefused`, and the tool does not run.
"""

import asyncio
import contextvars
import hashlib
import json
import threading
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, TypeVar

from qwed_sdk.async_client import AsyncQWEDClient
from qwed_sdk.client import QWEDClient
from qwed_sdk.conversations import (
    ActionDenied,
    Permit,
    Steps,
    described,
    outcome_of,
    permission,
    redemption,
    reporting,
)
from qwed_sdk.errors import GatewayUnavailable, QWEDError, RequestRefused
from qwed_sdk.procedures import Procedure, acarry_out, approval_answer
from qwed_sdk.results import Decision
from qwed_sdk.tool_map import NotApplicable, NotShowable, ToolAs, ToolCall, ToolMap, plain, tool_call

if TYPE_CHECKING:
    from qwed_sdk.results import Approval

R = TypeVar("R")

DEFAULT_WAIT_SECONDS: Final = 300.0
_MAX_CONVERSATIONS: Final = 4096
#: What the gateway takes; a framework's own ids may be longer.
_MAX_CONVERSATION_ID: Final = 256
_MAX_HASHED: Final = 1024 * 1024
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


class ToolPermit(Permit):
    """Leave to run one tool call, with exactly these arguments."""

    def __init__(self, permit: Permit, call: ToolCall) -> None:
        super().__init__(permit.decision, permit.action)
        self.tool_name = call.tool_name
        self.arguments = call.arguments_for(self.action)


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
    long a PENDING call waits for a person; 0 refuses it at once.
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
    ) -> None:
        self.agent_id = agent_id
        self.wait_seconds = wait_seconds
        self._client = client if client is not None else QWEDClient()
        if agent_token is not None:
            self._client.use_agent_token(agent_id, agent_token)
        self._tool_map: dict[str, str | ToolAs] = dict(tool_map or {})
        self._details = {} if user_intent is None else {"user_intent": user_intent}
        self._own = Steps(agent_id, conversation_id)
        self._conversations: OrderedDict[str, Steps] = OrderedDict()
        self._lock = threading.Lock()

    def map_tool(self, tool_name: str, as_action: str | ToolAs) -> None:
        """What one more tool is to the gateway."""
        if self._tool_map.setdefault(tool_name, as_action) != as_action:
            raise ValueError(f"this gate has another meaning for the tool {tool_name!r}")

    # --- synchronously -------------------------------------------------------------------------

    def run(
        self,
        tool_name: str,
        arguments: Mapping[str, Any],
        function: Callable[[dict[str, Any]], R],
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
        self, tool_name: str, arguments: Mapping[str, Any], *, conversation_id: str | None = None
    ) -> ToolPermit:
        """Ask, and wait for a person where one is asked. Raises `ToolRefused`."""
        with _refusing(tool_name):
            call, decision = self._ask(tool_name, arguments, conversation_id)
            return self._permit(call, permission(self.agent_id, call.action, decision, self.wait_seconds))

    def ask(
        self, tool_name: str, arguments: Mapping[str, Any], *, conversation_id: str | None = None
    ) -> ToolPermit | PendingCall:
        """Ask, without waiting. Raises `ToolRefused`."""
        with _refusing(tool_name):
            call, decision = self._ask(tool_name, arguments, conversation_id)
            if decision.is_pending and decision.approval_id is not None:
                return PendingCall(call, decision)
            return self._permit(call, permission(self.agent_id, call.action, decision, 0.0))

    def pending(
        self, tool_name: str, arguments: Mapping[str, Any], decision: Mapping[str, Any]
    ) -> PendingCall:
        """A call that waited when its process ended."""
        with _refusing(tool_name):
            return PendingCall(tool_call(tool_name, arguments, self._tool_map), Decision(decision))

    def answer(self, pending: PendingCall, wait_seconds: float = 0.0) -> "Approval":
        """What people said so far."""
        with _refusing(pending.call.tool_name):
            return self._carry_out(approval_answer(pending.approval_id, self.agent_id, wait_seconds))

    def redeem(self, pending: PendingCall, approval: "Approval") -> ToolPermit:
        """Use what a person approved. Raises `ToolRefused`, also the second time."""
        with _refusing(pending.call.tool_name):
            call = pending.call
            return self._permit(call, redemption(self.agent_id, call.action, pending.decision, approval))

    def report(self, permit: ToolPermit, *, result: Any = None, error: BaseException | None = None) -> None:
        """What became of it. Never raises: the tool ran already."""
        self._carry_out(reporting(self.agent_id, permit, _outcome(permit, result, error)))

    def _ask(
        self, tool_name: str, arguments: Mapping[str, Any], conversation_id: str | None
    ) -> tuple[ToolCall, Decision]:
        call = tool_call(tool_name, arguments, self._tool_map)
        steps = self._steps(conversation_id)
        with steps.lock:
            return call, self._carry_out(steps.verification(call.action, self._details))

    def _permit(self, call: ToolCall, procedure: Procedure[Permit]) -> ToolPermit:
        return ToolPermit(self._carry_out(procedure), call)

    def _carry_out(self, procedure: Procedure[R]) -> R:
        if not isinstance(self._client, QWEDClient):
            raise TypeError("this gate has an AsyncQWEDClient: give it a QWEDClient, or use it from asyncio")
        return self._client.carry_out(procedure)

    # --- under asyncio -------------------------------------------------------------------------

    async def arun(
        self,
        tool_name: str,
        arguments: Mapping[str, Any],
        function: Callable[[dict[str, Any]], Awaitable[R]],
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
        self, tool_name: str, arguments: Mapping[str, Any], *, conversation_id: str | None = None
    ) -> ToolPermit:
        with _refusing(tool_name):
            call, decision = await self._aask(tool_name, arguments, conversation_id)
            procedure = permission(
                self.agent_id, call.action, decision, self.wait_seconds, holds_thread=self._holds_thread
            )
            return ToolPermit(await self._acarry_out(procedure), call)

    async def aask(
        self, tool_name: str, arguments: Mapping[str, Any], *, conversation_id: str | None = None
    ) -> ToolPermit | PendingCall:
        with _refusing(tool_name):
            call, decision = await self._aask(tool_name, arguments, conversation_id)
            if decision.is_pending and decision.approval_id is not None:
                return PendingCall(call, decision)
            permit = await self._acarry_out(permission(self.agent_id, call.action, decision, 0.0))
            return ToolPermit(permit, call)

    async def aanswer(self, pending: PendingCall, wait_seconds: float = 0.0) -> "Approval":
        with _refusing(pending.call.tool_name):
            procedure = approval_answer(
                pending.approval_id, self.agent_id, wait_seconds, holds_thread=self._holds_thread
            )
            return await self._acarry_out(procedure)

    async def aredeem(self, pending: PendingCall, approval: "Approval") -> ToolPermit:
        with _refusing(pending.call.tool_name):
            call = pending.call
            procedure = redemption(self.agent_id, call.action, pending.decision, approval)
            return ToolPermit(await self._acarry_out(procedure), call)

    async def areport(
        self, permit: ToolPermit, *, result: Any = None, error: BaseException | None = None
    ) -> None:
        # A cancelled task could not await it otherwise.
        procedure = reporting(self.agent_id, permit, _outcome(permit, result, error))
        await asyncio.shield(asyncio.ensure_future(self._acarry_out(procedure)))

    async def _aask(
        self, tool_name: str, arguments: Mapping[str, Any], conversation_id: str | None
    ) -> tuple[ToolCall, Decision]:
        call = tool_call(tool_name, arguments, self._tool_map)
        steps = self._steps(conversation_id)
        async with _Held(steps.lock):
            return call, await self._acarry_out(steps.verification(call.action, self._details))

    @property
    def _holds_thread(self) -> bool:
        return isinstance(self._client, QWEDClient)

    async def _acarry_out(self, procedure: Procedure[R]) -> R:
        client = self._client
        if isinstance(client, AsyncQWEDClient):
            return await client.carry_out(procedure)
        return await acarry_out(procedure, lambda call: asyncio.to_thread(client.send, call))

    # --- conversations -------------------------------------------------------------------------

    def _steps(self, conversation_id: str | None) -> Steps:
        name = conversation_id or _current_run.get()
        if name is None:
            return self._own
        if len(name) > _MAX_CONVERSATION_ID:
            name = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()
        with self._lock:
            steps = self._conversations.pop(name, None) or Steps(self.agent_id, name)
            self._conversations[name] = steps
            # One that is forgotten and comes back finds its count in the record.
            while len(self._conversations) > _MAX_CONVERSATIONS:
                self._conversations.popitem(last=False)
            return steps


class _Held:
    """A lock that threads and tasks share. It is held for one request, so looking again is cheap."""

    def __init__(self, lock: threading.Lock) -> None:
        self._lock = lock

    async def __aenter__(self) -> None:
        while not self._lock.acquire(blocking=False):
            await asyncio.sleep(0.002)

    async def __aexit__(self, *_: object) -> None:
        self._lock.release()


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


def _outcome(permit: ToolPermit, result: Any, error: BaseException | None) -> dict[str, Any]:
    if error is not None:
        return {"outcome": outcome_of(error), "error": described(error)}
    return {"outcome": permit.outcome, "result_hash": _hash_of(result)}


def _hash_of(result: Any) -> str | None:
    """Of a text, or of a value that is JSON; other results have no form to compare by."""
    try:
        text = result if isinstance(result, str) else json.dumps(plain(result), sort_keys=True)
        raw = text.encode("utf-8", "surrogatepass")
    except Exception:  # noqa: BLE001 - a result is the tool's own affair, whatever it is
        return None
    return hashlib.sha256(raw).hexdigest() if len(raw) <= _MAX_HASHED else None
