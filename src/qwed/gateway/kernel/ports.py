"""What the use cases need of the world, in their own words."""

from collections.abc import Sequence
from typing import Any, Protocol

import msgspec

from qwed.domain.actions import Action
from qwed.domain.admission import Attempt
from qwed.domain.agents import Agent, AgentId, PrincipalId
from qwed.domain.approvals import Approval
from qwed.domain.budgets import Charge, Spending
from qwed.domain.codes import Refusal
from qwed.domain.conduct import Standing
from qwed.domain.conversations import Reservation, Step
from qwed.domain.credentials import ApiKey
from qwed.domain.deliveries import Delivery, DeliveryClaim
from qwed.domain.findings import Finding
from qwed.domain.outcomes import Outcome
from qwed.domain.permits import IssuedPermit, PermitFinding
from qwed.domain.policy import Policy
from qwed.domain.policy_changes import PolicyChange
from qwed.domain.refusal_counts import Counted, CountedRefusal, RefusedMinute
from qwed.domain.trust_changes import TrustChange
from qwed.domain.webhooks import Webhook
from qwed.domain.workflows import Workflow
from qwed.engines.fair_queue import Client
from qwed.gateway.kernel.integrity import Integrity
from qwed.gateway.kernel.ledger_watch import LedgerWatch
from qwed.gateway.kernel.records import (
    Activity,
    ActivityPage,
    ActivityQuery,
    HourCount,
    KnownNode,
    LedgerItem,
    LedgerState,
    Received,
    Record,
    Remembered,
    ReportScope,
    ScoreChange,
    SearchPage,
    SearchQuery,
    SignedCheckpoint,
    Survey,
)
from qwed.ledger.entries import LedgerEntry
from qwed.ledger.states import StateDifference


class GatewayError(Exception):
    """Broken promises of the gateway's surroundings.

    GatewayError
    ├── StoreUnavailable   the store cannot read or record
    │   ├── LimiterUnavailable   nothing can be counted: what is let through could be too much
    │   ├── LedgerBehind   the ledger does not keep up, and the policy says: stop
    │   ├── SigningFailed      the key cannot sign
    │   └── StateDiffers   a row that decides is not as the ledger says
    ├── LeaseLost          somebody else took over the reserved step
    ├── PolicyMoved        a newer policy is in force than the one it was decided under
    ├── AgentChanged       the agent was suspended or trusted less while its request was at work
    └── KeyTaken           somebody else answers, or has answered, under this idempotency key
    """


class StoreUnavailable(GatewayError):
    #: What a person has to look at.
    component = "store"


class LimiterUnavailable(StoreUnavailable):
    def __init__(self, component: str, message: str) -> None:
        super().__init__(message)
        self.component = component


class LedgerBehind(StoreUnavailable):
    """The policy asks to decide nothing while the ledger does not keep up."""

    component = "ledger"


class StateDiffers(StoreUnavailable):
    """Nothing is decided on such a row: somebody else than the gateway wrote it."""

    def __init__(self, difference: StateDifference) -> None:
        super().__init__(f"{difference.says}; run `qwed ledger verify`")
        self.difference = difference


class LeaseLost(GatewayError):
    pass


class AgentChanged(GatewayError):
    pass


class KeyTaken(GatewayError):
    pass


class PolicyMoved(GatewayError):
    pass


class SigningFailed(StoreUnavailable):
    component = "signing key"


class KeyClaim(msgspec.Struct, frozen=True):
    """The right to answer under an idempotency key, until its lease ends. A hold made with it has the same
    token, so that whoever takes over takes both."""

    agent_id: AgentId
    key_hash: bytes
    token: int


class KeyInFlight(msgspec.Struct, frozen=True):
    """Somebody answers under this key just now, or has died doing so."""

    until_ms: int


class Admission(msgspec.Struct, frozen=True):
    """A counted request: its charge is held, and its step (if it has one) is reserved."""

    serial: int
    agent_id: AgentId
    principal_id: PrincipalId
    charge: Charge
    at_ms: int
    #: The agent's counters as they go on; the hold is among them.
    spending: Spending
    reservation: Reservation | None = None
    #: The last committed step of its conversation.
    previous: Step | None = None


class Clock(Protocol):
    def now_ms(self) -> int: ...
    def counter(self) -> float:
        """Seconds of a clock that only goes forward, for durations."""
        ...


class Ids(Protocol):
    """Names nobody can guess; those of activities and approvals also sort by time."""

    def activity(self, now_ms: int) -> str: ...
    def agent(self) -> str: ...
    def agent_token(self, principal_id: PrincipalId) -> str: ...
    def api_key(self, principal_id: PrincipalId | None) -> str: ...
    def key(self) -> str: ...
    def approval(self, now_ms: int) -> str: ...
    def attestation(self) -> str: ...
    def webhook(self) -> str: ...
    def event(self, now_ms: int) -> str: ...
    def delivery(self, now_ms: int) -> str: ...
    def secret(self) -> str: ...


class Signer(Protocol):
    """Signs with the deployment's key; ask it through `ask_signer`, which raises `SigningFailed`."""

    def __hash__(self) -> int: ...

    @property
    def issuer(self) -> str: ...

    @property
    def is_remote(self) -> bool:
        """Whether `sign` is a call to somewhere else, which takes its time."""
        ...

    def sign(self, typ: str, claims: dict[str, Any]) -> str: ...

    def jwks(self) -> dict[str, Any]: ...

    def verify(self, typ: str, token: str) -> dict[str, Any] | None:
        """The claims of a token that one of our keys signed, else None."""
        ...

    def forged(self, typ: str, token: str) -> dict[str, Any] | None:
        """The claims of a token that names one of our keys and that the key did not sign, else None."""
        ...

    def derive(self, purpose: bytes) -> bytes:
        """A secret of 32 bytes for one purpose: the same for everybody who has the key."""
        ...


class Prover(Protocol):
    """Runs an engine within its time limit, off the event loop where it may be slow.

    Never raises: a crash, a time-out and a full queue are UNCERTAIN findings.
    """

    async def prove(self, engine: str, action: Action, client: Client) -> Finding: ...
    def warm(self) -> None: ...
    def retire(self) -> None:
        """As `close`, without waiting for it."""
        ...

    def close(self) -> None: ...


class Evidence(Protocol):
    """The ledger and the graph of tokens, to be read. Raises `StoreUnavailable`; proofs `NoSuchProof`."""

    async def ledger(self) -> str:
        """The ledger's own name."""
        ...

    async def size(self) -> int: ...
    async def checkpoint(self, size: int | None = None) -> SignedCheckpoint | None:
        """The newest, or that of `size` entries where it was kept."""
        ...

    async def entries(self, after: int, limit: int) -> list[LedgerEntry]: ...
    async def owners(self, after: int, limit: int) -> list[PrincipalId | None]:
        """Whose the same entries are; None where that is nobody's, or not known any more."""
        ...

    async def root(self, size: int) -> bytes: ...
    async def inclusion(self, seq: int, size: int) -> list[bytes]: ...
    async def consistency(self, first: int, second: int) -> list[bytes]: ...
    async def tree_hashes(self, level: int, first: int, count: int) -> list[bytes]:
        """Neighbours of one level of the tree; all of them are complete."""
        ...

    async def position(self, subject: str) -> int | None:
        """The number of the entry about a token (`jti`) or an activity."""
        ...

    async def received(self, jti: str) -> Received | None: ...
    async def stretch(self, after: int, limit: int) -> list[LedgerItem]:
        """The entries behind number `after`, with what they stand for."""
        ...

    async def lineage(self, jti: str, bound: int) -> list[LedgerItem]:
        """The node of this id and everything before it, as far as the bound; each once."""
        ...

    async def ancestry(self, jtis: Sequence[str], bound: int) -> list[KnownNode]:
        """The nodes of these ids and everything before them, as far as the bound."""
        ...


class Decisions(Protocol):
    """What every decision needs of the gateway's memory. Raises `StoreUnavailable` when it can't do its work.

    `admit` is atomic across everything that shares the store: of any number of callers, one gets a
    step, and holds never pass a limit. `commit` is durable before it returns, and all of a record is
    written or nothing.
    """

    #: What is wrong with the rows that decide. An agent or a key of which something is, is not found.
    @property
    def integrity(self) -> Integrity: ...

    #: Whether the ledger keeps up.
    @property
    def ledger_watch(self) -> LedgerWatch: ...

    async def agent(self, agent_id: AgentId) -> Agent | None: ...
    async def agent_by_token(self, token_hash: bytes) -> Agent | None: ...
    async def api_key(self, key_hash: bytes) -> ApiKey | None: ...

    async def differences(self, tables: Sequence[str]) -> list[StateDifference]:
        """Rows of these committed tables that are not as the ledger says."""
        ...

    async def admit(
        self, agent: Agent, attempt: Attempt, now_ms: int, claim: KeyClaim | None = None
    ) -> Admission | Refusal:
        """Checks 6 to 14, the reservation and the hold, in one atomic step."""
        ...

    async def hold(
        self, agent: Agent, charge: Charge, now_ms: int, claim: KeyClaim | None = None
    ) -> Admission | Refusal:
        """Check 14 alone, for a tool call without a conversation."""
        ...

    async def release(self, admission: Admission) -> None:
        """Give back step and hold; the request stays counted. Harmless if it was committed or lost."""
        ...

    async def commit(self, record: Record, admission: Admission | None = None) -> Refusal | None:
        """Write the record. With an admission: only while its reservation is held (`LeaseLost`), and
        the hold is settled. A record with an approval is refused when too many are open. One that is to be
        remembered under a key is written only while its claim is held (`KeyTaken`): the first writer wins.
        One that was decided under another change than the newest is not written (`PolicyMoved`); nor is a
        change that does not follow the newest. In the ledger, no decision follows a change that it did not
        know of."""
        ...

    async def claim_key(
        self, agent_id: AgentId, key_hash: bytes, now_ms: int
    ) -> Remembered | KeyClaim | KeyInFlight:
        """The answer kept under the key, or the right to give one. A claim whose lease has ended, or whose
        holder has died, is taken over together with what was held under it."""
        ...

    async def give_up_key(self, claim: KeyClaim) -> None:
        """Nothing is remembered. Harmless if it was committed or lost."""
        ...

    def use_policy(self, policy: Policy) -> None:
        """Its limits hold from now on, in this process."""
        ...

    async def ping(self) -> None: ...
    def close(self) -> None: ...


class Records(Protocol):
    """What is on record, to be asked for; and what is kept beside decisions. Raises `StoreUnavailable`."""

    async def spending(self, agent: Agent, now_ms: int) -> Spending: ...

    async def standing(self, agent_id: AgentId) -> Standing:
        """How the agent has behaved, as far as that is on record."""
        ...

    async def trust_changes(
        self, agent_id: AgentId, before: int | None, limit: int
    ) -> list[tuple[int, TrustChange]]:
        """Newest first, each with its number; `before` continues below a number."""
        ...

    async def is_unsettled(self, agent_id: AgentId, fingerprint: bytes) -> bool:
        """Whether an outcome of this very action is still unknown."""
        ...

    async def count_refusal(self, refused: CountedRefusal) -> Counted:
        """Durable before it returns, and exact across everything that shares the store."""
        ...

    async def list_refused_minutes_due(self, before: int, limit: int) -> list[RefusedMinute]:
        """Minutes before number `before` that have counted refusals and no entry that states them."""
        ...

    async def keep_scores(self, changes: Sequence[ScoreChange]) -> None:
        """Those that are kept already stay as they are."""
        ...

    async def score_changes(self, peer: str, before: int | None, limit: int) -> list[ScoreChange]:
        """Newest first; `before` continues below a number."""
        ...

    async def list_scored_peers(self, after: str | None, limit: int) -> list[str]: ...

    async def keep_shared(self, digest: str, body: bytes) -> None:
        """What decisions name by its hash; durable before it returns. What is kept already stays."""
        ...

    async def shared(self, digest: str) -> bytes | None: ...

    async def keep_salt(self, agent_id: AgentId, conversation_id: str, fresh: bytes, now_ms: int) -> bytes:
        """The salt of what this conversation has heard: `fresh`, unless it has one. One for all, durable."""
        ...

    async def keep_heard(self, agent_id: AgentId, conversation_id: str, report_id: str, body: bytes) -> None:
        """What one source said, sealed; durable before it returns. A report that is kept already stays."""
        ...

    async def heard(
        self, agent_id: AgentId, conversation_id: str, after: int
    ) -> tuple[bytes | None, list[tuple[int, bytes]]]:
        """The salt, and what was kept behind number `after`, in its order."""
        ...

    async def end_session(self, session_id: bytes, expires_ms: int) -> None:
        """Durable before it returns, and known to everything that shares the store."""
        ...

    async def is_session_ended(self, session_id: bytes) -> bool:
        """Of a session that has not expired: whether it was ended before."""
        ...

    async def keep_sign_in(self, session_id: bytes, body: bytes, expires_ms: int) -> None:
        """What a person's session stands on, sealed; durable before it returns. The newest one counts, and
        nothing is kept for a session that was ended."""
        ...

    async def sign_in(self, session_id: bytes) -> bytes | None:
        """What was kept last, unless the session was ended."""
        ...

    async def outcomes(self, agent_id: AgentId, limit: int) -> list[Outcome]:
        """Those of the newest actions that have one."""
        ...

    async def agents(
        self, principal_id: PrincipalId | None, after: str | None, limit: int
    ) -> list[Agent]: ...
    async def principal_standing(self, principal_id: PrincipalId) -> tuple[int, bool]:
        """How many agents the principal has, and whether one is suspended for a violation."""
        ...

    async def activities(self, query: ActivityQuery) -> ActivityPage: ...
    async def activity(self, activity_id: str) -> tuple[Activity, Outcome | None] | None: ...
    async def approval(self, approval_id: str) -> Approval | None: ...
    async def approvals(
        self,
        principal_id: PrincipalId | None,
        agent_id: AgentId | None,
        status: str | None,
        now_ms: int,
        after: str | None,
        limit: int,
    ) -> list[Approval]: ...
    async def search(self, query: SearchQuery) -> SearchPage: ...
    async def hours(self, principal_id: PrincipalId | None, from_hour: int) -> list[HourCount]:
        """Decisions by hour (since the epoch), outcome and code, of one principal or of everybody."""
        ...

    async def agents_by_spending(
        self, principal_id: PrincipalId | None, day: int, limit: int
    ) -> list[tuple[Agent, int]]:
        """Suspended ones first, then by what they spent on that day (in billionths of a dollar)."""
        ...

    async def count_waiting(self, principal_id: PrincipalId | None, now_ms: int) -> int:
        """How many approvals are open."""
        ...

    async def keys(self, principal_id: PrincipalId | None) -> list[ApiKey]: ...
    async def approvals_due(self, now_ms: int, limit: int) -> list[Approval]:
        """Open ones of which something is to be done by now: remind, escalate, expire."""
        ...

    async def webhooks(self, principal_id: PrincipalId | None) -> list[Webhook]: ...
    async def webhook(self, webhook_id: str) -> Webhook | None: ...
    async def destinations(self, principal_id: PrincipalId) -> tuple[Webhook, ...]:
        """The principal's webhooks and the operators': quick, since decisions ask."""
        ...

    async def deliveries(self, webhook_id: str, after: str | None, limit: int) -> list[Delivery]:
        """Newest first."""
        ...

    async def delivery(self, delivery_id: str) -> Delivery | None: ...
    async def next_delivery_ms(self) -> int | None:
        """When a delivery is due next, or was."""
        ...

    async def claim_deliveries(self, claim: DeliveryClaim) -> list[Delivery]:
        """Due ones, each given to one claimer until the claim ends. Atomic across processes."""
        ...

    async def settle_delivery(self, delivery: Delivery) -> None:
        """Write what a try came to; ignored where somebody else has tried since, unless it arrived."""
        ...

    async def survey(self, scope: ReportScope, after_seq: int) -> Survey:
        """Count one bounded stretch of the record, from after `after_seq` on; so a whole record is counted
        in bounded memory, and others are served in between."""
        ...

    async def ledger_state(self) -> LedgerState: ...

    async def permit(self, jti: str) -> IssuedPermit | None: ...
    async def permits_of(self, activity_id: str) -> list[IssuedPermit]: ...
    async def unused_permits(
        self, agent_id: AgentId, audience: str, action_hash: str, now_ms: int
    ) -> list[IssuedPermit]:
        """Two at most: more than one is as good as none."""
        ...

    async def permits_due(self, before_ms: int, limit: int) -> list[IssuedPermit]:
        """Those that expired before `before_ms` and that nobody used."""
        ...

    async def count_findings(
        self, principal_id: PrincipalId | None, agent_id: AgentId | None, from_ms: int, to_ms: int
    ) -> dict[str, int]:
        """How many of each kind, of one principal or of everybody, of one agent or of all."""
        ...

    async def findings(
        self, principal_id: PrincipalId | None, agent_id: AgentId | None, before: str | None, limit: int
    ) -> list[PermitFinding]:
        """Newest first; `before` continues below an id."""
        ...

    async def policy_change(self, number: int | None = None) -> PolicyChange | None:
        """The change of this number, else the newest, which is in force; None where there is none. Raises
        `StateDiffers` where the row is not as the ledger says."""
        ...

    async def policy_changes(self, before: int | None, limit: int) -> list[PolicyChange]:
        """Newest first; `before` continues below a number."""
        ...

    async def workflow(self, workflow_id: str) -> Workflow | None: ...
    async def find_completed_nodes(self, workflow_id: str) -> frozenset[str]: ...

    @property
    def evidence(self) -> Evidence: ...


class Store(Decisions, Records, Protocol):
    """The gateway's memory, as `Services` holds it: one back end has both parts."""
