"""OpenAI Agents SDK: a tool input guardrail, attached to every function tool of an agent and its handoffs."""

from collections.abc import Iterable
from typing import Any

from agents import (  # type: ignore[import-not-found,unused-ignore]
    Agent,
    FunctionTool,
    Handoff,
    RunHooks,
    ToolGuardrailFunctionOutput,
    ToolInputGuardrail,
    ToolInputGuardrailData,
)

from qwed_open_responses.errors import ToolCallBlocked
from qwed_open_responses.guards.base import BaseGuard
from qwed_open_responses.middleware.gate import OnBlocked, OutputGate, explain, failed

__all__ = ["QWEDRunHooks", "guard_agent", "qwed_guardrail"]


def qwed_guardrail(
    guards: Iterable[BaseGuard], block_on_failure: bool = True, on_blocked: OnBlocked | None = None
) -> ToolInputGuardrail[Any]:
    """For `@function_tool(tool_input_guardrails=[qwed_guardrail(…)])`: a refused call answers the model."""
    gate = OutputGate(guards, block_on_failure=block_on_failure, on_blocked=on_blocked)

    async def verify(data: ToolInputGuardrailData) -> ToolGuardrailFunctionOutput:
        try:
            result = await gate.tool_call_async(
                data.context.tool_name, data.context.tool_arguments, data.context
            )
        except Exception as error:  # noqa: BLE001 - the boundary to the SDK: an error is a refusal
            result = failed(error, None, None)
        if gate.blocks(result):
            return ToolGuardrailFunctionOutput.reject_content(explain(result), output_info=result.to_dict())
        return ToolGuardrailFunctionOutput.allow()

    return ToolInputGuardrail(guardrail_function=verify, name="qwed")


def guard_agent(
    agent: Agent[Any],
    guards: Iterable[BaseGuard],
    block_on_failure: bool = True,
    on_blocked: OnBlocked | None = None,
) -> Agent[Any]:
    """Attaches the guardrail to the function tools of the agent and of every agent it can hand off to.

    Tools that are not functions (shell, computer, patches) have no guardrails: pass `QWEDRunHooks` to the run
    as well. What a provider runs itself can't be intercepted.
    """
    guardrail = qwed_guardrail(guards, block_on_failure, on_blocked)
    seen: set[int] = set()
    waiting: list[Any] = [agent]
    while waiting:
        current = waiting.pop()
        if id(current) in seen or not isinstance(current, Agent):
            continue
        seen.add(id(current))
        for tool in current.tools:
            if isinstance(tool, FunctionTool):
                tool.tool_input_guardrails = [*(tool.tool_input_guardrails or []), guardrail]
        for server in current.mcp_servers:
            _attach_to_server(server, guardrail)
        waiting += [_target(handoff) for handoff in current.handoffs]
    return agent


def _attach_to_server(server: Any, guardrail: ToolInputGuardrail[Any]) -> None:
    server.tool_input_guardrails = [*(getattr(server, "tool_input_guardrails", None) or []), guardrail]


def _target(handoff: Any) -> Any:
    reference = getattr(handoff, "_agent_ref", None) if isinstance(handoff, Handoff) else None
    return reference() if callable(reference) else handoff


class QWEDRunHooks(RunHooks[Any]):  # type: ignore[misc,unused-ignore]
    """Stops the run before a refused tool of any kind starts, by raising `ToolCallBlocked`."""

    def __init__(
        self, guards: Iterable[BaseGuard], block_on_failure: bool = True, on_blocked: OnBlocked | None = None
    ) -> None:
        self._gate = OutputGate(guards, block_on_failure=block_on_failure, on_blocked=on_blocked)

    async def on_tool_start(self, context: Any, agent: Any, tool: Any) -> None:
        name = getattr(context, "tool_name", None) or getattr(tool, "name", None)
        result = await self._gate.tool_call_async(name, getattr(context, "tool_arguments", None), context)
        if self._gate.blocks(result):
            raise ToolCallBlocked(result)
