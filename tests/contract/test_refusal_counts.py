"""What every store promises of refusals: counted once, durably, exactly, and stated once a minute."""

import json

import msgspec
import pytest
from tests.contract.test_stores import DURABLE, at_once
from tests.support.fakes import HOUR, MINUTE, SECOND
from tests.support.records import an_agent, noted

from qwed.domain.policy import DEFAULT_POLICY, Limits, Policy
from qwed.domain.refusal_counts import CountedRefusal, due_before
from qwed.gateway.kernel.coroutines import run
from qwed.gateway.kernel.ports import StoreUnavailable

FEW = Policy(limits=Limits(refusals_per_hour=3))


@pytest.fixture
def few(shelve):
    return shelve(FEW)


def refuse(shelf, agent, code="QWED-AGENT-CTX-001"):
    return run(shelf.store.count_refusal(CountedRefusal(agent.agent_id, agent.principal_id, code, shelf.now)))


def due(shelf):
    return run(shelf.store.list_refused_minutes_due(due_before(shelf.now), 100))


def state(shelf, agent, minute):
    return run(shelf.store.commit(noted(agent, shelf.now, stated=minute)))


def test_so_many_refusals_of_an_hour_are_recorded_and_the_rest_is_counted(few):
    agent, other = an_agent(), an_agent()
    assert [refuse(few, agent).wait_ms is None for _ in range(5)] == [True, True, True, False, False]
    assert refuse(few, other).wait_ms is None


def test_after_the_wait_that_was_told_a_refusal_is_recorded_again(few):
    agent = an_agent()
    for _ in range(3):
        refuse(few, agent)
        few.clock.advance(MINUTE)
    wait_ms = refuse(few, agent).wait_ms
    assert 0 < wait_ms <= HOUR
    few.clock.advance(wait_ms - 1)
    assert refuse(few, agent).wait_ms == 1
    few.clock.advance(1)
    assert refuse(few, agent).wait_ms is None
    assert refuse(few, agent).wait_ms is not None


def test_of_many_at_once_exactly_so_many_are_recorded(few):
    agent = an_agent()
    results = at_once(16, lambda _: refuse(few, agent))
    assert sum(counted.wait_ms is None for counted in results) == 3
    few.clock.advance(2 * MINUTE)
    (minute,) = due(few)
    assert (minute.recorded, minute.counted) == (3, 13)


@pytest.mark.parametrize("kind", DURABLE, indirect=True)
def test_what_was_counted_outlives_a_restart(few):
    agent = an_agent()
    for _ in range(5):
        refuse(few, agent)
    few.reopen()
    assert refuse(few, agent).wait_ms is not None
    few.clock.advance(2 * MINUTE)
    assert [minute.counted for minute in due(few)] == [3]


@pytest.mark.parametrize("kind", ["postgres"], indirect=True)
def test_gateways_that_share_a_database_count_together(shelve):
    one, other = shelve(FEW), shelve(FEW)
    agent = an_agent()
    results = at_once(12, lambda number: refuse((one, other)[number % 2], agent))
    assert sum(counted.wait_ms is None for counted in results) == 3


def test_a_minute_says_how_many_by_code_and_when(few):
    agent = an_agent()
    for _ in range(3):
        refuse(few, agent)
    first = few.now
    refuse(few, agent, "QWED-AGENT-LOOP-002")
    few.clock.advance(SECOND)
    refuse(few, agent, "QWED-AGENT-CTX-001")
    refuse(few, agent, "QWED-AGENT-LOOP-002")
    last = few.now
    few.clock.advance(2 * MINUTE)
    (minute,) = due(few)
    assert minute.counted == 3
    assert dict(minute.codes) == {"QWED-AGENT-LOOP-002": 2, "QWED-AGENT-CTX-001": 1}
    assert (minute.first_ms, minute.last_ms) == (first, last)


def test_a_minute_that_only_has_recorded_refusals_is_not_due(few):
    refuse(few, an_agent())
    few.clock.advance(2 * MINUTE)
    assert due(few) == []


def test_a_minute_is_stated_once(few):
    agent = an_agent()
    for _ in range(4):
        refuse(few, agent)
    assert due(few) == []
    few.clock.advance(2 * MINUTE)
    (minute,) = due(few)
    assert state(few, agent, minute) is None
    assert due(few) == []
    with pytest.raises(StoreUnavailable):
        state(few, agent, minute)


def test_what_is_counted_while_a_minute_is_stated_is_stated_too(few):
    agent = an_agent()
    for _ in range(4):
        refuse(few, agent)
    late = CountedRefusal(agent.agent_id, agent.principal_id, "QWED-AGENT-CTX-001", few.now)
    few.clock.advance(2 * MINUTE)
    (seen,) = due(few)
    run(few.store.count_refusal(late))
    with pytest.raises(StoreUnavailable):
        state(few, agent, seen)
    (again,) = due(few)
    assert again.counted == 2
    state(few, agent, again)
    run(few.store.count_refusal(late))
    few.clock.advance(2 * MINUTE)
    assert [minute.counted for minute in due(few)] == [1]


def test_an_earlier_minute_that_waits_to_be_stated_is_told(few):
    agent = an_agent()
    for _ in range(3):
        assert not refuse(few, agent).is_due
    assert not refuse(few, agent).is_due
    few.clock.advance(2 * MINUTE)
    assert refuse(few, agent).is_due


def test_the_default_is_three_hundred_in_an_hour():
    assert DEFAULT_POLICY.limits.refusals_per_hour == 300
    assert json.loads(msgspec.json.encode(DEFAULT_POLICY.to_wire()))["limits"]["refusals_per_hour"] == 300
