"""One event on its way to one webhook: tried until it arrives, or until it is given up."""

import enum
from collections.abc import Mapping
from typing import Final

import msgspec

from qwed.domain.agents import PrincipalId
from qwed.domain.json_types import Json
from qwed.domain.policy import NotificationRules
from qwed.domain.times import iso
from qwed.domain.webhooks import Event

MAX_ERROR: Final = 200


class DeliveryState(enum.StrEnum):
    PENDING = "pending"
    DELIVERED = "delivered"
    GIVEN_UP = "given_up"


class Delivery(msgspec.Struct, frozen=True):
    """Written with what it tells of, in one transaction. `event_id` is the same for every webhook that
    hears of one event. `due_ms` is when it is tried next; while somebody tries, when the try counts as lost.
    """

    delivery_id: str
    webhook_id: str
    principal_id: PrincipalId | None
    event_id: str
    event: Event
    created_ms: int
    due_ms: int
    body: bytes
    state: DeliveryState = DeliveryState.PENDING
    attempts: int = 0
    last_attempt_ms: int | None = None
    last_error: str | None = None

    def to_wire(self) -> dict[str, Json]:
        is_waiting = self.state is DeliveryState.PENDING
        tried = self.last_attempt_ms
        return {
            "id": self.delivery_id,
            "webhook_id": self.webhook_id,
            "event_id": self.event_id,
            "event": self.event,
            "state": self.state,
            "attempts": self.attempts,
            "created_at": iso(self.created_ms),
            "last_attempt_at": None if tried is None else iso(tried),
            "next_attempt_at": iso(self.due_ms) if is_waiting else None,
            "last_error": self.last_error,
        }


class DeliveryFailure(msgspec.Struct, frozen=True):
    """Why a try came to nothing; where it `is_final`, another one would too."""

    reason: str
    is_final: bool = False


class DeliveryClaim(msgspec.Struct, frozen=True):
    """What a dispatcher can take on now. What it claims is its own until `until_ms`.

    `per_webhook` bounds what one webhook has under way, `in_flight` included: a slow receiver has no more
    than its share.
    """

    now_ms: int
    until_ms: int
    limit: int
    per_webhook: int
    in_flight: Mapping[str, int]

    @property
    def full(self) -> frozenset[str]:
        """Webhooks that have their share already."""
        return frozenset(name for name, count in self.in_flight.items() if count >= self.per_webhook)

    def chosen(self, candidates: list[tuple[str, str]]) -> list[str]:
        """Of (delivery, webhook), oldest first: as many of each webhook as it has room for."""
        counts = dict(self.in_flight)
        taken: list[str] = []
        for delivery_id, webhook_id in candidates:
            if len(taken) >= self.limit:
                break
            if counts.get(webhook_id, 0) < self.per_webhook:
                counts[webhook_id] = counts.get(webhook_id, 0) + 1
                taken.append(delivery_id)
        return taken


def claimed(delivery: Delivery, claim: DeliveryClaim) -> Delivery:
    """Counted before it is tried: what kills the process each time is given up in the end, too."""
    return msgspec.structs.replace(
        delivery, attempts=delivery.attempts + 1, last_attempt_ms=claim.now_ms, due_ms=claim.until_ms
    )


def settled(
    delivery: Delivery, failure: DeliveryFailure | None, now_ms: int, rules: NotificationRules, chance: float
) -> Delivery:
    """The delivery after a try. `chance`, from 0 to 1, spreads the tries of those that failed together."""
    if failure is None:
        return msgspec.structs.replace(delivery, state=DeliveryState.DELIVERED, last_error=None)
    error = failure.reason[:MAX_ERROR]
    due_ms = now_ms + int(backoff_seconds(delivery.attempts, rules, chance) * 1000)
    is_too_late = due_ms >= delivery.created_ms + rules.give_up_after_seconds * 1000
    if failure.is_final or is_too_late or delivery.attempts >= rules.max_attempts:
        return msgspec.structs.replace(delivery, state=DeliveryState.GIVEN_UP, last_error=error)
    return msgspec.structs.replace(delivery, due_ms=due_ms, last_error=error)


def backoff_seconds(attempts: int, rules: NotificationRules, chance: float) -> float:
    """Twice as long after every try, up to a longest wait; between half of it and all of it."""
    doubled = rules.first_retry_seconds * 2.0 ** min(attempts - 1, 60)
    return min(doubled, rules.max_retry_seconds) * (0.5 + chance / 2)
