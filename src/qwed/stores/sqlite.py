"""SQLite: one file, one owner process, one connection that writes.

Every change and every checkpoint goes through the writer's connection; readers have their own, which
cannot write. (SQLite before 3.51.3 can corrupt a WAL that one connection resets while another writes;
with a single writer that cannot happen.) `synchronous=FULL`: what is acknowledged survives power loss.
"""

import fcntl
import functools
import itertools
import os
import sqlite3
import threading
import uuid
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import resources
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec

from qwed.domain.agents import Agent, AgentId, AgentStatus, PrincipalId
from qwed.domain.approvals import Approval, ApprovalStatus
from qwed.domain.conduct import Conduct, Standing
from qwed.domain.conversations import Step
from qwed.domain.credentials import ApiKey
from qwed.domain.deliveries import Claim, Delivery, DeliveryState, claimed
from qwed.domain.outcomes import Outcome
from qwed.domain.policy import DEFAULT_POLICY, Policy, Retention
from qwed.domain.times import DAY_MS, day_of
from qwed.domain.trust_changes import TrustChange
from qwed.domain.webhooks import Event, Webhook
from qwed.domain.workflows import Workflow
from qwed.ect.jws import InvalidToken
from qwed.ect.keys import KeyRing
from qwed.gateway.changes import NOTED
from qwed.gateway.commitments import committed
from qwed.gateway.ports import Clock, StoreUnavailable
from qwed.gateway.records import (
    Activity,
    ActivityPage,
    ActivityQuery,
    Booking,
    CommittedStep,
    HourCount,
    LedgerState,
    Record,
    Redaction,
    Remembered,
    ReportScope,
    ScoreChange,
    SearchPage,
    SearchQuery,
    Survey,
)
from qwed.ledger.chain import BrokenChain, Entry, Head, verify
from qwed.ledger.checkpoints import read_checkpoint
from qwed.ledger.merkle import Edge, edge_of
from qwed.stores.access import ThreadedAccess
from qwed.stores.bodies import decode, encode
from qwed.stores.chaining import Growth, sealed
from qwed.stores.errors import DatabaseInUse, DatabaseUnusable
from qwed.stores.hot import HotStore
from qwed.stores.sqlite_ledger import SqliteLedger
from qwed.stores.sqlite_survey import CHANGES, REMOVED, TALLIES, survey_filter, tally
from qwed.stores.summaries import Summaries
from qwed.stores.tables import EVERYBODY, SURVEY_STRETCH, AccountRows, Counters, hour_keys

T = TypeVar("T")

_MIGRATIONS: Final = "qwed.stores.migrations.sqlite"
_KEEP_EVERY: Final = 64
_TAIL: Final = 1_000

# One prepared statement per table and number of rows: all of them stay in the connection's cache.
_MAX_ROWS: Final = 32
_ADD_DAYS: Final = (
    "ON CONFLICT DO UPDATE SET requests = requests + excluded.requests,"
    " actions = actions + excluded.actions,"
    # Bounded below 2^63, where SQLite would go on in floating point.
    " cost_nano = min(4611686018427387904, max(0, cost_nano + excluded.cost_nano)),"
    " tokens = min(4611686018427387904, max(0, tokens + excluded.tokens))"
)
_DELIVERY: Final = (
    "delivery_id, webhook_id, principal_id, event_id, event, created_ms, due_ms, body, state, attempts,"
    " last_attempt_ms, last_error"
)
_PUT_DELIVERY: Final = f"INSERT OR REPLACE INTO deliveries ({_DELIVERY}) VALUES ({','.join('?' * 12)})"  # noqa: S608
_SCORE: Final = "peer, number, event, evidence, score_before, score_after, at, revokes, seq"
#: The oldest few of each webhook, found by its name: however much waits for one, it is not looked through.
_DUE_DELIVERIES: Final = """
WITH RECURSIVE hooks (name) AS (
    SELECT min(webhook_id) FROM deliveries WHERE state = 'pending'
    UNION ALL
    SELECT (SELECT min(webhook_id) FROM deliveries WHERE state = 'pending' AND webhook_id > hooks.name)
    FROM hooks WHERE hooks.name IS NOT NULL
)
SELECT d.delivery_id, d.webhook_id FROM hooks JOIN deliveries d ON d.delivery_id IN (
    SELECT delivery_id FROM deliveries
    WHERE state = 'pending' AND webhook_id = hooks.name AND due_ms <= ? ORDER BY due_ms LIMIT ?
)
WHERE hooks.name NOT IN ({full}) ORDER BY d.due_ms
"""
_ADD_SECONDS: Final = "ON CONFLICT DO UPDATE SET requests = requests + excluded.requests"
_ADD_HOURS: Final = (
    "ON CONFLICT DO UPDATE SET entries = entries + excluded.entries,"
    " cost_nano = min(4611686018427387904, cost_nano + excluded.cost_nano)"
)
#: How many entries one search looks at before it lets others read.
SEARCHED_AT_ONCE: Final = 20_000
MAX_SEQ: Final = 2**62
#: Entries are recorded in the order in which they end; they carry the time at which they began.
CLOCK_SLACK_MS: Final = 300_000
_KEEP_CHECKPOINT_MS: Final = 60_000

Row = tuple[Any, ...]


def open_sqlite(path: Path, policy: Policy, clock: Clock, ring: KeyRing) -> HotStore:
    """Open or create the store and own it until it is closed; `ring` signs every group of writes.

    Raises `DatabaseInUse`, `DatabaseUnusable`, or `BrokenChain` when the ledger's tail was tampered with.
    """
    tables = SqliteTables(path, ring, retention=policy.retention)
    access = ThreadedAccess(tables, max_waiting=policy.limits.write_queue)
    return HotStore(access, policy, clock)


@contextmanager
def _unavailable() -> Iterator[None]:
    try:
        yield
    # What cannot be bound (a lone surrogate, a number beyond 64 bits) is refused like what cannot be written.
    except (sqlite3.Error, UnicodeError, OverflowError) as error:
        raise StoreUnavailable(f"the database cannot do this: {error}") from error


class SqliteTables:
    def __init__(self, path: Path, ring: KeyRing, *, retention: Retention = DEFAULT_POLICY.retention) -> None:
        # Under another name it would be another lock: a link leads to the file itself.
        path = path.resolve()
        self._path = path
        self._ring = ring
        self._retention = retention
        self._owner = _own(path)
        try:
            self._writer = _connect_writer(path)
            _migrate(self._writer)
            self._name = _ledger_name(self._writer)
            self._end: _End | None = self._verified_end()
        except sqlite3.Error as error:
            os.close(self._owner)
            raise DatabaseUnusable(f"{path} cannot be opened as a QWED store: {error}") from error
        except BaseException:
            os.close(self._owner)
            raise
        self._local = threading.local()
        self._readers: list[sqlite3.Connection] = []
        self._groups = 0
        self._summaries = Summaries()
        self._has_removed = False
        # A crash may have come between an erasure and the emptying of the log.
        self._must_scrub = True
        self._scrub()
        #: What answers questions about the ledger, on the reader of whoever asks.
        self.ledger = SqliteLedger(self._rows)

    # --- reading -------------------------------------------------------------------------------

    def _reader(self) -> sqlite3.Connection:
        connection: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            connection = sqlite3.connect(
                f"{self._path.resolve().as_uri()}?mode=ro",
                uri=True,
                isolation_level=None,
                check_same_thread=False,
            )
            connection.execute("PRAGMA query_only = ON")
            connection.execute("PRAGMA wal_autocheckpoint = 0")
            connection.execute("PRAGMA cache_size = -8192")
            connection.execute("PRAGMA busy_timeout = 5000")
            self._local.connection = connection
            self._readers.append(connection)
        return connection

    def _rows(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        with _unavailable():
            return self._reader().execute(sql, values).fetchall()

    def _row(self, sql: str, *values: object) -> tuple[Any, ...] | None:
        rows = self._rows(sql, *values)
        return rows[0] if rows else None

    def _body(self, kind: type[T], sql: str, *values: object) -> T | None:
        row = self._row(sql, *values)
        return decode(kind, row[0]) if row else None

    def _bodies(self, kind: type[T], sql: str, *values: object) -> list[T]:
        return [decode(kind, row[0]) for row in self._rows(sql, *values)]

    def agent(self, agent_id: AgentId) -> Agent | None:
        return self._body(Agent, "SELECT body FROM agents WHERE agent_id = ?", agent_id)

    def agent_by_token(self, token_hash: bytes) -> Agent | None:
        return self._body(Agent, "SELECT body FROM agents WHERE token_hash = ?", token_hash)

    def api_key(self, key_hash: bytes) -> ApiKey | None:
        return self._body(ApiKey, "SELECT body FROM keys WHERE key_hash = ?", key_hash)

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
        conduct = self._body(Conduct, "SELECT body FROM conduct WHERE agent_id = ?", agent_id)
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
            "SELECT step, fingerprint, state, approved, activity_id, wid FROM steps"
            " WHERE agent_id = ? AND conversation_id = ? ORDER BY step",
            agent_id,
            conversation_id,
        )
        return [
            Step(step, fingerprint, state, bool(approved), activity_id, wid)
            for step, fingerprint, state, approved, activity_id, wid in rows
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

    def activities(self, query: ActivityQuery) -> ActivityPage:
        where, values = _activity_filter(query)
        if len(where) == 1:
            summary = self._summaries.of(query.agent_id, lambda seq: self._counts_after(query.agent_id, seq))
        else:
            summary = self._summary(" AND ".join(where), values)
        if query.before_seq is not None:
            where.append("a.seq < ?")
            values.append(query.before_seq)
        rows = self._rows(
            "SELECT a.seq, a.payload, o.body FROM activities a LEFT JOIN outcomes o USING (activity_id)"  # noqa: S608
            f" WHERE {' AND '.join(where)} ORDER BY a.seq DESC LIMIT ?",
            *values,
            query.limit + 1,
        )
        page = rows[: query.limit]
        entries = tuple((payload, decode(Outcome, body) if body else None) for _, payload, body in page)
        return ActivityPage(entries, summary, page[-1][0] if len(rows) > query.limit else None)

    def _summary(self, where: str, values: list[Any]) -> dict[str, Any]:
        rows = self._rows(
            # total() goes on where sum() would overflow and fail the whole page.
            "SELECT decision, count(*), CAST(total(cost_nano) AS INTEGER)"  # noqa: S608
            f" FROM activities a WHERE {where} GROUP BY decision",
            *values,
        )
        return {decision: (count, cost) for decision, count, cost in rows}

    def _counts_after(self, agent_id: AgentId, seq: int) -> list[Row]:
        return self._rows(
            "SELECT decision, count(*), CAST(total(cost_nano) AS INTEGER), max(seq)"
            " FROM activities WHERE agent_id = ? AND seq > ? GROUP BY decision",
            agent_id,
            seq,
        )

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

    def keep_scores(self, changes: Sequence[ScoreChange]) -> None:
        rows = [
            (c.peer, c.number, c.event, c.evidence, c.before, c.after, c.at, c.revokes, c.seq)
            for c in changes
        ]
        with _unavailable(), self._transaction() as run:
            for row in rows:
                run(
                    f"INSERT INTO score_changes ({_SCORE}) VALUES (?,?,?,?,?,?,?,?,?) ON CONFLICT DO NOTHING",  # noqa: S608
                    row,
                )

    def score_changes(self, peer: str, before: int | None, limit: int) -> list[ScoreChange]:
        rows = self._rows(
            f"SELECT {_SCORE} FROM score_changes WHERE peer = ? AND number < ?"  # noqa: S608
            " ORDER BY number DESC LIMIT ?",
            peer,
            2**62 if before is None else before,
            limit,
        )
        return [ScoreChange(*(*row[:7], bool(row[7]), row[8])) for row in rows]

    def scored_peers(self, after: str | None, limit: int) -> list[str]:
        rows = self._rows(
            "SELECT DISTINCT peer FROM score_changes WHERE peer > ? ORDER BY peer LIMIT ?", after or "", limit
        )
        return [row[0] for row in rows]

    def end_session(self, session_id: bytes, expires_ms: int) -> None:
        with _unavailable(), self._transaction() as run:
            run(
                "INSERT INTO ended_sessions VALUES (?, ?) ON CONFLICT DO NOTHING",
                (session_id, expires_ms),
            )

    def is_session_ended(self, session_id: bytes) -> bool:
        return self._row("SELECT 1 FROM ended_sessions WHERE session_id = ?", session_id) is not None

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
        return self._body(Approval, "SELECT body FROM approvals WHERE approval_id = ?", approval_id)

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

    def search(self, query: SearchQuery) -> SearchPage:
        """Bounded work: entries of one agent or principal come from its index, everybody's from the end of
        the record; a time becomes a place in the record, since both only grow."""
        top = self._end_of_search(query)
        walls, values = _walls(query)
        floor = 1 if query.from_ms is None else self._seq_at(query.from_ms - CLOCK_SLACK_MS)
        low = max(floor, self._search_limit(walls, values, top))
        filters, filtered = _search_filter(query)
        rows = self._rows(
            "SELECT a.seq, a.activity_id, a.agent_id, a.principal_id, a.at_ms, a.action_type, a.decision,"  # noqa: S608
            " a.error_code, a.conversation_id, a.cost_nano, a.tokens, a.fingerprint, a.payload, o.body"
            " FROM activities a LEFT JOIN outcomes o USING (activity_id)"
            f" WHERE {' AND '.join([*walls, 'a.seq >= ?', 'a.seq < ?', *filters])}"
            " ORDER BY a.seq DESC LIMIT ?",
            *values,
            low,
            top,
            *filtered,
            query.limit + 1,
        )
        page = rows[: query.limit]
        entries = tuple((Activity(*row[1:-1]), decode(Outcome, row[-1]) if row[-1] else None) for row in page)
        if len(rows) > query.limit:
            return SearchPage(entries, page[-1][0], page[-1][4])
        return SearchPage(entries, *((None, None) if low <= floor else (low, self._at_ms(low))))

    def _end_of_search(self, query: SearchQuery) -> int:
        tops = [MAX_SEQ if query.before_seq is None else query.before_seq]
        if query.to_ms is not None:
            tops.append(self._seq_at(query.to_ms + CLOCK_SLACK_MS))
        newest = self._row("SELECT max(seq) FROM activities")
        return min(*tops, ((newest and newest[0]) or 0) + 1)

    def _search_limit(self, walls: list[str], values: list[Any], top: int) -> int:
        """The place from which on there are as many entries as one search looks at."""
        if not walls:
            return top - SEARCHED_AT_ONCE
        row = self._row(
            f"SELECT a.seq FROM activities a WHERE {' AND '.join(walls)} AND a.seq < ?"  # noqa: S608
            " ORDER BY a.seq DESC LIMIT 1 OFFSET ?",
            *values,
            top,
            SEARCHED_AT_ONCE - 1,
        )
        return row[0] if row else 0

    def _seq_at(self, instant_ms: int) -> int:
        """The first place in the record that is not before this instant, found by halving."""
        # One at a time: together they would be looked for in the whole table.
        oldest, newest = (self._row(f"SELECT {end}(seq) FROM activities") for end in ("min", "max"))  # noqa: S608
        low, high = (oldest and oldest[0]) or 1, ((newest and newest[0]) or 0) + 1
        while low < high:
            middle = (low + high) // 2
            if self._at_ms(middle) < instant_ms:
                low = middle + 1
            else:
                high = middle
        return int(low)

    def _at_ms(self, seq: int) -> int:
        row = self._row("SELECT at_ms FROM activities WHERE seq >= ? ORDER BY seq LIMIT 1", seq)
        return int(row[0]) if row else 0

    def hours(self, principal_id: PrincipalId | None, from_hour: int) -> list[HourCount]:
        rows = self._rows(
            "SELECT hour, decision, error_code, entries, cost_nano FROM hours"
            " WHERE principal_id = ? AND hour >= ? ORDER BY hour, decision, error_code",
            EVERYBODY if principal_id is None else principal_id,
            from_hour,
        )
        return [HourCount(*row) for row in rows]

    def agents_by_spending(
        self, principal_id: PrincipalId | None, day: int, limit: int
    ) -> list[tuple[Agent, int]]:
        where, values = ["g.status != ?"], [AgentStatus.DEREGISTERED.value]
        if principal_id is not None:
            where.append("g.principal_id = ?")
            values.append(principal_id)
        rows = self._rows(
            "SELECT g.body, coalesce(d.cost_nano, 0) AS spent FROM agents g"  # noqa: S608
            " LEFT JOIN days d ON d.kind = 'agent' AND d.subject = g.agent_id AND d.day = ?"
            f" WHERE {' AND '.join(where)}"
            " ORDER BY g.status = 'suspended' DESC, spent DESC, g.agent_id LIMIT ?",
            day,
            *values,
            limit,
        )
        return [(decode(Agent, body), spent) for body, spent in rows]

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

    def survey(self, scope: ReportScope, after_seq: int) -> Survey:
        until = after_seq + SURVEY_STRETCH
        where, values = survey_filter(scope)
        values = [after_seq, until, *values]
        rows = self._rows(TALLIES.format(where=where), *values)
        changes = self._rows(
            CHANGES.format(where=where, kinds=",".join("?" * len(scope.changes))), *values, *scope.changes
        )
        removed = self._row(REMOVED, after_seq, until, scope.from_ms, scope.to_ms)
        last_seq = self.ledger_state().entries
        return Survey(
            tuple(map(tally, rows)),
            tuple(payload for (payload,) in changes),
            removed[0] if removed else 0,
            until if until < last_seq else None,
            last_seq,
        )

    def ledger_state(self) -> LedgerState:
        first = self._row("SELECT at_ms FROM ledger ORDER BY seq LIMIT 1")
        last = self._row("SELECT seq, hash, at_ms FROM ledger ORDER BY seq DESC LIMIT 1")
        if first is None or last is None:
            return LedgerState(0, Head().hash, None, None)
        return LedgerState(last[0], last[1], first[0], last[2])

    def approvals_due(self, now_ms: int, limit: int) -> list[Approval]:
        return self._bodies(
            Approval,
            "SELECT body FROM approvals WHERE status = 'open' AND attention_ms <= ?"
            " ORDER BY attention_ms LIMIT ?",
            now_ms,
            limit,
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
            f"SELECT {_DELIVERY} FROM deliveries WHERE webhook_id = ? AND delivery_id < ?"  # noqa: S608
            " ORDER BY delivery_id DESC LIMIT ?",
            webhook_id,
            after or "~",
            limit,
        )
        return [_delivery(row) for row in rows]

    def delivery(self, delivery_id: str) -> Delivery | None:
        row = self._row(f"SELECT {_DELIVERY} FROM deliveries WHERE delivery_id = ?", delivery_id)  # noqa: S608
        return _delivery(row) if row else None

    def next_delivery_ms(self) -> int | None:
        row = self._row("SELECT min(due_ms) FROM deliveries WHERE state = 'pending'")
        return row[0] if row else None

    def workflow(self, workflow_id: str) -> Workflow | None:
        return self._body(Workflow, "SELECT body FROM workflows WHERE workflow_id = ?", workflow_id)

    def completed_nodes(self, workflow_id: str) -> frozenset[str]:
        rows = self._rows("SELECT node_id FROM workflow_nodes WHERE workflow_id = ?", workflow_id)
        return frozenset(row[0] for row in rows)

    def ping(self) -> None:
        self._row("SELECT 1 FROM ledger LIMIT 1")

    # --- writing -------------------------------------------------------------------------------

    def write(self, records: list[Record]) -> None:
        with _unavailable():
            # Unknown until the group is written: after an error the end is read back first.
            before, self._end = self._end or self._stored_end(), None
            self._end = self._write(before, records)

    def _write(self, before: "_End", records: list[Record]) -> "_End":
        end: _End | None = None
        self._writer.execute("BEGIN IMMEDIATE")
        try:
            end = self._insert(before, records)
            self._groups += 1
            if self._groups % _KEEP_EVERY == 0:
                self._keep_house(records[-1].activity.at_ms)
            self._writer.execute("COMMIT")
            if self._has_removed:
                self._has_removed = False
                self._summaries.forget()
            if self._must_scrub:
                self._scrub()
        except BaseException:
            if self._writer.in_transaction:
                self._writer.execute("ROLLBACK")
            # A commit may fail after it was done: then the end of the chain is ours.
            if end is not None and self._stored_head() == end.head:
                return end
            raise
        return end

    def claim_deliveries(self, claim: Claim) -> list[Delivery]:
        full = sorted(claim.full)
        with _unavailable(), self._transaction() as run:
            candidates = run(
                _DUE_DELIVERIES.format(full=_places(full)), (claim.now_ms, claim.per_webhook, *full)
            ).fetchall()
            taken = claim.chosen(candidates)
            if not taken:
                return []
            rows = run(
                f"SELECT {_DELIVERY} FROM deliveries WHERE delivery_id IN ({_places(taken)})",  # noqa: S608
                taken,
            ).fetchall()
            found = [claimed(_delivery(row), claim) for row in rows]
            for delivery in found:
                run(_PUT_DELIVERY, _delivery_row(delivery))
        return found

    def settle_delivery(self, delivery: Delivery) -> None:
        with _unavailable(), self._transaction() as run:
            run(
                "UPDATE deliveries SET state = ?, due_ms = ?, last_error = ? WHERE delivery_id = ?"
                " AND state = 'pending' AND (attempts = ? OR ? = 'delivered')",
                (
                    delivery.state.value,
                    delivery.due_ms,
                    delivery.last_error,
                    delivery.delivery_id,
                    delivery.attempts,
                    delivery.state.value,
                ),
            )

    @contextmanager
    def _transaction(self) -> Iterator[Callable[..., sqlite3.Cursor]]:
        """What is beside the record: nothing of it is chained."""
        self._writer.execute("BEGIN IMMEDIATE")
        try:
            yield self._writer.execute
            self._writer.execute("COMMIT")
        except BaseException:
            if self._writer.in_transaction:
                self._writer.execute("ROLLBACK")
            raise

    def _stored_head(self) -> Head:
        row = self._writer.execute("SELECT seq, hash FROM ledger ORDER BY seq DESC LIMIT 1").fetchone()
        return Head(*row) if row else Head()

    def _stored_end(self) -> "_End":
        head = self._stored_head()
        ledger = SqliteLedger(lambda sql, *values: self._writer.execute(sql, values).fetchall())
        return _End(head, edge_of(ledger.nodes(), head.seq))

    def _insert(self, before: "_End", records: list[Record]) -> "_End":
        growth = Growth(before.head, before.edge)
        activities, tokens = self._grown(growth, records)
        self._insert_rows("INSERT INTO activities VALUES", activities)
        entries = [(e.seq, e.at_ms, e.subject, e.commitment, e.previous, e.hash) for e in growth.entries]
        self._insert_rows("INSERT INTO ledger VALUES", entries)
        self._insert_rows("INSERT INTO ects VALUES", tokens)
        self._insert_rows("INSERT INTO tiles VALUES", growth.tiles)
        replaceable = self._insert_checkpoint(before, growth, records)
        self._insert_rows(
            "INSERT INTO steps VALUES", [_step_row(r.step) for r in records if r.step is not None]
        )
        self._book([record.booking for record in records if record.booking is not None])
        self._count_hours([record.activity for record in records])
        for record in records:
            if not _is_plain(record):
                self._insert_rare(record)
        return _End(growth.head, growth.edge, replaceable)

    def _grown(self, growth: Growth, records: list[Record]) -> tuple[list[Row], list[Row]]:
        """Rows of activities and tokens, each with the number and salt of its entry."""
        activities: list[Row] = []
        tokens: list[Row] = []
        for record in records:
            for ect in record.ects:
                if self._is_new(ect.jti, tokens):
                    token = ect.token.encode("ascii")
                    entry, salt = growth.add(ect.jti, ect.received_ms, token)
                    tokens.append((ect.jti, entry.seq, salt, token, ect.principal_id))
            for activity in record.activities:
                entry, salt = growth.add(activity.activity_id, activity.at_ms, committed(activity))
                activities.append(_activity_row(activity, entry.seq, salt))
        return activities, tokens

    def _is_new(self, jti: str, tokens: list[Row]) -> bool:
        """A token presented again, perhaps by the next request of this very group, is recorded once."""
        if any(row[0] == jti for row in tokens):
            return False
        return self._writer.execute("SELECT 1 FROM ects WHERE jti = ?", (jti,)).fetchone() is None

    def _insert_checkpoint(self, before: "_End", growth: Growth, records: list[Record]) -> int | None:
        """The group's signature. It takes the place of the one before, unless that is kept: one a minute
        is, and every one that a witness signed too. Says since when it may itself be replaced."""
        at_ms = records[-1].activity.at_ms
        token = sealed(self._ring, self._name, growth, records)
        since = before.replaceable_ms
        if since is not None and at_ms - since < _KEEP_CHECKPOINT_MS:
            changed = self._writer.execute(
                "UPDATE checkpoints SET size = ?, at_ms = ?, token = ?"
                " WHERE size = ? AND cosignatures IS NULL",
                (growth.head.seq, at_ms, token, before.head.seq),
            )
            if changed.rowcount:
                return since
        self._writer.execute(
            "INSERT INTO checkpoints (size, at_ms, token) VALUES (?, ?, ?)", (growth.head.seq, at_ms, token)
        )
        return at_ms

    def _insert_rows(self, insert: str, rows: list[Row], conflict: str = "") -> None:
        """Many rows in one statement. Each statement gives up the interpreter lock and has to win it
        back from a busy event loop, which costs far more than the insert itself."""
        for position in range(0, len(rows), _MAX_ROWS):
            block = rows[position : position + _MAX_ROWS]
            statement = _insertion(insert, conflict, len(block[0]), len(block))
            self._writer.execute(statement, list(itertools.chain.from_iterable(block)))

    def _book(self, bookings: list[Booking]) -> None:
        """Bookings of one group that fall on one row become one statement."""
        days: defaultdict[tuple[str, str, int], list[int]] = defaultdict(lambda: [0, 0, 0, 0])
        seconds: defaultdict[tuple[str, int], int] = defaultdict(int)
        for b in bookings:
            for row in (days["agent", b.agent_id, b.day], days["principal", b.principal_id, b.day]):
                row[0] += b.requests
                row[1] += b.cost_nano
                row[2] += b.tokens
                row[3] += b.actions
            if b.requests:
                seconds[b.agent_id, b.second] += b.requests
        self._insert_rows("INSERT INTO days VALUES", [(*key, *row) for key, row in days.items()], _ADD_DAYS)
        self._insert_rows(
            "INSERT INTO seconds VALUES", [(*key, count) for key, count in seconds.items()], _ADD_SECONDS
        )

    def _count_hours(self, activities: list[Activity]) -> None:
        hours: dict[tuple[str, int, str, str], list[int]] = {}
        for activity in activities:
            for key in hour_keys(activity):
                row = hours.get(key)
                if row is None:
                    row = hours[key] = [0, 0]
                row[0] += 1
                row[1] += activity.cost_nano
        self._insert_rows(
            "INSERT INTO hours VALUES", [(*key, *row) for key, row in hours.items()], _ADD_HOURS
        )

    def _insert_rare(self, record: Record) -> None:
        """What most decisions do not have."""
        run = self._writer.execute
        if (agent := record.agent) is not None:
            row = (agent.agent_id, agent.principal_id, agent.token_hash, agent.status.value)
            violation = agent.suspended_for_violation and agent.status is AgentStatus.SUSPENDED
            run("INSERT OR REPLACE INTO agents VALUES (?, ?, ?, ?, ?, ?)", (*row, violation, encode(agent)))
        if (approval := record.approval) is not None:
            key = (approval.approval_id, approval.agent_id, approval.principal_id, approval.status.value)
            run(
                "INSERT OR REPLACE INTO approvals VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (*key, approval.created_ms, approval.ends_ms, encode(approval), approval.attention_ms),
            )
        if (k := record.key) is not None:
            run(
                "INSERT OR REPLACE INTO keys VALUES (?, ?, ?, ?)",
                (k.key_id, k.key_hash, k.principal_id, encode(k)),
            )
        if (o := record.outcome) is not None:
            run(
                "INSERT OR REPLACE INTO outcomes VALUES (?, ?, ?, ?, ?)",
                (o.activity_id, o.agent_id, o.result.value, o.fingerprint, encode(o)),
            )
        if (r := record.remembered) is not None:
            run(
                "INSERT OR REPLACE INTO remembered VALUES (?, ?, ?, ?, ?, ?)",
                (r.agent_id, r.key_hash, r.expires_ms, r.status, r.body, r.retry_after_seconds),
            )
        if (c := record.crossing) is not None:
            run(
                "INSERT OR REPLACE INTO crossings VALUES (?, ?, ?, ?)",
                (c.agent_id, c.fingerprint, c.conversation_id, c.at_ms),
            )
        if record.conduct is not None:
            run(
                "INSERT OR REPLACE INTO conduct VALUES (?, ?)",
                (record.activity.agent_id, encode(record.conduct)),
            )
        for change in record.trust_changes:
            run(
                "INSERT INTO trust_changes (agent_id, at_ms, cause, body) VALUES (?, ?, ?, ?)",
                (change.agent_id, change.at_ms, change.cause.value, encode(change)),
            )
        if (w := record.webhook) is not None:
            run(
                "INSERT OR REPLACE INTO webhooks VALUES (?, ?, ?)",
                (w.webhook_id, w.principal_id, encode(w)),
            )
        if record.dropped_webhook is not None:
            run("DELETE FROM webhooks WHERE webhook_id = ?", (record.dropped_webhook,))
            run("DELETE FROM deliveries WHERE webhook_id = ?", (record.dropped_webhook,))
        for delivery in record.deliveries:
            run(_PUT_DELIVERY, _delivery_row(delivery))
        if record.redaction is not None:
            self._redact(record.redaction)
        if (workflow := record.workflow) is not None:
            run(
                "INSERT INTO workflows VALUES (?, ?, ?)",
                (workflow.workflow_id, workflow.principal_id, encode(workflow)),
            )
        for done in record.completions:
            run(
                "INSERT OR IGNORE INTO workflow_nodes VALUES (?, ?, ?)",
                (done.workflow_id, done.node_id, done.jti),
            )
        if (signed := record.cosignature) is not None:
            kept = run("SELECT cosignatures FROM checkpoints WHERE size = ?", (signed.size,)).fetchone()
            others = msgspec.json.decode(kept[0]) if kept and kept[0] else []
            run(
                "INSERT OR REPLACE INTO checkpoints VALUES (?, ?, ?, ?)",
                (signed.size, signed.at_ms, signed.checkpoint, encode([*others, signed.token])),
            )

    def _redact(self, redaction: Redaction) -> None:
        run, agent_id = self._writer.execute, redaction.agent_id
        for stone in redaction.tombstones:
            self._forget_fingerprint(stone.activity_id)
            run(
                "UPDATE activities SET action_type = ?, conversation_id = ?, fingerprint = x'', salt = NULL,"
                " payload = ? WHERE activity_id = ?",
                (stone.action_type, stone.conversation_id, stone.payload, stone.activity_id),
            )
            run(
                "DELETE FROM remembered WHERE agent_id = ? AND instr(body, CAST(? AS BLOB)) > 0",
                (agent_id, stone.activity_id),
            )
            run("DELETE FROM deliveries WHERE instr(body, CAST(? AS BLOB)) > 0", (stone.activity_id,))
        self._redact_trust_changes(agent_id, {stone.activity_id for stone in redaction.tombstones})
        for approval in redaction.approvals:
            run(
                "UPDATE approvals SET body = ? WHERE approval_id = ?",
                (encode(approval), approval.approval_id),
            )
        for outcome in redaction.outcomes:
            run(
                "UPDATE outcomes SET fingerprint = ?, body = ? WHERE activity_id = ?",
                (outcome.fingerprint, encode(outcome), outcome.activity_id),
            )
        for conversation in redaction.conversations:
            run("DELETE FROM steps WHERE agent_id = ? AND conversation_id = ?", (agent_id, conversation))
            run("DELETE FROM crossings WHERE agent_id = ? AND conversation_id = ?", (agent_id, conversation))
        for jti in redaction.tokens:
            run("UPDATE ects SET token = NULL, salt = NULL WHERE jti = ?", (jti,))
        self._must_scrub = True

    def _redact_trust_changes(self, agent_id: AgentId, erased: set[str]) -> None:
        rows = self._writer.execute(
            "SELECT number, body FROM trust_changes WHERE agent_id = ?", (agent_id,)
        ).fetchall()
        for number, body in rows:
            change = decode(TrustChange, body)
            if (kept := change.without_texts_of(erased)) is not change:
                self._writer.execute(
                    "UPDATE trust_changes SET body = ? WHERE number = ?", (encode(kept), number)
                )

    def _forget_fingerprint(self, activity_id: str) -> None:
        """A hash without a salt can be guessed: another takes its place, which is nobody's."""
        row = self._writer.execute(
            "SELECT agent_id, conversation_id, fingerprint FROM activities WHERE activity_id = ?",
            (activity_id,),
        ).fetchone()
        if row is None or not row[2]:
            return
        self._writer.execute(
            "UPDATE steps SET fingerprint = ? WHERE agent_id = ? AND conversation_id = ? AND fingerprint = ?",
            (os.urandom(32), *row),
        )
        self._writer.execute("DELETE FROM crossings WHERE agent_id = ? AND fingerprint = ?", (row[0], row[2]))

    def _scrub(self) -> None:
        """Empty the log of changes too: it holds pages as they were before. A reader in the middle of
        something is not waited for; the next group tries again."""
        try:
            busy = self._writer.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
        except sqlite3.Error:
            return
        self._must_scrub = bool(busy)

    def _keep_house(self, now_ms: int) -> None:
        """Drop what no window can see any more, a little at a time, on the writer's own transaction."""
        run = self._writer.execute
        run("DELETE FROM remembered WHERE expires_ms < ?", (now_ms,))
        run("DELETE FROM ended_sessions WHERE expires_ms < ?", (now_ms,))
        run("DELETE FROM seconds WHERE second < ?", (now_ms // 1000 - 7200,))
        run("DELETE FROM crossings WHERE at_ms < ?", (now_ms - DAY_MS,))
        if self._retention.activity_days is not None:
            self._forget_activities(now_ms - self._retention.activity_days * DAY_MS)
        if self._retention.approval_days is not None:
            # Ids begin with their time, so the old ones are the first of the key.
            oldest = now_ms - self._retention.approval_days * DAY_MS
            gone = run(
                "DELETE FROM approvals WHERE approval_id < ? AND status != 'open'", (f"apr_{oldest:012x}",)
            )
            self._must_scrub = self._must_scrub or gone.rowcount > 0
        if self._retention.delivery_days is not None:
            oldest = now_ms - self._retention.delivery_days * DAY_MS
            run(
                "DELETE FROM deliveries WHERE delivery_id < ? AND state != 'pending'", (f"dlv_{oldest:012x}",)
            )

    def _forget_activities(self, before_ms: int) -> None:
        """From the oldest on, and no further than the first that is young enough: never a scan."""
        rows = self._writer.execute("SELECT seq, at_ms FROM activities ORDER BY seq LIMIT 1000").fetchall()
        old = [seq for seq, at_ms in itertools.takewhile(lambda row: row[1] < before_ms, rows)]
        if old:
            # What was said of an outcome goes too, but one that is still unknown blocks a retry.
            self._writer.execute(
                "DELETE FROM outcomes WHERE result != 'unknown' AND activity_id IN"
                " (SELECT activity_id FROM activities WHERE seq <= ?)",
                (old[-1],),
            )
            self._writer.execute("DELETE FROM activities WHERE seq <= ?", (old[-1],))
            self._must_scrub = self._has_removed = True

    # --- the ledger ----------------------------------------------------------------------------

    def _verified_end(self) -> "_End":
        """The end of the ledger, after following its tail to the last signature: a broken one is not
        built upon."""
        head = self._verified_head()
        end = self._stored_end()
        row = self._writer.execute(
            "SELECT size, token FROM checkpoints ORDER BY size DESC LIMIT 1"
        ).fetchone()
        if row is None and head == Head():
            return end
        if row is None or row[0] != head.seq:
            raise BrokenChain(f"the last entry, {head.seq}, is not the one that was signed")
        try:
            checkpoint = read_checkpoint(row[1], self._ring.known())
        except InvalidToken:
            raise BrokenChain(
                "the last checkpoint was not signed by a key of this deployment: restore the key file that"
                " belongs to this store"
            ) from None
        if checkpoint.head != head.hash or checkpoint.root != end.edge.root():
            raise BrokenChain(f"the ledger up to entry {head.seq} is not the one that was signed")
        return end

    def _verified_head(self) -> Head:
        rows = self._writer.execute(
            "SELECT seq, at_ms, subject, commitment, previous, hash FROM ledger ORDER BY seq DESC LIMIT ?",
            (_TAIL,),
        ).fetchall()
        if not rows:
            return Head()
        tail = [Entry(*row) for row in reversed(rows)]
        return verify(tail, Head(tail[0].seq - 1, tail[0].previous))

    def close(self) -> None:
        for reader in self._readers:
            reader.close()
        self._writer.close()
        os.close(self._owner)


class _End(msgspec.Struct, frozen=True):
    """Where the ledger ends, and since when its last checkpoint may be replaced by the next."""

    head: Head
    edge: Edge
    replaceable_ms: int | None = None


@functools.cache
def _insertion(insert: str, conflict: str, columns: int, rows: int) -> str:
    """The text of a statement for so many rows; there are `_MAX_ROWS` of each kind at most."""
    values = ",".join([f"({','.join('?' * columns)})"] * rows)
    return f"{insert} {values} {conflict}"


def _activity_row(a: Activity, seq: int, salt: bytes) -> Row:
    return (
        seq,
        a.activity_id,
        a.agent_id,
        a.principal_id,
        a.at_ms,
        a.action_type,
        a.decision,
        a.error_code,
        a.conversation_id,
        a.cost_nano,
        a.tokens,
        a.fingerprint,
        ",".join(a.par) or None,
        a.wid,
        salt,
        a.payload,
    )


def _step_row(committed: CommittedStep) -> Row:
    step = committed.step
    return (
        committed.agent_id,
        committed.conversation_id,
        step.number,
        step.fingerprint,
        step.state,
        step.approved,
        step.activity_id,
        step.wid,
    )


def _is_plain(record: Record) -> bool:
    """An ordinary decision: nothing beside its activity, step and booking."""
    return (
        record.agent is None
        and record.approval is None
        and record.key is None
        and record.outcome is None
        and record.remembered is None
        and record.crossing is None
        and record.conduct is None
        and not record.trust_changes
        and record.webhook is None
        and record.dropped_webhook is None
        and record.redaction is None
        and not record.deliveries
        and record.cosignature is None
        and record.workflow is None
        and not record.completions
    )


def _delivery(row: Row) -> Delivery:
    values: dict[str, Any] = dict(zip(Delivery.__struct_fields__, row, strict=True))
    values["event"], values["state"] = Event(values["event"]), DeliveryState(values["state"])
    return Delivery(**values)


def _delivery_row(delivery: Delivery) -> Row:
    return tuple(getattr(delivery, name) for name in Delivery.__struct_fields__)


def _places(values: Sequence[str]) -> str:
    return ",".join("?" * len(values))


def _walls(query: SearchQuery) -> tuple[list[str], list[Any]]:
    """What an index finds: the entries of one agent, or of one principal."""
    if query.agent_id is not None:
        where, values = ["a.agent_id = ?"], [query.agent_id]
        if query.decision == NOTED:
            # Written out, so that the index of just these is used.
            where.append(f"a.decision = '{NOTED}'")
        return where, list(values)
    if query.principal_id is not None:
        return ["a.principal_id = ?"], [query.principal_id]
    return [], []


def _search_filter(query: SearchQuery) -> tuple[list[str], list[Any]]:
    filters: tuple[tuple[str, Any], ...] = (
        # The plus keeps it from being looked up by its own index, where the agent's is the narrower.
        ("+a.principal_id = ?", query.principal_id),
        ("a.at_ms >= ?", query.from_ms),
        ("a.at_ms < ?", query.to_ms),
        ("a.decision = ?", query.decision),
        ("a.action_type = ?", query.action_type),
        ("a.error_code = ?", query.error_code),
        ("a.conversation_id = ?", query.conversation_id),
        ("instr(a.payload, ?) > 0", query.text),
    )
    given = [(condition, value) for condition, value in filters if value is not None]
    return [condition for condition, _ in given], [value for _, value in given]


def _activity_filter(query: ActivityQuery) -> tuple[list[str], list[Any]]:
    where, values = ["a.agent_id = ?"], [query.agent_id]
    filters: tuple[tuple[str, Any], ...] = (
        ("a.at_ms >= ?", query.from_ms),
        ("a.at_ms < ?", query.to_ms),
        ("a.decision = ?", query.decision),
        ("a.action_type = ?", query.action_type),
        ("a.conversation_id = ?", query.conversation_id),
    )
    for condition, value in filters:
        if value is not None:
            where.append(condition)
            values.append(value)
    return where, values


@contextmanager
def own_file(path: Path) -> Iterator[None]:
    """Nobody else uses the store meanwhile. Raises `DatabaseInUse` or `DatabaseUnusable`."""
    owner = _own(path.resolve())
    try:
        yield
    finally:
        os.close(owner)


def schema_files() -> int:
    """How many there are: the version of an up-to-date file."""
    return sum(entry.name.endswith(".sql") for entry in resources.files(_MIGRATIONS).iterdir())


def _own(path: Path) -> int:
    """Lock the file next to the database: it stays locked while this process lives."""
    if path.exists() and path.stat().st_nlink > 1:
        raise DatabaseUnusable(f"{path} has a second name (a hard link), under which another could open it")
    lock = path.with_name(path.name + ".lock")
    try:
        owner = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise DatabaseUnusable(f"{path} cannot be opened: {error.strerror} ({lock})") from None
    try:
        fcntl.flock(owner, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        holder = os.pread(owner, 20, 0).decode("ascii", "replace").strip() or "unknown"
        os.close(owner)
        raise DatabaseInUse(
            f"{path} is in use by another process (pid {holder}); stop it, or use another --database"
        ) from None
    os.ftruncate(owner, 0)
    os.pwrite(owner, str(os.getpid()).encode(), 0)
    return owner


def _connect_writer(path: Path) -> sqlite3.Connection:
    if not path.exists():
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False, cached_statements=256)
    _refuse_foreign(connection, path)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA foreign_keys = ON")
    # What is erased is overwritten, not only unlinked.
    connection.execute("PRAGMA secure_delete = ON")
    connection.execute("PRAGMA cache_size = -16384")
    connection.execute("PRAGMA journal_size_limit = 67108864")
    return connection


def _refuse_foreign(connection: sqlite3.Connection, path: Path) -> None:
    """Before anything is written: a file that another program made is not ours to fill."""
    have = connection.execute("PRAGMA user_version").fetchone()[0]
    found = connection.execute("SELECT name FROM sqlite_schema LIMIT 1").fetchone()
    if have == 0 and found is not None:
        connection.close()
        raise DatabaseUnusable(
            f"{path} is another program's database (it has {found[0]!r}); use another --database"
        )


def _migrate(connection: sqlite3.Connection) -> None:
    """Apply the numbered files that this database has not seen, each in its own transaction."""
    have = connection.execute("PRAGMA user_version").fetchone()[0]
    folder = resources.files(_MIGRATIONS)
    files = [
        folder / name for name in sorted(entry.name for entry in folder.iterdir()) if name.endswith(".sql")
    ]
    if have > len(files):
        raise DatabaseUnusable(
            f"the database has schema version {have}; this QWED knows {len(files)}: upgrade QWED"
        )
    for number, entry in enumerate(files[have:], start=have + 1):
        script = entry.read_text(encoding="utf-8")
        connection.executescript(f"BEGIN IMMEDIATE;\n{script}\nPRAGMA user_version = {number};\nCOMMIT;")


def _ledger_name(connection: sqlite3.Connection) -> str:
    row = connection.execute("SELECT name FROM ledger_name").fetchone()
    if row is None:
        row = (f"urn:uuid:{uuid.uuid4()}",)
        connection.execute("INSERT INTO ledger_name VALUES (?)", row)
    return str(row[0])
