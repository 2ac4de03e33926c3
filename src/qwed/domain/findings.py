"""What an engine could prove about an action."""

import enum
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from qwed.domain.actions import Action
from qwed.domain.json_types import Json
from qwed.domain.risk import Risk


class Status(enum.StrEnum):
    VERIFIED = "VERIFIED"
    FAILED = "FAILED"
    CORRECTED = "CORRECTED"
    UNCERTAIN = "UNCERTAIN"

    @property
    def gravity(self) -> int:
        """How bad it is: of several answers about one action, the gravest is the answer."""
        return _GRAVITY[self]


_GRAVITY: Final = {Status.VERIFIED: 0, Status.CORRECTED: 1, Status.UNCERTAIN: 2, Status.FAILED: 3}


class Failure(enum.StrEnum):
    """Why a FAILED finding failed."""

    INCORRECT = "incorrect"
    MALFORMED = "malformed"
    FORBIDDEN = "forbidden"


class Finding(msgspec.Struct, frozen=True):
    """`evidence` is JSON that a third party can check again; `reason` is one sentence for a person."""

    status: Status
    risk: Risk
    engine: str
    reason: str = ""
    evidence: Mapping[str, Json] = msgspec.field(default_factory=dict)
    corrected: Action | None = None
    failure: Failure | None = None
    checks_passed: tuple[str, ...] = ()
    checks_failed: tuple[str, ...] = ()


def uncertain(engine: str, risk: Risk, reason: str, **evidence: Any) -> Finding:
    """Nothing could be proven: a person decides."""
    return Finding(Status.UNCERTAIN, risk, engine, reason, evidence, checks_failed=("decidable",))
