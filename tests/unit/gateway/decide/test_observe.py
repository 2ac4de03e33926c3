"""Everything is observed: decisions are on record as they would have been, and none stops an action."""

import time

import msgspec
import pytest
from tests.support.fakes import NOON, FakeClock
from tests.support.tiers import scale
from tests.support.world import World, calculate, code_of
from tests.unit.gateway.policy.test_backtest import act_at_random

from qwed import bootstrap
from qwed.domain.actions import Action
from qwed.domain.findings import Failure, Status
from qwed.domain.risk import Risk
from qwed.gateway.decide.replay import replay
from qwed.gateway.kernel.coroutines import run
from qwed.policy import load_policy

RULES = """
actions: {calculate: {risk: low}}
rules:
  - {id: nines, when: 'action.query.contains("9")', then: deny, message: not with nines}
  - {id: sevens, when: 'action.query.contains("7")', then: ask}
  - {id: two-a-day, when: 'action.type == "calculate"', limit: {at_most: 2, within: 24h}, then: deny}
"""


@pytest.fixture
def observing():
    """A gateway that observes; `until_ms` is when it stops to."""
    opened = []

    def observing(text: str = "", until_ms: int | None = None, **more) -> World:
        world = World(policy=load_policy(text, "policy.yaml"), **more)
        opened.append(world)
        bootstrap.observe(world.services, until_ms)
        return world

    yield observing
    for world in opened:
        world.close()


def assert_replays(world: World, agent: dict) -> None:
    for entry in world.decisions(agent):
        payload = run(world.services.store.activity(entry["activity_id"]))[0].payload
        replayed = run(replay(msgspec.json.decode(payload), world.services.store.shared))
        assert replayed.is_same, replayed


def test_what_would_be_denied_is_answered_approved_and_recorded_denied(observing):
    world = observing(RULES)
    agent = world.register()
    response = world.verify_response(agent, calculate("9+9"))
    answer, entry = response.json(), world.decisions(agent)[0]

    assert (response.status_code, answer["decision"], answer["observed"]) == (200, "APPROVED", True)
    assert answer["would"]["decision"] == "DENIED" and code_of(answer["would"]) == "QWED-AGENT-RULE-001"
    assert [rule["id"] for rule in answer["would"]["rules"]] == ["nines"]
    assert "error" not in answer and "rules" not in answer
    assert (entry["decision"], entry["observed"]) == ("DENIED", True)
    assert entry["error_code"] == "QWED-AGENT-RULE-001"
    assert_replays(world, agent)


def test_what_is_approved_says_that_it_was_only_observed(observing):
    world = observing()
    answer = world.verify(world.register())

    assert (answer["decision"], answer["observed"]) == ("APPROVED", True)
    assert answer["would"] == {"decision": "APPROVED"}


def test_pending_opens_nothing_and_notifies_nobody(observing):
    world = observing(RULES)
    agent = world.register()
    answer = world.verify(agent, calculate("7+7"))

    assert (answer["decision"], answer["would"]["decision"]) == ("APPROVED", "PENDING")
    assert "approval" not in answer
    assert world.call("GET", "/approvals").json()["approvals"] == []
    assert "approval_id" not in world.decisions(agent)[0]


def test_a_correction_keeps_the_original_action(observing):
    world = observing()
    agent = world.register()
    world.prover.says(Status.CORRECTED, corrected=Action("calculate", "2+2=4"))
    answer = world.verify(agent, calculate("2+2=5"))

    assert answer["decision"] == "APPROVED" and "corrected_action" not in answer
    assert answer["would"]["decision"] == "CORRECTED"
    assert answer["would"]["corrected_action"]["query"] == "2+2=4"


def test_neither_attestation_nor_permit_is_signed(observing):
    world = observing()
    answer = world.verify(world.register(), options={"require_attestation": True, "permit": True})

    assert answer["decision"] == "APPROVED"
    assert not {"attestation", "permit", "execution_context"} & answer.keys()


def test_no_trust_is_lost_however_much_would_be_denied(observing):
    world = observing()
    agent = world.register(permissions={"allowed_engines": []})
    answers = [world.verify(agent, calculate(f"{step}+1"), step) for step in range(1, 40)]

    assert {answer["would"]["decision"] for answer in answers} == {"DENIED"}
    assert world.stored(agent).trust_level == agent["trust_level"]
    assert {answer["decision"] for answer in answers} == {"APPROVED"}


def test_steps_and_windows_count_what_ran(observing):
    world = observing(RULES)
    agent = world.register()
    answers = [world.verify(agent, calculate(f"{step}+9"), step) for step in (1, 2)]
    third = world.verify(agent, calculate("1+1"), 3)
    again = world.verify(agent, calculate("1+2"), 2)

    assert [answer["would"]["decision"] for answer in answers] == ["DENIED", "DENIED"]
    assert (third["would"]["decision"], code_of(third["would"])) == ("DENIED", "QWED-AGENT-RULE-003")
    assert code_of(again["would"]) == "QWED-AGENT-LOOP-002"
    assert_replays(world, agent)


def test_windows_count_what_an_engine_would_have_stopped(observing):
    world = observing(RULES)
    agent = world.register()
    world.prover.says(Status.FAILED)
    for step in (1, 2):
        assert world.verify(agent, calculate(f"{step}+1"), step)["would"]["decision"] == "DENIED"
    world.prover.says(Status.VERIFIED)

    assert code_of(world.verify(agent, calculate("3+1"), 3)["would"]) == "QWED-AGENT-RULE-003"


def test_a_budget_counts_on_after_it_would_have_been_exceeded(observing):
    world = observing()
    agent = world.register(budget={"max_daily_cost_usd": 1})
    answers = [
        world.verify(agent, calculate(f"{step}+1"), step, usage={"cost_usd": 0.6}) for step in (1, 2, 3)
    ]

    assert [answer["would"]["decision"] for answer in answers] == ["APPROVED", *["BUDGET_EXCEEDED"] * 2]
    assert {answer["decision"] for answer in answers} == {"APPROVED"}
    spent = sum(float(entry["cost"]["usd"]) for entry in world.decisions(agent))
    assert spent == pytest.approx(1.8, rel=0.1)
    assert world.budget(agent)["cost"]["current_daily_usd"] == pytest.approx(spent)


def test_what_ran_can_be_reported_and_what_was_denied_can_not(observing):
    world = observing(RULES, until_ms=NOON + 1_000)
    agent = world.register()
    observed = world.verify(agent, calculate("9+9"))
    world.clock.advance(2_000)
    enforced = world.verify(agent, calculate("9+1"), 2)

    def report(answer):
        path = f"/agents/{agent['agent_id']}/activity/{answer['activity_id']}/outcome"
        return world.call("POST", path, json={"outcome": "success"}).status_code

    assert (enforced["decision"], "observed" in enforced) == ("DENIED", False)
    assert (report(observed), report(enforced)) == (200, 409)


def test_who_asks_a_suspended_agent_and_what_is_stopped_are_enforced(observing):
    world = observing()
    agent, stopped = world.register(), world.register()
    world.call("POST", f"/agents/{stopped['agent_id']}/suspend", json={"reason": "test"})

    assert world.verify_response(agent, key="wrong").status_code == 401
    assert world.verify({"agent_id": "agent_0000000000000000"})["decision"] == "DENIED"
    answer = world.verify(stopped)
    assert (answer["decision"], "observed" in answer) == ("DENIED", False)
    world.call("POST", "/stop", json={"scope": "all", "reason": "test"})
    answer = world.verify(agent)
    assert (answer["decision"], code_of(answer)) == ("DENIED", "QWED-AGENT-STOP-001")


def test_a_request_that_cannot_be_read_is_refused(observing):
    world = observing()
    agent = world.register()

    assert world.verify_response(agent, {"query": "1"}).status_code == 422


def test_a_tool_call_says_approved_and_why_it_would_not_be(observing):
    world = observing()
    agent = world.register()
    path = f"/agents/{agent['agent_id']}/tools/no_such_tool"
    answer = world.call("POST", path, json={"parameters": {}}).json()

    assert (answer["approved"], answer["observed"]) == (True, True)
    assert answer["would"]["decision"] == "DENIED" and "blocked_reason" not in answer


@pytest.mark.parametrize(
    ("text", "says"),
    [("profile: regulated\n", "enforces every decision"), ("broker: {}\n", "acts for agents")],
)
def test_it_is_refused_where_everything_must_be_enforced(observing, text, says):
    world = observing()
    world.services.live.newest = None
    strict = msgspec.structs.replace(world.services, policy=load_policy(text, "policy.yaml"))
    with pytest.raises(bootstrap.CannotStart, match=says):
        bootstrap.observe(strict, None)
    bootstrap.observe(world.services, None)
    applied = world.call("PUT", "/policy", json={"text": text, "reason": "test"})
    assert (applied.status_code, world.services.newest.policy_number) == (422, 0)


def test_the_gateway_says_that_it_observes(observing):
    end = NOON + 1_000
    world = observing(until_ms=end)

    assert world.call("GET", "/ready").json()["observing"]["until"].startswith("20")
    world.clock.advance(2_000)
    assert "observing" not in world.call("GET", "/ready").json()


@pytest.mark.parametrize("is_observed", [True, False])
def test_scores_move_only_by_what_was_enforced(observing, is_observed):
    world = observing("assurance: {trust_scoring: true}\n", until_ms=None if is_observed else 1)
    agent, other = world.register(), world.register()
    world.prover.says(Status.FAILED, Risk.CRITICAL, failure=Failure.FORBIDDEN)
    answer = world.verify(agent, calculate("1+1"))
    path = f"/agents/{agent['agent_id']}/activity/{answer['activity_id']}/outcome"
    reported = world.call("POST", path, json={"outcome": "failure"})

    def score(one: dict) -> str:
        told = world.call("GET", f"/agents/{one['agent_id']}/trust-score", key=one["agent_token"])
        assert told.status_code == 200, told.text
        return told.json()["score"]

    assert reported.status_code == (200 if is_observed else 409)
    assert (score(agent) == score(other)) is is_observed


def test_the_same_policy_decides_an_observed_record_again_alike(observing):
    world = observing(RULES)
    act_at_random(world, scale(ci=120, nightly=1_000, long=10_000), seed=5)
    report = world.call("POST", "/policy/backtest", json={"text": RULES}).json()

    assert report["decisions"] > 100 and report["changes"] == []
    assert report["same"] == report["decisions"]


def test_what_ran_is_known_after_a_restart(observing, tmp_path):
    world = observing(RULES, database=tmp_path / "a.db", clock=FakeClock(time.time_ns() // 1_000_000))
    agent = world.register(budget={"max_daily_cost_usd": 1})
    for step in (1, 2):
        world.verify(agent, calculate(f"{step}+9"), step, usage={"cost_usd": 0.6})
    spent = world.budget(agent)["cost"]["current_daily_usd"]
    world.services.store.close()
    again = observing(RULES, database=tmp_path / "a.db", clock=FakeClock(time.time_ns() // 1_000_000))

    assert spent > 1 and again.budget(agent)["cost"]["current_daily_usd"] == spent
    answer = again.verify(agent, calculate("1+1"), 1)
    assert code_of(answer["would"]) == "QWED-AGENT-LOOP-002"


def test_the_record_tells_what_observed_rules_and_decisions_would_have_done(observing):
    watching = "  - {id: fives, when: 'action.query.contains(\"5\")', then: deny, mode: observe}\n"
    world = observing(RULES + watching)
    agent = world.register()
    answers = [
        world.verify(agent, calculate(query), step) for step, query in enumerate(("9+9", "5+5", "5+1"), 1)
    ]
    told = world.call("GET", "/shadow").json()

    assert told["observed_rules"] == [
        {"id": "fives", "would": {"deny": 2}, "newest": answers[2]["activity_id"]}
    ]
    assert told["observed_decisions"] == {
        "total": 3,
        "by_decision": {"DENIED": 2, "APPROVED": 1},
        "by_code": {"QWED-AGENT-RULE-001": 1, "QWED-AGENT-RULE-003": 1},
    }
