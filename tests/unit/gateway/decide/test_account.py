"""What the walk did, row by row, as `GET /activity/ID` tells it."""

import pytest

from qwed.domain.checks import CHECKS
from qwed.domain.findings import Failure, Status
from qwed.domain.risk import Risk
from qwed.gateway.decide.account import tell_account
from qwed.gateway.decide.case import Door
from qwed.gateway.decide.table import TABLE


def tell(world, answer):
    return world.call("GET", f"/activity/{answer['activity_id']}").json()["checks"]


def numbers(checks, state):
    return [check["number"] for check in checks if check["state"] == state and check["number"] is not None]


def test_the_checks_are_those_of_the_protocol_in_its_order():
    assert list(CHECKS) == list(range(1, 21))


@pytest.mark.parametrize("door", [Door.ACTION, Door.TOOL], ids=str)
def test_a_door_asks_every_numbered_check_once_and_in_order(door):
    asked = [number for row in TABLE[door] for number in row.numbers]

    assert asked == list(range(3, 19))


def test_an_approved_action_passed_every_check(world):
    agent = world.register()

    checks = tell(world, world.verify(agent))

    assert numbers(checks, "passed") == list(range(1, 21))
    assert {check["state"] for check in checks} == {"passed", "not_applicable"}


def test_a_denied_action_is_recorded_and_says_so(world):
    """It was refused by one check; that it was recorded is no less true."""
    world.prover.says(Status.FAILED, Risk.LOW, failure=Failure.INCORRECT)
    agent = world.register()

    checks = tell(world, world.verify(agent))

    assert numbers(checks, "decided") == [17]
    assert numbers(checks, "not_reached") == [18]
    assert numbers(checks, "passed") == [*range(1, 17), 19, 20]


def test_of_several_that_ask_for_a_person_each_is_told_and_one_speaks(world):
    world.prover.says(Status.VERIFIED, Risk.HIGH)
    agent = world.register()
    answer = world.verify(agent, options={"risk_threshold": "low"})

    checks = tell(world, answer)

    assert answer["decision"] == "PENDING"
    (spoke,) = [check for check in checks if check["state"] == "decided"]
    (other,) = [check for check in checks if check["state"] == "tightened"]
    assert (spoke["number"], spoke["message"]) == (18, answer["error"]["message"])
    assert "above the requested threshold" in other["message"]


def test_a_refusal_at_admission_names_the_check_that_made_it(world):
    agent = world.register()
    world.verify(agent)

    checks = tell(world, world.verify(agent, step=1))

    (decided,) = [check for check in checks if check["state"] == "decided"]
    assert (decided["number"], decided["code"]) == (8, "QWED-AGENT-LOOP-002")
    assert numbers(checks, "not_reached") == list(range(9, 19))


def test_a_tool_call_without_a_conversation_skips_what_only_a_conversation_has(world):
    agent = world.register()
    path = f"/agents/{agent['agent_id']}/tools/get_weather"

    checks = tell(world, world.call("POST", path, json={}).json())

    assert numbers(checks, "not_applicable") == [4, 5, 6, 8, 9, 10, 11, 12, 13]


def test_an_entry_from_before_accounts_claims_nothing():
    assert tell_account({"decision": "APPROVED"}) == []
    assert tell_account({"decision": "APPROVED", "account": {"version": 0}}) == []


def test_a_change_by_a_person_went_through_no_checks(world):
    agent = world.register()
    world.call("POST", f"/agents/{agent['agent_id']}/suspend", json={"reason": "a test"})
    newest = world.activity(agent)["activities"][0]

    assert newest["decision"] == "NOTED"
    assert tell(world, newest) == []
