"""Rows that decide, one of each kind, and an attacker who may write SQL beside the gateway."""

import asyncio
import contextlib
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import asyncpg
import msgspec
from tests.support.records import RING, a_key, a_webhook, an_activity, an_agent, an_approval, an_outcome

from qwed.domain.agents import AgentStatus, PrincipalId
from qwed.domain.approvals import ApprovalStatus
from qwed.domain.conduct import Conduct
from qwed.domain.outcomes import OutcomeResult
from qwed.domain.policy_changes import ChangeKind, PolicyChange, Stop, StopScope
from qwed.domain.trust import TrustLevel
from qwed.domain.trust_changes import Cause, TrustChange
from qwed.domain.workflows import Completion, Workflow
from qwed.gateway.kernel.records import Record
from qwed.ledger.audit import Tampering
from qwed.ledger.record_keys import follow_ring
from qwed.ledger.states import KEYS, StateDifference
from qwed.stores.postgres.seals import open_sealer
from qwed.stores.postgres.states import compare, name_stored_table, select_rows
from qwed.stores.sqlite.ledger import Followed, verify_ledger

AT_MS = 1_700_000_000_000
WORKFLOW = "01890000-0000-7000-8000-000000000001"

AGENT = an_agent("agent_00000000000000aa")
KEY = a_key()
APPROVAL = an_approval(AGENT, AT_MS)
ACTION = an_activity(AGENT, AT_MS, fingerprint=b"f" * 32)
UNKNOWN = an_outcome(ACTION, OutcomeResult.UNKNOWN)
#: Written once and never again.
FINAL = ("trust_changes", "workflows", "workflow_nodes", "policy_changes")


def records() -> list[Record]:
    """Every kind of row that decides is written; then each is changed that can be."""
    change = TrustChange(
        ACTION.activity_id,
        AGENT.agent_id,
        AGENT.principal_id,
        AT_MS,
        Cause.REGISTERED,
        "key:k",
        TrustLevel.AUTONOMOUS,
        TrustLevel.SUPERVISED,
        AgentStatus.ACTIVE,
    )
    stop = Stop(StopScope.TOOL, "send_money", "test", "key:k", AT_MS)
    first = Record(
        ACTION,
        agent=AGENT,
        key=KEY,
        approval=APPROVAL,
        outcome=UNKNOWN,
        conduct=Conduct(denied=1),
        trust_changes=(change,),
        webhook=a_webhook(),
        workflow=Workflow(WORKFLOW, PrincipalId("acme"), "token", AT_MS, AT_MS + 1_000),
        completions=(Completion(WORKFLOW, "node", ACTION.activity_id),),
        policy_change=PolicyChange(
            1, ChangeKind.STOP, AT_MS, "key:k", "test", policy_at=0, version="v", stops=(stop,)
        ),
    )
    second = Record(
        an_activity(AGENT, AT_MS + 1),
        agent=msgspec.structs.replace(AGENT, status=AgentStatus.SUSPENDED, suspended_for_violation=True),
        key=msgspec.structs.replace(KEY, revoked_ms=AT_MS),
        conduct=Conduct(denied=2),
        webhook=a_webhook(url="https://y.example/hook"),
    )
    third = Record(
        an_activity(AGENT, AT_MS + 2),
        approval=msgspec.structs.replace(APPROVAL, status=ApprovalStatus.DENIED, version=1),
    )
    fourth = Record(
        an_activity(AGENT, AT_MS + 3),
        outcome=msgspec.structs.replace(
            UNKNOWN, result=OutcomeResult.FAILURE, settled_by="key:k", settled_ms=AT_MS
        ),
    )
    return [first, second, third, fourth]


def altered(value: Any) -> Any:
    """Another value of the same kind."""
    if isinstance(value, bytes):
        return value[:-1] + bytes([value[-1] ^ 1]) if value else b"x"
    if isinstance(value, str):
        return value + "x"
    if isinstance(value, bool):
        return not value
    return 7 if value is None else value + 1


class SqliteAttacker:
    """Each attack is made on a copy of a closed store's file."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def rows(self, table: str) -> list[dict[str, Any]]:
        with contextlib.closing(sqlite3.connect(self._path)) as connection:
            cursor = connection.execute(f"SELECT * FROM {table}")
            names = [column[0] for column in cursor.description]
            return [dict(zip(names, row, strict=True)) for row in cursor]

    def verdict(self, *statements: tuple[str, tuple[Any, ...]]) -> Followed | Tampering:
        with tempfile.TemporaryDirectory() as folder:
            copy = shutil.copy(self._path, Path(folder) / "attacked.db")
            with contextlib.closing(sqlite3.connect(copy, isolation_level=None)) as connection:
                for sql, values in statements:
                    connection.execute(sql, values)
            return verify_ledger(copy, RING.known())

    def edit(self, table: str, row: dict[str, Any], column: str, value: Any) -> Followed | Tampering:
        where = " AND ".join(f"{name} = ?" for name in KEYS[table])
        key = [row[name] for name in KEYS[table]]
        return self.verdict((f"UPDATE {table} SET {column} = ? WHERE {where}", (value, *key)))

    def put(self, table: str, row: dict[str, Any]) -> Followed | Tampering:
        places = ", ".join("?" * len(row))
        sql = f"INSERT OR REPLACE INTO {table} ({', '.join(row)}) VALUES ({places})"
        return self.verdict((sql, tuple(row.values())))

    def write(self, table: str, row: dict[str, Any]) -> None:
        """In the file itself, not in a copy."""
        places = ", ".join("?" * len(row))
        self._do(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({places})", tuple(row.values()))

    def overwrite(self, table: str, key: str, columns: dict[str, Any]) -> None:
        places = ", ".join(f"{name} = ?" for name in columns)
        self._do(f"UPDATE {table} SET {places} WHERE {KEYS[table][0]} = ?", (*columns.values(), key))

    def _do(self, sql: str, values: tuple[Any, ...]) -> None:
        with contextlib.closing(sqlite3.connect(self._path, isolation_level=None)) as connection:
            connection.execute(sql, values)

    def delete(self, table: str) -> Followed | Tampering:
        return self.verdict((f"DELETE FROM {table}", ()))


class PostgresAttacker:
    """Each attack is made in a transaction that is rolled back after the rows were compared in it."""

    def __init__(self, url: str) -> None:
        self._url = url

    def rows(self, table: str) -> list[dict[str, Any]]:
        async def read() -> list[dict[str, Any]]:
            connection = await asyncpg.connect(self._url)
            try:
                return [dict(row) for row in await connection.fetch(select_rows(table))]
            finally:
                await connection.close()

        return asyncio.run(read())

    def verdicts(self, attacks: list[tuple[str, tuple[Any, ...]]]) -> Iterator[list[StateDifference]]:
        return iter(asyncio.run(self._verdicts(attacks)))

    async def _verdicts(self, attacks: list[tuple[str, tuple[Any, ...]]]) -> list[list[StateDifference]]:
        connection = await asyncpg.connect(self._url)
        try:
            # Whoever may write to the database may also switch off what stands in the way.
            await connection.execute("SET session_replication_role = replica")
            return [await self._verdict(connection, *attack) for attack in attacks]
        finally:
            await connection.close()

    async def _verdict(self, connection: Any, sql: str, values: tuple[Any, ...]) -> list[StateDifference]:
        transaction = connection.transaction()
        await transaction.start()
        try:
            await connection.execute(sql, *values)
            sealer = await open_sealer(connection, follow_ring(RING), "w0")
            return await compare(connection, tuple(KEYS), sealer)
        finally:
            await transaction.rollback()

    def write(self, table: str, row: dict[str, Any]) -> None:
        asyncio.run(self._do(*self.insertion(table, row)))

    def overwrite(self, table: str, key: str, columns: dict[str, Any]) -> None:
        places = ", ".join(f"{name} = ${number}" for number, name in enumerate(columns, start=2))
        sql = f"UPDATE {table} SET {places} WHERE {KEYS[table][0]} = $1"
        asyncio.run(self._do(sql, (key, *columns.values())))

    async def _do(self, sql: str, values: tuple[Any, ...]) -> None:
        connection = await asyncpg.connect(self._url)
        try:
            await connection.execute("SET session_replication_role = replica")
            await connection.execute(sql, *values)
        finally:
            await connection.close()

    def edits(self, table: str, row: dict[str, Any]) -> dict[str, tuple[str, tuple[Any, ...]]]:
        keys = KEYS[table]
        where = " AND ".join(f"{name} = ${number}" for number, name in enumerate(keys, start=2))
        return {
            column: (
                f"UPDATE {name_stored_table(table)} SET {column} = $1 WHERE {where}",
                (altered(row[column]), *(row[name] for name in keys)),
            )
            for column in row
        }

    def insertion(self, table: str, row: dict[str, Any]) -> tuple[str, tuple[Any, ...]]:
        given = {**row, "actions": 0} if table == "conduct" else row
        places = ", ".join(f"${number}" for number in range(1, len(given) + 1))
        columns = ", ".join(given)
        sql = f"INSERT INTO {name_stored_table(table)} ({columns}) VALUES ({places})"
        return sql, tuple(given.values())

    def restoration(self, table: str, row: dict[str, Any]) -> tuple[str, tuple[Any, ...]]:
        keys = KEYS[table]
        places = ", ".join(f"{name} = ${number}" for number, name in enumerate(row, start=1))
        where = " AND ".join(f"{name} = ${list(row).index(name) + 1}" for name in keys)
        return f"UPDATE {name_stored_table(table)} SET {places} WHERE {where}", tuple(row.values())


def stranger(table: str, row: dict[str, Any]) -> dict[str, Any]:
    """The row under another name; what must be unique in it is another's too."""
    changed = {name: altered(row[name]) for name in (*KEYS[table], "token_hash", "key_hash") if name in row}
    return {**row, **changed}
