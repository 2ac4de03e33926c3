"""The ASGI application: every request's way in and out.

Find the endpoint, call it, map errors to answers, measure, log. Pure ASGI with a router of its own: the
general framework's layers cost as much as a decision does.
"""

import itertools
import operator
import re
import secrets
import time
import traceback
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from qwed import __version__
from qwed.domain.bounds import Bounds, Proxies
from qwed.domain.codes import Code
from qwed.domain.times import iso
from qwed.gateway.kernel.answers import RequestError
from qwed.gateway.kernel.ledger_watch import LedgerFinding
from qwed.gateway.kernel.ports import LimiterUnavailable, StoreUnavailable
from qwed.gateway.kernel.services import Services
from qwed.http.gatekeeper import IS_KNOWN, Gatekeeper
from qwed.http.load_limit import RequestGate
from qwed.http.logs import EventLog, LineAllowance
from qwed.http.metrics import Metrics
from qwed.http.openapi import OPERATIONS, describe
from qwed.http.pages import PAGES
from qwed.http.protocol import CYCLE, write_answer
from qwed.http.request_reader import EXT_AUTHZ, PRESENT
from qwed.http.responses import (
    JSON,
    PLAIN_HEADERS,
    JsonResponse,
    error_response,
    name_question,
    refusal_response,
)
from qwed.http.router import Endpoint, FoundRoute, Router, WrongMethod
from qwed.http.routes import Api
from qwed.http.security_log import SecurityLog
from qwed.http.signin.slack import SlackDoor
from qwed.http.traces import Tracing
from qwed.ledger.states import StateDifference

if TYPE_CHECKING:
    from qwed.http.signin.provider import Registration

MAX_PLACES: Final = 8
#: The metrics count every request; the log must not be what a stranger fills.
MAX_LINES_OF_STRANGERS: Final = 20
_VERSION_PREFIX: Final = "/v1/agents"
_REQUEST_ID: Final = re.compile(rb"[A-Za-z0-9._-]{1,64}")
_SECURITY_HEADERS: Final = (
    (b"x-content-type-options", b"nosniff"),
    (b"cache-control", b"no-store"),
    (b"referrer-policy", b"no-referrer"),
)
#: The same lines as of a `JsonResponse` without headers of its own, and the security headers after them.
_USUAL_HEADERS: Final = (
    b"content-length: %d\r\ncontent-type: application/json\r\nx-request-id: %b\r\n"
    + b"".join(name + b": " + value + b"\r\n" for name, value in _SECURITY_HEADERS)
)
# Unique, not secret: drawing randomness for every request would cost a system call.
_PROCESS: Final = secrets.token_hex(4)
_NUMBERS: Final = itertools.count(1)
_NAME_OF: Final = operator.itemgetter(0)


def create_app(
    services: Services,
    *,
    log: EventLog | None = None,
    proxies: Proxies | None = None,
    max_listeners: int = Bounds().listeners,
    on_close: Callable[[], None] | None = None,
    counts_folder: Path | None = None,
    registration: "Registration | None" = None,
    home: str | None = None,
    slack_secret: str | None = None,
    security_log: SecurityLog | None = None,
) -> "Application":
    """`counts_folder` is where several workers of one gateway count together; `registration` is how an
    identity provider knows this gateway, `home` the address at which people reach it. Raises `ImportError`
    where an extra for that is missing."""
    log = log or EventLog()
    metrics = Metrics(__version__, services.policy.version)
    if counts_folder is not None:
        metrics.share(counts_folder)
    metrics.watch_rows(services.store.integrity)
    services.store.integrity.listen(partial(_raise_alarm, services, log))
    metrics.watch_ledger(services.store.ledger_watch)
    services.store.ledger_watch.listen(partial(_report_ledger, services, log))
    if services.newest.shadow is not None:
        metrics.watch_shadow(services.newest.shadow.counted)
    services.store.ledger_watch.listen_to_findings(partial(_report_finding, services, log))
    proxies, gate = proxies or Proxies(), RequestGate()
    gatekeeper = Gatekeeper(services, log, metrics, proxies)
    gatekeeper.security_log = security_log
    if registration is not None:
        from qwed.http.signin.people import People  # noqa: PLC0415 - the library is an extra
        from qwed.http.signin.provider import Provider  # noqa: PLC0415

        provider = Provider(registration, services.clock.now_ms)
        gatekeeper.people = People(services, provider, gatekeeper.sessions)
    if home is not None and find_spec("webauthn") is not None:
        from qwed.http.signin.passkeys import Passkeys  # noqa: PLC0415 - the library is an extra

        gatekeeper.passkeys = Passkeys(services, home)
    if slack_secret is not None:
        issuer = "slack" if registration is None else registration.issuer
        gatekeeper.slack = SlackDoor(services, slack_secret, issuer)
    api = Api(
        services,
        gatekeeper,
        metrics,
        __version__,
        gate,
        behind_proxy=proxies.is_used,
        max_listeners=max_listeners,
    )
    return Application(api, gate, log, metrics, on_close)


def _raise_alarm(services: Services, log: EventLog, difference: StateDifference) -> None:
    """Somebody wrote to the store beside the gateway: told to the log, and to operators who listen."""
    facts = msgspec.structs.asdict(difference)
    log.write("critical", "state_differs", **facts)
    services.events.publish({"type": "state_differs", "timestamp": iso(services.clock.now_ms()), **facts})


def _report_ledger(services: Services, log: EventLog, failure: str) -> None:
    log.write("critical", "ledger_fails", reason=failure)
    services.events.publish({"type": "ledger_fails", "timestamp": iso(services.clock.now_ms())})


def _report_finding(services: Services, log: EventLog, finding: LedgerFinding) -> None:
    """As `_raise_alarm`, about records."""
    facts = msgspec.structs.asdict(finding)
    log.write("critical", "ledger_finding", **facts)
    at = iso(services.clock.now_ms())
    services.events.publish({"type": "ledger_finding", "timestamp": at, **facts})


class Application:
    def __init__(
        self,
        api: Api,
        gate: RequestGate,
        log: EventLog,
        metrics: Metrics,
        on_close: Callable[[], None] | None,
    ) -> None:
        self._api = api
        self._log = log
        self._metrics = metrics
        self._on_close = on_close
        self._strangers = LineAllowance(MAX_LINES_OF_STRANGERS)
        self._outage, self._limiter = api.outage, api.limiter_name
        #: Who asks how it is gets an answer also when nobody else does.
        self._always_open = frozenset({api.health, api.ready, api.metrics})
        #: Those who wait for something to happen do no work meanwhile.
        self._patient = frozenset({api.events, api.approval})
        self.gate = gate
        self._tracing = Tracing(__version__)
        metrics.watch(self.gate)
        routes = [*_operations(api), ("GET", "/openapi.json", _openapi()), *PAGES]
        self._router = Router([*routes, *_heads(routes, api)])

    def stop(self) -> None:
        """Let streams end by themselves; called when the server is told to stop."""
        self._api.stopping.set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif scope["type"] == "http":
            await self._serve(scope, receive, send)
        elif scope["type"] == "websocket":
            await _decline(receive, send)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        started = time.perf_counter()
        present = scope[PRESENT] = frozenset(map(_NAME_OF, scope["headers"]))
        request_id = _request_id(scope) if b"x-request-id" in present else _next_id()
        noted = scope["noted"] = {"request_id": request_id}
        status, route = 500, "none"
        try:
            found = self._find(scope)
            if isinstance(found, FoundRoute):
                route, scope["path_params"] = found.pattern, found.parameters
                scope["route_pattern"] = route
                respond = self._trace if self._tracing.is_on else self._respond
                response = await respond(found.endpoint, Request(scope, receive))
            else:
                response = _nothing_there(found)
            status = response.status_code
            naming = name_question(scope["headers"], response) if b"idempotency-key" in present else ()
            cycle = scope.get(CYCLE)
            if cycle is not None and not naming and self._is_usual(scope, response):
                body = bytes(response.body)
                headers = _USUAL_HEADERS % (len(body), request_id.encode())
                await write_answer(cycle, status, headers, body)
                return
            response.raw_headers += (
                (b"x-request-id", request_id.encode()),
                *_SECURITY_HEADERS,
                *naming,
            )
            if self._api.stopping.is_set():
                response.raw_headers += ((b"connection", b"close"),)
            await response(scope, receive, send)
        finally:
            seconds = time.perf_counter() - started
            # The route's pattern, never the path: paths are the caller's text.
            self._metrics.request(route, status, seconds)
            left_out = 0 if IS_KNOWN in scope else self._strangers.ask(started)
            if left_out is not None:
                self._log.write(
                    "info",
                    "request",
                    method=scope["method"],
                    route=route,
                    status=status,
                    ms=round(seconds * 1000, 2),
                    **noted,
                    **({"left_out": left_out} if left_out else {}),
                )

    def _is_usual(self, scope: Scope, response: Response) -> bool:
        """A JSON text with no header of its own: it is written from a template, at once."""
        return (
            type(response) is JsonResponse
            and len(response.raw_headers) == PLAIN_HEADERS
            and scope["method"] != "HEAD"
            and not self._api.stopping.is_set()
        )

    def _find(self, scope: Scope) -> FoundRoute | WrongMethod | None:
        path, raw = scope["path"], scope.get("raw_path") or b""
        if is_quoted := (b"%2F" in raw or b"%2f" in raw):
            path = str(raw.partition(b"?")[0], "latin-1")
        path = path[3:] if path.startswith(_VERSION_PREFIX) else path
        if path.startswith(EXT_AUTHZ):
            # Behind it stands another server's path, whatever that is.
            return FoundRoute(f"{EXT_AUTHZ}{{path}}", self._api.ext_authz, {})
        return self._router.find(scope["method"], path, is_quoted=is_quoted)

    async def _trace(self, endpoint: Endpoint, request: Request) -> Response:
        route = request.scope["route_pattern"]
        with self._tracing.request(request.method, route, request.headers) as span:
            response = await self._respond(endpoint, request)
            noted = request.scope["noted"]
            self._tracing.answered(span, response.status_code, noted, request.path_params)
            return response

    async def _respond(self, endpoint: Endpoint, request: Request) -> Response:
        try:
            if endpoint in self._always_open:
                return await endpoint(request)
            if (outage := self._outage()) is not None:
                raise LimiterUnavailable(self._limiter, outage)
            if endpoint in self._patient:
                return await endpoint(request)
            with self.gate:
                return await endpoint(request)
        except RequestError as error:
            request.scope["noted"].update(error.log or {})
            return error_response(error)
        except StoreUnavailable as error:
            told = {"component": error.component, "reason": str(error)}
            self._log.write("error", "store_unavailable", **told, **request.scope["noted"])
            return _unavailable(error.component)
        except ClientDisconnect:
            return refusal_response(Code.REQUEST_MALFORMED, "the client left before it was read", status=400)
        # The boundary of the server: a defect of ours must answer, approve nothing, and tell only the log.
        except Exception as error:  # noqa: BLE001
            noted = request.scope["noted"]
            self._log.write("error", "crash", kind=type(error).__name__, where=_places(error), **noted)
            message = f"the gateway failed; nothing was decided (request {noted['request_id']})"
            return refusal_response(Code.STORE_UNAVAILABLE, message, status=500)

    async def _live(self, receive: Receive, send: Send) -> None:
        while True:
            message = await receive()
            if message["type"] == "lifespan.startup":
                await send({"type": "lifespan.startup.complete"})
            else:
                self.stop()
                if self._on_close is not None:
                    self._on_close()
                self._metrics.close()
                self._log.close()
                await send({"type": "lifespan.shutdown.complete"})
                return


async def _decline(receive: Receive, send: Send) -> None:
    """There is nothing here to talk to over a WebSocket; `/events` streams over HTTP."""
    await receive()
    await send({"type": "websocket.close", "code": 1000, "reason": "events are streamed at GET /events"})


def _places(error: Exception) -> list[str]:
    """Where it happened, innermost last: places in our own text, and none of the values they held."""
    frames = list(traceback.walk_tb(error.__traceback__))[-MAX_PLACES:]
    return [f"{'/'.join(Path(frame.f_code.co_filename).parts[-2:])}:{line}" for frame, line in frames]


def _operations(api: Api) -> list[tuple[str, str, Endpoint]]:
    """The operations of the OpenAPI document are the routes: there is no second list."""
    return [(operation.method, operation.path, getattr(api, operation.name)) for operation in OPERATIONS]


def _heads(routes: list[tuple[str, str, Endpoint]], api: Api) -> list[tuple[str, str, Endpoint]]:
    """HEAD is GET without what it says; of a stream nothing would be left but an open connection."""
    return [
        ("HEAD", pattern, endpoint)
        for method, pattern, endpoint in routes
        if method == "GET" and endpoint != api.events
    ]


def _openapi() -> Endpoint:
    description = describe(__version__)

    async def openapi(request: Request) -> Response:
        return Response(description, media_type=JSON)

    return openapi


def _nothing_there(found: WrongMethod | None) -> Response:
    if found is None:
        return refusal_response(Code.NOT_FOUND, "there is nothing at this address; see /docs")
    allowed = ", ".join(found.allowed)
    response = refusal_response(Code.REQUEST_MALFORMED, f"this address answers {allowed} only", status=405)
    response.headers["Allow"] = allowed
    return response


def _unavailable(component: str) -> Response:
    """Names what a person has to look at; the reason is for the log and for /ready."""
    message = "the store cannot record this now, so nothing was decided; retry later"
    if component != StoreUnavailable.component:
        message = f"{component.capitalize()} does not answer, so nothing is allowed; retry later"
    response = refusal_response(Code.STORE_UNAVAILABLE, message, details={"component": component})
    response.headers["Retry-After"] = "1"
    return response


def _request_id(scope: Scope) -> str:
    for name, value in scope["headers"]:
        if name == b"x-request-id" and _REQUEST_ID.fullmatch(value):
            return str(value, "ascii")
    return _next_id()


def _next_id() -> str:
    return f"{_PROCESS}{next(_NUMBERS):08x}"
