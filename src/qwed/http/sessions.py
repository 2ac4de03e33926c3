"""A person's browser, signed in with an API key: a sealed cookie that every worker can open.

The cookie holds no key, only the hash under which the store knows it, so that a key which is revoked
ends its sessions at the next request. It is encrypted and authenticated under a secret that follows
from the deployment's signing key: nothing is kept but, in the store, the sessions that were ended early.
"""

import base64
import hmac
import secrets
import struct
from collections.abc import Callable
from functools import cached_property
from http.cookies import CookieError, SimpleCookie
from typing import Final

import msgspec
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from starlette.requests import Request
from starlette.responses import Response

from qwed.gateway.kernel.ports import Clock

LIFETIME_SECONDS: Final = 12 * 3600
CSRF_HEADER: Final = "X-CSRF-Token"
SAFE_METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS"})

_PURPOSE: Final = b"qwed dashboard session 1"
_NONCE_BYTES: Final = 12
_ID_BYTES: Final = 16
_HASH_BYTES: Final = 32
_CONTENT: Final = struct.Struct(f">Q{_ID_BYTES}s{_HASH_BYTES}s")
_SEALED_BYTES: Final = _NONCE_BYTES + _CONTENT.size + 16
_SEALED_LENGTH: Final = -(-_SEALED_BYTES * 4 // 3)


class SignInBody(msgspec.Struct, forbid_unknown_fields=True):
    api_key: str


class Session(msgspec.Struct, frozen=True):
    session_id: bytes
    key_hash: bytes
    expires_ms: int


class Sessions:
    """Opens and closes sessions. `derive` gives the deployment's secret for a purpose."""

    def __init__(self, derive: Callable[[bytes], bytes], clock: Clock, *, behind_proxy: bool = False) -> None:
        self._derive = derive
        self._clock = clock
        self._behind_proxy = behind_proxy

    @cached_property
    def _cipher(self) -> AESGCM:
        return AESGCM(self._derive(_PURPOSE))

    def opened(self, key_hash: bytes) -> Session:
        expires_ms = self._clock.now_ms() + LIFETIME_SECONDS * 1000
        return Session(secrets.token_bytes(_ID_BYTES), key_hash, expires_ms)

    def of(self, request: Request) -> Session | None:
        """The session that the request's cookie stands for; None where it is forged or too old. Whether it
        was ended, the store knows."""
        session = self._unsealed(_cookie(request, self._name(request)))
        if session is None or session.expires_ms <= self._clock.now_ms():
            return None
        return session

    def csrf_token(self, session: Session) -> str:
        """What a page of ours can read and another site cannot."""
        return hmac.digest(self._derive(b"qwed csrf 1"), session.session_id, "sha256").hex()

    def is_forged(self, request: Request, session: Session) -> bool:
        """Whether a request that changes something may have been made by another site's page."""
        if request.method in SAFE_METHODS:
            return False
        given = request.headers.get(CSRF_HEADER, "").encode("latin-1")
        return is_cross_site(request) or not hmac.compare_digest(given, self.csrf_token(session).encode())

    def grant(self, request: Request, response: Response, session: Session) -> None:
        self._set_cookie(request, response, self._sealed(session), LIFETIME_SECONDS)

    def take_back(self, request: Request, response: Response) -> None:
        self._set_cookie(request, response, "", 0)

    def _set_cookie(self, request: Request, response: Response, value: str, max_age: int) -> None:
        response.set_cookie(
            self._name(request),
            value,
            max_age=max_age,
            path="/",
            secure=self._is_secure(request),
            httponly=True,
            samesite="strict",
        )

    def _is_secure(self, request: Request) -> bool:
        """Behind a proxy it is the proxy that ends TLS."""
        return self._behind_proxy or request.url.scheme == "https"

    def _name(self, request: Request) -> str:
        # The prefix makes browsers refuse such a cookie from anywhere but this host over TLS.
        return "__Host-qwed_session" if self._is_secure(request) else "qwed_session"

    def _sealed(self, session: Session) -> str:
        nonce = secrets.token_bytes(_NONCE_BYTES)
        content = _CONTENT.pack(session.expires_ms, session.session_id, session.key_hash)
        sealed = nonce + self._cipher.encrypt(nonce, content, _PURPOSE)
        return base64.urlsafe_b64encode(sealed).decode("ascii").rstrip("=")

    def _unsealed(self, text: str | None) -> Session | None:
        if text is None or len(text) != _SEALED_LENGTH or not text.isascii():
            return None
        try:
            sealed = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
            content = self._cipher.decrypt(sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:], _PURPOSE)
            expires_ms, session_id, key_hash = _CONTENT.unpack(content)
        except (ValueError, InvalidTag, struct.error):
            return None
        return Session(session_id, key_hash, expires_ms)


def is_cross_site(request: Request) -> bool:
    """What browsers say of themselves: this request was made by a page of another origin."""
    site = request.headers.get("Sec-Fetch-Site")
    return site is not None and site not in ("same-origin", "none")


def _cookie(request: Request, name: str) -> str | None:
    for header, value in request.scope["headers"]:
        if header == b"cookie":
            try:
                found = SimpleCookie(str(value, "latin-1")).get(name)
            except CookieError:
                return None
            if found is not None:
                return found.value
    return None
