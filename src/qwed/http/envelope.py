"""What surrounds every request: its id, its address, its measure, its line in the log."""

import itertools
import re
import secrets
import time
from typing import Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from qwed.http.logs import EventLog
from qwed.http.metrics import Metrics

# Unique, not secret: drawing randomness for every request would cost a system call.
_PROCESS: Final = secrets.token_hex(4)
_NUMBERS: Final = itertools.count(1)
_REQUEST_ID: Final = re.compile(r"[A-Za-z0-9._-]{1,64}")
_VERSION_PREFIX: Final = "/v1/agents"

_SECURITY_HEADERS: Final = (
    (b"x-content-type-options", b"nosniff"),
    (b"cache-control", b"no-store"),
    (b"referrer-policy", b"no-referrer"),
)


class Envelope:
    """Pure ASGI, so that streams stay streams and the hot path stays short."""

    def __init__(self, app: ASGIApp, log: EventLog, metrics: Metrics) -> None:
        self._app = app
        self._log = log
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        if scope["path"].startswith(_VERSION_PREFIX):
            scope = {**scope, "path": scope["path"][3:], "raw_path": scope["path"][3:].encode()}
        started = time.perf_counter()
        request_id = _request_id(scope)
        scope.setdefault("state", {})["request_id"] = request_id
        status = 500

        async def send_marked(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [
                    *message["headers"],
                    (b"x-request-id", request_id.encode()),
                    *_SECURITY_HEADERS,
                ]
            await send(message)

        try:
            await self._app(scope, receive, send_marked)
        finally:
            seconds = time.perf_counter() - started
            # The route's pattern, never the path: paths are the caller's text.
            route = scope["state"].get("route", "other")
            self._metrics.request(route, status, seconds)
            self._log.write(
                "info",
                "request",
                request_id=request_id,
                method=scope["method"],
                route=route,
                status=status,
                ms=round(seconds * 1000, 2),
                **scope["state"].get("noted", {}),
            )


def _request_id(scope: Scope) -> str:
    for name, value in scope["headers"]:
        if name == b"x-request-id":
            given = value.decode("latin-1")
            if _REQUEST_ID.fullmatch(given):
                return str(given)
    return f"{_PROCESS}{next(_NUMBERS):08x}"
