"""Where a principal wants to be told, and of what."""

import enum
from typing import Final
from urllib.parse import urlsplit

import msgspec

from qwed.domain.agents import PrincipalId
from qwed.domain.times import iso

MAILTO: Final = "mailto:"


class Channel(enum.StrEnum):
    """How the words travel: signed JSON, a message for Slack, Teams or PagerDuty, or plain-text mail."""

    WEBHOOK = "webhook"
    SLACK = "slack"
    TEAMS = "teams"
    PAGERDUTY = "pagerduty"
    EMAIL = "email"


class Topic(enum.StrEnum):
    DECISION = "decision"
    APPROVAL = "approval"
    TRUST = "trust"
    OUTCOME = "outcome"
    POLICY = "policy"


class Event(enum.StrEnum):
    """Everything worth telling. The part before the dot is its topic; a test concerns one webhook only."""

    APPROVAL_REQUESTED = "approval.requested"
    APPROVAL_REMINDED = "approval.reminded"
    APPROVAL_ESCALATED = "approval.escalated"
    APPROVAL_VOTED = "approval.voted"
    APPROVAL_APPROVED = "approval.approved"
    APPROVAL_DENIED = "approval.denied"
    APPROVAL_EXPIRED = "approval.expired"
    DECISION_FAILED = "decision.failed"
    TRUST_CHANGED = "trust.changed"
    TRUST_SUSPENDED = "trust.suspended"
    TRUST_REACTIVATED = "trust.reactivated"
    OUTCOME_UNKNOWN = "outcome.unknown"
    POLICY_CHANGED = "policy.changed"
    TEST = "test"

    @property
    def topic(self) -> str:
        return self.value.partition(".")[0]


class Webhook(msgspec.Struct, frozen=True):
    """`secret` signs deliveries, so unlike a credential it has to be kept readable.

    An operator's webhook belongs to no principal and hears of every one. With a `role`, it hears of
    approvals only once that role may answer them.
    """

    webhook_id: str
    principal_id: PrincipalId | None
    url: str
    events: tuple[str, ...]
    secret: str
    created_ms: int
    kind: Channel = Channel.WEBHOOK
    role: str | None = None

    def __repr__(self) -> str:
        return f"Webhook({self.webhook_id!r}, {self.shown_url!r})"

    @property
    def shown_url(self) -> str:
        """Without what may be a secret: the path of a Slack address is one, and a query can hold one."""
        if self.kind is Channel.EMAIL:
            return self.url
        parts = urlsplit(self.url)
        host = parts.netloc.rpartition("@")[2]
        if self.kind in (Channel.SLACK, Channel.TEAMS):
            return f"{parts.scheme}://{host}/…"
        return f"{parts.scheme}://{host}{parts.path}{'?…' if parts.query else ''}"

    def hears(self, event: Event, roles: tuple[str, ...] = ()) -> bool:
        """`roles` are those that may answer, where the event concerns an approval."""
        if event.topic not in self.events:
            return False
        return self.role is None or event.topic != Topic.APPROVAL or self.role in roles

    def to_wire(self) -> dict[str, object]:
        return {
            "id": self.webhook_id,
            "principal_id": self.principal_id,
            "kind": self.kind,
            "url": self.shown_url,
            "events": self.events,
            "role": self.role,
            "created_at": iso(self.created_ms),
        }
