"""Pages for people: the API's description, and whether the running gateway can decide."""

from importlib import resources
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from qwed.domain.codes import Code
from qwed.gateway.answers import refuse

_CSP: Final = (
    "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self';"
    " frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
)
_PAGES: Final = {"/docs": "docs.html", "/dashboard": "dashboard.html"}
_KINDS: Final = {".css": "text/css", ".js": "text/javascript", ".html": "text/html"}


def _static(name: str) -> Response:
    content = (resources.files("qwed.http") / "static" / name).read_bytes()
    kind = _KINDS[name[name.rindex(".") :]]
    return Response(content, media_type=kind, headers={"Content-Security-Policy": _CSP})


async def _page(request: Request) -> Response:
    return _static(_PAGES[request.url.path])


async def _asset(request: Request) -> Response:
    name = request.path_params["name"]
    shipped = {entry.name for entry in (resources.files("qwed.http") / "static").iterdir()}
    if name not in shipped or name.endswith(".html"):
        raise refuse(Code.NOT_FOUND, "there is no such file")
    return _static(name)


PAGES: Final = [*(("GET", path, _page) for path in _PAGES), ("GET", "/static/{name}", _asset)]
