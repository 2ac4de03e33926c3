"""Counters follow from activities: `verify` recomputes them as far as those are kept."""

import asyncio
import contextlib
import shutil
import sqlite3

import asyncpg
import pytest
from tests.support.fakes import DAY
from tests.support.services import shared
from tests.support.world import World

from qwed.domain.findings import Status
from qwed.domain.policy import Policy, Retention
from qwed.domain.risk import Risk
from qwed.settings import parse_database
from qwed.stores.postgres.snapshot import copy_of
from qwed.stores.sqlite.counters import verify_counters
from qwed.stores.sqlite.ledger import Followed, verify_ledger

COUNTERS = {
    "days": ("kind", "subject", "day", "requests", "cost_nano", "tokens"),
    "hours": ("principal_id", "hour", "decision", "error_code", "entries", "cost_nano"),
    "seconds": ("agent_id", "second", "requests"),
    "steps": ("agent_id", "conversation_id", "step", "fingerprint", "approved", "activity_id"),
}


@pytest.fixture(scope="module")
def busy(tmp_path_factory):
    """A file after decisions of all kinds, on two days: when the last was made, and the file."""
    path = tmp_path_factory.mktemp("counters") / "qwed.db"
    world = World(database=path)
    agent = world.register()
    act(world, agent, "first")
    world.clock.advance(DAY)
    act(world, agent, "second")
    now_ms = world.clock.now_ms()
    world.close()
    return path, now_ms


def act(world, agent, conversation):
    """Approved, denied, waiting, redeemed, without a conversation, and told what it cost."""
    for step in (1, 2, 3):
        answer = world.verify(agent, {"type": "calculate", "query": f"{step}+1"}, step, conversation)
        assert answer["decision"] == "APPROVED", answer
    told = {"outcome": "success", "usage": {"cost_usd": 0.25, "tokens": 7}}
    path = f"/agents/{agent['agent_id']}/activity/{answer['activity_id']}/outcome"
    response = world.call("POST", path, json=told)
    assert response.status_code == 200, response.text
    # The same step again is refused before it counts as a request.
    again = world.verify(agent, {"type": "calculate", "query": "1+1"}, 1, conversation)
    assert again["decision"] == "DENIED"
    world.prover.says(Status.FAILED)
    denied = world.verify(agent, {"type": "calculate", "query": "1=2"}, 4, conversation)
    assert denied["decision"] == "DENIED"
    world.prover.says(Status.VERIFIED, Risk.HIGH)
    action = {"type": "calculate", "query": "x"}
    asked = world.verify(agent, action, 5, conversation, key=agent["agent_token"])
    assert asked["decision"] == "PENDING", asked
    path = f"/approvals/{asked['approval']['id']}"
    assert world.call("POST", f"{path}/approve", json={}).status_code == 200
    redeemed = world.call("POST", f"{path}/redeem", key=agent["agent_token"], json={"action": action})
    assert redeemed.json()["decision"] == "APPROVED", redeemed.text
    world.prover.says(Status.VERIFIED)


def test_the_counters_of_a_gateway_follow_from_its_activities(busy):
    path, now_ms = busy

    found = verify_counters(path, now_ms)

    assert found.differences == ()
    assert found.checked > 10
    assert found.not_checked == 0


def changes(path, table):
    """Every edit of every column of every row, a deletion, and a row from nowhere."""
    connection = sqlite3.connect(path)
    rows = connection.execute(f"SELECT NULL, * FROM {table}").fetchall()
    names = [column[0] for column in connection.execute(f"SELECT * FROM {table}").description]
    connection.close()
    keys = [name for name in COUNTERS[table] if name not in ("requests", "entries", "cost_nano", "tokens")]
    for _, *values in rows:
        row = dict(zip(names, values, strict=True))
        where = " AND ".join(f"{name} IS ?" for name in keys)
        named = tuple(row[name] for name in keys)
        for column in COUNTERS[table]:
            value = row[column]
            other = value[:-1] + b"!" if isinstance(value, bytes) else f"{value}x"
            other = value - 1 if isinstance(value, int) else other
            yield column, f"UPDATE OR REPLACE {table} SET {column} = ? WHERE {where}", (other, *named)
        yield "deleted", f"DELETE FROM {table} WHERE {where}", named


@pytest.mark.parametrize("table", COUNTERS)
def test_a_counter_that_was_edited_or_deleted_is_named(busy, table, tmp_path):
    path, now_ms = busy
    copy = tmp_path / "attacked.db"
    missed = []
    for what, sql, values in changes(path, table):
        shutil.copy(path, copy)
        connection = sqlite3.connect(copy)
        connection.execute(sql, values)
        connection.commit()
        connection.close()
        found = verify_counters(copy, now_ms)
        if not any(table in says for says in found.differences):
            missed.append((what, values))

    # A request that was refused early may count or not; and of seconds only the last hour is read.
    unseen = {"requests"} if table == "days" else set()
    if table == "seconds":
        missed = [(what, values) for what, values in missed if values[-1] > now_ms // 1000 - 3600]
        unseen = {"requests"}
    assert {what for what, _ in missed} <= unseen, missed


def test_what_lies_beyond_retention_is_not_checked_and_never_called_right(tmp_path):
    path = tmp_path / "qwed.db"
    world = World(database=path, policy=Policy(retention=Retention(activity_days=1)))
    agent = world.register()
    act(world, agent, "first")
    world.clock.advance(3 * DAY)
    for step in range(70):
        world.verify(agent, {"type": "calculate", "query": f"{step}+1"}, 1, f"later {step}")
    now_ms = world.clock.now_ms()
    world.close()

    found = verify_counters(path, now_ms)

    assert found.differences == ()
    assert found.not_checked > 0 and found.checked > 0


def test_an_erased_conversation_is_no_difference(tmp_path):
    path = tmp_path / "qwed.db"
    world = World(database=path)
    agent = world.register()
    act(world, agent, "first")
    answer = world.verify(agent, {"type": "calculate", "query": "5+1"}, 9, "first")
    erased = world.call(
        "POST",
        f"/agents/{agent['agent_id']}/activity/{answer['activity_id']}/redact",
        json={"reason": "asked for"},
    )
    now_ms = world.clock.now_ms()
    world.close()

    assert erased.status_code == 200, erased.text
    assert verify_counters(path, now_ms).differences == ()


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """The same on a database server: its address, the public keys, and when the last decision was made."""
    folder = tmp_path_factory.mktemp("served")
    url = shared().new_database()
    with contextlib.chdir(folder):
        world = World(database=parse_database(url))
        agent = world.register()
        act(world, agent, "first")
        world.clock.advance(DAY)
        act(world, agent, "second")
        now_ms = world.clock.now_ms()
        keys = world.services.signer.known()
        world.run(leave(world.services.store))
        world.close()
    return url, keys, now_ms


async def leave(store):
    """Connections end on the loop that opened them."""
    await store._homes.pop(asyncio.get_running_loop()).close()


async def snapshot_after(url, sql, copy):
    """The copy that is made after the attack, which is then taken back."""
    connection = await asyncpg.connect(url)
    transaction = connection.transaction(isolation="repeatable_read")
    await transaction.start()
    try:
        await connection.execute(sql)
        return await copy_of(connection, copy)
    finally:
        await transaction.rollback()
        await connection.close()


@pytest.mark.parametrize(
    ("sql", "table"),
    [
        ("SELECT 1", None),
        ("UPDATE days SET cost_nano = 0 WHERE kind = 'agent'", "days"),
        ("UPDATE days SET requests = 0 WHERE kind = 'agent'", "days"),
        ("DELETE FROM days", "days"),
        ("UPDATE hours SET entries = entries - 1", "hours"),
        ("DELETE FROM seconds", "seconds"),
        ("DELETE FROM steps", "steps"),
        ("UPDATE steps SET step = step + 100", "steps"),
        ("UPDATE steps SET fingerprint = ''", "steps"),
    ],
)
def test_the_counters_of_a_database_server_follow_too(served, tmp_path, sql, table):
    url, keys, now_ms = served
    copy = tmp_path / "copy.db"

    waiting = asyncio.run(snapshot_after(url, sql, copy))

    assert isinstance(verify_ledger(copy, keys, (), waiting), Followed)
    told = verify_counters(copy, now_ms, is_copy=True).differences
    assert bool(told) == (table is not None)
    assert all(says.startswith(f"{table} ") for says in told), told
