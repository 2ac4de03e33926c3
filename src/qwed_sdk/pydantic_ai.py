"""Pydantic AI behind the gateway: a capability that stands before every tool of an agent."""

import dataclasses
from collections.abc import Mapping
from typing import Any, Literal

from qwed_sdk.async_client import AsyncQWEDClient
from qwed_sdk.client import QWEDClient
from qwed_sdk.extras import extra_needed
from qwed_sdk.results import Json
from qwed_sdk.sub_agents import look_behind
from qwed_sdk.tool_gate import DEFAULT_WAIT_SECONDS, PendingCall, ToolGate, ToolPermit, ToolRefused
from qwed_sdk.tool_map import ToolMap

try:
    from pydantic_ai import (  # type: ignore[import-not-found,unused-ignore]
        ApprovalRequired,
        CallDeferred,
        ToolFailed,
    )
    from pydantic_ai.agent import AbstractAgent  # type: ignore[import-not-found,unused-ignore]
    from pydantic_ai.capabilities import (  # type: ignore[import-not-found,unused-ignore]
        AbstractCapability,
        CapabilityOrdering,
    )
    from pydantic_ai.toolsets import WrapperToolset  # type: ignore[import-not-found,unused-ignore]
except ImportError as missing:
    raise extra_needed("qwed_sdk.pydantic_ai", "pydantic-ai", missing) from missing

__all__ = ["QWEDCapability", "ToolRefused"]

_KEPT = "qwed_decision"


class QWEDCapability(AbstractCapability):  # type: ignore[misc,type-arg,unused-ignore]
    """For `Agent(…, capabilities=[QWEDCapability(agent_id=…)])`: tools of every toolset ask first, with the
    arguments they would really get. A refused call fails with a message for the model.

    A PENDING call waits up to `wait_seconds` for a person. With `pending="defer"` the run ends instead, with
    `DeferredToolRequests`; run again with `approvals={id: True}` and the request's `metadata`, and the call
    goes on once a person has answered. Saying `True` does not approve anything: the gateway is asked.
    """

    def __init__(
        self,
        agent_id: str,
        *,
        client: QWEDClient | AsyncQWEDClient | None = None,
        agent_token: str | None = None,
        tool_map: ToolMap | None = None,
        pending: Literal["wait", "defer"] = "wait",
        wait_seconds: float = DEFAULT_WAIT_SECONDS,
    ) -> None:
        self._gate = ToolGate(
            agent_id, client=client, agent_token=agent_token, tool_map=tool_map, wait_seconds=wait_seconds
        )
        self._defers = pending == "defer"

    def get_ordering(self) -> CapabilityOrdering:
        """Nearest to the tools, so that nothing changes the arguments afterwards."""
        return CapabilityOrdering(position="innermost")

    def get_wrapper_toolset(self, toolset: Any) -> Any:
        return _VerifiedToolset(toolset, self._gate, self._defers)


@dataclasses.dataclass
class _VerifiedToolset(WrapperToolset):  # type: ignore[misc,type-arg,unused-ignore]
    gate: ToolGate
    defers: bool

    async def call_tool(self, name: str, tool_args: dict[str, Json], ctx: Any, tool: Any) -> Any:
        look_behind(_function(tool), AbstractAgent, _is_protected, "give it a QWEDCapability too")
        try:
            permit = await self._permit(name, tool_args, ctx)
        except ToolRefused as refused:
            raise ToolFailed(str(refused)) from refused
        try:
            result = await self.wrapped.call_tool(name, permit.arguments, ctx, tool)
        except (ApprovalRequired, CallDeferred):
            # The tool itself puts the call off; it will be called, and verified, again.
            permit.outcome = "partial"
            await self.gate.areport(permit)
            raise
        except BaseException as error:
            await self.gate.areport(permit, error=error)
            raise
        await self.gate.areport(permit, result=result)
        return result

    async def _permit(self, name: str, arguments: dict[str, Json], ctx: Any) -> ToolPermit:
        if not self.defers:
            return await self.gate.apermit(name, arguments, conversation_id=ctx.run_id)
        pending = self._put_off(name, arguments, ctx)
        if pending is None:
            asked = await self.gate.aask(name, arguments, conversation_id=ctx.run_id)
            if isinstance(asked, ToolPermit):
                return asked
            raise ApprovalRequired(_keep(asked))
        approval = await self.gate.aanswer(pending)
        if approval.status == "open":
            raise ApprovalRequired(_keep(pending))
        return await self.gate.aredeem(pending, approval)

    def _put_off(self, name: str, arguments: dict[str, Json], ctx: Any) -> PendingCall | None:
        """The call as an earlier run put it off, if it did."""
        kept = ctx.tool_call_metadata if ctx.tool_call_approved else None
        decision = kept.get(_KEPT) if isinstance(kept, Mapping) else None
        return None if decision is None else self.gate.pending(name, arguments, decision)


def _function(tool: Any) -> object:
    """Toolsets that combine others wrap their tools."""
    while (inner := getattr(tool, "source_tool", None)) is not None:
        tool = inner
    return getattr(tool, "call_func", None)


def _is_protected(agent: Any) -> bool:
    root = getattr(agent, "root_capability", None)
    return any(isinstance(each, QWEDCapability) for each in getattr(root, "capabilities", (root,)))


def _keep(pending: PendingCall) -> dict[str, Json]:
    return {_KEPT: dict(pending.decision), "approval": pending.decision["approval"]}
