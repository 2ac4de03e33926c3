"""Requests nobody should make: each is refused with a field and a sentence, or decided; none is a crash."""

import json
import math
from decimal import Decimal

import pytest
from tests.support.world import calculate, code_of

from qwed.engines.fair_queue import Client
from qwed.gateway.kernel.answers import RequestError
from qwed.gateway.kernel.requests import MAX_NAME, MAX_TEXT

LONE = "\ud800"
HUGE = 10**5000
CONTEXT = {"conversation_id": "c", "step_number": 1}


@pytest.fixture
def gateway(world):
    return world.gateway


@pytest.fixture
def agent_id(world):
    return world.register()["agent_id"]


def field_of(call):
    with pytest.raises(RequestError) as refused:
        call()
    assert refused.value.status == 422
    return refused.value.refusal.details["field"]


# --- from a caller in the same process ---------------------------------------------------------------


@pytest.mark.parametrize("field", ["name", "principal_id", "description", "framework", "model"])
def test_a_registration_with_a_lone_surrogate_is_refused(gateway, field):
    body = {"name": "a", "type": "supervised", "principal_id": "p", field: LONE}

    assert field_of(lambda: gateway.register_agent(**body)) == field


def test_a_name_in_a_list_with_a_lone_surrogate_is_refused(gateway):
    body = {"name": "a", "type": "supervised", "principal_id": "p"}
    permissions = {"allowed_tools": ["fine", LONE]}

    place = field_of(lambda: gateway.register_agent(**body, permissions=permissions))
    assert place == "permissions.allowed_tools"


@pytest.mark.parametrize("field", ["type", "query", "code", "target"])
def test_an_action_with_a_lone_surrogate_is_refused(gateway, agent_id, field):
    action = calculate() | {field: LONE}

    assert field_of(lambda: gateway.verify_action(agent_id, action, CONTEXT)) == f"action.{field}"


@pytest.mark.parametrize("value", [LONE, 5, None, b"agent", HUGE], ids=lambda value: type(value).__name__)
@pytest.mark.parametrize("method", ["get_agent", "get_agent_budget", "get_agent_activity", "suspend"])
def test_an_agent_id_that_is_no_text_is_refused(gateway, method, value):
    assert field_of(lambda: getattr(gateway, method)(value)) == "agent_id"


@pytest.mark.parametrize(
    ("call", "field"),
    [
        (lambda g, a: g.suspend(a, LONE), "reason"),
        (lambda g, a: g.report_outcome(a, LONE, "success"), "activity_id"),
        (lambda g, a: g.approvals(limit=10**30), "limit"),
        (lambda g, a: g.approvals(limit=0), "limit"),
        (lambda g, a: g.approvals(limit=True), "limit"),
        (lambda g, a: g.approvals(after=LONE), "after"),
        (lambda g, a: g.agents(limit=HUGE), "limit"),
        (lambda g, a: g.get_approval(LONE), "approval_id"),
        (lambda g, a: g.revoke_key(LONE), "key_id"),
        (lambda g, a: g.get_agent_activity(a, action_type=LONE), "action_type"),
        (lambda g, a: g.get_agent_activity(a, limit=HUGE), "limit"),
        (lambda g, a: g.verify_tool(a, "t" + LONE), "tool_name"),
        (lambda g, a: g.verify_tool(a, None), "tool_name"),
        (lambda g, a: g.verify_tool(a, "get_weather", justification=LONE), "justification"),
    ],
)
def test_what_cannot_be_looked_for_is_refused(gateway, agent_id, call, field):
    assert field_of(lambda: call(gateway, agent_id)) == field


@pytest.mark.parametrize("step", [HUGE, -HUGE], ids=["positive", "negative"])
def test_a_step_too_long_to_write_is_denied(gateway, agent_id, step):
    answer = gateway.verify_action(agent_id, calculate(), {"conversation_id": "c", "step_number": step})

    assert answer["decision"] == "DENIED"


@pytest.mark.parametrize(
    "value",
    [HUGE, math.nan, Decimal("NaN"), Decimal("-Infinity"), LONE, {LONE: 1}],
    ids=lambda value: type(value).__name__,
)
def test_odd_values_beside_the_context_leave_a_readable_record(gateway, agent_id, value):
    context = CONTEXT | {"note": value}

    assert gateway.verify_action(agent_id, calculate(), context)["decision"] == "APPROVED"
    assert gateway.get_agent_activity(agent_id)["activities"][0]["decision"] == "APPROVED"


def test_an_integer_too_long_to_write_is_no_parameter(gateway, agent_id):
    answer = gateway.verify_action(agent_id, calculate(parameters={"n": HUGE}), CONTEXT)

    assert (answer["decision"], code_of(answer)) == ("DENIED", "QWED-AGENT-STATE-004")
    assert gateway.get_agent_activity(agent_id)["activities"][0]["decision"] == "DENIED"


def test_numbers_no_float_can_hold_are_read_back_as_decimals_and_the_others_as_floats(gateway, agent_id):
    given = {"large": Decimal("1e900"), "small": Decimal("2.5"), "whole": 3}
    gateway.verify_action(agent_id, calculate(parameters=given), CONTEXT)

    read = gateway.get_agent_activity(agent_id)["activities"][0]["action"]["parameters"]

    assert read == given
    assert [type(value) for value in read.values()] == [Decimal, float, int]


# --- both doors --------------------------------------------------------------------------------------


@pytest.mark.parametrize("door", ["verify", "tools/get_weather"])
@pytest.mark.parametrize("intent", [5, ["x"], {"a": 1}, True, "x" * (MAX_TEXT + 1)])
def test_the_intent_is_a_text_of_bounded_length_at_either_door(world, agent_id, door, intent):
    body = {"context": CONTEXT | {"user_intent": intent}}
    if door == "verify":
        body["action"] = calculate()

    answer = world.call("POST", f"/agents/{agent_id}/{door}", json=body)

    assert answer.status_code == 422
    assert answer.json()["error"]["details"]["field"] == "context.user_intent"


def test_a_tools_name_and_justification_are_of_bounded_length(world, agent_id):
    def ask(tool, **body):
        return world.call("POST", f"/agents/{agent_id}/tools/{tool}", json=body)

    assert ask("t" * MAX_NAME).status_code == 200
    assert ask("t" * (MAX_NAME + 1)).status_code == 422
    assert ask("get_weather", justification="x" * MAX_TEXT).status_code == 200
    assert ask("get_weather", justification="x" * (MAX_TEXT + 1)).status_code == 422


@pytest.mark.parametrize(
    ("context", "code"),
    [
        ({}, "QWED-AGENT-CTX-001"),
        ({"conversation_id": "c", "step_number": 0}, "QWED-AGENT-CTX-002"),
        ({"conversation_id": "c", "step_number": 1_000_000}, "QWED-AGENT-LOOP-001"),
        (CONTEXT, "QWED-AGENT-STATE-004"),
    ],
)
def test_both_doors_make_their_checks_in_the_same_order(world, agent_id, context, code):
    parameters = '{"x": NaN}'
    context = json.dumps(context)
    bodies = {
        "verify": f'{{"action": {{"type": "calculate", "parameters": {parameters}}}, "context": {context}}}',
        "tools/get_weather": f'{{"parameters": {parameters}, "context": {context}}}',
    }

    for door, body in bodies.items():
        answer = world.call("POST", f"/agents/{agent_id}/{door}", content=body)
        assert code_of(answer.json()) == code


def test_a_tool_call_without_a_context_still_has_its_parameters_checked(world, agent_id):
    answer = world.call("POST", f"/agents/{agent_id}/tools/get_weather", content='{"parameters": {"x": NaN}}')

    assert code_of(answer.json()) == "QWED-AGENT-STATE-004"


# --- single answers ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "parameters", ['{"x": NaN}', '{"x": [1e99999]}', '{"x": 1e999}', '{"x": "\\ud800"}', "[1]"]
)
def test_an_engine_asked_alone_gets_no_parameters_that_are_not_json(world, parameters):
    body = f'{{"query": "2+2", "parameters": {parameters}}}'

    answer = world.call("POST", "/verify/math", content=body)

    assert answer.status_code == 422
    assert code_of(answer.json()) == "QWED-AGENT-STATE-004"
    assert world.prover.asked == []


def test_an_agent_that_asks_an_engine_waits_in_its_own_line(world):
    clients = []
    prove = world.prover.prove

    async def noting(engine, action, client):
        clients.append(client)
        return await prove(engine, action, client)

    world.prover.prove = noting
    agent = world.register()
    world.call("POST", "/verify/math", key=agent["agent_token"], json={"query": "2+2"})
    world.verify(agent, key=agent["agent_token"])

    assert clients == [Client("acme", agent["agent_id"])] * 2


def test_an_unknown_field_is_not_repeated_at_length(world):
    answer = world.call("POST", "/agents/register", json={"x" * 100_000: 1})

    assert answer.status_code == 422
    assert len(answer.text) < 1_000


@pytest.mark.parametrize(
    "moment",
    [
        "0001-01-01T00:00:00+14:00",
        "9999-12-31T23:59:59-14:00",
        "1969-12-31T23:59:59Z",
        "0001-01-01",
        "10000-01-01",
        "",
    ],
)
@pytest.mark.parametrize("side", ["from", "to"])
def test_a_time_outside_the_calendar_is_refused(world, agent_id, side, moment):
    answer = world.call("GET", f"/agents/{agent_id}/activity", params={side: moment})

    assert answer.status_code == 422
    assert answer.json()["error"]["details"]["field"] == side


@pytest.mark.parametrize("moment", ["1970-01-01T00:00:00Z", "9999-12-31T23:59:59.999Z"])
def test_the_calendars_ends_are_times(world, agent_id, moment):
    answer = world.call("GET", f"/agents/{agent_id}/activity", params={"from": moment, "to": moment})

    assert answer.status_code == 200
    assert answer.json()["period"]["from"][:19] == moment[:19]
