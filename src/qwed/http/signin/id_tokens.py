"""ID tokens, checked as OpenID Connect Core 3.1.3.7 says, without any of its options to check less."""

import hmac
from collections.abc import Mapping
from typing import Any, Final

import msgspec
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet

from qwed.domain.json_types import Json
from qwed.http.signin.refused import SignInProblem, SignInRefused

#: Signatures that only the provider can make. A shared secret would let everybody who has it sign.
ALGORITHMS: Final = (
    *("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"),
    *("ES256", "ES384", "ES512", "EdDSA", "Ed25519"),
)
#: How far two clocks may be apart.
SKEW_SECONDS: Final = 60
MAX_TOKEN: Final = 64 * 1024
MAX_SUBJECT: Final = 255


class ExpectedToken(msgspec.Struct, frozen=True):
    """Who must have made it, for whom, and in answer to what."""

    issuer: str
    client_id: str
    now_seconds: int
    #: None for a token that came with a refresh: then there was no request to answer.
    nonce: str | None = None
    #: For a refresh: whose it must be.
    subject: str | None = None


def check_id_token(text: str, keys: KeySet, expected: ExpectedToken) -> dict[str, Json]:
    """Its claims. Raises `SignInRefused`."""
    if len(text) > MAX_TOKEN or text.count(".") != 2:
        raise _refuse("is not a signed token")
    try:
        claims = jwt.decode(text, keys, algorithms=list(ALGORITHMS)).claims
    except (JoseError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise _refuse(f"has no valid signature ({type(error).__name__})") from None
    _check_people(claims, expected)
    _check_times(claims, expected.now_seconds)
    _check_nonce(claims, expected)
    return dict(claims)


def _check_people(claims: Mapping[str, Json], expected: ExpectedToken) -> None:
    if claims.get("iss") != expected.issuer:
        raise _refuse("is from another issuer")
    audience = claims.get("aud")
    audiences = audience if isinstance(audience, list) else [audience]
    if expected.client_id not in audiences:
        raise _refuse("is for somebody else")
    if (len(audiences) > 1 or "azp" in claims) and claims.get("azp") != expected.client_id:
        raise _refuse("was given to somebody else")
    subject = claims.get("sub")
    if not isinstance(subject, str) or not 1 <= len(subject) <= MAX_SUBJECT:
        raise _refuse("names nobody")
    if expected.subject is not None and subject != expected.subject:
        raise _refuse("is about another person")


def _check_times(claims: Mapping[str, Json], now: int) -> None:
    ends, begins, earliest = (_moment(claims.get(name)) for name in ("exp", "iat", "nbf"))
    if ends is None or begins is None or ("nbf" in claims and earliest is None):
        raise _refuse("does not say when it was made and when it ends")
    if now >= ends + SKEW_SECONDS:
        raise _refuse("has expired")
    if max(begins, earliest or 0) > now + SKEW_SECONDS:
        raise _refuse("is from the future")


def _check_nonce(claims: Mapping[str, Json], expected: ExpectedToken) -> None:
    if expected.nonce is None:
        return
    given = claims.get("nonce")
    if not isinstance(given, str) or not hmac.compare_digest(given.encode(), expected.nonce.encode()):
        raise _refuse("answers another sign-in")


def _moment(value: Any) -> float | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return value if is_number and 0 <= value < 2**53 else None


def _refuse(why: str) -> SignInRefused:
    return SignInRefused(SignInProblem.TOKEN, f"the identity provider's ID token {why}")
