"""What a score is made of: the values in which one pair's trust is told."""

from decimal import Decimal
from typing import Final

import msgspec

from qwed.assurance.scores import Confidence, ScoreEvent
from qwed.domain.json_types import Json
from qwed.domain.policy import plain_amount

#: All that somebody below a threshold is told.
NOT_TRUSTED_ENOUGH: Final = "this peer does not meet the trust that is asked for here"

#: All that is said where conduct does not bear out the level that an agent was given.
LEVEL_NOT_BORNE_OUT: Final = "its trust level asks for more trust than it meets here"


class Thresholds(msgspec.Struct, frozen=True):
    min_trust: Decimal | None = None
    min_confidence: Confidence | None = None


class ScoreMove(msgspec.Struct, frozen=True, gc=False):
    """One move of one score, and the token behind it. `revokes`: this move took it below the floor."""

    peer: str
    event: ScoreEvent
    evidence: str | None
    before: Decimal
    after: Decimal
    at: int
    revokes: bool = False

    def to_wire(self) -> dict[str, Json]:
        return {
            "event": self.event.value,
            "evidence": self.evidence,
            "before": plain_amount(self.before),
            "after": plain_amount(self.after),
            "at": self.at,
            "revokes": self.revokes,
        }


class TrustStatement(msgspec.Struct, frozen=True):
    """An assertion to be signed: `par` is what it passes on, and it may not outlive `until`."""

    par: tuple[str, ...]
    ext: dict[str, Json]
    until: int | None = None


class BestWord(msgspec.Struct, frozen=True):
    """What the best of others' assertions is worth here."""

    asserter: str
    jti: str
    worth: Decimal


class ScoreExplanation(msgspec.Struct, frozen=True):
    """`stored` is the score after the last change, `own` what time made of it, `score` what counts."""

    observer: str
    peer: str
    score: Decimal
    own: Decimal
    stored: Decimal
    interactions: int
    confidence: Confidence
    is_revoked: bool
    pending: int
    word: BestWord | None
    changes: tuple[ScoreMove, ...]

    def to_wire(self) -> dict[str, Json]:
        wire: dict[str, Json] = {
            "observer": self.observer,
            "peer": self.peer,
            "score": plain_amount(self.score),
            "own": plain_amount(self.own),
            "stored": plain_amount(self.stored),
            "interactions": self.interactions,
            "confidence": self.confidence.wire,
            "revoked": self.is_revoked,
            "pending": self.pending,
            "changes": [change.to_wire() for change in self.changes],
        }
        if self.word is not None:
            word = self.word
            wire["assertion"] = {"by": word.asserter, "jti": word.jti, "worth": plain_amount(word.worth)}
        return wire
