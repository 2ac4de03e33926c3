"""SQLite: one file, one owner process, one connection that writes.

Every change and every checkpoint goes through the writer's connection; readers have their own, which
cannot write. (SQLite before 3.51.3 can corrupt a WAL that one connection resets while another writes;
with a single writer that cannot happen.) `synchronous=FULL`: what is acknowledged survives power loss.
"""

import fcntl
import itertools
import os
import sqlite3
import threading
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import resources
from pathlib import Path
from typing import Any, Final, TypeVar

from qwed.domain.agents import Agent, AgentId, AgentStatus, PrincipalId
from qwed.domain.approvals import Approval, ApprovalStatus
from qwed.domain.conversations import Step
from qwed.domain.credentials import ApiKey
from qwed.domain.outcomes import Outcome
from qwed.domain.policy import DEFAULT_POLICY, Policy, Retention
from qwed.domain.times import DAY_MS, day_of
from qwed.domain.webhooks import Webhook
from qwed.gateway.ports import Clock, StoreUnavailable
from qwed.gateway.records import (
    Activity,
    ActivityPage,
    ActivityQuery,
    Booking,
    CommittedStep,
    Record,
    Remembered,
)
from qwed.ledger.chain import BrokenChain, Entry, Head, append, commit_to, verify
from qwed.stores.access import ThreadedAccess
from qwed.stores.bodies import decode, encode
from qwed.stores.hot import HotStore
from qwed.stores.tables import AccountRows, Counters

T = TypeVar("T")

_MIGRATIONS: Final = "qwed.stores.migrations.sqlite"
_KEEP_EVERY: Final = 64
_TAIL: Final = 1_000

# One prepared statement per table and number of rows: all of them stay in the connection's cache.
_MAX_ROWS: Final = 32
_ADD_DAYS: Final = (
    "ON CONFLICT DO UPDATE SET requests = requests + excluded.requests,"
    # Bounded below 2^63, where SQLite would go on in floating point.
    " cost_nano = min(4611686018427387904, max(0, cost_nano + excluded.cost_nano)),"
    " tokens = min(4611686018427387904, max(0, tokens + excluded.tokens))"
)
_ADD_SECONDS: Final = "ON CONFLICT DO UPDATE SET requests = requests + excluded.requests"
SALT_BYTES: Final = 16

Row = tuple[Any, ...]


class DatabaseInUse(Exception):
    """Another process owns the file."""


class DatabaseUnusable(Exception):
    """The file cannot be opened as a QWED store; the message says why."""


def open_sqlite(path: Path, policy: Policy, clock: Clock) -> HotStore:
    """Open or create the store and own it until it is closed.

    Raises `DatabaseInUse`, `DatabaseUnusable`, or `BrokenChain` when the ledger's tail was tampered with.
    """
    tables = SqliteTables(path, retention=policy.retention)
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
    def __init__(self, path: Path, *, retention: Retention = DEFAULT_POLICY.retention) -> None:
        # Under another name it would be another lock: a link leads to the file itself.
        path = path.resolve()
        self._path = path
        self._retention = retention
        self._owner = _own(path)
        try:
            self._writer = _connect_writer(path)
            _migrate(self._writer)
            self._head: Head | None = self._verified_head()
        except sqlite3.Error as error:
            os.close(self._owner)
            raise DatabaseUnusable(f"{path} cannot be opened as a QWED store: {error}") from error
        except BaseException:
            os.close(self._owner)
            raise
        self._local = threading.local()
        self._readers: list[sqlite3.Connection] = []
        self._groups = 0

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
        )

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
            "SELECT step, fingerprint, state, approved FROM steps"
            " WHERE agent_id = ? AND conversation_id = ? ORDER BY step",
            agent_id,
            conversation_id,
        )
        return [Step(step, fingerprint, state, bool(approved)) for step, fingerprint, state, approved in rows]

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

    def activity(self, activity_id: str) -> tuple[Activity, Outcome | None] | None:
        row = self._row(
            "SELECT a.activity_id, a.agent_id, a.principal_id, a.at_ms, a.action_type, a.decision,"
            " a.error_code, a.conversation_id, a.cost_nano, a.tokens, a.fingerprint, a.payload, o.body"
            " FROM activities a LEFT JOIN outcomes o USING (activity_id) WHERE a.activity_id = ?",
            activity_id,
        )
        if row is None:
            return None
        return Activity(*row[:-1]), decode(Outcome, row[-1]) if row[-1] else None

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
        if status in (ApprovalStatus.OPEN, ApprovalStatus.APPROVED):
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

    def ping(self) -> None:
        self._row("SELECT 1 FROM ledger LIMIT 1")

    # --- writing -------------------------------------------------------------------------------

    def write(self, records: list[Record]) -> None:
        with _unavailable():
            self._head = self._head or self._stored_head()
            # Unknown until the end is known: an error in between is looked into before anything is added.
            before, self._head = self._head, None
            self._head = self._write(before, records)

    def _write(self, before: Head, records: list[Record]) -> Head:
        head: Head | None = None
        self._writer.execute("BEGIN IMMEDIATE")
        try:
            head = self._insert(before, records)
            self._groups += 1
            if self._groups % _KEEP_EVERY == 0:
                self._keep_house(records[-1].activity.at_ms)
            self._writer.execute("COMMIT")
        except BaseException:
            if self._writer.in_transaction:
                self._writer.execute("ROLLBACK")
            # A commit may fail after it was done: then the end of the chain is ours.
            if head is not None and self._stored_head() == head:
                return head
            raise
        return head

    def _stored_head(self) -> Head:
        row = self._writer.execute("SELECT seq, hash FROM ledger ORDER BY seq DESC LIMIT 1").fetchone()
        return Head(*row) if row else Head()

    def _insert(self, before: Head, records: list[Record]) -> Head:
        head, activities, entries = _chained(before, records)
        self._insert_rows("INSERT INTO activities VALUES", activities)
        self._insert_rows("INSERT INTO ledger VALUES", entries)
        self._insert_rows(
            "INSERT INTO steps VALUES", [_step_row(r.step) for r in records if r.step is not None]
        )
        self._book([record.booking for record in records if record.booking is not None])
        for record in records:
            if not _is_plain(record):
                self._insert_rare(record)
        return head

    def _insert_rows(self, insert: str, rows: list[Row], conflict: str = "") -> None:
        """Many rows in one statement. Each statement gives up the interpreter lock and has to win it
        back from a busy event loop, which costs far more than the insert itself."""
        for position in range(0, len(rows), _MAX_ROWS):
            block = rows[position : position + _MAX_ROWS]
            values = ",".join([f"({','.join('?' * len(block[0]))})"] * len(block))
            flat = [value for row in block for value in row]
            self._writer.execute(f"{insert} {values} {conflict}", flat)

    def _book(self, bookings: list[Booking]) -> None:
        """Bookings of one group that fall on one row become one statement."""
        days: defaultdict[tuple[str, str, int], list[int]] = defaultdict(lambda: [0, 0, 0])
        seconds: defaultdict[tuple[str, int], int] = defaultdict(int)
        for b in bookings:
            for row in (days["agent", b.agent_id, b.day], days["principal", b.principal_id, b.day]):
                row[0] += b.requests
                row[1] += b.cost_nano
                row[2] += b.tokens
            if b.requests:
                seconds[b.agent_id, b.second] += b.requests
        self._insert_rows("INSERT INTO days VALUES", [(*key, *row) for key, row in days.items()], _ADD_DAYS)
        self._insert_rows(
            "INSERT INTO seconds VALUES", [(*key, count) for key, count in seconds.items()], _ADD_SECONDS
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
                "INSERT OR REPLACE INTO approvals VALUES (?, ?, ?, ?, ?, ?, ?)",
                (*key, approval.created_ms, approval.ends_ms, encode(approval)),
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
        if (w := record.webhook) is not None:
            run(
                "INSERT OR REPLACE INTO webhooks VALUES (?, ?, ?)",
                (w.webhook_id, w.principal_id, encode(w)),
            )
        if record.dropped_webhook is not None:
            run("DELETE FROM webhooks WHERE webhook_id = ?", (record.dropped_webhook,))

    def _keep_house(self, now_ms: int) -> None:
        """Drop what no window can see any more, a little at a time, on the writer's own transaction."""
        run = self._writer.execute
        run("DELETE FROM remembered WHERE expires_ms < ?", (now_ms,))
        run("DELETE FROM seconds WHERE second < ?", (now_ms // 1000 - 7200,))
        run("DELETE FROM crossings WHERE at_ms < ?", (now_ms - DAY_MS,))
        if self._retention.activity_days is not None:
            self._forget_activities(now_ms - self._retention.activity_days * DAY_MS)
        if self._retention.approval_days is not None:
            # Ids begin with their time, so the old ones are the first of the key.
            oldest = now_ms - self._retention.approval_days * DAY_MS
            run("DELETE FROM approvals WHERE approval_id < ? AND status != 'open'", (f"apr_{oldest:012x}",))

    def _forget_activities(self, before_ms: int) -> None:
        """From the oldest on, and no further than the first that is young enough: never a scan."""
        rows = self._writer.execute("SELECT seq, at_ms FROM activities ORDER BY seq LIMIT 1000").fetchall()
        old = [seq for seq, at_ms in itertools.takewhile(lambda row: row[1] < before_ms, rows)]
        if old:
            self._writer.execute("DELETE FROM activities WHERE seq <= ?", (old[-1],))

    # --- the ledger ----------------------------------------------------------------------------

    def _verified_head(self) -> Head:
        """The end of the chain, after following its tail: a broken one is not built upon."""
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


def _chained(head: Head, records: list[Record]) -> tuple[Head, list[Row], list[Row]]:
    activities: list[Row] = []
    entries: list[Row] = []
    salts = os.urandom(SALT_BYTES * len(records))
    for index, record in enumerate(records):
        a = record.activity
        salt = salts[index * SALT_BYTES : (index + 1) * SALT_BYTES]
        entry = append(head, a.at_ms, a.activity_id, commit_to(a.payload, salt))
        head = Head(entry.seq, entry.hash)
        entries.append((entry.seq, entry.at_ms, entry.subject, entry.commitment, entry.previous, entry.hash))
        activities.append(
            (
                entry.seq,
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
                salt,
                a.payload,
            )
        )
    return head, activities, entries


def _step_row(committed: CommittedStep) -> Row:
    step = committed.step
    return (
        committed.agent_id,
        committed.conversation_id,
        step.number,
        step.fingerprint,
        step.state,
        step.approved,
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
        and record.webhook is None
        and record.dropped_webhook is None
    )


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
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("PRAGMA cache_size = -16384")
    connection.execute("PRAGMA journal_size_limit = 67108864")
    return connection


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


def verify_ledger(path: Path) -> Head:
    """Follow the whole chain of a store, read-only, beside a running gateway if there is one.

    Raises `BrokenChain` or `sqlite3.Error`.
    """
    connection = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)
    try:
        return verify(_stored_entries(connection))
    finally:
        connection.close()


def _is_payload_of(entry: Entry, payload: object, salt: object) -> bool:
    """Whoever edits a payload may leave another type behind than the gateway would."""
    return (
        isinstance(payload, bytes)
        and isinstance(salt, bytes)
        and commit_to(payload, salt) == entry.commitment
    )


def _stored_entries(connection: sqlite3.Connection) -> Iterator[Entry]:
    """Every entry, after comparing it with the activity it stands for (where that is still kept)."""
    rows = connection.execute(
        "SELECT l.seq, l.at_ms, l.subject, l.commitment, l.previous, l.hash, a.salt, a.payload"
        " FROM ledger l LEFT JOIN activities a USING (seq) ORDER BY l.seq"
    )
    for *entry, salt, payload in rows:
        found = Entry(*entry)
        if payload is not None and not _is_payload_of(found, payload, salt):
            raise BrokenChain(f"the payload of entry {found.seq} ({found.subject}) was changed")
        yield found
