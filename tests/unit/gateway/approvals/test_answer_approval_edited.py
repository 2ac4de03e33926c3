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
from qwed.gateway.kernel.ports import StoreUnavailable

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


EDITED = {"type": "calculate", "query": "edited"}


def in_step(step: int, **more: Any) -> dict[str, Any]:
    return {"conversation_id": "c", "step_number": step, **more}


def redeem(world: World, agent: dict[str, Any], approval: str) -> None:
    used = world.call(
        "POST", f"/approvals/{approval}/redeem", key=agent["agent_token"], json={"action": EDITED}
    )
    assert used.json()["decision"] == "APPROVED", used.text


def test_an_edit_is_no_third_identical_action_in_a_row(opened):
    world = opened()
    agent, person = world.register(type="trusted"), world.principal_key(**PERSON)
    for step in (1, 2):
        assert world.verify(agent, EDITED, context=in_step(step))["decision"] == "APPROVED"
    approval = asked(world.verify_response(agent, ASKED, context=in_step(3)))

    assert edit(world, person, approval, type="calculate") == (422, "QWED-AGENT-LOOP-003")
    assert edit(world, person, approval, type="calculate", query="other") == (200, "approved")


@pytest.mark.parametrize("are_used", [True, False])
def test_three_edits_to_one_action_are_its_third_in_a_row(opened, are_used):
    world = opened()
    agent, person = world.register(type="trusted"), world.principal_key(**PERSON)
    answers = []
    for step in (1, 2, 3):
        approval = asked(
            world.verify_response(agent, {**ASKED, "parameters": {"n": step}}, context=in_step(step))
        )
        answers.append(edit(world, person, approval, type="calculate"))
        if are_used and answers[-1][0] == 200:
            redeem(world, agent, approval)

    assert answers == [(200, "approved"), (200, "approved"), (422, "QWED-AGENT-LOOP-003")]


def test_an_action_between_two_repeats_makes_an_edit_no_third_in_a_row(opened):
    world = opened()
    agent, person = world.register(type="trusted"), world.principal_key(**PERSON)
    for step, action in enumerate((EDITED, EDITED, {**EDITED, "query": "else"}), start=1):
        assert world.verify(agent, action, context=in_step(step))["decision"] == "APPROVED"
    approval = asked(world.verify_response(agent, ASKED, context=in_step(4)))

    assert edit(world, person, approval, type="calculate") == (200, "approved")


def test_an_edit_makes_no_progress_on_a_state_that_the_same_action_met_twice(opened):
    world = opened()
    agent, person = world.register(type="trusted"), world.principal_key(**PERSON)
    same = {"pre_action_state_hash": "a" * 64, "state_source": "custom"}
    for step, query in enumerate(("edited", "b", "edited", "d"), start=1):
        action = {**EDITED, "query": query}
        assert world.verify(agent, action, context=in_step(step, **same))["decision"] == "APPROVED"
    approval = asked(world.verify_response(agent, ASKED, context=in_step(5, **same)))

    assert edit(world, person, approval, type="calculate") == (422, "QWED-AGENT-LOOP-004")


def test_what_failed_may_be_put_in_by_an_edit_again(opened):
    world = opened()
    agent, person = world.register(type="trusted"), world.principal_key(**PERSON)
    for step in (1, 2):
        done = world.verify(agent, EDITED, context=in_step(step))
        world.call(
            "POST",
            f"/agents/{agent['agent_id']}/activity/{done['activity_id']}/outcome",
            key=agent["agent_token"],
            json={"outcome": "failure"},
        )
    approval = asked(world.verify_response(agent, ASKED, context=in_step(3)))

    assert edit(world, person, approval, type="calculate") == (200, "approved")


def test_without_the_record_nobody_edits(opened, monkeypatch):
    world = opened()
    agent, person = world.register(type="trusted"), world.principal_key(**PERSON)
    approval = asked(world.verify_response(agent, ASKED, context=in_step(1)))

    async def is_away(query: Any) -> Any:
        raise StoreUnavailable("the store is away")

    monkeypatch.setattr(world.services.store, "search", is_away)

    assert edit(world, person, approval, type="calculate")[0] == 503
