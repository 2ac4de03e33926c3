"""The policy in force, in this process: one whole set of services for each change, swapped at once.

Whoever decides holds one set from beginning to end. A decision under a set that is not the newest any more is
refused by the store (`PolicyMoved`), whatever this process believes; then it is made again under the newest.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import msgspec

from qwed.domain.policy import Policy
from qwed.domain.policy_changes import PolicyChange
from qwed.gateway.kernel.coroutines import SingleFlight
from qwed.gateway.kernel.ports import StoreUnavailable

if TYPE_CHECKING:
    from qwed.gateway.kernel.services import Services


class PolicyUnusable(StoreUnavailable):
    """The policy in force can't be used in this process: nothing is decided here."""

    component = "policy"


class UnreadablePolicy(ValueError):
    """A text that is no policy, or one that this deployment can't put in force; `mistakes` says where."""

    def __init__(self, message: str, mistakes: tuple[dict[str, Any], ...] = ()) -> None:
        super().__init__(message)
        self.mistakes = mistakes


class PolicyTexts(msgspec.Struct, frozen=True):
    """How texts become policies, and what differs between two; given by the composition root."""

    #: Raises `UnreadablePolicy`.
    read: Callable[[str], Policy]
    #: The services under another policy. Raises `UnreadablePolicy` where the deployment can't give it.
    rebuild: "Callable[[Services, Policy], Services]"
    #: Why a change needs a second look; None where nothing became looser.
    why_looser: Callable[[Policy, Policy], str | None]
    #: What is doubtful in the second policy, and how it differs from the first.
    look_through: Callable[[Policy, Policy], dict[str, Any]]


class LivePolicy:
    """The newest set of services, shared by all sets of one process."""

    def __init__(self, texts: PolicyTexts | None = None, file: str | None = None) -> None:
        self.texts = texts
        #: The file that the policy comes from, and what it holds; None where it comes from the store.
        self.file = file
        self.file_version: str | None = None
        self.newest: Services | None = None
        #: What is in force while nobody has applied anything.
        self.first: Policy | None = None
        self.flights = SingleFlight()
        #: Backtests whose next stretch somebody may ask for, by what they are about and where they stopped.
        self.runs: dict[tuple[str, str | None, str | None, bool, int], object] = {}

    @property
    def source(self) -> str:
        return self.file or "store"


async def catch_up(services: "Services") -> "Services":
    """The services of what is in force now. Raises `PolicyUnusable` where this process can't use that."""
    live = services.live
    newest = await live.flights.do("catch up", lambda: _catch_up(services))
    if newest.policy_number == services.policy_number:
        # Somebody had asked before this one was refused, and was told what was true then.
        newest = await live.flights.do("catch up", lambda: _catch_up(services))
    return newest


async def _catch_up(services: "Services") -> "Services":
    known = services.newest
    change = await services.store.policy_change()
    if change is None or change.number == known.policy_number:
        return known
    policy = await policy_of(services, change)
    return adopt(known, change, policy)


async def policy_of(services: "Services", change: PolicyChange) -> Policy:
    """The policy that is in force with this change. Raises `PolicyUnusable`."""
    known = services.newest
    if change.policy_at == 0:
        return services.live.first or known.policy
    brought = change if change.policy is not None else await services.store.policy_change(change.policy_at)
    if brought is None or brought.policy is None:
        raise PolicyUnusable(f"the policy of version {change.policy_at} is not in the store")
    if brought.version == known.policy.version:
        return known.policy
    try:
        return Policy.from_wire(brought.policy)
    except (ValueError, KeyError, TypeError) as error:
        raise PolicyUnusable(f"version {change.policy_at} can't be read here: {error}") from None


def adopt(known: "Services", change: PolicyChange, policy: Policy) -> "Services":
    """Put what a change says in force in this process: what depends on it first, the new set last."""
    live = known.live
    if live.first is None:
        live.first = known.policy
    rebuilt = known
    if policy is not known.policy:
        assert live.texts is not None
        try:
            rebuilt = live.texts.rebuild(known, policy)
        except UnreadablePolicy as error:
            raise PolicyUnusable(f"version {change.number} can't be used here: {error}") from None
        known.store.use_policy(policy)
    live.newest = msgspec.structs.replace(
        rebuilt, policy_number=change.number, policy_at=change.policy_at, stops=change.stops, plans={}
    )
    if rebuilt.prover is not known.prover:
        # What runs there was decided under the policy before: nobody will accept it.
        known.prover.retire()
    return live.newest
