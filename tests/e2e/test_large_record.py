"""The record that the benchmark measures, small: what the pages read of it is what was written."""

import contextlib
import time
from collections import Counter

import pytest
from bench.large_record import Shape, build
from tests.support.fakes import FakeClock
from tests.support.tiers import scale
from tests.support.world import World

from qwed.bootstrap import signing_key_path
from qwed.domain.policy import DEFAULT_POLICY
from qwed.ect.key_files import open_ring
from qwed.stores import open_sqlite
from qwed.stores.sqlite import searches

SHAPE = Shape(
    activities=scale(ci=3_000, nightly=200_000, long=1_000_000),
    approvals=120,
    agents=10,
    principals=2,
    days=5,
)


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    path = tmp_path_factory.mktemp("large") / "qwed.db"
    now_ms = time.time_ns() // 1_000_000
    agents = build(path, SHAPE, now_ms)
    clock = FakeClock(now_ms)
    store = open_sqlite(path, DEFAULT_POLICY, clock, open_ring(signing_key_path(path), "did:qwed:node:local"))
    with contextlib.closing(World(store=store, clock=clock)) as world:
        yield world, agents


def everything(world, key=None, **query):
    found, cursor = [], {}
    while True:
        named = {} if key is None else {"key": key}
        page = world.call("GET", "/activity", params={"limit": 500, **query, **cursor}, **named).json()
        found += page["activities"]
        if "next" not in page:
            return found
        cursor = {"cursor": page["next"]}


def test_a_search_finds_every_entry_once(written, monkeypatch):
    world, agents = written
    monkeypatch.setattr(searches, "SEARCHED_AT_ONCE", SHAPE.activities // 4)
    entries = everything(world)
    decisions = [entry for entry in entries if entry["decision"] != "NOTED"]

    assert len({entry["activity_id"] for entry in entries}) == len(entries)
    assert len(decisions) == SHAPE.activities + SHAPE.approvals
    assert [e["timestamp"] for e in decisions] == sorted((e["timestamp"] for e in decisions), reverse=True)
    rare = everything(world, decision="BUDGET_EXCEEDED", agent_id=agents[0].agent_id)
    assert rare == [
        e for e in decisions if (e["decision"], e["agent_id"]) == ("BUDGET_EXCEEDED", agents[0].agent_id)
    ]


def test_the_overview_counts_what_a_search_finds(written):
    world, _ = written
    overview = world.call("GET", "/overview", params={"hours": 168}).json()
    counted = Counter(entry["decision"].lower() for entry in everything(world))

    assert {name: overview["totals"][name] for name in counted.keys() - {"noted"}} == {
        name: count for name, count in counted.items() if name != "noted"
    }
    assert sum(row["count"] for row in overview["refusals"]) == counted["denied"] + counted["budget_exceeded"]
    assert overview["waiting"] == SHAPE.approvals


def test_each_principal_sees_its_own_half(written):
    world, agents = written
    own = {agent.agent_id for agent in agents if agent.principal_id == "principal-1"}
    key = world.principal_key("principal-1")

    assert {entry["agent_id"] for entry in everything(world, key)} == own
    listed = world.call("GET", "/approvals", key=key, params={"status": "open", "limit": 1000}).json()[
        "approvals"
    ]
    assert len(listed) == SHAPE.approvals // 2
    assert {approval["agent_id"] for approval in listed} <= own
