"""Allow and deny lists: host patterns with wildcards, optionally with a scheme, a port and a path.

`*` stands for any run of characters, in a host without crossing a dot; a leading `*.` for one or more labels.
"""

import functools
import ipaddress
import re
from collections.abc import Iterable
from typing import Final

from qwed.domain.skeleton import skeleton
from qwed.engines.tools.hosts import Host

_PATTERN: Final = re.compile(
    r"(?:(?P<scheme>[a-z][a-z0-9+.-]*)://)?(?P<host>\[[^\]]*\]|[^/:]*)(?::(?P<port>\d+))?(?P<path>/.*)?\Z",
    re.I,
)
Network = ipaddress.IPv4Network | ipaddress.IPv6Network


class BadPattern(ValueError):
    """A pattern of the policy that has no meaning."""


class UrlPattern:
    """One entry of an allow or deny list."""

    def __init__(self, text: str, *, with_apex: bool = False) -> None:
        match = _PATTERN.match(text)
        if match is None or not match["host"]:
            raise BadPattern(f"{text!r} is not a host pattern such as '*.example.com'")
        self._scheme = match["scheme"] and match["scheme"].lower()
        self._host = host_expression(match["host"], with_apex=with_apex)
        self._port = int(match["port"]) if match["port"] else None
        self._path = re.compile(_use_star(match["path"], ".*")) if match["path"] else None

    def matches(self, scheme: str, host: str, port: int | None, path: str) -> bool:
        return (
            self._host.fullmatch(host) is not None
            and (self._scheme is None or self._scheme == scheme)
            and (self._port is None or self._port == port)
            and (self._path is None or self._path.fullmatch(path) is not None)
        )


@functools.lru_cache(maxsize=1_024)
def host_expression(pattern: str, *, with_apex: bool = False) -> re.Pattern[str]:
    """The expression of a host pattern. `with_apex`: `*.example.com` covers `example.com` too."""
    lowered = as_ascii(pattern.lower())
    if lowered == "*":
        return re.compile(".*")
    if lowered.startswith("*."):
        rest = _use_star(lowered[2:], "[^.]*")
        return re.compile(rf"(?:.+\.)?{rest}" if with_apex else rf".+\.{rest}")
    return re.compile(_use_star(lowered, "[^.]*"))


def _use_star(pattern: str, star: str) -> str:
    return star.join(map(re.escape, pattern.split("*")))


def as_ascii(host: str) -> str:
    """The host as resolvers see it (punycode); what has no such form stays as it is and matches nothing."""
    if host.isascii():
        return host
    try:
        return host.encode("idna").decode("ascii")
    except UnicodeError:
        return host


def look_alike(host: str) -> str:
    """The host as a reader sees it, for deny lists: a homograph of a denied name is denied."""
    return ".".join(skeleton(label).replace("_", "-") for label in host.split("."))


class PrivatePlaces:
    """The places that are not public and yet allowed: hosts, wildcards, address ranges."""

    def __init__(self, entries: Iterable[str]) -> None:
        self._networks: list[Network] = []
        self._hosts: list[re.Pattern[str]] = []
        for entry in entries:
            try:
                self._networks.append(ipaddress.ip_network(entry, strict=False))
            except ValueError:
                self._hosts.append(host_expression(entry))

    def allow(self, host: Host) -> bool:
        if host.address is not None:
            return any(self._holds(network, host) for network in self._networks)
        return any(expression.fullmatch(host.name) for expression in self._hosts)

    @staticmethod
    def _holds(network: Network, host: Host) -> bool:
        version = 6 if host.name.startswith("[") else 4
        first, last = int(network.network_address), int(network.broadcast_address)
        return network.version == version and first <= (host.address or 0) <= last
