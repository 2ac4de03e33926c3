"""Between an MCP client and its server: every tool call is decided before the server hears of it.

What is not a tool call, or a list of tools, passes as it came, unless a policy wants results looked at.
"""

import asyncio
import itertools
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

import msgspec

from qwed.domain.canonical import encode_exact, sha256_hex
from qwed.domain.permits import PERMIT_META
from qwed_sdk.conversations import Permit
from qwed_sdk.errors import QWEDError
from qwed_sdk.mcp import messages, rounds
from qwed_sdk.mcp.catalogue import Catalogue
from qwed_sdk.mcp.channels import MessageChannel
from qwed_sdk.mcp.definitions import suspicion
from qwed_sdk.mcp.gate import UNREACHABLE, McpGate, RefusedCall
from qwed_sdk.mcp.judged_requests import (
    JudgedParameter,
    action_type_of,
    read_call,
    read_prompt,
    read_resource,
)
from qwed_sdk.mcp.messages import MalformedMessage, McpMessage
from qwed_sdk.mcp.permissions import KnownActions
from qwed_sdk.mcp.relay import Handled, Handler, Relay, RelayWatcher, ServerGone, ServerRefused
from qwed_sdk.mcp.results import ResultPolicy, Withheld, screen, screen_error
from qwed_sdk.mcp.rounds import Round, Rounds
from qwed_sdk.mcp.tool_list import Listing
from qwed_sdk.tool_map import NotApplicable, ToolMap

#: A waiting call's progress stays below whatever the server reports later.
WAITING_STEP: Final = 1e-6

_GREETINGS: Final = frozenset({"initialize", "server/discover"})

Read = Callable[[Mapping[str, Any], ToolMap, str], JudgedParameter]


class ProxyRules(msgspec.Struct, frozen=True):
    """`prefix` comes before a tool's name where its action type is looked for. `permissions` reads what the
    agent may use, or is None where everything is shown. `results` is what may reach the model of what the
    server answers, or None where all may."""

    tool_map: ToolMap = {}
    prefix: str = ""
    permissions: Callable[[], Awaitable[KnownActions]] | None = None
    verifies_resources: bool = False
    max_result_bytes: int = 16 * 1024 * 1024
    results: ResultPolicy | None = None


class Proxy(RelayWatcher):
    def __init__(
        self,
        client: MessageChannel,
        server: MessageChannel,
        gate: McpGate,
        catalogue: Catalogue,
        rules: ProxyRules,
        log: Callable[[str], None] = lambda text: None,
    ) -> None:
        self._gate = gate
        self._rules = rules
        self._log = log
        self._rounds = Rounds()
        #: Task → the call that began it, and its tool.
        self._running: dict[str, tuple[Permit, str]] = {}
        self._relay = Relay(client, server, self._handlers(), self, log)
        self._listing = Listing(self._relay.ask, catalogue, log)

    def _handlers(self) -> dict[str, Handler]:
        handlers: dict[str, Handler] = {
            messages.LIST: self._list_tools,
            messages.CALL: self._judge(read_call),
        }
        if self._rules.results is not None:
            watched = (messages.READ, messages.PROMPT, messages.TASK_RESULT, messages.TASK_GET)
            handlers |= dict.fromkeys(watched, self._pass_and_look)
        if self._rules.verifies_resources:
            handlers[messages.READ] = self._judge(read_resource)
            handlers[messages.PROMPT] = self._judge(read_prompt)
        return handlers

    async def run(self) -> bool:
        """Until one side ends; True where it was the client. Whatever ran on is reported as unknown."""
        try:
            return await self._relay.run()
        finally:
            for permit in (*(permit for permit, _ in self._running.values()), *self._rounds.all()):
                self._gate.report(permit, "unknown", "the session ended before it was finished")

    # --- what passes ---------------------------------------------------------------------------

    def notified(self, notification: McpMessage) -> None:
        if notification.method == messages.TOOLS_CHANGED:
            self._listing.note_change()

    def answered(self, request: McpMessage, answer: McpMessage) -> McpMessage:
        if request.method in _GREETINGS:
            return self._check_greeting(answer)
        if request.method == messages.TASK_RESULT:
            self._settle_task(request, answer.result if isinstance(answer.result, msgspec.Raw) else None)
        return answer

    def _check_greeting(self, answer: McpMessage) -> McpMessage:
        """A server's instructions are read by the model as a tool's description is."""
        if not isinstance(answer.result, msgspec.Raw):
            return answer
        try:
            greeting = messages.object_of(answer.result)
        except MalformedMessage as problem:
            self._log(f"the server's greeting is refused: {problem}")
            return messages.error(
                messages.id_of(answer), messages.INTERNAL_ERROR, "the server's greeting is none"
            )
        why = suspicion(greeting.get("instructions"))
        if why is not None:
            self._log(f"the server's instructions are withheld: {why}")
            del greeting["instructions"]
        # What was looked at is what is passed on.
        return messages.response(messages.id_of(answer), greeting)

    async def _pass_and_look(self, handled: Handled) -> None:
        """A request that nobody decides about, whose answer is looked at."""
        params = messages.object_of(handled.message.params)
        try:
            result = await self._relay.forward(handled, params)
        except ServerRefused as refusal:
            raise await self._screen_refusal("", refusal) from None
        tool = self._settle_task(handled.message, result) if "taskId" in params else ""
        await self._answer(handled, tool, self._bound(result))

    # --- tools/list ----------------------------------------------------------------------------

    async def _list_tools(self, handled: Handled) -> None:
        params = messages.params_of(handled.message)
        if params.get("cursor") is not None:
            raise MalformedMessage("the whole list is one page: there is no cursor")
        page, found = await self._listing.look(params.get("_meta"))
        try:
            shown = await self._find_permitted([tool.definition for tool in found if tool.why is None])
        except QWEDError as error:
            self._log(f"no tool is shown: {error}")
            await self._relay.tell(messages.error(handled.id, messages.SERVER_GONE, UNREACHABLE))
            return
        page.pop("nextCursor", None)
        await self._relay.tell(messages.response(handled.id, {**page, "tools": shown}))

    async def _find_permitted(self, tools: list[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        if self._rules.permissions is None:
            return tools
        permissions = await self._rules.permissions()
        kinds = [action_type_of(self._rules.prefix + tool["name"], self._rules.tool_map) for tool in tools]
        return [tool for tool, kind in zip(tools, kinds, strict=True) if permissions.refusal(kind) is None]

    # --- tools/call, and what else is verified -------------------------------------------------

    def _judge(self, read: Read) -> Handler:
        async def handle(handled: Handled) -> None:
            params = messages.params_of(handled.message)
            judged = read(params, self._rules.tool_map, self._rules.prefix)
            answer = await self._decide(handled, params, judged)
            if isinstance(answer, msgspec.Raw):
                await self._answer(handled, judged.call.tool_name, self._bound(answer))
            elif isinstance(answer, dict):
                await self._relay.tell(messages.response(handled.id, answer))
            else:
                await self._refuse(handled, answer)

        return handle

    async def _refuse(self, handled: Handled, refused: RefusedCall) -> None:
        if _is_call(handled):
            error = messages.tool_error(refused.text, refused.details)
            await self._relay.tell(messages.response(handled.id, error))
        else:
            await self._relay.tell(messages.error(handled.id, messages.INVALID_REQUEST, refused.text))

    async def _decide(
        self, handled: Handled, params: dict[str, Any], judged: JudgedParameter
    ) -> msgspec.Raw | dict[str, Any] | RefusedCall:
        refused = await self._tool_refusal(handled, params)
        if refused is not None:
            return refused
        key = sha256_hex(encode_exact(judged.call.action))
        taken = self._rounds.take(params, key) or Round()
        if taken.permit is None:
            decided = await self._asked(handled, params, judged, key, taken)
            if not isinstance(decided, Permit):
                return decided
            permit = decided
        else:
            permit = taken.permit
        # A person may have taken a while.
        refused = await self._tool_refusal(handled, params)
        if refused is not None:
            self._gate.report(permit, "failure", "not run: the tool changed")
            return refused
        return await self._run(
            handled, rounds.continue_round(params, taken), judged, permit, key, taken.number
        )

    async def _asked(
        self, handled: Handled, params: dict[str, Any], judged: JudgedParameter, key: str, taken: Round
    ) -> Permit | dict[str, Any] | RefusedCall:
        """The gateway's decision; where a person is asked and the client can come back, only its promise."""
        seconds = rounds.seconds_to_wait(params, taken.waited, self._gate.wait_seconds)
        decided = await self._gate.decide(judged.call.action, self._ticker(handled, params), seconds)
        if isinstance(decided, Permit):
            return decided
        approval_id = decided.awaited
        waited = taken.waited + seconds
        is_over = waited >= self._gate.wait_seconds or not rounds.takes_rounds(params)
        if approval_id is None or is_over or rounds.is_given_up(params):
            return decided
        state = self._keep(key, Round(waited=waited))
        return rounds.waiting_result(params, approval_id, state)

    async def _tool_refusal(self, handled: Handled, params: Mapping[str, Any]) -> RefusedCall | None:
        if not _is_call(handled):
            return None
        why = await self._listing.refusal(params["name"], params.get("_meta"))
        if why is None:
            return None
        text = f"QWED withholds this tool, and it was not run: {why}. Use another tool, or tell the user."
        return RefusedCall(text, {"decision": "DENIED"})

    async def _run(
        self,
        handled: Handled,
        params: dict[str, Any],
        judged: JudgedParameter,
        permit: Permit,
        key: str,
        number: int,
    ) -> msgspec.Raw | RefusedCall:
        try:
            granted = judged.rewritten(params, permit.action)
        except NotApplicable as problem:
            self._gate.report(permit, "failure", "not run: what was granted cannot be carried out")
            return RefusedCall(f"It was not run: {problem}. Tell the user.", {"decision": "DENIED"})
        result = await self._forward(handled, granted, permit, judged.call.tool_name)
        if isinstance(result, msgspec.Raw):
            return self._conclude(result, permit, key, number, judged.call.tool_name)
        return result

    async def _forward(
        self, handled: Handled, params: Mapping[str, Any], permit: Permit, tool: str
    ) -> msgspec.Raw | RefusedCall:
        try:
            return await self._relay.forward(handled, _with_permit(params, permit))
        except ServerRefused as refusal:
            if refusal.code == messages.TOO_LARGE:
                self._gate.report(permit, "success")
                return RefusedCall(self._too_large("a size"), {"decision": "APPROVED", "outcome": "success"})
            if refusal.is_lost:
                return await self._report_lost(permit)
            self._gate.report(permit, "failure", "the server answered with an error")
            raise await self._screen_refusal(tool, refusal) from None
        except asyncio.CancelledError:
            self._gate.report(permit, "unknown", "cancelled while it ran")
            raise
        except ServerGone:
            return await self._report_lost(permit)

    async def _report_lost(self, permit: Permit) -> RefusedCall:
        """Reported before anybody can try again: the gateway then refuses the same action."""
        await self._gate.report(permit, "unknown", "the server stopped before it answered")
        return RefusedCall(
            "The MCP server stopped before it answered: whether this was done is unknown. Do not repeat it;"
            " tell the user.",
            {"decision": "APPROVED", "outcome": "unknown", "activity_id": permit.decision.activity_id},
        )

    # --- what is told the client ---------------------------------------------------------------

    async def _answer(self, handled: Handled, tool: str, result: msgspec.Raw) -> None:
        policy = self._rules.results
        method = str(handled.message.method)
        seen = result if policy is None else await screen(policy, tool, method, result)
        if isinstance(seen, Withheld):
            self._log(f"a result of {tool or method!r} is withheld: {seen.why}")
            text = f"It ran, but QWED withholds its result: {seen.why}. Tell the user."
            await self._refuse(handled, RefusedCall(text, {"decision": "APPROVED", "result": "withheld"}))
            return
        await self._relay.tell(McpMessage("2.0", id=handled.id, result=seen))

    async def _screen_refusal(self, tool: str, refusal: ServerRefused) -> ServerRefused:
        policy = self._rules.results
        return refusal if policy is None else ServerRefused(await screen_error(policy, tool, refusal.error))

    def _bound(self, result: msgspec.Raw) -> msgspec.Raw:
        size = len(memoryview(result))
        if size <= self._rules.max_result_bytes:
            return result
        return messages.raw(messages.tool_error(self._too_large(f"{size} bytes")))

    def _too_large(self, size: str) -> str:
        return (
            f"The tool ran, but its result of {size} is larger than the {self._rules.max_result_bytes} bytes"
            " that are passed on. Ask it for less."
        )

    def _ticker(self, handled: Handled, params: Mapping[str, Any]) -> Callable[[str], Awaitable[None]]:
        token = messages.progress_token(params)
        count = itertools.count(1)

        async def tick(approval_id: str) -> None:
            if token is None:
                return
            waiting = {
                "progressToken": token,
                "progress": next(count) * WAITING_STEP,
                "message": f"waiting for a person to approve this ({approval_id})",
            }
            await self._relay.tell(messages.notification(messages.PROGRESS, waiting), handled.id)

        return tick

    # --- what became of it ---------------------------------------------------------------------

    def _keep(self, key: str, kept: Round) -> str:
        for permit in self._rounds.drop():
            self._gate.report(permit, "unknown", "nobody came back to finish it")
        return self._rounds.keep(key, kept)

    def _conclude(
        self, result: msgspec.Raw, permit: Permit, key: str, number: int, tool: str
    ) -> msgspec.Raw | RefusedCall:
        """What is passed on: the result; where it asks for input, with our state in place of the server's."""
        try:
            read = messages.read_call_result(result)
        except MalformedMessage:
            self._gate.report(permit, "unknown", "the server's answer is not a result")
            return result
        if read.resultType == "input_required":
            if number >= rounds.MAX_ROUNDS:
                self._gate.report(permit, "unknown", "the server asked for input again and again")
                return RefusedCall("The server asks for input again and again. Tell the user.", {})
            state = self._keep(key, Round(permit, read.requestState, number + 1))
            return messages.raw({**messages.object_of(result), "requestState": state})
        if read.task is not None and isinstance(read.task.get("taskId"), str):
            self._keep_task(read.task["taskId"], permit, tool)
        else:
            self._report(permit, result)
        return result

    def _report(self, permit: Permit, result: msgspec.Raw | None) -> None:
        try:
            failed = result is None or messages.read_call_result(result).isError
        except MalformedMessage:
            failed = True
        if failed or result is None:
            self._gate.report(permit, "failure", "the tool reported an error", result=result)
        else:
            self._gate.report(permit, "success", result_hash=sha256_hex(bytes(result)), result=result)

    def _keep_task(self, task_id: str, permit: Permit, tool: str) -> None:
        earlier = self._running.get(task_id)
        if earlier is not None:
            self._gate.report(earlier[0], "unknown", "the server gave its task's name to another")
        self._running[task_id] = (permit, tool)

    def _settle_task(self, request: McpMessage, result: msgspec.Raw | None) -> str:
        """The tool whose task it is."""
        try:
            task_id = str(messages.object_of(request.params).get("taskId"))
        except MalformedMessage:
            return ""
        permit, tool = self._running.get(task_id, (None, ""))
        if permit is not None and request.method == messages.TASK_RESULT:
            del self._running[task_id]
            self._report(permit, result)
        return tool


def _is_call(handled: Handled) -> bool:
    return handled.message.method == messages.CALL


def _with_permit(params: Mapping[str, Any], permit: Permit) -> Mapping[str, Any]:
    """What the server is asked to run, with the permit for it. One that the client sent is taken out."""
    given = params.get("_meta")
    meta = (
        {name: value for name, value in given.items() if name != PERMIT_META}
        if isinstance(given, dict)
        else {}
    )
    if permit.token is not None:
        meta[PERMIT_META] = permit.token
    if not meta and "_meta" not in params:
        return params
    return {**params, "_meta": meta}
