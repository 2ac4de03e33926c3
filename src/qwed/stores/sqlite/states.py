"""Rows that decide, in SQLite: written here and nowhere else, each with its entry; looked up by index.

Whatever writes to a table of `KEYS` goes through `SqliteStateRows`. It reads back the whole row as it stands
and commits to that, so a column that is added later is covered too.
"""

import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from qwed.gateway.kernel.ports import StateDiffers
from qwed.ledger.entries import SALT_BYTES
from qwed.ledger.states import (
    ADOPTED,
    KEYS,
    SALT,
    STATE,
    Row,
    StateDifference,
    States,
    commit_row,
    difference,
    find_differences,
    name_adopted_subject,
    needs_entry,
    subject_of,
    tombstone,
)
from qwed.stores.chain import Growth

Run = Callable[..., sqlite3.Cursor]

#: In the words of the two indexes, so that they are used.
_IN_STATES: Final = "subject >= 'state:' AND subject < 'state;'"
_IN_ADOPTED: Final = "subject >= 'adopt_state:' AND subject < 'adopt_state;'"
#: How many rows were taken over, and when.
ADOPTIONS: Final = f"SELECT count(*), max(at_ms) FROM ledger WHERE {_IN_ADOPTED}"  # noqa: S608
_LAST: Final = "SELECT seq, commitment FROM ledger WHERE {which} AND subject = ? ORDER BY seq DESC LIMIT 1"
#: Old rows that one round of housekeeping drops.
MAX_DROPPED: Final = 1_000


class SqliteStateRows:
    """Writes of one transaction; `growth` becomes part of the ledger with it."""

    def __init__(self, run: Run, growth: Growth, at_ms: int) -> None:
        self._run = run
        self._growth = growth
        self._at_ms = at_ms

    def put(self, table: str, columns: Mapping[str, object]) -> None:
        """The row, in the place of the one that has its key. Raises `StateDiffers` where that is not as the
        ledger says: what somebody else wrote would become the gateway's own."""
        self._require_sound(table, columns)
        self._write(table, "INSERT OR REPLACE", columns)

    def add(self, table: str, columns: Mapping[str, object]) -> None:
        """As `put`, but a row that is there is an error."""
        self._write(table, "INSERT", columns)

    def keep(self, table: str, columns: Mapping[str, object]) -> None:
        """As `put`, but a row that is there stays as it is."""
        self._write(table, "INSERT OR IGNORE", columns)

    def put_uncommitted(self, table: str, columns: Mapping[str, object]) -> None:
        """A row that decides nothing, and has no entry."""
        self._run(*_insertion("INSERT OR REPLACE", table, columns))

    def change(self, table: str, key: object, columns: Mapping[str, object]) -> None:
        """Some columns of the row with this key, if there is one."""
        (name,) = KEYS[table]
        row = self._require_sound(table, {name: key})
        if row is None:
            return
        # What had no entry needs none now.
        salt = None if row[SALT] is None else os.urandom(SALT_BYTES)
        given = {**columns, SALT: salt}
        places = ", ".join(f"{column} = ?" for column in given)
        changed = _only(
            self._run(
                f"UPDATE {table} SET {places} WHERE {name} = ? RETURNING *",  # noqa: S608
                (*given.values(), key),
            )
        )
        if changed is not None and salt is not None:
            self._commit(table, changed)

    def _require_sound(self, table: str, columns: Mapping[str, object]) -> dict[str, Any] | None:
        (name,) = KEYS[table]
        row = row_where(self._run, table, name, columns[name])
        if row is not None:
            subject = subject_of(table, row)
            written = (e for e in reversed(self._growth.entries) if e.subject == subject)
            last = next(((e.seq, e.commitment) for e in written), None) or last_of(self._run, subject)
            if (wrong := difference(table, row, last, earlier_of(self._run))) is not None:
                raise StateDiffers(wrong)
        return row

    def drop(self, table: str, where: str, *values: object) -> int:
        """How many rows went. `where` is a text of ours."""
        gone = _dicts(self._run(f"DELETE FROM {table} WHERE {where} RETURNING *", values))  # noqa: S608
        for row in gone:
            if row[SALT] is not None:
                subject = subject_of(table, row)
                self._growth.extend(subject, self._at_ms, tombstone(subject))
        return len(gone)

    def adopt(self) -> int:
        """Take over the rows that are there: nothing can be proven of them before this moment."""
        return sum(self._adopt(table) for table in KEYS)

    def _adopt(self, table: str) -> int:
        rows = [row for row in all_rows(self._run, table) if needs_entry(table, row)]
        where = " AND ".join(f"{name} = ?" for name in KEYS[table])
        for row in rows:
            salt = os.urandom(SALT_BYTES)
            key = [row[name] for name in KEYS[table]]
            self._run(f"UPDATE {table} SET salt = ? WHERE {where}", (salt, *key))  # noqa: S608
            self._commit(table, {**row, SALT: salt}, name_adopted_subject(subject_of(table, row)))
        return len(rows)

    def _write(self, table: str, how: str, columns: Mapping[str, object]) -> None:
        statement, values = _insertion(how, table, {**columns, SALT: os.urandom(SALT_BYTES)})
        written = _only(self._run(f"{statement} RETURNING *", values))
        if written is not None:
            self._commit(table, written)

    def _commit(self, table: str, row: Row, subject: str | None = None) -> None:
        commitment = commit_row(table, row, row[SALT])
        assert commitment is not None, "the gateway writes what it can commit to"
        self._growth.extend(subject or subject_of(table, row), self._at_ms, commitment)


def _insertion(how: str, table: str, columns: Mapping[str, object]) -> tuple[str, tuple[object, ...]]:
    places = ", ".join("?" * len(columns))
    return f"{how} INTO {table} ({', '.join(columns)}) VALUES ({places})", tuple(columns.values())


def _dicts(cursor: sqlite3.Cursor) -> list[dict[str, Any]]:
    names = [column[0] for column in cursor.description]
    return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


def _only(cursor: sqlite3.Cursor) -> dict[str, Any] | None:
    rows = _dicts(cursor)
    return rows[0] if rows else None


def all_rows(run: Run, table: str) -> Iterator[dict[str, Any]]:
    cursor = run(f"SELECT * FROM {table}")  # noqa: S608
    names = [column[0] for column in cursor.description]
    for row in cursor:
        yield dict(zip(names, row, strict=True))


def row_where(run: Run, table: str, column: str, value: object) -> dict[str, Any] | None:
    return _only(run(f"SELECT * FROM {table} WHERE {column} = ?", (value,)))  # noqa: S608


# --- looking -----------------------------------------------------------------------------------------


def has_states(run: Run) -> bool:
    """Whether any row was ever committed: then none is taken over any more."""
    return any(
        run(f"SELECT 1 FROM ledger WHERE {which} LIMIT 1").fetchone()  # noqa: S608
        for which in (_IN_STATES, _IN_ADOPTED)
    )


def states_of(run: Run, tables: Iterable[str]) -> States:
    """The last entries about these tables, by index. Adopted ones come first: all others are newer."""
    states = States()
    for prefix, which in ((ADOPTED, _IN_ADOPTED), (STATE, _IN_STATES)):
        for table in tables:
            rows = run(
                f"SELECT subject, max(seq), 0, commitment FROM ledger"  # noqa: S608
                f" WHERE {which} AND subject >= ? AND subject < ? GROUP BY subject",
                (f"{prefix}{table}:", f"{prefix}{table};"),
            )
            for row in rows:
                states.note(*row)
    return states


def last_entry(rows: Callable[..., list[tuple[Any, ...]]], subject: str) -> int | None:
    which = _IN_STATES if subject.startswith(STATE) else _IN_ADOPTED
    found = rows(_LAST.format(which=which), subject)
    return int(found[0][0]) if found else None


def earlier_of(run: Run) -> Callable[[str], list[tuple[int, bytes]]]:
    """All entries about a subject, read from the ledger itself: asked only where something is wrong."""

    def earlier(subject: str) -> list[tuple[int, bytes]]:
        rows: list[tuple[int, bytes]] = run(
            "SELECT seq, commitment FROM ledger WHERE +subject IN (?, ?) ORDER BY seq",
            (name_adopted_subject(subject), subject),
        ).fetchall()
        return rows

    return earlier


def differences(run: Run, tables: Iterable[str], states: States | None = None) -> list[StateDifference]:
    """What of these tables is not as the ledger says; called within one snapshot."""
    known = states_of(run, tables) if states is None else states
    return list(find_differences(tables, lambda table: all_rows(run, table), known, earlier_of(run)))


def difference_of(run: Run, table: str, row: Row) -> StateDifference | None:
    """What is wrong with one row; called within one snapshot."""
    return difference(table, row, last_of(run, subject_of(table, row)), earlier_of(run))


def last_of(run: Run, subject: str) -> tuple[int, bytes] | None:
    """The newest entry about a row."""
    found: tuple[int, bytes] | None = None
    for which, name in ((_IN_STATES, subject), (_IN_ADOPTED, name_adopted_subject(subject))):
        found = found or run(_LAST.format(which=which), (name,)).fetchone()
    return found
