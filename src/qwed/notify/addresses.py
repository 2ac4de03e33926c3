"""Where a delivery may go: judged as written, judged again as resolved, and then connected to exactly that.

A name is resolved once for each try, every address it has is judged, and the connection is made to one
of those. So a name that leads somewhere else a moment later leads nowhere.
"""

import asyncio
import ipaddress
import socket
from collections.abc import Awaitable, Callable
from typing import Final
from urllib.parse import urlsplit

import msgspec

from qwed.domain.policy import NotificationRules
from qwed.engines.tools import EmailRules, UrlRules, inspect_url
from qwed.engines.tools.hosts import Host, read_host
from qwed.engines.tools.patterns import PrivatePlaces, as_ascii
from qwed.engines.tools.recipients import inspect_recipients

_DEFAULT_PORTS: Final = {"https": 443, "http": 80}

Resolve = Callable[[str, int], Awaitable[list[str]]]


class RefusedAddress(Exception):
    """The address is not one that this gateway calls; the message says why, and no secret."""


class NoticeTarget(msgspec.Struct, frozen=True):
    """An address that was judged: what to connect to, and by which name it is known."""

    scheme: str
    host: str
    port: int
    address: str
    path: str


class Doorkeeper:
    """Judges addresses by the policy's `notifications`."""

    def __init__(self, rules: NotificationRules, mail: EmailRules, *, can_mail: bool) -> None:
        self._rules = UrlRules(
            schemes=("https", "http"), allow=rules.allow, private=rules.private, redirects="allow"
        )
        self._private = PrivatePlaces(rules.private)
        self._mail = mail
        self._can_mail = can_mail

    def url_problems(self, url: str) -> list[str]:
        """What is wrong with an address as it is written; nothing is resolved."""
        found = [problem.message for problem in inspect_url(url, rules=self._rules)]
        if found:
            return found
        try:
            parts = urlsplit(url)
            is_whole = parts.scheme in _DEFAULT_PORTS and bool(parts.hostname) and parts.port != 0
        except ValueError:
            is_whole = False
        if not is_whole or not as_ascii(parts.hostname or "").isascii():
            return ["is an address such as https://example.com/hook"]
        if parts.scheme == "http" and not self._private.allow(read_host(_bracket(parts.hostname or ""))):
            return ["needs https: without it anybody on the way can read along"]
        return []

    def mail_problems(self, address: str) -> list[str]:
        if not self._can_mail:
            return ["this gateway sends no e-mail: its operator has to set QWED_SMTP_URL"]
        if "," in address or ";" in address or "<" in address:
            return ["is one plain address such as mailto:somebody@example.com"]
        return [problem.message for problem in inspect_recipients(address, rules=self._mail)]

    async def target(self, url: str, resolve: Resolve) -> NoticeTarget:
        """Raises `RefusedAddress` where any address of the host is one that may not be called."""
        problems = self.url_problems(url)
        if problems:
            raise RefusedAddress(problems[0])
        parts = urlsplit(url)
        host = as_ascii(parts.hostname or "")
        port = parts.port or _DEFAULT_PORTS[parts.scheme]
        addresses = await resolve(host, port)
        if not addresses:
            raise RefusedAddress("the host has no address")
        for address in addresses:
            self._judge(host, address)
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        return NoticeTarget(parts.scheme, host, port, addresses[0], path)

    def _judge(self, host: str, address: str) -> None:
        place = read_host(_bracket(address))
        if place.place is None or self._private.allow(place):
            return
        # A name that the policy lists is allowed wherever it leads, but to no cloud's metadata.
        if place.place != "metadata" and self._private.allow(Host(read_host(_bracket(host)).name)):
            return
        raise RefusedAddress(f"the host leads to a {place.place} place")


def _bracket(host: str) -> str:
    return f"[{host}]" if ":" in host else host


async def resolve(host: str, port: int) -> list[str]:
    """Every address of the host. Raises `RefusedAddress`."""
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise RefusedAddress("the host's name cannot be resolved") from None
    addresses = dict.fromkeys(str(entry[4][0]) for entry in found)
    return [str(ipaddress.ip_address(address.partition("%")[0])) for address in addresses]
