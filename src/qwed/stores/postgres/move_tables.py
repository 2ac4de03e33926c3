"""From a SQLite file to a database server: every table, a stretch at a time.

Each stretch is one transaction, which also says how far the move has come: whoever runs it again goes on from
there. Until all is there, no gateway starts on the database.
"""

import asyncio
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import groupby
from pathlib import Path
from typing import Any, Final, Protocol

import msgspec

from qwed.domain.times import DAY_MS
from qwed.ect.keys import KeyRing
from qwed.ledger.chain import BrokenChain
from qwed.ledger.entries import SALT_BYTES
from qwed.ledger.record_keys import RecordKeys, follow_ring
from qwed.ledger.states import MAC, SALT, needs_entry, subject_of
from qwed.stores.errors import DatabaseUnusable
from qwed.stores.postgres.connections import FAILED, connect_for_long
from qwed.stores.postgres.moved_tables import (
    CHANGED,
    COMMITTED,
    OTHER,
    PLAIN,
    STANDINGS,
    Columns,
    MovedTable,
    Row,
)
from qwed.stores.postgres.pending_checks import Vetted
from qwed.stores.postgres.schema import migrate
from qwed.stores.postgres.seals import Seals
from qwed.stores.postgres.sequencer import append, read_end
from qwed.stores.postgres.statements import SQL
from qwed.stores.postgres.states import SEALED, committed
from qwed.stores.randomness import POOL
from qwed.stores.sqlite import schema_files

STRETCH: Final = 5_000
_PART_DAYS: Final = 28
_EMPTY: Final = ("agents", "keys", "ledger", "pending")
#: What has to be there before entries about rows follow the ledger.
_LEDGER: Final = ("ledger", "tiles", "checkpoints")


class Progress(Protocol):
    def __call__(self, table: str, rows: int, total: int) -> None: ...


def tell_nobody(table: str, rows: int, total: int) -> None:
    pass


class Move(msgspec.Struct, frozen=True):
    """What is moved, where to, and who is told how far it has come."""

    file: Path
    url: str
    ring: KeyRing
    now_ms: int
    keys: RecordKeys | None = None
    progress: Progress = tell_nobody
    stretch: int = STRETCH


def move(asked: Move) -> dict[str, int]:
    """Copy everything; how many rows of each table. Rows that decide are committed anew, and the ring signs
    that. Raises `DatabaseUnusable`, also for a ledger whose end is not as it was signed."""
    try:
        return asyncio.run(_move(asked))
    except BrokenChain as error:
        raise DatabaseUnusable(f"the ledger can't be continued: {error}") from None
    except (*FAILED, sqlite3.Error) as error:
        raise DatabaseUnusable(
            f"the store can't be moved further: {error or type(error).__name__}; run it again to go on"
        ) from error


def require_target(url: str) -> None:
    """Before anything is read: whether a store can be moved there. Raises `DatabaseUnusable`."""
    try:
        asyncio.run(_require_target(url))
    except FAILED as error:
        raise DatabaseUnusable(f"the database can't be used: {error or type(error).__name__}") from error


async def _require_target(url: str) -> None:
    connection = await connect_for_long(url)
    try:
        if await connection.fetchval("SELECT to_regclass('moving')") is None:
            if not await connection.fetchval("SELECT has_schema_privilege(current_schema(), 'CREATE')"):
                raise DatabaseUnusable("its user may not create tables there")
        elif not await connection.fetchval("SELECT EXISTS (SELECT 1 FROM moving)"):
            await _require_empty(connection)
    finally:
        connection.terminate()


async def _require_empty(connection: Any) -> None:
    for table in _EMPTY:
        if await connection.fetchval(f"SELECT EXISTS (SELECT 1 FROM {table})"):  # noqa: S608
            raise DatabaseUnusable("the database has a record already; move into an empty one")


async def _move(asked: Move) -> dict[str, int]:
    source = sqlite3.connect(f"{asked.file.resolve().as_uri()}?mode=ro", uri=True)
    try:
        source.execute("BEGIN")
        _require_known_tables(source)
        await migrate(asked.url)
        connection = await connect_for_long(asked.url)
        try:
            return await _Mover(asked, source, connection).run()
        finally:
            connection.terminate()
    finally:
        source.close()


def _require_known_tables(source: sqlite3.Connection) -> None:
    """Nothing is left behind unnoticed."""
    have = source.execute("PRAGMA user_version").fetchone()[0]
    if have != schema_files():
        raise DatabaseUnusable(
            f"the file has schema version {have}, this QWED's is {schema_files()}: start a gateway on it once"
        )
    known = {*PLAIN, *OTHER, *COMMITTED, *(table.name for table in CHANGED)}
    rows = source.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
    unknown = sorted({name for (name,) in rows} - known)
    if unknown:
        raise DatabaseUnusable(f"the file has tables that this command does not know: {', '.join(unknown)}")


class _Mover:
    def __init__(self, asked: Move, source: sqlite3.Connection, connection: Any) -> None:
        self._asked = asked
        self._source = source
        self._connection = connection
        name = source.execute("SELECT name FROM ledger_name").fetchone()
        if name is None:
            raise DatabaseUnusable("the file has no ledger: start a gateway on it once")
        self._ledger: str = name[0]
        self._seals = Seals(asked.keys or follow_ring(asked.ring), self._ledger)
        #: Rows of each table that are there.
        self._done: dict[str, int] = {}

    async def run(self) -> dict[str, int]:
        await self._begin()
        for table in (*_plain(_LEDGER), *CHANGED, *_plain(PLAIN[len(_LEDGER) :])):
            await self._copy(table)
        for name, change in COMMITTED.items():
            await self._commit_rows(name, change)
        await self._commit_standings()
        await self._put("seconds", _seconds(self._source), self._store_rows("seconds"))
        await self._finish()
        return dict(self._done)

    # --- the beginning and the end -------------------------------------------------------------

    async def _begin(self) -> None:
        """Into an empty store, or on from where the last run stopped, if the file is still the same."""
        mark = _mark(self._source)
        async with self._connection.transaction():
            await self._connection.execute("LOCK TABLE moving IN EXCLUSIVE MODE")
            earlier = {row["name"]: row for row in await self._connection.fetch("SELECT * FROM moving")}
            if not earlier:
                await _require_empty(self._connection)
                await self._connection.execute("INSERT INTO moving VALUES ('', 0, $1)", mark)
                await self._connection.execute("DELETE FROM ledger_name")
                await self._connection.execute(SQL["name_ledger"], self._ledger)
            elif earlier[""]["mark"] != mark:
                raise DatabaseUnusable(
                    "the database has a part of another file, or the file was used since:"
                    " move into an empty one"
                )
        self._done = {name: row["done"] for name, row in earlier.items() if name}
        await self._make_parts()

    async def _make_parts(self) -> None:
        first, last = self._source.execute("SELECT min(at_ms), max(at_ms) FROM activities").fetchone()
        if first is None:
            return
        width = _PART_DAYS * DAY_MS
        for start in range(first - first % width, last + 1, width):
            await self._connection.execute(
                f"CREATE TABLE IF NOT EXISTS activities_{start // DAY_MS} PARTITION OF activities"
                f" FOR VALUES FROM ({start}) TO ({start + width})"
            )

    async def _finish(self) -> None:
        run = self._connection.execute
        async with self._connection.transaction():
            await run("SELECT setval('rule_entries_number_seq', (SELECT max(number) FROM rule_entries))")
            await run("SELECT setval('activity_ids', (SELECT max(id) FROM activities))")
            await run("SELECT setval('trust_numbers', (SELECT max(number) FROM trust_changes))")
            await run(SQL["put_sealed_since"], 0, self._seals.since(0))
            await run("DELETE FROM moving")

    # --- tables --------------------------------------------------------------------------------

    async def _copy(self, table: MovedTable) -> None:
        rows = (table.change(row) for row in self._source.execute(table.select))
        columns = _columns(self._source, table.name) if table.name in PLAIN else None
        await self._put(table.name, rows, self._store_rows(table.name, columns))

    async def _commit_rows(self, table: str, change: Callable[[Columns], Columns]) -> None:
        cursor = self._source.execute(f"SELECT * FROM {table}")  # noqa: S608
        names = [column[0] for column in cursor.description]

        async def store(rows: list[Row]) -> None:
            given = [self._salted(table, change(dict(zip(names, row, strict=True)))) for row in rows]
            await self._store(table, given)
            await self._enter(table, [row for row in given if row[SALT] is not None])

        await self._put(table, cursor, store)

    def _salted(self, table: str, row: Columns) -> Columns:
        row = {name: value for name, value in row.items() if name != MAC}
        if not (row[SALT] or needs_entry(table, row)):
            return {**row, SALT: None}
        row = {**row, SALT: POOL.take(SALT_BYTES)}
        if table in SEALED:
            row[MAC] = self._seals.row(subject_of(table, row), committed(table, row))
        return row

    async def _commit_standings(self) -> None:
        """How often an agent acted is a counter; what it did wrong is committed."""

        async def store(rows: list[Row]) -> None:
            given: list[Columns] = [
                {
                    "agent_id": agent_id,
                    "actions": actions,
                    "conduct": conduct,
                    SALT: None if conduct is None else POOL.take(SALT_BYTES),
                }
                for agent_id, actions, conduct in rows
            ]
            await self._store("standings", given)
            guilty = [row for row in given if row["conduct"] is not None]
            committed_to = ("agent_id", "conduct", SALT)
            await self._enter("conduct", [{name: row[name] for name in committed_to} for row in guilty])

        await self._put("standings", self._source.execute(STANDINGS), store)

    async def _put(self, name: str, rows: Iterable[Row], store: Callable[[list[Row]], Any]) -> None:
        """A stretch at a time, after those that are there already."""
        rows, total = iter(rows), self._total(name)
        done = self._done.setdefault(name, 0)
        for _ in zip(range(done), rows):  # noqa: B905 - as many as there are
            pass
        while stretch := [row for _, row in zip(range(self._asked.stretch), rows)]:  # noqa: B905
            async with self._connection.transaction():
                await store(stretch)
                done += len(stretch)
                await self._connection.execute(
                    "INSERT INTO moving VALUES ($1, $2, '')"
                    " ON CONFLICT (name) DO UPDATE SET done = excluded.done",
                    name,
                    done,
                )
            self._done[name] = done
            self._asked.progress(name, done, total)

    def _total(self, name: str) -> int:
        if name == "standings":
            return 0
        count: int = self._source.execute(f"SELECT count(*) FROM {name}").fetchone()[0]  # noqa: S608
        return count

    def _store_rows(self, table: str, columns: list[str] | None = None) -> Callable[[list[Row]], Any]:
        async def store(rows: list[Row]) -> None:
            await self._connection.copy_records_to_table(table, records=rows, columns=columns)

        return store

    async def _store(self, table: str, rows: list[Columns]) -> None:
        columns = sorted({name for row in rows for name in row})
        records = [tuple(row.get(name) for name in columns) for row in rows]
        await self._connection.copy_records_to_table(table, records=records, columns=columns)

    async def _enter(self, table: str, rows: list[Mapping[str, Any]] | list[Columns]) -> None:
        """Their entries, at the end of the ledger."""
        if rows:
            entries = [
                {
                    "id": 0,
                    "at_ms": self._asked.now_ms,
                    "subject": subject_of(table, row),
                    "commitment": committed(table, row),
                }
                for row in rows
            ]
            end = await read_end(self._connection, self._asked.ring)
            await append(self._connection, self._asked.ring, end, Vetted(entries), self._asked.now_ms)


def _plain(names: Iterable[str]) -> tuple[MovedTable, ...]:
    return tuple(MovedTable(name, f"SELECT * FROM {name}") for name in names)  # noqa: S608


def _columns(source: sqlite3.Connection, table: str) -> list[str]:
    return [row[1] for row in source.execute(f"PRAGMA table_info({table})")]


def _mark(source: sqlite3.Connection) -> str:
    """The state of the file, as far as a gateway that used it would have changed it."""
    head = source.execute("SELECT hex(hash) FROM ledger ORDER BY seq DESC LIMIT 1").fetchone()
    counts = [
        source.execute(f"SELECT count(*) FROM {name}").fetchone()[0]  # noqa: S608
        for name in ("ledger", "activities", "steps", "deliveries", "remembered", "days")
    ]
    return f"{head[0] if head else ''} {counts}"


def _seconds(source: sqlite3.Connection) -> Iterator[Row]:
    """Counts of single seconds become sums up to each."""
    rows = source.execute("SELECT agent_id, second, requests FROM seconds ORDER BY agent_id, second")
    for agent_id, seconds in groupby(rows, key=lambda row: row[0]):
        total = 0
        for _, second, requests in seconds:
            yield agent_id, second, total, total + requests
            total += requests
