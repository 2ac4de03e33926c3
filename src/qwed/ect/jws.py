"""Compact JWS with ES256, strictly: one form, nothing fetched, nothing guessed.

Refused: header members other than `alg`, `kid` and `typ`; repeated members; padding and any base64url
but the canonical one; a signature that is not 64 bytes.
"""

import base64
import binascii
import re
from typing import Any, Final

import msgspec
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature, encode_dss_signature

from qwed.domain import json_text

MAX_TOKEN_BYTES: Final = 8_192
_HEADER_MEMBERS: Final = frozenset({"alg", "kid", "typ"})
_PART: Final = re.compile(r"[A-Za-z0-9_-]+")
_ES256: Final = ec.ECDSA(hashes.SHA256())


class InvalidToken(Exception):
    """The token is not one of ours; the reason is for the log, never for the sender."""


class Unverified(msgspec.Struct, frozen=True):
    """A token that parses. Its claims say nothing until `verify` has seen the signature."""

    header: dict[str, Any]
    claims: dict[str, Any]
    signing_input: bytes
    signature: bytes


def b64encode(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode("ascii")


def b64decode(text: str) -> bytes:
    if not _PART.fullmatch(text):
        raise InvalidToken("not base64url")
    try:
        data = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except (binascii.Error, ValueError):
        raise InvalidToken("not base64url") from None
    # Several texts decode to the same bytes; only one of them is the token that was signed.
    if b64encode(data) != text:
        raise InvalidToken("not canonical base64url")
    return data


def sign(key: ec.EllipticCurvePrivateKey, kid: str, typ: str, claims: dict[str, Any]) -> str:
    header = msgspec.json.encode({"alg": "ES256", "kid": kid, "typ": typ}, order="sorted")
    payload = msgspec.json.encode(claims, order="sorted")
    signing_input = f"{b64encode(header)}.{b64encode(payload)}"
    r, s = decode_dss_signature(key.sign(signing_input.encode("ascii"), _ES256))
    return f"{signing_input}.{b64encode(r.to_bytes(32) + s.to_bytes(32))}"


def parse(token: str) -> Unverified:
    """Raises `InvalidToken`."""
    if len(token) > MAX_TOKEN_BYTES:
        raise InvalidToken("too long")
    parts = token.split(".")
    if len(parts) != 3:
        raise InvalidToken("not three parts")
    header, claims = _object(b64decode(parts[0])), _object(b64decode(parts[1]))
    if not _HEADER_MEMBERS.issuperset(header) or header.get("alg") != "ES256":
        raise InvalidToken("unexpected header")
    if not isinstance(header.get("kid"), str) or not isinstance(header.get("typ"), str):
        raise InvalidToken("kid and typ are required")
    signing_input = f"{parts[0]}.{parts[1]}".encode("ascii")
    return Unverified(header, claims, signing_input, b64decode(parts[2]))


def verify(token: Unverified, key: ec.EllipticCurvePublicKey) -> dict[str, Any]:
    """The claims, now that the key has been seen to sign them. Raises `InvalidToken`."""
    if len(token.signature) != 64:
        raise InvalidToken("the signature is not 64 bytes")
    r, s = int.from_bytes(token.signature[:32]), int.from_bytes(token.signature[32:])
    try:
        key.verify(encode_dss_signature(r, s), token.signing_input, _ES256)
    except InvalidSignature:
        raise InvalidToken("wrong signature") from None
    return token.claims


def _object(raw: bytes) -> dict[str, Any]:
    try:
        value = json_text.loads(raw, max_depth=16)
    except json_text.JsonError as error:
        raise InvalidToken(str(error)) from None
    if not isinstance(value, dict):
        raise InvalidToken("not a JSON object")
    return value
