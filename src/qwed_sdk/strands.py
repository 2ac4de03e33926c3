"""Strands Agents behind the gateway: hooks around every tool of an agent."""

import math
import uuid
from typing import Final, Literal

from qwed_sdk.async_client import AsyncQWEDClient
from qwed_sdk.client import QWEDClient
from qwed_sdk.extras import extra_needed
from qwed_sdk.results import Json
from qwed_sdk.sub_agents import warn_unprotected
from qwed_sdk.tool_gate import DEFAULT_WAIT_SECONDS, PendingCall, ToolGate, ToolPermit, ToolRefused
from qwed_sdk.tool_map import ToolMap

try:
    from strands import Agent  # type: ignore[import-not-found,unused-ignore]
    from strands.hooks import (  # type: ignore[import-not-found,unused-ignore]
        AfterToolCallEvent,
        BeforeInvocationEvent,
        BeforeToolCallEvent,
        HookProvider,
        HookRegistry,
    )
except ImportError as missing:
    raise extra_needed("qwed_sdk.strands", "strands", missing) from missing

__all__ = ["QWEDHooks", "ToolRefused"]

_RUN: Final = "qwed_conversation"


class QWEDHooks(HookProvider):  # type: ignore[misc,unused-ignore]
    """For `Agent(…, hooks=[QWEDHooks(agent_id=…)])`: the last hook before a tool, so that nothing changes its
    arguments afterwards. One conversation per invocation of the agent. A sub-agent that is a tool is an agent
    of its own: give it these hooks too; without them it is an `UnprotectedAgent` warning.

    A refused call answers the model with an error; a PENDING one waits up to `wait_seconds` for a person.
    With `pending="interrupt"` the agent stops instead (`result.interrupts`) and goes on, when it is called
    with the responses, once a person has answered at the gateway. The response itself approves nothing.
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
        self._gate = ToolGate(
            agent_id, client=client, agent_token=agent_token, tool_map=tool_map, wait_seconds=wait_seconds
        )
        self._interrupts = pending == "interrupt"
        self._runs: dict[int, str] = {}
        self._running: dict[str, ToolPermit] = {}

    def register_hooks(self, registry: HookRegistry, **kwargs: Json) -> None:
        registry.add_callback(BeforeInvocationEvent, self._begin)
        registry.add_callback(BeforeToolCallEvent, self._before, order=math.inf)
        registry.add_callback(AfterToolCallEvent, self._after)

    async def _begin(self, event: BeforeInvocationEvent) -> None:
        self._runs[id(event.agent)] = str(uuid.uuid4())
        for tool in event.agent.tool_registry.registry.values():
            agent = getattr(tool, "agent", None)
            if isinstance(agent, Agent) and not _has_hooks(agent):
                warn_unprotected(str(agent.name), "give it QWEDHooks too")

    async def _before(self, event: BeforeToolCallEvent) -> None:
        if event.cancel_tool:
            return
        use = event.tool_use
        try:
            permit = await self._permit(event, str(use["name"]), use.get("input") or {})
        except ToolRefused as refused:
            event.cancel_tool = str(refused)
            return
        if permit.arguments != permit.proposed:
            event.tool_use = {**use, "input": permit.arguments}
        self._running[str(use["toolUseId"])] = permit

    async def _permit(self, event: BeforeToolCallEvent, name: str, arguments: Json) -> ToolPermit:
        if not isinstance(arguments, dict):
            raise ToolRefused(name, "its arguments have no names")
        run = self._runs.get(id(event.agent))
        if not self._interrupts:
            return await self._gate.apermit(name, arguments, conversation_id=run)
        asked = await self._gate.aask(name, arguments, conversation_id=run, is_resumed=True)
        if isinstance(asked, PendingCall):
            # Leaves by an exception, unless the agent was called again with the response.
            event.interrupt("qwed_approval", reason=_show(asked))
            raise ToolRefused(name, f"PENDING: nobody has answered the approval {asked.approval_id} yet")
        return asked

    async def _after(self, event: AfterToolCallEvent) -> None:
        permit = self._running.pop(str(event.tool_use["toolUseId"]), None)
        if permit is None:
            return
        if isinstance(event.result, dict) and event.result.get("status") == "error":
            permit.outcome = "failure"
        await self._gate.areport(permit, result=event.result, error=event.exception)


def _has_hooks(agent: Agent) -> bool:
    registered = agent.hooks._registered_callbacks.get(BeforeToolCallEvent, ())
    return any(isinstance(getattr(entry.callback, "__self__", None), QWEDHooks) for entry in registered)


def _show(pending: PendingCall) -> dict[str, Json]:
    shown = {"approval": pending.approval_id, "tool": pending.call.tool_name}
    return {**shown, "reason": pending.decision.message}
