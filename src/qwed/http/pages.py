"""Pages for people: the API's description and the dashboard. Files that are shipped, and nothing else."""

from functools import cache
from importlib import resources
from typing import Final

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from qwed.domain.codes import Code
from qwed.gateway.kernel.answers import refuse
from qwed.http.router import Endpoint

# No script or style but ours, nothing fetched from elsewhere, no way to make markup of a text.
_CSP: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:;"
    " frame-ancestors 'none'; base-uri 'none'; form-action 'self';"
    " require-trusted-types-for 'script'; trusted-types 'none'"
)
_HEADERS: Final = {
    "Content-Security-Policy": _CSP,
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
}
_KINDS: Final = {
    ".css": "text/css",
    ".html": "text/html",
    ".js": "text/javascript",
    ".svg": "image/svg+xml",
}


@cache
def _read_shipped() -> dict[str, tuple[bytes, str]]:
    """Content and media type by name, of every file below `static`."""
    root = resources.files("qwed.http") / "static"
    found = {entry.name: entry for entry in root.iterdir() if entry.is_file()}
    found |= {f"dashboard/{entry.name}": entry for entry in (root / "dashboard").iterdir()}
    return {
        name: (entry.read_bytes(), _KINDS[suffix])
        for name, entry in found.items()
        if (suffix := name[name.rfind(".") :]) in _KINDS
    }


def _file(name: str) -> Response:
    content, kind = _read_shipped()[name]
    return Response(content, media_type=kind, headers=_HEADERS)


async def _docs(request: Request) -> Response:
    return _file("docs.html")


async def _verify_export(request: Request) -> Response:
    return _file("verify-export.html")


def lone_page() -> str:
    """The page that verifies an export, as one file that fetches nothing."""
    page, script, style = (
        _read_shipped()[name][0].decode() for name in ("verify-export.html", "verify-export.js", "page.css")
    )
    policy = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'"
    meta = f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
    page = page.replace('<link rel="stylesheet" href="/static/page.css">', f"{meta}<style>\n{style}</style>")
    module = '<script type="module" src="/static/verify-export.js"></script>'
    return page.replace(module, f'<script type="module">\n{script}</script>')


async def _dashboard(request: Request) -> Response:
    """Which page it is, the page itself reads from its address, so every link to one can be opened."""
    return _file("dashboard/index.html")


async def _home(request: Request) -> Response:
    return RedirectResponse("/dashboard", status_code=307)


async def _icon(request: Request) -> Response:
    """Browsers ask for it whatever the page."""
    return _file("dashboard/icon.svg")


def _asset(folder: str) -> Endpoint:
    async def asset(request: Request) -> Response:
        name = folder + request.path_params["name"]
        if name not in _read_shipped() or name.endswith(".html"):
            raise refuse(Code.NOT_FOUND, "there is no such file")
        return _file(name)

    return asset


PAGES: Final = [
    ("GET", "/", _home),
    ("GET", "/docs", _docs),
    ("GET", "/verify-export", _verify_export),
    ("GET", "/dashboard", _dashboard),
    ("GET", "/dashboard/{page}", _dashboard),
    ("GET", "/dashboard/{page}/{name}", _dashboard),
    ("GET", "/favicon.ico", _icon),
    ("GET", "/static/{name}", _asset("")),
    ("GET", "/static/dashboard/{name}", _asset("dashboard/")),
]
