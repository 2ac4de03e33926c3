"""Rules over the record: what they would have said, on the history that they would have made."""

import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.support.tiers import scale
from tests.support.world import World, calculate

from qwed.domain.actions import Action
from qwed.domain.findings import Status
from qwed.domain.risk import Risk
from qwed.gateway.policy import recorded_rules
from qwed.policy import load_policy


@pytest.fixture
def world():
    built = World()
    yield built
    built.close()


def over(world, text, **body):
    answer = world.call("POST", "/policy/backtest", json={"text": text, **body})
    assert answer.status_code == 200, answer.text
    return answer.json()


def act(world, agent, *queries, seconds=1):
    for step, query in enumerate(queries, 1):
        world.verify(agent, calculate(query), step, f"of {agent['agent_id']}")
        world.clock.advance(seconds * 1000)


def rows(report):
    return [(row["then"], row["now"], row["count"]) for row in report["direct"]], [
        (row["then"], row["now"], row["count"]) for row in report["follow_on"]
    ]


def test_a_new_rule_is_asked_about_every_recorded_action(world):
    agent = world.register()
    act(world, agent, "9+1", "2+2", "9+3")
    report = over(world, "rules: [{id: nines, when: 'action.query.contains(\"9\")', then: deny}]\n")

    assert rows(report)[0] == [("APPROVED", "DENIED", 1)] and rows(report)[1] == [("APPROVED", "DENIED", 1)]
    assert report["by_rule"] == {"nines": 2} and not report["cannot_say"]
    assert report["changes"][0]["now"]["rules"] == ["nines"]
    assert report["changes"][0]["now"]["code"] == "QWED-AGENT-RULE-001"


def test_a_rule_that_goes_lets_its_actions_through():
    world = World(policy=load_policy("rules: [{id: r, when: 'true', then: deny}]\n", "p.yaml"))
    agent = world.register()
    act(world, agent, "1+1")
    report = over(world, "")
    world.close()

    assert rows(report) == ([("DENIED", "APPROVED", 1)], [])


def test_a_limit_counts_what_the_record_holds(world):
    agent = world.register()
    act(world, agent, *(f"{n}+1" for n in range(6)))
    few = "rules: [{id: few, when: 'true', limit: {at_most: 4, within: 1h}, then: ask}]\n"
    report = over(world, few)

    assert sum(row["count"] for row in report["direct"] + report["follow_on"]) == 2
    assert report["changes"][0]["now"]["code"] == "QWED-AGENT-RULE-003"
    assert [one["now"]["decision"] for one in report["changes"]] == ["PENDING", "PENDING"]


def test_windows_slide_over_the_record_to_the_millisecond(world):
    agent = world.register()
    act(world, agent, "1+1", "2+1", seconds=10)
    exact = "rules: [{id: few, when: 'true', limit: {at_most: 1, within: 10s}, then: deny}]\n"
    longer = exact.replace("10s", "10001ms")

    assert over(world, exact)["same"] == 2
    assert rows(over(world, longer))[0] == [("APPROVED", "DENIED", 1)]


def test_what_the_other_policy_refuses_is_not_counted_by_its_rules(world):
    """The first two are refused by one rule, so the limit is reached two actions later: that follows."""
    agent = world.register()
    for number, query in enumerate(["9+1", "9+2", "3+3", "4+4", "5+5"]):
        world.verify(agent, calculate(query), 1, f"c{number}")
        world.clock.advance(1_000)
    text = (
        "rules:\n  - {id: nines, when: 'action.query.contains(\"9\")', then: deny}\n"
        "  - {id: few, when: 'true', limit: {at_most: 2, within: 1h}, then: deny}\n"
    )
    report = over(world, text)

    assert rows(report) == ([("APPROVED", "DENIED", 3)], [])
    assert [one["now"]["rules"] for one in report["changes"]] == [["nines"], ["nines"], ["few"]]
    assert report["same"] == 2


def test_a_change_that_only_the_changed_history_makes_is_a_follow_on():
    """What must come before would have been refused, so what needs it would have been refused too."""
    before = load_policy(
        "rules: [{id: first, when: 'action.query == \"2+2\"', "
        "requires: {before: 'action.query == \"1+1\"', within: 1h}, then: deny}]\n",
        "p.yaml",
    )
    world = World(policy=before)
    agent = world.register()
    world.verify(agent, calculate("1+1"), 1, "a")
    assert world.verify(agent, calculate("2+2"), 1, "b")["decision"] == "APPROVED"
    more = (
        "rules:\n  - {id: first, when: 'action.query == \"2+2\"', "
        "requires: {before: 'action.query == \"1+1\"', within: 1h}, then: deny}\n"
        "  - {id: no-ones, when: 'action.query == \"1+1\"', then: deny}\n"
    )
    report = over(world, more)
    world.close()

    assert rows(report) == ([("APPROVED", "DENIED", 1)], [("APPROVED", "DENIED", 1)])


def test_with_an_outcome_an_action_counts_from_its_report_on(world):
    agent = world.register()
    needs = (
        "rules: [{id: backup-first, when: 'action.query == \"2+2\"', requires: {before: "
        "'action.query == \"1+1\"', within: 1h, outcome: success}, then: deny}]\n"
    )
    backup = world.verify(agent, calculate("1+1"), 1, "a")
    world.verify(agent, calculate("2+2"), 1, "b")
    path = f"/agents/{agent['agent_id']}/activity/{backup['activity_id']}/outcome"
    assert world.call("POST", path, key=agent["agent_token"], json={"outcome": "success"}).status_code == 200
    world.verify(agent, calculate("2+2"), 1, "c")

    report = over(world, needs)
    assert rows(report) == ([("APPROVED", "DENIED", 1)], []) and report["same"] == 2
    assert rows(over(world, needs.replace("success", "success, confirmed: true")))[0] == [
        ("APPROVED", "DENIED", 2)
    ]


def test_windows_know_what_came_before_the_time_that_is_asked_for(world):
    agent = world.register()
    for number in range(4):
        world.verify(agent, calculate(f"{number}+1"), 1, f"c{number}")
        world.clock.advance(60_000)
    at = world.decisions(agent)[0]["timestamp"]
    few = "rules: [{id: few, when: 'true', limit: {at_most: 3, within: 1h}, then: deny}]\n"
    report = over(world, few, since=at)

    assert report["decisions"] == 1 and rows(report)[0] == [("APPROVED", "DENIED", 1)]
    assert over(world, few.replace("1h", "2m"), since=at)["same"] == 1


def test_other_agents_count_where_a_rule_looks_at_everything(world):
    first, second = world.register(), world.register()
    act(world, first, "1+1", "2+2")
    act(world, second, "3+3")
    few = "rules: [{id: few, when: 'true', limit: {at_most: 2, per: everything, within: 1h}, then: deny}]\n"
    report = over(world, few, agent_id=second["agent_id"])

    assert report["decisions"] == 1 and rows(report)[0] == [("APPROVED", "DENIED", 1)]


def test_teams_have_their_rules(world):
    agent = world.register()
    act(world, agent, "1+1")
    found = world.call("GET", f"/agents/{agent['agent_id']}").json()
    principal = found.get("agent", found)["principal_id"]
    team = f"teams: {{t: {{principals: [{principal}], rules: [{{id: r, when: 'true', then: deny}}]}}}}\n"

    assert over(world, team)["by_rule"] == {"t/r": 1}
    assert over(world, team.replace(principal, "somebody-else"))["same"] == 1


@pytest.mark.parametrize(
    ("when", "reason"),
    [
        ("action.parameters.note == 'x'", recorded_rules.READS_MASKED),
        ("recipients(action).size() > 1", recorded_rules.READS_MASKED),
        ("agent.score < 0.1", recorded_rules.READS_SCORE),
        ("origin('parameters.note') == 'untrusted'", recorded_rules.READS_ORIGIN),
    ],
)
def test_what_a_rule_reads_and_the_record_does_not_hold_is_not_guessed(world, when, reason):
    agent = world.register()
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    world.verify(agent, {**calculate("1+1"), "parameters": {"note": f"token {secret}", "amount": 1}}, 1)

    report = over(world, f'rules: [{{id: r, when: "{when}", then: deny}}]\n')
    assert report["cannot_say"] == {reason: 1}
    plain = over(world, "rules: [{id: r, when: 'action.parameters.amount == 1', then: deny}]\n")
    assert plain["by_rule"] == {"r": 1} and not plain["cannot_say"]


def test_a_rule_reads_the_action_that_would_have_run(world):
    agent = world.register()
    world.prover.says(Status.CORRECTED, Risk.LOW, corrected=Action("calculate", "2+2=4"))
    world.verify(agent, calculate("2+2=5"), 1)
    rule = 'rules: [{id: r, when: \'action.query == "2+2=4" && asked.query == "2+2=5"\', then: deny}]\n'

    assert over(world, rule)["by_rule"] == {"r": 1}


RULES = """rules:
  - {id: few, when: 'action.query.startsWith("1")', limit: {at_most: 2, within: 30s}, then: deny}
  - {id: pause, when: 'action.query.startsWith("2")', cooldown: {within: 5s, per: principal}, then: ask}
  - {id: after, when: 'action.query.startsWith("3")',
     never_after: {after: 'action.query.startsWith("4")', within: 20s}, then: deny}
  - {id: sums, when: 'has(action.parameters.amount)',
     limit: {sum: action.parameters.amount, at_most: 50, within: 1m, per: everything}, then: ask}
  - {id: odd, when: 'action.parameters.amount > 40', then: note}
"""


def act_freely(world, agents, seed, count):
    chance = random.Random(seed)
    for number in range(count):
        query = f"{chance.randint(1, 5)}+{number}"
        action = {**calculate(query), "parameters": {"amount": chance.choice([1, 7, "x", 30])}}
        if chance.random() < 0.3:
            del action["parameters"]
        world.verify(chance.choice(agents), action, 1, f"c{number}")
        world.clock.advance(chance.choice([0, 1_000, 3_000, 10_000]))


@settings(
    max_examples=scale(ci=6, nightly=60, long=300), deadline=None, suppress_health_check=list(HealthCheck)
)
@given(seed=st.integers(0, 2**32))
def test_a_backtest_says_what_the_gateway_says_under_these_rules(seed):
    """The same actions, once decided without rules and backtested, once decided under them."""
    text = RULES
    plain, ruled = World(), World(policy=load_policy(text, "p.yaml"))
    for world in (plain, ruled):
        agents = [world.register(budget=FREE) for _ in range(2)]
        act_freely(world, agents, seed, 40)
    real = [one["decision"] for one in entries(ruled)]
    report = over(plain, text)
    told = {one["activity_id"]: one["now"]["decision"] for one in report["changes"]}
    backtested = [told.get(one["activity_id"], one["decision"]) for one in entries(plain)]
    again = over(ruled, text)
    plain.close()
    ruled.close()

    assert backtested == real
    assert not report["cannot_say"] and not report["not_counted_by_rules"]
    assert again["same"] == again["decisions"] == 40 and not again["cannot_say"]


FREE = {"max_requests_per_hour": None, "max_requests_per_day": None}


def entries(world):
    found = world.call("GET", "/activity", params={"limit": 1000}).json()["activities"]
    return [one for one in reversed(found) if one["decision"] != "NOTED"]


def test_a_grant_that_nobody_would_have_been_asked_for_is_not_judged():
    asks = "rules: [{id: r, when: 'true', then: ask}, {id: s, when: 'false', then: deny}]\n"
    world = World(policy=load_policy(asks, "p.yaml"))
    agent = world.register()
    asked = world.verify(agent, calculate("1+1"), 1)
    approval = asked["approval"]["id"]
    key, path = world.principal_key(scopes=["approve", "read"]), f"/approvals/{approval}"
    assert world.call("POST", f"{path}/approve", key=key, json={}).status_code == 200
    redeemed = world.call("POST", f"{path}/redeem", json={"action": calculate("1+1")})
    assert redeemed.json()["decision"] == "APPROVED", redeemed.text
    same, other = (
        over(world, asks),
        over(world, "rules: [{id: r, when: 'action.query == \"x\"', then: ask}]\n"),
    )
    renamed = over(world, asks.replace("id: r", "id: q"))
    world.close()

    assert same["same"] == 2
    assert rows(other)[0] == [("PENDING", "APPROVED", 1)]
    assert other["cannot_say"] == {recorded_rules.NO_GRANT: 1}
    assert renamed["same"] == 2 and not renamed["cannot_say"]
