"""A person's browser, signed in with an API key or with an identity provider: a sealed cookie that every
worker can open.

The cookie holds no key, only the hash under which the store knows it, so that a key which is revoked
ends its sessions at the next request. It is encrypted and authenticated under a secret that follows
from the deployment's signing key: of a key's session nothing is kept but, in the store, that it was ended
early. What an identity provider said of a person is kept in the store, sealed (`qwed.http.signin`).
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
#: No credential has this hash.
_NO_KEY: Final = bytes(_HASH_BYTES)
_MAX_TEXT: Final = 4096


class SignInBody(msgspec.Struct, forbid_unknown_fields=True):
    api_key: str


class Session(msgspec.Struct, frozen=True):
    """`key_hash` is None for a person whom an identity provider knows."""

    session_id: bytes
    key_hash: bytes | None
    expires_ms: int


class Sealer:
    """Encrypts and authenticates under a secret of the deployment that is for one purpose."""

    def __init__(self, derive: Callable[[bytes], bytes], purpose: bytes) -> None:
        self._derive = derive
        self._purpose = purpose

    @cached_property
    def _cipher(self) -> AESGCM:
        return AESGCM(self._derive(self._purpose))

    def seal(self, content: bytes, belongs_to: bytes = b"") -> bytes:
        nonce = secrets.token_bytes(_NONCE_BYTES)
        return nonce + self._cipher.encrypt(nonce, content, self._purpose + belongs_to)

    def open(self, sealed: bytes, belongs_to: bytes = b"") -> bytes | None:
        try:
            return self._cipher.decrypt(
                sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:], self._purpose + belongs_to
            )
        except (ValueError, InvalidTag):
            return None

    def seal_text(self, content: bytes) -> str:
        return base64.urlsafe_b64encode(self.seal(content)).decode("ascii").rstrip("=")

    def open_text(self, text: str) -> bytes | None:
        if len(text) > _MAX_TEXT or not text.isascii():
            return None
        try:
            sealed = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
        except ValueError:
            return None
        return self.open(sealed)


class Sessions:
    """Opens and closes sessions. `derive` gives the deployment's secret for a purpose."""

    def __init__(self, derive: Callable[[bytes], bytes], clock: Clock, *, behind_proxy: bool = False) -> None:
        self._derive = derive
        self._sealer = Sealer(derive, _PURPOSE)
        self._clock = clock
        self._behind_proxy = behind_proxy

    def opened(self, key_hash: bytes | None) -> Session:
        expires_ms = self._clock.now_ms() + LIFETIME_SECONDS * 1000
        return Session(secrets.token_bytes(_ID_BYTES), key_hash, expires_ms)

    def of(self, request: Request) -> Session | None:
        """The session that the request's cookie stands for; None where it is forged or too old. Whether it
        was ended, the store knows."""
        session = self._unseal(_cookie(request, self._name(request)))
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
        self._set_cookie(request, response, self._seal(session), LIFETIME_SECONDS)

    def take_back(self, request: Request, response: Response) -> None:
        self._set_cookie(request, response, "", 0)

    def begin(self, request: Request, response: Response, sealed: str, max_age: int) -> None:
        """What this browser keeps while the person is at the identity provider; "" takes it back. It must
        come along when that provider sends the browser back, so it is not `strict`."""
        response.set_cookie(
            self._flow_name(request),
            sealed,
            max_age=max_age,
            path="/",
            secure=self._is_secure(request),
            httponly=True,
            samesite="lax",
        )

    def begun(self, request: Request) -> str | None:
        return _cookie(request, self._flow_name(request))

    def _flow_name(self, request: Request) -> str:
        return "__Host-qwed_sign_in" if self._is_secure(request) else "qwed_sign_in"

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

    def _seal(self, session: Session) -> str:
        key_hash = session.key_hash or _NO_KEY
        return self._sealer.seal_text(_CONTENT.pack(session.expires_ms, session.session_id, key_hash))

    def _unseal(self, text: str | None) -> Session | None:
        if text is None or len(text) != _SEALED_LENGTH:
            return None
        content = self._sealer.open_text(text)
        if content is None:
            return None
        expires_ms, session_id, key_hash = _CONTENT.unpack(content)
        return Session(session_id, None if key_hash == _NO_KEY else key_hash, expires_ms)


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
