"""Tables in plain dictionaries: for tests, and for a gateway that may forget.

They keep what a file would, without the file: the same records, the same chain, nothing durable.
"""

import bisect
import itertools
import threading
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec

from qwed.domain.agents import Agent, AgentId, AgentStatus, PrincipalId
from qwed.domain.approvals import Approval, ApprovalStatus
from qwed.domain.conduct import Conduct, Standing
from qwed.domain.conversations import Step
from qwed.domain.credentials import ApiKey
from qwed.domain.deliveries import Delivery, DeliveryClaim, DeliveryState, claimed
from qwed.domain.nodes import activity_id_of
from qwed.domain.outcomes import Outcome, OutcomeResult
from qwed.domain.permits import IssuedPermit, PermitFinding, PermitState
from qwed.domain.policy import Policy, Retention
from qwed.domain.policy_changes import PolicyChange
from qwed.domain.refusal_counts import Counted, CountedRefusal, RefusedMinute, count_refusal, oldest_minute
from qwed.domain.rule_windows import WindowEntry
from qwed.domain.times import day_of
from qwed.domain.trust_changes import TrustChange
from qwed.domain.webhooks import Webhook
from qwed.domain.workflows import Workflow
from qwed.ect.keys import KeyRing
from qwed.ect.tokens import new_id
from qwed.gateway.kernel.commitments import committed
from qwed.gateway.kernel.ports import Clock, StoreUnavailable
from qwed.gateway.kernel.records import (
    Activity,
    ActivityPage,
    ActivityQuery,
    Booking,
    HourCount,
    KnownNode,
    LedgerItem,
    LedgerState,
    Received,
    Record,
    Redaction,
    Remembered,
    ReportScope,
    ScoreChange,
    SearchPage,
    SearchQuery,
    SignedCheckpoint,
    Survey,
    Tally,
)
from qwed.ledger.chain import Head, LedgerEntry
from qwed.ledger.checkpoints import Checkpoint, sign_checkpoint
from qwed.ledger.merkle import NodeMemory, TreeEdge, prove_consistency, prove_inclusion, root_of
from qwed.ledger.states import StateDifference, find_differences, is_state
from qwed.stores.access import InlineAccess
from qwed.stores.bodies import encode
from qwed.stores.chain import (
    Growth,
    lineage_of,
    make_decided_node,
    make_erased_node,
    make_received_node,
    walk,
)
from qwed.stores.hot import HotStore
from qwed.stores.memory_states import MemoryStates
from qwed.stores.randomness import nobodys_fingerprint
from qwed.stores.refusals import COUNTED_MEANWHILE
from qwed.stores.state_columns import (
    agent_columns,
    approval_columns,
    key_columns,
    outcome_columns,
    policy_change_columns,
    trust_change_columns,
    webhook_columns,
    workflow_columns,
)
from qwed.stores.tables import EVERYBODY, SURVEY_STRETCH, AccountRows, Counters, hour_keys
from qwed.stores.tallies import added, tally_of

Row = tuple[Any, ...]


_NOTHING: Final = Counters()


class MemoryTables:
    def __init__(self, ring: KeyRing) -> None:
        self._agents: dict[str, Agent] = {}
        self._tokens: dict[bytes, str] = {}
        self._keys: dict[bytes, ApiKey] = {}
        self._activities: dict[str, tuple[int, Activity]] = {}
        self._by_agent: defaultdict[str, list[tuple[int, Activity]]] = defaultdict(list)
        self._steps: defaultdict[tuple[str, str], list[Step]] = defaultdict(list)
        self._days: dict[tuple[str, str, int], Counters] = {}
        self._seconds: defaultdict[str, dict[int, int]] = defaultdict(dict)
        self._hours: dict[tuple[str, int, str, str], tuple[int, int]] = {}
        self._approvals: dict[str, Approval] = {}
        self._outcomes: dict[str, Outcome] = {}
        self._shared: dict[str, bytes] = {}
        self._remembered: dict[tuple[str, bytes], Remembered] = {}
        self._crossings: defaultdict[tuple[str, bytes], dict[str, int]] = defaultdict(dict)
        self._webhooks: dict[str, Webhook] = {}
        self._actions: Counter[str] = Counter()
        self._conduct: dict[str, Conduct] = {}
        self._trust_changes: list[TrustChange] = []
        self._scores: defaultdict[str, dict[int, ScoreChange]] = defaultdict(dict)
        self._salts: dict[tuple[str, str], bytes] = {}
        self._heard: defaultdict[tuple[str, str], dict[str, bytes]] = defaultdict(dict)
        self._ended_sessions: set[bytes] = set()
        self._sign_ins: dict[bytes, bytes] = {}
        self._refused: defaultdict[str, dict[int, RefusedMinute]] = defaultdict(dict)
        self._permits: dict[str, IssuedPermit] = {}
        self._findings: dict[str, PermitFinding] = {}
        self._deliveries: dict[str, Delivery] = {}
        self._windows: defaultdict[bytes, dict[int, WindowEntry]] = defaultdict(dict)
        self._times: dict[bytes, int] = {}
        #: By activity: key, proof and time of what happened once its outcome proves it.
        self._waiting_marks: defaultdict[str, list[tuple[bytes, int, int]]] = defaultdict(list)
        self._workflows: dict[str, Workflow] = {}
        self._policy_changes: list[PolicyChange] = []
        self._completed: defaultdict[str, dict[str, str]] = defaultdict(dict)
        self.ledger = MemoryLedgerTables(ring, self._activities)
        self._states = MemoryStates(self.ledger)
        self._lock = threading.Lock()

    def agent(self, agent_id: AgentId) -> Agent | None:
        return self._agents.get(agent_id)

    def agent_by_token(self, token_hash: bytes) -> Agent | None:
        return self._agents.get(self._tokens.get(token_hash, ""))

    def api_key(self, key_hash: bytes) -> ApiKey | None:
        return self._keys.get(key_hash)

    def account(self, agent_id: AgentId, now_ms: int) -> AccountRows:
        oldest = now_ms // 1000 - 3600
        return AccountRows(
            self._days.get(("agent", agent_id, day_of(now_ms)), Counters()),
            sorted((second, n) for second, n in self._seconds[agent_id].items() if second >= oldest),
            {
                a.approval_id: a.expires_ms
                for a in self._approvals.values()
                if a.agent_id == agent_id and a.status is ApprovalStatus.OPEN and a.expires_ms > now_ms
            },
            dict(
                Counter(
                    o.fingerprint
                    for o in self._outcomes.values()
                    if o.agent_id == agent_id and o.result is OutcomeResult.UNKNOWN
                )
            ),
            Standing(self._actions[agent_id], self._conduct.get(agent_id, Conduct())),
        )

    def principal_today(self, principal_id: PrincipalId, day: int) -> Counters:
        return self._days.get(("principal", principal_id, day), Counters())

    def window(self, key: bytes, since_ms: int) -> list[WindowEntry]:
        return [entry for entry in self._windows[key].values() if entry.at_ms > since_ms]

    def last_time(self, key: bytes) -> int | None:
        return self._times.get(key)

    def waiting_marks(self, activity_id: str, proof: int) -> list[tuple[bytes, int]]:
        waiting = self._waiting_marks.get(activity_id, ())
        return [(key, at_ms) for key, needed, at_ms in waiting if needed <= proof]

    def conversation(self, agent_id: AgentId, conversation_id: str) -> list[Step]:
        return [
            msgspec.structs.replace(step, failed=True) if self._has_failed(step.activity_id) else step
            for step in self._steps.get((agent_id, conversation_id), ())
        ]

    def _has_failed(self, activity_id: str) -> bool:
        outcome = self._outcomes.get(activity_id)
        return outcome is not None and outcome.result is OutcomeResult.FAILURE

    def crossings(self, agent_id: AgentId, fingerprint: bytes, since_ms: int) -> set[str]:
        seen = self._crossings.get((agent_id, fingerprint), {})
        return {conversation for conversation, at_ms in seen.items() if at_ms > since_ms}

    def remembered(self, agent_id: AgentId, key_hash: bytes, now_ms: int) -> Remembered | None:
        found = self._remembered.get((agent_id, key_hash))
        return found if found is not None and found.expires_ms > now_ms else None

    def agents(self, principal_id: PrincipalId | None, after: str | None, limit: int) -> list[Agent]:
        found = [
            agent
            for agent_id, agent in sorted(self._agents.items())
            if agent_id > (after or "")
            and agent.status is not AgentStatus.DEREGISTERED
            and principal_id in (None, agent.principal_id)
        ]
        return found[:limit]

    def principal_standing(self, principal_id: PrincipalId) -> tuple[int, bool]:
        own = [
            agent
            for agent in self._agents.values()
            if agent.principal_id == principal_id and agent.status is not AgentStatus.DEREGISTERED
        ]
        return len(own), any(
            agent.suspended_for_violation and agent.status is AgentStatus.SUSPENDED for agent in own
        )

    def activities(self, query: ActivityQuery) -> ActivityPage:
        found = [(seq, a) for seq, a in self._by_agent.get(query.agent_id, []) if _matches(query, a)]
        summary: dict[str, Any] = {}
        for _, a in found:
            count, cost = summary.get(a.decision, (0, 0))
            summary[a.decision] = (count + 1, cost + a.cost_nano)
        newest = [row for row in reversed(found) if query.before_seq is None or row[0] < query.before_seq]
        page = newest[: query.limit]
        entries = tuple((a.payload, self._outcomes.get(a.activity_id)) for _, a in page)
        return ActivityPage(entries, summary, page[-1][0] if len(newest) > query.limit else None)

    def trust_changes(
        self, agent_id: AgentId, before: int | None, limit: int
    ) -> list[tuple[int, TrustChange]]:
        numbered = enumerate(self._trust_changes, start=1)
        own = [(number, change) for number, change in numbered if change.agent_id == agent_id]
        return [row for row in reversed(own) if before is None or row[0] < before][:limit]

    def count_refusals(self, refused: Sequence[CountedRefusal], limit: int) -> list[Counted]:
        with self._lock:
            return [self._count_refusal(each, limit) for each in refused]

    def _count_refusal(self, refused: CountedRefusal, limit: int) -> Counted:
        minutes = self._refused[refused.agent_id]
        oldest = oldest_minute(refused.at_ms)
        for row in [row for row in minutes.values() if row.minute < oldest]:
            if row.is_stated or not row.counted:
                del minutes[row.minute]
        changed, counted = count_refusal(minutes.values(), refused, limit)
        minutes[changed.minute] = changed
        return counted

    def list_refused_minutes_due(self, before: int, limit: int) -> list[RefusedMinute]:
        with self._lock:
            rows = [row for minutes in self._refused.values() for row in minutes.values()]
        return [row for row in rows if row.counted and not row.is_stated and row.minute < before][:limit]

    def keep_scores(self, changes: Sequence[ScoreChange]) -> None:
        with self._lock:
            for change in changes:
                self._scores[change.peer].setdefault(change.number, change)

    def score_changes(self, peer: str, before: int | None, limit: int) -> list[ScoreChange]:
        own = [row for number, row in sorted(self._scores.get(peer, {}).items(), reverse=True)]
        return [row for row in own if before is None or row.number < before][:limit]

    def list_scored_peers(self, after: str | None, limit: int) -> list[str]:
        return [peer for peer in sorted(self._scores) if peer > (after or "")][:limit]

    def keep_shared(self, digest: str, body: bytes) -> None:
        self._shared.setdefault(digest, body)

    def shared(self, digest: str) -> bytes | None:
        return self._shared.get(digest)

    def keep_salt(self, agent_id: AgentId, conversation_id: str, fresh: bytes, now_ms: int) -> bytes:
        return self._salts.setdefault((agent_id, conversation_id), fresh)

    def keep_heard(self, agent_id: AgentId, conversation_id: str, report_id: str, body: bytes) -> None:
        self._heard[agent_id, conversation_id].setdefault(report_id, body)

    def heard(
        self, agent_id: AgentId, conversation_id: str, after: int
    ) -> tuple[bytes | None, list[tuple[int, bytes]]]:
        kept = self._heard.get((agent_id, conversation_id), {}).values()
        numbered = list(enumerate(kept, start=1))[max(0, after) :]
        return self._salts.get((agent_id, conversation_id)), numbered

    def end_session(self, session_id: bytes, expires_ms: int) -> None:
        self._ended_sessions.add(session_id)
        self._sign_ins.pop(session_id, None)

    def is_session_ended(self, session_id: bytes) -> bool:
        return session_id in self._ended_sessions

    def keep_sign_in(self, session_id: bytes, body: bytes, expires_ms: int) -> None:
        if session_id not in self._ended_sessions:
            self._sign_ins[session_id] = body

    def sign_in(self, session_id: bytes) -> bytes | None:
        return self._sign_ins.get(session_id)

    def outcomes(self, agent_id: AgentId, limit: int) -> list[Outcome]:
        own = [outcome for _, outcome in sorted(self._outcomes.items()) if outcome.agent_id == agent_id]
        return own[::-1][:limit]

    def activity(self, activity_id: str) -> tuple[Activity, Outcome | None] | None:
        found = self._activities.get(activity_id)
        return (found[1], self._outcomes.get(activity_id)) if found else None

    def approval(self, approval_id: str) -> Approval | None:
        return self._approvals.get(approval_id)

    def approvals(
        self,
        principal_id: PrincipalId | None,
        agent_id: AgentId | None,
        status: str | None,
        now_ms: int,
        after: str | None,
        limit: int,
    ) -> list[Approval]:
        found = [
            approval
            for approval_id, approval in sorted(self._approvals.items(), reverse=True)
            if approval_id < (after or "~")
            and principal_id in (None, approval.principal_id)
            and agent_id in (None, approval.agent_id)
            and status in (None, approval.status_at(now_ms))
        ]
        return found[:limit]

    def search(self, query: SearchQuery) -> SearchPage:
        found = [
            (seq, activity)
            for seq, activity in reversed(self._activities.values())
            if (query.before_seq is None or seq < query.before_seq) and _is_sought(query, activity)
        ]
        page = found[: query.limit]
        entries = tuple((activity, self._outcomes.get(activity.activity_id)) for _, activity in page)
        return SearchPage(entries, page[-1][0] if len(found) > query.limit else None)

    def hours(self, principal_id: PrincipalId | None, from_hour: int) -> list[HourCount]:
        owner = EVERYBODY if principal_id is None else principal_id
        return [
            HourCount(hour, decision, code, entries, cost)
            for (principal, hour, decision, code), (entries, cost) in sorted(self._hours.items())
            if principal == owner and hour >= from_hour
        ]

    def agents_by_spending(
        self, principal_id: PrincipalId | None, day: int, limit: int
    ) -> list[tuple[Agent, int]]:
        found = [
            (agent, self._days.get(("agent", agent.agent_id, day), Counters()).cost_nano)
            for agent in self.agents(principal_id, None, len(self._agents))
        ]
        found.sort(key=lambda row: (row[0].status is not AgentStatus.SUSPENDED, -row[1], row[0].agent_id))
        return found[:limit]

    def count_waiting(self, principal_id: PrincipalId | None, now_ms: int) -> int:
        return len(
            self.approvals(principal_id, None, ApprovalStatus.OPEN, now_ms, None, len(self._approvals))
        )

    def keys(self, principal_id: PrincipalId | None) -> list[ApiKey]:
        found = sorted(self._keys.values(), key=lambda key: key.key_id)
        return [key for key in found if principal_id in (None, key.principal_id)]

    def webhooks(self, principal_id: PrincipalId | None) -> list[Webhook]:
        return [
            hook for _, hook in sorted(self._webhooks.items()) if principal_id in (None, hook.principal_id)
        ]

    def survey(self, scope: ReportScope, after_seq: int) -> Survey:
        stretch = self.ledger.entries(after_seq, SURVEY_STRETCH)
        tallies: dict[Row, Row] = {}
        changes = []
        for entry in stretch:
            found = self._activities.get(entry.subject)
            if found is None or not _is_in_scope(scope, found[1]):
                continue
            activity = found[1]
            if activity.decision == "NOTED" and activity.action_type in scope.changes:
                changes.append(activity.payload)
            alike, costs = tally_of(activity, self._outcomes.get(activity.activity_id))
            tallies[alike] = added(tallies.get(alike), costs)
        following = after_seq + SURVEY_STRETCH
        return Survey(
            tuple(Tally(*alike, *costs) for alike, costs in tallies.items()),
            tuple(changes),
            0,
            following if following < self.ledger.size() else None,
            self.ledger.size(),
        )

    def ledger_state(self) -> LedgerState:
        size = self.ledger.size()
        if not size:
            return LedgerState(0, Head().hash, None, None)
        (first,), (last,) = self.ledger.entries(0, 1), self.ledger.entries(size - 1, 1)
        return LedgerState(size, last.hash, first.at_ms, last.at_ms)

    def approvals_due(self, now_ms: int, limit: int) -> list[Approval]:
        due = [approval for approval in self._approvals.values() if approval.attention_ms <= now_ms]
        return sorted(due, key=lambda approval: approval.attention_ms)[:limit]

    def webhook(self, webhook_id: str) -> Webhook | None:
        return self._webhooks.get(webhook_id)

    def destinations(self, principal_id: PrincipalId) -> list[Webhook]:
        return [hook for hook in self.webhooks(None) if hook.principal_id in (None, principal_id)]

    def deliveries(self, webhook_id: str, after: str | None, limit: int) -> list[Delivery]:
        found = [
            delivery
            for delivery_id, delivery in sorted(self._deliveries.items(), reverse=True)
            if delivery.webhook_id == webhook_id and delivery_id < (after or "~")
        ]
        return found[:limit]

    def delivery(self, delivery_id: str) -> Delivery | None:
        return self._deliveries.get(delivery_id)

    def next_delivery_ms(self) -> int | None:
        with self._lock:
            return min((delivery.due_ms for delivery in self._waiting()), default=None)

    def claim_deliveries(self, claim: DeliveryClaim) -> list[Delivery]:
        with self._lock:
            due = [delivery for delivery in self._waiting() if delivery.due_ms <= claim.now_ms]
            due.sort(key=lambda delivery: delivery.due_ms)
            taken = claim.chosen([(delivery.delivery_id, delivery.webhook_id) for delivery in due])
            for delivery_id in taken:
                self._deliveries[delivery_id] = claimed(self._deliveries[delivery_id], claim)
            return [self._deliveries[delivery_id] for delivery_id in taken]

    def _waiting(self) -> list[Delivery]:
        return [d for d in self._deliveries.values() if d.state is DeliveryState.PENDING]

    def settle_delivery(self, delivery: Delivery) -> None:
        with self._lock:
            stored = self._deliveries.get(delivery.delivery_id)
            if stored is None or stored.state is not DeliveryState.PENDING:
                return
            if stored.attempts == delivery.attempts or delivery.state is DeliveryState.DELIVERED:
                self._deliveries[delivery.delivery_id] = delivery

    def permit(self, jti: str) -> IssuedPermit | None:
        return self._permits.get(jti)

    def permits_of(self, activity_id: str) -> list[IssuedPermit]:
        return [permit for permit in self._permits.values() if permit.activity_id == activity_id]

    def unused_permits(
        self, agent_id: AgentId, audience: str, action_hash: str, now_ms: int
    ) -> list[IssuedPermit]:
        found = [
            permit
            for permit in self._permits.values()
            if (permit.agent_id, permit.audience, permit.action_hash) == (agent_id, audience, action_hash)
            and permit.state is PermitState.ISSUED
            and permit.expires_ms > now_ms
        ]
        return found[:2]

    def permits_due(self, before_ms: int, limit: int) -> list[IssuedPermit]:
        unused = [permit for permit in self._permits.values() if permit.state is PermitState.ISSUED]
        return [permit for permit in unused if permit.expires_ms < before_ms][:limit]

    def count_findings(
        self, principal_id: PrincipalId | None, agent_id: AgentId | None, from_ms: int, to_ms: int
    ) -> dict[str, int]:
        found = self.findings(principal_id, agent_id, None, len(self._findings))
        return dict(Counter(finding.kind.value for finding in found if from_ms <= finding.at_ms < to_ms))

    def findings(
        self, principal_id: PrincipalId | None, agent_id: AgentId | None, before: str | None, limit: int
    ) -> list[PermitFinding]:
        found = [
            finding
            for finding_id, finding in sorted(self._findings.items(), reverse=True)
            if finding_id < (before or "~")
            and principal_id in (None, finding.principal_id)
            and agent_id in (None, finding.agent_id)
        ]
        return found[:limit]

    def use_retention(self, retention: Retention) -> None:
        """Nothing here is forgotten by its age."""

    def policy_change(self, number: int | None) -> PolicyChange | None:
        found = self.policy_changes(None if number is None else number + 1, 1)
        return found[0] if found and number in (None, found[0].number) else None

    def policy_changes(self, before: int | None, limit: int) -> list[PolicyChange]:
        older = (c for c in reversed(self._policy_changes) if before is None or c.number < before)
        return list(itertools.islice(older, limit))

    def workflow(self, workflow_id: str) -> Workflow | None:
        return self._workflows.get(workflow_id)

    def find_completed_nodes(self, workflow_id: str) -> frozenset[str]:
        return frozenset(self._completed.get(workflow_id, ()))

    def ping(self) -> None:
        """Always there."""

    def write(self, records: list[Record]) -> None:
        # Callers of a store in memory write on their own threads; the chain has one end.
        with self._lock:
            for record in records:
                self._write(record)

    def _write(self, record: Record) -> None:
        if record.stated is not None:
            self._state(record.stated)
        for activity, entry in zip(record.activities, self.ledger.add(record), strict=True):
            kept = (entry.seq, activity)
            self._activities[activity.activity_id] = kept
            self._by_agent[activity.agent_id].append(kept)
            for key in hour_keys(activity):
                count, cost = self._hours.get(key, (0, 0))
                self._hours[key] = (count + 1, cost + activity.cost_nano)
        if (step := record.step) is not None:
            self._steps[step.agent_id, step.conversation_id].append(step.step)
        if record.booking is not None:
            self._book(record.booking)
        if not record.is_plain:
            self._write_rare(record)

    def _state(self, minute: RefusedMinute) -> None:
        if self._refused[minute.agent_id].get(minute.minute) != minute:
            raise StoreUnavailable(COUNTED_MEANWHILE)
        self._refused[minute.agent_id][minute.minute] = msgspec.structs.replace(minute, is_stated=True)

    def _book(self, b: Booking) -> None:
        for key in (("agent", b.agent_id, b.day), ("principal", b.principal_id, b.day)):
            have = self._days.get(key, _NOTHING)
            cost, tokens = have.cost_nano + b.cost_nano, have.tokens + b.tokens
            self._days[key] = Counters(
                have.requests + b.requests, cost if cost > 0 else 0, tokens if tokens > 0 else 0
            )
        self._actions[b.agent_id] += b.actions
        if b.requests:
            seconds = self._seconds[b.agent_id]
            seconds[b.second] = seconds.get(b.second, 0) + b.requests

    def _write_rare(self, record: Record) -> None:
        self._put_states(record)
        if (kept := record.remembered) is not None:
            self._remembered[kept.agent_id, kept.key_hash] = msgspec.structs.replace(kept, claim=0)
        if (crossing := record.crossing) is not None:
            seen = self._crossings[crossing.agent_id, crossing.fingerprint]
            seen[crossing.conversation_id] = crossing.at_ms
        if record.permit is not None:
            self._permits[record.permit.jti] = record.permit
        if record.finding is not None:
            self._findings[record.finding.finding_id] = record.finding
        self._write_windows(record)
        if record.dropped_webhook is not None:
            self._drop_webhook(record.dropped_webhook, record.activity.at_ms)
        for delivery in record.deliveries:
            self._deliveries[delivery.delivery_id] = delivery
        if record.redaction is not None:
            self._redact(record.redaction, record.activity.at_ms)

    def _write_windows(self, record: Record) -> None:
        at_ms, outcome = record.activity.at_ms, record.outcome
        for new in record.counted:
            self._windows[new.key][new.number] = WindowEntry(new.number, new.at_ms, new.value)
        for mark in record.marks:
            if mark.proof:
                self._waiting_marks[record.activity.activity_id].append((mark.key, mark.proof, at_ms))
            else:
                self._times[mark.key] = max(at_ms, self._times.get(mark.key, at_ms))
        if outcome is not None and outcome.proves:
            for key, happened_ms in self.waiting_marks(outcome.activity_id, outcome.proves):
                self._times[key] = max(happened_ms, self._times.get(key, happened_ms))

    def _put_states(self, record: Record) -> None:
        """The parts of a record that decide from now on, each with its entry."""
        at_ms, commit = record.activity.at_ms, self._states.commit
        if (agent := record.agent) is not None:
            replaced = self._agents.get(agent.agent_id)
            if replaced is not None:
                self._tokens.pop(replaced.token_hash, None)
            self._agents[agent.agent_id] = agent
            self._tokens[agent.token_hash] = agent.agent_id
            commit("agents", agent_columns(agent), at_ms)
        if record.approval is not None:
            self._put_approval(record.approval, at_ms)
        if record.key is not None:
            self._keys[record.key.key_hash] = record.key
            commit("keys", key_columns(record.key), at_ms)
        if (outcome := record.outcome) is not None:
            self._outcomes[outcome.activity_id] = outcome
            if outcome.is_binding:
                commit("outcomes", outcome_columns(outcome), at_ms)
        if record.conduct is not None:
            self._conduct[record.activity.agent_id] = record.conduct
            commit("conduct", _conduct_columns(record.activity.agent_id, record.conduct), at_ms)
        for change in record.trust_changes:
            self._trust_changes.append(change)
            commit("trust_changes", _number(len(self._trust_changes), change), at_ms)
        if record.webhook is not None:
            self._webhooks[record.webhook.webhook_id] = record.webhook
            commit("webhooks", webhook_columns(record.webhook), at_ms)
        if record.workflow is not None:
            self._workflows[record.workflow.workflow_id] = record.workflow
            commit("workflows", workflow_columns(record.workflow), at_ms)
        if (changed := record.policy_change) is not None:
            self._policy_changes.append(changed)
            commit("policy_changes", policy_change_columns(changed), at_ms)
        for done in record.completions:
            if done.node_id not in self._completed[done.workflow_id]:
                self._completed[done.workflow_id][done.node_id] = done.jti
                commit("workflow_nodes", msgspec.structs.asdict(done), at_ms)

    def _put_approval(self, approval: Approval, at_ms: int) -> None:
        self._approvals[approval.approval_id] = approval
        self._states.commit("approvals", approval_columns(approval), at_ms)

    def _drop_webhook(self, webhook_id: str, at_ms: int) -> None:
        hook = self._webhooks.pop(webhook_id, None)
        if hook is not None:
            self._states.drop("webhooks", webhook_columns(hook), at_ms)
        self._deliveries = {
            delivery_id: delivery
            for delivery_id, delivery in self._deliveries.items()
            if delivery.webhook_id != webhook_id
        }

    def _columns_of(self, table: str) -> Iterator[dict[str, Any]]:
        if table == "agents":
            yield from map(agent_columns, self._agents.values())
        elif table == "approvals":
            yield from map(approval_columns, self._approvals.values())
        elif table == "keys":
            yield from map(key_columns, self._keys.values())
        elif table == "outcomes":
            yield from map(outcome_columns, self._outcomes.values())
        elif table == "conduct":
            yield from itertools.starmap(_conduct_columns, self._conduct.items())
        elif table == "trust_changes":
            yield from itertools.starmap(_number, enumerate(self._trust_changes, start=1))
        elif table == "webhooks":
            yield from map(webhook_columns, self._webhooks.values())
        elif table == "workflows":
            yield from map(workflow_columns, self._workflows.values())
        elif table == "policy_changes":
            yield from map(policy_change_columns, self._policy_changes)
        elif table == "workflow_nodes":
            for workflow_id, nodes in self._completed.items():
                for node_id, jti in nodes.items():
                    yield {"workflow_id": workflow_id, "node_id": node_id, "jti": jti}

    def differences(self, tables: Sequence[str]) -> list[StateDifference]:
        with self._lock:
            return list(
                find_differences(
                    tables,
                    lambda table: self._states.rows(table, self._columns_of(table)),
                    self._states.states(),
                    self._states.earlier,
                )
            )

    def _redact(self, redaction: Redaction, at_ms: int) -> None:
        for stone in redaction.tombstones:
            for permit in self.permits_of(stone.activity_id):
                del self._permits[permit.jti]
            seq, activity = self._activities[stone.activity_id]
            self._forget_fingerprint(activity)
            erased = msgspec.structs.replace(
                activity,
                action_type=stone.action_type,
                conversation_id=stone.conversation_id,
                fingerprint=b"",
                payload=stone.payload,
            )
            self._activities[stone.activity_id] = (seq, erased)
            rows = self._by_agent[redaction.agent_id]
            rows[bisect.bisect_left(rows, seq, key=lambda row: row[0])] = (seq, erased)
            name = stone.activity_id.encode()
            for key in [key for key, kept in self._remembered.items() if name in kept.body]:
                del self._remembered[key]
            for delivery_id in [key for key, sent in self._deliveries.items() if name in sent.body]:
                del self._deliveries[delivery_id]
        erased_ids = {stone.activity_id for stone in redaction.tombstones}
        for number, change in enumerate(self._trust_changes, start=1):
            if (kept := change.without_texts_of(erased_ids)) is not change:
                self._trust_changes[number - 1] = kept
                self._states.commit("trust_changes", _number(number, kept), at_ms)
        for approval in redaction.approvals:
            self._put_approval(approval, at_ms)
        for outcome in redaction.outcomes:
            self._outcomes[outcome.activity_id] = outcome
            if self._states.is_committed("outcomes", columns := outcome_columns(outcome)):
                self._states.commit("outcomes", columns, at_ms)
        for conversation in redaction.conversations:
            self._steps.pop((redaction.agent_id, conversation), None)
            self._salts.pop((redaction.agent_id, conversation), None)
            self._heard.pop((redaction.agent_id, conversation), None)
            for seen in self._crossings.values():
                seen.pop(conversation, None)
        for jti in redaction.tokens:
            self.ledger.erase(jti)

    def _forget_fingerprint(self, activity: Activity) -> None:
        """A hash without a salt can be guessed: another takes its place, which is nobody's."""
        if activity.conversation_id is None or not activity.fingerprint:
            return
        steps = self._steps.get((activity.agent_id, activity.conversation_id), [])
        for place, step in enumerate(steps):
            if step.fingerprint == activity.fingerprint:
                unknown = nobodys_fingerprint(step.fingerprint)
                steps[place] = msgspec.structs.replace(step, fingerprint=unknown)
        self._crossings.pop((activity.agent_id, activity.fingerprint), None)

    def close(self) -> None:
        """Nothing to let go of."""


def _conduct_columns(agent_id: str, conduct: Conduct) -> dict[str, Any]:
    return {"agent_id": agent_id, "body": encode(conduct)}


def _number(number: int, change: TrustChange) -> dict[str, Any]:
    return {"number": number, **trust_change_columns(change)}


def _is_in_scope(scope: ReportScope, activity: Activity) -> bool:
    return (
        scope.from_ms <= activity.at_ms < scope.to_ms
        and scope.principal_id in (None, activity.principal_id)
        and scope.agent_id in (None, activity.agent_id)
    )


def _matches(query: ActivityQuery, activity: Activity) -> bool:
    return (
        (query.from_ms is None or activity.at_ms >= query.from_ms)
        and (query.to_ms is None or activity.at_ms < query.to_ms)
        and query.decision in (None, activity.decision)
        and query.action_type in (None, activity.action_type)
        and query.conversation_id in (None, activity.conversation_id)
    )


def _is_sought(query: SearchQuery, activity: Activity) -> bool:
    return (
        query.principal_id in (None, activity.principal_id)
        and query.agent_id in (None, activity.agent_id)
        and (query.from_ms is None or activity.at_ms >= query.from_ms)
        and (query.to_ms is None or activity.at_ms < query.to_ms)
        and query.decision in (None, activity.decision)
        and query.action_type in (None, activity.action_type)
        and query.error_code in (None, activity.error_code)
        and query.conversation_id in (None, activity.conversation_id)
        and (query.text is None or query.text in activity.payload)
    )


class MemoryLedgerTables:
    """The ledger of a gateway that may forget: signed when somebody asks, since nothing outlives it."""

    def __init__(self, ring: KeyRing, activities: Mapping[str, tuple[int, Activity]]) -> None:
        self._ring = ring
        self._activities = activities
        self._name = f"urn:uuid:{new_id()}"
        self._nodes = NodeMemory()
        self._growth = Growth(Head(), TreeEdge(), self._nodes)
        self._chain = self._growth.entries
        self._positions: dict[str, int] = {}
        self._tokens: dict[str, Received] = {}
        self._cosigned: dict[int, SignedCheckpoint] = {}

    def add(self, record: Record) -> list[LedgerEntry]:
        """One entry for each of the record's activities."""
        for ect in record.ects:
            if ect.jti not in self._tokens:
                entry = self._add(ect.jti, ect.received_ms, ect.token.encode("ascii"))
                self._tokens[ect.jti] = Received(
                    ect.jti, entry.seq, entry.at_ms, entry.hash, ect.token, ect.principal_id
                )
        if (signed := record.cosignature) is not None:
            kept = self._cosigned.get(signed.size)
            others = kept.cosignatures if kept is not None else ()
            more = (*others, signed.token)
            self._cosigned[signed.size] = SignedCheckpoint(signed.size, signed.checkpoint, more)
        return [
            self._add(activity.activity_id, activity.at_ms, committed(activity))
            for activity in record.activities
        ]

    def _add(self, subject: str, at_ms: int, content: bytes) -> LedgerEntry:
        entry = self._growth.add(subject, at_ms, content)[0]
        self._positions[subject] = entry.seq
        return entry

    def extend(self, subject: str, at_ms: int, commitment: bytes) -> None:
        """An entry about a row that decides; of those about one row the newest is found by its subject."""
        self._positions[subject] = self._growth.extend(subject, at_ms, commitment).seq

    def name(self) -> str:
        return self._name

    def size(self) -> int:
        return len(self._chain)

    def checkpoint(self, size: int | None = None) -> SignedCheckpoint | None:
        size = self.size() if size is None else size
        if not 0 < size <= self.size():
            return None
        if size not in self._cosigned:
            last = self._chain[size - 1]
            checkpoint = Checkpoint(self._name, size, self.root(size), last.hash, last.at_ms // 1000)
            return SignedCheckpoint(size, sign_checkpoint(self._ring, checkpoint))
        return self._cosigned[size]

    def entries(self, after: int, limit: int) -> list[LedgerEntry]:
        return self._chain[after : after + limit]

    def owners(self, after: int, limit: int) -> list[PrincipalId | None]:
        return [self._item(entry).principal_id for entry in self._chain[after : after + limit]]

    def root(self, size: int) -> bytes:
        return root_of(self._nodes, size)

    def inclusion(self, seq: int, size: int) -> list[bytes]:
        return prove_inclusion(self._nodes, seq - 1, size)

    def consistency(self, first: int, second: int) -> list[bytes]:
        return prove_consistency(self._nodes, first, second)

    def tree_hashes(self, level: int, first: int, count: int) -> list[bytes]:
        return [self._nodes.get(level, index) for index in range(first, first + count)]

    def position(self, subject: str) -> int | None:
        return self._positions.get(subject)

    def received(self, jti: str) -> Received | None:
        return self._tokens.get(jti)

    def erase(self, jti: str) -> None:
        self._tokens[jti] = msgspec.structs.replace(self._tokens[jti], token=None)

    def stretch(self, after: int, limit: int) -> list[LedgerItem]:
        return [self._item(entry) for entry in self._chain[after : after + limit]]

    def lineage(self, jti: str, bound: int) -> list[LedgerItem]:
        return lineage_of(jti, self._found, bound)

    def _found(self, jti: str) -> LedgerItem | None:
        for subject in (jti, activity_id_of(jti)):
            if (seq := self._positions.get(subject)) is not None:
                return self._item(self._chain[seq - 1])
        return None

    def _item(self, entry: LedgerEntry) -> LedgerItem:
        activity = self._activities.get(entry.subject)
        received = self._tokens.get(entry.subject)
        return LedgerItem(
            entry.seq,
            entry.at_ms,
            activity[1] if activity else None,
            received.token if received else None,
            activity[1].principal_id if activity else received.principal_id if received else None,
            is_state(entry.subject),
        )

    def ancestry(self, jtis: Sequence[str], bound: int) -> list[KnownNode]:
        return walk(jtis, self._known, bound)

    def _known(self, jti: str) -> KnownNode | None:
        if (decided := self._activities.get(activity_id_of(jti))) is not None:
            activity = decided[1]
            return make_decided_node(jti, activity.at_ms, activity.par, activity.wid)
        received = self._tokens.get(jti)
        if received is None:
            return None
        return make_erased_node(jti) if received.token is None else make_received_node(received.token)


def open_memory(policy: Policy, clock: Clock, ring: KeyRing) -> HotStore:
    return HotStore(InlineAccess(MemoryTables(ring)), policy, clock)
