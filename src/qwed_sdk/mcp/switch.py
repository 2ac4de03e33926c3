"""Many servers as one: a client sees the tools of all, each under its server's name.

Every server has a proxy of its own, with its own pins and rules; this stands between the client and those.
Tools and prompts are called `SERVER__NAME`, so that no server can shadow another's. A resource belongs to the
server that listed it. A server that ends takes only its own requests with it.
"""

import asyncio
import itertools
from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from qwed_sdk.mcp import messages
from qwed_sdk.mcp.channels import ChannelBroken, MessageChannel
from qwed_sdk.mcp.messages import MalformedMessage, McpMessage, MessageId

SEPARATOR: Final = "__"
GREET_SECONDS: Final = 60.0
_NOT_FOUND: Final = -32601

#: What is asked of every server, and the list that their answers hold.
_LISTS: Final = {
    "tools/list": "tools",
    "prompts/list": "prompts",
    "resources/list": "resources",
    "resources/templates/list": "resourceTemplates",
}
_GREETINGS: Final = frozenset({"initialize", "server/discover"})
_TO_ALL: Final = frozenset({*_LISTS, *_GREETINGS, "logging/setLevel", "ping"})
_BY_NAME: Final = frozenset({"tools/call", "prompts/get"})


class Port:
    """The client's side of one server's proxy, in memory."""

    def __init__(self, name: str, say: Callable[["Port", McpMessage, MessageId | None], None]) -> None:
        self.name = name
        self._say = say
        self._incoming: asyncio.Queue[McpMessage | None] = asyncio.Queue()
        self.is_open = True

    def put(self, message: McpMessage | None) -> None:
        self._incoming.put_nowait(message)

    async def receive(self) -> McpMessage | None:
        return await self._incoming.get()

    async def send(self, message: McpMessage, related: MessageId | None = None) -> None:
        self._say(self, message, related)

    async def settle(self, request_id: MessageId) -> None:
        """Nothing: whoever cancelled knows."""


class _Gathered:
    """One request that was put to several servers."""

    def __init__(self, request: McpMessage, ports: list[Port]) -> None:
        self.request = request
        self.waiting = {port.name for port in ports}
        self.answers: dict[str, McpMessage] = {}


class Switch:
    def __init__(self, client: MessageChannel, names: list[str], log: Callable[[str], None]) -> None:
        self._client = client
        self._log = log
        self.ports = {name: Port(name, self._heard) for name in names}
        self._gathered: dict[MessageId, _Gathered] = {}
        #: A request of the client → the one server that has it.
        self._routed: dict[MessageId, str] = {}
        #: A request of a server, under a name of ours → the server, and its own name for it.
        self._asked: dict[str, tuple[str, MessageId]] = {}
        self._owners: dict[str, str] = {}
        self._numbers = itertools.count(1)
        self._outgoing: asyncio.Queue[tuple[McpMessage, MessageId | None]] = asyncio.Queue()

    async def run(self) -> bool:
        """Until the client leaves."""
        telling = asyncio.ensure_future(self._tell())
        try:
            while True:
                try:
                    message = await self._client.receive()
                except MalformedMessage as problem:
                    self._say(messages.error(None, messages.PARSE_ERROR, str(problem)))
                    continue
                except ChannelBroken:
                    return True
                if message is None:
                    return True
                self._take(message)
        finally:
            for port in self.ports.values():
                port.put(None)
            telling.cancel()

    def left(self, name: str) -> None:
        """A server's proxy has ended: whoever waits for it is answered."""
        self.ports[name].is_open = False
        for request_id, owner in list(self._routed.items()):
            if owner == name:
                del self._routed[request_id]
                self._say(messages.error(request_id, messages.SERVER_GONE, "the MCP server has stopped"))
        for request_id in list(self._gathered):
            gone = messages.error(request_id, messages.SERVER_GONE, "the MCP server has stopped")
            self._gather(name, request_id, gone)

    async def _tell(self) -> None:
        while True:
            message, related = await self._outgoing.get()
            try:
                await self._client.send(message, related)
            except ChannelBroken:
                return

    def _say(self, message: McpMessage, related: MessageId | None = None) -> None:
        self._outgoing.put_nowait((message, related))

    # --- from the client -----------------------------------------------------------------------

    def _take(self, message: McpMessage) -> None:
        if message.is_request:
            self._request(message, messages.id_of(message))
        elif message.method == messages.CANCELLED:
            self._cancel(message)
        elif message.is_notification:
            for port in self._open():
                port.put(message)
        else:
            name, own_id = self._asked.pop(str(message.id), (None, None))
            if name is not None:
                self.ports[name].put(msgspec.structs.replace(message, id=own_id))

    def _open(self) -> list[Port]:
        return [port for port in self.ports.values() if port.is_open]

    def _request(self, message: McpMessage, request_id: MessageId) -> None:
        if request_id in self._routed or request_id in self._gathered:
            text = "this id belongs to a request that is still running"
            self._say(messages.error(request_id, messages.INVALID_REQUEST, text))
            return
        if message.method in _TO_ALL:
            self._ask_all(message, request_id)
            return
        try:
            name, params = self._target(str(message.method), messages.object_of(message.params))
        except MalformedMessage as problem:
            self._say(messages.error(request_id, messages.INVALID_PARAMS, str(problem)))
            return
        self._routed[request_id] = name
        self.ports[name].put(msgspec.structs.replace(message, params=messages.raw(params)))

    def _ask_all(self, message: McpMessage, request_id: MessageId) -> None:
        ports = self._open()
        self._gathered[request_id] = _Gathered(message, ports)
        if not ports:
            self._finish(request_id)
        for port in ports:
            port.put(message)

    def _target(self, method: str, params: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        """The server that a request is for, and its parameters there. Raises `MalformedMessage`."""
        if method in _BY_NAME:
            name, own = self._split(params.get("name"))
            return name, {**params, "name": own}
        reference = params.get("ref")
        if isinstance(reference, dict) and "name" in reference:
            name, own = self._split(reference["name"])
            return name, {**params, "ref": {**reference, "name": own}}
        uri = params.get("uri", reference.get("uri") if isinstance(reference, dict) else None)
        return self._owner(uri), params

    def _split(self, name: Any) -> tuple[str, str]:
        server, separator, own = name.partition(SEPARATOR) if isinstance(name, str) else ("", "", "")
        if not separator or server not in self.ports or not self.ports[server].is_open:
            raise MalformedMessage(f"no server here offers {str(name)[:80]!r}")
        return server, own

    def _owner(self, uri: Any) -> str:
        text = uri if isinstance(uri, str) else ""
        name = self._owners.get(text)
        if name is None:
            # What a template was listed for begins as the template does.
            begun = [
                known for known in self._owners if "{" in known and text.startswith(known.partition("{")[0])
            ]
            name = self._owners[max(begun, key=len)] if text and begun else None
        if name is None or not self.ports[name].is_open:
            raise MalformedMessage("no server here has listed it")
        return name

    def _cancel(self, message: McpMessage) -> None:
        try:
            request_id = messages.object_of(message.params).get("requestId")
        except MalformedMessage:
            return
        if not isinstance(request_id, int | str):
            return
        name = self._routed.pop(request_id, None)
        targets = self._open() if name is None else [self.ports[name]]
        self._gathered.pop(request_id, None)
        for port in targets:
            port.put(message)

    # --- from the servers ----------------------------------------------------------------------

    def _heard(self, port: Port, message: McpMessage, related: MessageId | None) -> None:
        if message.is_request:
            ours = f"{port.name}-{next(self._numbers)}"
            self._asked[ours] = (port.name, messages.id_of(message))
            self._say(msgspec.structs.replace(message, id=ours), related)
        elif message.is_notification:
            self._say(message, related)
        elif message.id is not None and isinstance(message.id, int | str):
            if message.id in self._gathered:
                self._gather(port.name, message.id, message)
            elif self._routed.pop(message.id, None) is not None:
                self._say(message)

    def _gather(self, name: str, request_id: MessageId, answer: McpMessage) -> None:
        gathered = self._gathered[request_id]
        if name not in gathered.waiting:
            return
        gathered.waiting.discard(name)
        gathered.answers[name] = answer
        if not gathered.waiting:
            self._finish(request_id)

    def _finish(self, request_id: MessageId) -> None:
        gathered = self._gathered.pop(request_id)
        results: dict[str, dict[str, Any]] = {}
        for name, answer in gathered.answers.items():
            if not isinstance(answer.result, msgspec.Raw):
                continue
            try:
                results[name] = messages.object_of(answer.result)
            except MalformedMessage as problem:
                self._log(f"an answer of {name!r} to {gathered.request.method} is left out: {problem}")
        method = str(gathered.request.method)
        failed = [answer for answer in gathered.answers.values() if isinstance(answer.error, msgspec.Raw)]
        # Where one server does not know the newest revision, all of them speak an older one.
        if not results or (method == "server/discover" and failed):
            error = failed[0].error if failed else messages.raw({"code": _NOT_FOUND, "message": "no server"})
            self._say(McpMessage("2.0", id=request_id, error=error))
            return
        if method in _LISTS:
            merged = self._merge_list(_LISTS[method], results)
        else:
            merged = merge_greetings(results) if method in _GREETINGS else {}
        self._say(messages.response(request_id, merged))

    def _merge_list(self, key: str, results: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
        items: list[dict[str, Any]] = []
        for name, result in results.items():
            for item in result.get(key) or ():
                if not isinstance(item, dict):
                    continue
                if key in ("tools", "prompts"):
                    items.append({**item, "name": f"{name}{SEPARATOR}{item.get('name')}"})
                    continue
                uri = item.get("uri", item.get("uriTemplate"))
                if isinstance(uri, str) and self._owners.setdefault(uri, name) == name:
                    items.append(item)
        first = next(iter(results.values()))
        rest = {field: value for field, value in first.items() if field not in (key, "nextCursor", "_meta")}
        return {**rest, key: items}


def merge_greetings(results: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
    """What all servers together are: what any of them can, in a revision that all of them speak."""
    merged: dict[str, Any] = dict(next(iter(results.values())))
    capabilities: dict[str, Any] = {}
    for result in results.values():
        for name, value in (result.get("capabilities") or {}).items():
            known = capabilities.get(name)
            capabilities[name] = (
                {**known, **value} if isinstance(known, dict) and isinstance(value, dict) else value
            )
    merged["capabilities"] = capabilities
    merged["serverInfo"] = {"name": "qwed", "version": "1"}
    versions = [result["protocolVersion"] for result in results.values() if "protocolVersion" in result]
    if versions:
        merged["protocolVersion"] = min(versions)
    supported = [
        set(result["supportedVersions"]) for result in results.values() if "supportedVersions" in result
    ]
    if supported:
        merged["supportedVersions"] = sorted(set.intersection(*supported))
    said = [f"{name}: {text}" for name, result in results.items() if (text := result.get("instructions"))]
    merged.pop("instructions", None)
    return {**merged, "instructions": "\n\n".join(said)} if said else merged
