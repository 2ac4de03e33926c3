"""What the store writes: one record is one transaction."""

import operator
from typing import Any, Final

import msgspec

from qwed.domain.agents import Agent, AgentId, PrincipalId
from qwed.domain.approvals import Approval
from qwed.domain.conduct import Conduct
from qwed.domain.conversations import Step
from qwed.domain.credentials import ApiKey
from qwed.domain.deliveries import Delivery
from qwed.domain.outcomes import Outcome
from qwed.domain.permits import IssuedPermit, PermitFinding
from qwed.domain.policy_changes import PolicyChange
from qwed.domain.refusal_counts import RefusedMinute
from qwed.domain.rule_windows import CountedEntry, WindowCheck, WindowMark
from qwed.domain.trust_changes import TrustChange
from qwed.domain.webhooks import Webhook
from qwed.domain.workflows import Completion, Workflow
from qwed.ect import dag


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
    #: The nodes that caused this one, and the workflow they belong to, if they name one.
    par: tuple[str, ...] = ()
    wid: str | None = None


class ReceivedEct(msgspec.Struct, frozen=True):
    """An execution context token that was accepted, byte for byte as it came."""

    jti: str
    token: str
    received_ms: int
    #: Whose agents brought it: they may read it again.
    principal_id: PrincipalId


class KnownNode(msgspec.Struct, frozen=True):
    """A node of the graph on record; `token_hash` where it is a token received from elsewhere."""

    node: dag.TokenNode
    token_hash: str | None


class Received(msgspec.Struct, frozen=True):
    """A token and its place in the ledger; its bytes may have been erased since."""

    jti: str
    seq: int
    received_ms: int
    entry_hash: bytes
    token: str | None
    principal_id: PrincipalId


class LedgerItem(msgspec.Struct, frozen=True):
    """An entry with what it stands for: an activity or a token; neither where that was erased, or where the
    entry is about a row that decides."""

    seq: int
    at_ms: int
    activity: Activity | None
    token: str | None
    principal_id: PrincipalId | None
    is_about_row: bool = False
    #: What is left of it can't be compared with what the entry commits to.
    is_erased: bool = False


class ScoreChange(msgspec.Struct, frozen=True):
    """One move of one peer's trust score, and the ledger entry with which it came to light.

    Derived from the ledger alone: computed again, it is the same.
    """

    peer: str
    number: int
    event: str
    evidence: str | None
    before: str
    after: str
    at: int
    revokes: bool
    seq: int

    def to_wire(self) -> dict[str, Any]:
        return {
            "event": self.event,
            "evidence": self.evidence,
            "before": self.before,
            "after": self.after,
            "at": self.at,
            "revokes": self.revokes,
        }


class SignedCheckpoint(msgspec.Struct, frozen=True):
    """The ledger's word on its first `size` entries, and those of its witnesses."""

    size: int
    token: str
    cosignatures: tuple[str, ...] = ()


class Cosignature(msgspec.Struct, frozen=True):
    """A witness's signature beside the checkpoint of `size` entries, which is kept with it."""

    size: int
    at_ms: int
    checkpoint: str
    token: str


class Booking(msgspec.Struct, frozen=True):
    """What a record adds to the counters of its agent and principal."""

    agent_id: AgentId
    principal_id: PrincipalId
    day: int
    second: int
    requests: int
    cost_nano: int
    tokens: int
    #: Actions that were proposed and not denied: what denials are weighed against.
    actions: int = 0


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
    #: The token of the claim under which it is written; what is read has none.
    claim: int = 0


class Crossing(msgspec.Struct, frozen=True):
    """An action above LOW risk was taken in a conversation (kept only where the policy limits that)."""

    agent_id: AgentId
    fingerprint: bytes
    conversation_id: str
    at_ms: int


class Tombstone(msgspec.Struct, frozen=True):
    """What stays of an activity whose text is erased."""

    activity_id: str
    action_type: str
    conversation_id: str | None
    payload: bytes


class Redaction(msgspec.Struct, frozen=True):
    """Texts that go, wherever they were copied to; entries, counters and times stay.

    `approvals` and `outcomes` are what takes the place of the stored ones. `conversations` are names
    that are forgotten altogether, with the steps taken under them. Of `tokens`, by their `jti`, nothing is
    left but the entry.
    """

    agent_id: AgentId
    tombstones: tuple[Tombstone, ...]
    approvals: tuple[Approval, ...] = ()
    outcomes: tuple[Outcome, ...] = ()
    conversations: tuple[str, ...] = ()
    tokens: tuple[str, ...] = ()


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
    redaction: Redaction | None = None
    #: Who is told of it. One that is there already is replaced.
    deliveries: tuple[Delivery, ...] = ()
    #: Recorded in the ledger before the activity itself; one that is there already is not recorded twice.
    ects: tuple[ReceivedEct, ...] = ()
    cosignature: Cosignature | None = None
    workflow: Workflow | None = None
    #: Nodes of workflows that are done with this record.
    completions: tuple[Completion, ...] = ()
    #: Its agent's misdeeds, after this one.
    conduct: Conduct | None = None
    trust_changes: tuple[TrustChange, ...] = ()
    #: The minute that this entry states, as it was read: it is closed, unless it has changed since.
    stated: RefusedMinute | None = None
    #: What is in force from now on.
    policy_change: PolicyChange | None = None
    #: The number of the change under which it was decided; None for what no policy decides.
    policy_number: int | None = None
    #: Entries of their own for what follows from this one, next to it in the ledger.
    consequences: tuple[Activity, ...] = ()
    #: A permit as it is from now on. One with a version is refused where the store has it already.
    permit: IssuedPermit | None = None
    finding: PermitFinding | None = None
    #: What rules ask about earlier actions: checked, and counted, with the record or not at all.
    windows: tuple[WindowCheck, ...] = ()
    marks: tuple[WindowMark, ...] = ()
    #: The windows' new entries, from a store that counts in memory before it writes.
    counted: tuple[CountedEntry, ...] = ()

    @property
    def activities(self) -> tuple[Activity, ...]:
        """Everything that becomes an entry, in its order."""
        return (self.activity, *self.consequences)

    @property
    def looks_back(self) -> bool:
        """Whether it asks rules about earlier actions, or tells them of one that has happened."""
        return bool(self.windows or self.marks or (self.outcome is not None and self.outcome.proves))

    @property
    def is_plain(self) -> bool:
        """An ordinary decision: nothing beside its activity, step and booking."""
        return not any(_rare_of(self))


#: Members that an ordinary decision does not have.
_rare_of: Final = operator.attrgetter(
    *("agent", "approval", "key", "outcome", "remembered", "crossing", "conduct", "trust_changes", "stated"),
    *("webhook", "dropped_webhook", "redaction", "deliveries", "cosignature", "workflow", "policy_change"),
    *("completions", "permit", "finding", "counted", "marks"),
)


class ActivityQuery(msgspec.Struct, frozen=True):
    agent_id: AgentId
    from_ms: int | None = None
    to_ms: int | None = None
    decision: str | None = None
    action_type: str | None = None
    conversation_id: str | None = None
    limit: int = 50
    before_seq: int | None = None


class SearchQuery(msgspec.Struct, frozen=True):
    """Across agents, within one principal's walls; without a principal, everybody's (an operator's)."""

    principal_id: PrincipalId | None
    agent_id: AgentId | None = None
    from_ms: int | None = None
    to_ms: int | None = None
    decision: str | None = None
    action_type: str | None = None
    error_code: str | None = None
    conversation_id: str | None = None
    #: Bytes that the entry contains as they stand in its JSON.
    text: bytes | None = None
    limit: int = 50
    before_seq: int | None = None


class SearchPage(msgspec.Struct, frozen=True):
    """Newest first. A search looks through a bounded number of entries: `next_seq` may continue after a
    page that is not full, and `reached_ms` says how far back it looked."""

    entries: tuple[tuple[Activity, Outcome | None], ...]
    next_seq: int | None = None
    reached_ms: int | None = None


class HourCount(msgspec.Struct, frozen=True):
    """How many decisions of one hour came out alike, and what they cost."""

    hour: int
    decision: str
    error_code: str
    entries: int
    cost_nano: int


class ActivityPage(msgspec.Struct, frozen=True):
    """Newest first; `next_seq` continues where the page ends."""

    entries: tuple[tuple[bytes, Outcome | None], ...]
    summary: dict[str, Any]
    next_seq: int | None


class ReportScope(msgspec.Struct, frozen=True):
    """Whose record is looked at, and which part of it: from `from_ms` on, and before `to_ms`.

    `changes` are the kinds of noted entries whose text is wanted.
    """

    from_ms: int
    to_ms: int
    principal_id: PrincipalId | None = None
    agent_id: AgentId | None = None
    changes: tuple[str, ...] = ()


class Tally(msgspec.Struct, frozen=True):
    """How many entries are alike in everything named here. `what` is a noted entry's kind."""

    day: int
    agent_id: str
    decision: str
    error_code: str | None
    what: str | None
    status: str | None
    engine: str | None
    risk: str | None
    policy_version: str | None
    is_redacted: bool
    #: The outcome reported for it, and whether the agent itself reported it.
    outcome: str | None
    is_self_reported: bool
    count: int
    cost_nano: int
    tokens: int
    first_ms: int
    last_ms: int


class Survey(msgspec.Struct, frozen=True):
    """One stretch of the record. `next_seq` goes on where it ends; `last_seq` is the ledger's end.

    `removed` counts ledger entries of the period, whoever they concern, whose activity is gone.
    """

    tallies: tuple[Tally, ...]
    changes: tuple[bytes, ...]
    removed: int
    next_seq: int | None
    last_seq: int


class LedgerState(msgspec.Struct, frozen=True):
    entries: int
    head: bytes
    first_ms: int | None
    last_ms: int | None
    #: Rows that decide and were there before rows were committed, and when they were taken over.
    adopted: int = 0
    adopted_ms: int | None = None
