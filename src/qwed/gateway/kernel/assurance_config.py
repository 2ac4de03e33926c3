"""What assurance this gateway gives, as the use cases hold it: built once, asked with every decision."""

from collections.abc import Mapping

import msgspec

from qwed.assurance.explanations import Thresholds
from qwed.assurance.in_force import InForce
from qwed.domain.policy import Profile
from qwed.gateway.kernel.scorekeeper import Scorekeeper


class Assurance(msgspec.Struct, frozen=True):
    """`profile` is the deployment's own; None asks for nothing. `keeper` is None where nobody scores."""

    profile: Profile | None = None
    by_profile: Mapping[Profile, InForce] = {}
    thresholds: Thresholds = Thresholds()
    keeper: Scorekeeper | None = None

    @property
    def own(self) -> InForce | None:
        """The deployment's own profile as it is in force."""
        return self.by_profile[self.profile] if self.profile is not None else None
