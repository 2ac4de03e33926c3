"""What has never been there before is named; what is different every time is not."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.fakes import HOUR, NOON

from qwed.domain.habits import MAX_DIFFERENCES, ComparedAction, differences
from qwed.domain.risk import Risk


def usual(count=60, **changes):
    values = {
        "action_type": "pay",
        "target": "bank",
        "parameters": {"amount": 10, "to": "ada"},
        "risk": Risk.MEDIUM,
        "query": "SELECT 1",
        "code": "print(1)",
        **changes,
    }
    return [ComparedAction(at_ms=NOON - n * 24 * HOUR, **values) for n in range(count)]


def fields(deed, past):
    return {difference.field: difference for difference in differences(deed, past)}


SAME = ComparedAction("pay", NOON, "bank", {"amount": 10, "to": "ada"}, Risk.MEDIUM, "SELECT 1", "print(1)")


def test_what_is_always_done_is_not_unusual():
    assert differences(SAME, usual()) == []


def test_an_agent_without_a_past_has_nothing_usual():
    assert fields(SAME, usual(4))["history"].usual == "only 4 earlier actions to compare with"


def test_a_new_type_is_named():
    assert "never" in fields(ComparedAction("shred", NOON), usual())["action type"].usual


def test_a_rare_type_is_named_with_how_rare_it_is():
    past = [*usual(99), ComparedAction("shred", NOON)]

    assert fields(ComparedAction("shred", NOON), past)["action type"].usual == "1 of its last 100 actions"


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"target": "casino"}, "target"),
        ({"query": "SELECT * FROM salaries"}, "query"),
        ({"code": "print(2)"}, "code"),
        ({"parameters": {"amount": 11, "to": "ada"}}, "amount"),
        ({"parameters": {"amount": Decimal("9.99"), "to": "ada"}}, "amount"),
        ({"parameters": {"amount": 10, "to": "eve"}}, "to"),
        ({"parameters": {"amount": 10, "to": "ada", "urgent": True}}, "urgent"),
        ({"risk": Risk.CRITICAL}, "risk"),
        ({"at_ms": NOON + 12 * HOUR}, "time of day"),
    ],
    ids=["target", "query", "code", "more", "less", "recipient", "parameter", "risk", "hour"],
)
def test_each_thing_that_was_never_there_is_named_alone(changes, field):
    import msgspec

    assert set(fields(msgspec.structs.replace(SAME, **changes), usual())) == {field}


def test_what_is_different_every_time_is_no_habit():
    past = [ComparedAction("pay", NOON, f"account {n}", {"note": f"for {n}"}) for n in range(60)]

    assert differences(ComparedAction("pay", NOON, "account x", {"note": "for x"}), past) == []


def test_hours_are_a_circle():
    past = [ComparedAction("pay", (n * 24 + 23) * HOUR) for n in range(60)]

    assert differences(ComparedAction("pay", 0), past) == []


values = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.decimals() | st.text() | st.just([1, {}])
)
deeds = st.builds(
    ComparedAction,
    st.sampled_from(("a", "b")),
    st.integers(0, 10**13),
    st.none() | st.text(max_size=300),
    st.dictionaries(st.sampled_from("xyz"), values),
    st.none() | st.sampled_from(Risk),
)


@given(deeds, st.lists(deeds, max_size=12))
def test_no_values_break_the_comparison(deed, past):
    found = differences(deed, past)

    assert len(found) <= MAX_DIFFERENCES
    assert all(isinstance(difference.now, str) and len(difference.now) <= 200 for difference in found)
