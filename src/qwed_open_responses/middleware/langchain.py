"""LangChain: a callback for executors and agents, and a middleware for 1.x agents."""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any
from uuid import UUID

from langchain_core.agents import AgentAction  # type: ignore[import-not-found,unused-ignore]
from langchain_core.callbacks import BaseCallbackHandler  # type: ignore[import-not-found,unused-ignore]
from langchain_core.messages import ToolMessage  # type: ignore[import-not-found,unused-ignore]

from qwed.domain.json_types import Json
from qwed_open_responses.errors import ToolCallBlocked
from qwed_open_responses.guards.base import BaseGuard
from qwed_open_responses.middleware.gate import OnBlocked, OutputGate, explain
from qwed_open_responses.results import VerificationResult

try:
    from langchain.agents.middleware import AgentMiddleware  # type: ignore[import-not-found,unused-ignore]
except ImportError:  # LangChain before 1.0, or langchain-core alone: the callback is all there is
    AgentMiddleware = object

__all__ = ["QWEDCallbackHandler", "QWEDMiddleware", "ToolCallBlocked"]


class QWEDCallbackHandler(BaseCallbackHandler):  # type: ignore[misc,unused-ignore]
    """Raises `ToolCallBlocked` before a refused tool runs.

    It looks in `on_agent_action` and in `on_tool_start`, since callbacks given to an executor's constructor
    do not reach its tools, and callbacks given to `invoke` reach both.
    """

    # LangChain logs a callback's exception and runs the tool all the same, unless this is set.
    raise_error = True
    run_inline = True

    def __init__(
        self,
        guards: Iterable[BaseGuard],
        block_on_failure: bool = True,
        on_blocked: OnBlocked | None = None,
    ) -> None:
        super().__init__()
        self._gate = OutputGate(guards, block_on_failure=block_on_failure, on_blocked=on_blocked)

    def on_agent_action(self, action: AgentAction, **kwargs: Any) -> None:
        self._verify(action.tool, action.tool_input, action)

    def on_tool_start(
        self,
        serialized: dict[str, Json] | None,
        input_str: str,
        *,
        run_id: UUID | None = None,
        inputs: dict[str, Json] | None = None,
        **kwargs: Any,
    ) -> None:
        name = (serialized or {}).get("name") or kwargs.get("name")
        self._verify(name, inputs if inputs is not None else input_str, {"name": name, "input": input_str})

    def _verify(self, name: Any, tool_input: Any, subject: Any) -> None:
        arguments = {"input": tool_input} if isinstance(tool_input, str) else tool_input
        result = self._gate.tool_call(name, arguments, subject)
        if self._gate.blocks(result):
            raise ToolCallBlocked(result)


class QWEDMiddleware(AgentMiddleware):  # type: ignore[misc,valid-type,unused-ignore]
    """For `create_agent(…, middleware=[QWEDMiddleware(guards)])`: a refused call becomes a tool message that
    the model can react to. Put it last, so that it sees the arguments as the tool would."""

    def __init__(
        self,
        guards: Iterable[BaseGuard],
        block_on_failure: bool = True,
        on_blocked: OnBlocked | None = None,
    ) -> None:
        super().__init__()
        self._gate = OutputGate(guards, block_on_failure=block_on_failure, on_blocked=on_blocked)

    def wrap_tool_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        call = request.tool_call
        result = self._gate.tool_call(call.get("name"), call.get("args"), call)
        refusal = self._refusal(call, result)
        return handler(request) if refusal is None else refusal

    async def awrap_tool_call(self, request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
        call = request.tool_call
        result = await self._gate.tool_call_async(call.get("name"), call.get("args"), call)
        refusal = self._refusal(call, result)
        return await handler(request) if refusal is None else refusal

    def _refusal(self, call: Mapping[str, Json], result: VerificationResult) -> ToolMessage | None:
        if not self._gate.blocks(result):
            return None
        return ToolMessage(
            content=explain(result),
            tool_call_id=call.get("id") or "",
            name=call.get("name"),
            status="error",
        )
