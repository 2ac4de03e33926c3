"""Microsoft Agent Framework behind the gateway: a function middleware before every tool of an agent."""

import uuid
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Literal

from qwed_sdk.async_client import AsyncQWEDClient
from qwed_sdk.client import QWEDClient
from qwed_sdk.extras import extra_needed
from qwed_sdk.results import Json
from qwed_sdk.sub_agents import look_behind
from qwed_sdk.tool_gate import (
    DEFAULT_WAIT_SECONDS,
    PendingCall,
    ToolGate,
    ToolPermit,
    ToolRefused,
    current_run,
    tool_run,
)
from qwed_sdk.tool_map import ToolMap, plain

try:
    from agent_framework import (  # type: ignore[import-not-found,unused-ignore]
        AgentMiddleware,
        BaseAgent,
        Content,
        FunctionMiddleware,
        MiddlewareTermination,
    )
except ImportError as missing:
    raise extra_needed("qwed_sdk.agent_framework", "agent-framework", missing) from missing

__all__ = ["QWEDFunctionMiddleware", "QWEDRunMiddleware", "ToolRefused"]


class QWEDRunMiddleware(AgentMiddleware):  # type: ignore[misc,unused-ignore]
    """Makes each run a conversation of its own. Without it, and in streams, the session is one."""

    async def process(self, context: Any, call_next: Callable[[], Awaitable[None]]) -> None:
        with tool_run(str(uuid.uuid4())):
            await call_next()


class QWEDFunctionMiddleware(FunctionMiddleware):  # type: ignore[misc,unused-ignore]
    """For `Agent(…, middleware=[QWEDRunMiddleware(), QWEDFunctionMiddleware(agent_id=…)])`. Put it last, so
    that nothing changes the arguments afterwards. A refused call answers the model; a PENDING one waits up to
    `wait_seconds` for a person. With `pending="interrupt"` the run ends instead, with a function approval
    request in `result.user_input_requests`: answer it with `to_function_approval_response(True)` in the same
    session, and the call goes on once a person has answered at the gateway. That answer itself approves
    nothing.
    """

    def __init__(
        self,
        agent_id: str,
        *,
        client: QWEDClient | AsyncQWEDClient | None = None,
        agent_token: str | None = None,
        tool_map: ToolMap | None = None,
        wait_seconds: float = DEFAULT_WAIT_SECONDS,
        pending: Literal["wait", "interrupt"] = "wait",
    ) -> None:
        self._interrupts = pending == "interrupt"
        self._gate = ToolGate(
            agent_id, client=client, agent_token=agent_token, tool_map=tool_map, wait_seconds=wait_seconds
        )

    async def process(self, context: Any, call_next: Callable[[], Awaitable[None]]) -> None:
        name = str(context.function.name)
        function = getattr(context.function, "func", None)
        look_behind(function, BaseAgent, _is_protected, "give it a QWEDFunctionMiddleware too")
        try:
            arguments = _name_arguments(name, context.arguments)
            permit = await self._permit(name, arguments, context)
        except ToolRefused as refused:
            # An exception would do as well, but its words might not reach the model.
            context.result = str(refused)
            return
        if permit.arguments != arguments:
            context.arguments = permit.arguments
        try:
            await call_next()
        except BaseException as error:
            await self._gate.areport(permit, error=error)
            raise
        await self._gate.areport(permit, result=context.result)

    async def _permit(self, name: str, arguments: dict[str, Json], context: Any) -> ToolPermit:
        conversation_id = _conversation(context)
        if not self._interrupts:
            return await self._gate.apermit(name, arguments, conversation_id=conversation_id)
        asked = await self._gate.aask(name, arguments, conversation_id=conversation_id, is_resumed=True)
        if isinstance(asked, ToolPermit):
            return asked
        context.result = _request(asked, context)
        raise MiddlewareTermination(str(asked.approval_id), result=context.result)


def _is_protected(agent: Any) -> bool:
    given = getattr(agent, "middleware", None) or ()
    return any(isinstance(each, QWEDFunctionMiddleware) for each in given)


def _request(pending: PendingCall, context: Any) -> Any:
    """The framework's own question to a person, who finds ours at the gateway."""
    call = Content.from_function_call(
        str(context.metadata.get("call_id") or pending.approval_id),
        pending.call.tool_name,
        arguments=dict(pending.call.arguments),
    )
    shown = {"qwed_approval": pending.approval_id, "reason": pending.decision.message}
    return Content.from_function_approval_request(
        pending.approval_id, function_call=call, additional_properties=shown
    )


def _name_arguments(name: str, arguments: Any) -> dict[str, Json]:
    if isinstance(arguments, Mapping):
        return dict(arguments)
    shown = plain(arguments)
    if not isinstance(shown, dict):
        raise ToolRefused(name, "its arguments have no names")
    return shown


def _conversation(context: Any) -> str | None:
    session_id = getattr(context.session, "session_id", None)
    return current_run() or (None if session_id is None else str(session_id))
