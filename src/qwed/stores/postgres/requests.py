"""What is asked of admission, and what it gives."""

import msgspec

from qwed.domain.admission import Attempt
from qwed.domain.agents import Agent
from qwed.domain.budgets import Charge
from qwed.domain.codes import Refusal
from qwed.gateway.kernel.ports import Admission, KeyClaim
from qwed.stores.postgres.lanes import LaneJob
from qwed.stores.randomness import POOL


class Held(Admission, frozen=True, kw_only=True):
    """An admission, with the agent as the request was decided upon. Its serial is the fencing token."""

    agent: Agent
    keys: tuple[str, ...]


class AdmissionRequest(msgspec.Struct, frozen=True):
    """One request for admission; without an attempt it is for a hold alone."""

    agent: Agent
    charge: Charge
    now_ms: int
    attempt: Attempt | None = None
    #: The claim on an idempotency key: whoever takes it over takes the hold with it.
    claim: KeyClaim | None = None

    def token(self) -> int:
        """The name of the hold."""
        return new_token() if self.claim is None else self.claim.token


Request = LaneJob[AdmissionRequest, Held | Refusal]


def new_token() -> int:
    """A name for a hold that nobody else has drawn."""
    return int.from_bytes(POOL.take(8)) >> 2
