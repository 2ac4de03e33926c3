"""Permits for a web service: ASGI and WSGI middleware. A route that nobody listed is refused."""

import asyncio
import io
import json
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, MutableMapping, Sequence
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from qwed.domain.codes import Code
from qwed.domain.permits import PERMIT_HEADER
from qwed_sdk.permits.errors import PermitRefused
from qwed_sdk.request_actions import PlainRequest, RequestAction, action_of_request, rules_of
from qwed_sdk.results import Json
from qwed_sdk.tool_map import NotShowable, ToolMap

if TYPE_CHECKING:
    from qwed_sdk.permits.verifier import PermitVerifier, VerifiedPermit

MAX_BODY_BYTES: Final = 1024 * 1024

Routes = Mapping[str, str | RequestAction]
Scope = MutableMapping[str, Json]
Receive = Callable[[], Awaitable[MutableMapping[str, Json]]]
Send = Callable[[MutableMapping[str, Json]], Awaitable[None]]
Asgi = Callable[[Scope, Receive, Send], Awaitable[None]]
StartResponse = Callable[..., Json]
Wsgi = Callable[[dict[str, Json], StartResponse], Iterable[bytes]]


class RequestCheck:
    """`routes` are those that need a permit: `{"POST /payments": "send_money"}`. `open_routes` need none."""

    def __init__(
        self,
        permits: "PermitVerifier",
        routes: Routes,
        open_routes: Sequence[str] = (),
        tool_map: ToolMap | None = None,
    ) -> None:
        self.permits = permits
        self._rules = rules_of(routes)
        self._open = rules_of(dict.fromkeys(open_routes, ""))
        self._tool_map = tool_map or {}

    def is_open(self, method: str, path: str) -> bool:
        return any(rule.fits(method, path) for rule in self._open)

    def verify(self, request: PlainRequest, token: str | None) -> "VerifiedPermit":
        """Raises `PermitRefused`."""
        rules = [rule for rule in self._rules if rule.fits(request.method, request.path)]
        if len(rules) != 1:
            what = f"{request.method} {request.path}"[:200]
            raise self.permits.refuse(token, Code.PERMIT_MISMATCH, f"{what!r} is not a listed route")
        try:
            action = action_of_request(rules[0], request, self._tool_map)
        except NotShowable as problem:
            raise self.permits.refuse(token, Code.PERMIT_MISMATCH, str(problem)) from problem
        return self.permits.verify(token, action)


class PermitAsgi:
    """Around an ASGI application. WebSocket connections are refused: no permit is for one."""

    def __init__(self, app: Asgi, check: RequestCheck) -> None:
        self._app = app
        self._check = check

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008, "reason": "a WebSocket has no permit"})
        elif self._check.is_open(scope["method"], _raw_path(scope)):
            await self._app(scope, receive, send)
        else:
            await self._serve(scope, receive, send)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        names: dict[str, list[str]] = {}
        for name, value in scope["headers"]:
            names.setdefault(name.decode("latin-1").lower(), []).append(value.decode("latin-1"))
        try:
            token = _only(self._check.permits, names, PERMIT_HEADER.lower())
            body = await _read_body(self._check.permits, receive, names, token)
            content_type = ",".join(names.get("content-type", ()))
            query = scope["query_string"].decode("latin-1")
            request = PlainRequest(scope["method"], _raw_path(scope), query, content_type, body)
            permit = await asyncio.to_thread(self._check.verify, request, token)
        except PermitRefused as refusal:
            await _answer(send, refusal)
            return
        await self._run(scope, body, send, permit)

    async def _run(self, scope: Scope, body: bytes, send: Send, permit: "VerifiedPermit") -> None:
        statuses: list[int] = []
        parts: list[MutableMapping[str, Json]] = [{"type": "http.request", "body": body, "more_body": False}]

        async def replayed() -> MutableMapping[str, Json]:
            return parts.pop() if parts else {"type": "http.disconnect"}

        async def watched(message: MutableMapping[str, Json]) -> None:
            if message["type"] == "http.response.start":
                statuses.append(message["status"])
            await send(message)

        started, failure = time.monotonic(), None
        try:
            await self._app(scope, replayed, watched)
        except BaseException as error:
            failure = error
            raise
        finally:
            failure = failure or _failure(statuses)
            await asyncio.shield(asyncio.to_thread(self._report, permit, started, failure))

    def _report(self, permit: "VerifiedPermit", started: float, failure: BaseException | None) -> None:
        self._check.permits.report(permit, permit.action_hash, started, error=failure)


class PermitWsgi:
    """Around a WSGI application."""

    def __init__(self, app: Wsgi, check: RequestCheck) -> None:
        self._app = app
        self._check = check

    def __call__(self, environ: dict[str, Json], start_response: StartResponse) -> Iterable[bytes]:
        method, path = environ["REQUEST_METHOD"], _wsgi_path(environ)
        if self._check.is_open(method, path):
            return self._app(environ, start_response)
        token = environ.get("HTTP_" + PERMIT_HEADER.upper().replace("-", "_"))
        try:
            body = self._body(environ, token)
            query, content_type = environ.get("QUERY_STRING", ""), environ.get("CONTENT_TYPE", "")
            permit = self._check.verify(PlainRequest(method, path, query, content_type, body), token)
        except PermitRefused as refusal:
            content = json.dumps(refusal.to_wire()).encode()
            start_response(f"{refusal.status} Refused", [("Content-Type", "application/json")])
            return [content]
        environ["wsgi.input"] = io.BytesIO(body)
        return self._run(environ, start_response, permit)

    def _body(self, environ: dict[str, Json], token: str | None) -> bytes:
        refuse = self._check.permits.refuse
        if environ.get("HTTP_CONTENT_ENCODING") or environ.get("HTTP_TRANSFER_ENCODING"):
            raise refuse(token, Code.PERMIT_MISMATCH, "an encoded body can't be compared with its permit")
        length = str(environ.get("CONTENT_LENGTH") or "0")
        if not length.isdigit() or int(length) > MAX_BODY_BYTES:
            raise refuse(token, Code.PERMIT_MISMATCH, f"the body has more than {MAX_BODY_BYTES} bytes")
        body: bytes = environ["wsgi.input"].read(int(length))
        return body

    def _run(
        self, environ: dict[str, Json], start_response: StartResponse, permit: "VerifiedPermit"
    ) -> Iterable[bytes]:
        statuses: list[int] = []

        def watched(status: str, *rest: Json, **more: Json) -> Json:
            statuses.append(int(status.split(" ", 1)[0]))
            return start_response(status, *rest, **more)

        started = time.monotonic()
        report = self._check.permits.report
        try:
            parts = list(self._app(environ, watched))
        except BaseException as error:
            report(permit, permit.action_hash, started, error=error)
            raise
        report(permit, permit.action_hash, started, error=_failure(statuses), result=b"".join(parts))
        return parts


class AnswerFailed(Exception):
    """The service answered with an error of its own."""


def _failure(statuses: Sequence[int]) -> Exception | None:
    if not statuses:
        return AnswerFailed("no answer")
    return AnswerFailed(f"status {statuses[-1]}") if statuses[-1] >= 400 else None


def _only(permits: "PermitVerifier", names: Mapping[str, list[str]], name: str) -> str | None:
    found = names.get(name, [])
    if len(found) > 1:
        raise permits.refuse(None, Code.PERMIT_INVALID, "the request carries two permits")
    return found[0] if found else None


async def _read_body(
    permits: "PermitVerifier", receive: Receive, names: Mapping[str, list[str]], token: str | None
) -> bytes:
    if names.get("content-encoding"):
        raise permits.refuse(token, Code.PERMIT_MISMATCH, "an encoded body can't be compared with its permit")
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] != "http.request":
            raise permits.refuse(token, Code.PERMIT_MISMATCH, "the request ended before its body did")
        body += message.get("body", b"")
        if len(body) > MAX_BODY_BYTES:
            raise permits.refuse(
                token, Code.PERMIT_MISMATCH, f"the body has more than {MAX_BODY_BYTES} bytes"
            )
        if not message.get("more_body", False):
            return bytes(body)


async def _answer(send: Send, refusal: PermitRefused) -> None:
    content = json.dumps(refusal.to_wire()).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(content)).encode())]
    await send({"type": "http.response.start", "status": refusal.status, "headers": headers})
    await send({"type": "http.response.body", "body": content})


def _raw_path(scope: Scope) -> str:
    """As it came, where the server says so: `%2F` is no `/`."""
    raw: bytes | None = scope.get("raw_path")
    if not raw:
        return _quote_path(scope["path"].encode("utf-8", "surrogateescape"))
    return raw.partition(b"?")[0].decode("latin-1")


def _wsgi_path(environ: Mapping[str, Json]) -> str:
    """WSGI has only the decoded path: what the service gets is what is compared."""
    path = str(environ.get("SCRIPT_NAME", "")) + str(environ.get("PATH_INFO", ""))
    return _quote_path(path.encode("latin-1"))


def _quote_path(path: bytes) -> str:
    """A path that was decoded already. Decoded twice, `%2541` would be another value here than there."""
    return quote(path, safe="/!$&'()*+,;=:@")
