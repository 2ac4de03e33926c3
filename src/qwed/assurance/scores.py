"""The arithmetic of trust: what an event does to a score, and what silence does.

Scores are decimals with at most 256 places. That is exact for what the documents' factors can make of a
score in two hundred and fifty events in a row; what is longer is cut, everywhere at the same place.
"""

import enum
from collections.abc import Mapping
from decimal import ROUND_DOWN, Context, Decimal
from typing import Final

import msgspec

PLACES: Final = 256
DAY_SECONDS: Final = 86_400
ZERO, ONE = Decimal(0), Decimal(1)
HALF: Final = Decimal("0.5")
#: What an unknown peer gets where nobody is trusted in advance.
ZERO_TRUST: Final = Decimal("0.1")
# Below 0.1 a number is subnormal here, and keeps as many places as any other.
_EXACT: Final = Context(prec=PLACES, Emin=-1, rounding=ROUND_DOWN, traps=[])


class ScoreEvent(enum.StrEnum):
    TASK_SUCCESS = "task_success"
    TASK_PARTIAL = "task_partial"
    TASK_FAILURE = "task_failure"
    TASK_TIMEOUT = "task_timeout"
    POLICY_VIOLATION = "policy_violation"
    ATTESTATION_INVALID = "attestation_invalid"
    ROLLBACK_TRIGGERED = "rollback_triggered"

    @property
    def is_positive(self) -> bool:
        return self in _POSITIVE


_POSITIVE: Final = frozenset({ScoreEvent.TASK_SUCCESS, ScoreEvent.TASK_PARTIAL})
_DOUBLE: Final = frozenset({ScoreEvent.POLICY_VIOLATION, ScoreEvent.ATTESTATION_INVALID})


class InvalidScore(ValueError):
    """Not a number from 0 to 1."""


class Confidence(enum.IntEnum):
    """How much experience stands behind a score."""

    LOW = 0
    MEDIUM = 1
    HIGH = 2

    @property
    def wire(self) -> str:
        return self.name.lower()

    @classmethod
    def of(cls, interactions: int) -> "Confidence":
        return cls.LOW if interactions < 10 else cls.MEDIUM if interactions < 100 else cls.HIGH


class ScoreRules(msgspec.Struct, frozen=True, dict=True):
    """The seed's parameters, with its defaults. Raises `ValueError` for what would turn a rule around."""

    initial: Decimal = HALF
    alpha: Decimal = Decimal("0.01")
    beta: Decimal = Decimal("0.8")
    attenuation: Decimal = HALF
    max_hops: int = 1
    floor: Decimal = Decimal("0.2")
    settle_seconds: int = 600
    timeout_seconds: int = 300
    idle_days: int = 7
    decay_per_day: Decimal = Decimal("0.01")

    def __post_init__(self) -> None:
        for name in ("initial", "attenuation", "floor", "decay_per_day"):
            _within(name, getattr(self, name), lowest_counts=True, highest_counts=True)
        _within("alpha", self.alpha, lowest_counts=False, highest_counts=True)
        _within("beta", self.beta, lowest_counts=True, highest_counts=False)
        for name in ("max_hops", "settle_seconds", "timeout_seconds", "idle_days"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} is not negative, {getattr(self, name)} is")
        self.__dict__["_gains"] = {
            ScoreEvent.TASK_SUCCESS: self.alpha,
            ScoreEvent.TASK_PARTIAL: _EXACT.multiply(self.alpha, HALF),
        }
        square = _EXACT.multiply(self.beta, self.beta)
        self.__dict__["_factors"] = {
            event: square if event in _DOUBLE else self.beta for event in ScoreEvent if not event.is_positive
        }

    def after(self, score: Decimal, event: ScoreEvent) -> Decimal:
        gains: Mapping[ScoreEvent, Decimal] = self.__dict__["_gains"]
        gain = gains.get(event)
        if gain is not None:
            return min(ONE, _EXACT.add(score, gain))
        factors: Mapping[ScoreEvent, Decimal] = self.__dict__["_factors"]
        return _EXACT.multiply(score, factors[event])

    def decay(self, score: Decimal, idle_seconds: int) -> Decimal:
        """Down to the initial value and never upwards."""
        days = idle_seconds // DAY_SECONDS - self.idle_days
        if days <= 0 or score <= self.initial:
            return score
        return max(self.initial, _EXACT.subtract(score, _EXACT.multiply(self.decay_per_day, Decimal(days))))

    def passed_on(self, asserted: Decimal, trust: Decimal) -> Decimal:
        """What somebody else's word is worth to us."""
        return _EXACT.multiply(_EXACT.multiply(asserted, trust), self.attenuation)


def as_score(value: object) -> Decimal:
    """Raises `InvalidScore`. A float is read as it is written: 0.82, not what binary makes of it."""
    if isinstance(value, bool) or not isinstance(value, int | float | str | Decimal):
        raise InvalidScore(f"a score is a number from 0 to 1, not {type(value).__name__}")
    try:
        number = Decimal(repr(value) if isinstance(value, float) else value)
    except ArithmeticError:
        raise InvalidScore("a score is a number from 0 to 1") from None
    if not number.is_finite() or not ZERO <= number <= ONE:
        raise InvalidScore("a score is a number from 0 to 1")
    return _EXACT.plus(number)


def _within(name: str, value: Decimal, *, lowest_counts: bool, highest_counts: bool) -> None:
    is_inside = value.is_finite() and ZERO <= value <= ONE
    if not is_inside or (value == 0 and not lowest_counts) or (value == 1 and not highest_counts):
        opening, closing = "[" if lowest_counts else "(", "]" if highest_counts else ")"
        raise ValueError(f"{name} is within {opening}0, 1{closing}, not {value}")
