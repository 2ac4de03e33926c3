"""Trust that people change, and what they are shown before they do."""

import msgspec
import pytest
from tests.support.world import OPERATOR_KEY, World, calculate, code_of

from qwed.domain.findings import Failure, Status
from qwed.domain.policy import DEFAULT_POLICY, DeniedCells
from qwed.domain.risk import Risk


def ask(world, agent, from_level, to_level, **more):
    body = {
        "request": "trust_elevation",
        "from_level": from_level,
        "to_level": to_level,
        "justification": "a good month",
        **more,
    }
    return world.call("POST", f"/agents/{agent['agent_id']}/trust", key=agent["agent_token"], json=body)


def trust(world, agent, **request):
    return world.call("GET", f"/agents/{agent['agent_id']}/trust", **request)


def causes(world, agent):
    return [change["cause"] for change in trust(world, agent).json()["changes"]]


@pytest.fixture
def approver(world):
    return world.principal_key("acme", scopes=["approve", "read"])


def answer(world, key, approval, verb="approve"):
    return world.call("POST", f"/approvals/{approval}/{verb}", key=key)


# --- what is shown ---------------------------------------------------------------------------------------


def test_the_evidence_is_the_gateways_own_and_the_claim_stands_beside_it(world):
    agent = world.register(type="supervised")
    for step in range(1, 4):
        world.verify(agent, calculate(f"{step}"), step)
    world.prover.says(Status.FAILED, Risk.LOW, failure=Failure.INCORRECT)
    world.verify(agent, calculate("wrong"), 4)
    asked = ask(world, agent, 1, 2, evidence={"approved": 10**6, "denied": 0}).json()["approval"]

    recorded = asked["evidence"]["recorded"]
    assert (recorded["actions"], recorded["approved"], recorded["denied"]) == (4, 3, 1)
    assert (recorded["complaints"], recorded["violations"], recorded["suspensions"]) == (0, 0, 0)
    assert recorded["period"]["to"] == "2026-04-06T12:00:00.000Z"
    assert asked["evidence"]["claimed"] == {"approved": 10**6, "denied": 0}


def test_complaints_suspensions_and_lost_levels_are_part_of_the_evidence(world):
    agent = world.register(type="supervised")
    path = f"/agents/{agent['agent_id']}"
    world.call("POST", f"{path}/complaint", json={"reason": "rude"})
    world.call("POST", f"{path}/reactivate")
    world.call("POST", f"{path}/suspend")
    world.call("POST", f"{path}/reactivate")
    world.clock.advance(1000)
    world.call("GET", "/agents/agent_0000000000000000", key=agent["agent_token"])
    recorded = ask(world, agent, 0, 1).json()["approval"]["evidence"]["recorded"]

    assert (recorded["violations"], recorded["complaints"]) == (1, 0)
    ever = recorded["since_registration"]
    assert (ever["violations"], ever["complaints"], ever["suspensions"]) == (1, 1, 1)


def test_what_the_agent_says_of_its_own_success_is_counted_apart(world):
    agent = world.register(type="supervised")
    own, others = (world.verify(agent, calculate(f"{n}"), n)["activity_id"] for n in (1, 2))
    path = f"/agents/{agent['agent_id']}/activity"
    world.call("POST", f"{path}/{own}/outcome", key=agent["agent_token"], json={"outcome": "success"})
    world.call("POST", f"{path}/{others}/outcome", json={"outcome": "failure"})
    before = world.stored(agent).trust_level
    outcomes = ask(world, agent, 1, 2).json()["approval"]["evidence"]["recorded"]["outcomes"]

    assert outcomes == {"reported_by_agent": {"success": 1}, "reported_by_others": {"failure": 1}}
    assert world.stored(agent).trust_level is before


def test_a_settled_outcome_is_the_word_of_who_settled_it(world):
    agent = world.register(type="supervised")
    activity = world.verify(agent)["activity_id"]
    path = f"/agents/{agent['agent_id']}/activity/{activity}/outcome"
    world.call("POST", path, key=agent["agent_token"], json={"outcome": "unknown"})
    world.call("POST", f"{path}/settle", json={"outcome": "success"})
    outcomes = ask(world, agent, 1, 2).json()["approval"]["evidence"]["recorded"]["outcomes"]

    assert outcomes == {"reported_by_agent": {}, "reported_by_others": {"success": 1}}


# --- asking and granting ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("from_level", "to_level"), [(0, 1), (2, 3), (1, 3), (1, 1), (1, 0)], ids=lambda n: str(n)
)
def test_one_level_at_a_time_from_the_level_it_has(world, from_level, to_level):
    response = ask(world, world.register(type="supervised"), from_level, to_level)

    assert (response.status_code, code_of(response.json())) == (422, "QWED-REQUEST-001")


def test_a_grant_raises_the_level_and_says_so_in_an_entry_of_its_own(world, approver):
    agent = world.register(type="supervised")
    asked = ask(world, agent, 1, 2).json()
    assert answer(world, approver, asked["approval"]["id"]).json()["status"] == "approved"

    assert world.stored(agent).trust_level == 2
    newest = trust(world, agent).json()["changes"][0]
    assert (newest["cause"], newest["from_level"], newest["to_level"]) == ("granted", 1, 2)
    assert newest["reason"] == "a good month"
    assert newest["activities"][0] == asked["activity_id"]
    assert newest["evidence"]["approval_id"] == asked["approval"]["id"]
    assert newest["evidence"]["recorded"]["actions"] == 0
    kinds = [entry["action_type"] for entry in world.activity(agent)["activities"][:3]]
    assert kinds == ["change_trust", "answer_approval", "request_trust"]


def test_a_request_is_void_once_the_agent_has_lost_the_level_it_asked_from(world, approver):
    agent = world.register(type="autonomous", trust_level=1)
    approval = ask(world, agent, 1, 2).json()["approval"]["id"]
    world.call("GET", "/agents/agent_0000000000000000", key=agent["agent_token"])
    response = answer(world, approver, approval)

    assert (response.status_code, code_of(response.json())) == (409, "QWED-APPROVAL-004")
    assert world.stored(agent).trust_level == 0
    assert answer(world, approver, approval, "deny").json()["status"] == "denied"


def test_the_highest_level_is_granted_by_an_operator_alone(world, approver):
    agent = world.register(type="autonomous")
    approval = ask(world, agent, 2, 3).json()["approval"]["id"]
    assert code_of(answer(world, approver, approval).json()) == "QWED-APPROVAL-006"

    assert answer(world, OPERATOR_KEY, approval).json()["status"] == "approved"
    assert world.stored(agent).trust_level == 3


def test_a_suspended_agent_cannot_ask(world):
    agent = world.register(type="supervised")
    world.call("POST", f"/agents/{agent['agent_id']}/suspend")

    assert code_of(ask(world, agent, 1, 2).json()) == "QWED-AGENT-003"


def test_the_agent_never_changes_its_own_level(world):
    agent = world.register(type="supervised")
    body = {"to_level": 2, "reason": "I deserve it"}
    response = world.call("POST", f"/agents/{agent['agent_id']}/trust", key=agent["agent_token"], json=body)

    assert (response.status_code, world.stored(agent).trust_level) == (403, 1)


# --- direct changes, complaints, reinstatement ------------------------------------------------------------


def test_a_complaint_suspends_and_reinstatement_takes_the_scope_trust(world):
    agent = world.register(type="supervised")
    owner = world.principal_key("acme")
    path = f"/agents/{agent['agent_id']}"
    world.call("POST", f"{path}/complaint", key=owner, json={"reason": "it lied"})
    assert code_of(world.verify(agent)) == "QWED-AGENT-003"
    assert world.call("POST", f"{path}/reactivate", key=owner).status_code == 403
    trusted = world.principal_key("acme", scopes=["register", "trust"])
    assert world.call("POST", f"{path}/reactivate", key=trusted).json()["status"] == "active"

    assert causes(world, agent) == ["reactivated", "complaint", "registered"]
    said = trust(world, agent).json()["changes"][1]
    assert (said["reason"], said["status"], said["from_level"], said["to_level"]) == (
        "it lied",
        "suspended",
        1,
        1,
    )


def test_a_direct_change_is_kept_with_who_and_why(world):
    agent = world.register(type="supervised")
    key = world.principal_key("acme", scopes=["trust"])
    body = {"to_level": 0, "reason": "on probation"}
    assert world.call("POST", f"/agents/{agent['agent_id']}/trust", key=key, json=body).status_code == 200
    change = trust(world, agent).json()["changes"][0]

    assert (change["cause"], change["from_level"], change["to_level"]) == ("set", 1, 0)
    assert change["reason"] == "on probation" and change["by"].startswith("key:")


def test_denied_cells_can_be_put_to_a_person_instead():
    world = World(policy=msgspec.structs.replace(DEFAULT_POLICY, denied_cells=DeniedCells.PENDING))
    agent = world.register(type="supervised")
    world.prover.says(Status.VERIFIED, Risk.CRITICAL)

    assert world.verify(agent)["decision"] == "PENDING"
    world.close()


# --- reading ---------------------------------------------------------------------------------------------


def test_the_history_is_for_the_agent_its_principal_and_operators(world):
    agent, other = world.register(), world.register(principal_id="rival")
    allowed = [None, agent["agent_token"], world.principal_key("acme", scopes=["read"])]
    for key in allowed:
        response = trust(world, agent) if key is None else trust(world, agent, key=key)
        assert [change["cause"] for change in response.json()["changes"]] == ["registered"]
    assert trust(world, agent, key=world.principal_key("rival")).status_code == 404
    assert trust(world, agent, key=other["agent_token"]).status_code == 404
    assert trust(world, agent, key="qwed_live_wrong").status_code == 401
    assert trust(world, agent, key=world.principal_key("acme", scopes=["verify"])).status_code == 403


def test_the_history_outlives_the_agent(world):
    agent = world.register()
    world.call("DELETE", f"/agents/{agent['agent_id']}")
    found = trust(world, agent).json()

    assert (found["status"], [c["cause"] for c in found["changes"]]) == ("deregistered", ["registered"])


def test_the_history_comes_in_pages(world):
    agent = world.register()
    for level in (0, 1, 2, 3):
        body = {"to_level": level, "reason": f"to {level}"}
        world.call("POST", f"/agents/{agent['agent_id']}/trust", json=body)
    found, cursor = [], None
    while True:
        query = {"limit": 2} | ({"cursor": cursor} if cursor else {})
        page = trust(world, agent, params=query).json()
        found += [change["to_level"] for change in page["changes"]]
        cursor = page.get("next")
        if cursor is None:
            break

    assert found == [3, 2, 1, 0, 2]
    assert trust(world, agent, params={"cursor": "nonsense"}).status_code == 422
    assert trust(world, agent, params={"limit": 0}).status_code == 422
