"""`qwed cells`: what stands in front of many deployments, written for a proxy that people run anyway."""

import json
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import click
import msgspec

from qwed.cli.errors import CannotRun
from qwed.cli.groups import CommandGroup
from qwed.domain.cells import TAGGED, Cells, check_cells, route_tag

#: Every header that may bring a credential.
_HEADERS: Final = ("authorization", "x-api-key", "x-agent-token")
#: What nginx has room for by itself; and how many tags one regular expression of Envoy has.
_SMALL_MAP: Final = 1_000
_TAGS_A_ROUTE: Final = 50


@click.group(cls=CommandGroup)
def cells() -> None:
    """Many deployments side by side, each for some principals."""


@cells.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--nginx", "proxy", flag_value="nginx", help="To include in nginx's http block.")
@click.option("--haproxy", "proxy", flag_value="haproxy", help="Backends, and how a frontend chooses one.")
@click.option("--envoy", "proxy", flag_value="envoy", help="Clusters and a virtual host, as JSON.")
def route(file: Path, proxy: str | None) -> None:
    """Write a proxy's configuration: which credential goes to which cell.

    FILE is TOML: default = "NAME", and for each cell [cells.NAME] with upstream = ["host:port"] and
    principals = ["…"]. Write it again, and reload the proxy, when a principal moved.
    """
    if proxy is None:
        raise click.UsageError("say for which proxy: --nginx, --haproxy or --envoy")
    click.echo(_WRITERS[proxy](read_cells(file)), nl=False)


@cells.command()
@click.argument("principal")
def tag(principal: str) -> None:
    """Print the tag that credentials of PRINCIPAL carry."""
    click.echo(route_tag(principal))


def read_cells(file: Path) -> Cells:
    try:
        given = tomllib.loads(file.read_text(encoding="utf-8"))
        return check_cells(msgspec.convert(given, Cells))
    except (tomllib.TOMLDecodeError, msgspec.ValidationError, ValueError) as error:
        raise CannotRun(f"{file}: {error}") from None


def _nginx(found: Cells) -> str:
    headers = " ".join(f"$http_{name.replace('-', '_')}" for name in _HEADERS)
    rows = [f"    {tag} {_backend(cell)};" for tag, cell in found.by_tag().items()]
    lines = ["# Include it in the http block. In the server: proxy_pass http://$qwed_cell;"]
    if len(rows) > _SMALL_MAP:
        lines.append(f"map_hash_max_size {2 * len(rows)};")
    lines += [f'map "{headers}" $qwed_tag {{', '    default "";', f'    "~{TAGGED}" $tag;', "}"]
    lines += ["map $qwed_tag $qwed_cell {", f"    default {_backend(found.default)};", *rows, "}"]
    for name, cell in found.cells.items():
        servers = [f"    server {address};" for address in cell.upstream]
        lines += [f"upstream {_backend(name)} {{", *servers, "    keepalive 32;", "}"]
    return "\n".join([*lines, ""])


def _haproxy(found: Cells) -> str:
    """A map file: HAProxy's sections can't be put together from several files."""
    pattern = TAGGED.replace("?<tag>", "").replace("?:", "")
    header = '{ req.hdr(authorization) -m sub "qwed_" }'
    return "\n".join(
        [
            "# Save it as /etc/haproxy/qwed-cells.map. In the frontend, with a backend of each name:",
            "#   http-request set-var(txn.qwed) req.hdr(authorization)",
            *(f"#   http-request set-var(txn.qwed) req.hdr({name}) if !{header}" for name in _HEADERS[1:]),
            f'#   http-request set-var(txn.qwed) \'var(txn.qwed),regsub("^.*{pattern}.*$","\\2")\'',
            f"#   use_backend %[var(txn.qwed),map(/etc/haproxy/qwed-cells.map,{_backend(found.default)})]",
            *(f"{tag} {_backend(cell)}" for tag, cell in found.by_tag().items()),
            "",
        ]
    )


def _envoy(found: Cells) -> str:
    tags: dict[str, list[str]] = {}
    for tag, cell in found.by_tag().items():
        tags.setdefault(cell, []).append(tag)
    routes = [
        {
            "match": {"prefix": "/", "headers": [{"name": header, "string_match": _envoy_match(some)}]},
            "route": {"cluster": _backend(cell)},
        }
        for cell, all_tags in tags.items()
        for some in (
            all_tags[start : start + _TAGS_A_ROUTE] for start in range(0, len(all_tags), _TAGS_A_ROUTE)
        )
        for header in _HEADERS
    ]
    routes.append({"match": {"prefix": "/"}, "route": {"cluster": _backend(found.default)}})
    clusters = [
        {
            "name": _backend(name),
            "type": "STRICT_DNS",
            "load_assignment": {
                "cluster_name": _backend(name),
                "endpoints": [{"lb_endpoints": [_envoy_endpoint(address) for address in cell.upstream]}],
            },
        }
        for name, cell in found.cells.items()
    ]
    host = {"name": "qwed", "domains": ["*"], "routes": routes}
    return json.dumps({"virtual_hosts": [host], "clusters": clusters}, indent=1) + "\n"


def _envoy_match(tags: list[str]) -> dict[str, Any]:
    """RE2, over the whole header."""
    one_of = TAGGED.replace("(?<tag>[0-9a-f]{12})", f"(?:{'|'.join(tags)})")
    return {"safe_regex": {"regex": f".*{one_of}.*"}}


def _envoy_endpoint(address: str) -> dict[str, Any]:
    host, _, port = address.rpartition(":")
    where = {"address": host.strip("[]"), "port_value": int(port)}
    return {"endpoint": {"address": {"socket_address": where}}}


def _backend(cell: str) -> str:
    return f"qwed_{cell.replace('-', '_')}"


_WRITERS: Final[dict[str, Callable[[Cells], str]]] = {"nginx": _nginx, "haproxy": _haproxy, "envoy": _envoy}
