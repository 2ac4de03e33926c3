"""The identity provider, over HTTP: discovery, keys, tokens, groups, the end of a session there."""

import asyncio
import base64
import ipaddress
import urllib.parse
from collections.abc import Callable, Mapping
from typing import Any, Final

import httpx2
import msgspec
from joserfc.errors import JoseError
from joserfc.jwk import KeySet

from qwed.domain.json_types import Json
from qwed.http.signin.id_tokens import ExpectedToken, check_id_token
from qwed.http.signin.refused import ProviderUnavailable, SignInProblem, SignInRefused

TIMEOUT_SECONDS: Final = 10
MAX_ANSWER: Final = 512 * 1024
#: How long what the provider says about itself is believed, and how soon it is asked again for a new key.
FRESH_MS: Final = 3600 * 1000
LEAST_MS: Final = 10 * 1000
_WANTED_SCOPES: Final = ("profile", "email", "groups", "offline_access")


class Registration(msgspec.Struct, frozen=True):
    """How the provider knows this gateway."""

    issuer: str
    client_id: str
    client_secret: str | None
    public_url: str

    @property
    def redirect_uri(self) -> str:
        return f"{self.public_url}/sign-in/callback"


class Discovered(msgspec.Struct, frozen=True):
    """What the provider says of itself (OpenID Connect Discovery 1.0)."""

    issuer: str
    authorization_endpoint: str
    token_endpoint: str
    jwks_uri: str
    userinfo_endpoint: str | None = None
    end_session_endpoint: str | None = None
    scopes_supported: tuple[str, ...] = ()
    code_challenge_methods_supported: tuple[str, ...] = ()
    token_endpoint_auth_methods_supported: tuple[str, ...] = ("client_secret_basic",)
    authorization_response_iss_parameter_supported: bool = False


class ProviderTokens(msgspec.Struct, frozen=True):
    access_token: str
    id_token: str | None = None
    refresh_token: str | None = None


class Provider:
    def __init__(self, registration: Registration, now_ms: Callable[[], int]) -> None:
        self.registration = registration
        self._now_ms = now_ms
        self._discovered: tuple[int, Discovered] | None = None
        self._keys: tuple[int, KeySet] | None = None

    async def discover(self) -> Discovered:
        """Raises `ProviderUnavailable` also for a provider that would let a sign-in be weaker than ours."""
        if self._discovered is not None and self._now_ms() - self._discovered[0] < FRESH_MS:
            return self._discovered[1]
        issuer = self.registration.issuer
        raw = await self._get(f"{issuer.rstrip('/')}/.well-known/openid-configuration")
        try:
            found = msgspec.convert(raw, Discovered)
        except msgspec.ValidationError as error:
            raise ProviderUnavailable(f"its discovery document can't be used: {error}") from None
        _check_discovered(found, issuer)
        self._discovered = (self._now_ms(), found)
        return found

    async def authorization_url(self, *, state: str, nonce: str, challenge: str) -> str:
        found = await self.discover()
        scopes = ("openid", *(scope for scope in _WANTED_SCOPES if scope in found.scopes_supported))
        query = {
            "response_type": "code",
            "client_id": self.registration.client_id,
            "redirect_uri": self.registration.redirect_uri,
            "scope": " ".join(scopes),
            "state": state,
            "nonce": nonce,
            "code_challenge": challenge,
            "code_challenge_method": "S256",
        }
        if "offline_access" in scopes:
            query["prompt"] = "consent"
        return _with_query(found.authorization_endpoint, query)

    async def exchange(self, code: str, verifier: str) -> ProviderTokens:
        return await self._tokens(
            grant_type="authorization_code",
            code=code,
            redirect_uri=self.registration.redirect_uri,
            code_verifier=verifier,
        )

    async def refresh(self, refresh_token: str) -> ProviderTokens:
        return await self._tokens(grant_type="refresh_token", refresh_token=refresh_token)

    async def check(self, id_token: str, nonce: str | None, subject: str | None) -> dict[str, Json]:
        """The claims of an ID token. Keys are fetched again, once, for a token that none of them signed."""
        mine = self.registration
        now_seconds = self._now_ms() // 1000
        expected = ExpectedToken(mine.issuer, mine.client_id, now_seconds, nonce, subject)
        try:
            return check_id_token(id_token, await self._key_set(), expected)
        except SignInRefused:
            if self._keys is None or self._now_ms() - self._keys[0] < LEAST_MS:
                raise
            self._keys = None
            return check_id_token(id_token, await self._key_set(), expected)

    async def user_info(self, access_token: str, subject: str) -> Mapping[str, Json]:
        """Claims that the ID token does not have; nothing where the provider has no such endpoint."""
        endpoint = (await self.discover()).userinfo_endpoint
        if endpoint is None:
            return {}
        answer = await self._get(endpoint, {"Authorization": f"Bearer {access_token}"})
        if not isinstance(answer, dict) or answer.get("sub") != subject:
            raise SignInRefused(SignInProblem.TOKEN, "the identity provider answered about another person")
        return answer

    async def sign_out_url(self, id_token: str) -> str | None:
        """Where the person's session at the provider ends (RP-Initiated Logout 1.0)."""
        endpoint = (await self.discover()).end_session_endpoint
        if endpoint is None:
            return None
        back = f"{self.registration.public_url}/dashboard"
        return _with_query(endpoint, {"id_token_hint": id_token, "post_logout_redirect_uri": back})

    async def _key_set(self) -> KeySet:
        if self._keys is not None and self._now_ms() - self._keys[0] < FRESH_MS:
            return self._keys[1]
        raw = await self._get((await self.discover()).jwks_uri)
        try:
            usable = [key for key in raw["keys"] if key.get("kty") != "oct" and key.get("use") != "enc"]
            keys = KeySet.import_key_set({"keys": usable})
        except (JoseError, ValueError, TypeError, KeyError, AttributeError) as error:
            raise ProviderUnavailable(f"its keys can't be used: {type(error).__name__}") from None
        self._keys = (self._now_ms(), keys)
        return keys

    async def _tokens(self, **form: str) -> ProviderTokens:
        found, headers = await self.discover(), {"Accept": "application/json"}
        mine = self.registration
        if mine.client_secret is None:
            form["client_id"] = mine.client_id
        elif "client_secret_basic" in found.token_endpoint_auth_methods_supported:
            headers["Authorization"] = _basic(mine.client_id, mine.client_secret)
        else:
            form |= {"client_id": mine.client_id, "client_secret": mine.client_secret}
        status, raw = await self._send("POST", found.token_endpoint, headers, form)
        if 400 <= status < 500:
            # The code or the refresh token was used, is too old, or was taken back.
            raise SignInRefused(SignInProblem.PROVIDER, "the identity provider refused the sign-in")
        if status != 200:
            raise ProviderUnavailable(f"its token endpoint answered {status}")
        try:
            return msgspec.convert(raw, ProviderTokens)
        except msgspec.ValidationError:
            raise ProviderUnavailable("its token endpoint answered something else") from None

    async def _get(self, url: str, headers: Mapping[str, str] | None = None) -> Any:
        status, answer = await self._send("GET", url, {"Accept": "application/json", **(headers or {})})
        if status in (401, 403):
            raise SignInRefused(SignInProblem.PROVIDER, "the identity provider refused the sign-in")
        if status != 200:
            raise ProviderUnavailable(f"it answered {status}")
        return answer

    async def _send(
        self, method: str, url: str, headers: Mapping[str, str], form: Mapping[str, str] | None = None
    ) -> tuple[int, Any]:
        """Bounded in time and size; redirects are not followed, and no proxy of the environment is used."""
        try:
            async with (
                asyncio.timeout(TIMEOUT_SECONDS),
                httpx2.AsyncClient(
                    trust_env=False, follow_redirects=False, timeout=TIMEOUT_SECONDS
                ) as client,
                client.stream(method, url, headers=dict(headers), data=form) as response,
            ):
                body = bytearray()
                async for part in response.aiter_bytes():
                    body += part
                    if len(body) > MAX_ANSWER:
                        raise ProviderUnavailable("its answer is too long")
                status = response.status_code
        except (httpx2.HTTPError, httpx2.InvalidURL, TimeoutError, OSError) as error:
            raise ProviderUnavailable(f"it does not answer ({type(error).__name__})") from None
        try:
            return status, msgspec.json.decode(body)
        except (msgspec.DecodeError, RecursionError):
            if status == 200:
                raise ProviderUnavailable("its answer is not JSON") from None
            return status, None


def _check_discovered(found: Discovered, issuer: str) -> None:
    if found.issuer != issuer:
        raise ProviderUnavailable("its discovery document names another issuer")
    if "S256" not in found.code_challenge_methods_supported:
        raise ProviderUnavailable("it does not offer PKCE with S256")
    endpoints = (
        *(found.authorization_endpoint, found.token_endpoint, found.jwks_uri),
        *(found.userinfo_endpoint, found.end_session_endpoint),
    )
    if not all(endpoint is None or is_safe_address(endpoint) for endpoint in endpoints):
        raise ProviderUnavailable("one of its endpoints has no TLS")


def is_safe_address(url: str) -> bool:
    """TLS, or this machine itself."""
    try:
        parts = urllib.parse.urlsplit(url)
        host = parts.hostname or ""
    except ValueError:
        return False
    if parts.scheme == "https":
        return bool(host)
    try:
        is_here = host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        is_here = False
    return parts.scheme == "http" and is_here


def _with_query(url: str, query: Mapping[str, str]) -> str:
    return f"{url}{'&' if '?' in url else '?'}{urllib.parse.urlencode(query)}"


def _basic(client_id: str, secret: str) -> str:
    # RFC 6749 2.3.1: both are form-encoded before they are joined.
    joined = f"{urllib.parse.quote_plus(client_id)}:{urllib.parse.quote_plus(secret)}"
    return f"Basic {base64.b64encode(joined.encode()).decode()}"
