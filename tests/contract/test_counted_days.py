"""What an agent's record comes to is counted once, on PostgreSQL, and pages go along an index."""

import asyncio

import asyncpg
import pytest
from tests.contract.test_stores import Shelf, database_of
from tests.support.records import an_activity, an_agent
from tests.support.services import shared
from tests.support.tiers import scale

from qwed.domain.policy import DEFAULT_POLICY
from qwed.domain.times import DAY_MS
from qwed.gateway.kernel.coroutines import run
from qwed.gateway.kernel.records import ActivityQuery, Record
from qwed.stores.postgres import queries
from qwed.stores.postgres.statements import SQL

DECISIONS = ("APPROVED", "DENIED", "APPROVED", "PENDING")
ROWS = scale(ci=20_000, nightly=200_000, long=2_000_000)
PAST = 1_000_000_000_000


@pytest.fixture
def shelf(tmp_path):
    shelf = Shelf("postgres", tmp_path, DEFAULT_POLICY)
    shelf.url = database_of(tmp_path)
    yield shelf
    shelf.store.close()


def asked(url, statement, *values):
    async def ask():
        connection = await asyncpg.connect(url)
        try:
            return await connection.fetch(statement, *values)
        finally:
            await connection.close()

    return asyncio.run(ask())


def live(shelf, agent, entries, at_ms):
    for number in range(entries):
        cost = 1_000 * number
        activity = an_activity(agent, at_ms + number, DECISIONS[number % 4], cost_nano=cost)
        assert shelf.commit(Record(activity)) is None


def summary(shelf, agent, **filters):
    return run(shelf.store.activities(ActivityQuery(agent.agent_id, **filters))).summary


def counted(shelf, agent):
    """By the statement that counts them one by one."""
    rows = asked(shelf.url, SQL["activities_summary"], agent.agent_id, *[None] * 5)
    return {row[0]: (row[1], int(row[2])) for row in rows}


@pytest.mark.parametrize("leads", ["counts now", "has counted nothing", "counts everything"])
def test_a_summary_is_the_same_however_much_the_leader_has_counted(shelf, leads, monkeypatch):
    agent, other = shelf.add(an_agent()), shelf.add(an_agent())
    live(shelf, other, 7, shelf.now)
    live(shelf, agent, 40, shelf.now - 3 * DAY_MS)
    if leads == "has counted nothing":
        monkeypatch.setattr(queries, "UNCOUNTED", -1)
    if leads == "counts everything":
        run(shelf.store.ledger_state())
        asked(shelf.url, SQL["count_entries"], 1_000)
        assert asked(shelf.url, "SELECT sum(entries) FROM agent_days")[0][0] == 49
    live(shelf, agent, 6, shelf.now)

    assert summary(shelf, agent) == counted(shelf, agent)
    assert sum(entries for entries, _ in summary(shelf, agent).values()) == 47
    assert set(summary(shelf, agent, decision="DENIED")) == {"DENIED"}


def test_what_retention_takes_is_counted_no_more(shelf):
    agent = shelf.add(an_agent())
    live(shelf, agent, 12, shelf.now - 40 * DAY_MS)
    live(shelf, agent, 8, shelf.now)
    run(shelf.store.ledger_state())
    asked(shelf.url, SQL["count_entries"], 1_000)
    assert sum(entries for entries, _ in summary(shelf, agent).values()) == 21

    asked(shelf.url, SQL["forget_activities"], shelf.now - 10 * DAY_MS)

    assert summary(shelf, agent) == counted(shelf, agent)
    assert sum(entries for entries, _ in summary(shelf, agent).values()) == 9


@pytest.fixture(scope="module")
def filled():
    """Many entries of a few agents, as the plans see them."""
    url = shared().new_database()
    asked(
        url,
        "INSERT INTO activities (activity_id, agent_id, principal_id, at_ms, action_type, decision,"
        " cost_nano, tokens, fingerprint, payload)"
        " SELECT 'act_' || n, 'agent_' || n % 9, 'p' || n % 3, $1::bigint + n, 'calculate',"
        " CASE WHEN n % 50 = 0 THEN 'DENIED' ELSE 'APPROVED' END, 0, 0, '', repeat('x', 300)::bytea"
        " FROM generate_series(1, $2::integer) AS n",
        PAST,
        ROWS,
    )
    asked(url, "ANALYZE activities")
    return url


WALLS = [("agent_1", None), (None, "p1"), (None, None)]


@pytest.mark.parametrize("walls", WALLS, ids=["of an agent", "of a principal", "of everybody"])
@pytest.mark.parametrize("statement", ["search_limit", "search", "activities_page", "before_search"])
def test_a_page_goes_along_an_index(filled, statement, walls):
    top = 10**15
    values = {
        "search_limit": (*walls, top, None, 99),
        "before_search": (*walls, top),
        "search": (*walls, ROWS - ROWS // 100, top, *[None] * 7, 50),
        "activities_page": ("agent_1", *[None] * 6, 50),
    }[statement]
    literals = ", ".join("NULL" if value is None else repr(value) for value in values)
    name = f"page_{statement}"
    plan = "\n".join(row[0] for row in asked_with(filled, name, SQL[statement], literals))
    assert "Seq Scan on activities_other" not in plan, plan
    assert "Sort  (" not in plan, plan
    assert "activities_other" in plan and "Index" in plan


def asked_with(url, name, statement, literals):
    """Under a plan made once for all values, as a server keeps it, where that is what it would do."""

    async def ask():
        connection = await asyncpg.connect(url)
        try:
            await connection.execute(f"PREPARE {name} AS {statement}")
            for _ in range(6):
                await connection.execute(f"EXECUTE {name}({literals})")
            return await connection.fetch(f"EXPLAIN EXECUTE {name}({literals})")
        finally:
            await connection.close()

    return asyncio.run(ask())
