"""CrewAI behind the gateway: an agent whose every tool asks first.

CrewAI's own hooks run the tool when a hook fails, and anybody in the process can clear them, so the tools
themselves ask. What the agent is given by its crew (delegation, memory, MCP servers, skills) asks as well.
"""

import asyncio
import functools
import inspect
import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from qwed_sdk.client import QWEDClient
from qwed_sdk.extras import extra_needed
from qwed_sdk.results import Json
from qwed_sdk.tool_gate import DEFAULT_WAIT_SECONDS, ToolGate, ToolRefused
from qwed_sdk.tool_map import ToolMap

try:
    from crewai import Agent  # type: ignore[import-not-found,unused-ignore]
    from crewai.tools.base_tool import (  # type: ignore[import-not-found,unused-ignore]
        BaseTool,
        Tool,
    )
    from crewai.tools.tool_failure import ToolFailure  # type: ignore[import-not-found,unused-ignore]
    from crewai.utilities.string_utils import (  # type: ignore[import-not-found,unused-ignore]
        sanitize_tool_name,
    )
    from pydantic import PrivateAttr  # type: ignore[import-not-found,unused-ignore]
except ImportError as missing:
    raise extra_needed("qwed_sdk.crewai", "crewai", missing) from missing

__all__ = ["QWEDVerifiedAgent", "ToolRefused"]

_GATED = "_qwed_gated"


class QWEDVerifiedAgent(Agent):  # type: ignore[misc,unused-ignore]
    """An `Agent` that verifies each tool call with the gateway, one conversation per task or kickoff.

    A refused call answers the model with CrewAI's own `ToolFailure`; a PENDING one waits up to
    `wait_seconds` for a person.
    """

    agent_id: str
    _gate: ToolGate = PrivateAttr()

    def __init__(
        self,
        *,
        agent_id: str,
        client: QWEDClient | None = None,
        agent_token: str | None = None,
        tool_map: ToolMap | None = None,
        wait_seconds: float = DEFAULT_WAIT_SECONDS,
        backstory: str = "",
        **fields: Any,
    ) -> None:
        super().__init__(agent_id=agent_id, backstory=backstory, **fields)
        self._gate = ToolGate(
            agent_id, client=client, agent_token=agent_token, tool_map=tool_map, wait_seconds=wait_seconds
        )

    def copy(self) -> "QWEDVerifiedAgent":
        made: QWEDVerifiedAgent = super().copy()
        made._gate = self._gate
        return made

    # Both ways to run, a crew's task and the agent's own kickoff, collect their tools here last.
    def _add_skill_loader_tool(self, tools: list[Any], task: Any = None) -> list[Any]:
        conversation_id = str(uuid.uuid4())
        collected = super()._add_skill_loader_tool(tools, task=task)
        return [gate_tool(tool, self._gate, conversation_id) for tool in collected]

    def create_agent_executor(self, tools: list[Any] | None = None, task: Any = None) -> None:
        super().create_agent_executor(tools=tools, task=task)
        _require_gated(self.agent_executor.original_tools)

    def _prepare_kickoff(self, *args: object, **kwargs: object) -> Any:
        prepared = super()._prepare_kickoff(*args, **kwargs)
        _require_gated(prepared[0].original_tools)
        return prepared


def _require_gated(tools: Sequence[Any] | None) -> None:
    """Closed, should another version of CrewAI collect its tools elsewhere."""
    free = [tool.name for tool in tools or () if not getattr(tool, _GATED, False)]
    if free:
        raise ToolRefused(", ".join(free), "this version of CrewAI would run it without asking the gateway")


def gate_tool(tool: Any, gate: ToolGate, conversation_id: str) -> Any:
    """A copy of the tool that asks first. It stays what it is in every other respect."""
    if getattr(tool, _GATED, False):
        return tool
    name = sanitize_tool_name(tool.name)
    copy = tool.model_copy()
    if isinstance(copy, Tool):
        copy.func = _asking(tool.func, name, gate, conversation_id)
    else:
        object.__setattr__(copy, "_run", _asking(tool._run, name, gate, conversation_id))
        if type(tool)._arun is not BaseTool._arun:
            object.__setattr__(copy, "_arun", _asking(tool._arun, name, gate, conversation_id))
    is_worth_keeping = tool.cache_function
    # A refusal that is kept would outlive its reason.
    copy.cache_function = lambda arguments, result: (
        not isinstance(result, ToolFailure) and is_worth_keeping(arguments, result)
    )
    object.__setattr__(copy, _GATED, True)
    return copy


def _asking(
    function: Callable[..., Any], name: str, gate: ToolGate, conversation_id: str
) -> Callable[..., Any]:
    def named(args: tuple[object, ...], kwargs: Mapping[str, Json]) -> dict[str, Json]:
        if not args:
            return dict(kwargs)
        return dict(inspect.signature(function).bind(*args, **kwargs).arguments)

    @functools.wraps(function)
    def run(*args: object, **kwargs: object) -> Any:
        try:
            permit = gate.permit(name, named(args, kwargs), conversation_id=conversation_id)
        except ToolRefused as refused:
            return _failure(refused)
        try:
            result = function(**permit.arguments)
            if asyncio.iscoroutine(result):
                result = asyncio.run(result)
        except BaseException as error:
            gate.report(permit, error=error)
            raise
        if isinstance(result, ToolFailure):
            permit.outcome = "failure"
        gate.report(permit, result=result)
        return result

    @functools.wraps(function)
    async def arun(*args: object, **kwargs: object) -> Any:
        try:
            permit = await gate.apermit(name, named(args, kwargs), conversation_id=conversation_id)
        except ToolRefused as refused:
            return _failure(refused)
        try:
            result = await function(**permit.arguments)
        except BaseException as error:
            await gate.areport(permit, error=error)
            raise
        if isinstance(result, ToolFailure):
            permit.outcome = "failure"
        await gate.areport(permit, result=result)
        return result

    return arun if inspect.iscoroutinefunction(function) and function.__name__ == "_arun" else run


def _failure(refused: ToolRefused) -> Any:
    return ToolFailure(message=str(refused))
