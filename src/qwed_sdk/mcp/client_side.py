"""The proxy's own side over streamable HTTP: each session of a client gets a server of its own, and what
comes without a session (2026-07-28) shares one. Nothing is opened for a request that is refused."""

import asyncio
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Final

from mcp.server.streamable_http import (
    MCP_SESSION_ID_HEADER,
    StreamableHTTPServerTransport,
    check_accept_headers,
)
from mcp.server.transport_security import RequestBodyLimitMiddleware, TransportSecuritySettings
from mcp.shared.inbound import MCP_PROTOCOL_VERSION_HEADER
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import Message, Receive, Scope, Send

from qwed_sdk.mcp import messages
from qwed_sdk.mcp.channels import MessageChannel
from qwed_sdk.mcp.events import RecentEvents
from qwed_sdk.mcp.http_channels import HttpClientChannel
from qwed_sdk.mcp.messages import MalformedMessage
from qwed_sdk.mcp.stateless import Stateless

MAX_SESSIONS: Final = 100
IDLE_SECONDS: Final = 1800.0
MAX_BODY_BYTES: Final = 4 * 1024 * 1024

Serve = Callable[[MessageChannel], Awaitable[bool]]


class Listener:
    """`serve` runs one session to its end."""

    def __init__(self, serve: Serve, log: Callable[[str], None]) -> None:
        self._serve = serve
        self._log = log
        self._sessions: dict[str, StreamableHTTPServerTransport] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._stateless = Stateless(serve, log)

    def app(self) -> Starlette:
        bounded = RequestBodyLimitMiddleware(self._handle, MAX_BODY_BYTES)
        return Starlette(routes=[Route("/mcp", endpoint=_Endpoint(bounded))], lifespan=self._lifespan)

    @asynccontextmanager
    async def _lifespan(self, app: Starlette) -> AsyncIterator[None]:
        yield
        await self._stateless.close()
        for transport in list(self._sessions.values()):
            await transport.terminate()
        if self._tasks:
            await asyncio.wait(set(self._tasks), timeout=15.0)

    async def _handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        refusal = _origin_refusal(request)
        if refusal is not None:
            await refusal(scope, receive, send)
            return
        version = request.headers.get(MCP_PROTOCOL_VERSION_HEADER)
        if version is not None and version not in HANDSHAKE_PROTOCOL_VERSIONS:
            await self._stateless.handle(scope, receive, send)
            return
        session_id = request.headers.get(MCP_SESSION_ID_HEADER)
        if session_id is not None:
            transport = self._sessions.get(session_id)
            if transport is None:
                await PlainTextResponse("there is no such session", 404)(scope, receive, send)
                return
            await transport.handle_request(scope, receive, send)
            return
        if len(self._sessions) >= MAX_SESSIONS:
            await PlainTextResponse("too many sessions", 503)(scope, receive, send)
            return
        body = await request.body()
        refusal = _opening_refusal(request, body)
        if refusal is not None:
            await refusal(scope, receive, send)
            return
        await self._open(scope, _replay(body, receive), send)

    async def _open(self, scope: Scope, receive: Receive, send: Send) -> None:
        """What the transport refuses all the same is dropped."""
        session_id = secrets.token_urlsafe(24)
        transport = StreamableHTTPServerTransport(
            session_id,
            event_store=RecentEvents(),
            security_settings=_ONLY_LOOPBACK,
            idle_timeout=IDLE_SECONDS,
        )
        self._sessions[session_id] = transport
        connected = asyncio.Event()
        task = asyncio.ensure_future(self._run(session_id, transport, connected))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        await connected.wait()
        statuses: list[int] = []

        async def watched(message: Message) -> None:
            if message["type"] == "http.response.start":
                statuses.append(message["status"])
            await send(message)

        try:
            await transport.handle_request(scope, receive, watched)
        finally:
            if not statuses or statuses[0] >= 400:
                await transport.terminate()

    async def _run(
        self, session_id: str, transport: StreamableHTTPServerTransport, connected: asyncio.Event
    ) -> None:
        channel = HttpClientChannel()
        serving: asyncio.Future[bool] | None = None
        try:
            async with transport.connect() as (read, write):
                serving = asyncio.ensure_future(self._serve(channel))
                connected.set()
                closing = asyncio.ensure_future(_close_after(serving, channel, transport))
                self._tasks.add(closing)
                closing.add_done_callback(self._tasks.discard)
                assert transport.idle_scope is not None
                with transport.idle_scope:
                    await channel.pump(read, write)
                await channel.end(None)
                await asyncio.wait({serving})
        except Exception as error:  # noqa: BLE001 - the boundary: one session must not end the others
            self._log(f"a session failed: {type(error).__name__}: {error}")
        finally:
            connected.set()
            self._sessions.pop(session_id, None)
            await channel.end(None)
            if serving is not None:
                await self._end(serving)

    async def _end(self, serving: "asyncio.Future[bool]") -> None:
        try:
            await serving
        except asyncio.CancelledError:
            raise
        except Exception as error:  # noqa: BLE001 - the boundary: one session must not end the others
            self._log(f"a session failed: {type(error).__name__}: {error}")


async def _close_after(
    serving: "asyncio.Future[bool]", channel: HttpClientChannel, transport: StreamableHTTPServerTransport
) -> None:
    """The last answers leave before the session is closed."""
    await asyncio.wait({serving})
    await channel.flushed()
    await transport.terminate()


class _Endpoint:
    """Routes call a class instance as a plain ASGI application."""

    def __init__(self, app: Callable[[Scope, Receive, Send], Awaitable[None]]) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app(scope, receive, send)


def _origin_refusal(request: Request) -> Response | None:
    """A page of the web that reaches this machine by another name, or from elsewhere, is not heard."""
    host, origin = request.headers.get("host", ""), request.headers.get("origin")
    if host.rpartition(":")[0] not in _LOOPBACK:
        return PlainTextResponse("Invalid Host header", 421)
    if origin is not None and origin.rpartition(":")[0] not in {f"http://{name}" for name in _LOOPBACK}:
        return PlainTextResponse("Invalid Origin header", 403)
    return None


def _opening_refusal(request: Request, body: bytes) -> Response | None:
    """Only a handshake opens a session."""
    if request.method != "POST" or not all(check_accept_headers(request)):
        return PlainTextResponse("a session begins with a POST that accepts JSON and streams", 400)
    try:
        method = messages.read_message(body).method
    except MalformedMessage as problem:
        return _refuse(messages.PARSE_ERROR, str(problem))
    if method != "initialize":
        return _refuse(messages.INVALID_REQUEST, "a session begins with initialize")
    return None


def _refuse(code: int, text: str) -> Response:
    return JSONResponse({"jsonrpc": "2.0", "id": None, "error": {"code": code, "message": text}}, 400)


def _replay(body: bytes, receive: Receive) -> Receive:
    """The body that was looked at, once more for whoever reads it next."""
    left = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> Message:
        return left.pop() if left else await receive()

    return replay


_LOOPBACK: Final = ("127.0.0.1", "localhost", "[::1]")
_ONLY_LOOPBACK: Final = TransportSecuritySettings(
    allowed_hosts=[f"{host}:*" for host in _LOOPBACK],
    allowed_origins=[f"http://{host}:*" for host in _LOOPBACK],
)
