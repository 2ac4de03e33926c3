"""LlamaIndex behind the gateway: tools that ask first, for one agent or for a workflow of agents."""

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, Literal

from qwed_sdk.async_client import AsyncQWEDClient
from qwed_sdk.client import QWEDClient
from qwed_sdk.extras import extra_needed
from qwed_sdk.results import Json
from qwed_sdk.sub_agents import look_behind
from qwed_sdk.tool_gate import DEFAULT_WAIT_SECONDS, PendingCall, ToolGate, ToolPermit, ToolRefused
from qwed_sdk.tool_map import ToolAs, ToolMap

try:
    from llama_index.core.agent.workflow import (  # type: ignore[import-not-found,unused-ignore]
        AgentWorkflow,
        BaseWorkflowAgent,
        CodeActAgent,
    )
    from llama_index.core.instrumentation.dispatcher import (  # type: ignore[import-not-found,unused-ignore]
        active_instrument_tags,
    )
    from llama_index.core.tools import (  # type: ignore[import-not-found,unused-ignore]
        BaseTool,
        FunctionTool,
        ToolOutput,
        adapt_to_async_tool,
    )
    from llama_index.core.workflow import (  # type: ignore[import-not-found,unused-ignore]
        HumanResponseEvent,
        InputRequiredEvent,
    )
except ImportError as missing:
    raise extra_needed("qwed_sdk.llamaindex", "llamaindex", missing) from missing

__all__ = ["ToolRefused", "protect", "verified_tools"]

_CONTEXT: Final = "qwed_context"


def protect(
    agent: Any,
    agent_id: str,
    *,
    client: QWEDClient | AsyncQWEDClient | None = None,
    agent_token: str | None = None,
    tool_map: ToolMap | None = None,
    wait_seconds: float = DEFAULT_WAIT_SECONDS,
    pending: Literal["wait", "interrupt"] = "wait",
) -> Any:
    """Put the gateway before the tools of an agent, or of every agent of an `AgentWorkflow`, retrieved tools
    included. Returns the same object.

    A refused call is an error result for the model; a PENDING one waits up to `wait_seconds` for a person.
    With `pending="interrupt"` the workflow streams an `InputRequiredEvent` instead and stands still until it
    is sent a `HumanResponseEvent`; then it goes on, if a person has answered at the gateway. The event itself
    approves nothing. An agent that a tool runs is not protected by this call: protect each. One that is not
    is an `UnprotectedAgent` warning when the tool is called.
    """
    gate = ToolGate(
        agent_id, client=client, agent_token=agent_token, tool_map=tool_map, wait_seconds=wait_seconds
    )
    agents = list(agent.agents.values()) if isinstance(agent, AgentWorkflow) else [agent]
    for each in agents:
        if isinstance(each, CodeActAgent):
            # The code it writes is its one tool call; what that code calls in turn is not seen here.
            gate.map_tool("execute", ToolAs("execute_code", code="code"))
        each.tools = verified_tools(each.tools or [], gate, pending=pending)
        if each.tool_retriever is not None:
            each.tool_retriever = _Retriever(each.tool_retriever, gate, pending)
    return agent


def verified_tools(
    tools: Iterable[BaseTool | Callable[..., Any]],
    gate: ToolGate,
    *,
    pending: Literal["wait", "interrupt"] = "wait",
) -> list[Any]:
    """Tools and plain functions alike; each keeps its name, description and schema."""
    return [_verify(tool, gate, pending == "interrupt") for tool in tools]


def _verify(tool: Any, gate: ToolGate, interrupts: bool) -> Any:
    if isinstance(tool, VerifiedTool):
        return tool
    known = tool if isinstance(tool, BaseTool) else FunctionTool.from_defaults(tool)
    return VerifiedTool(known, gate, interrupts=interrupts)


class VerifiedTool(FunctionTool):  # type: ignore[misc,unused-ignore]
    """A tool that is called only with what the gateway approved.

    It is a function tool, because agents hand their context to those alone.
    """

    requires_context: bool
    ctx_param_name: str | None

    def __init__(self, tool: Any, gate: ToolGate, *, interrupts: bool = False) -> None:
        function = tool.real_fn if isinstance(tool, FunctionTool) else _without_context
        super().__init__(fn=function, metadata=tool.metadata)
        self._tool = adapt_to_async_tool(tool)
        self._gate = gate
        self._interrupts = interrupts
        #: Whether the tool itself takes the context; where it does not, the agent's pause needs it.
        self._takes_context = bool(self.requires_context)
        if interrupts and not self._takes_context:
            self.requires_context, self.ctx_param_name = True, _CONTEXT

    def call(self, *args: object, **kwargs: object) -> ToolOutput:
        self._look_behind()
        context, arguments = self._split_given(args, kwargs)
        try:
            permit = self._gate.permit(self._name, arguments, conversation_id=_run_id())
        except ToolRefused as refused:
            return self._refuse(refused, arguments)
        try:
            output = self._tool.call(**permit.arguments, **self._find_passed(context))
        except BaseException as error:
            self._gate.report(permit, error=error)
            raise
        self._gate.report(permit, result=_content(permit, output))
        return output

    async def acall(self, *args: object, **kwargs: object) -> ToolOutput:
        self._look_behind()
        context, arguments = self._split_given(args, kwargs)
        try:
            permit = await self._permit(arguments, context)
        except ToolRefused as refused:
            return self._refuse(refused, arguments)
        try:
            output = await self._tool.acall(**permit.arguments, **self._find_passed(context))
        except BaseException as error:
            if _is_pause(error):
                # The step will be run, and the call verified, again.
                permit.outcome = "partial"
                await self._gate.areport(permit)
            else:
                await self._gate.areport(permit, error=error)
            raise
        await self._gate.areport(permit, result=_content(permit, output))
        return output

    async def _permit(self, arguments: dict[str, Json], context: dict[str, Json]) -> ToolPermit:
        workflow = next(iter(context.values()), None)
        if not self._interrupts or workflow is None:
            return await self._gate.apermit(self._name, arguments, conversation_id=_run_id())
        asked = await self._gate.aask(self._name, arguments, conversation_id=_run_id(), is_resumed=True)
        if isinstance(asked, ToolPermit):
            return asked
        # Leaves by an exception; the step runs again, and comes here again, when the answer is there.
        await workflow.wait_for_event(
            HumanResponseEvent, waiter_event=_question(asked), waiter_id=asked.approval_id, timeout=None
        )
        asked = await self._gate.aask(self._name, arguments, conversation_id=_run_id(), is_resumed=True)
        if isinstance(asked, ToolPermit):
            return asked
        raise ToolRefused(self._name, f"PENDING: nobody has answered the approval {asked.approval_id} yet")

    def _look_behind(self) -> None:
        look_behind(self.real_fn, (BaseWorkflowAgent, AgentWorkflow), _is_protected, "protect it too")

    def _find_passed(self, context: dict[str, Json]) -> dict[str, Json]:
        return context if self._takes_context else {}

    @property
    def _name(self) -> str:
        return str(self.metadata.get_name())

    def _split_given(
        self, args: tuple[object, ...], kwargs: Mapping[str, Json]
    ) -> tuple[dict[str, Json], dict[str, Json]]:
        """The agent's context, and the arguments by name with those that the tool adds by itself."""
        partial = getattr(self._tool, "partial_params", {})
        named = {**partial, **dict(zip(self._positional(), args, strict=False)), **kwargs}
        if len(args) > len(self._positional()):
            raise ToolRefused(self._name, "it was called with arguments that have no name")
        context = {
            name: named.pop(name) for name in (self.ctx_param_name,) if name is not None and name in named
        }
        return context, named

    def _positional(self) -> list[str]:
        if not isinstance(self._tool, FunctionTool):
            return ["input"]
        return list(inspect.signature(self._tool.real_fn).parameters)

    def _refuse(self, refused: ToolRefused, arguments: dict[str, Json]) -> ToolOutput:
        return ToolOutput(
            content=str(refused),
            tool_name=self._name,
            raw_input=arguments,
            raw_output=str(refused),
            is_error=True,
        )


class _Retriever:
    """Finds tools for an agent, and lets none of them go without the gate."""

    def __init__(self, retriever: Any, gate: ToolGate, pending: Literal["wait", "interrupt"]) -> None:
        self._retriever = retriever
        self._gate = gate
        self._pending: Literal["wait", "interrupt"] = pending

    async def aretrieve(self, query: Any) -> list[Any]:
        return verified_tools(await self._retriever.aretrieve(query), self._gate, pending=self._pending)

    def retrieve(self, query: Any) -> list[Any]:
        return verified_tools(self._retriever.retrieve(query), self._gate, pending=self._pending)


def _is_protected(agent: Any) -> bool:
    agents = agent.agents.values() if isinstance(agent, AgentWorkflow) else [agent]
    return all(
        all(isinstance(tool, VerifiedTool) for tool in each.tools or [])
        and (each.tool_retriever is None or isinstance(each.tool_retriever, _Retriever))
        for each in agents
    )


def _question(pending: PendingCall) -> InputRequiredEvent:
    return InputRequiredEvent(
        prefix=f"{pending.call.tool_name} waits for a person at the gateway: {pending.approval_id}",
        qwed_approval=pending.approval_id,
        tool=pending.call.tool_name,
        arguments=dict(pending.call.arguments),
    )


def _without_context(**kwargs: object) -> None:
    """Stands for a tool that is no function."""


def _run_id() -> str | None:
    run_id = active_instrument_tags.get().get("llamaindex.run_id")
    return None if run_id is None else str(run_id)


def _is_pause(error: BaseException) -> bool:
    return type(error).__name__ == "WaitingForEvent"


def _content(permit: ToolPermit, output: Any) -> Any:
    if getattr(output, "is_error", False):
        permit.outcome = "failure"
    return getattr(output, "content", None)
