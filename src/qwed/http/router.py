"""From a path to its endpoint: a tree of segments, so that finding one costs the same for every route."""

from collections.abc import Awaitable, Callable, Iterable
from typing import Final
from urllib.parse import unquote

import msgspec
from starlette.requests import Request
from starlette.responses import Response

Endpoint = Callable[[Request], Awaitable[Response]]

_ANY: Final = "{}"
#: Everything that is left of the path, as `{name*}` asks.
_REST: Final = "{*}"


class FoundRoute(msgspec.Struct, frozen=True):
    """`pattern` is the route as written: what metrics and logs may name."""

    pattern: str
    endpoint: Endpoint
    parameters: dict[str, str]


class WrongMethod(msgspec.Struct, frozen=True):
    allowed: tuple[str, ...]


class _Node:
    __slots__ = ("children", "endpoints", "names", "pattern")

    def __init__(self) -> None:
        self.children: dict[str, _Node] = {}
        self.endpoints: dict[str, Endpoint] = {}
        self.names: list[str] = []
        self.pattern = ""


class Router:
    def __init__(self, routes: Iterable[tuple[str, str, Endpoint]]) -> None:
        self._root = _Node()
        for method, pattern, endpoint in routes:
            self._add(method, pattern, endpoint)

    def _add(self, method: str, pattern: str, endpoint: Endpoint) -> None:
        node, names = self._root, []
        for segment in pattern.strip("/").split("/"):
            if segment.startswith("{"):
                names.append(segment[1:-1].removesuffix("*"))
                segment = _REST if segment.endswith("*}") else _ANY
            node = node.children.setdefault(segment, _Node())
        node.names, node.pattern = names, pattern
        node.endpoints[method] = endpoint

    def find(self, method: str, path: str, *, is_quoted: bool = False) -> FoundRoute | WrongMethod | None:
        """A fixed segment wins over a variable one, so `/agents/register` is not an agent's name. A path
        that is still quoted may have a `/` inside a segment, as in the name of a tool."""
        node, values = self._root, []
        segments = path[1:].split("/")
        if is_quoted:
            segments = [unquote(segment) for segment in segments]
        for at, segment in enumerate(segments):
            child = node.children.get(segment)
            if child is None or segment in (_ANY, _REST):
                child = node.children.get(_ANY)
                if child is None and _REST in node.children:
                    values.append("/".join(segments[at:]))
                    node = node.children[_REST]
                    break
                if child is None or not segment:
                    return None
                values.append(segment)
            node = child
        endpoint = node.endpoints.get(method)
        if endpoint is None:
            return WrongMethod(tuple(sorted(node.endpoints))) if node.endpoints else None
        return FoundRoute(node.pattern, endpoint, dict(zip(node.names, values, strict=True)))
