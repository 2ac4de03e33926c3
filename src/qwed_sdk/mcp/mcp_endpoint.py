"""Serving an MCP endpoint on loopback until a signal, to whoever knows the token."""

import asyncio
import hmac
import socket
from collections.abc import Callable
from typing import Any

import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send


class TokenRequired:
    """Who does not present the token is not heard."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._wanted = f"Bearer {token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        given = next((value for name, value in scope.get("headers", ()) if name == b"authorization"), b"")
        if scope["type"] == "http" and not hmac.compare_digest(given, self._wanted):
            await send(
                {"type": "http.response.start", "status": 401, "headers": [(b"www-authenticate", b"Bearer")]}
            )
            await send({"type": "http.response.body", "body": b"a bearer token is wanted"})
            return
        await self._app(scope, receive, send)


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, on_listening: Callable[[int], None]) -> None:
        super().__init__(config)
        self._on_listening = on_listening

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started and self.servers:
            self._on_listening(self.servers[0].sockets[0].getsockname()[1])


def run(
    app: Any,
    host: str,
    port: int,
    token: str | None,
    on_listening: Callable[[int], None],
    protocol: type[asyncio.Protocol],
) -> None:
    """`protocol` reads HTTP from a connection, within the bounds of whoever serves."""
    served = app if token is None else TokenRequired(app, token)
    config = uvicorn.Config(
        served, host=host, port=port, http=protocol, log_config=None, access_log=False,
        server_header=False, ws="none", timeout_graceful_shutdown=5,
    )  # fmt: skip
    _Server(config, on_listening).run()
