"""What became of an action: said once, by those who may, and settled by a person when nobody knows."""

import pytest
from tests.support.fakes import DAY
from tests.support.world import OPERATOR_KEY, World, calculate, code_of

from qwed.domain.findings import Failure, Status
from qwed.domain.policy import DEFAULT_POLICY, ActionRule, Policy
from qwed.domain.risk import Risk


def report(world, agent, activity_id, key=OPERATOR_KEY, settle=False, **body):
    path = f"/agents/{agent['agent_id']}/activity/{activity_id}/outcome"
    return world.call("POST", f"{path}/settle" if settle else path, key=key, json=body)


@pytest.mark.parametrize("outcome", ["success", "partial", "failure", "unknown"])
def test_an_outcome_stands_beside_its_entry(world, outcome):
    agent = world.register()
    done = world.verify(agent)
    given = {"outcome": outcome, "result_hash": "a" * 64, "error": "none"}
    response = report(world, agent, done["activity_id"], agent["agent_token"], **given)
    entry = next(e for e in world.decisions(agent) if e["activity_id"] == done["activity_id"])

    assert response.status_code == 200
    assert entry["execution"]["outcome"] == outcome
    assert entry["execution"]["success"] == (outcome == "success")
    assert entry["execution"]["result_hash"] == "a" * 64
    assert entry["decision"] == "APPROVED"


def test_an_outcome_is_reported_once(world):
    agent = world.register()
    done = world.verify(agent)["activity_id"]
    report(world, agent, done, outcome="failure")
    again = report(world, agent, done, outcome="success")

    assert (again.status_code, code_of(again.json())) == (409, "QWED-OUTCOME-001")
    assert world.decisions(agent)[0]["execution"]["outcome"] == "failure"


@pytest.mark.parametrize("status", [Status.UNCERTAIN, Status.FAILED])
def test_what_was_not_approved_has_no_outcome(world, status):
    world.prover.says(status, failure=Failure.INCORRECT if status is Status.FAILED else None)
    agent = world.register()
    response = report(world, agent, world.verify(agent)["activity_id"], outcome="success")

    assert response.status_code == 409


def test_an_activity_of_another_agent_is_not_found(world):
    agent, other = world.register(), world.register()
    foreign = world.verify(other)["activity_id"]
    answers = [report(world, agent, each, outcome="success") for each in (foreign, "act_none")]

    assert [answer.status_code for answer in answers] == [404, 404]
    assert answers[0].text.replace(foreign, "act_none") == answers[1].text


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "outcome"),
        ({"outcome": "SUCCESS"}, "outcome"),
        ({"outcome": "great"}, "outcome"),
        ({"outcome": "success", "result_hash": "A" * 64}, "result_hash"),
        ({"outcome": "success", "result_hash": "a" * 63}, "result_hash"),
        ({"outcome": "success", "error": "x" * 4097}, "error"),
        ({"outcome": "success", "surprise": 1}, "surprise"),
        ({"outcome": "success", "usage": {"cost_usd": -1}}, "usage.cost_usd"),
    ],
)
def test_a_wrong_report_is_named_and_can_be_sent_again(world, body, field):
    agent = world.register()
    done = world.verify(agent)["activity_id"]
    response = report(world, agent, done, **body)

    assert response.status_code == 422
    assert response.json()["error"]["details"]["field"] == field
    assert report(world, agent, done, outcome="success").status_code == 200


def test_the_actual_usage_settles_the_estimate_both_ways(world):
    agent = world.register()
    cheap = world.verify(agent, calculate("1"), 1, usage={"cost_usd": 0.5, "tokens": 100})["activity_id"]
    dear = world.verify(agent, calculate("2"), 2, usage={"cost_usd": 0.1, "tokens": 10})["activity_id"]
    silent = world.verify(agent, calculate("3"), 3, usage={"cost_usd": 0.2, "tokens": 1})["activity_id"]
    report(world, agent, cheap, outcome="success", usage={"cost_usd": 0.25, "tokens": 40})
    report(world, agent, dear, outcome="success", usage={"cost_usd": 0.3, "tokens": 30})
    report(world, agent, silent, outcome="success")
    budget = world.budget(agent)

    assert budget["cost"]["current_daily_usd"] == pytest.approx(0.25 + 0.3 + 0.2 + 3 * 0.01)
    assert budget["tokens"]["current_daily"] == 40 + 30 + 1
    assert budget["requests"]["current_day"] == 3
    assert world.activity(agent)["summary"]["total_cost_usd"] == pytest.approx(0.78)


def test_a_settled_estimate_is_booked_on_the_day_of_the_action(world):
    agent = world.register()
    done = world.verify(agent, usage={"cost_usd": 0.5})["activity_id"]
    world.clock.advance(DAY)
    report(world, agent, done, outcome="success", usage={"cost_usd": 0.9})

    assert world.budget(agent)["cost"]["current_daily_usd"] == 0


def test_a_minimum_price_is_never_undercut():
    from decimal import Decimal

    rule = ActionRule("math", Risk.LOW, min_price_usd=Decimal("0.2"))
    world = World(policy=Policy(actions={**DEFAULT_POLICY.actions, "calculate": rule}))
    agent = world.register()
    done = world.verify(agent, usage={"cost_usd": 0.5})["activity_id"]
    held = world.budget(agent)["cost"]["current_daily_usd"]
    report(world, agent, done, outcome="success", usage={"cost_usd": 0})
    settled = world.budget(agent)["cost"]["current_daily_usd"]
    world.close()

    assert (held, settled) == (0.51, 0.2)


# --- settling ----------------------------------------------------------------------------------------


@pytest.fixture
def unknown(world):
    agent = world.register()
    done = world.verify(agent)["activity_id"]
    report(world, agent, done, outcome="unknown")
    return agent, done


def test_a_person_settles_an_unknown_outcome_once(world, unknown):
    agent, done = unknown
    key = world.principal_key("acme", scopes=["approve"])
    settled = report(world, agent, done, key, settle=True, outcome="failure", note="looked it up")
    again = report(world, agent, done, key, settle=True, outcome="success")

    assert settled.status_code == 200
    assert settled.json()["settled_by"].startswith("key:")
    assert again.status_code == 409
    assert world.decisions(agent)[0]["execution"]["outcome"] == "failure"


def test_neither_the_agent_nor_a_key_without_the_scope_settles(world, unknown):
    agent, done = unknown
    plain = world.principal_key("acme")

    assert report(world, agent, done, agent["agent_token"], settle=True, outcome="success").status_code == 403
    assert report(world, agent, done, plain, settle=True, outcome="success").status_code == 403
    assert code_of(world.verify(agent, step=2)) == "QWED-AGENT-LOOP-003"


def test_unknown_settles_nothing_and_what_is_known_needs_no_settling(world, unknown):
    agent, done = unknown
    known = world.verify(agent, calculate("9"), 2)["activity_id"]
    report(world, agent, known, outcome="success")

    assert report(world, agent, done, settle=True, outcome="unknown").status_code == 422
    assert report(world, agent, known, settle=True, outcome="failure").status_code == 409
    unreported = world.verify(agent, calculate("10"), 3)["activity_id"]
    assert report(world, agent, unreported, settle=True, outcome="failure").status_code == 409


def test_a_report_is_itself_an_entry(world):
    agent = world.register()
    done = world.verify(agent)["activity_id"]
    report(world, agent, done, agent["agent_token"], outcome="success")
    newest = world.activity(agent)["activities"][0]

    assert newest["action_type"] == "report_outcome"
    assert newest["requested_by"] == f"agent:{agent['agent_id']}"
    assert newest["action"]["parameters"]["activity_id"] == done


def test_a_second_unknown_outcome_of_one_action_needs_its_own_settling(world):
    agent = world.register()
    first = world.verify(agent, step=1)["activity_id"]
    second = world.verify(agent, step=2)["activity_id"]
    for activity_id in (first, second):
        report(world, agent, activity_id, outcome="unknown")
    report(world, agent, first, settle=True, outcome="success")
    blocked = world.verify(agent, step=1, conversation="other")
    report(world, agent, second, settle=True, outcome="success")
    free = world.verify(agent, step=1, conversation="other")

    assert code_of(blocked) == "QWED-AGENT-LOOP-003"
    assert free["decision"] == "APPROVED"


def test_an_older_grant_is_no_way_around_an_unknown_outcome(world):
    """Two grants for one payment; nobody knows what became of the first."""
    agent = world.register(type="supervised")
    approver = world.principal_key("acme", scopes=["approve"])
    action = {"type": "send_email", "parameters": {"to": "a@example.com", "body": "pay 5"}}
    grants = [world.verify(agent, action, step)["approval"]["id"] for step in (1, 2)]
    for grant in grants:
        world.call("POST", f"/approvals/{grant}/approve", key=approver)

    def redeem(grant):
        path = f"/approvals/{grant}/redeem"
        return world.call("POST", path, key=agent["agent_token"], json={"action": action}).json()

    first = redeem(grants[0])
    outcome = f"/agents/{agent['agent_id']}/activity/{first['activity_id']}/outcome"
    world.call("POST", outcome, key=agent["agent_token"], json={"outcome": "unknown"})
    refused = redeem(grants[1])

    assert (refused["decision"], refused["error"]["code"]) == ("DENIED", "QWED-AGENT-LOOP-003")
    assert refused["error"]["details"] == {"pattern": "unsettled_outcome"}
    world.call("POST", f"{outcome}/settle", key=approver, json={"outcome": "failure"})
    assert redeem(grants[1])["decision"] == "APPROVED"
