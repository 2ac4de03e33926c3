"""One group of records: chained, signed and written in one transaction, on the one connection that writes."""

import functools
import itertools
import sqlite3
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

import msgspec

from qwed.domain.deliveries import Delivery, DeliveryClaim, claimed
from qwed.domain.policy import Retention
from qwed.domain.refusal_counts import Counted, CountedRefusal
from qwed.domain.times import HOUR_MS
from qwed.ect.jws import InvalidToken
from qwed.ect.keys import KeyRing
from qwed.gateway.kernel.commitments import committed
from qwed.gateway.kernel.records import (
    Activity,
    Booking,
    CommittedStep,
    Record,
    ScoreChange,
)
from qwed.ledger.chain import BrokenChain, Head, LedgerEntry, verify
from qwed.ledger.checkpoints import read_checkpoint
from qwed.ledger.merkle import TreeEdge, edge_of
from qwed.stores.bodies import encode
from qwed.stores.chain import Growth, seal
from qwed.stores.sqlite.deliveries import (
    DELIVERY,
    DUE_DELIVERIES,
    PUT_DELIVERY,
    delivery_of,
    delivery_row,
    places,
)
from qwed.stores.sqlite.erasure import keep_house, redact
from qwed.stores.sqlite.file import (
    ledger_name,
    unavailable,
)
from qwed.stores.sqlite.file_reader import SCORE
from qwed.stores.sqlite.ledger import SqliteLedger
from qwed.stores.sqlite.refusal_counts import count_refusals, state_minute
from qwed.stores.sqlite.rows import Row
from qwed.stores.sqlite.rule_windows import prove, write_windows
from qwed.stores.sqlite.states import SqliteStateRows, has_states
from qwed.stores.state_columns import (
    agent_columns,
    approval_columns,
    finding_columns,
    key_columns,
    outcome_columns,
    permit_columns,
    policy_change_columns,
    trust_change_columns,
    webhook_columns,
    workflow_columns,
)
from qwed.stores.tables import hour_keys

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
_ADD_SECONDS: Final = "ON CONFLICT DO UPDATE SET requests = requests + excluded.requests"
_ADD_HOURS: Final = (
    "ON CONFLICT DO UPDATE SET entries = entries + excluded.entries,"
    " cost_nano = min(4611686018427387904, cost_nano + excluded.cost_nano)"
)
_KEEP_CHECKPOINT_MS: Final = 60_000


class Writing:
    """The writer's side of the tables; everything here runs on the writer's own thread."""

    def __init__(
        self,
        writer: sqlite3.Connection,
        ring: KeyRing,
        retention: Retention,
        on_removed: Callable[[], None],
    ) -> None:
        self._writer = writer
        self._ring = ring
        self._retention = retention
        self._on_removed = on_removed
        self._name = ledger_name(writer)
        self._end: _End | None = self._verify_end()
        self._groups = 0
        self._has_removed = False
        # A crash may have come between an erasure and the emptying of the log.
        self._must_scrub = True
        self._scrub()
        if not has_states(writer.execute):
            self._adopt()

    def use_retention(self, retention: Retention) -> None:
        self._retention = retention

    def _adopt(self) -> None:
        """A file from before rows were committed: what is there is taken over, once."""
        before = self._end or self._read_end()
        growth, at_ms = Growth(before.head, before.edge), time.time_ns() // 1_000_000
        with self._transaction() as run:
            if SqliteStateRows(run, growth, at_ms).adopt():
                self._end = self._chain(before, growth, at_ms)

    def write(self, records: list[Record]) -> None:
        with unavailable():
            # Unknown until the group is written: after an error the end is read back first.
            before, self._end = self._end or self._read_end(), None
            self._end = self._write(before, records)

    def _write(self, before: "_End", records: list[Record]) -> "_End":
        end: _End | None = None
        self._writer.execute("BEGIN IMMEDIATE")
        try:
            end = self._insert(before, records)
            self._writer.execute("COMMIT")
            if self._has_removed:
                self._has_removed = False
                self._on_removed()
            if self._must_scrub:
                self._scrub()
        except BaseException:
            if self._writer.in_transaction:
                self._writer.execute("ROLLBACK")
            # A commit may fail after it was done: then the end of the chain is ours.
            if end is not None and self._read_head() == end.head:
                return end
            raise
        return end

    def claim_deliveries(self, claim: DeliveryClaim) -> list[Delivery]:
        full = sorted(claim.full)
        with unavailable(), self._transaction() as run:
            candidates = run(
                DUE_DELIVERIES.format(full=places(full)), (claim.now_ms, claim.per_webhook, *full)
            ).fetchall()
            taken = claim.chosen(candidates)
            if not taken:
                return []
            rows = run(
                f"SELECT {DELIVERY} FROM deliveries WHERE delivery_id IN ({places(taken)})",  # noqa: S608
                taken,
            ).fetchall()
            found = [claimed(delivery_of(row), claim) for row in rows]
            for delivery in found:
                run(PUT_DELIVERY, delivery_row(delivery))
        return found

    def settle_delivery(self, delivery: Delivery) -> None:
        with unavailable(), self._transaction() as run:
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

    def count_refusals(self, refused: Sequence[CountedRefusal], limit: int) -> list[Counted]:
        with unavailable(), self._transaction() as run:
            return count_refusals(run, refused, limit)

    def keep_scores(self, changes: Sequence[ScoreChange]) -> None:
        rows = [
            (c.peer, c.number, c.event, c.evidence, c.before, c.after, c.at, c.revokes, c.seq)
            for c in changes
        ]
        with unavailable(), self._transaction() as run:
            for row in rows:
                run(
                    f"INSERT INTO score_changes ({SCORE}) VALUES (?,?,?,?,?,?,?,?,?) ON CONFLICT DO NOTHING",  # noqa: S608
                    row,
                )

    def keep_shared(self, digest: str, body: bytes) -> None:
        with unavailable(), self._transaction() as run:
            run("INSERT INTO shared_facts VALUES (?, ?) ON CONFLICT DO NOTHING", (digest, body))

    def keep_salt(self, agent_id: str, conversation_id: str, fresh: bytes, now_ms: int) -> bytes:
        place = (agent_id, conversation_id)
        with unavailable(), self._transaction() as run:
            run("INSERT INTO heard_keys VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING", (*place, fresh, now_ms))
            row = run("SELECT salt FROM heard_keys WHERE agent_id = ? AND conversation_id = ?", place)
            salt: bytes = row.fetchone()[0]
            return salt

    def keep_heard(self, agent_id: str, conversation_id: str, report_id: str, body: bytes) -> None:
        place = (agent_id, conversation_id)
        with unavailable(), self._transaction() as run:
            run(
                "INSERT INTO heard VALUES (?, ?, ?, (SELECT coalesce(max(number), 0) + 1 FROM heard"
                " WHERE agent_id = ? AND conversation_id = ?), ?) ON CONFLICT DO NOTHING",
                (*place, report_id, *place, body),
            )

    def end_session(self, session_id: bytes, expires_ms: int) -> None:
        with unavailable(), self._transaction() as run:
            run(
                "INSERT INTO ended_sessions VALUES (?, ?) ON CONFLICT DO NOTHING",
                (session_id, expires_ms),
            )
            run("DELETE FROM sign_ins WHERE session_id = ?", (session_id,))

    def keep_sign_in(self, session_id: bytes, body: bytes, expires_ms: int) -> None:
        with unavailable(), self._transaction() as run:
            run(
                "INSERT INTO sign_ins SELECT ?1, ?2, ?3"
                " WHERE NOT EXISTS (SELECT 1 FROM ended_sessions WHERE session_id = ?1)"
                " ON CONFLICT (session_id) DO UPDATE SET body = excluded.body",
                (session_id, body, expires_ms),
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

    def _read_head(self) -> Head:
        row = self._writer.execute("SELECT seq, hash FROM ledger ORDER BY seq DESC LIMIT 1").fetchone()
        return Head(*row) if row else Head()

    def _read_end(self) -> "_End":
        head = self._read_head()
        ledger = SqliteLedger(lambda sql, *values: self._writer.execute(sql, values).fetchall())
        return _End(head, edge_of(ledger.nodes(), head.seq))

    def _insert(self, before: "_End", records: list[Record]) -> "_End":
        growth = Growth(before.head, before.edge)
        at_ms = records[-1].activity.at_ms
        activities, tokens = self._grown(growth, records)
        self._insert_rows("INSERT INTO activities VALUES", activities)
        self._insert_rows("INSERT INTO ects VALUES", tokens)
        self._insert_rows(
            "INSERT INTO steps VALUES", [_step_row(r.step) for r in records if r.step is not None]
        )
        self._book([record.booking for record in records if record.booking is not None])
        self._count_hours([record.activity for record in records])
        for record in records:
            if not record.is_plain:
                self._insert_rare(record, growth)
        self._groups += 1
        if self._groups % _KEEP_EVERY == 0:
            self._tidy(at_ms, growth)
        return self._chain(before, growth, at_ms)

    def _chain(self, before: "_End", growth: Growth, at_ms: int) -> "_End":
        """The entries of a group, their part of the tree, and the signature over both."""
        entries = [(e.seq, e.at_ms, e.subject, e.commitment, e.previous, e.hash) for e in growth.entries]
        self._insert_rows("INSERT INTO ledger VALUES", entries)
        self._insert_rows("INSERT INTO tiles VALUES", growth.tiles)
        return _End(growth.head, growth.edge, self._insert_checkpoint(before, growth, at_ms))

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

    def _insert_checkpoint(self, before: "_End", growth: Growth, at_ms: int) -> int | None:
        """The group's signature. It takes the place of the one before, unless that is kept: one a minute
        is, and every one that a witness signed too. Says since when it may itself be replaced."""
        token = seal(self._ring, self._name, growth, at_ms)
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
        for b, times in Counter(bookings).items():
            for row in (days["agent", b.agent_id, b.day], days["principal", b.principal_id, b.day]):
                row[0] += b.requests * times
                row[1] += b.cost_nano * times
                row[2] += b.tokens * times
                row[3] += b.actions * times
            if b.requests:
                seconds[b.agent_id, b.second] += b.requests * times
        self._insert_rows("INSERT INTO days VALUES", [(*key, *row) for key, row in days.items()], _ADD_DAYS)
        self._insert_rows(
            "INSERT INTO seconds VALUES", [(*key, count) for key, count in seconds.items()], _ADD_SECONDS
        )

    def _count_hours(self, activities: list[Activity]) -> None:
        """Those of a group that are alike are counted at once."""
        kinds = [
            (a.principal_id, a.at_ms // HOUR_MS, a.decision, a.error_code, a.cost_nano) for a in activities
        ]
        one_of = dict(zip(kinds, activities, strict=True))
        hours: defaultdict[tuple[str, int, str, str], list[int]] = defaultdict(lambda: [0, 0])
        for kind, times in Counter(kinds).items():
            activity = one_of[kind]
            for key in hour_keys(activity):
                row = hours[key]
                row[0] += times
                row[1] += activity.cost_nano * times
        self._insert_rows(
            "INSERT INTO hours VALUES", [(*key, *row) for key, row in hours.items()], _ADD_HOURS
        )

    def _insert_rare(self, record: Record, growth: Growth) -> None:
        """What most decisions do not have."""
        run = self._writer.execute
        states = SqliteStateRows(run, growth, record.activity.at_ms)
        self._put_states(record, states)
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
        if record.stated is not None:
            state_minute(run, record.stated)
        if record.permit is not None:
            states.put_uncommitted("permits", permit_columns(record.permit))
        if record.finding is not None:
            states.put_uncommitted("permit_findings", finding_columns(record.finding))
        write_windows(run, record)
        if record.outcome is not None and record.outcome.proves:
            prove(run, record.outcome.activity_id, record.outcome.proves)
        if record.dropped_webhook is not None:
            states.drop("webhooks", "webhook_id = ?", record.dropped_webhook)
            run("DELETE FROM deliveries WHERE webhook_id = ?", (record.dropped_webhook,))
        for delivery in record.deliveries:
            run(PUT_DELIVERY, delivery_row(delivery))
        if record.redaction is not None:
            redact(run, states, record.redaction)
            self._must_scrub = True
        if (signed := record.cosignature) is not None:
            kept = run("SELECT cosignatures FROM checkpoints WHERE size = ?", (signed.size,)).fetchone()
            others = msgspec.json.decode(kept[0]) if kept and kept[0] else []
            run(
                "INSERT OR REPLACE INTO checkpoints VALUES (?, ?, ?, ?)",
                (signed.size, signed.at_ms, signed.checkpoint, encode([*others, signed.token])),
            )

    def _put_states(self, record: Record, states: SqliteStateRows) -> None:
        """The parts of a record that decide from now on."""
        if record.agent is not None:
            states.put("agents", agent_columns(record.agent))
        if record.approval is not None:
            states.put("approvals", approval_columns(record.approval))
        if record.key is not None:
            states.put("keys", key_columns(record.key))
        if (outcome := record.outcome) is not None:
            put = states.put if outcome.is_binding else states.put_uncommitted
            put("outcomes", outcome_columns(outcome))
        if record.conduct is not None:
            columns = {"agent_id": record.activity.agent_id, "body": encode(record.conduct)}
            states.put("conduct", columns)
        for change in record.trust_changes:
            states.add("trust_changes", trust_change_columns(change))
        if record.webhook is not None:
            states.put("webhooks", webhook_columns(record.webhook))
        if record.workflow is not None:
            states.add("workflows", workflow_columns(record.workflow))
        if record.policy_change is not None:
            states.add("policy_changes", policy_change_columns(record.policy_change))
        for done in record.completions:
            states.keep("workflow_nodes", msgspec.structs.asdict(done))

    def _tidy(self, now_ms: int, growth: Growth) -> None:
        states = SqliteStateRows(self._writer.execute, growth, now_ms)
        removed = keep_house(self._writer.execute, states, now_ms, self._retention)
        self._has_removed = self._has_removed or removed.activities
        self._must_scrub = self._must_scrub or removed.activities or removed.approvals

    def _scrub(self) -> None:
        """Empty the log of changes too: it holds pages as they were before. A reader in the middle of
        something is not waited for; the next group tries again."""
        try:
            busy = self._writer.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
        except sqlite3.Error:
            return
        self._must_scrub = bool(busy)

    # --- the ledger ----------------------------------------------------------------------------

    def _verify_end(self) -> "_End":
        """The end of the ledger, after following its tail to the last signature: a broken one is not
        built upon."""
        head = self._verify_head()
        end = self._read_end()
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

    def _verify_head(self) -> Head:
        rows = self._writer.execute(
            "SELECT seq, at_ms, subject, commitment, previous, hash FROM ledger ORDER BY seq DESC LIMIT ?",
            (_TAIL,),
        ).fetchall()
        if not rows:
            return Head()
        tail = [LedgerEntry(*row) for row in reversed(rows)]
        return verify(tail, Head(tail[0].seq - 1, tail[0].previous))


class _End(msgspec.Struct, frozen=True):
    """Where the ledger ends, and since when its last checkpoint may be replaced by the next."""

    head: Head
    edge: TreeEdge
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
