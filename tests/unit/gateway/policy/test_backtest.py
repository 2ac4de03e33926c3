"""Another policy over the record: what changes, what follows, and what nobody can say."""

import random

import pytest
from tests.support.tiers import scale
from tests.support.world import World, calculate

from qwed.domain.findings import Failure, Status
from qwed.domain.risk import Risk
from qwed.gateway.decide.shadow import PROVE_AGAIN
from qwed.gateway.kernel.coroutines import run
from qwed.gateway.policy import run_backtest
from qwed.gateway.policy.backtest import Backtest

MEDIUM = "actions: {calculate: {risk: critical}}\n"


@pytest.fixture
def world():
    built = World()
    yield built
    built.close()


def over(world, text="", **body):
    answer = world.call("POST", "/policy/backtest", json={"text": text, **body})
    assert answer.status_code == 200, answer.text
    return answer.json()


def act_at_random(world, count, seed=1):
    """Decisions of every kind: both doors, all findings and risks, refusals of all sorts, thresholds."""
    chance = random.Random(seed)
    agents = [
        world.register(budget={"max_requests_per_hour": None, "max_requests_per_day": None}),
        world.register(permissions={"allowed_engines": ["math"], "blocked_tools": ["send_email"]}),
        world.register(type="supervised"),
    ]
    names = ["calculate", "execute_sql", "send_email", "read_file", "no_such_thing", "deploy", "execute_code"]
    for number in range(count):
        agent = chance.choice(agents)
        status = chance.choice(list(Status))
        failure = Failure.INCORRECT if status is Status.FAILED else None
        world.prover.says(status, chance.choice(list(Risk)), failure=failure)
        name, step = chance.choice(names), chance.choice([1, 1, 1, 0, "x"])
        if chance.random() < 0.3:
            world.call(
                "POST", f"/agents/{agent['agent_id']}/tools/{name}", json={"parameters": {"n": number}}
            )
        else:
            options = {"options": {"risk_threshold": "medium"}} if chance.random() < 0.2 else {}
            world.verify(agent, {"type": name, "query": str(number)}, step, f"c{number}", **options)


def test_the_same_policy_decides_every_entry_as_it_was(world):
    act_at_random(world, scale(ci=250, nightly=2_000, long=100_000))
    report = over(world)
    while report["next"] is not None:
        report = over(world, after=report["next"])
        assert report["direct"] == report["follow_on"] == []

    assert report["decisions"] > 0
    assert report["direct"] == report["follow_on"] == report["changes"] == []
    assert report["same"] + sum(report["cannot_say"].values()) == report["decisions"]
    assert not report["cannot_say"]


def test_remembered_verdicts_are_those_of_the_walk(world, monkeypatch):
    """What entries have in common is decided once; decided one by one, they come out alike."""
    act_at_random(world, scale(ci=200, nightly=1_000, long=5_000), seed=2)
    text = (
        "actions: {calculate: {risk: high}, execute_sql: {enabled: false}}\ntrust: {denied_cells: pending}\n"
    )
    quick = over(world, text)
    monkeypatch.setattr(Backtest, "_key", lambda self, entry: None)
    slow = over(world, text)

    assert quick == slow
    assert quick["direct"]


def test_a_higher_risk_changes_decisions_directly(world):
    agent = world.register()
    world.verify(agent)
    report = over(world, MEDIUM)

    assert report["direct"] == [{"action_type": "calculate", "then": "APPROVED", "now": "DENIED", "count": 1}]
    assert report["changes"][0]["now"]["code"] == "QWED-AGENT-TRUST-001"


def test_what_comes_after_a_change_in_its_conversation_follows_from_it(world):
    agent = world.register()
    world.verify(agent, step=1)
    world.verify(agent, calculate("3+3"), step=2)
    world.prover.says(Status.VERIFIED, Risk.LOW)
    world.verify(agent, {"type": "prove_logic", "query": "a"}, step=3)
    report = over(world, MEDIUM)

    assert [row["count"] for row in report["direct"]] == [1]
    assert [row["count"] for row in report["follow_on"]] == [1]
    assert report["same"] == report["agents_may_have_gone_on_differently"] == 1


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("files: {roots: [/srv]}\n", PROVE_AGAIN),
        ("loops: {max_steps: 3}\n", "the other policy counts loops, budgets or prices in another way"),
        ("default_price_usd: 0.5\n", "the other policy counts loops, budgets or prices in another way"),
        (
            "assurance: {trust_scoring: true}\n",
            "the other policy has another assurance profile, with other scores",
        ),
    ],
)
def test_what_the_record_does_not_hold_is_not_guessed(world, text, reason):
    agent = world.register()
    world.verify(agent, {"type": "read_file", "parameters": {"path": "a"}})
    report = over(world, text)

    assert report["cannot_say"] == {reason: 1} and report["same"] == 0


def test_a_lower_risk_than_that_of_the_type_would_have_to_be_proven_again(world):
    agent = world.register()
    medium = {"text": "actions: {calculate: {risk: medium}}\n", "reason": "sums matter"}
    assert world.call("PUT", "/policy", json=medium).status_code == 200
    world.verify(agent)
    lower = over(world)
    higher = over(world, "actions: {calculate: {risk: critical}}\n")

    assert lower["cannot_say"] == {PROVE_AGAIN: 1}
    assert higher["direct"][0]["now"] == "DENIED"


def test_an_action_that_becomes_known_was_never_proven(world):
    agent = world.register()
    world.verify(agent, {"type": "teleport"})
    report = over(world, "actions: {teleport: {engine: logic}}\n")

    assert list(report["cannot_say"].values()) == [1] and not report["direct"]


def test_erased_entries_are_counted_as_such(world):
    agent = world.register()
    answer = world.verify(agent)
    path = f"/agents/{agent['agent_id']}/activity/{answer['activity_id']}/redact"
    assert world.call("POST", path, json={"reason": "asked to"}).status_code == 200
    report = over(world, MEDIUM)

    assert report["cannot_say"] == {"its text was erased": 1}


def test_one_agent_and_one_period_are_picked_out(world):
    first, second = world.register(), world.register()
    world.verify(first)
    world.verify(second)

    assert over(world, agent_id=first["agent_id"])["decisions"] == 1
    assert over(world, since="2999-01-01T00:00:00Z")["decisions"] == 0
    assert world.call("POST", "/policy/backtest", json={"text": "", "since": "x"}).status_code == 422


@pytest.mark.parametrize("is_kept", [True, False])
def test_stretches_add_up_to_the_whole(world, monkeypatch, is_kept):
    """A process that saw the stretch before goes on; another one reads what came before once more."""
    act_at_random(world, 20, seed=3)
    agent = world.register()
    for number in range(20):
        world.prover.says(Status.VERIFIED, Risk.LOW)
        world.verify(agent, calculate(f"{number}+1"), 1, f"d{number}")
    text = "rules: [{id: few, when: 'true', limit: {at_most: 9, within: 1h}, then: deny}]\n"
    whole = over(world, text)
    monkeypatch.setattr(run_backtest, "MAX_ENTRIES", 7)
    part = over(world, text)
    while part["next"] is not None:
        if not is_kept:
            world.services.live.runs.clear()
        part = over(world, text, after=part["next"])

    assert part == whole and whole["by_rule"]["few"] > 0


def test_a_backtest_records_nothing_and_is_for_operators(world):
    agent = world.register()
    world.verify(agent)
    before = run(world.services.store.evidence.size())
    over(world, MEDIUM)
    denied = world.call("POST", "/policy/backtest", key=world.principal_key(), json={"text": ""})
    after = run(world.services.store.evidence.size())

    assert denied.status_code == 403
    # The new key has an entry, and a row of its own.
    assert after - before == 2
