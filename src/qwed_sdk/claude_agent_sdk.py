"""The Claude Agent SDK behind the gateway: hooks around every tool, of sub-agents too; or `can_use_tool`."""

import dataclasses
from collections.abc import Mapping
from typing import Any, Final

from qwed_sdk.async_client import AsyncQWEDClient
from qwed_sdk.client import QWEDClient
from qwed_sdk.extras import extra_needed
from qwed_sdk.results import Json
from qwed_sdk.tool_gate import DEFAULT_WAIT_SECONDS, ToolGate, ToolPermit, ToolRefused
from qwed_sdk.tool_map import ToolAs, ToolMap

try:
    from claude_agent_sdk import (  # type: ignore[import-not-found,unused-ignore]
        ClaudeAgentOptions,
        HookMatcher,
        PermissionResultAllow,
        PermissionResultDeny,
        ToolPermissionContext,
    )
except ImportError as missing:
    raise extra_needed("qwed_sdk.claude_agent_sdk", "claude-agent-sdk", missing) from missing

__all__ = ["QWEDPermission", "ToolRefused", "protect"]

#: Tools of the program itself whose argument an engine proves. The others go by their own names.
_BUILT_IN: Final[Mapping[str, ToolAs]] = {
    "Bash": ToolAs("execute_code", code="command", fixed={"language": "bash"})
}
#: A hook that takes longer counts as one without an opinion, so the gate is the first to give up.
_SPARE_SECONDS: Final = 120.0


def protect(
    options: ClaudeAgentOptions,
    agent_id: str,
    *,
    client: QWEDClient | AsyncQWEDClient | None = None,
    agent_token: str | None = None,
    tool_map: ToolMap | None = None,
    wait_seconds: float = DEFAULT_WAIT_SECONDS,
) -> ClaudeAgentOptions:
    """For `query(options=protect(ClaudeAgentOptions(…), agent_id=…))` or a `ClaudeSDKClient`: a copy of the
    options whose `PreToolUse` hook asks before every tool, built-in, of an MCP server, or of a sub-agent. One
    conversation per session. What the gateway allows needs no other permission, unless the options have
    `can_use_tool`, which is then asked as well and can't change the arguments. `deny` rules still hold.

    A refused call is an error that the model is told; a PENDING one waits up to `wait_seconds` for a person.
    Other `PreToolUse` hooks could change the arguments at the same time: options with one are a `ValueError`.
    """
    hooks = dict(options.hooks or {})
    if hooks.get("PreToolUse"):
        raise ValueError(
            "the options have a PreToolUse hook of their own, which could change the arguments while the"
            " gateway verifies them: put what it does into a tool, or into can_use_tool"
        )
    gate = _gate(agent_id, client, agent_token, tool_map, wait_seconds)
    asking = _Hooks(gate, has_permission=options.can_use_tool is not None)
    timeout = wait_seconds + _SPARE_SECONDS
    hooks["PreToolUse"] = [HookMatcher(hooks=[asking.before], timeout=timeout, on_failure="block")]
    for name in ("PostToolUse", "PostToolUseFailure"):
        hooks[name] = [*hooks.get(name, ()), HookMatcher(hooks=[asking.after], timeout=_SPARE_SECONDS)]
    changes: dict[str, Any] = {"hooks": hooks}
    if options.can_use_tool is not None:
        changes["can_use_tool"] = _pass_on(options.can_use_tool)
    return dataclasses.replace(options, **changes)


class QWEDPermission:
    """For `ClaudeAgentOptions(can_use_tool=QWEDPermission(agent_id=…))`, where hooks can't be had.

    Claude asks it only about what no rule decides. What `allowed_tools`, settings or the permission mode
    allow does not come here, and what became of a call is not reported. `protect` sees every call.
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
        self._gate = _gate(agent_id, client, agent_token, tool_map, wait_seconds)

    async def __call__(
        self, tool_name: str, tool_input: dict[str, Json], context: ToolPermissionContext
    ) -> PermissionResultAllow | PermissionResultDeny:
        try:
            permit = await self._gate.apermit(tool_name, tool_input)
        except ToolRefused as refused:
            return PermissionResultDeny(message=str(refused))
        return PermissionResultAllow(updated_input=permit.arguments)


def _gate(
    agent_id: str,
    client: QWEDClient | AsyncQWEDClient | None,
    agent_token: str | None,
    tool_map: ToolMap | None,
    wait_seconds: float,
) -> ToolGate:
    meanings = {**_BUILT_IN, **(tool_map or {})}
    return ToolGate(
        agent_id, client=client, agent_token=agent_token, tool_map=meanings, wait_seconds=wait_seconds
    )


class _Hooks:
    def __init__(self, gate: ToolGate, *, has_permission: bool) -> None:
        self._gate = gate
        self._has_permission = has_permission
        self._running: dict[str, ToolPermit] = {}

    async def before(self, event: Any, tool_use_id: str | None, context: Any) -> dict[str, Json]:
        name, arguments = str(event["tool_name"]), event["tool_input"]
        try:
            permit = await self._gate.apermit(name, arguments, conversation_id=str(event["session_id"]))
        except ToolRefused as refused:
            return _say("deny", permissionDecisionReason=str(refused))
        self._running[str(event["tool_use_id"])] = permit
        changed = {} if permit.arguments == arguments else {"updatedInput": permit.arguments}
        return _say("ask" if self._has_permission else "allow", **changed)

    async def after(self, event: Any, tool_use_id: str | None, context: Any) -> dict[str, Json]:
        permit = self._running.pop(str(event["tool_use_id"]), None)
        if permit is None:
            return {}
        if event["hook_event_name"] == "PostToolUse":
            await self._gate.areport(permit, result=event.get("tool_response"))
        else:
            permit.outcome = "unknown" if event.get("is_interrupt") else "failure"
            await self._gate.areport(permit, result=event.get("error"))
        return {}


def _say(decision: str, **members: Json) -> dict[str, Json]:
    return {"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": decision, **members}}


def _pass_on(can_use_tool: Any) -> Any:
    """The caller's own permission, which comes after the gateway and so may only say yes or no."""

    async def decide(name: str, arguments: dict[str, Json], context: ToolPermissionContext) -> Any:
        result = await can_use_tool(name, arguments, context)
        changed = getattr(result, "updated_input", None)
        if changed is not None and changed != arguments:
            refused = ToolRefused(name, "can_use_tool changed its arguments after they were verified")
            return PermissionResultDeny(message=str(refused))
        return result

    return decide
