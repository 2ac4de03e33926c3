"""What waits because an engine corrected it says what a person is asked about."""

import pytest
from tests.support.world import World

from qwed.domain.actions import Action
from qwed.domain.findings import Status
from qwed.domain.risk import Risk

WRONG = {"type": "send_email", "parameters": {"to": "a@example.com", "body": "2+2=5"}}
RIGHT = {"type": "send_email", "parameters": {"to": "a@example.com", "body": "2+2=4"}}


def corrects(world: World, risk: Risk = Risk.MEDIUM) -> None:
    corrected = Action("send_email", parameters=RIGHT["parameters"])
    world.prover.says(Status.CORRECTED, risk, corrected=corrected)


def by_verify(world, agent):
    return world.verify(agent, WRONG, key=agent["agent_token"])


def by_tool(world, agent):
    path = f"/agents/{agent['agent_id']}/tools/send_email"
    context = {"conversation_id": "c", "step_number": 1}
    body = {"parameters": WRONG["parameters"], "context": context}
    return world.call("POST", path, key=agent["agent_token"], json=body).json()


@pytest.mark.parametrize("door", [by_verify, by_tool])
def test_a_correction_that_waits_carries_the_corrected_action_which_is_then_redeemed(world, door):
    corrects(world)
    agent = world.register(type="trusted")
    answer = door(world, agent)
    assert (answer["decision"], answer["corrected_action"]) == ("PENDING", RIGHT)

    approval = answer["approval"]["id"]
    world.call("POST", f"/approvals/{approval}/approve", json={})
    redeem = {"key": agent["agent_token"], "json": {"action": answer["corrected_action"]}}
    used = world.call("POST", f"/approvals/{approval}/redeem", **redeem).json()
    assert used["decision"] == "APPROVED"


def test_what_waits_for_another_reason_carries_none(world):
    world.prover.says(Status.UNCERTAIN, Risk.LOW)
    answer = by_verify(world, world.register(type="trusted"))
    assert answer["decision"] == "PENDING"
    assert "corrected_action" not in answer


def test_a_correction_that_is_denied_carries_none(world):
    corrects(world, Risk.CRITICAL)
    answer = by_verify(world, world.register(type="supervised"))
    assert answer["decision"] == "DENIED"
    assert "corrected_action" not in answer
