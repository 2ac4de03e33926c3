"""What the store writes: one record is one transaction."""

from typing import Any

import msgspec

from qwed.domain.agents import Agent, AgentId, PrincipalId
from qwed.domain.approvals import Approval
from qwed.domain.conversations import Step
from qwed.domain.credentials import ApiKey
from qwed.domain.outcomes import Outcome
from qwed.domain.webhooks import Webhook


class Activity(msgspec.Struct, frozen=True):
    """One line of the audit trail. `payload` is the entry as it is shown, in JSON, secrets masked."""

    activity_id: str
    agent_id: AgentId
    principal_id: PrincipalId
    at_ms: int
    action_type: str
    decision: str
    error_code: str | None
    conversation_id: str | None
    cost_nano: int
    tokens: int
    fingerprint: bytes
    payload: bytes


class Booking(msgspec.Struct, frozen=True):
    """What a record adds to the counters of its agent and principal."""

    agent_id: AgentId
    principal_id: PrincipalId
    day: int
    second: int
    requests: int
    cost_nano: int
    tokens: int


class CommittedStep(msgspec.Struct, frozen=True):
    agent_id: AgentId
    conversation_id: str
    step: Step


class Remembered(msgspec.Struct, frozen=True):
    """An answer kept for a while under the caller's idempotency key."""

    agent_id: AgentId
    key_hash: bytes
    status: int
    body: bytes
    expires_ms: int
    retry_after_seconds: int | None = None


class Crossing(msgspec.Struct, frozen=True):
    """An action above LOW risk was taken in a conversation (kept only where the policy limits that)."""

    agent_id: AgentId
    fingerprint: bytes
    conversation_id: str
    at_ms: int


class Record(msgspec.Struct, frozen=True):
    """All or nothing, durable before anybody is answered."""

    activity: Activity
    step: CommittedStep | None = None
    booking: Booking | None = None
    approval: Approval | None = None
    agent: Agent | None = None
    key: ApiKey | None = None
    webhook: Webhook | None = None
    dropped_webhook: str | None = None
    outcome: Outcome | None = None
    remembered: Remembered | None = None
    crossing: Crossing | None = None


class ActivityQuery(msgspec.Struct, frozen=True):
    agent_id: AgentId
    from_ms: int | None = None
    to_ms: int | None = None
    decision: str | None = None
    action_type: str | None = None
    conversation_id: str | None = None
    limit: int = 50
    before_seq: int | None = None


class ActivityPage(msgspec.Struct, frozen=True):
    """Newest first; `next_seq` continues where the page ends."""

    entries: tuple[tuple[bytes, Outcome | None], ...]
    summary: dict[str, Any]
    next_seq: int | None
