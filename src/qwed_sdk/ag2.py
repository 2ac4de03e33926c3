"""AG2 behind the gateway: every tool that an agent is given, now or later, asks first."""

import json
import uuid
from collections.abc import Iterable
from copy import copy
from typing import Any, Final

from qwed_sdk.async_client import AsyncQWEDClient
from qwed_sdk.client import QWEDClient
from qwed_sdk.extras import extra_needed
from qwed_sdk.results import Json
from qwed_sdk.tool_gate import DEFAULT_WAIT_SECONDS, ToolGate, ToolRefused, current_run
from qwed_sdk.tool_map import ToolMap

try:
    from ag2 import Agent  # type: ignore[import-not-found,unused-ignore]
    from ag2.events import (  # type: ignore[import-not-found,unused-ignore]
        ClientToolCallEvent,
        ToolCallEvent,
        ToolErrorEvent,
        ToolResult,
    )
    from ag2.middleware import BaseMiddleware, ToolExecution  # type: ignore[import-not-found,unused-ignore]
    from ag2.tools import Toolkit  # type: ignore[import-not-found,unused-ignore]
    from ag2.tools.subagents.subagent_tool import (  # type: ignore[import-not-found,unused-ignore]
        SubagentTool,
    )
except ImportError as missing:
    raise extra_needed("qwed_sdk.ag2", "ag2", missing) from missing

__all__ = ["ToolRefused", "protect"]

_LATER: Final = (
    "its toolkit has middleware of its own, which could change the arguments after they were verified: give"
    " it to the agent instead"
)


def protect(
    agent: Agent,
    agent_id: str,
    *,
    client: QWEDClient | AsyncQWEDClient | None = None,
    agent_token: str | None = None,
    tool_map: ToolMap | None = None,
    wait_seconds: float = DEFAULT_WAIT_SECONDS,
) -> Agent:
    """Put the gateway before the tools of this agent, of its plugins, those given to one run or added later,
    and those of agents that are its tools; returns the same agent. The gate is the last before the tool, so
    that no middleware changes the arguments afterwards. One conversation per turn.

    A refused call is an error that the model is told; a PENDING one waits up to `wait_seconds` for a person.
    """
    gate = ToolGate(
        agent_id, client=client, agent_token=agent_token, tool_map=tool_map, wait_seconds=wait_seconds
    )
    _protect(agent, gate)
    return agent


def _protect(agent: Agent, gate: ToolGate) -> None:
    if not isinstance(agent._tool_executor, _Executor):
        agent._tool_executor = _Executor(agent._tool_executor, gate)


class _Executor:
    """Registers the tools of one turn, each behind the gate."""

    def __init__(self, executor: Any, gate: ToolGate) -> None:
        self._executor = executor
        self._gate = gate

    def register(self, stack: Any, context: Any, *, tools: Iterable[Any] = (), **others: Any) -> None:
        asking = _Asking(self._gate, current_run() or str(uuid.uuid4()))
        gated = [_Gated(tool, asking) for tool in tools]
        self._executor.register(stack, context, tools=gated, **others)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._executor, name)


class _Gated:
    """A tool as its turn registers it."""

    def __init__(self, tool: Any, asking: "_Asking") -> None:
        self._tool = tool
        self._asking = asking

    def register(self, stack: Any, context: Any, *, middleware: Iterable[BaseMiddleware] = ()) -> None:
        tool, asking = self._tool, self._asking
        if isinstance(tool, Toolkit) and type(tool).register is Toolkit.register:
            for each in tool.tools:
                _Gated(each, asking).register(stack, context, middleware=middleware)
        elif not isinstance(tool, Toolkit) and hasattr(tool, "_middleware"):
            # The tool's own hooks run after all middleware; this one runs after them.
            tool = copy(tool)
            tool._middleware = (*tool._middleware, asking.on_tool_execution)
            tool.register(stack, context, middleware=middleware)
        else:
            # The first is wrapped around the tool, the others around it.
            hooked = _Refusing() if getattr(tool, "_middleware", ()) else asking
            tool.register(stack, context, middleware=[hooked, *middleware])
        if isinstance(tool, SubagentTool):
            _protect(tool.agent, asking.gate)


class _Refusing(BaseMiddleware):  # type: ignore[misc,unused-ignore]
    def __init__(self) -> None:
        """It belongs to no event."""

    async def on_tool_execution(self, call_next: ToolExecution, event: ToolCallEvent, context: Any) -> Any:
        return _tell(event, ToolRefused(str(event.name), _LATER))


class _Asking(BaseMiddleware):  # type: ignore[misc,unused-ignore]
    def __init__(self, gate: ToolGate, conversation_id: str) -> None:
        self.gate = gate
        self._conversation_id = conversation_id

    def __deepcopy__(self, memo: dict[int, Json]) -> "_Asking":
        return self

    async def on_tool_execution(self, call_next: ToolExecution, event: ToolCallEvent, context: Any) -> Any:
        try:
            arguments = _arguments(event)
            permit = await self.gate.apermit(
                str(event.name), arguments, conversation_id=self._conversation_id
            )
        except ToolRefused as refused:
            return _tell(event, refused)
        if permit.arguments != arguments:
            event = copy(event)
            event.arguments = json.dumps(permit.arguments)
            event.serialized_arguments = permit.arguments
        try:
            result = await call_next(event, context)
        except BaseException as error:
            await self.gate.areport(permit, error=error)
            raise
        # What the caller of the agent is to run is not over yet.
        if not isinstance(result, ClientToolCallEvent):
            failure = result.error if isinstance(result, ToolErrorEvent) else None
            await self.gate.areport(permit, result=_value(result), error=failure)
        return result


def _arguments(event: ToolCallEvent) -> dict[str, Json]:
    try:
        arguments = event.serialized_arguments
    except (ValueError, RecursionError):
        raise ToolRefused(str(event.name), "its arguments are not JSON") from None
    if not isinstance(arguments, dict):
        raise ToolRefused(str(event.name), "its arguments are not a JSON object")
    return arguments


def _tell(event: ToolCallEvent, refused: ToolRefused) -> ToolErrorEvent:
    """Made by hand: AG2 would show the model the stack."""
    return ToolErrorEvent(
        parent_id=event.id, name=event.name, error=refused, result=ToolResult.ensure_result(str(refused))
    )


def _value(event: Any) -> Json:
    parts = getattr(event.result, "parts", ())
    return [getattr(part, "content", getattr(part, "data", None)) for part in parts]
