"""Rows that decide, committed to the ledger: what an entry about a row says, and what is wrong with a row.

Each write of such a row adds an entry with the subject `state:<table>:<key>` and a salted commitment to all
columns of the row; the salt stands in the row. What a row says now is compared with the last entry of its
subject, so a row that was edited, put back, inserted or deleted by somebody else is told apart.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Final

import msgspec

from qwed.ledger.audit import AuditKind
from qwed.ledger.entries import SALT_BYTES, commit_to

#: An entry that a write of the gateway made, and one for a row that was there before rows were committed.
STATE: Final = "state:"
ADOPTED: Final = "adopt_state:"
SALT: Final = "salt"
#: A seal over the commitment: no part of what is committed to.
MAC: Final = "mac"
#: A longer key is named by its hash: subjects are indexed.
MAX_KEY: Final = 200

#: The columns that name a row of each committed table.
KEYS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "agents": ("agent_id",),
        "keys": ("key_id",),
        "approvals": ("approval_id",),
        "conduct": ("agent_id",),
        "trust_changes": ("number",),
        "outcomes": ("activity_id",),
        "webhooks": ("webhook_id",),
        "workflows": ("workflow_id",),
        "workflow_nodes": ("workflow_id", "node_id"),
        "policy_changes": ("number",),
    }
)
#: Those that say who may act at all: looked at before anybody does.
CREDENTIALS: Final = ("agents", "keys", "conduct")
_encoder: Final = msgspec.msgpack.Encoder()

Row = Mapping[str, object]


class StateDifference(msgspec.Struct, frozen=True):
    """A row that is not what the ledger says. `seq` is the entry it was compared with, 0 if there is none."""

    kind: AuditKind
    table: str
    key: str
    seq: int
    says: str


class Waiting(msgspec.Struct, frozen=True):
    """An entry about a row that has no place in the ledger yet."""

    subject: str
    at_ms: int
    commitment: bytes


def is_state(subject: str) -> bool:
    """Whether an entry is about a row, and not about an activity or a token."""
    return subject.startswith((STATE, ADOPTED))


def key_of(table: str, row: Row) -> str:
    columns = KEYS[table]
    text = str(row[columns[0]]) if len(columns) == 1 else ":".join(str(row[column]) for column in columns)
    if len(text) <= MAX_KEY:
        return text
    return f"sha256-{hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()}"


def subject_of(table: str, row: Row) -> str:
    return f"{STATE}{table}:{key_of(table, row)}"


def name_adopted_subject(subject: str) -> str:
    return f"{ADOPTED}{subject.removeprefix(STATE)}"


def commit_row(table: str, row: Row, salt: object) -> bytes | None:
    """The commitment to all columns but salt and seal; None for what the gateway would not have written.

    A column without a value is left out: so a table may grow a column, and rows from before still verify.
    """
    if not isinstance(salt, bytes) or len(salt) != SALT_BYTES:
        return None
    # One database has truth values, the other writes them as numbers.
    facts = {
        name: int(value) if value is True or value is False else value
        for name in sorted(row)
        if (value := row[name]) is not None and name not in (SALT, MAC)
    }
    try:
        return commit_to(_encoder.encode([table, facts]), salt)
    except (TypeError, OverflowError, UnicodeEncodeError):
        return None


def tombstone(subject: str) -> bytes:
    """What an entry commits to when its row was dropped by the gateway. There is nothing to hide."""
    return hashlib.sha256(b"qwed-state-dropped\n" + subject.encode()).digest()


def needs_entry(table: str, row: Row) -> bool:
    """An outcome decides only as long as nobody knows it; once settled by a person, its entry is there."""
    return table != "outcomes" or row["result"] == "unknown"


class States:
    """The last entry of each subject, as they are met in the order of the ledger."""

    def __init__(self) -> None:
        self._last: dict[str, tuple[int, bytes]] = {}
        self.adopted = 0
        self.adopted_ms: int | None = None

    def note(self, subject: str, seq: int, at_ms: int, commitment: bytes) -> None:
        if subject.startswith(ADOPTED):
            self.adopted += 1
            self.adopted_ms = max(at_ms, self.adopted_ms or 0)
            subject = STATE + subject.removeprefix(ADOPTED)
        self._last[subject] = (seq, commitment)

    @property
    def has_begun(self) -> bool:
        """Whether any row was committed yet: a store from before has none."""
        return bool(self._last)

    @property
    def count(self) -> int:
        """How many rows should be there."""
        return sum(last[1] != tombstone(subject) for subject, last in self._last.items())

    def last(self, subject: str) -> tuple[int, bytes] | None:
        return self._last.get(subject)

    def subjects(self, table: str) -> Iterator[tuple[str, tuple[int, bytes]]]:
        """Of one table, those that were dropped too."""
        start = f"{STATE}{table}:"
        return (item for item in self._last.items() if item[0].startswith(start))


def find_differences(
    tables: Iterable[str],
    rows_of: Callable[[str], Iterable[Row]],
    states: States,
    earlier: Callable[[str], Iterable[tuple[int, bytes]]],
) -> Iterator[StateDifference]:
    """Every row of the tables against the last entry about it; `earlier` gives all entries about one subject
    (it is asked only where something is wrong)."""
    for table in tables:
        seen = set()
        for row in rows_of(table):
            subject = subject_of(table, row)
            seen.add(subject)
            last = states.last(subject)
            if last is not None and commit_row(table, row, row.get(SALT)) == last[1]:
                continue
            found = difference(table, row, last, earlier)
            if found is not None:
                yield found
        for subject, (seq, commitment) in states.subjects(table):
            if subject not in seen and commitment != tombstone(subject):
                key = subject.removeprefix(f"{STATE}{table}:")
                says = f"{table} {key} was deleted: entry {seq} has it, and no entry says that it was dropped"
                yield StateDifference(AuditKind.REMOVED, table, key, seq, says)


def difference(
    table: str,
    row: Row,
    last: tuple[int, bytes] | None,
    earlier: Callable[[str], Iterable[tuple[int, bytes]]],
) -> StateDifference | None:
    """What is wrong with a row that is there."""
    key, subject, salt = key_of(table, row), subject_of(table, row), row.get(SALT)
    if last is None:
        if salt is None and not needs_entry(table, row):
            return None
        return StateDifference(
            AuditKind.INSERTED, table, key, 0, f"{table} {key} was inserted: no entry has it"
        )
    seq, commitment = last
    found = commit_row(table, row, salt)
    if found is not None and found == commitment:
        return None
    for older, known in earlier(subject):
        if found is not None and found == known:
            says = f"{table} {key} was put back to an older state: that of entry {older}, not of entry {seq}"
            return StateDifference(AuditKind.ROLLED_BACK, table, key, seq, says)
    if commitment == tombstone(subject):
        says = f"{table} {key} was inserted: entry {seq} says that it was dropped"
        return StateDifference(AuditKind.INSERTED, table, key, seq, says)
    return StateDifference(
        AuditKind.EDITED, table, key, seq, f"{table} {key} was edited: it is not what entry {seq} has"
    )
