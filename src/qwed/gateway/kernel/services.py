"""What every use case works with, built once by the composition root."""

from collections.abc import Callable, Mapping
from typing import Any, Protocol

import msgspec

from qwed.domain.budgets import Charge
from qwed.domain.policy import Policy
from qwed.domain.policy_changes import Stop
from qwed.gateway.kernel.assurance_config import Assurance
from qwed.gateway.kernel.coroutines import SingleFlight
from qwed.gateway.kernel.events import EventHub
from qwed.gateway.kernel.heard_values import Hearing
from qwed.gateway.kernel.issuers import Issuers
from qwed.gateway.kernel.limits_told import LimitsTold
from qwed.gateway.kernel.live_policy import LivePolicy
from qwed.gateway.kernel.more_findings import MoreFindings
from qwed.gateway.kernel.ports import Clock, Ids, Prover, Signer, Store
from qwed.gateway.kernel.shared_facts import SharedFacts
from qwed.gateway.kernel.shared_state import Commons
from qwed.gateway.kernel.turns import Turns


class Watcher(Protocol):
    """A second policy beside the one in force. Never raises."""

    policy: Policy
    #: Decisions on record that it would have made otherwise, by what they are and what they would be.
    counted: Mapping[tuple[str, str], int]

    async def look(self, case: Any, facts: Any) -> Any: ...
    def report_count(self, case: Any) -> None:
        """The decision is on record, with what the other policy would have said."""
        ...


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
    limits_told: LimitsTold = msgspec.field(default_factory=LimitsTold)
    #: What decisions name by its hash, so that they can be made again.
    shared_facts: SharedFacts = msgspec.field(default_factory=SharedFacts)
    #: What decisions of one agent and type have in common (`decide.plan`), until either changes.
    plans: dict[Any, Any] = msgspec.field(default_factory=dict)
    #: The change that brought what is in force, and what it stops; 0 while nobody has changed anything.
    policy_number: int = 0
    stops: tuple[Stop, ...] = ()
    #: The change whose policy that is.
    policy_at: int = 0
    #: What else looks at every decision, and changes none.
    shadow: "Watcher | None" = None
    #: Until then decisions are recorded and none stops an action; None where they are enforced.
    observes_until_ms: int | None = None
    live: LivePolicy = msgspec.field(default_factory=LivePolicy)
    #: Whether anybody may read the ledger's tree and its checkpoints.
    public_log: bool = False
    #: Changes of one agent, principal or kind of thing, one after the other.
    turns: Turns = msgspec.field(default_factory=Turns)
    more_findings: MoreFindings = msgspec.field(default_factory=MoreFindings)

    #: What conversations have heard, so that it is known who said a value.
    hearing: Hearing = msgspec.field(default_factory=Hearing)

    @property
    def newest(self) -> "Services":
        """As this one, under what this process knows to be in force."""
        return self.live.newest or self

    @property
    def events(self) -> EventHub:
        return self.commons.events
