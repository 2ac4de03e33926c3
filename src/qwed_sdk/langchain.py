"""LangChain behind the gateway: a callback for executors and tools, and a middleware for 1.x agents."""

import threading
import uuid
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Literal, NotRequired
from uuid import UUID

from qwed_sdk.async_client import AsyncQWEDClient
from qwed_sdk.client import QWEDClient
from qwed_sdk.extras import extra_needed
from qwed_sdk.results import Json
from qwed_sdk.sub_agents import agents_behind, look_behind
from qwed_sdk.tool_gate import DEFAULT_WAIT_SECONDS, PendingCall, ToolGate, ToolPermit, ToolRefused
from qwed_sdk.tool_map import ToolMap

try:
    from langchain.agents.middleware import (  # type: ignore[import-not-found,unused-ignore]
        AgentMiddleware,
        AgentState,
    )
    from langchain_core.callbacks import BaseCallbackHandler  # type: ignore[import-not-found,unused-ignore]
    from langchain_core.messages import ToolMessage  # type: ignore[import-not-found,unused-ignore]
    from langgraph.errors import GraphBubbleUp  # type: ignore[import-not-found,unused-ignore]
    from langgraph.func import task  # type: ignore[import-not-found,unused-ignore]
    from langgraph.prebuilt import ToolNode  # type: ignore[import-not-found,unused-ignore]
    from langgraph.pregel import Pregel  # type: ignore[import-not-found,unused-ignore]
    from langgraph.types import interrupt  # type: ignore[import-not-found,unused-ignore]
except ImportError as missing:
    raise extra_needed("qwed_sdk.langchain", "langchain", missing) from missing

__all__ = ["QWEDMiddleware", "QWEDVerificationCallback", "ToolRefused"]


class QWEDVerificationCallback(BaseCallbackHandler):  # type: ignore[misc,unused-ignore]
    """Raises `ToolRefused` before a tool that the gateway does not approve, which ends the run.

    Callbacks given to an executor's constructor hear its actions but not its tools; callbacks given to
    `invoke` hear both, and 1.x agents have tools only. It verifies where it hears a call first. A corrected
    call runs corrected in an executor; where only the tool is heard, its arguments can't be changed any more,
    so it is refused with the correction in the message.
    """

    # LangChain logs a callback's exception and runs the tool all the same, unless this is set.
    raise_error = True

    def __init__(
        self,
        agent_id: str,
        *,
        client: QWEDClient | None = None,
        agent_token: str | None = None,
        tool_map: ToolMap | None = None,
        wait_seconds: float = DEFAULT_WAIT_SECONDS,
        conversation_id: str | None = None,
    ) -> None:
        super().__init__()
        self._gate = ToolGate(
            agent_id, client=client, agent_token=agent_token, tool_map=tool_map, wait_seconds=wait_seconds
        )
        self._conversation_id = conversation_id
        self._lock = threading.Lock()
        #: Run → the outermost run it belongs to, while it lasts.
        self._roots: dict[Any, Any] = {}
        #: Outermost run → calls that were verified as actions of an executor and not heard of since.
        self._announced: dict[Any, list[ToolPermit]] = {}
        self._running: dict[Any, ToolPermit] = {}

    # --- runs ----------------------------------------------------------------------------------

    def on_chain_start(
        self,
        serialized: object,
        inputs: object,
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        **kwargs: object,
    ) -> None:
        with self._lock:
            self._roots[run_id] = self._roots.get(parent_run_id, parent_run_id) or run_id

    def on_chain_end(self, outputs: object, *, run_id: UUID, **kwargs: object) -> None:
        self._close(run_id, None)

    def on_chain_error(self, error: BaseException, *, run_id: UUID, **kwargs: object) -> None:
        self._close(run_id, error)

    def _close(self, run_id: UUID, error: BaseException | None) -> None:
        """What was announced and never heard of again came to its end with the run."""
        with self._lock:
            self._roots.pop(run_id, None)
            left = self._announced.pop(run_id, [])
        for permit in left:
            if error is not None:
                permit.outcome = "unknown"
            self._gate.report(permit)

    # --- tools ---------------------------------------------------------------------------------

    def on_agent_action(self, action: Any, *, run_id: UUID, **kwargs: object) -> None:
        arguments = _name_arguments(action.tool_input)
        root = self._root(run_id)
        permit = self._permit(action.tool, arguments, root)
        if permit.arguments != arguments:
            # The executor runs the tool with what stands here.
            is_text = isinstance(action.tool_input, str)
            action.tool_input = permit.arguments["input"] if is_text else permit.arguments
        with self._lock:
            self._announced.setdefault(root, []).append(permit)

    def on_tool_start(
        self,
        serialized: dict[str, Json] | None,
        input_str: str,
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        inputs: dict[str, Json] | None = None,
        **kwargs: object,
    ) -> None:
        name = str((serialized or {}).get("name") or kwargs.get("name") or "")
        arguments = _name_arguments(input_str if inputs is None else inputs)
        root = self._root(parent_run_id)
        permit = self._take(root, name, arguments) or self._permit(name, arguments, root)
        if permit.arguments != arguments:
            refused = ToolRefused(
                name, f"it may run only with corrected arguments: {permit.arguments}", permit.decision
            )
            self._gate.report(permit, error=refused)
            raise refused
        with self._lock:
            self._running[run_id] = permit

    def on_tool_end(self, output: object, *, run_id: UUID, **kwargs: object) -> None:
        permit = self._finish(run_id)
        if permit is not None:
            self._gate.report(permit, result=getattr(output, "content", output))

    def on_tool_error(self, error: BaseException, *, run_id: UUID, **kwargs: object) -> None:
        permit = self._finish(run_id)
        if permit is not None:
            self._gate.report(permit, error=error)

    def _root(self, run_id: UUID | None) -> Any:
        with self._lock:
            return self._roots.get(run_id, run_id)

    def _permit(self, name: str, arguments: Mapping[str, Json], root: Any) -> ToolPermit:
        conversation = self._conversation_id or (None if root is None else str(root))
        return self._gate.permit(name, arguments, conversation_id=conversation)

    def _take(self, root: Any, name: str, arguments: Mapping[str, Json]) -> ToolPermit | None:
        with self._lock:
            announced = self._announced.get(root, [])
            for permit in announced:
                if permit.tool_name == name and permit.arguments == arguments:
                    announced.remove(permit)
                    return permit
        return None

    def _finish(self, run_id: UUID) -> ToolPermit | None:
        with self._lock:
            return self._running.pop(run_id, None)


def _name_arguments(tool_input: Any) -> dict[str, Json]:
    return dict(tool_input) if isinstance(tool_input, Mapping) else {"input": tool_input}


class QWEDState(AgentState):  # type: ignore[misc,type-arg,valid-type,unused-ignore]
    """One conversation with the gateway per run; a run that is resumed goes on with its own."""

    qwed_conversation: NotRequired[str]  # type: ignore[valid-type,unused-ignore]


class QWEDMiddleware(AgentMiddleware):  # type: ignore[misc,type-arg,valid-type,unused-ignore]
    """For `create_agent(…, middleware=[…, QWEDMiddleware(agent_id=…)])`. Put it last, so that it sees the
    arguments as the tool would.

    A denied call becomes a tool message that the model can react to. A PENDING call interrupts the graph
    where it has a checkpointer (`pending="interrupt"`): `invoke(Command(resume=True), config)`, in this
    process or another, goes on once a person has answered. Without a checkpointer, or with
    `pending="wait"`, it waits up to `wait_seconds`.
    """

    state_schema = QWEDState

    def __init__(
        self,
        agent_id: str,
        *,
        client: QWEDClient | AsyncQWEDClient | None = None,
        agent_token: str | None = None,
        tool_map: ToolMap | None = None,
        pending: Literal["interrupt", "wait"] = "interrupt",
        wait_seconds: float = DEFAULT_WAIT_SECONDS,
    ) -> None:
        super().__init__()
        self._gate = ToolGate(
            agent_id, client=client, agent_token=agent_token, tool_map=tool_map, wait_seconds=wait_seconds
        )
        self._interrupts = pending == "interrupt"

    def before_agent(self, state: object, runtime: object) -> dict[str, Json]:
        return {"qwed_conversation": str(uuid.uuid4())}

    async def abefore_agent(self, state: object, runtime: object) -> dict[str, Json]:
        return self.before_agent(state, runtime)

    # --- synchronously -------------------------------------------------------------------------

    def wrap_tool_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        call = _Request(request)
        _look_behind(request.tool)
        try:
            permit = self._permit(call)
        except ToolRefused as refused:
            return call.refused(refused)
        try:
            result = handler(call.with_arguments(permit.arguments))
        except GraphBubbleUp:
            # The tool itself pauses the graph; it will be called, and verified, again.
            permit.outcome = "partial"
            self._gate.report(permit)
            raise
        except BaseException as error:
            self._gate.report(permit, error=error)
            raise
        self._gate.report(permit, **_result(permit, result))
        return result

    def _permit(self, call: "_Request") -> ToolPermit:
        if not (self._interrupts and call.can_be_resumed):
            return self._gate.permit(call.name, call.arguments, conversation_id=call.conversation_id)
        asked: list[ToolPermit | PendingCall] = []

        # A task's result is kept by the checkpointer, so a resumed call finds its approval again.
        @task(name="qwed_verify")  # type: ignore[misc,untyped-decorator,unused-ignore]
        def ask() -> dict[str, Json]:
            try:
                asked.append(self._gate.ask(call.name, call.arguments, conversation_id=call.conversation_id))
            except ToolRefused as refused:
                return call.remembered(refused=refused)
            return call.remembered(asked[0])

        answer = call.read(ask().result())
        if asked and isinstance(asked[0], ToolPermit):
            return asked[0]
        if answer is None:
            # An approval of an earlier process may have been used by it.
            return self._gate.permit(call.name, call.arguments, conversation_id=call.conversation_id)
        pending = self._gate.pending(call.name, call.arguments, answer)
        while True:
            interrupt(call.question(pending))
            approval = self._gate.answer(pending)
            if approval.status != "open":
                return self._gate.redeem(pending, approval)

    # --- under asyncio -------------------------------------------------------------------------

    async def awrap_tool_call(self, request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
        call = _Request(request)
        _look_behind(request.tool)
        try:
            permit = await self._apermit(call)
        except ToolRefused as refused:
            return call.refused(refused)
        try:
            result = await handler(call.with_arguments(permit.arguments))
        except GraphBubbleUp:
            permit.outcome = "partial"
            await self._gate.areport(permit)
            raise
        except BaseException as error:
            await self._gate.areport(permit, error=error)
            raise
        await self._gate.areport(permit, **_result(permit, result))
        return result

    async def _apermit(self, call: "_Request") -> ToolPermit:
        if not (self._interrupts and call.can_be_resumed):
            return await self._gate.apermit(call.name, call.arguments, conversation_id=call.conversation_id)
        asked: list[ToolPermit | PendingCall] = []

        @task(name="qwed_verify")  # type: ignore[misc,untyped-decorator,unused-ignore]
        async def ask() -> dict[str, Json]:
            try:
                asked.append(
                    await self._gate.aask(call.name, call.arguments, conversation_id=call.conversation_id)
                )
            except ToolRefused as refused:
                return call.remembered(refused=refused)
            return call.remembered(asked[0])

        answer = call.read(await ask())
        if asked and isinstance(asked[0], ToolPermit):
            return asked[0]
        if answer is None:
            return await self._gate.apermit(call.name, call.arguments, conversation_id=call.conversation_id)
        pending = self._gate.pending(call.name, call.arguments, answer)
        while True:
            interrupt(call.question(pending))
            approval = await self._gate.aanswer(pending)
            if approval.status != "open":
                return await self._gate.aredeem(pending, approval)


def _look_behind(tool: Any) -> None:
    function = getattr(tool, "func", None) or getattr(tool, "coroutine", None)
    look_behind(function, Pregel, _is_protected, "give it a QWEDMiddleware too")


def _is_protected(graph: Any) -> bool:
    nodes = [getattr(node, "bound", None) for node in graph.nodes.values()]
    wraps = [node._wrap_tool_call or node._awrap_tool_call for node in nodes if isinstance(node, ToolNode)]
    return all(agents_behind(wrap, QWEDMiddleware) for wrap in wraps)


class _Request:
    """One tool call as the agent makes it."""

    def __init__(self, request: Any) -> None:
        self._request = request
        self.name = str(request.tool_call["name"])
        self.arguments = _coerce(request.tool, dict(request.tool_call["args"]))
        self.call_id = str(request.tool_call.get("id") or "")
        state = request.state if isinstance(request.state, Mapping) else {}
        where = getattr(request.runtime, "execution_info", None)
        self._thread_id = getattr(where, "thread_id", None)
        self.conversation_id: str | None = state.get("qwed_conversation") or self._thread_id

    @property
    def can_be_resumed(self) -> bool:
        return self._thread_id is not None

    def with_arguments(self, arguments: dict[str, Json]) -> Any:
        if arguments == self.arguments:
            return self._request
        return self._request.override(tool_call={**self._request.tool_call, "args": arguments})

    def remembered(
        self, asked: ToolPermit | PendingCall | None = None, *, refused: ToolRefused | None = None
    ) -> dict[str, Json]:
        """What a checkpoint keeps of the gateway's answer."""
        pending = dict(asked.decision) if isinstance(asked, PendingCall) else None
        reason = None if refused is None else refused.reason
        return {"call_id": self.call_id, "pending": pending, "refused": reason}

    def read(self, kept: Mapping[str, Json]) -> dict[str, Json] | None:
        """The decision that waits for a person, if that is what was kept. Raises `ToolRefused`."""
        if kept["call_id"] != self.call_id:
            raise ToolRefused(self.name, "what was remembered belongs to another call")
        if kept["refused"] is not None:
            raise ToolRefused(self.name, kept["refused"])
        pending: dict[str, Json] | None = kept["pending"]
        return pending

    def question(self, pending: PendingCall) -> dict[str, Json]:
        """What the interrupt shows. The answer is given to the gateway, not to the graph."""
        return {
            "type": "qwed_approval",
            "approval": pending.decision["approval"],
            "tool": self.name,
            "arguments": self.arguments,
            "reason": pending.decision.message,
        }

    def refused(self, refused: ToolRefused) -> Any:
        return ToolMessage(content=str(refused), tool_call_id=self.call_id, name=self.name, status="error")


def _coerce(tool: Any, arguments: dict[str, Json]) -> dict[str, Json]:
    """The arguments that the tool will really get: its schema turns texts into numbers and adds defaults.
    What the schema refuses never reaches the tool."""
    schema = getattr(tool, "tool_call_schema", None)
    if not (isinstance(schema, type) and hasattr(schema, "model_validate")):
        return arguments
    try:
        checked = schema.model_validate(arguments)
    except ValueError:
        return arguments
    return {name: getattr(checked, name) for name in type(checked).model_fields}


def _result(permit: ToolPermit, result: Any) -> dict[str, Json]:
    """A tool's own error may come as a message instead of an exception."""
    content = getattr(result, "content", None)
    if getattr(result, "status", None) == "error":
        permit.outcome = "failure"
    return {"result": content}
