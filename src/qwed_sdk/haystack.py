"""Haystack behind the gateway: tools that ask first, for an agent or a tool invoker."""

import copy
import functools
from collections.abc import Awaitable, Callable, Iterable
from typing import Final

from qwed_sdk.client import QWEDClient
from qwed_sdk.extras import extra_needed
from qwed_sdk.results import Json
from qwed_sdk.sub_agents import warn_unprotected
from qwed_sdk.tool_gate import DEFAULT_WAIT_SECONDS, ToolGate, ToolRefused
from qwed_sdk.tool_map import ToolMap

try:
    from haystack.components.agents import Agent  # type: ignore[import-not-found,unused-ignore]
    from haystack.tools import (  # type: ignore[import-not-found,unused-ignore]
        Tool,
        Toolset,
        flatten_tools_or_toolsets,
    )
except ImportError as missing:
    raise extra_needed("qwed_sdk.haystack", "haystack", missing) from missing

__all__ = ["ToolRefused", "verified_tools"]

_GATED: Final = "_qwed_gated"


def verified_tools(
    tools: Toolset | Iterable[Tool | Toolset],
    agent_id: str,
    *,
    client: QWEDClient | None = None,
    agent_token: str | None = None,
    tool_map: ToolMap | None = None,
    wait_seconds: float = DEFAULT_WAIT_SECONDS,
    conversation_id: str | None = None,
) -> list[Tool]:
    """For `Agent(…, tools=verified_tools([…], agent_id=…))`: each keeps its name, description and schema, and
    runs only with what the gateway approved. Put `tool_run(…)` around a run to make it a conversation of its
    own; without, these tools share one. An agent that is a tool is asked about as one call: verify its own
    tools too; one that has others is an `UnprotectedAgent` warning.

    A refused call is an error that the model is told; a PENDING one waits up to `wait_seconds` for a person.
    """
    gate = ToolGate(
        agent_id,
        client=client,
        agent_token=agent_token,
        tool_map=tool_map,
        wait_seconds=wait_seconds,
        conversation_id=conversation_id,
    )
    found = flatten_tools_or_toolsets(tools if isinstance(tools, Toolset) else list(tools))
    for tool in found:
        agent = getattr(tool, "_component", None)
        if isinstance(agent, Agent) and not all(_is_verified(own) for own in _tools_of(agent)):
            warn_unprotected(str(tool.name), "give it verified_tools(…) too")
    return [_verify(tool, gate) for tool in found]


def _tools_of(agent: Agent) -> list[Tool]:
    given = agent.tools
    return list(flatten_tools_or_toolsets(given if isinstance(given, Toolset) else list(given)))


def _is_verified(tool: Tool) -> bool:
    return bool(getattr(tool.function or tool.async_function, _GATED, False))


def _verify(tool: Tool, gate: ToolGate) -> Tool:
    if _is_verified(tool):
        return tool
    # A copy, not `replace`: tools of other classes are made of other things.
    verified = copy.copy(tool)
    if tool.function is not None:
        verified.function = _asking(tool.function, str(tool.name), gate)
    if tool.async_function is not None:
        verified.async_function = _aasking(tool.async_function, str(tool.name), gate)
    return verified


def _asking(function: Callable[..., Json], name: str, gate: ToolGate) -> Callable[..., Json]:
    @functools.wraps(function)
    def ask(**arguments: Json) -> Json:
        return gate.run(name, arguments, lambda allowed: function(**allowed))

    setattr(ask, _GATED, True)
    return ask


def _aasking(
    function: Callable[..., Awaitable[Json]], name: str, gate: ToolGate
) -> Callable[..., Awaitable[Json]]:
    @functools.wraps(function)
    async def ask(**arguments: Json) -> Json:
        return await gate.arun(name, arguments, lambda allowed: function(**allowed))

    setattr(ask, _GATED, True)
    return ask
