"""What decisions and people look up by name: point reads and short lists."""

from collections import Counter
from typing import Any, Final

import msgspec

from qwed.domain.agents import Agent, AgentId, AgentStatus, PrincipalId
from qwed.domain.approvals import Approval, ApprovalStatus
from qwed.domain.conduct import Conduct, Standing
from qwed.domain.conversations import Step
from qwed.domain.credentials import ApiKey
from qwed.domain.deliveries import Delivery
from qwed.domain.outcomes import Outcome
from qwed.domain.permits import IssuedPermit, PermitFinding
from qwed.domain.policy_changes import PolicyChange
from qwed.domain.refusal_counts import RefusedMinute
from qwed.domain.rule_windows import WindowEntry
from qwed.domain.times import day_of
from qwed.domain.trust_changes import TrustChange
from qwed.domain.webhooks import Webhook
from qwed.domain.workflows import Workflow
from qwed.gateway.kernel.records import (
    Activity,
    LedgerState,
    Remembered,
    ScoreChange,
)
from qwed.ledger.chain import Head
from qwed.stores.bodies import decode
from qwed.stores.sqlite.deliveries import DELIVERY, delivery_of
from qwed.stores.sqlite.rows import FileRows
from qwed.stores.sqlite.rule_windows import LAST_TIME, WAITING, WINDOW
from qwed.stores.sqlite.states import ADOPTIONS
from qwed.stores.tables import AccountRows, Counters

SCORE: Final = "peer, number, event, evidence, score_before, score_after, at, revokes, seq"


class FileReader(FileRows):
    def agent(self, agent_id: AgentId) -> Agent | None:
        return self._stated(Agent, "agents", "agent_id", agent_id)

    def agent_by_token(self, token_hash: bytes) -> Agent | None:
        return self._stated(Agent, "agents", "token_hash", token_hash)

    def api_key(self, key_hash: bytes) -> ApiKey | None:
        return self._stated(ApiKey, "keys", "key_hash", key_hash)

    def account(self, agent_id: AgentId, now_ms: int) -> AccountRows:
        hour = self._rows(
            "SELECT second, requests FROM seconds WHERE agent_id = ? AND second >= ? ORDER BY second",
            agent_id,
            now_ms // 1000 - 3600,
        )
        approvals = self._rows(
            "SELECT approval_id, ends_ms FROM approvals"
            " WHERE agent_id = ? AND status = 'open' AND ends_ms > ?",
            agent_id,
            now_ms,
        )
        unsettled = self._rows(
            "SELECT fingerprint FROM outcomes WHERE agent_id = ? AND result = 'unknown'", agent_id
        )
        return AccountRows(
            self._counters("agent", agent_id, day_of(now_ms)),
            [(second, requests) for second, requests in hour],
            dict(approvals),
            dict(Counter(row[0] for row in unsettled)),
            self._standing(agent_id),
        )

    def _standing(self, agent_id: AgentId) -> Standing:
        row = self._row(
            "SELECT coalesce(sum(actions), 0) FROM days WHERE kind = 'agent' AND subject = ?", agent_id
        )
        assert row is not None
        conduct = self._stated(Conduct, "conduct", "agent_id", agent_id)
        return Standing(row[0], conduct or Conduct())

    def principal_today(self, principal_id: PrincipalId, day: int) -> Counters:
        return self._counters("principal", principal_id, day)

    def _counters(self, kind: str, subject: str, day: int) -> Counters:
        row = self._row(
            "SELECT requests, cost_nano, tokens FROM days WHERE kind = ? AND subject = ? AND day = ?",
            kind,
            subject,
            day,
        )
        return Counters(*row) if row else Counters()

    def conversation(self, agent_id: AgentId, conversation_id: str) -> list[Step]:
        rows = self._rows(
            "SELECT step, s.fingerprint, state, approved, activity_id, wid, o.result IS 'failure'"
            " FROM steps AS s LEFT JOIN outcomes AS o USING (activity_id)"
            " WHERE s.agent_id = ? AND conversation_id = ? ORDER BY step",
            agent_id,
            conversation_id,
        )
        return [
            Step(step, fingerprint, state, bool(approved), activity_id, wid, bool(failed))
            for step, fingerprint, state, approved, activity_id, wid, failed in rows
        ]

    def crossings(self, agent_id: AgentId, fingerprint: bytes, since_ms: int) -> set[str]:
        rows = self._rows(
            "SELECT conversation_id FROM crossings"
            " WHERE agent_id = ? AND fingerprint = ? AND at_ms > ? LIMIT 1000",
            agent_id,
            fingerprint,
            since_ms,
        )
        return {row[0] for row in rows}

    def list_refused_minutes_due(self, before: int, limit: int) -> list[RefusedMinute]:
        return self._bodies(
            RefusedMinute,
            "SELECT body FROM refused_minutes WHERE is_unstated AND minute < ? ORDER BY minute LIMIT ?",
            before,
            limit,
        )

    def remembered(self, agent_id: AgentId, key_hash: bytes, now_ms: int) -> Remembered | None:
        row = self._row(
            "SELECT status, body, expires_ms, retry_after FROM remembered"
            " WHERE agent_id = ? AND key_hash = ? AND expires_ms > ?",
            agent_id,
            key_hash,
            now_ms,
        )
        return Remembered(agent_id, key_hash, *row) if row else None

    def agents(self, principal_id: PrincipalId | None, after: str | None, limit: int) -> list[Agent]:
        where, values = ["agent_id > ?", "status != ?"], [after or "", AgentStatus.DEREGISTERED.value]
        if principal_id is not None:
            where.append("principal_id = ?")
            values.append(principal_id)
        sql = f"SELECT body FROM agents WHERE {' AND '.join(where)} ORDER BY agent_id LIMIT ?"  # noqa: S608
        return self._bodies(Agent, sql, *values, limit)

    def principal_standing(self, principal_id: PrincipalId) -> tuple[int, bool]:
        row = self._row(
            "SELECT count(*), coalesce(max(violation), 0) FROM agents WHERE principal_id = ? AND status != ?",
            principal_id,
            AgentStatus.DEREGISTERED.value,
        )
        assert row is not None
        return row[0], bool(row[1])

    def trust_changes(
        self, agent_id: AgentId, before: int | None, limit: int
    ) -> list[tuple[int, TrustChange]]:
        rows = self._rows(
            "SELECT number, body FROM trust_changes WHERE agent_id = ? AND number < ?"
            " ORDER BY number DESC LIMIT ?",
            agent_id,
            2**62 if before is None else before,
            limit,
        )
        return [(number, decode(TrustChange, body)) for number, body in rows]

    def score_changes(self, peer: str, before: int | None, limit: int) -> list[ScoreChange]:
        rows = self._rows(
            f"SELECT {SCORE} FROM score_changes WHERE peer = ? AND number < ?"  # noqa: S608
            " ORDER BY number DESC LIMIT ?",
            peer,
            2**62 if before is None else before,
            limit,
        )
        return [ScoreChange(*(*row[:7], bool(row[7]), row[8])) for row in rows]

    def list_scored_peers(self, after: str | None, limit: int) -> list[str]:
        rows = self._rows(
            "SELECT DISTINCT peer FROM score_changes WHERE peer > ? ORDER BY peer LIMIT ?", after or "", limit
        )
        return [row[0] for row in rows]

    def window(self, key: bytes, since_ms: int) -> list[WindowEntry]:
        return [
            WindowEntry(number, at_ms, value, bool(is_merged))
            for number, at_ms, value, is_merged in self._rows(WINDOW, key, since_ms)
        ]

    def last_time(self, key: bytes) -> int | None:
        row = self._row(LAST_TIME, key)
        return None if row is None else int(row[0])

    def waiting_marks(self, activity_id: str, proof: int) -> list[tuple[bytes, int]]:
        return [(key, at_ms) for key, at_ms in self._rows(WAITING, activity_id, proof)]

    def shared(self, digest: str) -> bytes | None:
        row = self._row("SELECT body FROM shared_facts WHERE digest = ?", digest)
        return None if row is None else row[0]

    def heard(
        self, agent_id: AgentId, conversation_id: str, after: int
    ) -> tuple[bytes | None, list[tuple[int, bytes]]]:
        place = (agent_id, conversation_id)
        salt = self._row("SELECT salt FROM heard_keys WHERE agent_id = ? AND conversation_id = ?", *place)
        if salt is None:
            return None, []
        rows = self._rows(
            "SELECT number, body FROM heard WHERE agent_id = ? AND conversation_id = ? AND number > ?"
            " ORDER BY number",
            *place,
            after,
        )
        return salt[0], [(number, body) for number, body in rows]

    def is_session_ended(self, session_id: bytes) -> bool:
        return self._row("SELECT 1 FROM ended_sessions WHERE session_id = ?", session_id) is not None

    def sign_in(self, session_id: bytes) -> bytes | None:
        row = self._row("SELECT body FROM sign_ins WHERE session_id = ?", session_id)
        return None if row is None else bytes(row[0])

    def permit(self, jti: str) -> IssuedPermit | None:
        found = self._bodies(IssuedPermit, "SELECT body FROM permits WHERE jti = ?", jti)
        return found[0] if found else None

    def permits_of(self, activity_id: str) -> list[IssuedPermit]:
        return self._bodies(IssuedPermit, "SELECT body FROM permits WHERE activity_id = ?", activity_id)

    def unused_permits(
        self, agent_id: AgentId, audience: str, action_hash: str, now_ms: int
    ) -> list[IssuedPermit]:
        return self._bodies(
            IssuedPermit,
            "SELECT body FROM permits WHERE agent_id = ? AND action_hash = ? AND audience = ?"
            " AND state = 'issued' AND expires_ms > ? LIMIT 2",
            agent_id,
            action_hash,
            audience,
            now_ms,
        )

    def permits_due(self, before_ms: int, limit: int) -> list[IssuedPermit]:
        return self._bodies(
            IssuedPermit,
            "SELECT body FROM permits WHERE state = 'issued' AND expires_ms < ? ORDER BY expires_ms LIMIT ?",
            before_ms,
            limit,
        )

    def count_findings(
        self, principal_id: PrincipalId | None, agent_id: AgentId | None, from_ms: int, to_ms: int
    ) -> dict[str, int]:
        where, values = _whose(principal_id, agent_id)
        rows = self._rows(
            f"SELECT kind, count(*) FROM permit_findings WHERE at_ms >= ? AND at_ms < ?{where} GROUP BY kind",  # noqa: S608
            from_ms,
            to_ms,
            *values,
        )
        return dict(rows)

    def findings(
        self, principal_id: PrincipalId | None, agent_id: AgentId | None, before: str | None, limit: int
    ) -> list[PermitFinding]:
        where, values = _whose(principal_id, agent_id)
        return self._bodies(
            PermitFinding,
            f"SELECT body FROM permit_findings WHERE finding_id < ?{where} ORDER BY finding_id DESC LIMIT ?",  # noqa: S608
            before or "~",
            *values,
            limit,
        )

    def outcomes(self, agent_id: AgentId, limit: int) -> list[Outcome]:
        return self._bodies(
            Outcome,
            "SELECT body FROM outcomes WHERE agent_id = ? ORDER BY activity_id DESC LIMIT ?",
            agent_id,
            limit,
        )

    def activity(self, activity_id: str) -> tuple[Activity, Outcome | None] | None:
        row = self._row(
            "SELECT a.activity_id, a.agent_id, a.principal_id, a.at_ms, a.action_type, a.decision,"
            " a.error_code, a.conversation_id, a.cost_nano, a.tokens, a.fingerprint, a.payload, a.par, a.wid,"
            " o.body"
            " FROM activities a LEFT JOIN outcomes o USING (activity_id) WHERE a.activity_id = ?",
            activity_id,
        )
        if row is None:
            return None
        par, wid, outcome = row[-3:]
        facts = Activity(*row[:-3])
        activity = msgspec.structs.replace(facts, par=tuple(par.split(",")) if par else (), wid=wid)
        return activity, decode(Outcome, outcome) if outcome else None

    def approval(self, approval_id: str) -> Approval | None:
        return self._stated(Approval, "approvals", "approval_id", approval_id)

    def approvals(
        self,
        principal_id: PrincipalId | None,
        agent_id: AgentId | None,
        status: str | None,
        now_ms: int,
        after: str | None,
        limit: int,
    ) -> list[Approval]:
        where: list[str] = ["approval_id < ?"]
        values: list[Any] = [after or "~"]
        for column, value in (("principal_id", principal_id), ("agent_id", agent_id)):
            if value is not None:
                where.append(f"{column} = ?")
                values.append(value)
        if status == ApprovalStatus.OPEN:
            # Written out, so that the index of what waits is used.
            where.append("status = 'open' AND ends_ms > ?")
            values.append(now_ms)
        elif status == ApprovalStatus.APPROVED:
            where.append("status = ? AND ends_ms > ?")
            values += [status, now_ms]
        elif status == ApprovalStatus.EXPIRED:
            where.append("ends_ms <= ?")
            values.append(now_ms)
        elif status is not None:
            where.append("status = ?")
            values.append(status)
        sql = f"SELECT body FROM approvals WHERE {' AND '.join(where)} ORDER BY approval_id DESC LIMIT ?"  # noqa: S608
        return self._bodies(Approval, sql, *values, limit)

    def approvals_due(self, now_ms: int, limit: int) -> list[Approval]:
        return self._bodies(
            Approval,
            "SELECT body FROM approvals WHERE status = 'open' AND attention_ms <= ?"
            " ORDER BY attention_ms LIMIT ?",
            now_ms,
            limit,
        )

    def count_waiting(self, principal_id: PrincipalId | None, now_ms: int) -> int:
        where, values = ["status = 'open'", "ends_ms > ?"], [now_ms]
        if principal_id is not None:
            where.append("principal_id = ?")
            values.append(principal_id)  # type: ignore[arg-type]
        row = self._row(f"SELECT count(*) FROM approvals WHERE {' AND '.join(where)}", *values)  # noqa: S608
        return int(row[0]) if row else 0

    def keys(self, principal_id: PrincipalId | None) -> list[ApiKey]:
        if principal_id is None:
            return self._bodies(ApiKey, "SELECT body FROM keys ORDER BY key_id")
        return self._bodies(
            ApiKey, "SELECT body FROM keys WHERE principal_id = ? ORDER BY key_id", principal_id
        )

    def webhooks(self, principal_id: PrincipalId | None) -> list[Webhook]:
        if principal_id is None:
            return self._bodies(Webhook, "SELECT body FROM webhooks ORDER BY webhook_id")
        return self._bodies(
            Webhook, "SELECT body FROM webhooks WHERE principal_id = ? ORDER BY webhook_id", principal_id
        )

    def webhook(self, webhook_id: str) -> Webhook | None:
        return self._body(Webhook, "SELECT body FROM webhooks WHERE webhook_id = ?", webhook_id)

    def destinations(self, principal_id: PrincipalId) -> list[Webhook]:
        return self._bodies(
            Webhook,
            "SELECT body FROM webhooks WHERE principal_id = ? OR principal_id IS NULL ORDER BY webhook_id",
            principal_id,
        )

    def deliveries(self, webhook_id: str, after: str | None, limit: int) -> list[Delivery]:
        rows = self._rows(
            f"SELECT {DELIVERY} FROM deliveries WHERE webhook_id = ? AND delivery_id < ?"  # noqa: S608
            " ORDER BY delivery_id DESC LIMIT ?",
            webhook_id,
            after or "~",
            limit,
        )
        return [delivery_of(row) for row in rows]

    def delivery(self, delivery_id: str) -> Delivery | None:
        row = self._row(f"SELECT {DELIVERY} FROM deliveries WHERE delivery_id = ?", delivery_id)  # noqa: S608
        return delivery_of(row) if row else None

    def next_delivery_ms(self) -> int | None:
        row = self._row("SELECT min(due_ms) FROM deliveries WHERE state = 'pending'")
        return row[0] if row else None

    def policy_change(self, number: int | None) -> PolicyChange | None:
        if number is None:
            number = self._rows("SELECT max(number) FROM policy_changes")[0][0]
        return self._stated(PolicyChange, "policy_changes", "number", number)

    def policy_changes(self, before: int | None, limit: int) -> list[PolicyChange]:
        rows = self._rows(
            "SELECT body FROM policy_changes WHERE number < ? ORDER BY number DESC LIMIT ?",
            before or 2**62,
            limit,
        )
        return [decode(PolicyChange, row[0]) for row in rows]

    def workflow(self, workflow_id: str) -> Workflow | None:
        return self._body(Workflow, "SELECT body FROM workflows WHERE workflow_id = ?", workflow_id)

    def find_completed_nodes(self, workflow_id: str) -> frozenset[str]:
        rows = self._rows("SELECT node_id FROM workflow_nodes WHERE workflow_id = ?", workflow_id)
        return frozenset(row[0] for row in rows)

    def ledger_state(self) -> LedgerState:
        first = self._row("SELECT at_ms FROM ledger ORDER BY seq LIMIT 1")
        last = self._row("SELECT seq, hash, at_ms FROM ledger ORDER BY seq DESC LIMIT 1")
        if first is None or last is None:
            return LedgerState(0, Head().hash, None, None)
        adopted = self._row(ADOPTIONS)
        return LedgerState(last[0], last[1], first[0], last[2], *(adopted or ()))

    def ping(self) -> None:
        self._row("SELECT 1 FROM ledger LIMIT 1")


def _whose(principal_id: PrincipalId | None, agent_id: AgentId | None) -> tuple[str, tuple[str, ...]]:
    given = (("principal_id", principal_id), ("agent_id", agent_id))
    asked = [(name, value) for name, value in given if value is not None]
    return "".join(f" AND {name} = ?" for name, _ in asked), tuple(value for _, value in asked)
