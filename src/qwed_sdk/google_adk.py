"""Google ADK behind the gateway: a plugin before every tool of every agent that a runner runs."""

from typing import Final

from qwed_sdk.async_client import AsyncQWEDClient
from qwed_sdk.client import QWEDClient
from qwed_sdk.extras import extra_needed
from qwed_sdk.results import Json
from qwed_sdk.tool_gate import DEFAULT_WAIT_SECONDS, ToolGate, ToolPermit, ToolRefused
from qwed_sdk.tool_map import ToolMap

try:
    from google.adk.plugins.base_plugin import (  # type: ignore[import-not-found,unused-ignore]
        BasePlugin,
    )
    from google.adk.tools.base_tool import BaseTool  # type: ignore[import-not-found,unused-ignore]
    from google.adk.tools.tool_context import (  # type: ignore[import-not-found,unused-ignore]
        ToolContext,
    )
except ImportError as missing:
    raise extra_needed("qwed_sdk.google_adk", "google-adk", missing) from missing

__all__ = ["QWEDPlugin", "ToolRefused"]

_LATER: Final = (
    "its agent has a before_tool_callback, which could change the arguments after they were verified: make"
    " that a plugin, and put it before QWEDPlugin"
)


class QWEDPlugin(BasePlugin):  # type: ignore[misc,unused-ignore]
    """For `Runner(…, plugins=[…, QWEDPlugin(agent_id=…)])`. Put it last, so that nothing changes the
    arguments afterwards; it is heard before the tools of sub-agents as well. One conversation per invocation.

    A refused call answers the model with an error; a PENDING one waits up to `wait_seconds` for a person.
    """

    def __init__(
        self,
        agent_id: str,
        *,
        client: QWEDClient | AsyncQWEDClient | None = None,
        agent_token: str | None = None,
        tool_map: ToolMap | None = None,
        wait_seconds: float = DEFAULT_WAIT_SECONDS,
    ) -> None:
        super().__init__(name="qwed")
        self._gate = ToolGate(
            agent_id, client=client, agent_token=agent_token, tool_map=tool_map, wait_seconds=wait_seconds
        )
        self._running: dict[tuple[str, str | None], ToolPermit] = {}

    async def before_tool_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Json], tool_context: ToolContext
    ) -> dict[str, str] | None:
        try:
            permit = await self._permit(str(tool.name), tool_args, tool_context)
        except ToolRefused as refused:
            return {"error": str(refused)}
        if permit.arguments != tool_args:
            # The tool gets this very object.
            tool_args.clear()
            tool_args.update(permit.arguments)
        self._running[_name(tool_context)] = permit
        return None

    async def _permit(self, name: str, arguments: dict[str, Json], context: ToolContext) -> ToolPermit:
        agent = context._invocation_context.agent
        if getattr(agent, "canonical_before_tool_callbacks", None):
            raise ToolRefused(name, _LATER)
        return await self._gate.apermit(name, dict(arguments), conversation_id=str(context.invocation_id))

    async def after_tool_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Json], tool_context: ToolContext, result: Json
    ) -> None:
        permit = self._running.pop(_name(tool_context), None)
        if permit is None:
            return
        if isinstance(result, dict) and result.keys() == {"error"}:
            permit.outcome = "failure"
        await self._gate.areport(permit, result=result)

    async def on_tool_error_callback(
        self,
        *,
        tool: BaseTool,
        tool_args: dict[str, Json],
        tool_context: ToolContext,
        error: BaseException,
    ) -> None:
        permit = self._running.pop(_name(tool_context), None)
        if permit is not None:
            await self._gate.areport(permit, error=error)


def _name(context: ToolContext) -> tuple[str, str | None]:
    return str(context.invocation_id), context.function_call_id
