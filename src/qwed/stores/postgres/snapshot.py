"""The ledger of a database as a SQLite file: whatever follows, exports or proves one can do it there.

Read in one snapshot, in pages, beside running gateways if there are any. What has no place in the ledger yet
is left out, but for the entries about rows that decide: who compares the rows has to know them.
"""

import asyncio
import sqlite3
from importlib import resources
from pathlib import Path
from typing import Any, Final

from qwed.ledger.record_keys import RecordKeys
from qwed.ledger.states import KEYS, Waiting
from qwed.stores.errors import DatabaseUnusable
from qwed.stores.postgres.connections import FAILED, connect_for_long
from qwed.stores.postgres.seals import Seals
from qwed.stores.postgres.statements import SQL
from qwed.stores.postgres.states import is_waiting_sealed, select_rows
from qwed.stores.postgres.texts import show_text, show_text_or_none

PAGE: Final = 2_000
_LATE: Final = (
    "activity_id, agent_id, principal_id, at_ms, decision, error_code, conversation_id, cost_nano, tokens,"
    " fingerprint, par, payload"
)
_CONVERSATION: Final = 6
_SCHEMA: Final = ("qwed.stores.migrations.sqlite", "001_start.sql")

Connection = Any


def snapshot(url: str, path: Path, keys: RecordKeys | None = None) -> tuple[Waiting, ...]:
    """Write the ledger of the database at `url`, and the rows that decide, into a new file. Says which
    entries about those rows still wait for their place: with `keys`, those that a gateway sealed. Raises
    `DatabaseUnusable`."""
    try:
        return asyncio.run(_snapshot(url, path, keys))
    except FAILED as error:
        raise DatabaseUnusable(f"the database can't be read: {error or type(error).__name__}") from error


async def _snapshot(url: str, path: Path, keys: RecordKeys | None) -> tuple[Waiting, ...]:
    connection = await connect_for_long(url)
    try:
        async with connection.transaction(isolation="repeatable_read", readonly=True):
            return await copy_of(connection, path, keys)
    finally:
        await connection.close()


async def copy_of(connection: Connection, path: Path, keys: RecordKeys | None = None) -> tuple[Waiting, ...]:
    """As `snapshot`, within the caller's transaction."""
    file = sqlite3.connect(path, isolation_level=None)
    try:
        file.executescript(resources.files(_SCHEMA[0]).joinpath(_SCHEMA[1]).read_text(encoding="utf-8"))
        file.execute("BEGIN")
        await _copy(connection, file)
        for table in KEYS:
            await _copy_rows(connection, file, table)
        await _copy_counters(connection, file)
        await _copy_orphans(connection, file)
        file.execute("COMMIT")
    finally:
        file.close()
    waiting = await connection.fetch(SQL["all_waiting_states"])
    if keys is not None:
        seals = Seals(keys, await connection.fetchval(SQL["ledger_name"]))
        waiting = [row for row in waiting if is_waiting_sealed(seals, row)]
    return tuple(Waiting(row["subject"], row["at_ms"], row["commitment"]) for row in waiting)


async def _copy(connection: Connection, file: sqlite3.Connection) -> None:
    # Checkpoints first: what is signed at this moment is the end of the copy.
    checkpoints = await connection.fetch(SQL["all_checkpoints"])
    file.executemany("INSERT INTO checkpoints VALUES (?, ?, ?, ?)", map(tuple, checkpoints))
    file.execute("INSERT INTO ledger_name VALUES (?)", (await connection.fetchval(SQL["ledger_name"]),))
    size = checkpoints[-1]["size"] if checkpoints else 0
    after = 0
    while rows := await connection.fetch(SQL["ledger_page"], after, size, PAGE):
        _write_page(file, rows)
        after = rows[-1]["seq"]
    async for row in connection.cursor(SQL["all_tiles"], prefetch=PAGE):
        if (row["idx"] + 1) << row["level"] <= size:
            file.execute("INSERT INTO tiles VALUES (?, ?, ?)", tuple(row))
    file.execute("CREATE TABLE shared_facts (digest TEXT PRIMARY KEY, body BLOB NOT NULL) WITHOUT ROWID")
    async for row in connection.cursor(SQL["all_shared"], prefetch=PAGE):
        file.execute("INSERT INTO shared_facts VALUES (?, ?)", tuple(row))


async def _copy_rows(connection: Connection, file: sqlite3.Connection, table: str) -> None:
    """Column by column as they are there: the entries commit to these."""
    statement = await connection.prepare(select_rows(table))
    names = ", ".join(attribute.name for attribute in statement.get_attributes())
    file.execute(f"DROP TABLE IF EXISTS {table}")
    file.execute(f"CREATE TABLE {table} ({names})")
    places = ", ".join("?" * len(statement.get_attributes()))
    async for row in statement.cursor(prefetch=PAGE):
        file.execute(f"INSERT INTO {table} VALUES ({places})", tuple(row))  # noqa: S608


async def _copy_counters(connection: Connection, file: sqlite3.Connection) -> None:
    """What follows from activities, and the activities that have no place in the ledger yet."""
    file.execute("CREATE TABLE hours (principal_id, hour, decision, error_code, entries, cost_nano)")
    file.execute(f"CREATE TABLE late_activities ({_LATE})")
    for table, conversation in (
        ("days", None),
        ("hours", None),
        ("seconds", None),
        ("steps", 1),
        ("late_activities", _CONVERSATION),
    ):
        name = table if table == "late_activities" else f"all_{table}"
        async for row in connection.cursor(SQL[name], prefetch=PAGE):
            values = tuple(
                show_text_or_none(value) if place == conversation else value
                for place, value in enumerate(row)
            )
            places = ", ".join("?" * len(values))
            file.execute(f"INSERT INTO {table} VALUES ({places})", values)  # noqa: S608


async def _copy_orphans(connection: Connection, file: sqlite3.Connection) -> None:
    """Activities and tokens that no entry has, and none that waits: under numbers of no entry."""
    number = 0
    async for row in connection.cursor(SQL["orphans"], prefetch=PAGE):
        number -= 1
        columns = (number, row[0], "", "", 0, "", "", None, None, 0, 0, b"", None, None, None, None)
        file.execute(f"INSERT INTO activities VALUES ({', '.join('?' * 16)})", columns)  # noqa: S608


def _write_page(file: sqlite3.Connection, rows: list[Any]) -> None:
    for row in rows:
        file.execute("INSERT INTO ledger VALUES (?, ?, ?, ?, ?, ?)", tuple(row)[:6])
        seq = row["seq"]
        if row["jti"] is not None:
            token = (row["jti"], seq, row["e_salt"], row["token"], row["e_principal_id"])
            file.execute("INSERT INTO ects VALUES (?, ?, ?, ?, ?)", token)
        if row["activity_id"] is not None:
            columns = list(row)[6:21]
            columns[4], columns[7] = show_text(columns[4]), show_text_or_none(columns[7])
            marks = ", ".join("?" * 16)
            file.execute(f"INSERT INTO activities VALUES ({marks})", (seq, *columns))  # noqa: S608
