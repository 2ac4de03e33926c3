"""Compact JWS (RFC 7515), strictly: one form, nothing fetched, nothing guessed.

Two doors. `verify` takes any compact JWS and the key it should be signed with. `parse` and
`verify_signature` are for our own kinds of token, whose header names `alg`, `kid` and `typ`. In both, header
members that say nothing about verification are ignored, as the RFC asks; those that would change it, or
bring a key of their own, are refused.
"""

import functools
from collections.abc import Collection, Mapping
from typing import Any, Final

import msgspec

from qwed.domain import json_text
from qwed.domain.json_types import Json
from qwed.ect import base64url, jwk
from qwed.ect.jwk import PublicKey

MAX_TOKEN_BYTES: Final = 8_192
MAX_FOREIGN_TOKEN_BYTES: Final = 262_144
_MAX_HEADER_CHARACTERS: Final = 8_192
_MAX_HEADER_DEPTH: Final = 16
# `crit` makes members mandatory and we know none; `zip` and `enc` belong to encryption; the rest bring
# keys along, which are never taken from the token they would have to vouch for.
_REFUSED_MEMBERS: Final = frozenset({"crit", "zip", "enc", "jku", "x5u", "x5c"})
_TEXT_MEMBERS: Final = ("alg", "kid", "typ", "cty", "x5t", "x5t#S256")


class InvalidToken(Exception):
    """The token is refused; the reason is for the log, never for the sender."""


class Header(msgspec.Struct, frozen=True, gc=False):
    alg: str
    kid: str
    typ: str


class Unverified(msgspec.Struct, frozen=True, gc=False):
    """A token that parses. Its payload says nothing until `verify_signature` has seen the signature."""

    header: Header
    payload: bytes
    signing_input: bytes
    signature: bytes


def verify(token: str, jwk: Mapping[str, Json], algorithms: Collection[str]) -> bytes:
    """The payload of a compact JWS that the key in the JWK signed. Raises `InvalidToken`, and only that.

    The key decides: the header's `alg` has to be one of `algorithms` *and* one the key serves.
    """
    key = _key(jwk)
    segment, payload, signing_input, signature = _split(token, MAX_FOREIGN_TOKEN_BYTES)
    header = _members(segment)
    _refuse_what_changes_verification(header)
    _refuse_other_keys(header, key)
    algorithm = header.get("alg")
    if not isinstance(algorithm, str) or not _is_allowed(algorithm, algorithms):
        raise InvalidToken("the algorithm is not one of those allowed")
    if not key.verifies(algorithm, signature, signing_input):
        raise InvalidToken("wrong signature")
    return payload


def parse(token: str, max_bytes: int = MAX_TOKEN_BYTES) -> Unverified:
    """A token of one of our kinds: its header names `alg`, `kid` and `typ`. Raises `InvalidToken`."""
    segment, payload, signing_input, signature = _split(token, max_bytes)
    return Unverified(_type_header(segment), payload, signing_input, signature)


def verify_signature(
    unverified: Unverified, key: PublicKey, algorithms: Collection[str], *, low_s_only: bool = False
) -> bytes:
    """The payload, now that the key has been seen to sign it. Raises `InvalidToken`.

    `low_s_only`: an ECDSA signature has a twin that fits as well; signers that always emit the lower one,
    as ours do, let verifiers refuse the other.
    """
    if not _is_allowed(unverified.header.alg, algorithms):
        raise InvalidToken("the algorithm is not one of those allowed")
    if low_s_only and not is_low_s(unverified.header.alg, unverified.signature):
        raise InvalidToken("the twin of a signature")
    if not key.verifies(unverified.header.alg, unverified.signature, unverified.signing_input):
        raise InvalidToken("wrong signature")
    return unverified.payload


def is_low_s(algorithm: str, signature: bytes) -> bool:
    """True of every signature that is not ECDSA."""
    half = _HALF_ORDERS.get(algorithm)
    return half is None or int.from_bytes(signature[len(signature) // 2 :]) <= half


_HALF_ORDERS: Final = {curve.algorithm: curve.order // 2 for curve in jwk.CURVES.values()}


def compose(header_segment: bytes, payload: bytes) -> bytes:
    """The bytes that are signed."""
    return header_segment + b"." + base64url.encode_bytes(payload)


def claims_of(payload: bytes, max_depth: int = 16) -> dict[str, Json]:
    """A payload that is one JSON object without repeated members. Raises `InvalidToken`."""
    value = _plain_object(payload)
    if value is not None:
        return value
    try:
        value = json_text.loads(payload, max_depth=max_depth)
    except json_text.JsonError as error:
        raise InvalidToken(str(error)) from None
    if not isinstance(value, dict):
        raise InvalidToken("not a JSON object")
    if holds_unrepresentable(value):
        raise InvalidToken("a number or string that JSON can't hold")
    return value


_PLAIN: Final = msgspec.json.Decoder(dict[str, Json], float_hook=json_text.decimal_of)
_PLAIN_INTEGER: Final = 2**63
#: A member's colon stands right behind its name, or else behind one of these.
_SPACED_COLONS: Final = (b" :", b"\n:", b"\t:", b"\r:")


def _plain_object(payload: bytes) -> dict[str, Json] | None:
    """The fast way, for an object that is easily seen to be strict; None says nothing.

    The colons that may end a name are at least as many as the members written, and those are at least as
    many as the members read: where the ends are equal, none was written twice.
    """
    if b"\\" in payload or payload.count(b"{") + payload.count(b"[") > 8:
        return None
    try:
        value: dict[str, Json] = _PLAIN.decode(payload)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        return None
    colons = payload.count(b'":')
    if b" " in payload or b"\n" in payload or b"\t" in payload or b"\r" in payload:
        colons += sum(map(payload.count, _SPACED_COLONS))
    if colons != _count_members(value):
        return None
    return value


def _count_members(value: Any) -> int:
    """One too few for every number that is not plain: the strict reader looks at those."""
    count, items = (len(value), value.values()) if type(value) is dict else (0, value)
    for item in items:
        kind = type(item)
        if kind is str:
            continue
        if kind is dict or kind is list:
            count += _count_members(item)
        elif kind is json_text.Unrepresentable or (
            kind is int and not -_PLAIN_INTEGER < item < _PLAIN_INTEGER
        ):
            count -= 1
    return count


def holds_unrepresentable(value: Any) -> bool:
    if isinstance(value, dict):
        return any(map(holds_unrepresentable, value.values()))
    if isinstance(value, list):
        return any(map(holds_unrepresentable, value))
    return isinstance(value, json_text.Unrepresentable)


def _key(given: Mapping[str, Json]) -> PublicKey:
    try:
        return jwk.read(given)
    except jwk.InvalidKey as error:
        raise InvalidToken(str(error)) from None


def _is_allowed(algorithm: str, algorithms: Collection[str]) -> bool:
    # A string is a collection too, of letters: "ES256" would then allow "ES".
    if isinstance(algorithms, str):
        raise TypeError("algorithms is a list of names")
    return algorithm in algorithms or jwk.canonical_name(algorithm) in map(jwk.canonical_name, algorithms)


def _split(token: str, max_bytes: int) -> tuple[str, bytes, bytes, bytes]:
    """The header as it stands, the payload, what was signed, and the signature."""
    if not isinstance(token, str):
        raise InvalidToken("not text")
    if len(token) > max_bytes:
        raise InvalidToken("too long")
    parts = token.split(".")
    if len(parts) != 3:
        raise InvalidToken("not three parts")
    header, payload, signature = parts
    if not header or not signature or len(header) > _MAX_HEADER_CHARACTERS:
        raise InvalidToken("no header, or no signature")
    try:
        signing_input = token[: len(header) + 1 + len(payload)].encode("ascii")
        return header, base64url.decode(payload), signing_input, base64url.decode(signature)
    except (base64url.NotBase64Url, UnicodeEncodeError):
        raise InvalidToken("not base64url") from None


def _members(segment: str) -> dict[str, Json]:
    try:
        return claims_of(base64url.decode(segment), _MAX_HEADER_DEPTH)
    except base64url.NotBase64Url:
        raise InvalidToken("not base64url") from None


# An issuer's tokens share their header; reading it once is most of the parsing saved.
@functools.lru_cache(maxsize=256)
def _type_header(segment: str) -> Header:
    members = _members(segment)
    _refuse_what_changes_verification(members)
    if "jwk" in members:
        raise InvalidToken("the header brings a key of its own")
    try:
        return msgspec.convert(members, Header)
    except msgspec.ValidationError:
        raise InvalidToken("the header names alg, kid and typ") from None


def _refuse_what_changes_verification(header: Mapping[str, Json]) -> None:
    refused = _REFUSED_MEMBERS.intersection(header)
    if refused:
        raise InvalidToken(f"the header has {', '.join(sorted(refused))}")
    if header.get("b64", True) is not True:
        raise InvalidToken("the payload is not base64url (RFC 7797)")
    for name in _TEXT_MEMBERS:
        if name in header and not isinstance(header[name], str):
            raise InvalidToken(f"{name} is a string")


def _refuse_other_keys(header: Mapping[str, Json], key: PublicKey) -> None:
    """A header that names a key has to name the one given."""
    if "kid" in header and key.kid is not None and header["kid"] != key.kid:
        raise InvalidToken("signed with another kid")
    if "jwk" in header and _key(header["jwk"]).jwk != key.jwk:
        raise InvalidToken("the header brings a key of its own")
