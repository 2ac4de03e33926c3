"""An action that a person puts in the place of another passes everything that a proposed one passes."""

from decimal import Decimal
from typing import Any

import msgspec
import pytest
from tests.support.tokens import SigningAgent
from tests.support.world import World

from qwed.domain.actions import Action
from qwed.domain.findings import Finding, Status
from qwed.domain.policy import DEFAULT_POLICY, ActionRule, Policy
from qwed.domain.risk import Risk

ASKED = {"type": "calculate", "query": "asked"}
PERSON = {"scopes": ["approve", "read"]}
RULE = {
    "id": "risky",
    "trigger": {"kind": "risk_above", "op": "gte", "value": 1, "input_ref": "risk"},
    "required_role": "lead",
    "action": "pause",
    "allow_override": True,
}


def told(risk_of_asked: Risk, risk: Risk):
    """What was asked can't be decided; everything else is fine, at the given risk."""

    def find(engine: str, action: Action) -> Finding:
        if action.query == ASKED["query"]:
            return Finding(Status.UNCERTAIN, risk_of_asked, engine)
        return Finding(Status.VERIFIED, risk, engine)

    return find


@pytest.fixture
def opened():
    worlds = []

    def open_world(policy: Policy = DEFAULT_POLICY) -> World:
        worlds.append(World(policy=policy))
        worlds[-1].prover.find = told(Risk.LOW, Risk.LOW)
        return worlds[-1]

    yield open_world
    for world in worlds:
        world.close()


def place(world: World, agent: dict[str, Any], *rules: dict[str, Any], **node: Any) -> dict[str, Any]:
    dag = {"nodes": [{"id": "n", "agent": agent["did"], **node}], "edges": []}
    made = world.call("POST", "/workflows", json={"dag": dag, "hitl": {"rules": list(rules)}})
    assert made.status_code == 201, made.text
    context = {"conversation_id": "c", "step_number": 1}
    return {**context, "workflow_id": made.json()["workflow_id"], "node_id": "n"}


def asked(answer: Any) -> str:
    assert answer.json()["decision"] == "PENDING", answer.text
    return answer.json()["approval"]["id"]


def edit(world: World, key: str, approval_id: str, **action: Any) -> tuple[int, str]:
    body = {"action": {"query": "edited", **action}}
    response = world.call("POST", f"/approvals/{approval_id}/approve", key=key, json=body)
    found = response.json()
    return response.status_code, found["error"]["code"] if "error" in found else found["status"]


def test_the_node_of_a_workflow_is_for_its_action_only(opened):
    world = opened()
    agent, person = world.register(type="trusted"), world.principal_key(**PERSON)
    approval = asked(world.verify_response(agent, ASKED, context=place(world, agent, action="calculate")))

    assert edit(world, person, approval, type="verify_logic") == (422, "QWED-ECT-003")
    assert edit(world, person, approval, type="calculate") == (200, "approved")


def test_a_rule_of_the_workflow_asks_its_role_of_whoever_edits(opened):
    world = opened()
    world.prover.find = told(Risk.LOW, Risk.MEDIUM)
    agent, person = world.register(type="trusted"), world.principal_key(**PERSON)
    lead = world.principal_key(**PERSON, roles=["lead"])
    approval = asked(world.verify_response(agent, ASKED, context=place(world, agent, RULE)))

    assert edit(world, person, approval, type="calculate") == (403, "QWED-APPROVAL-006")
    assert edit(world, lead, approval, type="calculate") == (200, "approved")
    shown = world.call("GET", f"/approvals/{approval}").json()
    assert (shown["required_role"], shown["evidence"]["rules"]) == ("lead", ["risky"])


def test_a_rule_that_stops_an_action_stops_an_edited_one(opened):
    world = opened()
    world.prover.find = told(Risk.LOW, Risk.MEDIUM)
    agent, person = world.register(type="trusted"), world.principal_key(**PERSON)
    context = place(world, agent, {**RULE, "action": "abort"})
    approval = asked(world.verify_response(agent, ASKED, context=context))

    assert edit(world, person, approval, type="calculate") == (422, "QWED-ECT-003")


def test_the_profile_that_tokens_asked_for_holds_for_an_edited_action(opened):
    """Nobody else asks for one here: in `standard`, high risk needs a checkpoint, and none was used."""
    world = opened()
    world.prover.find = told(Risk.LOW, Risk.HIGH)
    actor, person = SigningAgent(world, type="trusted"), world.principal_key(**PERSON)
    token = actor.token("read", ext={"apae.assurance_profile": "standard"})
    approval = asked(actor.verify(ASKED, ects=[token]))
    plain = asked(world.verify_response(world.register(type="trusted"), ASKED))

    assert edit(world, person, approval, type="calculate") == (422, "QWED-PROFILE-001")
    assert edit(world, person, plain, type="calculate") == (200, "approved")


def test_an_edited_action_has_the_checkpoint_of_the_one_it_replaces(opened):
    world = opened()
    world.prover.find = told(Risk.HIGH, Risk.CRITICAL)
    actor, person = SigningAgent(world, type="trusted"), world.principal_key(**PERSON)
    token = actor.token("atd:checkpoint", ext={"apae.assurance_profile": "standard"})
    approval = asked(actor.verify(ASKED, ects=[token]))

    assert edit(world, person, approval, type="calculate") == (200, "approved")


def test_a_suspended_agent_gets_no_edited_action(opened):
    world = opened()
    agent, person = world.register(type="trusted"), world.principal_key(**PERSON)
    approval = asked(world.verify_response(agent, ASKED))
    world.call("POST", f"/agents/{agent['agent_id']}/suspend", json={})

    assert edit(world, person, approval, type="calculate") == (422, "QWED-AGENT-003")


def test_an_edited_action_costs_what_its_own_type_costs(opened):
    dear = {"dear": ActionRule("math", Risk.LOW, price_usd=Decimal("0.5"))}
    world = opened(msgspec.structs.replace(DEFAULT_POLICY, actions={**DEFAULT_POLICY.actions, **dear}))
    agent, person = world.register(type="trusted"), world.principal_key(**PERSON)
    approval = asked(world.verify_response(agent, ASKED, usage={"cost_usd": 0.25}))
    assert edit(world, person, approval, type="dear") == (200, "approved")

    used = world.call(
        "POST",
        f"/approvals/{approval}/redeem",
        key=agent["agent_token"],
        json={"action": {"type": "dear", "query": "edited"}},
    ).json()
    assert used["decision"] == "APPROVED"
    assert world.budget(agent)["cost"]["current_daily_usd"] == 0.75
