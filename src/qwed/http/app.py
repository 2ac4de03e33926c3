"""The ASGI application: the table of routes, the map from errors to answers, the way in and out."""

import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from qwed import __version__
from qwed.domain.codes import Code
from qwed.gateway.answers import RequestError
from qwed.gateway.ports import StoreUnavailable
from qwed.gateway.services import Services
from qwed.http.envelope import Envelope
from qwed.http.gatekeeper import Gatekeeper
from qwed.http.logs import EventLog
from qwed.http.metrics import Metrics
from qwed.http.openapi import OPERATIONS, describe
from qwed.http.pages import PAGES
from qwed.http.responses import JSON, error_response, refusal_response
from qwed.http.routes import Api

Endpoint = Callable[[Request], Awaitable[Response]]


def create_app(
    services: Services,
    *,
    log: EventLog | None = None,
    behind_proxy: bool = False,
    on_close: Callable[[], None] | None = None,
) -> ASGIApp:
    log = log or EventLog()
    metrics = Metrics(__version__, services.policy.version)
    api = Api(services, Gatekeeper(services, log, metrics), metrics, __version__, behind_proxy=behind_proxy)
    description = describe(__version__)

    async def openapi(request: Request) -> Response:
        return Response(description, media_type=JSON)

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        yield
        api.stopping.set()
        if on_close is not None:
            on_close()
        log.close()

    app = Starlette(
        routes=[*_routes(api), Route("/openapi.json", openapi), *PAGES],
        exception_handlers={
            RequestError: _on_request_error,
            StoreUnavailable: _on_store_unavailable,
            HTTPException: _on_http_exception,
            ClientDisconnect: _on_disconnect,
            Exception: _crash_handler(log),
        },
        lifespan=lifespan,
    )
    return Envelope(app, log, metrics)


def _routes(api: Api) -> list[Route]:
    """The operations of the OpenAPI document are the routes: there is no second list."""
    return [
        Route(
            operation.path, _named(operation.path, getattr(api, operation.name)), methods=[operation.method]
        )
        for operation in OPERATIONS
    ]


def _named(path: str, endpoint: Endpoint) -> Endpoint:
    async def call(request: Request) -> Response:
        request.scope["state"]["route"] = path
        return await endpoint(request)

    return call


async def _on_request_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestError)
    return error_response(error)


async def _on_store_unavailable(request: Request, error: Exception) -> Response:
    response = refusal_response(
        Code.STORE_UNAVAILABLE, "the store cannot record this now, so nothing was decided; retry later"
    )
    response.headers["Retry-After"] = "1"
    return response


async def _on_http_exception(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if error.status_code == 404:
        return refusal_response(Code.NOT_FOUND, "there is nothing at this address; see /docs")
    response = refusal_response(Code.REQUEST_MALFORMED, str(error.detail), status=error.status_code)
    for name, value in (error.headers or {}).items():
        response.headers[name] = value
    return response


async def _on_disconnect(request: Request, error: Exception) -> Response:
    return refusal_response(Code.REQUEST_MALFORMED, "the client left before its request was read", status=400)


def _crash_handler(log: EventLog) -> Callable[[Request, Exception], Awaitable[Response]]:
    """A defect of ours: nothing was approved, the details go to the log alone."""

    async def on_crash(request: Request, error: Exception) -> Response:
        request_id = request.scope["state"].get("request_id")
        log.write("error", "crash", request_id=request_id, kind=type(error).__name__)
        return refusal_response(
            Code.STORE_UNAVAILABLE,
            f"the gateway failed; nothing was decided (request {request_id})",
            status=500,
        )

    return on_crash
