"""A ledger that does not keep up never does so silently."""

import msgspec
import pytest
from tests.contract.test_stores import STORES, database_of
from tests.support.fakes import SECOND, FakeClock
from tests.support.postgres import PostgresServer
from tests.support.receivers import wait_for
from tests.support.records import an_agent, an_attempt, noted
from tests.support.world import World

from qwed.domain.policy import DEFAULT_POLICY, Limits
from qwed.gateway.kernel import ledger_watch
from qwed.gateway.kernel.coroutines import run
from qwed.gateway.kernel.ledger_watch import LedgerLag, LedgerWatch
from qwed.gateway.kernel.ports import Admission, LedgerBehind

STOPS = msgspec.structs.replace(DEFAULT_POLICY, limits=Limits(stop_when_ledger_lags=True))


def sql(folder, text: str) -> str:
    url = database_of(folder)
    server = PostgresServer(folder)
    server.port = int(url.rsplit(":", 1)[1].split("/", 1)[0])
    return server.sql(text, url.rsplit("/", 1)[1])


@pytest.fixture
def broken(tmp_path, monkeypatch):
    """A gateway that leads a ledger whose last entry was edited while nobody led it."""
    monkeypatch.setattr(ledger_watch, "PATIENCE_SECONDS", 0.5)
    clock = FakeClock()
    first = STORES["postgres"](tmp_path, STOPS, clock)
    store = STORES["postgres"](tmp_path, STOPS, clock)
    agent = an_agent()
    run(first.commit(noted(agent, clock.now_ms(), agent=agent)))
    run(first.ledger_state())
    sql(tmp_path, "UPDATE ledger SET at_ms = at_ms + 1 WHERE seq = (SELECT max(seq) FROM ledger)")
    first.close()
    wait_for(store.ledger_watch.problem, "problem of the ledger")
    yield store, agent, clock
    store.close()


def test_a_broken_end_stops_deciding_where_the_policy_says_so(broken):
    store, agent, clock = broken
    with pytest.raises(LedgerBehind) as refused:
        run(store.admit(agent, an_attempt(1), clock.now_ms()))
    assert refused.value.component == "ledger"
    assert "can't be written" in str(refused.value)


def test_what_waits_for_its_place_is_counted(broken):
    store, agent, clock = broken
    run(store.commit(noted(agent, clock.now_ms())))
    clock.advance(20 * SECOND)
    wait_for(lambda: store.ledger_watch.lag.seconds >= 20, "lag")
    assert store.ledger_watch.lag.entries == 1
    assert "1 records wait" in store.ledger_watch.problem()


def test_a_gateway_with_such_a_ledger_is_not_ready_and_says_so_in_log_and_metrics(monkeypatch):
    monkeypatch.setattr(ledger_watch, "PATIENCE_SECONDS", 0.0)
    world = World()
    try:
        watch = world.services.store.ledger_watch
        watch.lag = LedgerLag(0.25, 7)
        watch.fail("BrokenChain: entry 3 was changed")
        ready = world.call("GET", "/ready", key=None)
        assert (ready.status_code, ready.json()["components"]) == (503, ["ledger"])
        assert "entry 3" not in ready.text, "anybody may ask"
        assert b"BrokenChain: entry 3 was changed" in world.log.getvalue()
        figures = world.call("GET", "/metrics").text
        assert "qwed_ledger_lag_seconds 0.25" in figures
        assert "qwed_ledger_waiting_entries 7.0" in figures
        assert "qwed_ledger_leader 1.0" in figures
    finally:
        world.close()


@pytest.mark.parametrize("kind", ["memory", "sqlite", "postgres"])
def test_a_ledger_that_keeps_up_is_no_problem(kind, tmp_path):
    clock = FakeClock()
    store = STORES[kind](tmp_path, STOPS, clock)
    try:
        agent = an_agent()
        run(store.commit(noted(agent, clock.now_ms(), agent=agent)))
        assert isinstance(run(store.admit(agent, an_attempt(1), clock.now_ms())), Admission)
        assert store.ledger_watch.problem() is None
    finally:
        store.close()


def test_a_failure_that_ends_soon_is_told_once_and_is_no_problem():
    watch, told = LedgerWatch(), []
    watch.listen(told.append)
    watch.fail("the database went away")
    watch.fail("the database went away")
    assert watch.problem() is None
    watch.succeed()
    assert told == ["the database went away"]


def test_a_lag_without_a_failure_is_one_too():
    watch = LedgerWatch()
    watch.lag = LedgerLag(11, 3, is_leader=False)
    assert "3 records wait" in (watch.problem() or "")


def test_holding_does_not_wait_for_the_disk_and_recording_does(tmp_path):
    """Reading a page tidies it up, which is logged: a hold would wait for that to be flushed."""
    clock = FakeClock()
    store = STORES["postgres"](tmp_path, DEFAULT_POLICY, clock)
    try:

        async def settings(home) -> list[str]:
            lines = (home.admit._line, home.commit._line, home.claims._lines[0], home.readers._lines[0])
            connections = [await line.connection() for line in lines]
            return [await c.fetchval("SHOW synchronous_commit") for c in connections]

        server = sql(tmp_path, "SHOW synchronous_commit")
        assert run(store._do(settings)) == ["off", server, "off", server]
    finally:
        store.close()
