"""Statements that we sign (checkpoints, receipts, attestations), read with the public keys alone."""

from collections.abc import Mapping

from qwed.domain.json_types import Json
from qwed.ect import base64url, jwk, jws
from qwed.ect.jwk import PublicKey
from qwed.ect.jws import InvalidToken


def keys_of(key_set: Mapping[str, Json]) -> dict[str, PublicKey]:
    """The keys of a JWKS by their `kid`. Raises `InvalidKey`."""
    keys = key_set.get("keys")
    if not isinstance(keys, list) or not keys:
        raise jwk.InvalidKey("a JWKS has an array of keys")
    found = [jwk.read(item) for item in keys]
    by_kid = {key.kid: key for key in found if key.kid is not None}
    if len(by_kid) != len(found):
        raise jwk.InvalidKey("each key of a JWKS has a kid of its own")
    return by_kid


def verify_claims(token: str, typ: str, keys: Mapping[str, PublicKey]) -> dict[str, Json]:
    """The claims of a token of that type that one of the keys signed. Raises `InvalidToken`."""
    unverified = jws.parse(token)
    if unverified.header.typ != typ:
        raise InvalidToken(f"typ is {unverified.header.typ!r}, not {typ!r}")
    key = keys.get(unverified.header.kid)
    if key is None:
        raise InvalidToken(f"no key {unverified.header.kid!r}")
    return jws.claims_of(jws.verify_signature(unverified, key, key.algorithms, low_s_only=True))


def text(claims: Mapping[str, Json], name: str) -> str:
    value = claims.get(name)
    if not isinstance(value, str) or not value:
        raise InvalidToken(f"{name} is a string")
    return value


def number(claims: Mapping[str, Json], name: str) -> int:
    value = claims.get(name)
    if type(value) is not int or value < 0:
        raise InvalidToken(f"{name} is a whole number")
    return value


def digest(claims: Mapping[str, Json], name: str) -> bytes:
    try:
        value = base64url.decode(text(claims, name))
    except base64url.NotBase64Url:
        value = b""
    if len(value) != 32:
        raise InvalidToken(f"{name} is a SHA-256 in base64url")
    return value
