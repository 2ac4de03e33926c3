"""The schema: numbered files, applied once each under a lock, and parts of the activity made ahead of time.

Several versions of the gateway run on one database while it is upgraded. So a file only adds what the
version before can do without (its first line is `-- expands`), or it says from which file on code must
know the schema to go on (`-- needs code that knows NNN`, or `this file`). A function is never replaced: a
changed one gets a new name.
"""

import re
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Any, Final

import asyncpg

from qwed.domain.times import DAY_MS
from qwed.stores.errors import DatabaseUnusable
from qwed.stores.postgres.connections import FAILED, LOST, connect, connect_for_long

MIGRATIONS: Final = "qwed.stores.migrations.postgres"
MIGRATION_LOCK: Final = 7_932_001
INDEX_LOCK: Final = 7_932_005
_NEEDS: Final = re.compile(r"-- needs code that knows (\d{3}|this file)\n")
_DAYS_AHEAD: Final = 3
_WIDE_DAYS: Final = 28

#: Parts of the activity whose entries are not indexed by their number yet.
WITHOUT_INDEX: Final = (
    "SELECT c.relname FROM pg_inherits AS i JOIN pg_class AS c ON c.oid = i.inhrelid"
    " WHERE i.inhparent = 'activities'::regclass AND NOT EXISTS (SELECT 1 FROM pg_index AS x"
    " JOIN pg_inherits AS h ON h.inhrelid = x.indexrelid"
    " WHERE x.indrelid = c.oid AND h.inhparent = 'activities_by_number'::regclass)"
)

Connection = Any


class Migration:
    def __init__(self, number: int, script: str) -> None:
        self.number = number
        self.script = script
        needs = _NEEDS.match(script)
        #: The oldest schema that code must know to go on after this file.
        self.needs = 1 if needs is None else number if needs.group(1) == "this file" else int(needs.group(1))


def read_migrations(folder: Traversable | None = None) -> list[Migration]:
    where = resources.files(MIGRATIONS) if folder is None else folder
    files = sorted((entry for entry in where.iterdir() if entry.name.endswith(".sql")), key=lambda e: e.name)
    return [
        Migration(number, entry.read_text(encoding="utf-8")) for number, entry in enumerate(files, start=1)
    ]


async def migrate(url: str, migrations: list[Migration] | None = None) -> None:
    """Bring the schema up to date. Raises `DatabaseUnusable` with a sentence."""
    known = read_migrations() if migrations is None else migrations
    try:
        connection = await connect(url, statement_timeout="60000", lock_timeout="30000")
    except (*LOST, asyncpg.PostgresError) as error:
        raise DatabaseUnusable(f"the database can't be reached: {error or type(error).__name__}") from None
    try:
        async with connection.transaction():
            await connection.execute("SELECT pg_advisory_xact_lock($1)", MIGRATION_LOCK, timeout=60)
            await apply_migrations(connection, known)
    except (*LOST, asyncpg.PostgresError) as error:
        raise DatabaseUnusable(f"the database can't be used as a QWED store: {error}") from error
    finally:
        connection.terminate()
    await build_indexes(url)


async def build_indexes(url: str) -> None:
    """Indexes of parts that were there before them, without standing in anybody's way. Where that fails,
    pages take longer, and the next start tries again."""
    try:
        connection = await connect_for_long(url)
    except FAILED:
        return
    try:
        if await connection.fetchval("SELECT pg_try_advisory_lock($1)", INDEX_LOCK):
            for (part,) in await connection.fetch(WITHOUT_INDEX):
                await connection.execute(f"DROP INDEX IF EXISTS {part}_by_number")
                await connection.execute(f"CREATE INDEX CONCURRENTLY {part}_by_number ON {part} (id)")
                await connection.execute(
                    f"ALTER INDEX activities_by_number ATTACH PARTITION {part}_by_number"
                )
    except FAILED:
        return
    finally:
        connection.terminate()


async def require_whole(connection: Connection) -> None:
    """Raises `DatabaseUnusable` where a move from a file has not come to its end."""
    if await connection.fetchval("SELECT EXISTS (SELECT 1 FROM moving)"):
        raise DatabaseUnusable(
            "a move into this database was not finished: run the same `qwed migrate` again"
        )


async def unfinished_indexes(url: str) -> list[str]:
    """By name. Raises `DatabaseUnusable`."""
    try:
        connection = await connect(url)
    except (*LOST, asyncpg.PostgresError) as error:
        raise DatabaseUnusable(f"it can't be reached: {error or type(error).__name__}") from None
    try:
        rows = await connection.fetch(
            "SELECT indexrelid::regclass::text FROM pg_index WHERE NOT indisvalid ORDER BY 1"
        )
        return [row[0] for row in rows]
    finally:
        await connection.close()


async def schema_version(url: str) -> int:
    """How far the schema is; 0 where nothing is there yet. Raises `DatabaseUnusable`."""
    try:
        connection = await connect(url)
    except (*LOST, asyncpg.PostgresError) as error:
        raise DatabaseUnusable(f"it can't be reached: {error or type(error).__name__}") from None
    try:
        if await connection.fetchval("SELECT to_regclass('schema_files')") is None:
            return 0
        return int(await connection.fetchval("SELECT coalesce(max(number), 0) FROM schema_files"))
    finally:
        await connection.close()


async def apply_migrations(connection: Connection, known: list[Migration]) -> None:
    """Within the caller's transaction, which has the lock. Raises `DatabaseUnusable`."""
    await connection.execute(
        "CREATE TABLE IF NOT EXISTS schema_files"
        " (number integer PRIMARY KEY, needs integer NOT NULL, applied_at timestamptz NOT NULL DEFAULT now())"
    )
    row = await connection.fetchrow(
        "SELECT coalesce(max(number), 0), coalesce(max(needs), 1) FROM schema_files"
    )
    have, needs = row
    if needs > len(known):
        raise DatabaseUnusable(
            f"the database has schema version {have}, which needs a QWED that knows {needs};"
            f" this one knows {len(known)}: upgrade QWED"
        )
    for migration in known[have:]:
        await connection.execute(migration.script, timeout=60)
        await connection.execute(
            "INSERT INTO schema_files (number, needs) VALUES ($1, $2)", migration.number, migration.needs
        )


# --- parts of the activity ---------------------------------------------------------------------------


async def make_parts(connection: Connection, now_ms: int, *, has_retention: bool) -> None:
    """Parts for the next days exist before anything has to be put there."""
    width = 1 if has_retention else _WIDE_DAYS
    today = now_ms // DAY_MS
    for start in sorted({day - day % width for day in range(today - 1, today + _DAYS_AHEAD)}):
        await _make_part(connection, start, width)


async def _make_part(connection: Connection, start: int, width: int) -> None:
    name = f"activities_{start}"
    if await connection.fetchval("SELECT to_regclass($1)", name) is not None:
        return
    try:
        await connection.execute(
            f"CREATE TABLE {name} PARTITION OF activities"
            f" FOR VALUES FROM ({start * DAY_MS}) TO ({(start + width) * DAY_MS})"
        )
    # Another worker made it, or something of that time is elsewhere already: rows find their place anyway.
    except (asyncpg.DuplicateTableError, asyncpg.InvalidObjectDefinitionError, asyncpg.CheckViolationError):
        return


async def drop_parts(connection: Connection, before_ms: int) -> None:
    """Parts that end before this moment, each in a transaction of its own."""
    parts = await connection.fetch(
        "SELECT c.relname, pg_get_expr(c.relpartbound, c.oid) AS bound FROM pg_inherits AS i"
        " JOIN pg_class AS c ON c.oid = i.inhrelid WHERE i.inhparent = 'activities'::regclass"
    )
    for part in parts:
        end = re.search(r"TO \('?(\d+)'?\)", part["bound"])
        if end is not None and int(end.group(1)) <= before_ms:
            async with connection.transaction():
                await connection.execute(f"DROP TABLE {part['relname']}")
                await connection.execute("DELETE FROM agent_days WHERE day < $1", int(end.group(1)) // DAY_MS)
