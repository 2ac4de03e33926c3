"""The ledger in a SQLite file: read for proofs and graphs, followed from its first entry to its last."""

import hashlib
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from qwed.domain.agents import PrincipalId
from qwed.domain.nodes import activity_id_of, is_activity_id
from qwed.ect.jwk import PublicKey
from qwed.ect.jws import InvalidToken
from qwed.gateway.evidence.redact_activity import REDACT, erasures_in
from qwed.gateway.kernel.changes import NOTED
from qwed.gateway.kernel.records import KnownNode, LedgerItem, Received, SignedCheckpoint
from qwed.ledger import export
from qwed.ledger.audit import Audited, AuditKind, Tampering, audit
from qwed.ledger.checkpoints import Checkpoint, read_checkpoint
from qwed.ledger.entries import LedgerEntry
from qwed.ledger.merkle import leaf_hash, prove_consistency, prove_inclusion, root_of
from qwed.ledger.passkeys import PasskeyAudit
from qwed.ledger.states import KEYS, States, Waiting, is_state
from qwed.stores.chain import (
    TILE_LEVELS,
    TiledNodes,
    lineage_of,
    make_decided_node,
    make_erased_node,
    make_received_node,
    walk,
)
from qwed.stores.ledger_items import commits_to, content_in, item_of, par_of
from qwed.stores.sqlite.states import differences, last_entry

Rows = Callable[..., list[tuple[Any, ...]]]

_ENTRY: Final = "l.seq, l.at_ms, l.subject, l.commitment, l.previous, l.hash"
_ACTIVITY: Final = (
    "a.activity_id, a.agent_id, a.principal_id, a.at_ms, a.action_type, a.decision, a.error_code,"
    " a.conversation_id, a.cost_nano, a.tokens, a.fingerprint, a.payload, a.par, a.wid"
)


_ITEMS: Final = (
    f"SELECT {_ENTRY}, e.token, e.salt, e.principal_id, a.salt, {_ACTIVITY} FROM ledger l"  # noqa: S608
    " LEFT JOIN activities a USING (seq) LEFT JOIN ects e ON e.seq = l.seq"
)


class SqliteLedger:
    """Questions to the ledger's tables; `rows` runs a statement on whichever connection may."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def nodes(self) -> TiledNodes:
        return TiledNodes(self._level)

    def _level(self, level: int, first: int, count: int) -> list[bytes]:
        if level:
            sql = "SELECT hash FROM tiles WHERE level = ? AND idx >= ? AND idx < ? ORDER BY idx"
            return [row[0] for row in self._rows(sql, level, first, first + count)]
        sql = "SELECT hash FROM ledger WHERE seq > ? AND seq <= ? ORDER BY seq"
        return [leaf_hash(row[0]) for row in self._rows(sql, first, first + count)]

    def name(self) -> str:
        rows = self._rows("SELECT name FROM ledger_name")
        return str(rows[0][0]) if rows else ""

    def checkpoint(self, size: int | None = None) -> SignedCheckpoint | None:
        select = "SELECT size, token, cosignatures FROM checkpoints"
        if size is None:
            rows = self._rows(f"{select} ORDER BY size DESC LIMIT 1")
        else:
            rows = self._rows(f"{select} WHERE size = ?", size)
        return _read_signed(rows[0]) if rows else None

    def entries(self, after: int, limit: int) -> list[LedgerEntry]:
        sql = f"SELECT {_ENTRY} FROM ledger l WHERE l.seq > ? ORDER BY l.seq LIMIT ?"  # noqa: S608
        return [LedgerEntry(*row) for row in self._rows(sql, after, limit)]

    def owners(self, after: int, limit: int) -> list[PrincipalId | None]:
        rows = self._rows(
            "SELECT coalesce(a.principal_id, e.principal_id) FROM ledger l LEFT JOIN activities a USING (seq)"
            " LEFT JOIN ects e ON e.seq = l.seq WHERE l.seq > ? ORDER BY l.seq LIMIT ?",
            after,
            limit,
        )
        return [row[0] for row in rows]

    def size(self) -> int:
        return int(self._rows("SELECT coalesce(max(seq), 0) FROM ledger")[0][0])

    def root(self, size: int) -> bytes:
        return root_of(self.nodes(), size)

    def inclusion(self, seq: int, size: int) -> list[bytes]:
        return prove_inclusion(self.nodes(), seq - 1, size)

    def consistency(self, first: int, second: int) -> list[bytes]:
        return prove_consistency(self.nodes(), first, second)

    def tree_hashes(self, level: int, first: int, count: int) -> list[bytes]:
        nodes = self.nodes()
        return [nodes.get(level, index) for index in range(first, first + count)]

    def position(self, subject: str) -> int | None:
        """The number of the entry about a token or an activity, or of the newest about a row that decides."""
        if is_state(subject):
            return last_entry(self._rows, subject)
        for table, column in (("activities", "activity_id"), ("ects", "jti")):
            sql = f"SELECT seq FROM {table} WHERE {column} = ?"  # noqa: S608
            if rows := self._rows(sql, subject):
                return int(rows[0][0])
        return None

    def received(self, jti: str) -> Received | None:
        rows = self._rows(
            "SELECT e.seq, l.at_ms, l.hash, e.token, e.principal_id FROM ects e JOIN ledger l USING (seq)"
            " WHERE e.jti = ?",
            jti,
        )
        if not rows:
            return None
        seq, at_ms, digest, token, principal_id = rows[0]
        text = None if token is None else token.decode("ascii")
        return Received(jti, seq, at_ms, digest, text, principal_id)

    def stretch(self, after: int, limit: int) -> list[LedgerItem]:
        return [
            item_of(row)
            for row in self._rows(f"{_ITEMS} WHERE l.seq > ? ORDER BY l.seq LIMIT ?", after, limit)
        ]

    def lineage(self, jti: str, bound: int) -> list[LedgerItem]:
        return lineage_of(jti, self._find, bound)

    def _find(self, jti: str) -> LedgerItem | None:
        seq = self.position(activity_id_of(jti)) or self.position(jti)
        rows = [] if seq is None else self._rows(f"{_ITEMS} WHERE l.seq = ?", seq)
        return item_of(rows[0]) if rows else None

    def ancestry(self, jtis: Sequence[str], bound: int) -> list[KnownNode]:
        return walk(jtis, self._known, bound)

    def _known(self, jti: str) -> KnownNode | None:
        # A gateway's own ids are UUIDs of version 7: where they point is looked at first.
        looks = (
            (self._find_decided, self._find_received)
            if jti[14:15] == "7"
            else (self._find_received, self._find_decided)
        )
        return looks[0](jti) or looks[1](jti)

    def _find_decided(self, jti: str) -> KnownNode | None:
        rows = self._rows("SELECT at_ms, par, wid FROM activities WHERE activity_id = ?", activity_id_of(jti))
        if not rows:
            return None
        at_ms, par, wid = rows[0]
        return make_decided_node(jti, at_ms, par_of(par), wid)

    def _find_received(self, jti: str) -> KnownNode | None:
        rows = self._rows("SELECT token FROM ects WHERE jti = ?", jti)
        if not rows:
            return None
        return make_erased_node(jti) if rows[0][0] is None else make_received_node(rows[0][0].decode("ascii"))


def _read_signed(row: tuple[Any, ...]) -> SignedCheckpoint:
    size, token, cosignatures = row
    return SignedCheckpoint(
        size, token, msgspec.json.decode(cosignatures, type=tuple[str, ...]) if cosignatures else ()
    )


# --- following the whole of it ---------------------------------------------------------------------


class Followed(msgspec.Struct, frozen=True):
    """The ledger holds: what it says, under whose signature, and how much of it could be compared."""

    ledger: str
    audited: Audited
    payloads: int
    erased: int
    #: Rows that decide, each as its last entry has it (None: no row was committed yet); and those of before
    #: that were taken over, and when.
    rows: int | None = None
    adopted: int = 0
    adopted_ms: int | None = None
    #: Votes whose passkey signatures hold.
    passkeys: int = 0


def verify_ledger(
    path: Path,
    keys: Mapping[str, PublicKey],
    known: Sequence[Checkpoint] = (),
    waiting: Sequence[Waiting] = (),
) -> Followed | Tampering:
    """Follow the whole ledger of a store, read-only, beside a running gateway if there is one.

    `keys` are the public keys that may have signed; `known` are checkpoints from elsewhere; `waiting` are
    entries about rows that follow after the last one in the ledger. Raises `sqlite3.Error`.
    """
    connection = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)
    connection.text_factory = _text
    try:
        # One snapshot: what a running gateway adds meanwhile is not seen half.
        connection.execute("BEGIN")
        return _Following(connection, keys).follow(known, waiting)
    finally:
        connection.close()


def _text(raw: bytes) -> str:
    """Whatever somebody wrote there is compared, also where it is no text."""
    return raw.decode("utf-8", "surrogateescape")


class _Following:
    def __init__(self, connection: sqlite3.Connection, keys: Mapping[str, PublicKey]) -> None:
        self._connection = connection
        self._keys = keys
        self._ledger = SqliteLedger(lambda sql, *values: connection.execute(sql, values).fetchall())
        self.problem: Tampering | None = None
        self._payloads = self._erased = 0
        self._states = States()
        self._passkeys = PasskeyAudit()
        self._is_past_retention = False
        #: What is left of erased entries, with their numbers; and what the notes of erasures say is left.
        self._left: dict[str, tuple[int, str]] = {}
        self._noted: dict[str, str] = {}
        self._expected: dict[int, Iterator[tuple[int, bytes]]] = {}

    def follow(self, known: Sequence[Checkpoint], waiting: Sequence[Waiting] = ()) -> Followed | Tampering:
        answer = audit(self._items(), known=known, nodes=self)
        if self.problem is not None:
            return self.problem
        if isinstance(answer, Tampering):
            return answer
        for seq, later in enumerate(waiting, start=answer.head.seq + 1):
            self._states.note(later.subject, seq, later.at_ms, later.commitment)
        problem = (
            self._find_unsigned(answer)
            or self._orphan(answer)
            or self._find_unexplained()
            or self._find_altered()
        )
        return problem or self._whole(answer)

    def _whole(self, audited: Audited) -> Followed:
        states = self._states
        return Followed(
            self._ledger.name(),
            audited,
            self._payloads,
            self._erased,
            states.count if states.has_begun else None,
            states.adopted,
            states.adopted_ms,
            self._passkeys.checked,
        )

    def _find_altered(self) -> Tampering | None:
        """Rows that decide, against the last entry about each."""
        if not self._states.has_begun:
            return None
        found = differences(self._connection.execute, KEYS, self._states)
        if not found:
            return None
        first, more = found[0], f" (and {len(found) - 1} more rows)" if len(found) > 1 else ""
        return Tampering(first.kind, first.seq, first.seq, first.says + more)

    def _items(self) -> Iterator[LedgerEntry | Checkpoint]:
        """Entries in order, each checkpoint right after the last entry it covers."""
        checkpoints = self._checkpoints()
        waiting = next(checkpoints, None)
        for entry in self._entries():
            if self.problem is not None:
                return
            while waiting is not None and isinstance(entry.seq, int) and waiting.size < entry.seq:
                yield waiting
                waiting = next(checkpoints, None)
            yield entry
        while waiting is not None and self.problem is None:
            yield waiting
            waiting = next(checkpoints, None)

    def _entries(self) -> Iterator[LedgerEntry]:
        rows = self._connection.execute(
            f"SELECT {_ENTRY}, {_ACTIVITY}, a.salt, e.jti, e.token, e.salt FROM ledger l"  # noqa: S608
            " LEFT JOIN activities a USING (seq) LEFT JOIN ects e ON e.seq = l.seq ORDER BY l.seq"
        )
        for row in rows:
            entry = LedgerEntry(*row[:6])
            self._compare(entry, row[6:20], row[20], row[21], row[22], row[23])
            yield entry

    def _compare(
        self, entry: LedgerEntry, columns: tuple[Any, ...], salt: Any, jti: Any, token: Any, token_salt: Any
    ) -> None:
        subjects = {name for name in (columns[0], jti) if name is not None}
        if not subjects and isinstance(entry.subject, str) and is_state(entry.subject):
            self._states.note(entry.subject, entry.seq, entry.at_ms, entry.commitment)
            return
        content = token if columns[0] is None else content_in(columns)
        used = token_salt if columns[0] is None else salt
        if not subjects:
            self._erased += 1
            self._check_retention(entry)
        elif subjects != {entry.subject}:
            self._changed(entry)
        # What is left of an erased entry has no salt any more; the note of its erasure vouches for it.
        elif content is None or used is None:
            self._erased += 1
            left = "" if content is None else hashlib.sha256(content).hexdigest()
            self._left[entry.subject] = (entry.seq, left)
        elif not commits_to(entry, content, used):
            self._changed(entry)
        else:
            self._payloads += 1
            if columns[4] == REDACT and columns[5] == NOTED:
                self._noted |= erasures_in(columns[11])
            self._check_passkey(entry, columns[4], columns[11])

        self._is_past_retention |= columns[0] is not None

    def _check_passkey(self, entry: LedgerEntry, what: Any, payload: Any) -> None:
        if not isinstance(what, str) or not isinstance(payload, bytes):
            return
        says = self._passkeys.find_problem(what, payload, is_whole=not self._erased)
        if says is not None:
            says = f"entry {entry.seq} ({entry.subject}): {says}"
            self.problem = self.problem or Tampering(AuditKind.EDITED, entry.seq, entry.seq, says)

    def _check_retention(self, entry: LedgerEntry) -> None:
        """Retention takes whole activities from the oldest on, and no tokens: what else is gone was taken by
        somebody else."""
        if self._is_past_retention or not is_activity_id(entry.subject):
            self._left[entry.subject] = (entry.seq, "")

    def _changed(self, entry: LedgerEntry) -> None:
        self.problem = self.problem or Tampering(
            AuditKind.EDITED,
            entry.seq,
            entry.seq,
            f"what entry {entry.seq} ({entry.subject}) stands for was changed",
        )

    def _checkpoints(self) -> Iterator[Checkpoint]:
        for size, token in self._connection.execute("SELECT size, token FROM checkpoints ORDER BY size"):
            checkpoint = self._checkpoint(size, token)
            if checkpoint is None:
                return
            yield checkpoint

    def _checkpoint(self, size: Any, token: Any) -> Checkpoint | None:
        try:
            checkpoint = read_checkpoint(token, self._keys)
        except (InvalidToken, AttributeError, TypeError):
            checkpoint = None
        if checkpoint is not None and checkpoint.size == size and checkpoint.ledger == self._ledger.name():
            return checkpoint
        self.problem = self.problem or Tampering(
            AuditKind.REWRITTEN,
            size,
            size,
            f"the checkpoint of entry {size} is not signed by this deployment",
        )
        return None

    def _find_unsigned(self, audited: Audited) -> Tampering | None:
        """Every group is signed as it is written: what lies after the last signature, somebody else wrote."""
        if audited.signed == audited.head.seq:
            return None
        first = audited.signed + 1
        return Tampering(
            AuditKind.INSERTED,
            first,
            audited.head.seq,
            f"entry {first} is under no signature: the gateway signs every one",
        )

    def _find_unexplained(self) -> Tampering | None:
        """A text without its salt that no note accounts for was not erased by the gateway."""
        for subject, (seq, left) in self._left.items():
            if self._noted.get(subject) != left:
                return Tampering(
                    AuditKind.EDITED,
                    seq,
                    seq,
                    f"what entry {seq} ({subject}) stands for is gone, and no erasure says so",
                )
        return None

    def _orphan(self, audited: Audited) -> Tampering | None:
        """An activity or token without an entry was put there by somebody else."""
        for table, column in (("activities", "activity_id"), ("ects", "jti")):
            row = self._connection.execute(
                f"SELECT t.seq, t.{column} FROM {table} t LEFT JOIN ledger l USING (seq)"  # noqa: S608
                " WHERE l.seq IS NULL LIMIT 1"
            ).fetchone()
            if row is not None:
                return Tampering(AuditKind.INSERTED, row[0], row[0], f"{row[1]} has no entry in the ledger")
        return None

    def put(self, level: int, index: int, digest: bytes) -> None:
        """The tree as it should be, node by node; what is stored has to be the same."""
        if not level or level % TILE_LEVELS or self.problem is not None:
            return
        stored = self._expected.get(level)
        if stored is None:
            stored = self._expected[level] = iter(
                self._connection.execute("SELECT idx, hash FROM tiles WHERE level = ? ORDER BY idx", (level,))
            )
        if next(stored, None) != (index, digest):
            last = (index + 1) << level
            self.problem = Tampering(
                AuditKind.EDITED,
                (index << level) + 1,
                last,
                f"the tree over the entries up to {last} was changed",
            )


def export_ledger(path: Path, *, payloads: bool = True) -> Iterator[bytes]:
    """The lines of an export, up to the last signature. Raises `sqlite3.Error`."""
    connection = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)
    try:
        connection.execute("BEGIN")
        yield from export.write(*_export(connection, payloads))
    finally:
        connection.close()


def _export(
    connection: sqlite3.Connection, payloads: bool
) -> tuple[str, Iterator[export.ExportLine | export.Signed]]:
    ledger = SqliteLedger(lambda sql, *values: connection.execute(sql, values).fetchall())
    return ledger.name(), _lines(connection, payloads)


def _lines(connection: sqlite3.Connection, payloads: bool) -> Iterator[export.ExportLine | export.Signed]:
    signed = {
        size: export.Signed(token, msgspec.json.decode(more, type=tuple[str, ...]) if more else ())
        for size, token, more in connection.execute("SELECT size, token, cosignatures FROM checkpoints")
    }
    rows = connection.execute(
        f"SELECT {_ENTRY}, {_ACTIVITY}, a.salt, e.token, e.salt FROM ledger l"  # noqa: S608
        " LEFT JOIN activities a USING (seq) LEFT JOIN ects e ON e.seq = l.seq"
        " WHERE l.seq <= ? ORDER BY l.seq",
        (max(signed, default=0),),
    )
    for row in rows:
        content, salt = (row[21], row[22]) if row[6] is None else (content_in(row[6:20]), row[20])
        if not payloads or content is None or salt is None:
            content = salt = None
        yield export.ExportLine(row[0], row[1], row[2], row[3], row[4], row[5], salt, content)
        if row[0] in signed:
            yield signed[row[0]]
