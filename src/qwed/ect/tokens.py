"""Execution context tokens: written, and taken apart without trusting them."""

import enum
import hashlib
import os
from collections.abc import Sequence
from typing import Final

import msgspec

from qwed.domain.json_types import Json
from qwed.ect import base64url, claims, jws
from qwed.ect.claims import DIALECTS, Claims, InvalidClaims
from qwed.ect.jws import InvalidToken, Unverified
from qwed.ect.keys import KeyRing

DEFAULT_LIFETIME_SECONDS: Final = 600
_encoder: Final = msgspec.json.Encoder(decimal_format="number")


class Level(enum.IntEnum):
    """How far a token can be relied on; a chain of them, as far as its weakest."""

    L1 = 1  # unsigned JSON
    L2 = 2  # signed
    L3 = 3  # signed, and the ledger holds exactly these bytes


class UnverifiedToken(msgspec.Struct, frozen=True, gc=False):
    """A token that parses; `signed` is None at L1. Nothing in it is true yet."""

    raw: str
    claims: dict[str, Json]
    signed: Unverified | None

    @property
    def level(self) -> Level:
        return Level.L1 if self.signed is None else Level.L2


def parse(token: str) -> UnverifiedToken:
    """Raises `InvalidToken`. What has dots is a JWS or nothing: it never falls back to L1."""
    if not isinstance(token, str) or len(token) > jws.MAX_TOKEN_BYTES:
        raise InvalidToken("too long")
    if "." in token:
        signed = jws.parse(token)
        return UnverifiedToken(token, jws.claims_of(signed.payload), signed)
    try:
        payload = base64url.decode(token)
    except base64url.NotBase64Url:
        raise InvalidToken("neither a JWS nor base64url") from None
    return UnverifiedToken(token, jws.claims_of(payload), None)


def hash_bytes(data: bytes) -> str:
    """`inp_hash`, `out_hash`, and the hash of a token: unpadded base64url of the SHA-256."""
    return base64url.encode(hashlib.sha256(data).digest())


def new_id() -> str:
    """A random UUID, at a third of the standard library's price."""
    digits = os.urandom(16).hex()
    variant = "89ab"[int(digits[16], 16) & 3]
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-{variant}{digits[17:20]}-{digits[20:]}"


class Ect(msgspec.Struct, frozen=True, gc=False):
    """A verified token, with the exact bytes that were received."""

    claims: Claims
    raw: str
    token_hash: str
    kid: str | None


def issue(
    ring: KeyRing,
    exec_act: str,
    aud: str | Sequence[str],
    now: int,
    *,
    par: Sequence[str] = (),
    wid: str | None = None,
    inp_hash: str | None = None,
    out_hash: str | None = None,
    ext: dict[str, Json] | None = None,
    jti: str | None = None,
    lifetime_seconds: int = DEFAULT_LIFETIME_SECONDS,
    dialect: str = "00",
    level: Level = Level.L2,
) -> str:
    """A token of the ring's issuer. Raises `InvalidClaims` for what no verifier would accept.

    L3 is issued like L2: the ledger makes the difference.
    """
    names = DIALECTS.get(dialect)
    if names is None:
        raise InvalidClaims(f"dialects are {', '.join(DIALECTS)}, not {dialect!r}")
    own = new_id() if jti is None else claims.identifier(jti, "jti")
    content: dict[str, Json] = {
        "iss": claims.issuer(ring.issuer),
        "aud": aud if isinstance(aud, str) and aud else claims.audience(list(aud)),
        "iat": now,
        "exp": claims.times(now, now + lifetime_seconds)[1],
        "jti": own,
        "exec_act": claims.action(exec_act),
        names["par"]: claims.parents(list(par), own) if par else (),
    }
    if wid is not None:
        content["wid"] = claims.workflow(wid)
    if inp_hash is not None:
        content["inp_hash"] = claims.sha256(inp_hash, "inp_hash")
    if out_hash is not None:
        content["out_hash"] = claims.sha256(out_hash, "out_hash")
    if ext is not None:
        content[names["ext"]] = ext
    payload = _encoder.encode(content)
    if ext is not None:
        claims.extensions(ext, len(payload))
    if level is Level.L1:
        token = base64url.encode(payload)
    else:
        token = ring.active.compact(ring.kid, names["typ"], payload)
    if len(token) > jws.MAX_TOKEN_BYTES:
        raise InvalidClaims(f"the token takes more than {jws.MAX_TOKEN_BYTES} bytes")
    return token
