"""The `Store` port: hot state in memory, the truth in the tables.

Accounts and conversations are loaded on first use and dropped, least recently used first, when there
are too many; one that is in use is never dropped. One lock makes admission atomic; it is never held
while anything waits. A key is loaded by one caller at a time, so nothing can change it meanwhile.
"""

import itertools
import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Final, TypeVar

from qwed.domain.admission import Account, Attempt, loop_refusal, spending_refusal
from qwed.domain.agents import Agent, AgentId, AgentStatus, PrincipalId
from qwed.domain.approvals import Approval, ApprovalKind, ApprovalStatus
from qwed.domain.budgets import FREE, Charge, Spending
from qwed.domain.codes import Code, Refusal
from qwed.domain.conduct import Conduct, Standing
from qwed.domain.conversations import Conversation, Reservation, may_rest_on_failures
from qwed.domain.credentials import ApiKey
from qwed.domain.deliveries import Delivery, DeliveryClaim
from qwed.domain.outcomes import Outcome, OutcomeResult
from qwed.domain.permits import IssuedPermit, PermitFinding, permit_used
from qwed.domain.policy import LoopLimits, Policy
from qwed.domain.policy_changes import PolicyChange
from qwed.domain.refusal_counts import Counted, CountedRefusal, RefusedMinute
from qwed.domain.times import DAY_MS, day_of
from qwed.domain.trust_changes import TrustChange
from qwed.domain.webhooks import Webhook
from qwed.domain.workflows import Workflow
from qwed.ect.verifier import GENERIC_REFUSAL
from qwed.gateway.kernel.coroutines import SingleFlight, Ticket, wake
from qwed.gateway.kernel.integrity import Integrity
from qwed.gateway.kernel.ledger_watch import LedgerWatch
from qwed.gateway.kernel.ports import (
    Admission,
    AgentChanged,
    Clock,
    KeyClaim,
    KeyInFlight,
    KeyTaken,
    LeaseLost,
    PolicyMoved,
    StateDiffers,
)
from qwed.gateway.kernel.records import (
    Activity,
    ActivityPage,
    ActivityQuery,
    HourCount,
    KnownNode,
    LedgerItem,
    LedgerState,
    Received,
    ReceivedEct,
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
from qwed.stores.access import StoreAccess
from qwed.stores.cache import GenerationCache as _Cache
from qwed.stores.refusals import (
    changed_meanwhile,
    check_unchanged,
    policy_moved,
    reported_already,
    too_many_open,
)
from qwed.stores.rule_memory import Past, RuleMemory

T = TypeVar("T")

MAX_AGENTS: Final = 10_000
MAX_CONVERSATIONS: Final = 4_096
MAX_KEYS: Final = 10_000
MAX_TOKENS: Final = 1_000
#: Decisions that let the agent act, now or after an approval.
_BINDING: Final = frozenset({"APPROVED", "CORRECTED", "PENDING"})


class _HotAgent:
    """An agent's record, its counters, and what of its past weighs on the next action."""

    __slots__ = ("agent", "open_approvals", "spending", "standing", "unsettled")

    def __init__(
        self,
        agent: Agent,
        spending: Spending,
        open_approvals: dict[str, int],
        unsettled: dict[bytes, int],
        standing: Standing,
    ) -> None:
        self.agent = agent
        self.spending = spending
        self.open_approvals = open_approvals
        self.unsettled = unsettled
        self.standing = standing

    def behave(self, actions: int, conduct: Conduct | None) -> None:
        """What is now on record of its conduct."""
        known = self.standing
        self.standing = Standing(known.actions + actions, conduct or known.conduct)


class _Place(Admission, frozen=True, kw_only=True):
    """An admission with what it holds on to: in use, so none of it can have been forgotten."""

    hot: _HotAgent
    principal: Spending
    #: As it was when it was read, and is decided upon.
    agent: Agent
    conversation: Conversation | None = None


class _HotClaim:
    """A claim on an idempotency key, with what is held under it."""

    __slots__ = ("expires_ms", "is_writing", "place", "token")

    def __init__(self, token: int, expires_ms: int) -> None:
        self.token = token
        self.expires_ms = expires_ms
        self.place: _Place | None = None
        #: Its answer is on its way to the disk: no lease may end it now.
        self.is_writing = False


class _Counting:
    """A refusal that waits to be counted, and then what became of it."""

    __slots__ = ("counted", "error", "refused")

    def __init__(self, refused: CountedRefusal) -> None:
        self.refused = refused
        self.counted: Counted | None = None
        self.error: Exception | None = None


class HotStore:
    def __init__(self, access: StoreAccess, policy: Policy, clock: Clock) -> None:
        self._access = access
        self._clock = clock
        self._tables = access.tables
        self.use_policy(policy)
        newest = self._tables.policy_changes(None, 1)
        #: The newest change, as soon as it is on its way; who wants to write meanwhile waits for it, and it
        #: waits for the decisions that are being written.
        self._policy_number = newest[0].number if newest else 0
        self._behind_change: list[Ticket[None]] | None = None
        self._writing = 0
        self._written: Ticket[None] | None = None
        self._lock = threading.Lock()
        self._agents: _Cache[AgentId, _HotAgent] = _Cache(MAX_AGENTS, lambda hot: hot.spending.in_flight > 0)
        self._principals: _Cache[PrincipalId, Spending] = _Cache(
            MAX_AGENTS, lambda spending: spending.in_flight > 0
        )
        self._conversations: _Cache[tuple[AgentId, str], Conversation] = _Cache(
            MAX_CONVERSATIONS, lambda conversation: conversation.reservation is not None
        )
        self._keys: _Cache[bytes, ApiKey] = _Cache(MAX_KEYS, lambda _: False)
        self._tokens: _Cache[bytes, AgentId] = _Cache(MAX_AGENTS, lambda _: False)
        #: The newest version of approvals that changed lately.
        self._approvals: _Cache[str, int] = _Cache(MAX_KEYS, lambda _: False)
        self._ects: _Cache[str, str] = _Cache(MAX_TOKENS, lambda _: False)
        self._permits: _Cache[str, int] = _Cache(MAX_KEYS, lambda _: False)
        self._outcomes: _Cache[str, OutcomeResult] = _Cache(MAX_KEYS, lambda _: False)
        self._destinations: _Cache[PrincipalId, tuple[Webhook, ...]] = _Cache(MAX_AGENTS, lambda _: False)
        #: How often webhooks have changed: what was read before a change is not kept after it.
        self._webhook_changes = 0
        self._loads = SingleFlight()
        self._rules = RuleMemory(access, self._loads, self._lock)
        self._serials = itertools.count(1)
        #: Admissions whose hold has not been given back: whatever ends one, ends it once.
        self._live: set[int] = set()
        self._claims: dict[tuple[AgentId, bytes], _HotClaim] = {}
        self._uncounted: deque[_Counting] = deque()
        self._counting = threading.Lock()
        self.integrity = Integrity()
        #: Each group is signed before it is answered: the ledger is never behind.
        self.ledger_watch = LedgerWatch()

    # --- reading -------------------------------------------------------------------------------

    async def agent(self, agent_id: AgentId) -> Agent | None:
        hot = self._agents.get(agent_id) or await self._hot_agent(agent_id)
        if hot is None or hot.agent.status is AgentStatus.DEREGISTERED:
            return None
        return None if self.integrity.refuses_agent(agent_id) else hot.agent

    async def agent_by_token(self, token_hash: bytes) -> Agent | None:
        agent_id = self._tokens.get(token_hash)
        if agent_id is not None:
            agent = await self.agent(agent_id)
            if agent is not None and agent.token_hash == token_hash:
                return agent
        found = await self._sound(self._tables.agent_by_token, token_hash)
        if found is None:
            return None
        with self._lock:
            self._tokens.put(token_hash, found.agent_id)
        return await self.agent(found.agent_id)

    async def api_key(self, key_hash: bytes) -> ApiKey | None:
        key = self._keys.get(key_hash)
        if key is None:
            key = await self._sound(self._tables.api_key, key_hash)
            if key is not None:
                with self._lock:
                    # A revocation may have been applied while this was being read.
                    key = self._keys.get(key_hash) or key
                    self._keys.put(key_hash, key)
        if key is None or key.revoked_ms is not None or self.integrity.refuses("keys", key.key_id):
            return None
        return key

    async def _sound(self, call: Callable[..., T | None], *args: object) -> T | None:
        """What is read, unless it is not what the ledger says: then it is as if it were not there."""
        try:
            return await self._access.read(call, *args)
        except StateDiffers as error:
            self.integrity.add(error.difference)
            return None

    async def differences(self, tables: Sequence[str]) -> list[StateDifference]:
        return await self._access.read(self._tables.differences, tables)

    async def spending(self, agent: Agent, now_ms: int) -> Spending:
        hot = await self._require_agent(agent.agent_id)
        with self._lock:
            hot.spending.roll(now_ms)
        return hot.spending

    async def standing(self, agent_id: AgentId) -> Standing:
        hot = self._agents.get(agent_id) or await self._require_agent(agent_id)
        return hot.standing

    async def trust_changes(
        self, agent_id: AgentId, before: int | None, limit: int
    ) -> list[tuple[int, TrustChange]]:
        return await self._access.read(self._tables.trust_changes, agent_id, before, limit)

    async def is_unsettled(self, agent_id: AgentId, fingerprint: bytes) -> bool:
        return fingerprint in (await self._require_agent(agent_id)).unsettled

    async def count_refusal(self, refused: CountedRefusal) -> Counted:
        own = _Counting(refused)
        self._uncounted.append(own)
        return await self._access.change(self._count_with_others, own)

    def _count_with_others(self, own: _Counting) -> Counted:
        """Whoever comes first counts all that wait, in one transaction: many refusals share a flush."""
        with self._counting:
            batch = [self._uncounted.popleft() for _ in range(len(self._uncounted))]
            if batch:
                self._count_batch(batch)
        if own.counted is None:
            raise own.error or RuntimeError("a refusal was taken from the queue and not counted")
        return own.counted

    def _count_batch(self, batch: list[_Counting]) -> None:
        limit = self._policy.limits.refusals_per_hour
        try:
            counted = self._tables.count_refusals([each.refused for each in batch], limit)
        # Carried to everybody whose refusal was among them.
        except Exception as error:  # noqa: BLE001
            for each in batch:
                each.error = error
            return
        for each, result in zip(batch, counted, strict=True):
            each.counted = result

    async def list_refused_minutes_due(self, before: int, limit: int) -> list[RefusedMinute]:
        return await self._access.read(self._tables.list_refused_minutes_due, before, limit)

    async def keep_scores(self, changes: Sequence[ScoreChange]) -> None:
        await self._access.change(self._tables.keep_scores, changes)

    async def score_changes(self, peer: str, before: int | None, limit: int) -> list[ScoreChange]:
        return await self._access.read(self._tables.score_changes, peer, before, limit)

    async def list_scored_peers(self, after: str | None, limit: int) -> list[str]:
        return await self._access.read(self._tables.list_scored_peers, after, limit)

    async def keep_shared(self, digest: str, body: bytes) -> None:
        await self._access.change(self._tables.keep_shared, digest, body)

    async def shared(self, digest: str) -> bytes | None:
        return await self._access.read(self._tables.shared, digest)

    async def keep_salt(self, agent_id: AgentId, conversation_id: str, fresh: bytes, now_ms: int) -> bytes:
        return await self._access.change(self._tables.keep_salt, agent_id, conversation_id, fresh, now_ms)

    async def keep_heard(self, agent_id: AgentId, conversation_id: str, report_id: str, body: bytes) -> None:
        await self._access.change(self._tables.keep_heard, agent_id, conversation_id, report_id, body)

    async def heard(
        self, agent_id: AgentId, conversation_id: str, after: int
    ) -> tuple[bytes | None, list[tuple[int, bytes]]]:
        return await self._access.read(self._tables.heard, agent_id, conversation_id, after)

    async def end_session(self, session_id: bytes, expires_ms: int) -> None:
        await self._access.change(self._tables.end_session, session_id, expires_ms)

    async def is_session_ended(self, session_id: bytes) -> bool:
        return await self._access.read(self._tables.is_session_ended, session_id)

    async def keep_sign_in(self, session_id: bytes, body: bytes, expires_ms: int) -> None:
        await self._access.change(self._tables.keep_sign_in, session_id, body, expires_ms)

    async def sign_in(self, session_id: bytes) -> bytes | None:
        return await self._access.read(self._tables.sign_in, session_id)

    async def outcomes(self, agent_id: AgentId, limit: int) -> list[Outcome]:
        return await self._access.read(self._tables.outcomes, agent_id, limit)

    async def agents(self, principal_id: PrincipalId | None, after: str | None, limit: int) -> list[Agent]:
        return await self._access.read(self._tables.agents, principal_id, after, limit)

    async def principal_standing(self, principal_id: PrincipalId) -> tuple[int, bool]:
        return await self._access.read(self._tables.principal_standing, principal_id)

    async def activities(self, query: ActivityQuery) -> ActivityPage:
        return await self._access.read(self._tables.activities, query)

    async def activity(self, activity_id: str) -> tuple[Activity, Outcome | None] | None:
        return await self._access.read(self._tables.activity, activity_id)

    async def approval(self, approval_id: str) -> Approval | None:
        try:
            return await self._access.read(self._tables.approval, approval_id)
        except StateDiffers as error:
            self.integrity.add(error.difference)
            raise

    async def approvals(
        self,
        principal_id: PrincipalId | None,
        agent_id: AgentId | None,
        status: str | None,
        now_ms: int,
        after: str | None,
        limit: int,
    ) -> list[Approval]:
        return await self._access.read(
            self._tables.approvals, principal_id, agent_id, status, now_ms, after, limit
        )

    async def search(self, query: SearchQuery) -> SearchPage:
        return await self._access.read(self._tables.search, query)

    async def hours(self, principal_id: PrincipalId | None, from_hour: int) -> list[HourCount]:
        return await self._access.read(self._tables.hours, principal_id, from_hour)

    async def agents_by_spending(
        self, principal_id: PrincipalId | None, day: int, limit: int
    ) -> list[tuple[Agent, int]]:
        return await self._access.read(self._tables.agents_by_spending, principal_id, day, limit)

    async def count_waiting(self, principal_id: PrincipalId | None, now_ms: int) -> int:
        return await self._access.read(self._tables.count_waiting, principal_id, now_ms)

    async def keys(self, principal_id: PrincipalId | None) -> list[ApiKey]:
        return await self._access.read(self._tables.keys, principal_id)

    async def webhooks(self, principal_id: PrincipalId | None) -> list[Webhook]:
        return await self._access.read(self._tables.webhooks, principal_id)

    async def survey(self, scope: ReportScope, after_seq: int) -> Survey:
        return await self._access.read(self._tables.survey, scope, after_seq)

    async def ledger_state(self) -> LedgerState:
        return await self._access.read(self._tables.ledger_state)

    async def approvals_due(self, now_ms: int, limit: int) -> list[Approval]:
        due = await self._access.read(self._tables.approvals_due, now_ms, limit)
        found = [await self._sound(self._tables.approval, approval.approval_id) for approval in due]
        return [approval for approval in found if approval is not None]

    async def webhook(self, webhook_id: str) -> Webhook | None:
        return await self._access.read(self._tables.webhook, webhook_id)

    async def destinations(self, principal_id: PrincipalId) -> tuple[Webhook, ...]:
        known = self._destinations.get(principal_id)
        if known is not None:
            return known
        before = self._webhook_changes
        found = tuple(await self._access.read(self._tables.destinations, principal_id))
        with self._lock:
            if self._webhook_changes == before:
                self._destinations.put(principal_id, found)
        return found

    async def deliveries(self, webhook_id: str, after: str | None, limit: int) -> list[Delivery]:
        return await self._access.read(self._tables.deliveries, webhook_id, after, limit)

    async def delivery(self, delivery_id: str) -> Delivery | None:
        return await self._access.read(self._tables.delivery, delivery_id)

    async def next_delivery_ms(self) -> int | None:
        return await self._access.read(self._tables.next_delivery_ms)

    async def claim_deliveries(self, claim: DeliveryClaim) -> list[Delivery]:
        return await self._access.change(self._tables.claim_deliveries, claim)

    async def settle_delivery(self, delivery: Delivery) -> None:
        await self._access.change(self._tables.settle_delivery, delivery)

    async def permit(self, jti: str) -> IssuedPermit | None:
        return await self._access.read(self._tables.permit, jti)

    async def permits_of(self, activity_id: str) -> list[IssuedPermit]:
        return await self._access.read(self._tables.permits_of, activity_id)

    async def unused_permits(
        self, agent_id: AgentId, audience: str, action_hash: str, now_ms: int
    ) -> list[IssuedPermit]:
        return await self._access.read(self._tables.unused_permits, agent_id, audience, action_hash, now_ms)

    async def permits_due(self, before_ms: int, limit: int) -> list[IssuedPermit]:
        return await self._access.read(self._tables.permits_due, before_ms, limit)

    async def count_findings(
        self, principal_id: PrincipalId | None, agent_id: AgentId | None, from_ms: int, to_ms: int
    ) -> dict[str, int]:
        return await self._access.read(self._tables.count_findings, principal_id, agent_id, from_ms, to_ms)

    async def findings(
        self, principal_id: PrincipalId | None, agent_id: AgentId | None, before: str | None, limit: int
    ) -> list[PermitFinding]:
        return await self._access.read(self._tables.findings, principal_id, agent_id, before, limit)

    async def policy_change(self, number: int | None = None) -> PolicyChange | None:
        return await self._access.read(self._tables.policy_change, number)

    async def policy_changes(self, before: int | None, limit: int) -> list[PolicyChange]:
        return await self._access.read(self._tables.policy_changes, before, limit)

    async def workflow(self, workflow_id: str) -> Workflow | None:
        return await self._access.read(self._tables.workflow, workflow_id)

    async def find_completed_nodes(self, workflow_id: str) -> frozenset[str]:
        return await self._access.read(self._tables.find_completed_nodes, workflow_id)

    @property
    def evidence(self) -> "HotEvidence":
        return HotEvidence(self._access)

    async def ping(self) -> None:
        await self._access.read(self._tables.ping)

    def close(self) -> None:
        self._access.close()

    # --- admission -----------------------------------------------------------------------------

    async def claim_key(
        self, agent_id: AgentId, key_hash: bytes, now_ms: int
    ) -> Remembered | KeyClaim | KeyInFlight:
        with self._lock:
            held = self._claims.get((agent_id, key_hash))
            if held is not None and not self._overtake(held, now_ms):
                return KeyInFlight(held.expires_ms)
            claim = KeyClaim(agent_id, key_hash, next(self._serials))
            self._claims[agent_id, key_hash] = _HotClaim(claim.token, now_ms + self._lease_ms)
        # Looked up under the claim, so that nobody can answer in between.
        try:
            kept = await self._access.read(self._tables.remembered, agent_id, key_hash, now_ms)
        except BaseException:
            await self.give_up_key(claim)
            raise
        if kept is None:
            return claim
        await self.give_up_key(claim)
        return kept

    def _overtake(self, held: _HotClaim, now_ms: int) -> bool:
        """Whether its lease has ended; then what is held under it has, too."""
        if held.is_writing or now_ms < held.expires_ms:
            return False
        if held.place is not None and held.place.serial in self._live:
            self._let_go(held.place)
        return True

    async def give_up_key(self, claim: KeyClaim) -> None:
        with self._lock:
            held = self._claims.get((claim.agent_id, claim.key_hash))
            # What is being written is ended by the write alone, whatever becomes of its caller.
            if held is not None and held.token == claim.token and not held.is_writing:
                del self._claims[claim.agent_id, claim.key_hash]

    def _under(self, claim: KeyClaim, admission: Admission | Refusal) -> Admission | Refusal:
        if isinstance(admission, _Place):
            held = self._claims.get((claim.agent_id, claim.key_hash))
            if held is not None and held.token == claim.token:
                held.place = admission
        return admission

    async def admit(
        self, agent: Agent, attempt: Attempt, now_ms: int, claim: KeyClaim | None = None
    ) -> Admission | Refusal:
        key = (agent.agent_id, attempt.conversation_id)
        crossings, limits = 0, self._policy.loops_of(agent.agent_id)
        is_sure = False
        if limits.cross_conversation is not None:
            crossings = await self._crossings(agent.agent_id, attempt, now_ms)
        doubted: Conversation | None = None
        while True:
            with self._lock:
                hot, conversation = self._agents.use(agent.agent_id), self._conversations.use(key)
                principal = self._principals.use(agent.principal_id)
                if hot is not None and conversation is not None and principal is not None:
                    account = self._account(hot, principal, crossings)
                    admission = self._admit(agent, account, hot, conversation, attempt, limits, now_ms)
                    is_sure |= not (isinstance(admission, Refusal) and may_rest_on_failures(admission))
                    if is_sure:
                        return admission if claim is None else self._under(claim, admission)
                    doubted = conversation
            if doubted is not None:
                # Outcomes come after their steps: which of them failed, the tables know.
                recorded = await self._access.read(self._tables.conversation, *key)
                with self._lock:
                    doubted.note_failures(recorded)
                doubted, is_sure = None, True
                continue
            # Loading one may push out another, so the look is repeated until all are there at once.
            await self._warm(agent)
            if conversation is None:
                await self._loads.do(key, lambda: self._load_conversation(key))

    def _account(self, hot: _HotAgent, principal: Spending, crossings: int = 0) -> Account:
        ceilings = self._policy.ceilings_of(hot.agent.principal_id)
        return Account(hot.agent.budget, ceilings, hot.spending, principal, hot.unsettled, crossings)

    def _admit(
        self,
        agent: Agent,
        account: Account,
        hot: _HotAgent,
        conversation: Conversation,
        attempt: Attempt,
        limits: LoopLimits,
        now_ms: int,
    ) -> Admission | Refusal:
        attempt = attempt.number_in(conversation)
        refusal = loop_refusal(conversation, account, attempt, limits, now_ms) or spending_refusal(
            account, attempt.charge, now_ms
        )
        if refusal is not None:
            return refusal
        reservation = conversation.reserve(attempt.step, now_ms, self._lease_ms)
        return self._take(agent, account, hot, attempt.charge, now_ms, conversation, reservation)

    async def hold(
        self, agent: Agent, charge: Charge, now_ms: int, claim: KeyClaim | None = None
    ) -> Admission | Refusal:
        while True:
            await self._warm(agent)
            with self._lock:
                hot, principal = self._agents.use(agent.agent_id), self._principals.use(agent.principal_id)
                if hot is not None and principal is not None:
                    account = self._account(hot, principal)
                    refusal = spending_refusal(account, charge, now_ms)
                    admission = refusal or self._take(agent, account, hot, charge, now_ms)
                    return admission if claim is None else self._under(claim, admission)

    def _take(
        self,
        agent: Agent,
        account: Account,
        hot: _HotAgent,
        charge: Charge,
        now_ms: int,
        conversation: Conversation | None = None,
        reservation: Reservation | None = None,
    ) -> Admission:
        principal = account.principal_spending
        hot.spending.take(charge, now_ms)
        principal.take(charge, now_ms)
        serial = next(self._serials)
        self._live.add(serial)
        return _Place(
            serial,
            agent.agent_id,
            agent.principal_id,
            charge,
            now_ms,
            hot.spending,
            reservation,
            conversation.history[-1] if conversation is not None and conversation.history else None,
            hot=hot,
            principal=principal,
            agent=agent,
            conversation=conversation,
        )

    async def release(self, admission: Admission) -> None:
        assert isinstance(admission, _Place)
        with self._lock:
            # What is being written is ended by the write alone, whatever becomes of its caller.
            if admission.serial in self._live:
                self._live.discard(admission.serial)
                _end(admission)

    def use_policy(self, policy: Policy) -> None:
        self._policy = policy
        self._lease_ms = int(policy.limits.lease_seconds * 1000)
        self._tables.use_retention(policy.retention)

    # --- committing ----------------------------------------------------------------------------

    async def commit(self, record: Record, admission: Admission | None = None) -> Refusal | None:
        # Without an admission the agent is pinned: a load that ran beside the write would otherwise
        # bring back what the write replaces.
        place = await self._pin(record.activity) if admission is None else admission
        assert isinstance(place, _Place | None)
        while self._behind_change is not None and (ticket := self._wait_for_change(record)) is not None:
            await ticket
        past = None
        if record.looks_back:
            try:
                past = await self._rules.look_back(record)
            except BaseException:
                if admission is None and place is not None:
                    with self._lock:
                        self._let_go(place)
                raise
        with self._lock:
            try:
                reached = None if past is None else self._rules.check(record, past)
                refusal = reached or self._prepare(record, place)
            except (AgentChanged, KeyTaken, LeaseLost, PolicyMoved):
                if past is not None:
                    self._rules.forget(past)
                if admission is None and place is not None:
                    self._let_go(place)
                raise
            if refusal is not None:
                if past is not None:
                    self._rules.forget(past)
                if admission is None and place is not None:
                    self._let_go(place)
                return refusal
            if place is not None:
                self._live.discard(place.serial)
            if (kept := record.remembered) is not None:
                self._claims[kept.agent_id, kept.key_hash].is_writing = True
            if past is not None:
                record = self._rules.count(record, past)
            self._writing += record.policy_number is not None
        if record.policy_change is not None:
            await self._let_decisions_go_first(record, place, past)
        await self._access.write(record, lambda ok: self._apply_record(record, place, past, ok))
        return None

    async def _pin(self, activity: Activity) -> _Place | None:
        """Hold on to an agent and its principal; None where the record concerns no agent that exists."""
        agent_id, principal_id = activity.agent_id, activity.principal_id
        while True:
            if self._agents.get(agent_id) is None and await self._hot_agent(agent_id) is None:
                return None
            await self._warm_principal(principal_id)
            with self._lock:
                hot, principal = self._agents.use(agent_id), self._principals.use(principal_id)
                if hot is not None and principal is not None:
                    hot.spending.hold(FREE)
                    principal.hold(FREE)
                    serial = next(self._serials)
                    self._live.add(serial)
                    return _Place(
                        serial,
                        agent_id,
                        principal_id,
                        FREE,
                        activity.at_ms,
                        hot.spending,
                        hot=hot,
                        principal=principal,
                        agent=hot.agent,
                    )

    def _let_go(self, place: _Place) -> None:
        self._live.discard(place.serial)
        _end(place)

    def _wait_for_change(self, record: Record) -> Ticket[None] | None:
        """Where a change of what is in force is being written: until it is, or is not."""
        if record.policy_number is None and record.policy_change is None:
            return None
        with self._lock:
            if self._behind_change is None:
                return None
            ticket: Ticket[None] = Ticket()
            self._behind_change.append(ticket)
            return ticket

    async def _let_decisions_go_first(self, record: Record, place: _Place | None, past: Past | None) -> None:
        with self._lock:
            ticket = self._written = Ticket() if self._writing else None
        try:
            if ticket is not None:
                await ticket
        except BaseException:
            self._apply_record(record, place, past, False)
            raise

    def _prepare(self, record: Record, place: _Place | None) -> Refusal | None:
        if record.policy_number is not None and record.policy_number != self._policy_number:
            raise policy_moved()
        if (kept := record.remembered) is not None:
            self._check_claim(kept)
        if (change := record.policy_change) is not None:
            if change.number != self._policy_number + 1:
                raise policy_moved()
            self._policy_number, self._behind_change = change.number, []
        if place is not None and place.agent is not place.hot.agent and record.activity.decision in _BINDING:
            check_unchanged(place.agent, place.hot.agent)
        if record.ects and (replay := self._replay(record.ects)) is not None:
            return replay
        if record.step is not None:
            self._seal(place)
        if record.permit is not None and record.permit.version:
            return self._permit_refusal(record.permit)
        if record.outcome is not None:
            return self._outcome_refusal(record.outcome)
        if record.approval is not None and place is not None:
            return self._open_approval(record.approval, place.hot)
        return None

    def _check_claim(self, kept: Remembered) -> None:
        held = self._claims.get((kept.agent_id, kept.key_hash))
        if held is None or held.token != kept.claim:
            raise KeyTaken("another request answers under this idempotency key")

    def _replay(self, ects: tuple[ReceivedEct, ...]) -> Refusal | None:
        """Two tokens under one id, at the same moment: the first is taken. (Earlier ones were looked up.)"""
        for ect in ects:
            if self._ects.get(ect.jti) not in (None, ect.token):
                return Refusal(Code.ECT_REFUSED, GENERIC_REFUSAL)
        for ect in ects:
            self._ects.put(ect.jti, ect.token)
        return None

    def _permit_refusal(self, permit: IssuedPermit) -> Refusal | None:
        """As with approvals: of two changes that were made from the same state, the first is taken."""
        if (self._permits.get(permit.jti) or 0) >= permit.version:
            return permit_used(permit.jti)
        self._permits.put(permit.jti, permit.version)
        return None

    def _outcome_refusal(self, outcome: Outcome) -> Refusal | None:
        """An outcome is reported once and settled once. The caller has looked in the tables; this
        catches the report that is being written at the same moment."""
        earlier = self._outcomes.get(outcome.activity_id)
        refusal = reported_already(earlier, outcome)
        if refusal is None:
            self._outcomes.put(outcome.activity_id, outcome.result)
        return refusal

    def _seal(self, place: _Place | None) -> None:
        """From here no lease can end the reservation, because the write is on its way."""
        assert place is not None and place.conversation is not None and place.reservation is not None
        if place.serial not in self._live or not place.conversation.holds(place.reservation):
            raise LeaseLost("another request took over this step")
        place.conversation.committing = True

    def _open_approval(self, approval: Approval, hot: _HotAgent) -> Refusal | None:
        if approval.version:
            return self._approval_change(approval, hot)
        now_ms = approval.created_ms
        hot.open_approvals = {key: end for key, end in hot.open_approvals.items() if end > now_ms}
        limit = self._policy.approvals.max_open
        refusal = too_many_open(limit, hot.open_approvals.values(), now_ms)
        # Nobody keeps a review away by asking for much else.
        if refusal is not None and approval.kind is not ApprovalKind.REVIEW:
            return refusal
        hot.open_approvals[approval.approval_id] = approval.expires_ms
        return None

    def _approval_change(self, approval: Approval, hot: _HotAgent) -> Refusal | None:
        """Of two changes that were made from the same state, the first is taken."""
        if (self._approvals.get(approval.approval_id) or 0) >= approval.version:
            return changed_meanwhile(approval)
        self._approvals.put(approval.approval_id, approval.version)
        if approval.status is not ApprovalStatus.OPEN:
            hot.open_approvals.pop(approval.approval_id, None)
        return None

    def _apply_record(self, record: Record, place: _Place | None, past: Past | None, ok: bool) -> None:
        """What the tables now hold, the hot state holds too; if they hold nothing, it is undone."""
        waiting: list[Ticket[None]] = []
        with self._lock:
            if past is not None:
                self._rules.end(record, past, is_written=ok)
            if ok:
                self._apply(record, place)
            else:
                self._undo(record, place)
            if (kept := record.remembered) is not None:
                self._claims.pop((kept.agent_id, kept.key_hash), None)
            if place is not None:
                _end(place)
            if record.policy_change is not None:
                waiting, self._behind_change = self._behind_change or [], None
            self._writing -= record.policy_number is not None
            if self._written is not None and not self._writing:
                waiting, self._written = [*waiting, self._written], None
        if waiting:
            wake(waiting)

    def _undo(self, record: Record, place: _Place | None) -> None:
        if (approval := record.approval) is not None and place is not None:
            if approval.version:
                # The change did not happen: it is open, as far as it was, and as old as before.
                self._approvals.put(approval.approval_id, approval.version - 1)
                place.hot.open_approvals[approval.approval_id] = approval.expires_ms
            else:
                place.hot.open_approvals.pop(approval.approval_id, None)
        if record.policy_change is not None:
            self._policy_number = record.policy_change.number - 1
        for ect in record.ects:
            self._ects.drop(ect.jti)
        if record.outcome is not None:
            self._outcomes.drop(record.outcome.activity_id)
        if record.permit is not None and record.permit.version:
            self._permits.put(record.permit.jti, record.permit.version - 1)

    def _apply(self, record: Record, place: _Place | None) -> None:
        if record.redaction is not None:
            for jti in record.redaction.tokens:
                self._ects.drop(jti)
        if record.key is not None:
            self._keys.put(record.key.key_hash, record.key)
        if record.webhook is not None or record.dropped_webhook is not None:
            # One of an operator concerns every principal.
            self._destinations = _Cache(MAX_AGENTS, lambda _: False)
            self._webhook_changes += 1
        if place is None:
            return
        if record.step is not None and place.conversation is not None and place.reservation is not None:
            place.conversation.commit(place.reservation, record.step.step)
        if (booking := record.booking) is not None:
            place.hot.spending.settle(booking.day, booking.cost_nano, booking.tokens)
            place.principal.settle(booking.day, booking.cost_nano, booking.tokens)
        actions = booking.actions if booking is not None else 0
        if actions or record.conduct is not None:
            place.hot.behave(actions, record.conduct)
        if record.agent is not None:
            self._tokens.drop(place.hot.agent.token_hash)
            place.hot.agent = record.agent
        if record.outcome is not None:
            _note_outcome(place.hot, record.outcome)

    # --- loading -------------------------------------------------------------------------------

    async def _warm(self, agent: Agent) -> None:
        if self._agents.get(agent.agent_id) is None:
            await self._require_agent(agent.agent_id)
        await self._warm_principal(agent.principal_id)

    async def _warm_principal(self, principal_id: PrincipalId) -> None:
        if self._principals.get(principal_id) is None:
            await self._loads.do(("principal", principal_id), lambda: self._load_principal(principal_id))

    async def _require_agent(self, agent_id: AgentId) -> _HotAgent:
        hot = self._agents.get(agent_id) or await self._hot_agent(agent_id)
        assert hot is not None, "the agent was read before"
        return hot

    async def _hot_agent(self, agent_id: AgentId) -> _HotAgent | None:
        """The agent, even if others have pushed it out again by now; None where there is none."""
        return await self._loads.do(agent_id, lambda: self._load_agent(agent_id))

    # Each load looks once more before it reads: the caller that was here before may have loaded it. Absent
    # now, it stays absent until the put below, since no other load of this key runs; so what was read
    # cannot be out of date.

    async def _load_agent(self, agent_id: AgentId) -> _HotAgent | None:
        if (known := self._agents.get(agent_id)) is not None:
            return known
        agent = await self._sound(self._tables.agent, agent_id)
        now_ms = self._clock.now_ms()
        rows = None if agent is None else await self._sound(self._tables.account, agent_id, now_ms)
        if agent is None or rows is None:
            return None
        today = rows.today
        spending = Spending(
            day_of(now_ms), requests=today.requests, cost=today.cost_nano, tokens=today.tokens, hour=rows.hour
        )
        hot = _HotAgent(agent, spending, rows.open_approvals, rows.unsettled, rows.standing)
        with self._lock:
            self._agents.put(agent_id, hot)
        return hot

    async def _load_principal(self, principal_id: PrincipalId) -> None:
        if self._principals.get(principal_id) is not None:
            return
        now_ms = self._clock.now_ms()
        today = await self._access.read(self._tables.principal_today, principal_id, day_of(now_ms))
        spending = Spending(
            day_of(now_ms), requests=today.requests, cost=today.cost_nano, tokens=today.tokens, hour=None
        )
        with self._lock:
            self._principals.put(principal_id, spending)

    async def _load_conversation(self, key: tuple[AgentId, str]) -> None:
        if self._conversations.get(key) is not None:
            return
        history = await self._access.read(self._tables.conversation, *key)
        with self._lock:
            self._conversations.put(key, Conversation(history))

    async def _crossings(self, agent_id: AgentId, attempt: Attempt, now_ms: int) -> int:
        seen: set[str] = set()
        for fingerprint in (attempt.fingerprint, attempt.older):
            seen |= await self._access.read(self._tables.crossings, agent_id, fingerprint, now_ms - DAY_MS)
        return len(seen - {attempt.conversation_id})


class HotEvidence:
    """The `Evidence` port: straight to the tables."""

    def __init__(self, access: StoreAccess) -> None:
        self._access = access
        self._tables = access.tables.ledger

    async def ledger(self) -> str:
        return await self._access.read(self._tables.name)

    async def size(self) -> int:
        return await self._access.read(self._tables.size)

    async def checkpoint(self, size: int | None = None) -> SignedCheckpoint | None:
        return await self._access.read(self._tables.checkpoint, size)

    async def entries(self, after: int, limit: int) -> list[LedgerEntry]:
        return await self._access.read(self._tables.entries, after, limit)

    async def owners(self, after: int, limit: int) -> list[PrincipalId | None]:
        return await self._access.read(self._tables.owners, after, limit)

    async def root(self, size: int) -> bytes:
        return await self._access.read(self._tables.root, size)

    async def inclusion(self, seq: int, size: int) -> list[bytes]:
        return await self._access.read(self._tables.inclusion, seq, size)

    async def consistency(self, first: int, second: int) -> list[bytes]:
        return await self._access.read(self._tables.consistency, first, second)

    async def tree_hashes(self, level: int, first: int, count: int) -> list[bytes]:
        return await self._access.read(self._tables.tree_hashes, level, first, count)

    async def position(self, subject: str) -> int | None:
        return await self._access.read(self._tables.position, subject)

    async def received(self, jti: str) -> Received | None:
        return await self._access.read(self._tables.received, jti)

    async def ancestry(self, jtis: Sequence[str], bound: int) -> list[KnownNode]:
        return await self._access.read(self._tables.ancestry, jtis, bound)

    async def stretch(self, after: int, limit: int) -> list[LedgerItem]:
        return await self._access.read(self._tables.stretch, after, limit)

    async def lineage(self, jti: str, bound: int) -> list[LedgerItem]:
        return await self._access.read(self._tables.lineage, jti, bound)


def _end(place: _Place) -> None:
    """Step and hold are free again."""
    held = place.conversation
    if held is not None and held.reservation is not None and place.reservation is not None:
        held.release(place.reservation)
    place.hot.spending.release(place.charge)
    place.principal.release(place.charge)


def _note_outcome(hot: _HotAgent, outcome: Outcome) -> None:
    """Counted: of two unknown outcomes of one action, settling one leaves the other."""
    count = hot.unsettled.get(outcome.fingerprint, 0)
    if outcome.result is OutcomeResult.UNKNOWN:
        hot.unsettled[outcome.fingerprint] = count + 1
    elif outcome.settled_by is not None and count > 1:
        hot.unsettled[outcome.fingerprint] = count - 1
    elif outcome.settled_by is not None:
        hot.unsettled.pop(outcome.fingerprint, None)
