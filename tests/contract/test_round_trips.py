"""How often a decision waits for PostgreSQL: once to be admitted, once to be recorded."""

import pytest
from tests.support.fakes import FakeClock
from tests.support.records import RING, UNLIMITED, an_agent, an_attempt, decided, noted
from tests.support.services import shared
from tests.support.wire import wire_to

from qwed.domain.policy import DEFAULT_POLICY, BudgetLimits
from qwed.gateway.kernel.coroutines import run
from qwed.gateway.kernel.ports import Admission
from qwed.stores.postgres import open_postgres

DECISIONS = 20


@pytest.fixture
def counted():
    """A store, and what it sends."""
    with wire_to(shared().new_database()) as (url, wire):
        store = open_postgres(url, DEFAULT_POLICY, FakeClock(), RING)
        yield store, wire
        store.close()


def decide(store, agent, step, conversation):
    attempt = an_attempt(step, f"{conversation}-{step}", conversation)
    admission = run(store.admit(agent, attempt, FakeClock().now_ms()))
    assert isinstance(admission, Admission)
    assert run(store.commit(decided(agent, attempt, admission), admission)) is None


@pytest.mark.parametrize("budget", [UNLIMITED, BudgetLimits()], ids=["unlimited", "limited"])
def test_a_decision_takes_two_round_trips(counted, budget):
    store, wire = counted
    agent = an_agent(budget=budget)
    run(store.commit(noted(agent, FakeClock().now_ms(), agent=agent)))
    # Connections are made, and statements described, when they are first needed.
    decide(store, agent, 1, "first")
    before = wire.round_trips()
    for number in range(DECISIONS):
        # New conversations and old ones.
        decide(store, agent, number // 2 + 1, f"c{number % 2}")

    assert wire.round_trips() - before == 2 * DECISIONS
