"""A signing key in an HSM, by its PKCS#11 URI (RFC 7512).

    pkcs11:token=qwed;object=signing?module-path=/usr/lib/softhsm/libsofthsm2.so&pin-source=file:/run/secrets/pin

The PIN stands in a file or a variable, never in the URI.
"""

import os
import threading
import urllib.parse
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import msgspec
import pkcs11
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from pkcs11.util.ec import encode_ec_public_key, encode_named_curve_parameters

from qwed.ect.remote_keys import KeyUnusable

_PATH: Final = frozenset({"token", "serial", "object", "id", "type"})
_QUERY: Final = frozenset({"module-path", "pin-source"})
_CURVES: Final[Mapping[str, str]] = {"ES256": "secp256r1", "ES384": "secp384r1"}


class Pkcs11Uri(msgspec.Struct, frozen=True):
    module: str
    pin_source: str
    token: str | None = None
    serial: bytes | None = None
    label: str | None = None
    id: bytes | None = None


def parse_uri(uri: str) -> Pkcs11Uri:
    """Raises `KeyUnusable`, which quotes no value: one of them may be a PIN."""
    path, _, query = uri.removeprefix("pkcs11:").partition("?")
    found = {**_attributes(path, ";", _PATH), **_attributes(query, "&", _QUERY)}
    texts = {name: value.decode("utf-8", "replace") for name, value in found.items()}
    if texts.get("type", "private") != "private":
        raise KeyUnusable("a pkcs11 URI of a signing key has type=private, or no type")
    if not {"token", "serial"} & found.keys() or not {"object", "id"} & found.keys():
        raise KeyUnusable("a pkcs11 URI names the token (token or serial) and the key (object or id)")
    if not texts.get("module-path", "").startswith("/") or "pin-source" not in found:
        raise KeyUnusable("a pkcs11 URI ends in ?module-path=/…/library.so&pin-source=file:/… (or env:NAME)")
    return Pkcs11Uri(
        texts["module-path"],
        texts["pin-source"],
        texts.get("token"),
        found.get("serial"),
        texts.get("object"),
        found.get("id"),
    )


def _attributes(text: str, separator: str, known: frozenset[str]) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    for part in filter(None, text.split(separator)):
        name, equals, value = part.partition("=")
        if name == "pin-value":
            raise KeyUnusable("a PIN does not stand in a URI, which logs show: use pin-source")
        if name not in known or not equals or name in found:
            raise KeyUnusable(f"a pkcs11 URI has each of {', '.join(sorted(_PATH | _QUERY))} once at most")
        found[name] = urllib.parse.unquote_to_bytes(value)
    return found


class Pkcs11Key:
    """Sessions belong to one process and to one thread at a time; one that broke is opened once more."""

    def __init__(self, uri: Pkcs11Uri, pin: str) -> None:
        self._uri = uri
        self._pin = pin
        self._lock = threading.Lock()
        self._opened: tuple[int, Any] | None = None
        self._public = _public_of(uri, pin)

    def __repr__(self) -> str:
        return f"Pkcs11Key({self._uri.label or self._uri.id!r})"

    def public_key(self) -> ec.EllipticCurvePublicKey:
        return self._public

    def sign_digest(self, digest: bytes) -> tuple[int, int]:
        with self._lock:
            try:
                signature = self._sign(digest)
            except pkcs11.PKCS11Error:
                self._opened = None
                try:
                    signature = self._sign(digest)
                except pkcs11.PKCS11Error as error:
                    raise KeyUnusable(f"the HSM does not sign: {type(error).__name__}") from None
        half = len(signature) // 2
        return int.from_bytes(signature[:half]), int.from_bytes(signature[half:])

    def _sign(self, digest: bytes) -> bytes:
        if self._opened is None or self._opened[0] != os.getpid():
            session = _session(self._uri, self._pin)
            self._opened = os.getpid(), _find(session, self._uri, pkcs11.ObjectClass.PRIVATE_KEY)
        signature: bytes = self._opened[1].sign(digest, mechanism=pkcs11.Mechanism.ECDSA)
        return signature


def open_key(uri: str, environ: Mapping[str, str]) -> Pkcs11Key:
    """Raises `KeyUnusable`."""
    parsed = parse_uri(uri)
    return Pkcs11Key(parsed, _pin(parsed.pin_source, environ))


def create_key(uri: str, algorithm: str, environ: Mapping[str, str]) -> None:
    """A key that never leaves the token. Raises `KeyUnusable`, also where one has that name already."""
    parsed = parse_uri(uri)
    curve = _CURVES.get(algorithm)
    if curve is None:
        raise KeyUnusable(f"keys in an HSM are made for {', '.join(_CURVES)}, not {algorithm!r}")
    session = _session(parsed, _pin(parsed.pin_source, environ), is_writing=True)
    try:
        if list(session.get_objects(_template(parsed, pkcs11.ObjectClass.PRIVATE_KEY))):
            raise KeyUnusable("the token has a key of that name: use it, or choose another name")
        named = {pkcs11.Attribute.EC_PARAMS: encode_named_curve_parameters(curve)}
        session.create_domain_parameters(pkcs11.KeyType.EC, named, local=True).generate_keypair(
            store=True,
            label=parsed.label or "qwed",
            id=parsed.id or os.urandom(8),
            private_template={pkcs11.Attribute.SENSITIVE: True, pkcs11.Attribute.EXTRACTABLE: False},
        )
    except pkcs11.PKCS11Error as error:
        raise KeyUnusable(f"the HSM made no key: {type(error).__name__}") from None
    finally:
        session.close()


def _pin(source: str, environ: Mapping[str, str]) -> str:
    scheme, _, rest = source.partition(":")
    if scheme == "env" and rest in environ:
        return environ[rest]
    if scheme == "file" and rest:
        try:
            return Path(rest.removeprefix("//")).read_text("utf-8").rstrip("\r\n")
        except (OSError, UnicodeError):
            raise KeyUnusable("the file with the PIN can't be read") from None
    raise KeyUnusable("pin-source is file:PATH, or env:NAME of a variable that is set")


def _session(uri: Pkcs11Uri, pin: str, *, is_writing: bool = False) -> Any:
    try:
        library = pkcs11.lib(uri.module)
    except (pkcs11.PKCS11Error, RuntimeError, OSError):
        raise KeyUnusable(f"{uri.module} is no PKCS#11 library that can be loaded") from None
    try:
        token = library.get_token(token_label=uri.token, token_serial=uri.serial)
        try:
            return token.open(user_pin=pin, rw=is_writing)
        except pkcs11.UserAlreadyLoggedIn:
            # A login is of the whole process: another session of ours has it.
            return token.open(rw=is_writing)
    except pkcs11.PinIncorrect:
        raise KeyUnusable("the token refuses the PIN") from None
    except (pkcs11.NoSuchToken, pkcs11.MultipleTokensReturned):
        raise KeyUnusable("not exactly one token has the name that the URI gives") from None
    except pkcs11.PKCS11Error as error:
        raise KeyUnusable(f"the token can't be opened: {type(error).__name__}") from None


def _template(uri: Pkcs11Uri, kind: Any) -> dict[Any, Any]:
    named = {pkcs11.Attribute.LABEL: uri.label, pkcs11.Attribute.ID: uri.id}
    return {
        pkcs11.Attribute.CLASS: kind,
        **{name: value for name, value in named.items() if value is not None},
    }


def _find(session: Any, uri: Pkcs11Uri, kind: Any) -> Any:
    found = list(session.get_objects(_template(uri, kind)))
    if len(found) != 1:
        raise KeyUnusable(f"the token has {len(found)} keys of the name that the URI gives, not one")
    return found[0]


def _public_of(uri: Pkcs11Uri, pin: str) -> ec.EllipticCurvePublicKey:
    session = _session(uri, pin)
    try:
        _find(session, uri, pkcs11.ObjectClass.PRIVATE_KEY)
        der = encode_ec_public_key(_find(session, uri, pkcs11.ObjectClass.PUBLIC_KEY))
        key = serialization.load_der_public_key(der)
    except (pkcs11.PKCS11Error, ValueError, TypeError):
        key = None
    finally:
        session.close()
    if not isinstance(key, ec.EllipticCurvePublicKey):
        raise KeyUnusable("the key in the token is no P-256 or P-384 key with its public half beside it")
    return key
