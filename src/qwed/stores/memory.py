"""Tables in plain dictionaries: for tests, and for a gateway that may forget.

They keep what a file would, without the file: the same records, the same chain, nothing durable.
"""

import os
import threading
from collections import Counter, defaultdict
from typing import Any, Final

from qwed.domain.agents import Agent, AgentId, AgentStatus, PrincipalId
from qwed.domain.approvals import Approval, ApprovalStatus
from qwed.domain.conversations import Step
from qwed.domain.credentials import ApiKey
from qwed.domain.outcomes import Outcome, Result
from qwed.domain.policy import Policy
from qwed.domain.times import day_of
from qwed.domain.webhooks import Webhook
from qwed.gateway.ports import Clock
from qwed.gateway.records import Activity, ActivityPage, ActivityQuery, Record, Remembered
from qwed.ledger.chain import Entry, Head, append, commit_to
from qwed.stores.access import InlineAccess
from qwed.stores.hot import HotStore
from qwed.stores.tables import AccountRows, Counters

SALT_BYTES: Final = 16


class MemoryTables:
    def __init__(self) -> None:
        self._agents: dict[str, Agent] = {}
        self._tokens: dict[bytes, str] = {}
        self._keys: dict[bytes, ApiKey] = {}
        self._activities: dict[str, tuple[int, Activity]] = {}
        self._by_agent: defaultdict[str, list[tuple[int, Activity]]] = defaultdict(list)
        self._steps: defaultdict[tuple[str, str], list[Step]] = defaultdict(list)
        self._days: dict[tuple[str, str, int], Counters] = {}
        self._seconds: defaultdict[str, dict[int, int]] = defaultdict(dict)
        self._approvals: dict[str, Approval] = {}
        self._outcomes: dict[str, Outcome] = {}
        self._remembered: dict[tuple[str, bytes], Remembered] = {}
        self._crossings: defaultdict[tuple[str, bytes], dict[str, int]] = defaultdict(dict)
        self._webhooks: dict[str, Webhook] = {}
        self.ledger: list[Entry] = []
        self._head = Head()
        self._salts = b""
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
                    if o.agent_id == agent_id and o.result is Result.UNKNOWN
                )
            ),
        )

    def principal_today(self, principal_id: PrincipalId, day: int) -> Counters:
        return self._days.get(("principal", principal_id, day), Counters())

    def conversation(self, agent_id: AgentId, conversation_id: str) -> list[Step]:
        return self._steps.get((agent_id, conversation_id), [])

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

    def keys(self, principal_id: PrincipalId | None) -> list[ApiKey]:
        found = sorted(self._keys.values(), key=lambda key: key.key_id)
        return [key for key in found if principal_id in (None, key.principal_id)]

    def webhooks(self, principal_id: PrincipalId | None) -> list[Webhook]:
        return [
            hook for _, hook in sorted(self._webhooks.items()) if principal_id in (None, hook.principal_id)
        ]

    def ping(self) -> None:
        """Always there."""

    def write(self, records: list[Record]) -> None:
        # Callers of a store in memory write on their own threads; the chain has one end.
        with self._lock:
            for record in records:
                self._write(record)

    def _salt(self) -> bytes:
        if not self._salts:
            self._salts = os.urandom(256 * SALT_BYTES)
        salt, self._salts = self._salts[:SALT_BYTES], self._salts[SALT_BYTES:]
        return salt

    def _write(self, record: Record) -> None:
        activity = record.activity
        entry = append(
            self._head, activity.at_ms, activity.activity_id, commit_to(activity.payload, self._salt())
        )
        self._head = Head(entry.seq, entry.hash)
        self.ledger.append(entry)
        self._activities[activity.activity_id] = (entry.seq, activity)
        self._by_agent[activity.agent_id].append((entry.seq, activity))
        if (step := record.step) is not None:
            self._steps[step.agent_id, step.conversation_id].append(step.step)
        if record.booking is not None:
            self._book(record)
        self._write_rare(record)

    def _book(self, record: Record) -> None:
        b = record.booking
        assert b is not None
        for key in (("agent", b.agent_id, b.day), ("principal", b.principal_id, b.day)):
            have = self._days.get(key, Counters())
            self._days[key] = Counters(
                have.requests + b.requests,
                max(0, have.cost_nano + b.cost_nano),
                max(0, have.tokens + b.tokens),
            )
        if b.requests:
            seconds = self._seconds[b.agent_id]
            seconds[b.second] = seconds.get(b.second, 0) + b.requests

    def _write_rare(self, record: Record) -> None:
        if (agent := record.agent) is not None:
            replaced = self._agents.get(agent.agent_id)
            if replaced is not None:
                self._tokens.pop(replaced.token_hash, None)
            self._agents[agent.agent_id] = agent
            self._tokens[agent.token_hash] = agent.agent_id
        if record.approval is not None:
            self._approvals[record.approval.approval_id] = record.approval
        if record.key is not None:
            self._keys[record.key.key_hash] = record.key
        if record.outcome is not None:
            self._outcomes[record.outcome.activity_id] = record.outcome
        if (kept := record.remembered) is not None:
            self._remembered[kept.agent_id, kept.key_hash] = kept
        if (crossing := record.crossing) is not None:
            seen = self._crossings[crossing.agent_id, crossing.fingerprint]
            seen[crossing.conversation_id] = crossing.at_ms
        if record.webhook is not None:
            self._webhooks[record.webhook.webhook_id] = record.webhook
        if record.dropped_webhook is not None:
            self._webhooks.pop(record.dropped_webhook, None)

    def close(self) -> None:
        """Nothing to let go of."""


def _matches(query: ActivityQuery, activity: Activity) -> bool:
    return (
        (query.from_ms is None or activity.at_ms >= query.from_ms)
        and (query.to_ms is None or activity.at_ms < query.to_ms)
        and query.decision in (None, activity.decision)
        and query.action_type in (None, activity.action_type)
        and query.conversation_id in (None, activity.conversation_id)
    )


def open_memory(policy: Policy, clock: Clock) -> HotStore:
    return HotStore(InlineAccess(MemoryTables()), policy, clock)
