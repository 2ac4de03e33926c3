"""What assurance this gateway gives, as the use cases hold it: built once, asked with every decision."""

import time
from collections.abc import Mapping
from typing import Final

import msgspec

from qwed.assurance.explanations import Thresholds
from qwed.assurance.in_force import InForce
from qwed.domain.policy import Profile, RateLimit
from qwed.ect.dag import CLOCK_SKEW_SECONDS
from qwed.ect.verifier import MAX_AGE_SECONDS
from qwed.gateway.rate_limits import LocalLimiter, RateLimiter
from qwed.gateway.scorekeeping import Scorekeeper

#: Checkpoints are at most 15 minutes old when they are used, by whichever clock.
CHECKPOINTS: Final = RateLimit(1, MAX_AGE_SECONDS + 2.0 * CLOCK_SKEW_SECONDS)


def _local_checkpoints() -> RateLimiter:
    return LocalLimiter(CHECKPOINTS.limit, CHECKPOINTS.window_seconds, time.monotonic)


class Assurance(msgspec.Struct, frozen=True):
    """`profile` is the deployment's own; None asks for nothing. `keeper` is None where nobody scores."""

    profile: Profile | None = None
    by_profile: Mapping[Profile, InForce] = {}
    thresholds: Thresholds = Thresholds()
    keeper: Scorekeeper | None = None
    #: Each checkpoint is good for one action: a second hit is one too many.
    checkpoints: RateLimiter = msgspec.field(default_factory=_local_checkpoints)

    @property
    def own(self) -> InForce | None:
        """The deployment's own profile as it is in force."""
        return self.by_profile[self.profile] if self.profile is not None else None
