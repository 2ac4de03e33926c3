"""A permit as it came, and what is left when its signature, its times and its place have been looked at."""

import re
from typing import Annotated, Final, Literal

import msgspec

from qwed.domain.codes import Code
from qwed.domain.permits import HASH_PREFIX, MAX_PERMIT_SECONDS, PERMIT_TYPE
from qwed_sdk.extras import extra_needed
from qwed_sdk.permits.errors import PermitRefused
from qwed_sdk.permits.keys import KeySet
from qwed_sdk.results import Json

try:
    from qwed.ect import jws
except ModuleNotFoundError as missing:
    raise extra_needed(__name__, "permits", missing) from None

_ID: Final = re.compile(r"pmt_[A-Za-z0-9_-]{1,120}")


class VerifiedPermit(msgspec.Struct, frozen=True):
    """What the gateway signed. `action_hash` names the one call that it allows."""

    jti: str
    issuer: str
    audience: str
    agent_id: str
    action_hash: str
    activity_id: str
    issued_at: int
    expires_at: int


def read_permit(token: Json, keys: KeySet, audience: str, now: float, leeway: float) -> VerifiedPermit:
    """1 its form, 2 the key, 3 the signature, 4 what it says, 5 when, 6 where. Raises `PermitRefused`."""
    if token is None or token == "":
        raise PermitRefused(Code.PERMIT_MISSING, "the call carries no permit")
    if not isinstance(token, str):
        raise PermitRefused(Code.PERMIT_INVALID, "the permit is no text")
    try:
        unverified = jws.parse(token)
        if unverified.header.typ != PERMIT_TYPE:
            raise jws.InvalidToken("not a permit")
        key = keys.find(unverified.header.kid)
        if key is None:
            raise jws.InvalidToken("no key of this gateway")
        payload = jws.verify_signature(unverified, key.public, key.algorithms, low_s_only=True)
        permit = _read(payload)
    except jws.InvalidToken as error:
        raise PermitRefused(
            Code.PERMIT_INVALID, f"the permit was not signed by this gateway: {error}"
        ) from None
    if permit.issuer != key.issuer or (key.retired_at is not None and permit.issued_at > key.retired_at):
        raise PermitRefused(Code.PERMIT_INVALID, "the permit was signed with a key that signs no more")
    if permit.expires_at + leeway <= now:
        raise PermitRefused(Code.PERMIT_EXPIRED, "the permit has expired")
    if permit.issued_at > now + leeway:
        raise PermitRefused(Code.PERMIT_EXPIRED, "the permit is from the future")
    if permit.audience != audience:
        raise PermitRefused(Code.PERMIT_MISMATCH, "the permit is for another tool")
    return permit


class _Claims(msgspec.Struct, frozen=True, gc=False):
    """What the gateway signed is what it wrote: one shape."""

    jti: Annotated[str, msgspec.Meta(pattern=r"^pmt_[A-Za-z0-9_-]{1,120}$")]
    iss: str
    aud: str
    sub: str
    act: Annotated[str, msgspec.Meta(pattern=r"^sha256:[0-9a-f]{64}$")]
    aid: str
    iat: int
    exp: int
    use: Literal["once"]


_CLAIMS: Final = msgspec.json.Decoder(_Claims)


def _read(payload: bytes) -> VerifiedPermit:
    try:
        said = _CLAIMS.decode(payload)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise jws.InvalidToken("its claims are not those of a permit") from None
    if not 0 < said.exp - said.iat <= MAX_PERMIT_SECONDS:
        raise jws.InvalidToken("it lasts longer than a permit may")
    action_hash = said.act.removeprefix(HASH_PREFIX)
    return VerifiedPermit(said.jti, said.iss, said.aud, said.sub, action_hash, said.aid, said.iat, said.exp)


def jti_of(token: Json) -> str | None:
    """The id that a permit says it has, whoever signed it: for a report alone."""
    try:
        found = jws.claims_of(jws.parse(token).payload).get("jti") if isinstance(token, str) else None
    except jws.InvalidToken:
        return None
    return found if isinstance(found, str) and _ID.fullmatch(found) else None
