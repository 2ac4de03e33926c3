"""Between an MCP client and its server: every tool call is decided before the server hears of it.

What is not a tool call, or a list of tools, passes as it came.
"""

import asyncio
import itertools
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

import msgspec

from qwed.domain.canonical import encode_exact, sha256_hex
from qwed_sdk.conversations import Permit
from qwed_sdk.errors import QWEDError
from qwed_sdk.mcp import messages
from qwed_sdk.mcp.catalogue import Catalogue, Listed, TooManyTools
from qwed_sdk.mcp.channels import Channel
from qwed_sdk.mcp.definitions import suspicion
from qwed_sdk.mcp.gate import UNREACHABLE, Gate, Refused
from qwed_sdk.mcp.judging import Judged, action_type_of, read_call, read_prompt, read_resource
from qwed_sdk.mcp.messages import Malformed, Message
from qwed_sdk.mcp.permissions import Permissions
from qwed_sdk.mcp.pins import PinsUnusable
from qwed_sdk.mcp.relay import Handled, Handler, Relay, ServerGone, ServerRefused, Watcher
from qwed_sdk.tool_map import NotApplicable, ToolMap

MAX_PAGES: Final = 100
MAX_ROUNDS: Final = 20
LIST_SECONDS: Final = 30.0
#: A waiting call's progress stays below whatever the server reports later.
WAITING_STEP: Final = 1e-6

_GREETINGS: Final = frozenset({"initialize", "server/discover"})
_ENVELOPE: Final = "io.modelcontextprotocol/"

Read = Callable[[Mapping[str, Any], ToolMap], Judged]


class Rules(msgspec.Struct, frozen=True):
    """`permissions` reads what the agent may use, or is None where everything is shown."""

    tool_map: ToolMap = {}
    permissions: Callable[[], Awaitable[Permissions]] | None = None
    verifies_resources: bool = False
    max_result_bytes: int = 16 * 1024 * 1024


class Proxy(Watcher):
    def __init__(
        self,
        client: Channel,
        server: Channel,
        gate: Gate,
        catalogue: Catalogue,
        rules: Rules,
        log: Callable[[str], None] = lambda text: None,
    ) -> None:
        self._gate = gate
        self._catalogue = catalogue
        self._rules = rules
        self._log = log
        #: Action → a call that the server answered with a question, and how often it did.
        self._rounds: dict[str, tuple[Permit, int]] = {}
        #: Task → the call that began it.
        self._running: dict[str, Permit] = {}
        #: How often the server said that its tools changed, and how often it had when they were looked at.
        self._changes = 0
        self._looked_at: int | None = None
        self._looking = asyncio.Lock()
        handlers: dict[str, Handler] = {
            messages.LIST: self._list_tools,
            messages.CALL: self._judge(read_call),
        }
        if rules.verifies_resources:
            handlers[messages.READ] = self._judge(read_resource)
            handlers[messages.PROMPT] = self._judge(read_prompt)
        self._relay = Relay(client, server, handlers, self, log)

    async def run(self) -> bool:
        """Until one side ends; True where it was the client. Whatever ran on is reported as unknown."""
        try:
            return await self._relay.run()
        finally:
            for permit in (*self._running.values(), *(permit for permit, _ in self._rounds.values())):
                self._gate.report(permit, "unknown", "the session ended before it was finished")
            await self._gate.close()

    # --- what passes ---------------------------------------------------------------------------

    def notified(self, notification: Message) -> None:
        if notification.method == messages.TOOLS_CHANGED:
            self._changes += 1

    def answered(self, request: Message, answer: Message) -> Message:
        if request.method in _GREETINGS:
            return self._checked_greeting(answer)
        if request.method == "tasks/result":
            self._settle_task(request, answer)
        return answer

    def _checked_greeting(self, answer: Message) -> Message:
        """A server's instructions are read by the model as a tool's description is."""
        if not isinstance(answer.result, msgspec.Raw):
            return answer
        try:
            greeting = messages.object_of(answer.result)
        except Malformed as problem:
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

    # --- tools/list ----------------------------------------------------------------------------

    async def _list_tools(self, handled: Handled) -> None:
        params = messages.params_of(handled.message)
        if params.get("cursor") is not None:
            raise Malformed("the whole list is one page: there is no cursor")
        page, found = await self._look(params.get("_meta"))
        try:
            shown = await self._permitted([tool.definition for tool in found if tool.why is None])
        except QWEDError as error:
            self._log(f"no tool is shown: {error}")
            await self._relay.tell(messages.error(handled.id, messages.SERVER_GONE, UNREACHABLE))
            return
        page.pop("nextCursor", None)
        await self._relay.tell(messages.response(handled.id, {**page, "tools": shown}))

    async def _permitted(self, tools: list[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        if self._rules.permissions is None:
            return tools
        permissions = await self._rules.permissions()
        kinds = [action_type_of(tool["name"], self._rules.tool_map) for tool in tools]
        return [tool for tool, kind in zip(tools, kinds, strict=True) if permissions.refusal(kind) is None]

    async def _look(self, meta: Any, *, again: bool = True) -> tuple[dict[str, Any], list[Listed]]:
        """All pages of the server's own list, held against the pins. The first page comes as it is."""
        async with self._looking:
            if not again and self._looked_at == self._changes:
                return {}, []  # Somebody else has looked meanwhile.
            changes = self._changes
            first, tools = await self._pages(_envelope(meta))
            try:
                found = self._catalogue.update(tools)
            except (PinsUnusable, TooManyTools) as problem:
                self._looked_at = None
                self._log(str(problem))
                raise Malformed("the tools of this server cannot be checked, so none can be used") from None
            self._looked_at = changes
            for tool in found:
                if tool.why is not None:
                    self._log(f"tool {tool.name!r} is withheld: {tool.why}")
            return first, found

    async def _pages(self, envelope: Mapping[str, Any]) -> tuple[dict[str, Any], list[Any]]:
        params: dict[str, Any] = {"_meta": envelope} if envelope else {}
        page = first = await self._page(params)
        tools = list(page["tools"])
        for _ in range(MAX_PAGES - 1):
            if page.get("nextCursor") is None:
                break
            page = await self._page({**params, "cursor": page["nextCursor"]})
            tools += page["tools"]
        return first, tools

    async def _page(self, params: Mapping[str, Any]) -> dict[str, Any]:
        try:
            asking = self._relay.ask(messages.LIST, params)
            page = messages.object_of(await asyncio.wait_for(asking, LIST_SECONDS))
        except TimeoutError:
            raise Malformed("the server does not list its tools in time") from None
        if not isinstance(page.get("tools"), list):
            raise Malformed("the server's list of tools is not one")
        return page

    # --- tools/call, and what else is verified -------------------------------------------------

    def _judge(self, read: Read) -> Handler:
        async def handle(handled: Handled) -> None:
            params = messages.params_of(handled.message)
            judged = read(params, self._rules.tool_map)
            answer = await self._decided(handled, params, judged)
            if isinstance(answer, msgspec.Raw):
                await self._relay.tell(Message("2.0", id=handled.id, result=self._bounded(answer)))
            elif _is_call(handled):
                error = messages.tool_error(answer.text, answer.details)
                await self._relay.tell(messages.response(handled.id, error))
            else:
                await self._relay.tell(messages.error(handled.id, messages.INVALID_REQUEST, answer.text))

        return handle

    async def _decided(
        self, handled: Handled, params: dict[str, Any], judged: Judged
    ) -> msgspec.Raw | Refused:
        refused = await self._tool_refusal(handled, params)
        if refused is not None:
            return refused
        key = sha256_hex(encode_exact(judged.call.action))
        continued = self._rounds.pop(key, None) if _is_continuation(params) else None
        if continued is None:
            decided = await self._gate.decide(judged.call.action, self._ticker(handled, params))
            if isinstance(decided, Refused):
                return decided
            continued = (decided, 0)
        permit, rounds = continued
        # A person may have taken a while.
        refused = await self._tool_refusal(handled, params)
        if refused is not None:
            self._gate.report(permit, "failure", "not run: the tool changed")
            return refused
        return await self._run(handled, params, judged, permit, key, rounds)

    async def _tool_refusal(self, handled: Handled, params: Mapping[str, Any]) -> Refused | None:
        if not _is_call(handled):
            return None
        if self._looked_at != self._changes:
            await self._look(params.get("_meta"), again=False)
        why = self._catalogue.refusal(params["name"])
        if why is None:
            return None
        text = f"QWED withholds this tool, and it was not run: {why}. Use another tool, or tell the user."
        return Refused(text, {"decision": "DENIED"})

    async def _run(
        self,
        handled: Handled,
        params: dict[str, Any],
        judged: Judged,
        permit: Permit,
        key: str,
        rounds: int,
    ) -> msgspec.Raw | Refused:
        try:
            granted = judged.rewritten(params, permit.action)
        except NotApplicable as problem:
            self._gate.report(permit, "failure", "not run: what was granted cannot be carried out")
            return Refused(f"It was not run: {problem}. Tell the user.", {"decision": "DENIED"})
        result = await self._forwarded(handled, granted, permit)
        if isinstance(result, msgspec.Raw):
            self._conclude(result, permit, key, rounds)
        return result

    async def _forwarded(
        self, handled: Handled, params: Mapping[str, Any], permit: Permit
    ) -> msgspec.Raw | Refused:
        try:
            return await self._relay.forward(handled, params)
        except ServerRefused as refusal:
            if refusal.is_lost:
                return await self._lost(permit)
            self._gate.report(permit, "failure", "the server answered with an error")
            raise
        except asyncio.CancelledError:
            self._gate.report(permit, "unknown", "cancelled while it ran")
            raise
        except ServerGone:
            return await self._lost(permit)

    async def _lost(self, permit: Permit) -> Refused:
        """Reported before anybody can try again: the gateway then refuses the same action."""
        await self._gate.report(permit, "unknown", "the server stopped before it answered")
        return Refused(
            "The MCP server stopped before it answered: whether this was done is unknown. Do not repeat it;"
            " tell the user.",
            {"decision": "APPROVED", "outcome": "unknown", "activity_id": permit.decision.activity_id},
        )

    def _bounded(self, result: msgspec.Raw) -> msgspec.Raw:
        size = len(memoryview(result))
        if size <= self._rules.max_result_bytes:
            return result
        text = (
            f"The tool ran, but its result of {size} bytes is larger than the {self._rules.max_result_bytes}"
            " that are passed on. Ask it for less."
        )
        return messages.raw(messages.tool_error(text))

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

    def _conclude(self, result: msgspec.Raw, permit: Permit, key: str, rounds: int) -> None:
        try:
            read = messages.read_call_result(result)
        except Malformed:
            self._gate.report(permit, "unknown", "the server's answer is not a result")
            return
        if read.resultType == "input_required" and rounds < MAX_ROUNDS:
            self._rounds[key] = (permit, rounds + 1)
        elif read.task is not None and isinstance(read.task.get("taskId"), str):
            self._keep_task(read.task["taskId"], permit)
        else:
            self._report(permit, result)

    def _report(self, permit: Permit, result: msgspec.Raw | None) -> None:
        try:
            failed = result is None or messages.read_call_result(result).isError
        except Malformed:
            failed = True
        if failed or result is None:
            self._gate.report(permit, "failure", "the tool reported an error")
        else:
            self._gate.report(permit, "success", result_hash=sha256_hex(bytes(result)))

    def _keep_task(self, task_id: str, permit: Permit) -> None:
        earlier = self._running.get(task_id)
        if earlier is not None:
            self._gate.report(earlier, "unknown", "the server gave its task's name to another")
        self._running[task_id] = permit

    def _settle_task(self, request: Message, answer: Message) -> None:
        try:
            permit = self._running.pop(str(messages.object_of(request.params).get("taskId")), None)
        except Malformed:
            return
        if permit is not None:
            self._report(permit, answer.result if isinstance(answer.result, msgspec.Raw) else None)


def _is_call(handled: Handled) -> bool:
    return handled.message.method == messages.CALL


def _is_continuation(params: Mapping[str, Any]) -> bool:
    """The same call again, with what the server asked for meanwhile."""
    return "requestState" in params or "inputResponses" in params


def _envelope(meta: Any) -> dict[str, Any]:
    """What newer revisions send with every request; a token for progress is not copied."""
    if not isinstance(meta, dict):
        return {}
    return {name: value for name, value in meta.items() if name.startswith(_ENVELOPE)}
