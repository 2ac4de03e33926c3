"""A number that most readers take for infinity is refused at every door, like a literal infinity."""

import json
from decimal import Decimal
from typing import Any

import pytest
from tests.support.world import World

from qwed import RequestError

#: As text, since Python itself reads the first as infinity.
LITERALS = ["1e999", "-1e999", "9" * 309, "Infinity", "NaN"]
CONTEXT = '"context": {"conversation_id": "c", "step_number": 1}'


def code(response: Any) -> str:
    return response.json()["error"]["code"]


@pytest.mark.parametrize("literal", LITERALS)
@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("verify", '{{"action": {{"type": "calculate", "parameters": {{"x": [{0}]}}}}, {1}}}'),
        ("tools/get_weather", '{{"parameters": {{"x": {0}}}, {1}}}'),
        (
            "tools/get_weather",
            '{{"tool_call": {{"tool_name": "get_weather", "parameters": {{"x": {0}}}}}, {1}}}',
        ),
    ],
)
def test_the_agents_doors_refuse_it_in_parameters(world: World, path: str, body: str, literal: str):
    agent = world.register()
    answer = world.call("POST", f"/agents/{agent['agent_id']}/{path}", content=body.format(literal, CONTEXT))

    assert (answer.json()["decision"], code(answer)) == ("DENIED", "QWED-AGENT-STATE-004")
    assert world.prover.asked == []


@pytest.mark.parametrize("literal", LITERALS)
def test_an_edited_and_a_redeemed_action_are_refused_for_it(world: World, literal: str):
    agent = world.register(type="supervised")
    mail = {"type": "send_email", "parameters": {"to": "a@example.com"}}
    approval = world.verify(agent, mail, key=agent["agent_token"])["approval"]["id"]
    action = f'{{"action": {{"type": "send_email", "parameters": {{"x": {literal}}}}}}}'

    for word in ("approve", "redeem"):
        answer = world.call("POST", f"/approvals/{approval}/{word}", content=action)
        assert (answer.status_code, code(answer)) == (422, "QWED-AGENT-STATE-004")


@pytest.mark.parametrize("number", [float("inf"), json.loads("1e999"), Decimal("1e999"), 10**309])
def test_the_gateway_in_the_callers_process_refuses_it(world: World, number: Any):
    agent = world.gateway.register_agent(name="a", type="trusted", principal_id="p")["agent_id"]
    context = {"conversation_id": "c", "step_number": 1}
    action = {"type": "calculate", "parameters": {"x": {"y": number}}}
    answers = [
        world.gateway.verify_action(agent, action, context),
        world.gateway.verify_tool(agent, "get_weather", {"x": number}, context=context),
    ]
    assert [answer["error"]["code"] for answer in answers] == ["QWED-AGENT-STATE-004"] * 2


@pytest.mark.parametrize("literal", LITERALS)
def test_elsewhere_in_a_body_it_is_no_number_either(world: World, literal: str):
    agent = world.register()
    body = f'{{"action": {{"type": "calculate"}}, "usage": {{"cost_usd": {literal}}}, {CONTEXT}}}'
    answer = world.call("POST", f"/agents/{agent['agent_id']}/verify", content=body)
    assert answer.status_code == 422
    registration = '"name": "b", "type": "supervised", "principal_id": "p"'
    budget = f'{{{registration}, "budget": {{"max_daily_cost_usd": {literal}}}}}'
    assert world.call("POST", "/agents/register", content=budget).status_code == 422
    with pytest.raises(RequestError):
        world.gateway.register_agent(
            name="b", type="supervised", principal_id="p", budget={"max_daily_cost_usd": Decimal("1e999")}
        )
