"""A database server's tables as files, beside running gateways, and back in one transaction."""

import asyncio
import re
import sqlite3
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec

from qwed.domain.times import DAY_MS
from qwed.ledger.record_keys import RecordKeys
from qwed.ledger.states import Waiting
from qwed.stores.backups import BackupManifest, BackupTable
from qwed.stores.errors import DatabaseUnusable
from qwed.stores.postgres.connections import FAILED, connect_for_long
from qwed.stores.postgres.schema import MIGRATION_LOCK, apply_migrations, read_migrations, require_whole
from qwed.stores.postgres.snapshot import copy_of

#: What a crash empties, too, is not kept; nor what says how the schema came to be.
_TABLES: Final = (
    "SELECT relname FROM pg_class WHERE relnamespace = current_schema()::regnamespace"
    " AND relkind IN ('r', 'p') AND NOT relispartition AND relpersistence = 'p'"
    " AND relname NOT IN ('schema_files', 'moving')"
    " ORDER BY relname"
)
_COLUMNS: Final = (
    "SELECT attname FROM pg_attribute WHERE attrelid = to_regclass(quote_ident($1)) AND attnum > 0"
    " AND NOT attisdropped AND attgenerated = '' ORDER BY attnum"
)
_SEQUENCES: Final = "SELECT sequencename, last_value FROM pg_sequences WHERE schemaname = current_schema()"
_PARTS: Final = (
    "SELECT pg_get_expr(c.relpartbound, c.oid) FROM pg_inherits AS i JOIN pg_class AS c ON c.oid = i.inhrelid"
    " WHERE i.inhparent = 'activities'::regclass"
)
_BOUNDS: Final = re.compile(r"FROM \('?(\d+)'?\) TO \('?(\d+)'?\)")

T = TypeVar("T")
Connection = Any
#: Verifies the ledger of the copy in this file, with the entries that still wait for their place.
Verify = Callable[[Path, tuple[Waiting, ...]], None]


class CopiedTables(msgspec.Struct, frozen=True):
    """What was written, for the manifest."""

    schema: int
    tables: dict[str, BackupTable]
    sequences: dict[str, int]
    parts: tuple[tuple[int, int], ...]


def copy_tables(url: str, folder: Path, keys: RecordKeys, verify: Verify) -> CopiedTables:
    """Every table into `folder/tables`; the ledger of that moment is verified. Raises `DatabaseUnusable`."""
    return _run(_copy_tables(url, folder, keys, verify))


def load_tables(
    url: str, folder: Path, manifest: BackupManifest, keys: RecordKeys, verify: Verify, work: Path
) -> None:
    """All of it, verified, in one transaction: until its end nobody sees any. Raises `DatabaseUnusable`."""
    _run(_load_tables(url, folder, manifest, keys, verify, work))


def _run(work: Coroutine[Any, Any, T]) -> T:
    try:
        return asyncio.run(work)
    except (*FAILED, sqlite3.Error) as error:
        raise DatabaseUnusable(f"the database can't do this: {error or type(error).__name__}") from error


async def _copy_tables(url: str, folder: Path, keys: RecordKeys, verify: Verify) -> CopiedTables:
    connection = await connect_for_long(url)
    try:
        async with connection.transaction(isolation="repeatable_read", readonly=True):
            schema = await _require_current(connection)
            (folder / "tables").mkdir(mode=0o700)
            tables = {
                row[0]: await _copy_table(connection, row[0], folder)
                for row in await connection.fetch(_TABLES)
            }
            bounds = [_BOUNDS.search(row[0]) for row in await connection.fetch(_PARTS)]
            parts = tuple(sorted((int(found[1]), int(found[2])) for found in bounds if found))
            # Numbers are drawn outside of transactions: read last, they are behind nothing that was copied.
            drawn = {row[0]: row[1] for row in await connection.fetch(_SEQUENCES) if row[1] is not None}
            await _verify(connection, folder / "ledger.db", keys, verify)
            return CopiedTables(schema, tables, drawn, parts)
    finally:
        await connection.close()


async def _require_current(connection: Connection) -> int:
    if await connection.fetchval("SELECT to_regclass('schema_files')") is None:
        raise DatabaseUnusable("the database has no QWED store")
    have = int(await connection.fetchval("SELECT max(number) FROM schema_files"))
    if have != (knows := len(read_migrations())):
        raise DatabaseUnusable(
            f"the database has schema version {have}, this QWED's is {knows}: use the version that serves it"
        )
    await require_whole(connection)
    return have


async def _copy_table(connection: Connection, table: str, folder: Path) -> BackupTable:
    columns = tuple(row[0] for row in await connection.fetch(_COLUMNS, table))
    names = ", ".join(f'"{name}"' for name in columns)
    path = folder / "tables" / table
    status = await connection.copy_from_query(f'SELECT {names} FROM "{table}"', output=path)  # noqa: S608
    return BackupTable(int(status.split()[-1]), columns)


async def _verify(connection: Connection, copy: Path, keys: RecordKeys, verify: Verify) -> None:
    try:
        verify(copy, await copy_of(connection, copy, keys))
    finally:
        copy.unlink(missing_ok=True)


async def _load_tables(
    url: str, folder: Path, manifest: BackupManifest, keys: RecordKeys, verify: Verify, work: Path
) -> None:
    known = read_migrations()
    if not 0 < manifest.schema <= len(known):
        raise DatabaseUnusable(
            f"the backup has schema version {manifest.schema}; this QWED knows {len(known)}: upgrade QWED"
        )
    connection = await connect_for_long(url)
    try:
        async with connection.transaction():
            # A gateway that starts meanwhile waits here, and then finds the whole store.
            await connection.execute("SELECT pg_advisory_xact_lock($1)", MIGRATION_LOCK, timeout=60)
            await _require_no_store(connection)
            await apply_migrations(connection, known[: manifest.schema])
            await _fill(connection, folder, manifest)
            await apply_migrations(connection, known)
            await _verify(connection, work / "ledger.db", keys, verify)
    finally:
        connection.terminate()


async def _require_no_store(connection: Connection) -> None:
    if await connection.fetchval("SELECT to_regclass('schema_files')") is not None:
        raise DatabaseUnusable("the database has a QWED store already: restore into an empty database")


async def _fill(connection: Connection, folder: Path, manifest: BackupManifest) -> None:
    known = {row[0] for row in await connection.fetch(_TABLES)}
    if known != manifest.tables.keys():
        table = sorted(known ^ manifest.tables.keys())[0]
        raise DatabaseUnusable(f"the backup's tables are not those of its schema: {table}")
    for start, end in manifest.parts:
        await connection.execute(
            f"CREATE TABLE activities_{start // DAY_MS} PARTITION OF activities"
            f" FOR VALUES FROM ({start}) TO ({end})"
        )
    for table, copied in manifest.tables.items():
        await _fill_table(connection, table, copied, folder / "tables" / table)
    for name in {row[0] for row in await connection.fetch(_SEQUENCES)} & manifest.sequences.keys():
        await connection.execute(
            "SELECT setval(quote_ident($1)::regclass, $2)", name, manifest.sequences[name]
        )


async def _fill_table(connection: Connection, table: str, copied: BackupTable, path: Path) -> None:
    """As it was there, rows from before there were entries included: triggers ask only what is new."""
    await connection.execute(f'ALTER TABLE "{table}" DISABLE TRIGGER USER')
    await connection.execute(f'TRUNCATE "{table}"')
    status = await connection.copy_to_table(table, source=path, columns=list(copied.columns))
    await connection.execute(f'ALTER TABLE "{table}" ENABLE TRIGGER USER')
    if int(status.split()[-1]) != copied.rows:
        raise DatabaseUnusable(f"of {table}, {status.split()[-1]} of {copied.rows} rows arrived")
