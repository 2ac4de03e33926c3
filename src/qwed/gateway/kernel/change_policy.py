"""Changing what is in force: the next row of the store, its entry in the ledger, and who is told of it."""

from typing import Any, Final

import msgspec

from qwed.domain.agents import PrincipalId
from qwed.domain.codes import Code
from qwed.domain.credentials import Caller
from qwed.domain.policy import Policy
from qwed.domain.policy_changes import ChangeKind, PolicyChange, Stop
from qwed.domain.webhooks import Event
from qwed.gateway.kernel.answers import refuse
from qwed.gateway.kernel.changes import GATEWAY, noted
from qwed.gateway.kernel.live_policy import UnreadablePolicy, adopt, catch_up, policy_of
from qwed.gateway.kernel.notifications import News, deliveries_of
from qwed.gateway.kernel.ports import PolicyMoved
from qwed.gateway.kernel.records import Record
from qwed.gateway.kernel.services import Services

#: What the entry of each kind is called.
ENTRIES: Final = {
    ChangeKind.APPLY: "apply_policy",
    ChangeKind.ROLLBACK: "roll_back_policy",
    ChangeKind.STOP: "stop",
    ChangeKind.RESUME: "resume",
}


class Wanted(msgspec.Struct, frozen=True):
    """A change that somebody wants. Without a policy, the one in force stays."""

    kind: ChangeKind
    reason: str
    policy: Policy | None = None
    text: str | None = None
    stops: tuple[Stop, ...] | None = None
    rolled_back_to: int | None = None
    approved_by: str | None = None
    #: The number that it was made for; None takes whatever is in force.
    follows: int | None = None


async def put_in_force(services: Services, caller: Caller | None, wanted: Wanted) -> PolicyChange:
    """Durable, and in force everywhere, before it returns. Raises 409 where somebody else was quicker."""
    services = await catch_up(services)
    if wanted.follows not in (None, services.policy_number):
        raise report_moved_on(services.policy_number)
    change = _change(services, caller, wanted)
    policy = wanted.policy or await policy_of(services, change)
    _require_usable(services, policy)
    record = await _record(services, caller, change)
    try:
        await services.store.commit(record)
    except PolicyMoved:
        raise report_moved_on((await catch_up(services)).policy_number) from None
    adopt(services.newest, change, policy)
    services.events.publish(
        {"type": "policy", "activity_id": record.activity.activity_id, **change.to_wire()}
    )
    return change


def report_moved_on(number: int) -> Exception:
    return refuse(
        Code.POLICY_CONFLICT, f"somebody else changed what is in force: look at version {number} first"
    )


def _require_usable(services: Services, policy: Policy) -> None:
    """Before anybody else hears of it: what this gateway can't use is refused, and nothing changes."""
    texts = services.live.texts
    if texts is None or policy is services.policy:
        return
    try:
        built = texts.rebuild(services, policy)
    except UnreadablePolicy as error:
        raise refuse(Code.POLICY_UNREADABLE, str(error)) from None
    if built.prover is not services.prover:
        built.prover.close()


def _change(services: Services, caller: Caller | None, wanted: Wanted) -> PolicyChange:
    number, policy = services.policy_number + 1, wanted.policy
    return PolicyChange(
        number=number,
        kind=wanted.kind,
        at_ms=services.clock.now_ms(),
        by=caller.name if caller else GATEWAY,
        reason=wanted.reason,
        policy_at=number if policy is not None else services.policy_at,
        version=(policy or services.policy).version,
        source=services.live.source,
        text=wanted.text,
        policy=None if policy is None else policy.to_wire(),
        stops=services.stops if wanted.stops is None else wanted.stops,
        rolled_back_to=wanted.rolled_back_to,
        approved_by=wanted.approved_by,
    )


async def _record(services: Services, caller: Caller | None, change: PolicyChange) -> Record:
    told: dict[str, Any] = {**change.to_wire(), "text": change.text}
    activity = noted(services, caller, ENTRIES[change.kind], told)
    news = News(
        Event.POLICY_CHANGED,
        activity.agent_id,
        PrincipalId(""),
        activity.activity_id,
        change.at_ms,
        {"change": change.to_wire()},
    )
    return Record(activity, policy_change=change, deliveries=await deliveries_of(services, news))
