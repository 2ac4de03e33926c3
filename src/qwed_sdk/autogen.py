"""AutoGen behind the gateway: a workbench whose every tool asks first."""

from collections.abc import Mapping, Sequence
from typing import Any

from qwed_sdk.async_client import AsyncQWEDClient
from qwed_sdk.client import QWEDClient
from qwed_sdk.extras import extra_needed
from qwed_sdk.results import Json
from qwed_sdk.sub_agents import warn_unprotected
from qwed_sdk.tool_gate import DEFAULT_WAIT_SECONDS, ToolGate, ToolRefused
from qwed_sdk.tool_map import ToolMap

try:
    from autogen_agentchat.tools import (  # type: ignore[import-not-found,unused-ignore]
        AgentTool,
        TeamTool,
    )
    from autogen_core import CancellationToken  # type: ignore[import-not-found,unused-ignore]
    from autogen_core.tools import (  # type: ignore[import-not-found,unused-ignore]
        BaseTool,
        StaticWorkbench,
        TextResultContent,
        ToolResult,
        ToolSchema,
        Workbench,
    )
except ImportError as missing:
    raise extra_needed("qwed_sdk.autogen", "autogen", missing) from missing

__all__ = ["QWEDWorkbench", "ToolRefused"]


class QWEDWorkbench(Workbench):  # type: ignore[misc,unused-ignore]
    """For `AssistantAgent(…, workbench=QWEDWorkbench([tool, …], agent_id=…))`; takes tools, or another
    workbench (such as one of MCP servers). Put `tool_run(…)` around a run to make it a conversation of its
    own; without, the workbench is one. Handoffs to other agents do not pass here: give each agent its own. An
    agent that is a tool and has none is an `UnprotectedAgent` warning.

    A refused call is an error result for the model; a PENDING one waits up to `wait_seconds` for a person.
    """

    def __init__(
        self,
        tools: Workbench | Sequence[BaseTool],
        agent_id: str,
        *,
        client: QWEDClient | AsyncQWEDClient | None = None,
        agent_token: str | None = None,
        tool_map: ToolMap | None = None,
        wait_seconds: float = DEFAULT_WAIT_SECONDS,
    ) -> None:
        for tool in () if isinstance(tools, Workbench) else tools:
            for agent in _agents_behind(tool):
                if not _is_protected(agent):
                    warn_unprotected(str(agent.name), "give it a QWEDWorkbench too")
        self._tools = tools if isinstance(tools, Workbench) else StaticWorkbench(list(tools))
        self._gate = ToolGate(
            agent_id, client=client, agent_token=agent_token, tool_map=tool_map, wait_seconds=wait_seconds
        )

    async def list_tools(self) -> list[ToolSchema]:
        found: list[ToolSchema] = await self._tools.list_tools()
        return found

    async def call_tool(
        self,
        name: str,
        arguments: Mapping[str, Json] | None = None,
        cancellation_token: CancellationToken | None = None,
        call_id: str | None = None,
    ) -> ToolResult:
        try:
            permit = await self._gate.apermit(name, dict(arguments or {}))
        except ToolRefused as refused:
            return ToolResult(name=name, result=[TextResultContent(content=str(refused))], is_error=True)
        try:
            result = await self._tools.call_tool(name, permit.arguments, cancellation_token, call_id)
        except BaseException as error:
            await self._gate.areport(permit, error=error)
            raise
        if result.is_error:
            permit.outcome = "failure"
        await self._gate.areport(permit, result=result.to_text())
        return result

    async def start(self) -> None:
        await self._tools.start()

    async def stop(self) -> None:
        await self._tools.stop()

    async def reset(self) -> None:
        await self._tools.reset()

    async def save_state(self) -> Mapping[str, Json]:
        state: Mapping[str, Json] = await self._tools.save_state()
        return state

    async def load_state(self, state: Mapping[str, Json]) -> None:
        await self._tools.load_state(state)

    def _to_config(self) -> Any:
        raise NotImplementedError("a workbench with a gate holds credentials: make it anew")


def _agents_behind(tool: BaseTool) -> Sequence[Any]:
    if isinstance(tool, AgentTool):
        return [tool._agent]
    return list(tool._team._participants) if isinstance(tool, TeamTool) else []


def _is_protected(agent: Any) -> bool:
    benches = getattr(agent, "_workbench", None) or ()
    has_own_tools = bool(getattr(agent, "_tools", ()))
    return not has_own_tools and all(isinstance(bench, QWEDWorkbench) for bench in benches)
