"""Requests of 2026-07-28 over HTTP: each stands for itself, and all of them are one client to the proxy.

A request is refused before anything is opened for it when its headers disagree with its body. Inside, each
gets an id of its own and its progress a token of its own, so that callers who chose the same do not meet.
"""

import asyncio
import contextlib
import itertools
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any, Final

import msgspec
from mcp.server.streamable_http import check_accept_headers
from mcp.shared.inbound import (
    ERROR_CODE_HTTP_STATUS,
    MCP_PARAM_HEADER_PREFIX,
    MCP_PROTOCOL_VERSION_HEADER,
    InboundLadderRejection,
    classify_inbound_request,
    find_duplicated_routing_header,
    unsupported_protocol_version_rejection,
    validate_mcp_param_headers,
)
from mcp_types.jsonrpc import HEADER_MISMATCH
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from qwed_sdk.mcp import messages
from qwed_sdk.mcp.channels import ChannelBroken
from qwed_sdk.mcp.messages import MalformedMessage, McpMessage, MessageId

#: An answer that comes within this time, with nothing before it, is plain JSON; later ones are a stream.
QUIET_SECONDS: Final = 15.0
MAX_EXCHANGES: Final = 500
LISTEN: Final = "subscriptions/listen"
#: What a server that also speaks older revisions must not hear in the middle of this one.
_ENDED: Final = frozenset({"initialize", "logging/setLevel", "resources/subscribe", "resources/unsubscribe"})
_SUBSCRIPTION: Final = "io.modelcontextprotocol/subscriptionId"
_STREAM_HEADERS: Final = [
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-cache, no-transform"),
    (b"x-accel-buffering", b"no"),
]


class Exchange:
    """One request and what is said about it until its answer."""

    def __init__(self, id: str, request: McpMessage) -> None:
        self.id = id
        self.given_id = messages.id_of(request)
        self.given_token: MessageId | None = None
        self.said: asyncio.Queue[McpMessage] = asyncio.Queue(256)


class StatelessChannel:
    """The proxy's side. `schema` knows the tools of the server once they were listed."""

    def __init__(self) -> None:
        self._incoming: asyncio.Queue[McpMessage | None] = asyncio.Queue()
        self._open: dict[MessageId, Exchange] = {}
        self._numbers = itertools.count(1)
        self.schema: Callable[[str], Mapping[str, Any]] = lambda tool: {}

    async def receive(self) -> McpMessage | None:
        return await self._incoming.get()

    async def send(self, message: McpMessage, related: MessageId | None = None) -> None:
        if message.is_request:
            # A server of an older revision asks its client: here, nobody can be asked.
            refusal = messages.error(messages.id_of(message), -32601, "this client cannot be asked")
            self._incoming.put_nowait(refusal)
            return
        if message.is_notification:
            self._notify(message, related)
            return
        exchange = self._open.pop(message.id, None) if isinstance(message.id, int | str) else None
        if exchange is not None:
            await exchange.said.put(msgspec.structs.replace(message, id=exchange.given_id))

    def _notify(self, message: McpMessage, related: MessageId | None) -> None:
        params: dict[str, Any] = {}
        with contextlib.suppress(MalformedMessage):
            params = messages.object_of(message.params)
        meta = params.get("_meta")
        subscription = meta.get(_SUBSCRIPTION) if isinstance(meta, dict) else None
        token = params.get("progressToken") if message.method == messages.PROGRESS else None
        exchange = next(
            (self._open[id] for id in (subscription, token, related) if _is_id(id) and id in self._open), None
        )
        if exchange is None:
            return
        if subscription == exchange.id and isinstance(meta, dict):
            params["_meta"] = {**meta, _SUBSCRIPTION: exchange.given_id}
        if token == exchange.id:
            params["progressToken"] = exchange.given_token
        told = msgspec.structs.replace(message, params=messages.raw(params)) if params else message
        # Whoever does not read what it asked for loses it, not the others.
        with contextlib.suppress(asyncio.QueueFull):
            exchange.said.put_nowait(told)

    async def settle(self, request_id: MessageId) -> None:
        """Nothing: whoever cancelled has hung up."""

    def begin(self, request: McpMessage) -> Exchange:
        """Raises `MalformedMessage`, and `ChannelBroken` where too many are open."""
        if len(self._open) >= MAX_EXCHANGES:
            raise ChannelBroken("too many requests are still running")
        exchange = Exchange(f"http-{next(self._numbers)}", request)
        params = messages.object_of(request.params)
        exchange.given_token = messages.progress_token(params)
        if exchange.given_token is not None:
            params["_meta"] = {**params["_meta"], "progressToken": exchange.id}
        self._open[exchange.id] = exchange
        self._incoming.put_nowait(messages.request(exchange.id, str(request.method), params))
        return exchange

    def hang_up(self, exchange: Exchange) -> None:
        if self._open.pop(exchange.id, None) is not None:
            gone = {"requestId": exchange.id, "reason": "the client hung up"}
            self._incoming.put_nowait(messages.notification(messages.CANCELLED, gone))

    def end(self) -> None:
        for exchange in self._open.values():
            gone = messages.error(exchange.given_id, messages.SERVER_GONE, "the MCP server has stopped")
            with contextlib.suppress(asyncio.QueueFull):
                exchange.said.put_nowait(gone)
        self._open.clear()
        self._incoming.put_nowait(None)


class Stateless:
    """`serve` runs a proxy between a channel and a server until one of them ends. It begins with the first
    request that may be passed on, and again after the server has died."""

    def __init__(
        self, serve: Callable[[StatelessChannel], Awaitable[bool]], log: Callable[[str], None]
    ) -> None:
        self._serve = serve
        self._log = log
        self._channel: StatelessChannel | None = None
        self._task: asyncio.Task[None] | None = None

    async def close(self) -> None:
        if self._channel is not None:
            self._channel.end()
        if self._task is not None:
            await asyncio.wait({self._task}, timeout=15.0)

    def _open_channel(self) -> StatelessChannel:
        if self._channel is None:
            self._channel = StatelessChannel()
            self._task = asyncio.ensure_future(self._run(self._channel))
        return self._channel

    async def _run(self, channel: StatelessChannel) -> None:
        try:
            await self._serve(channel)
        except Exception as error:  # noqa: BLE001 - the boundary: the next request begins anew
            self._log(f"the server failed: {type(error).__name__}: {error}")
        finally:
            if self._channel is channel:
                self._channel = None
            channel.end()

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        judged = await _judge(request)
        if isinstance(judged, McpMessage):
            judged = await self._params_refusal(request, judged) or judged
        if not isinstance(judged, McpMessage):
            await judged(scope, receive, send)
            return
        channel = self._open_channel()
        try:
            exchange = channel.begin(judged)
        except MalformedMessage as problem:
            await _error(messages.id_of(judged), messages.INVALID_PARAMS, str(problem))(scope, receive, send)
            return
        except ChannelBroken as problem:
            await Response(str(problem), 503)(scope, receive, send)
            return
        try:
            await _reply(exchange, judged.method == LISTEN, scope, receive, send)
        finally:
            channel.hang_up(exchange)

    async def _params_refusal(self, request: Request, message: McpMessage) -> Response | None:
        """Headers that repeat arguments say what the arguments say."""
        if message.method != messages.CALL:
            return None
        try:
            params = messages.params_of(message)
        except MalformedMessage as problem:
            return _error(messages.id_of(message), messages.INVALID_PARAMS, str(problem))
        name, arguments = params.get("name"), params.get("arguments") or {}
        if not isinstance(name, str) or not isinstance(arguments, dict):
            return None
        prefix = MCP_PARAM_HEADER_PREFIX.lower()
        if not arguments and not any(header.startswith(prefix) for header in request.headers):
            return None
        channel = self._open_channel()
        if not channel.schema(name):
            meta = {key: value for key, value in params["_meta"].items() if key != "progressToken"}
            listing = channel.begin(messages.request(0, messages.LIST, {"_meta": meta}))
            await asyncio.wait_for(listing.said.get(), 60.0)
        rejection = validate_mcp_param_headers(dict(channel.schema(name)), arguments, request.headers)
        return None if rejection is None else _reject(messages.id_of(message), rejection)


# --- one exchange over HTTP ----------------------------------------------------------------------


async def _judge(request: Request) -> McpMessage | Response:
    """The request, if it is one and says the same everywhere; otherwise what is answered."""
    if request.method != "POST":
        return Response(status_code=405, headers={"Allow": "POST"})
    if not request.headers.get("content-type", "").lower().startswith("application/json"):
        return Response("Invalid Content-Type header", 400)
    if not all(check_accept_headers(request)):
        return Response("both application/json and text/event-stream must be accepted", 406)
    try:
        message = messages.read_message(await request.body())
    except MalformedMessage as problem:
        return _error(None, messages.PARSE_ERROR, str(problem))
    if message.is_notification:
        version = request.headers.get(MCP_PROTOCOL_VERSION_HEADER, "")
        refused = unsupported_protocol_version_rejection(version)
        # It would have to be about something that went before, and nothing did.
        return Response(status_code=202) if refused is None else _reject(None, refused)
    if not message.is_request:
        return _error(None, messages.INVALID_REQUEST, "a body is one request or notification")
    return _header_refusal(request, message) or message


def _header_refusal(request: Request, message: McpMessage) -> Response | None:
    message_id = messages.id_of(message)
    twice = find_duplicated_routing_header(request.headers.items())
    if twice is not None:
        return _error(message_id, HEADER_MISMATCH, f"{twice} header appears more than once")
    try:
        params = messages.object_of(message.params)
    except MalformedMessage as problem:
        return _error(message_id, messages.INVALID_PARAMS, str(problem))
    body = {"method": message.method, "params": params}
    if message.method in _ENDED:
        return _error(message_id, -32601, "this revision has no such method")
    verdict = classify_inbound_request(body, headers=dict(request.headers))
    return _reject(message_id, verdict) if isinstance(verdict, InboundLadderRejection) else None


def _reject(id: MessageId | None, rejection: InboundLadderRejection) -> Response:
    return _error(id, rejection.code, rejection.message, rejection.data)


def _error(id: MessageId | None, code: int, text: str, data: Any = None) -> Response:
    error = {"code": code, "message": text, **({} if data is None else {"data": data})}
    return _plain(McpMessage("2.0", id=id, error=messages.raw(error)))


def _plain(answer: McpMessage) -> Response:
    status = 200
    if isinstance(answer.error, msgspec.Raw):
        with contextlib.suppress(MalformedMessage):
            status = ERROR_CODE_HTTP_STATUS.get(messages.object_of(answer.error).get("code", 0), 200)
    return Response(messages.encode(answer), status, media_type="application/json")


async def _reply(exchange: Exchange, is_stream: bool, scope: Scope, receive: Receive, send: Send) -> None:
    hung_up = asyncio.ensure_future(_hang_up(receive))
    try:
        first = None if is_stream else await _next(exchange, hung_up)
        if hung_up.done():
            return
        if first is not None and not first.is_notification:
            await _plain(first)(scope, receive, send)
            return
        await send({"type": "http.response.start", "status": 200, "headers": _STREAM_HEADERS})
        async for event in _events(exchange, first, hung_up):
            await send({"type": "http.response.body", "body": event, "more_body": True})
        if not hung_up.done():
            await send({"type": "http.response.body", "body": b"", "more_body": False})
    finally:
        hung_up.cancel()


async def _events(
    exchange: Exchange, first: McpMessage | None, hung_up: "asyncio.Future[None]"
) -> AsyncIterator[bytes]:
    message = first
    while not hung_up.done():
        yield (
            b": ping\r\n\r\n"
            if message is None
            else b"event: message\r\ndata: " + messages.encode(message) + b"\r\n\r\n"
        )
        if message is not None and not message.is_notification:
            return
        message = await _next(exchange, hung_up)


async def _next(exchange: Exchange, hung_up: "asyncio.Future[None]") -> McpMessage | None:
    """What is said next, or None after a while or once the client has gone."""
    saying = asyncio.ensure_future(exchange.said.get())
    try:
        waited: set[asyncio.Future[Any]] = {saying, hung_up}
        await asyncio.wait(waited, timeout=QUIET_SECONDS, return_when=asyncio.FIRST_COMPLETED)
        return saying.result() if saying.done() else None
    finally:
        saying.cancel()


async def _hang_up(receive: Receive) -> None:
    while (await receive()).get("type") != "http.disconnect":
        pass


def _is_id(value: Any) -> bool:
    return isinstance(value, int | str) and not isinstance(value, bool)
