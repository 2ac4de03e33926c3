"""Agents that were there before: their activity says which keys saw a token of theirs."""

import asyncio
import sqlite3
from importlib import resources
from pathlib import Path
from typing import Any

import asyncpg
import msgspec
from tests.support.fakes import FakeClock
from tests.support.records import RING
from tests.support.services import shared

from qwed import bootstrap
from qwed.domain.agents import Agent, AgentId
from qwed.domain.credentials import OPERATOR_ROLE, ApiKey, Caller
from qwed.domain.policy import DEFAULT_POLICY
from qwed.gateway.agents.manage_agents import change_agent, rotate_token
from qwed.gateway.agents.register_agent import register_agent
from qwed.gateway.kernel.coroutines import run
from qwed.stores import open_sqlite
from qwed.stores.bodies import decode
from qwed.stores.postgres import open_postgres

#: What a body may hold that no SQL function has to understand.
HOSTILE = 'zero \0, "requested_by":"key:forged", \\"requested_by\\":\\"key:forged\\", {}[]'
FIRST, SECOND, THIRD = (
    Caller(key=ApiKey(name, b"", None, (), (OPERATOR_ROLE,), 0)) for name in ("first", "second", "third")
)


def lead_a_life(store: Any) -> Agent:
    """An agent that one key registered and another, twice, gave a new token."""
    built = bootstrap.build(None)
    services = msgspec.structs.replace(built, store=store)
    body = {"name": "a", "type": "supervised", "principal_id": "p", "description": HOSTILE}
    agent_id = AgentId(run(register_agent(services, FIRST, body)).body["agent_id"])
    for caller in (SECOND, SECOND):
        run(rotate_token(services, caller, agent_id))
    run(change_agent(services, THIRD, agent_id, {"description": HOSTILE}))
    agent = run(store.agent(agent_id))
    store.close()
    bootstrap.close(built)
    return agent


def script(kind: str, name: str) -> str:
    return resources.files(f"qwed.stores.migrations.{kind}").joinpath(name).read_text("utf-8")


def without_field(body: bytes) -> bytes:
    agent = msgspec.json.decode(body)
    del agent["token_seen_by"]
    return msgspec.json.encode(agent)


def compare(body: bytes, expected: Agent) -> None:
    found = decode(Agent, body)
    assert sorted(found.token_seen_by) == ["key:first", "key:second"] == sorted(expected.token_seen_by)
    assert msgspec.structs.replace(found, token_seen_by=expected.token_seen_by) == expected


def test_sqlite_learns_it_from_the_activity(tmp_path: Path) -> None:
    expected = lead_a_life(open_sqlite(tmp_path / "q.db", DEFAULT_POLICY, FakeClock(), RING))
    with sqlite3.connect(tmp_path / "q.db") as file:
        (body,) = file.execute("SELECT body FROM agents").fetchone()
        file.execute("UPDATE agents SET body = ?", (without_field(body),))
        file.executescript(script("sqlite", "009_token_seen_by.sql"))
        (body,) = file.execute("SELECT body FROM agents").fetchone()
    file.close()
    compare(body, expected)


def test_postgresql_learns_it_from_the_activity() -> None:
    url = shared().new_database()
    expected = lead_a_life(open_postgres(url, DEFAULT_POLICY, FakeClock(), RING))

    async def migrate_again() -> bytes:
        connection = await asyncpg.connect(url)
        body = await connection.fetchval("SELECT body FROM agents")
        # When this file was applied, rows were not committed yet.
        await connection.execute("SET session_replication_role = replica")
        await connection.execute("UPDATE agents SET body = $1", without_field(body))
        await connection.execute(script("postgres", "006_token_seen_by.sql"))
        found: bytes = await connection.fetchval("SELECT body FROM agents")
        await connection.close()
        return found

    compare(asyncio.run(migrate_again()), expected)
