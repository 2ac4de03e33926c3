"""What the dashboard reads: overview, search, single decisions, conversations, comparisons; walls first."""

import json

import pytest
from tests.support.fakes import DAY, HOUR, SECOND
from tests.support.world import World, code_of

from qwed.domain.findings import Failure, Finding, Status
from qwed.domain.risk import Risk


@pytest.fixture
def world():
    import contextlib

    with contextlib.closing(World()) as built:
        yield built


def get(world, path, key=None, **query):
    return world.call("GET", path, params=query, **({} if key is None else {"key": key}))


def refused(world, agent, step=1, conversation="c"):
    world.prover.find = lambda engine, _: Finding(
        Status.FAILED, Risk.LOW, engine, "no", failure=Failure.INCORRECT
    )
    try:
        return world.verify(agent, step=step, conversation=conversation)
    finally:
        world.prover.says(Status.VERIFIED)


# --- walls ------------------------------------------------------------------------------------------


@pytest.fixture
def two(world):
    """An agent of each of two principals, with a decision that waits, and a key of each."""
    world.prover.says(Status.VERIFIED, Risk.HIGH)
    found = {}
    for principal in ("acme", "globex"):
        agent = world.register(principal_id=principal, name=f"of {principal}")
        answer = world.verify(agent)
        assert answer["decision"] == "PENDING"
        found[principal] = (agent, answer, world.principal_key(principal))
    return found


def test_a_principal_finds_nothing_of_another(world, two):
    agent, answer, _ = two["globex"]
    key = two["acme"][2]

    for query in ({}, {"agent_id": agent["agent_id"]}, {"text": agent["agent_id"]}, {"decision": "PENDING"}):
        assert "globex" not in get(world, "/activity", key, **query).text
        assert agent["agent_id"] not in get(world, "/activity", key, **query).text
    overview = get(world, "/overview", key)
    assert agent["agent_id"] not in overview.text
    assert overview.json()["totals"]["pending"] == 1
    assert overview.json()["waiting"] == 1
    for path, missing in (
        (f"/activity/{answer['activity_id']}", "/activity/act_0"),
        (f"/agents/{agent['agent_id']}/conversations", "/agents/agent_0/conversations"),
        (f"/approvals/{answer['approval']['id']}/comparison", "/approvals/apr_0/comparison"),
    ):
        assert get(world, path, key).status_code == get(world, missing, key).status_code == 404


def test_an_operator_sees_everybody(world, two):
    overview = get(world, "/overview").json()

    assert overview["totals"]["pending"] == 2
    assert overview["waiting"] == 2
    agents = get(world, "/activity", decision="PENDING").json()["agents"]
    assert set(agents.values()) == {"of acme", "of globex"}


def test_the_gateways_own_entries_are_for_operators(world, two):
    key = two["acme"][2]
    own = next(
        entry
        for entry in get(world, "/activity").json()["activities"]
        if entry["agent_id"] == "gateway" and "acme" in json.dumps(entry)
    )

    assert "gateway" not in {entry["agent_id"] for entry in get(world, "/activity", key).json()["activities"]}
    assert get(world, f"/activity/{own['activity_id']}", key).status_code == 404
    assert get(world, f"/activity/{own['activity_id']}").status_code == 200


@pytest.mark.parametrize("path", ["/activity", "/overview"])
def test_neither_an_agent_nor_a_key_without_the_scope_reads_across_agents(world, two, path):
    token = two["acme"][0]["agent_token"]

    assert get(world, path, token).status_code == 403
    assert get(world, path, world.principal_key("acme", scopes=["verify"])).status_code == 403
    assert world.call("GET", path, key=None).status_code == 401


def test_an_agent_reads_its_own_decision_and_no_other(world, two):
    (mine, answer, _), (_, foreign, _) = two["acme"], two["globex"]

    assert get(world, f"/activity/{answer['activity_id']}", mine["agent_token"]).status_code == 200
    assert get(world, f"/activity/{foreign['activity_id']}", mine["agent_token"]).status_code == 404


# --- search -----------------------------------------------------------------------------------------


def test_every_filter_narrows_a_search(world):
    agent = world.register()
    world.verify(agent, {"type": "calculate", "query": '1 "quoted" \\'}, conversation="first")
    world.clock.advance(HOUR)
    denied = refused(world, agent, conversation="second")

    def found(**query):
        answer = get(world, "/activity", agent_id=agent["agent_id"], **query).json()
        return [entry["decision"] for entry in answer["activities"]]

    assert found() == ["DENIED", "APPROVED", "NOTED"]
    assert found(decision="DENIED") == found(error_code=code_of(denied)) == found(conversation_id="second")
    assert found(text='"quoted" \\') == ["APPROVED"]
    assert found(action_type="register_agent") == ["NOTED"]
    assert found(**{"to": "2026-04-06T12:30:00Z", "from": "2026-04-06T11:00:00Z"}) == ["APPROVED", "NOTED"]


def test_a_search_is_read_page_by_page(world):
    agent = world.register()
    for step in range(1, 8):
        world.verify(agent, {"type": "calculate", "query": str(step)}, step)
    cursor, steps = {}, []
    while True:
        page = get(world, "/activity", decision="APPROVED", limit=3, **cursor).json()
        steps += [entry["context"]["step_number"] for entry in page["activities"]]
        if "next" not in page:
            break
        cursor = {"cursor": page["next"]}

    assert steps == [7, 6, 5, 4, 3, 2, 1]


@pytest.mark.parametrize(
    "query",
    [
        {"decision": "MAYBE"},
        {"text": ""},
        {"text": "x" * 300},
        {"from": "soon"},
        {"limit": "0"},
        {"colour": "red"},
        {"cursor": "?"},
    ],
    ids=["decision", "empty", "long", "from", "limit", "unknown", "cursor"],
)
def test_a_search_that_makes_no_sense_is_told_what_would(world, query):
    answer = get(world, "/activity", **query)

    assert answer.status_code == 422
    assert answer.json()["error"]["details"]["field"] in query


# --- one decision -----------------------------------------------------------------------------------


def test_a_decision_names_the_check_that_made_it(world):
    agent = world.register()
    shown = get(world, f"/activity/{refused(world, agent)['activity_id']}").json()

    (decided,) = [check for check in shown["checks"] if check["state"] == "decided"]
    assert (decided["number"], decided["code"]) == (17, "QWED-AGENT-005")
    assert shown["agents"] == {agent["agent_id"]: "tester"}
    assert shown["activity"]["decision"] == "DENIED"


def test_a_decision_comes_with_its_approval_and_its_outcome(world):
    world.prover.says(Status.VERIFIED, Risk.HIGH)
    agent = world.register()
    action = {"type": "calculate", "query": "2+2"}
    waiting = world.verify(agent, action)["approval"]["id"]
    world.call(
        "POST", f"/approvals/{waiting}/approve", key=world.principal_key("acme", scopes=["approve", "read"])
    )
    used = world.call("POST", f"/approvals/{waiting}/redeem", json={"action": action}).json()
    path = f"/agents/{agent['agent_id']}/activity/{used['activity_id']}/outcome"
    world.call("POST", path, json={"outcome": "failure", "error": "it broke"})

    shown = get(world, f"/activity/{used['activity_id']}").json()

    assert shown["approval"]["id"] == waiting
    assert shown["approval"]["status"] == "redeemed"
    assert shown["activity"]["execution"]["error"] == "it broke"
    passed = [check["number"] for check in shown["checks"] if check["state"] == "passed"]
    assert [number for number in passed if number is not None] == [1, 2, 3, 16, 14, 19, 20]


# --- overview ---------------------------------------------------------------------------------------


def test_the_overview_counts_by_hour_outcome_and_reason(world):
    agent = world.register()
    world.verify(agent)
    world.clock.advance(2 * HOUR)
    refused(world, agent, step=2)

    overview = get(world, "/overview").json()

    assert len(overview["bars"]) == 24
    assert [(bar["approved"], bar["denied"]) for bar in overview["bars"][-3:]] == [(1, 0), (0, 0), (0, 1)]
    assert overview["totals"]["approved"] == overview["totals"]["denied"] == 1
    assert overview["refusals"] == [
        {
            "error_code": "QWED-AGENT-005",
            "meaning": "The engine disproved the action, or found it forbidden",
            "count": 1,
        }
    ]
    assert overview["verification_ms"]["sample"] == 0 or overview["verification_ms"]["p50"] >= 0
    assert overview["spending"]["today_usd"] == 0.01


@pytest.mark.parametrize(("hours", "bars"), [("24", 24), ("168", 28), ("720", 30)])
def test_longer_periods_have_wider_bars(world, hours, bars):
    assert len(get(world, "/overview", hours=hours).json()["bars"]) == bars


def test_a_period_of_another_length_is_refused(world):
    assert get(world, "/overview", hours="1").status_code == 422


def test_what_is_too_old_leaves_the_overview(world):
    agent = world.register()
    world.verify(agent)
    world.clock.advance(DAY)

    assert get(world, "/overview", hours="24").json()["totals"]["approved"] == 0
    assert get(world, "/overview", hours="168").json()["totals"]["approved"] == 1


def test_an_overview_is_made_once_a_second(world):
    agent = world.register()
    assert get(world, "/overview").json()["totals"]["approved"] == 0
    world.verify(agent)

    assert get(world, "/overview").json()["totals"]["approved"] == 0
    world.clock.advance(SECOND)
    assert get(world, "/overview").json()["totals"]["approved"] == 1


def test_agents_with_a_reason_to_look_are_listed_with_it(world):
    good = world.register(name="good")
    stopped = world.register(name="stopped")
    world.call("POST", f"/agents/{stopped['agent_id']}/suspend", json={"reason": "odd"})
    failing = world.register(name="failing")
    spent = world.register(name="spent", budget={"max_daily_cost_usd": 0.01})
    for step in range(1, 12):
        world.verify(good, {"type": "calculate", "query": str(step)}, step)
        refused(world, failing, step)
    world.verify(spent)
    world.verify(spent, {"type": "calculate", "query": "3"}, 2)

    risks = {row["name"]: row["reasons"] for row in get(world, "/overview").json()["at_risk"]}

    assert "good" not in risks
    assert risks["stopped"] == ["suspended: odd"]
    assert any("denied" in reason for reason in risks["failing"])
    assert any("budget" in reason for reason in risks["spent"])
    assert any("spent 0.01 of 0.01 USD today" in reason for reason in risks["spent"])


# --- conversations and comparisons ------------------------------------------------------------------


def test_conversations_come_newest_first_with_their_decisions(world):
    agent = world.register()
    world.verify(agent, conversation="old")
    refused(world, agent, 1, "new")
    world.verify(agent, step=2, conversation="new")

    found = get(world, f"/agents/{agent['agent_id']}/conversations").json()["conversations"]

    assert [(row["conversation_id"], row["entries"]) for row in found] == [("new", 2), ("old", 1)]
    assert found[0]["decisions"] == {"approved": 1, "denied": 1}


def test_what_waits_is_compared_with_what_its_agent_usually_does(world):
    agent = world.register()
    for step in range(1, 21):
        world.verify(
            agent, {"type": "api_call", "target": "https://a.example", "parameters": {"n": step}}, step
        )
    world.prover.says(Status.VERIFIED, Risk.HIGH)
    action = {"type": "api_call", "target": "https://b.example", "parameters": {"n": 900}}
    waiting = world.verify(agent, action, 21)["approval"]["id"]

    found = get(world, f"/approvals/{waiting}/comparison").json()

    assert found["compared_with"] == 20
    assert {row["field"] for row in found["differences"]} == {"target", "n", "risk"}
    assert found["agent"]["name"] == "tester"


def test_what_was_refused_or_came_later_is_nothing_usual(world):
    agent = world.register()
    usual = {"type": "api_call", "target": "https://a.example"}
    for number in range(6):
        world.verify(agent, usual, 1, conversation=f"usual {number}")
    world.prover.says(Status.FAILED, Risk.CRITICAL, failure=Failure.INCORRECT)
    for number in range(6):
        world.verify(agent, {**usual, "target": "https://b.example"}, 1, conversation=f"refused {number}")
    world.prover.says(Status.VERIFIED, Risk.HIGH)
    waiting = world.verify(agent, {**usual, "target": "https://b.example"}, 1, conversation="asks")
    world.clock.advance(1000)
    world.prover.says(Status.VERIFIED, Risk.LOW)
    world.verify(agent, {**usual, "target": "https://b.example"}, 1, conversation="later")

    found = get(world, f"/approvals/{waiting['approval']['id']}/comparison").json()

    assert found["compared_with"] == 6
    assert {row["field"] for row in found["differences"]} == {"target", "risk"}


def test_a_trust_request_is_compared_with_nothing(world):
    agent = world.register(type="supervised")
    body = {"request": "trust_elevation", "from_level": 1, "to_level": 2, "justification": "please"}
    asked = world.call("POST", f"/agents/{agent['agent_id']}/trust", json=body).json()["approval"]["id"]

    assert get(world, f"/approvals/{asked}/comparison").json()["differences"] == []
