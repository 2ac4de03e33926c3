"""Trust levels, and what each may do at which risk."""

import enum
from collections.abc import Mapping
from typing import Final

from qwed.domain.decisions import Decision
from qwed.domain.risk import Risk


class TrustLevel(enum.IntEnum):
    UNTRUSTED = 0
    SUPERVISED = 1
    AUTONOMOUS = 2
    TRUSTED = 3


_A, _P, _D = Decision.APPROVED, Decision.PENDING, Decision.DENIED

#: trust × risk → decision of a VERIFIED action (section 4), one row per level, LOW to CRITICAL.
MATRIX: Final[Mapping[TrustLevel, tuple[Decision, Decision, Decision, Decision]]] = {
    TrustLevel.UNTRUSTED: (_P, _D, _D, _D),
    TrustLevel.SUPERVISED: (_A, _P, _D, _D),
    TrustLevel.AUTONOMOUS: (_A, _A, _P, _D),
    TrustLevel.TRUSTED: (_A, _A, _A, _A),
}


def cell(trust: TrustLevel, risk: Risk) -> Decision:
    return MATRIX[trust][risk]
