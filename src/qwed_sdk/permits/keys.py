"""The keys of a gateway, from its key set: fetched, cached for a while, and fetched again for a new key."""

import json
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import httpx2
import msgspec

from qwed.domain.codes import Code
from qwed_sdk.extras import extra_needed
from qwed_sdk.permits.errors import PermitRefused
from qwed_sdk.results import Json

try:
    from qwed.ect import jwk
    from qwed.ect.jwk import PublicKey
except ModuleNotFoundError as missing:
    raise extra_needed(__name__, "permits", missing) from None

CACHED_SECONDS: Final = 300.0
#: An unknown key is looked for at most so often: names in tokens cost nothing to make up.
LOOK_AGAIN_SECONDS: Final = 10.0
TIMEOUT_SECONDS: Final = 5.0
PAUSE_SECONDS: Final = 1.0
MAX_BYTES: Final = 1024 * 1024
ALGORITHMS: Final = frozenset({"ES256", "ES384", "ES512", "Ed25519", "EdDSA"})
_LOOPBACK: Final = ("localhost", "127.0.0.1", "::1")

Fetch = Callable[[], bytes]


class TrustedKey(msgspec.Struct, frozen=True):
    """`retired_at`: it signs nothing since then."""

    public: PublicKey
    algorithms: frozenset[str]
    issuer: str
    retired_at: int | None = None


class KeySet:
    """Thread-safe. What can't be read is refused as `PERMIT_UNVERIFIABLE`."""

    def __init__(self, source: str | Path, issuer: str | None = None) -> None:
        self._fetch = _fetcher(source)
        self._issuer = issuer
        self._lock = threading.Lock()
        self._keys: Mapping[str, TrustedKey] = {}
        self._read_at: float | None = None
        self._failure: tuple[float, str] | None = None

    def find(self, kid: str) -> TrustedKey | None:
        """The key of this name, of the issuer; None where the set has none."""
        key = self._keys.get(kid)
        if key is not None and not self._is_older(CACHED_SECONDS):
            return key
        with self._lock:
            if self._is_older(CACHED_SECONDS) or (
                kid not in self._keys and self._is_older(LOOK_AGAIN_SECONDS)
            ):
                self._read()
        return self._keys.get(kid)

    def _is_older(self, seconds: float) -> bool:
        return self._read_at is None or time.monotonic() - self._read_at > seconds

    def _read(self) -> None:
        # Those who wait for the lock do not all try what has just failed.
        if self._failure is not None and time.monotonic() - self._failure[0] < PAUSE_SECONDS:
            raise PermitRefused(Code.PERMIT_UNVERIFIABLE, self._failure[1])
        try:
            found = json.loads(self._fetch())
            keys = {str(given["kid"]): _trust(given) for given in found["keys"] if _is_ours(given)}
            issuer = self._issuer or _only_issuer(keys.values())
        except (OSError, httpx2.HTTPError, ValueError, KeyError, TypeError, jwk.InvalidKey) as error:
            self._failure = (time.monotonic(), f"the gateway's keys can't be read ({_describe(error)})")
            raise PermitRefused(Code.PERMIT_UNVERIFIABLE, self._failure[1]) from error
        self._failure = None
        self._keys = {kid: key for kid, key in keys.items() if key.issuer == issuer}
        self._read_at = time.monotonic()


def _is_ours(given: Mapping[str, Json]) -> bool:
    """Of a key set only signing keys with asymmetric algorithms are read: a secret is nobody's to publish."""
    return given.get("kty") in ("EC", "OKP") and given.get("use", "sig") == "sig" and "kid" in given


def _trust(given: Mapping[str, Json]) -> TrustedKey:
    retired = given.get("exp")
    if retired is not None and type(retired) is not int:
        raise ValueError("exp is a number of seconds")
    members = {name: value for name, value in given.items() if name != "exp"}
    public = jwk.read(members)
    return TrustedKey(public, public.algorithms & ALGORITHMS, str(given["kid"]).partition("#")[0], retired)


class _WrongSet(ValueError):
    """What is wrong with the set is for the operator to read."""


def _describe(error: Exception) -> str:
    return str(error) if isinstance(error, _WrongSet) else type(error).__name__


def _only_issuer(keys: Iterable[TrustedKey]) -> str:
    issuers = {key.issuer for key in keys}
    if len(issuers) != 1:
        raise _WrongSet(f"the key set has keys of {len(issuers)} issuers: say which one with issuer=")
    return next(iter(issuers))


def _fetcher(source: str | Path) -> Fetch:
    if isinstance(source, Path) or "://" not in str(source):
        return Path(source).read_bytes
    address = str(source)
    parts = urlsplit(address)
    if parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in _LOOPBACK):
        raise ValueError("keys are fetched over https, or from this machine itself")

    def fetch() -> bytes:
        with httpx2.Client(timeout=TIMEOUT_SECONDS, follow_redirects=False) as client:
            response = client.get(address)
            response.raise_for_status()
            if len(response.content) > MAX_BYTES:
                raise ValueError("the key set is too large")
            return response.content

    return fetch
