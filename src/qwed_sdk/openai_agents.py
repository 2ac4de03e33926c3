"""OpenAI Agents SDK behind the gateway: every tool of an agent, and of every agent it can reach, asks first.

The SDK's tool guardrails can refuse a call but not correct it or see how it ended, so the tools' own
`on_invoke_tool` asks. Tools that the provider runs can't be stopped from here.
"""

import contextvars
import dataclasses
import inspect
import json
import threading
import uuid
import weakref
from collections.abc import Awaitable, Callable, Collection
from typing import Any, Final, Literal

from qwed_sdk.async_client import AsyncQWEDClient
from qwed_sdk.client import QWEDClient
from qwed_sdk.extras import extra_needed
from qwed_sdk.results import Json
from qwed_sdk.sub_agents import look_behind
from qwed_sdk.tool_gate import DEFAULT_WAIT_SECONDS, PendingCall, ToolGate, ToolPermit, ToolRefused
from qwed_sdk.tool_map import ToolMap

try:
    from agents import (  # type: ignore[import-not-found,unused-ignore]
        Agent,
        CustomTool,
        FunctionTool,
        Handoff,
        default_tool_error_function,
    )
    from mcp.types import CallToolResult, TextContent  # type: ignore[import-not-found,unused-ignore]
except ImportError as missing:
    raise extra_needed("qwed_sdk.openai_agents", "openai", missing) from missing

__all__ = ["ToolRefused", "protect"]

_GATED: Final = "_qwed_gated"
_tool_error: contextvars.ContextVar[list[Exception] | None] = contextvars.ContextVar(
    "qwed_tool_error", default=None
)
_mcp_conversation: contextvars.ContextVar[str | None] = contextvars.ContextVar(
    "qwed_mcp_conversation", default=None
)


def protect(
    agent: Any,
    agent_id: str,
    *,
    client: QWEDClient | AsyncQWEDClient | None = None,
    agent_token: str | None = None,
    tool_map: ToolMap | None = None,
    wait_seconds: float = DEFAULT_WAIT_SECONDS,
    pending: Literal["wait", "interrupt"] = "wait",
    allow_unverified: Collection[str] = (),
) -> Any:
    """Put the gateway before the tools and MCP servers of this agent and of all that it hands off to or uses
    as tools. Returns the same agent.

    A refused call answers the model; a PENDING one waits up to `wait_seconds` for a person. With
    `pending="interrupt"` the run stops instead, as for any tool that needs approval: `result.interruptions`
    has the call; `state.approve(…)` and a new run with that state, in this process or another, go on once a
    person has answered at the gateway. Approving the state approves nothing: the gateway is asked.

    A tool that can't be stopped from here (one that the provider runs, a shell, a computer) is an error,
    unless its name is in `allow_unverified`. Tools, servers and handoffs that are added later are protected,
    or refused, before the next turn; an agent made with `clone` is another agent.
    """
    gate = ToolGate(
        agent_id, client=client, agent_token=agent_token, tool_map=tool_map, wait_seconds=wait_seconds
    )
    protection = _Protection(gate, _Runs(), frozenset(allow_unverified), pending == "interrupt")
    protection.reach(agent)
    return agent


def _is_protected(agent: Any) -> bool:
    has_tools = agent.tools or agent.mcp_servers or agent.handoffs
    return not has_tools or bool(getattr(agent.get_all_tools, _GATED, False))


class _Runs:
    """One conversation per run. The SDK has no run id; what all calls of a run share is its usage counter."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._names: dict[int, str] = {}

    def conversation(self, context: Any) -> str | None:
        usage = getattr(context, "usage", None)
        if usage is None:
            return None
        with self._lock:
            if id(usage) not in self._names:
                self._names[id(usage)] = str(uuid.uuid4())
                weakref.finalize(usage, self._names.pop, id(usage), None)
            return self._names[id(usage)]


@dataclasses.dataclass(frozen=True)
class _Protection:
    gate: ToolGate
    runs: _Runs
    allowed: frozenset[str]
    interrupts: bool
    #: Call id → what was decided about it when the run was asked whether it needs approval.
    asked: dict[str, ToolPermit | ToolRefused] = dataclasses.field(default_factory=dict)

    def reach(self, agent: Any) -> None:
        """Protect this agent and all that it leads to."""
        waiting: list[Any] = [agent]
        seen: set[int] = set()
        while waiting:
            current = waiting.pop()
            if id(current) not in seen:
                seen.add(id(current))
                waiting += self._of(current)

    def _watch(self, agent: Any) -> None:
        """What an agent is given later is protected before its next turn asks for its tools."""
        if getattr(agent.get_all_tools, _GATED, False):
            return
        own = agent.get_all_tools

        async def get_all_tools(context: Any) -> Any:
            self.reach(agent)
            return await own(context)

        setattr(get_all_tools, _GATED, True)
        agent.get_all_tools = get_all_tools

    def _of(self, agent: Any) -> list[Any]:
        """Protect one agent; the others that it leads to."""
        agent.tools = [self._tool(tool) for tool in agent.tools]
        self._watch(agent)
        for server in agent.mcp_servers:
            self._server(server)
        nested = [getattr(tool, "_agent_instance", None) for tool in agent.tools]
        targets = [self._target(handoff) for handoff in agent.handoffs]
        return [found for found in (*nested, *targets) if found is not None]

    def _target(self, handoff: Any) -> Any:
        if isinstance(handoff, Agent):
            return handoff
        reference = getattr(handoff, "_agent_ref", None) if isinstance(handoff, Handoff) else None
        target = reference() if callable(reference) else None
        name = str(getattr(handoff, "tool_name", handoff))
        if target is None and name not in self.allowed:
            raise ValueError(
                f"the agent behind the handoff {name!r} can't be found: protect it, and name the handoff in"
                " allow_unverified"
            )
        return target

    def _tool(self, tool: Any) -> Any:
        if isinstance(tool, FunctionTool):
            return self._function_tool(tool)
        if isinstance(tool, CustomTool):
            return self._custom_tool(tool)
        name = str(getattr(tool, "name", type(tool).__name__))
        if name not in self.allowed:
            raise ValueError(
                f"the tool {name!r} ({type(tool).__name__}) can't be verified before it runs: remove it, or"
                " name it in allow_unverified"
            )
        return tool

    def _function_tool(self, tool: Any) -> Any:
        if getattr(tool.on_invoke_tool, _GATED, False):
            return tool
        inner = dataclasses.replace(tool, **_remembering_errors(tool))

        async def invoke(context: Any, raw: str) -> Any:
            look_behind(tool.on_invoke_tool, Agent, _is_protected, "protect it too")
            return await self._invoke(
                tool.name, context, raw, lambda text: inner.on_invoke_tool(context, text)
            )

        setattr(invoke, _GATED, True)
        if not self.interrupts:
            return dataclasses.replace(tool, on_invoke_tool=invoke)
        own = tool.needs_approval

        async def needs_approval(context: Any, arguments: dict[str, Json], call_id: str) -> bool:
            needs = own(context, arguments, call_id) if callable(own) else own
            is_own = bool(await needs if inspect.isawaitable(needs) else needs)
            return await self._waits(tool.name, context, arguments, call_id) or is_own

        return dataclasses.replace(tool, on_invoke_tool=invoke, needs_approval=needs_approval)

    async def _waits(self, name: str, context: Any, arguments: dict[str, Json], call_id: str) -> bool:
        """Whether a person is asked. What else was decided is kept for the call itself."""
        conversation_id = self.runs.conversation(context)
        try:
            asked = await self.gate.aask(name, arguments, conversation_id=conversation_id)
        except ToolRefused as refused:
            self.asked[call_id] = refused
            return False
        if isinstance(asked, PendingCall):
            return True
        self.asked[call_id] = asked
        return False

    async def _permit(self, name: str, context: Any, arguments: dict[str, Json]) -> ToolPermit:
        conversation_id = self.runs.conversation(context)
        if not self.interrupts:
            return await self.gate.apermit(name, arguments, conversation_id=conversation_id)
        asked: ToolPermit | PendingCall | ToolRefused | None
        asked = self.asked.pop(str(getattr(context, "tool_call_id", "")), None)
        if isinstance(asked, ToolRefused):
            raise asked
        if asked is None or asked.proposed != arguments:
            asked = await self.gate.aask(name, arguments, conversation_id=conversation_id, is_resumed=True)
        if isinstance(asked, PendingCall):
            raise ToolRefused(name, f"PENDING: nobody has answered the approval {asked.approval_id} yet")
        return asked

    async def _invoke(
        self, name: str, context: Any, raw: str, function: Callable[[str], Awaitable[Any]]
    ) -> Any:
        try:
            arguments = _read(name, raw)
            permit = await self._permit(name, context, arguments)
        except ToolRefused as refused:
            return str(refused)
        errors: list[Exception] = []
        token = _tool_error.set(errors)
        try:
            result = await function(raw if permit.arguments == arguments else json.dumps(permit.arguments))
        except BaseException as error:
            await self.gate.areport(permit, error=error)
            raise
        finally:
            _tool_error.reset(token)
        await self.gate.areport(permit, result=result, error=errors[0] if errors else None)
        return result

    def _custom_tool(self, tool: Any) -> Any:
        if getattr(tool.on_invoke_tool, _GATED, False):
            return tool

        async def invoke(context: Any, raw: str) -> Any:
            async def call(arguments: dict[str, Json]) -> Any:
                result = tool.on_invoke_tool(context, arguments["input"])
                return await result if hasattr(result, "__await__") else result

            conversation_id = self.runs.conversation(context)
            try:
                return await self.gate.arun(tool.name, {"input": raw}, call, conversation_id=conversation_id)
            except ToolRefused as refused:
                return str(refused)

        setattr(invoke, _GATED, True)
        return dataclasses.replace(tool, on_invoke_tool=invoke)

    def _server(self, server: Any) -> None:
        """An MCP server's tools are made anew for each turn, so the server itself asks."""
        if getattr(server.call_tool, _GATED, False):
            return
        call_tool, resolve = server.call_tool, getattr(server, "tool_meta_resolver", None)

        def resolved(context: Any) -> Any:
            # The last that is told the run before `call_tool` runs.
            _mcp_conversation.set(self.runs.conversation(context.run_context))
            return None if resolve is None else resolve(context)

        async def call(
            tool_name: str, arguments: dict[str, Json] | None, *args: object, **kwargs: object
        ) -> Any:
            conversation_id = _mcp_conversation.get()
            try:
                permit = await self.gate.apermit(tool_name, arguments or {}, conversation_id=conversation_id)
            except ToolRefused as refused:
                return CallToolResult(content=[TextContent(type="text", text=str(refused))], is_error=True)
            try:
                result = await call_tool(tool_name, permit.arguments, *args, **kwargs)
            except BaseException as error:
                await self.gate.areport(permit, error=error)
                raise
            if getattr(result, "is_error", False) or getattr(result, "isError", False):
                permit.outcome = "failure"
            await self.gate.areport(permit, result=result)
            return result

        setattr(call, _GATED, True)
        server.call_tool = call
        server.tool_meta_resolver = resolved


def _read(name: str, raw: str) -> dict[str, Json]:
    try:
        arguments = json.loads(raw) if raw else {}
    except (ValueError, RecursionError):
        raise ToolRefused(name, "its arguments are not JSON") from None
    if not isinstance(arguments, dict):
        raise ToolRefused(name, "its arguments are not a JSON object")
    return arguments


def _remembering_errors(tool: Any) -> dict[str, Json]:
    """A function tool turns its errors into text for the model; the report says failure all the same."""
    handler = getattr(tool, "_failure_error_function", None)
    if handler is None and getattr(tool, "_use_default_failure_error_function", False):
        handler = default_tool_error_function
    if handler is None:
        return {}

    def remember(context: Any, error: Exception) -> Any:
        errors = _tool_error.get()
        if errors is not None:
            errors.append(error)
        return handler(context, error)

    return {"_failure_error_function": remember, "_use_default_failure_error_function": False}
