"""Who asks, and for which host: a caller is known by the credential of this run, never by its address."""

import base64
import binascii
import hmac
import re
import secrets
from typing import Final

from qwed.broker.refusals import BrokerRefused
from qwed.broker.request_matches import BrokeredHeaders
from qwed.domain.broker_rules import HTTPS_PORT
from qwed.domain.codes import Code

USER: Final = "run"
_AUTHORITY: Final = re.compile(r"([A-Za-z0-9.-]{1,253}):([0-9]{1,5})")
_ABSOLUTE: Final = re.compile(r"http://([A-Za-z0-9.-]{1,253})(?::80)?(/[^#]*)")
_BASED: Final = re.compile(r"/([A-Za-z0-9_-]{1,100})/([A-Za-z0-9.-]{1,253})(/[^#]*)")


class RunCaller:
    """The credential of one run, made for it."""

    def __init__(self) -> None:
        self.secret = secrets.token_urlsafe(32)

    def proxy_url(self, address: str) -> str:
        return f"http://{USER}:{self.secret}@{address}"

    def base_url(self, address: str) -> str:
        """`/api.example.com/v1/…` is added to it."""
        return f"http://{address}/{self.secret}"

    def require(self, headers: BrokeredHeaders) -> None:
        """Raises `BrokerRefused` unless the request has the credential of the run."""
        scheme, _, given = (headers.get("proxy-authorization") or "").partition(" ")
        try:
            user, _, password = base64.b64decode(given, validate=True).decode().partition(":")
        except (binascii.Error, ValueError):
            user = password = ""
        if scheme.lower() != "basic" or user != USER or not self._is_own(password):
            raise BrokerRefused(Code.BROKER_CALLER, "who asks is not known: no credential of this run")

    def _is_own(self, given: str) -> bool:
        return hmac.compare_digest(given.encode(), self.secret.encode())

    def place_of(self, target: str, headers: BrokeredHeaders) -> tuple[str, str]:
        """Host and path of a request that is not in a tunnel: to a proxy, or to the base URL."""
        if based := _BASED.fullmatch(target):
            if self._is_own(based[1]):
                return based[2].lower(), based[3]
            raise BrokerRefused(Code.BROKER_CALLER, "the base URL is not that of this run")
        self.require(headers)
        if absolute := _ABSOLUTE.fullmatch(target):
            return absolute[1].lower(), absolute[2]
        raise BrokerRefused(Code.BROKER_REQUEST, "the request names no host that the broker could ask")


def authority_of(target: str) -> tuple[str, int]:
    """Host and port of a CONNECT."""
    found = _AUTHORITY.fullmatch(target)
    if found is None or not 0 < int(found[2]) < 65_536:
        raise BrokerRefused(Code.BROKER_REQUEST, "CONNECT names a host and a port")
    return found[1].lower(), int(found[2])


def require_host(host: str, headers: BrokeredHeaders) -> None:
    """Inside a tunnel to a host, requests are for that host."""
    given = (headers.get("host") or "").lower()
    if given not in (host, f"{host}:{HTTPS_PORT}"):
        raise BrokerRefused(Code.BROKER_REQUEST, f"the request is for {given[:80]!r}, in a tunnel to {host}")
