"""Trust assertions: one agent's word about another, as a token says it and as we may rely on it."""

from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Final

import msgspec

from qwed.assurance.accusations import TRUST_ASSERTION
from qwed.assurance.scores import Confidence, InvalidScore, as_score
from qwed.domain.json_types import Json
from qwed.ect.claims import Claims
from qwed.ect.tokens import Level

SUBJECT: Final = "apae.subject"
SCORE: Final = "apae.trust_score"
INTERACTIONS: Final = "apae.interactions"
CONFIDENCE: Final = "apae.confidence"
HOPS: Final = "apae.hops"

#: Whether an agent is in the trusted directory.
Directory = Callable[[str], bool]


class InvalidAssertion(ValueError):
    """The assertion breaks a rule; the message names it."""


class Assertion(msgspec.Struct, frozen=True, gc=False):
    jti: str
    asserter: str
    subject: str
    score: Decimal
    interactions: int
    hops: int
    iat: int
    exp: int

    def is_live(self, now: int) -> bool:
        return self.exp > now


def body_of(subject: str, score: Decimal, interactions: int, hops: int = 0) -> dict[str, Json]:
    """The `ext` of an assertion that everybody accepts."""
    return {
        SUBJECT: subject,
        SCORE: score,
        INTERACTIONS: interactions,
        CONFIDENCE: Confidence.of(interactions).wire,
        HOPS: hops,
    }


def read_assertion(
    claims: Claims,
    level: Level,
    *,
    max_hops: int,
    directory: Directory | None,
    original: Assertion | None,
) -> Assertion:
    """Raises `InvalidAssertion`. `original` is the assertion that a relay names as its parent, if known."""
    ext = claims.ext
    if claims.exec_act != TRUST_ASSERTION or level < Level.L2:
        raise InvalidAssertion("an assertion is a signed token of its own action")
    subject, hops = ext.get(SUBJECT), ext.get(HOPS)
    if not isinstance(subject, str) or not subject:
        raise InvalidAssertion("an assertion is about one subject")
    if subject == claims.iss:
        raise InvalidAssertion("nobody speaks for themselves")
    if directory is not None and not (directory(claims.iss) and directory(subject)):
        raise InvalidAssertion("asserter and subject are in the directory")
    if type(hops) is not int or not 0 <= hops <= max_hops:
        raise InvalidAssertion(f"an assertion comes over at most {max_hops} hops")
    try:
        score = as_score(ext.get(SCORE))
    except InvalidScore as error:
        raise InvalidAssertion(str(error)) from None
    interactions = _interactions(ext)
    given = Assertion(claims.jti, claims.iss, subject, score, interactions, hops, claims.iat, claims.exp)
    _check_relay(given, original)
    return given


def _interactions(ext: Mapping[str, Json]) -> int:
    interactions = ext.get(INTERACTIONS)
    if type(interactions) is not int or interactions < 0:
        raise InvalidAssertion("interactions are a whole number")
    if ext.get(CONFIDENCE) != Confidence.of(interactions).wire:
        raise InvalidAssertion("the confidence is not that of so many interactions")
    return interactions


def _check_relay(given: Assertion, original: Assertion | None) -> None:
    """What comes second-hand names what it heard, counts one hop more, and says no more than that."""
    if original is None:
        if given.hops:
            raise InvalidAssertion("a relay names the assertion that it passes on")
        return
    if given.hops != original.hops + 1 or given.subject != original.subject:
        raise InvalidAssertion("a relay is one hop further, about the same subject")
    if original.asserter == given.asserter or given.exp > original.exp or given.score > original.score:
        raise InvalidAssertion("a relay is somebody else's, ends with what it passes on, and adds nothing")
