"""Every column of every table, each class of change: `verify` finds it, or the page says why not."""

import asyncio
import contextlib
import re
import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import asyncpg
import pytest
from tests.contract.test_stores import Shelf, database_of
from tests.support.records import RING, an_activity
from tests.support.states import AGENT, AT_MS, altered, records
from tests.support.tiers import scale
from tests.unit.gateway.test_counters_follow import COUNTERS
from tests.unit.gateway.test_counters_follow import busy as busy

from qwed.domain.agents import PrincipalId
from qwed.domain.policy import DEFAULT_POLICY
from qwed.ect import KeyRing, generate, issue, parse
from qwed.gateway.kernel.coroutines import run
from qwed.gateway.kernel.records import ReceivedEct, Record
from qwed.ledger.audit import Tampering
from qwed.ledger.record_keys import follow_ring
from qwed.ledger.states import KEYS
from qwed.stores.postgres.seals import open_sealer
from qwed.stores.postgres.snapshot import copy_of
from qwed.stores.postgres.states import compare
from qwed.stores.sqlite.counters import verify_counters
from qwed.stores.sqlite.ledger import verify_ledger

PAGE = Path(__file__).parents[2] / "docs" / "evidence.md"
PEN = KeyRing("did:example:agent", generate())
#: Recomputed from activities, in a store that has some.
COUNTED = frozenset(COUNTERS)
#: On PostgreSQL what waits is vetted by the leader (`test_record_key.py`); counters have a test of their own.
ELSEWHERE = frozenset({"pending", "schema_files", *COUNTED})

Attack = tuple[str, str, str, tuple[Any, ...]]


def unprotected() -> dict[str, set[str]]:
    """What the page lists: for each table its columns, or `*` for all of them."""
    section = PAGE.read_text(encoding="utf-8").split("### What is not compared", 1)[1].split("\n### ", 1)[0]
    rows = re.findall(r"^\| ([^|]+) \| ([^|]+) \| ([^|]+) \|$", section, re.M)
    listed: dict[str, set[str]] = {}
    for tables, columns, reason in rows:
        assert reason.strip()
        for table in re.findall(r"`(\w+)`", tables):
            listed.setdefault(table, set()).update(re.findall(r"`([\w*]+)`", columns) or {"*"})
    assert listed
    return listed


def fill(kind: str, folder: Path) -> None:
    """A store with a row of each kind that decides, activities and a token."""
    shelf = Shelf(kind, folder, DEFAULT_POLICY)
    for record in records():
        assert shelf.commit(record) is None
    token = issue(PEN, "act", "did:example:gateway", AT_MS // 1000)
    ect = ReceivedEct(parse(token).claims["jti"], token, AT_MS, PrincipalId("acme"))
    for number in range(20):
        ects = (ect,) if number == 0 else ()
        assert shelf.commit(Record(an_activity(AGENT, AT_MS + 120_000 * number), ects=ects)) is None
    run(shelf.store.ledger_state())
    shelf.store.close()


def attacks_on(table: str, rows: list[dict[str, Any]], keys: list[str], place: str) -> Iterator[Attack]:
    """Class, column, statement, values. `place` is how a parameter is written."""

    def where(start: int) -> str:
        return " AND ".join(f"{key} = {place.format(start + number)}" for number, key in enumerate(keys))

    # The newest first: what is past counts no more. The oldest is where retention would have begun.
    chosen = [*rows[::-1][: scale(ci=1, nightly=3, long=1_000)], *rows[: scale(ci=0, nightly=1)]]
    for row in chosen:
        named = tuple(row[key] for key in keys)
        for column, value in row.items():
            sql = f"UPDATE {table} SET {column} = {place.format(1)} WHERE {where(2)}"
            yield "altered", column, sql, (another(value), *named)
            if value is not None and column not in keys and scale(ci=0, nightly=1):
                yield "emptied", column, sql, (None, *named)
        yield "deleted", "*", f"DELETE FROM {table} WHERE {where(1)}", named


def another(value: Any) -> Any:
    """Less where it is a number: who resets a counter gains by it."""
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return (value - 1 if value else 1) if is_number else altered(value)


def judge(found: dict[tuple[str, str, str], bool]) -> None:
    """What went unnoticed is what the page lists, and what it lists did go unnoticed."""
    listed, missed = unprotected(), {place for place, is_found in found.items() if not is_found}
    not_listed = {
        (table, column, kind)
        for table, column, kind in missed
        if "*" not in listed.get(table, ()) and column not in listed.get(table, ())
    }
    assert not_listed == set()
    # A small run has one row of each table.
    tables = {table for table, _, _ in found} if scale(ci=0, nightly=1) else set()
    idle = {
        (table, column)
        for table, columns in listed.items()
        if table in tables
        for column in columns
        if not any(name == table and column in ("*", which) for name, which, _ in missed)
    }
    assert idle == set(), "listed as not compared, and found all the same"


# --- a file ------------------------------------------------------------------------------------------


def tables_of(connection: sqlite3.Connection) -> dict[str, list[str]]:
    """Each table with its key."""
    names = connection.execute(
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
    )
    keys = {}
    for (name,) in names.fetchall():
        columns = connection.execute(f"PRAGMA table_info({name})").fetchall()
        keys[name] = [row[1] for row in columns if row[5]] or [columns[0][1]]
    return keys


def rows_of(connection: sqlite3.Connection, table: str) -> list[dict[str, Any]]:
    cursor = connection.execute(f"SELECT * FROM {table}")
    names = [column[0] for column in cursor.description]
    return [dict(zip(names, row, strict=True)) for row in cursor]


def invent(connection: sqlite3.Connection, table: str) -> None:
    """A row for a table that has none: nothing looks at it, or this is found at once."""
    columns = connection.execute(f"PRAGMA table_info({table})").fetchall()
    values = [
        b"x" * 8 if "BLOB" in row[2].upper() else 1 if "INT" in row[2].upper() else "1" for row in columns
    ]
    connection.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(values))})", values)


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    folder = tmp_path_factory.mktemp("columns")
    fill("sqlite", folder)
    path = folder / "store.db"
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for table in tables_of(connection):
            if table not in COUNTED and not rows_of(connection, table):
                invent(connection, table)
    assert not isinstance(verify_ledger(path, RING.known()), Tampering)
    return path


def is_file_tampered(path: Path, now_ms: int | None) -> bool:
    if now_ms is not None:
        return bool(verify_counters(path, now_ms).differences)
    return isinstance(verify_ledger(path, RING.known()), Tampering)


def test_of_a_file_nothing_changes_unnoticed_but_what_the_page_lists(file, busy, tmp_path):
    found: dict[tuple[str, str, str], bool] = {}
    busy_path, now_ms = busy
    copy = tmp_path / "attacked.db"
    with contextlib.closing(sqlite3.connect(file)) as connection:
        tables = tables_of(connection)
    for table, keys in tables.items():
        path, at_ms = (busy_path, now_ms) if table in COUNTED else (file, None)
        with contextlib.closing(sqlite3.connect(path)) as connection:
            rows = rows_of(connection, table)
        assert rows, table
        for kind, column, sql, values in attacks_on(table, rows, keys, "?"):
            shutil.copy(path, copy)
            place = (table, column, kind)
            found[place] = found.get(place, True) and is_found_in_file(copy, at_ms, sql, values)
    judge(found)


def is_found_in_file(path: Path, now_ms: int | None, sql: str, values: tuple[Any, ...]) -> bool:
    try:
        with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.execute(sql.replace("UPDATE", "UPDATE OR REPLACE", 1), values)
        return is_file_tampered(path, now_ms)
    except sqlite3.Error:
        # The database itself refuses it, or what is there can't be read any more.
        return True


# --- a database --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def database(tmp_path_factory):
    folder = tmp_path_factory.mktemp("columns")
    fill("postgres", folder)
    return database_of(folder)


def test_of_a_database_nothing_changes_unnoticed_but_what_the_page_lists(database, tmp_path):
    judge(asyncio.run(_attacked(database, tmp_path / "copy.db")))


async def _attacked(url: str, copy: Path) -> dict[tuple[str, str, str], bool]:
    found: dict[tuple[str, str, str], bool] = {}
    connection = await asyncpg.connect(url)
    try:
        await connection.execute("SET session_replication_role = replica")
        for table, keys in (await _tables(connection)).items():
            rows = [dict(row) for row in await connection.fetch(f"SELECT * FROM {table}")]
            attacks = list(attacks_on(table, rows, keys, "${}"))
            for kind, column, sql, values in attacks[:: scale(ci=2, nightly=1)]:
                place = (table, column, kind)
                found[place] = found.get(place, True) and await _is_found(connection, copy, sql, values)
    finally:
        await connection.close()
    return found


async def _tables(connection: Any) -> dict[str, list[str]]:
    rows = await connection.fetch(
        "SELECT c.relname, array_agg(a.attname::text ORDER BY a.attnum) AS keys FROM pg_class AS c"
        " JOIN pg_index AS i ON i.indrelid = c.oid AND i.indisprimary"
        " JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum = ANY (i.indkey)"
        " WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition AND c.relnamespace = 'public'::regnamespace"
        " GROUP BY 1"
    )
    return {row["relname"]: row["keys"] for row in rows if row["relname"] not in ELSEWHERE}


async def _is_found(connection: Any, copy: Path, sql: str, values: tuple[Any, ...]) -> bool:
    transaction = connection.transaction()
    await transaction.start()
    try:
        await connection.execute(sql, *values)
        sealer = await open_sealer(connection, follow_ring(RING), "w0")
        if await compare(connection, tuple(KEYS), sealer):
            return True
        copy.unlink(missing_ok=True)
        waiting = await copy_of(connection, copy, follow_ring(RING))
        return isinstance(verify_ledger(copy, RING.known(), (), waiting), Tampering)
    except (asyncpg.PostgresError, asyncpg.DataError, sqlite3.Error):
        # The database itself refuses it, or what is there can't be read any more.
        return True
    finally:
        await transaction.rollback()
