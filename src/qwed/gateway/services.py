"""What every use case works with, built once by the composition root."""

import msgspec

from qwed.domain.policy import Policy
from qwed.gateway.events import EventHub
from qwed.gateway.ports import Clock, Ids, Prover, Signer, Store
from qwed.gateway.waiting import SingleFlight


class Services(msgspec.Struct, frozen=True):
    store: Store
    policy: Policy
    clock: Clock
    ids: Ids
    signer: Signer
    prover: Prover
    events: EventHub
    state_required: bool = False
    #: Requests under one idempotency key that arrive while the first is still at work.
    repeats: SingleFlight = msgspec.field(default_factory=SingleFlight)
