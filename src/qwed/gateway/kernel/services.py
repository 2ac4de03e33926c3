"""What every use case works with, built once by the composition root."""

from collections.abc import Callable, Mapping

import msgspec

from qwed.domain.budgets import Charge
from qwed.domain.policy import Policy
from qwed.gateway.kernel.assurance_config import Assurance
from qwed.gateway.kernel.events import EventHub
from qwed.gateway.kernel.issuers import Issuers
from qwed.gateway.kernel.ports import Clock, Ids, Prover, Signer, Store
from qwed.gateway.kernel.shared_facts import SharedFacts
from qwed.gateway.kernel.shared_state import Commons
from qwed.gateway.kernel.turns import Turns
from qwed.gateway.kernel.waiting import SingleFlight


class Services(msgspec.Struct, frozen=True):
    store: Store
    policy: Policy
    clock: Clock
    ids: Ids
    signer: Signer
    prover: Prover
    commons: Commons
    #: What is wrong with an address that this gateway would be asked to call, or to write to.
    address_problems: Callable[[str], list[str]]
    mail_problems: Callable[[str], list[str]]
    #: What a type costs where the caller expects to spend nothing besides.
    charges: Mapping[str, Charge]
    state_required: bool = False
    #: Whose execution context tokens are accepted, beside those of the agents.
    issuers: Issuers = msgspec.field(default_factory=Issuers)
    #: Trust scores, specifications and what the profile asks for.
    assurance: Assurance = msgspec.field(default_factory=Assurance)
    #: Requests under one idempotency key that arrive while the first is still at work.
    repeats: SingleFlight = msgspec.field(default_factory=SingleFlight)
    #: What decisions name by its hash, so that they can be made again.
    shared_facts: SharedFacts = msgspec.field(default_factory=SharedFacts)
    #: Changes of one agent, principal or kind of thing, one after the other.
    turns: Turns = msgspec.field(default_factory=Turns)

    @property
    def events(self) -> EventHub:
        return self.commons.events
