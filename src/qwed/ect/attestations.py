"""Attestations (agent protocol, section 10), as a third party reads them: with the key set alone."""

import re
from collections.abc import Mapping
from typing import Final

import msgspec

from qwed.domain.json_types import Json
from qwed.ect import claims as rules
from qwed.ect import jws, signatures
from qwed.ect.dag import CLOCK_SKEW_SECONDS
from qwed.ect.jwk import PublicKey
from qwed.ect.jws import InvalidToken

ATTESTATION_TYPE: Final = "qwed-attestation+jwt"
#: All that is said of one that is refused, whatever the reason.
UNIFORM_REFUSAL: Final = "not a valid attestation"
_SUBJECT: Final = re.compile(r"sha256:[0-9a-f]{64}")


class Attestation(msgspec.Struct, frozen=True):
    """What was attested; `action_hash` is the SHA-256 of the canonical action, in hexadecimal."""

    iss: str
    jti: str
    iat: int
    exp: int
    action_hash: str
    qwed: Mapping[str, Json]


def read_attestation(token: str, keys: Mapping[str, PublicKey], now: int) -> Attestation:
    """Raises `InvalidToken`; its message is for the log."""
    given = signatures.verify_claims(token, ATTESTATION_TYPE, keys)
    iss = signatures.text(given, "iss")
    # The key's DID URL names the node it belongs to; nobody else may speak with it.
    if jws.parse(token).header.kid.partition("#")[0] != iss:
        raise InvalidToken("iss is not the node of the key")
    try:
        iat, exp = rules.times(given.get("iat"), given.get("exp"))
    except rules.InvalidClaims as error:
        raise InvalidToken(str(error)) from None
    if iat > now + CLOCK_SKEW_SECONDS or exp <= now:
        raise InvalidToken("not valid at this time")
    subject, jti, qwed = signatures.text(given, "sub"), signatures.text(given, "jti"), given.get("qwed")
    if not _SUBJECT.fullmatch(subject) or not jti.startswith("att_") or not isinstance(qwed, dict):
        raise InvalidToken("sub, jti or qwed is not that of an attestation")
    return Attestation(iss, jti, iat, exp, subject.removeprefix("sha256:"), qwed)
