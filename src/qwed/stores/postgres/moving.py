"""From a SQLite file to a database server: every table, in one transaction, into an empty store."""

import asyncio
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from itertools import groupby
from pathlib import Path
from typing import Any, Final

import msgspec

from qwed.domain.agents import Agent
from qwed.domain.approvals import Approval
from qwed.domain.times import DAY_MS
from qwed.ect.keys import KeyRing
from qwed.ledger.chain import BrokenChain
from qwed.ledger.entries import SALT_BYTES
from qwed.ledger.states import SALT, needs_entry, subject_of
from qwed.stores.bodies import decode
from qwed.stores.errors import DatabaseUnusable
from qwed.stores.postgres.connections import FAILED, connect
from qwed.stores.postgres.schema import migrate
from qwed.stores.postgres.sequencing import append_all
from qwed.stores.postgres.states import committed
from qwed.stores.postgres.texts import stored, stored_or_none
from qwed.stores.randomness import POOL
from qwed.stores.sqlite import schema_files
from qwed.stores.sqlite.states import all_rows

_PART_DAYS: Final = 28
Row = tuple[Any, ...]


Columns = dict[str, Any]


def _agent(row: Columns) -> Columns:
    trust = int(decode(Agent, row["body"]).trust_level)
    return {**row, "violation": bool(row["violation"]), "trust": trust}


def _approval(row: Columns) -> Columns:
    return {**row, "version": decode(Approval, row["body"]).version}


def _workflow(row: Columns) -> Columns:
    return {**row, "principal_id": stored(row["principal_id"])}


def _node(row: Columns) -> Columns:
    return {**row, "node_id": stored(row["node_id"])}


def _as_it_is(row: Columns) -> Columns:
    return row


def _activity(row: Row) -> Row:
    columns = list(row)
    columns[5], columns[8] = stored(columns[5]), stored_or_none(columns[8])
    return tuple(columns)


def _step(row: Row) -> Row:
    agent_id, conversation_id, step, fingerprint, state, approved, activity_id, wid = row
    return agent_id, stored(conversation_id), step, fingerprint, state, bool(approved), activity_id, wid


def _crossing(row: Row) -> Row:
    return row[0], row[1], stored(row[2]), row[3]


def _score_change(row: Row) -> Row:
    return (*row[:7], bool(row[7]), row[8])


def _refused_minute(row: Row) -> Row:
    return row[0], row[1], bool(row[2]), row[3]


class _Table(msgspec.Struct, frozen=True):
    """How one table goes over: what is read, where it is put, and what becomes of a row on the way."""

    name: str
    select: str
    into: str = ""
    change: Callable[[Row], Row] = tuple


#: Tables that go over as they are, column by column.
_PLAIN: Final = (
    "ledger",
    "tiles",
    "checkpoints",
    "remembered",
    "ended_sessions",
    "deliveries",
    "shared_facts",
)
#: Rows that decide, and what becomes of their columns: they are committed anew, as they stand there.
_COMMITTED: Final[Mapping[str, Callable[[Columns], Columns]]] = {
    "agents": _agent,
    "keys": _as_it_is,
    "approvals": _approval,
    "trust_changes": _as_it_is,
    "outcomes": _as_it_is,
    "webhooks": _as_it_is,
    "workflows": _workflow,
    "workflow_nodes": _node,
}
_CHANGED: Final = (
    _Table(
        "activities",
        "SELECT seq, activity_id, agent_id, principal_id, at_ms, action_type, decision, error_code,"
        " conversation_id, cost_nano, tokens, fingerprint, par, wid, salt, payload"
        " FROM activities ORDER BY seq",
        change=_activity,
    ),
    _Table("ects", "SELECT jti, salt, token, principal_id FROM ects"),
    _Table("steps", "SELECT * FROM steps", change=_step),
    _Table("days", "SELECT kind, subject, day, requests, cost_nano, tokens FROM days"),
    _Table("crossings", "SELECT * FROM crossings", change=_crossing),
    _Table("score_changes", "SELECT * FROM score_changes", change=_score_change),
    _Table("refused_minutes", "SELECT * FROM refused_minutes", change=_refused_minute),
    # Everybody's are summed up when they are read.
    _Table("hours", "SELECT * FROM hours WHERE principal_id != ''"),
)
#: Those with a way of their own.
_OTHER: Final = ("seconds", "ledger_name", "conduct")
_STANDINGS: Final = (
    "SELECT agent_id, sum(actions) AS actions, max(body) AS conduct"
    " FROM (SELECT subject AS agent_id, actions, NULL AS body FROM days WHERE kind = 'agent'"
    " UNION ALL SELECT agent_id, 0, body FROM conduct) GROUP BY agent_id"
)


def move(file: Path, url: str, ring: KeyRing, now_ms: int) -> dict[str, int]:
    """Copy everything; how many rows of each table. Rows that decide are committed anew, and `ring` signs
    that. Raises `DatabaseUnusable`, also for a ledger whose end is not as it was signed."""
    try:
        return asyncio.run(_move(file, url, ring, now_ms))
    except BrokenChain as error:
        raise DatabaseUnusable(f"the ledger can't be continued: {error}") from None
    except (*FAILED, sqlite3.Error) as error:
        raise DatabaseUnusable(f"the store can't be moved: {error or type(error).__name__}") from error


async def _move(file: Path, url: str, ring: KeyRing, now_ms: int) -> dict[str, int]:
    source = sqlite3.connect(f"{file.resolve().as_uri()}?mode=ro", uri=True)
    await migrate(url)
    connection = await connect(url, statement_timeout="0", idle_in_transaction_session_timeout="0")
    try:
        source.execute("BEGIN")
        _require_known_tables(source)
        async with connection.transaction():
            await _require_empty(connection)
            counts = await _copy(source, connection, now_ms)
            await append_all(connection, ring, now_ms)
            return counts
    finally:
        source.close()
        connection.terminate()


def _require_known_tables(source: sqlite3.Connection) -> None:
    """Nothing is left behind unnoticed."""
    have = source.execute("PRAGMA user_version").fetchone()[0]
    if have != schema_files():
        raise DatabaseUnusable(
            f"the file has schema version {have}, this QWED's is {schema_files()}: start a gateway on it once"
        )
    known = {*_PLAIN, *_OTHER, *_COMMITTED, *(table.name for table in _CHANGED)}
    rows = source.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
    unknown = sorted({name for (name,) in rows} - known)
    if unknown:
        raise DatabaseUnusable(f"the file has tables that this command does not know: {', '.join(unknown)}")


async def _require_empty(connection: Any) -> None:
    await connection.execute("LOCK TABLE agents, keys, ledger, pending IN EXCLUSIVE MODE")
    for table in ("agents", "keys", "ledger", "pending"):
        if await connection.fetchval(f"SELECT EXISTS (SELECT 1 FROM {table})"):  # noqa: S608
            raise DatabaseUnusable("the database has a record already; move into an empty one")


async def _copy(source: sqlite3.Connection, connection: Any, now_ms: int) -> dict[str, int]:
    await _make_parts(source, connection)
    plain = tuple(_Table(name, f"SELECT * FROM {name}") for name in _PLAIN)  # noqa: S608
    counts = {}
    for table in (*_CHANGED, *plain):
        into = table.into or table.name
        rows = [table.change(row) for row in source.execute(table.select)]
        columns = _columns(source, table.name) if table in plain else None
        await connection.copy_records_to_table(into, records=rows, columns=columns, timeout=None)
        counts[into] = len(rows)
    for name, change in _COMMITTED.items():
        counts[name] = await _commit_rows(source, connection, name, change, now_ms)
    counts["standings"] = await _commit_standings(source, connection, now_ms)
    seconds = list(_seconds(source))
    await connection.copy_records_to_table("seconds", records=seconds, timeout=None)
    await _name(source, connection)
    await connection.execute("SELECT setval('activity_ids', (SELECT max(id) FROM activities))")
    await connection.execute("SELECT setval('trust_numbers', (SELECT max(number) FROM trust_changes))")
    return counts


async def _commit_rows(
    source: sqlite3.Connection, connection: Any, table: str, change: Callable[[Columns], Columns], now_ms: int
) -> int:
    rows = [change(dict(row)) for row in all_rows(source.execute, table)]
    salted = [
        {**row, SALT: POOL.take(SALT_BYTES) if row[SALT] or needs_entry(table, row) else None} for row in rows
    ]
    await _put(connection, table, salted)
    await _enter(connection, table, [row for row in salted if row[SALT] is not None], now_ms)
    return len(rows)


async def _commit_standings(source: sqlite3.Connection, connection: Any, now_ms: int) -> int:
    """How often an agent acted is a counter; what it did wrong is committed."""
    rows = [
        {
            "agent_id": agent_id,
            "actions": actions,
            "conduct": conduct,
            SALT: None if conduct is None else POOL.take(SALT_BYTES),
        }
        for agent_id, actions, conduct in source.execute(_STANDINGS)
    ]
    await _put(connection, "standings", rows)
    guilty = [
        {name: value for name, value in row.items() if name != "actions"}
        for row in rows
        if row["conduct"] is not None
    ]
    await _enter(connection, "conduct", guilty, now_ms)
    return len(rows)


async def _put(connection: Any, table: str, rows: list[Columns]) -> None:
    if rows:
        columns = list(rows[0])
        records = [tuple(row.values()) for row in rows]
        await connection.copy_records_to_table(table, records=records, columns=columns, timeout=None)


async def _enter(connection: Any, table: str, rows: list[Columns], now_ms: int) -> None:
    await connection.copy_records_to_table(
        "pending",
        records=[(now_ms, subject_of(table, row), committed(table, row)) for row in rows],
        columns=["at_ms", "subject", "commitment"],
        timeout=None,
    )


def _columns(source: sqlite3.Connection, table: str) -> list[str]:
    return [row[1] for row in source.execute(f"PRAGMA table_info({table})")]


async def _make_parts(source: sqlite3.Connection, connection: Any) -> None:
    first, last = source.execute("SELECT min(at_ms), max(at_ms) FROM activities").fetchone()
    if first is None:
        return
    width = _PART_DAYS * DAY_MS
    for start in range(first - first % width, last + 1, width):
        await connection.execute(
            f"CREATE TABLE IF NOT EXISTS activities_{start // DAY_MS} PARTITION OF activities"
            f" FOR VALUES FROM ({start}) TO ({start + width})"
        )


def _seconds(source: sqlite3.Connection) -> Iterator[Row]:
    """Counts of single seconds become sums up to each."""
    rows = source.execute("SELECT agent_id, second, requests FROM seconds ORDER BY agent_id, second")
    for agent_id, seconds in groupby(rows, key=lambda row: row[0]):
        total = 0
        for _, second, requests in seconds:
            yield agent_id, second, total, total + requests
            total += requests


async def _name(source: sqlite3.Connection, connection: Any) -> None:
    row = source.execute("SELECT name FROM ledger_name").fetchone()
    if row is not None:
        await connection.execute("DELETE FROM ledger_name")
        await connection.execute("INSERT INTO ledger_name VALUES ($1)", row[0])
