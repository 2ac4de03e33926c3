"""smolagents behind the gateway: every tool of an agent, and of the agents it manages, asks first. So does
the code that a code agent writes."""

import functools
import inspect
import uuid
from collections.abc import Callable, Mapping
from typing import Any, Final

from qwed_sdk.client import QWEDClient
from qwed_sdk.extras import extra_needed
from qwed_sdk.results import Json
from qwed_sdk.tool_gate import DEFAULT_WAIT_SECONDS, ToolGate, ToolRefused, current_run, tool_run
from qwed_sdk.tool_map import ToolAs, ToolMap

try:
    from smolagents import (  # type: ignore[import-not-found,unused-ignore]
        CodeAgent,
        MultiStepAgent,
        Tool,
    )
except ImportError as missing:
    raise extra_needed("qwed_sdk.smolagents", "smolagents", missing) from missing

__all__ = ["ToolRefused", "protect"]

_GATED: Final = "_qwed_gated"
#: Ends the run and touches nothing.
_FINAL: Final = "final_answer"
_CODE: Final = "python_interpreter"


def protect(
    agent: MultiStepAgent,
    agent_id: str,
    *,
    client: QWEDClient | None = None,
    agent_token: str | None = None,
    tool_map: ToolMap | None = None,
    wait_seconds: float = DEFAULT_WAIT_SECONDS,
) -> MultiStepAgent:
    """Put the gateway before the tools of this agent and of the agents it manages; returns the same agent.
    One conversation per run.

    A refused call is an error that the model is told; a PENDING one waits up to `wait_seconds` for a person.
    The code of a `CodeAgent` is asked about as `execute_code`, and each tool that it calls as itself. Tools
    that are added later ask too.
    """
    gate = ToolGate(
        agent_id, client=client, agent_token=agent_token, tool_map=tool_map, wait_seconds=wait_seconds
    )
    gate.map_tool(_CODE, ToolAs("execute_code", code="code", fixed={"language": "python"}))
    _protect(agent, gate)
    return agent


def _protect(agent: MultiStepAgent, gate: ToolGate) -> None:
    if getattr(agent, _GATED, False):
        return
    setattr(agent, _GATED, True)
    agent.tools = _Tools(agent.tools, gate)
    if isinstance(agent, CodeAgent):
        agent.python_executor = _Executor(agent.python_executor, gate)
    for managed in agent.managed_agents.values():
        _protect(managed, gate)
    own = agent.run

    @functools.wraps(own)
    def run(*args: Json, **kwargs: Json) -> Json:
        if kwargs.get("stream"):
            # Its steps run after this call has returned, each in its reader's context.
            return own(*args, **kwargs)
        with tool_run(current_run() or str(uuid.uuid4())):
            return own(*args, **kwargs)

    agent.run = run


class _Tools(dict[str, Tool]):  # type: ignore[misc,unused-ignore]
    """An agent's tools by name. What comes in later asks first as well."""

    def __init__(self, tools: Mapping[str, Tool], gate: ToolGate) -> None:
        super().__init__()
        self._gate = gate
        self.update(tools)

    def __setitem__(self, name: str, tool: Tool) -> None:
        super().__setitem__(name, _gate(tool, self._gate))

    def update(self, tools: Mapping[str, Tool] = {}, **more: Tool) -> None:  # type: ignore[override]
        for name, tool in {**tools, **more}.items():
            self[name] = tool

    def setdefault(self, name: str, tool: Tool) -> Tool:  # type: ignore[override,unused-ignore]
        if name not in self:
            self[name] = tool
        return self[name]


def _gate(tool: Tool, gate: ToolGate) -> Tool:
    """Also the tool that somebody else holds: there is one way to run it."""
    if getattr(tool, _GATED, False) or tool.name == _FINAL:
        return tool
    tool.forward = _asking(tool.forward, str(tool.name), gate)
    setattr(tool, _GATED, True)
    return tool


def _asking(forward: Callable[..., Json], name: str, gate: ToolGate) -> Callable[..., Json]:
    signature = inspect.signature(forward)

    @functools.wraps(forward)
    def ask(*args: Json, **kwargs: Json) -> Json:
        arguments = dict(signature.bind(*args, **kwargs).arguments)
        for parameter in signature.parameters.values():
            if parameter.kind is inspect.Parameter.VAR_KEYWORD:
                arguments |= arguments.pop(parameter.name, {})
        return gate.run(name, arguments, lambda allowed: forward(**allowed))

    return ask


class _Executor:
    """Runs the code that the gateway allows, and no other."""

    def __init__(self, executor: Any, gate: ToolGate) -> None:
        self._executor = executor
        self._gate = gate

    def __call__(self, code: str) -> Json:
        return self._gate.run(_CODE, {"code": code}, lambda allowed: self._executor(allowed["code"]))

    def __getattr__(self, name: str) -> Json:
        return getattr(self._executor, name)
