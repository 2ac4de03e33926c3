"""LlamaIndex: tools wrapped before execution."""

import functools
import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from llama_index.core.tools import (  # type: ignore[import-not-found,unused-ignore]
    AsyncBaseTool,
    BaseTool,
    FunctionTool,
    ToolMetadata,
    ToolOutput,
    adapt_to_async_tool,
)

from qwed.domain.json_types import Json
from qwed_open_responses.guards.base import BaseGuard
from qwed_open_responses.middleware.gate import OnBlocked, OutputGate, explain
from qwed_open_responses.results import VerificationResult


class QWEDToolSpecGuard:
    """`tools = QWEDToolSpecGuard(guards).wrap(tools)`: a refused call answers the model with an error."""

    def __init__(
        self,
        guards: Iterable[BaseGuard],
        block_on_failure: bool = True,
        on_blocked: OnBlocked | None = None,
    ) -> None:
        self._gate = OutputGate(guards, block_on_failure=block_on_failure, on_blocked=on_blocked)

    def wrap(self, tools: Sequence[BaseTool | Callable[..., Any]]) -> list[AsyncBaseTool]:
        """Tools and plain functions alike; each keeps its name, description and schema."""
        return [self.wrap_tool(tool) for tool in tools]

    def wrap_tool(self, tool: BaseTool | Callable[..., Any]) -> AsyncBaseTool:
        if not isinstance(tool, BaseTool):
            tool = FunctionTool.from_defaults(tool)
        # An agent hands its context only to real function tools, so those stay what they are.
        if isinstance(tool, FunctionTool) and tool.requires_context:
            return self._guard_function_tool(tool)
        return GuardedTool(tool, self._gate)

    def _guard_function_tool(self, tool: FunctionTool) -> FunctionTool:
        function, gate, name = tool.real_fn, self._gate, tool.metadata.get_name()

        @functools.wraps(function)
        async def guarded(*args: Any, **kwargs: Any) -> Any:
            bound = inspect.signature(function).bind(*args, **kwargs).arguments
            arguments = {key: value for key, value in bound.items() if key != tool.ctx_param_name}
            result = await gate.tool_call_async(name, arguments, {"name": name, "arguments": arguments})
            if gate.blocks(result):
                return explain(result)
            answer = function(*args, **kwargs)
            return await answer if inspect.isawaitable(answer) else answer

        return FunctionTool.from_defaults(async_fn=guarded, tool_metadata=tool.metadata)


class GuardedTool(AsyncBaseTool):  # type: ignore[misc,unused-ignore]
    """A tool that is called only with verified arguments."""

    def __init__(self, tool: BaseTool, gate: OutputGate) -> None:
        self._tool = adapt_to_async_tool(tool)
        self._gate = gate

    @property
    def metadata(self) -> ToolMetadata:
        return self._tool.metadata

    def call(self, *args: Any, **kwargs: Any) -> ToolOutput:
        name, arguments = self._name_arguments(args, kwargs)
        result = self._gate.tool_call(name, arguments, {"name": name, "arguments": arguments})
        refusal = self._refusal(name, arguments, result)
        return self._tool.call(*args, **kwargs) if refusal is None else refusal

    async def acall(self, *args: Any, **kwargs: Any) -> ToolOutput:
        name, arguments = self._name_arguments(args, kwargs)
        result = await self._gate.tool_call_async(name, arguments, {"name": name, "arguments": arguments})
        refusal = self._refusal(name, arguments, result)
        return await self._tool.acall(*args, **kwargs) if refusal is None else refusal

    def _name_arguments(self, args: tuple[Any, ...], kwargs: dict[str, Json]) -> tuple[str, dict[str, Json]]:
        return self.metadata.get_name(), {**({"input": list(args)} if args else {}), **kwargs}

    def _refusal(
        self, name: str, arguments: dict[str, Json], result: VerificationResult
    ) -> ToolOutput | None:
        return _refuse(name, arguments, result) if self._gate.blocks(result) else None


def _refuse(name: str, arguments: dict[str, Json], result: VerificationResult) -> ToolOutput:
    return ToolOutput(
        content=explain(result), tool_name=name, raw_input=arguments, raw_output=result, is_error=True
    )
