"""Rows that decide, in PostgreSQL: written here and nowhere else, each with its entry; looked up by index.

An entry waits for its place in the ledger like any other, from the very transaction that writes the row. The
row is read back as it stands, so a column that is added later is covered too.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec

from qwed.gateway.kernel.ports import StateDiffers
from qwed.ledger.audit import AuditKind
from qwed.ledger.entries import SALT_BYTES
from qwed.ledger.states import (
    ADOPTED,
    KEYS,
    MAC,
    SALT,
    STATE,
    Row,
    StateDifference,
    States,
    commit_row,
    difference,
    find_differences,
    key_of,
    name_adopted_subject,
    needs_entry,
    subject_of,
    tombstone,
)
from qwed.stores.bodies import decode
from qwed.stores.postgres.seals import RecordSealer, SealedWrite, Seals
from qwed.stores.postgres.statements import SQL
from qwed.stores.randomness import POOL

Connection = Any

#: Old rows that one round of housekeeping drops.
MAX_DROPPED: Final = 1_000
ADOPT_LOCK: Final = 7_932_006
#: Where a committed table is part of another: its name there, its columns, and which of its rows are meant.
_STANDINGS: Final = "standings"
#: Rows that carry a seal of their own: who may act, and who may ask.
SEALED: Final = ("agents", "keys")
_ENTRY: Final = ("seq", "commitment", "subject", "at_ms", "source", "number", "mac")


def name_stored_table(table: str) -> str:
    return _STANDINGS if table == "conduct" else table


def select_rows(table: str) -> str:
    if table == "conduct":
        return "SELECT agent_id, conduct, salt FROM standings WHERE conduct IS NOT NULL"
    return f"SELECT * FROM {table}"  # noqa: S608


def _list_returned(table: str) -> str:
    return "agent_id, conduct, salt" if table == "conduct" else "*"


class PostgresStateRows:
    """Writes of one transaction on this connection."""

    def __init__(self, connection: Connection, at_ms: int, seals: SealedWrite) -> None:
        self._connection = connection
        self._at_ms = at_ms
        self._seals = seals

    async def put(self, table: str, columns: Mapping[str, object]) -> None:
        """The row, in the place of the one that has its key. Raises `StateDiffers` where that is not as the
        ledger says: what somebody else wrote would become the gateway's own."""
        await self._require_sound(table, columns[KEYS[table][0]])
        given = {**columns, SALT: POOL.take(SALT_BYTES)}
        if table in SEALED:
            given[MAC] = self._seals.sealer.seals.row(subject_of(table, given), committed(table, given))
        await self._write(table, given, _replacing(table, given))

    async def add(self, table: str, columns: Mapping[str, object]) -> None:
        """As `put`, but a row that is there is an error."""
        await self._write(table, {**columns, SALT: POOL.take(SALT_BYTES)}, "")

    async def keep(self, table: str, columns: Mapping[str, object]) -> None:
        """As `put`, but a row that is there stays as it is."""
        await self._write(table, {**columns, SALT: POOL.take(SALT_BYTES)}, "ON CONFLICT DO NOTHING")

    async def put_uncommitted(self, table: str, columns: Mapping[str, object]) -> None:
        """A row that decides nothing, and has no entry."""
        await self._connection.execute(
            f"{_insertion(table, columns)} {_replacing(table, columns)}", *columns.values()
        )

    async def change(self, table: str, key: object, columns: Mapping[str, object]) -> None:
        """Some columns of the row with this key, if there is one. What had no entry needs none now."""
        (name,) = KEYS[table]
        await self._require_sound(table, key)
        places = ", ".join(f"{column} = ${number}" for number, column in enumerate(columns, start=3))
        row = await self._connection.fetchrow(
            f"UPDATE {table} SET salt = CASE WHEN salt IS NULL THEN NULL ELSE $2::bytea END, {places}"  # noqa: S608
            f" WHERE {name} = $1 RETURNING *",
            key,
            POOL.take(SALT_BYTES),
            *columns.values(),
        )
        if row is not None and row[SALT] is not None:
            await self._commit(table, dict(row))

    async def _require_sound(self, table: str, key: object) -> None:
        (name,) = KEYS[table]
        # Locked first: what is read after that, row and entry, is of one moment.
        sql = f"SELECT 1 FROM {name_stored_table(table)} WHERE {name} = $1 FOR UPDATE"  # noqa: S608
        if await self._connection.fetchval(sql, key) is not None:
            await check_row(self._connection, StatedRow(table, name), key, self._seals.sealer)

    async def drop(self, table: str, where: str, *values: object) -> int:
        """How many rows went. `where` is a text of ours."""
        rows = await self._connection.fetch(
            f"SELECT * FROM {table} WHERE {where} FOR UPDATE",  # noqa: S608
            *values,
        )
        (name,) = KEYS[table]
        keys = [row[name] for row in rows]
        # Who deletes a row takes its salt first: that is how the database tells this from an older gateway.
        is_one = f"{name} = ANY ($1)"
        await self._connection.execute(
            f"UPDATE {table} SET salt = NULL WHERE {is_one} AND salt IS NOT NULL",  # noqa: S608
            keys,
        )
        await self._connection.execute(f"DELETE FROM {table} WHERE {is_one}", keys)  # noqa: S608
        gone = [subject_of(table, dict(row)) for row in rows if row[SALT] is not None]
        await self._enter(table, ((subject, tombstone(subject)) for subject in gone))
        return len(rows)

    async def adopt(self) -> int:
        """Take over the rows that are there: nothing can be proven of them before this moment."""
        counts = [await self._adopt(table) for table in KEYS]
        return sum(counts)

    async def _adopt(self, table: str) -> int:
        rows = [dict(row) for row in await self._connection.fetch(select_rows(table))]
        salted = [{**row, SALT: POOL.take(SALT_BYTES)} for row in rows if needs_entry(table, row)]
        seals = self._seals.sealer.seals
        given: list[dict[str, object]] = [
            {SALT: row[SALT], MAC: seals.row(subject_of(table, row), committed(table, row))}
            if table in SEALED
            else {SALT: row[SALT]}
            for row in salted
        ]
        for row, columns in zip(salted, given, strict=True):
            await self._set(table, row, columns)
        entries = ((name_adopted_subject(subject_of(table, row)), committed(table, row)) for row in salted)
        await self._enter(table, entries)
        return len(salted)

    async def _set(self, table: str, row: Row, columns: Mapping[str, object]) -> None:
        changes = ", ".join(f"{name} = ${number}" for number, name in enumerate(columns, start=1))
        keys = enumerate(KEYS[table], start=len(columns) + 1)
        where = " AND ".join(f"{name} = ${number}" for number, name in keys)
        values = (*columns.values(), *(row[name] for name in KEYS[table]))
        sql = f"UPDATE {name_stored_table(table)} SET {changes} WHERE {where}"  # noqa: S608
        await self._connection.execute(sql, *values)

    async def _write(self, table: str, columns: Mapping[str, object], conflict: str) -> None:
        statement = f"{_insertion(table, columns)} {conflict} RETURNING {_list_returned(table)}"
        row = await self._connection.fetchrow(statement, *columns.values())
        if row is not None:
            await self._commit(table, dict(row))

    async def _commit(self, table: str, row: Row) -> None:
        await self._enter(table, [(subject_of(table, row), committed(table, row))])

    async def _enter(self, table: str, entries: Iterable[tuple[str, bytes]]) -> None:
        rows = [
            self._seals.waiting(table, subject, self._at_ms, commitment) for subject, commitment in entries
        ]
        if len(rows) == 1:
            await self._connection.execute(SQL["wait_for_ledger"], *rows[0])
        elif rows:
            await self._connection.executemany(SQL["wait_for_ledger"], rows)


def committed(table: str, row: Row) -> bytes:
    commitment = commit_row(table, row, row[SALT])
    assert commitment is not None, "the gateway writes what it can commit to"
    return commitment


def _insertion(table: str, columns: Iterable[str]) -> str:
    names = list(columns)
    places = ", ".join(f"${number}" for number in range(1, len(names) + 1))
    if table == "conduct":
        return f"INSERT INTO standings ({', '.join(names)}, actions) VALUES ({places}, 0)"  # noqa: S608
    return f"INSERT INTO {table} ({', '.join(names)}) VALUES ({places})"  # noqa: S608


def _replacing(table: str, columns: Iterable[str]) -> str:
    keys = KEYS[table]
    changes = ", ".join(f"{name} = excluded.{name}" for name in columns if name not in keys)
    return f"ON CONFLICT ({', '.join(keys)}) DO UPDATE SET {changes}"


# --- looking -----------------------------------------------------------------------------------------


async def adopt_once(connection: Connection, at_ms: int, sealer: RecordSealer) -> None:
    """A database from before rows were committed: what is there is taken over by the first who comes."""
    with sealer.write() as seals:
        async with connection.transaction():
            await connection.execute("SELECT pg_advisory_xact_lock($1)", ADOPT_LOCK)
            if not await connection.fetchval(SQL["has_states"]):
                await PostgresStateRows(connection, at_ms, seals).adopt()


async def states_of(connection: Connection, tables: Iterable[str], seals: Seals) -> States:
    """The last entries about these tables, by index; of those that still wait, the newest last."""
    states = States()
    for prefix in (ADOPTED, STATE):
        for table in tables:
            for row in await connection.fetch(SQL["last_states"], f"{prefix}{table}:", f"{prefix}{table};"):
                states.note(*row)
        for table in tables:
            waiting = await connection.fetch(SQL["waiting_states"], f"{prefix}{table}:", f"{prefix}{table};")
            for row in waiting:
                if is_waiting_sealed(seals, row):
                    states.note(row["subject"], 0, row["at_ms"], row["commitment"])
    return states


def is_waiting_sealed(seals: Seals, row: Mapping[str, Any]) -> bool:
    """Whether a gateway wrote an entry that has no place in the ledger yet."""
    facts = [row[name] for name in ("place", "source", "number", "subject", "at_ms", "commitment")]
    return seals.is_record(row["mac"], *facts)


async def differences(
    connection: Connection, tables: Sequence[str], sealer: RecordSealer
) -> list[StateDifference]:
    """What of these tables is not as the ledger says, in one snapshot."""
    async with connection.transaction(isolation="repeatable_read", readonly=True):
        return await compare(connection, tables, sealer)


async def compare(
    connection: Connection, tables: Sequence[str], sealer: RecordSealer
) -> list[StateDifference]:
    """As `differences`, within the caller's transaction."""
    states = await states_of(connection, tables, sealer.seals)
    rows = {table: [dict(row) for row in await connection.fetch(select_rows(table))] for table in tables}
    found = list(find_differences(tables, rows.__getitem__, states, lambda _: ()))
    wrong = {(one.table, one.key) for one in found}
    named = {
        (table, key_of(table, row)): row
        for table in tables
        for row in (rows[table] if found else ())
        if (table, key_of(table, row)) in wrong
    }
    unsealed = [
        seal
        for table in SEALED
        for row in rows.get(table, ())
        if (table, key_of(table, row)) not in wrong
        and (last := states.last(subject_of(table, row))) is not None
        and (seal := wrong_seal(sealer, table, row, last)) is not None
    ]
    return [
        *[await _named(connection, one, named.get((one.table, one.key)), states) for one in found],
        *unsealed,
    ]


def wrong_seal(sealer: RecordSealer, table: str, row: Row, last: tuple[int, bytes]) -> StateDifference | None:
    """A row that fits its last entry, and that no gateway wrote: then the entry is not a gateway's either."""
    seq, commitment = last
    mac, subject = row[MAC], subject_of(table, row)
    # One from before rows were sealed has none; one whose entry still waits has a sealed entry.
    if seq <= sealer.since if mac is None else sealer.seals.is_row(mac, subject, commitment):
        return None
    key = key_of(table, row)
    says = f"{table} {key} was edited: it is what entry {seq} has, and no gateway sealed it"
    return StateDifference(AuditKind.EDITED, table, key, seq, says)


async def _named(
    connection: Connection, found: StateDifference, row: Row | None, states: States
) -> StateDifference:
    """Whether the row is merely as it was once."""
    if row is None:
        return found
    last = states.last(subject_of(found.table, row))
    earlier = await _earlier(connection, subject_of(found.table, row))
    return difference(found.table, row, last, earlier) or found


async def _earlier(connection: Connection, subject: str) -> Callable[[str], list[tuple[int, bytes]]]:
    rows = await connection.fetch(SQL["entries_about"], [subject, name_adopted_subject(subject)])
    entries = [(row["seq"], row["commitment"]) for row in rows]
    return lambda _: entries


class StatedRow(msgspec.Struct, frozen=True):
    """How a row that decides is looked up with the entry about it, in one statement."""

    table: str
    column: str

    @property
    def sql(self) -> str:
        (key,) = KEYS[self.table]
        names = ", ".join(f"s.{name} AS state_{name}" for name in _ENTRY)
        return (
            f"SELECT t.*, {names}"  # noqa: S608
            f" FROM ({select_rows(self.table)}) AS t"
            f" LEFT JOIN LATERAL last_sealed_state('{self.table}:' || t.{key}) AS s ON true"
            f" WHERE t.{self.column} = $1"
        )


async def check_body(
    connection: Connection, kind: type[Any], stated: StatedRow, value: object, sealer: RecordSealer
) -> Any:
    """The value of a row that is as the ledger says; None where there is none. Raises `StateDiffers`."""
    row = await check_row(connection, stated, value, sealer)
    return None if row is None else decode(kind, row["body"])


async def check_row(
    connection: Connection, stated: StatedRow, value: object, sealer: RecordSealer
) -> dict[str, Any] | None:
    found = await connection.fetchrow(stated.sql, value)
    if found is None:
        return None
    row = dict(found)
    entry = {name: row.pop(f"state_{name}") for name in _ENTRY}
    table, subject = stated.table, subject_of(stated.table, row)
    last = None if entry["commitment"] is None else (entry["seq"], entry["commitment"])
    if (
        last is not None
        and entry["seq"] == 0
        and not is_waiting_sealed(sealer.seals, {**entry, "place": table})
    ):
        # Somebody else wrote the newest: it is as if it were not there.
        last = (await states_of_one(connection, subject, sealer.seals)).last(subject)
    wrong = difference(table, row, last, lambda _: ())
    if wrong is not None:
        raise StateDiffers(difference(table, row, last, await _earlier(connection, subject)) or wrong)
    if (
        table in SEALED
        and last is not None
        and (unsealed := wrong_seal(sealer, table, row, last)) is not None
    ):
        raise StateDiffers(unsealed)
    return row


async def states_of_one(connection: Connection, subject: str, seals: Seals) -> States:
    """The last entry about one row, without what no gateway sealed."""
    states = States()
    about = [name_adopted_subject(subject), subject]
    for name in about:
        for row in await connection.fetch(SQL["ledger_about"], name):
            states.note(*row)
        for row in await connection.fetch(SQL["waiting_about"], name):
            if is_waiting_sealed(seals, row):
                states.note(name, 0, row["at_ms"], row["commitment"])
    return states
