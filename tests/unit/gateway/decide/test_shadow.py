"""A second policy watches: what it would have said is on record, and no answer changes."""

import msgspec
import pytest
from tests.support.world import World, calculate
from tests.unit.gateway.policy.test_backtest import act_at_random

from qwed import bootstrap
from qwed.gateway.decide.replay import replay
from qwed.gateway.decide.shadow import Shadow
from qwed.gateway.kernel.coroutines import run
from qwed.policy import load_policy

NEXT = "actions: {calculate: {risk: critical}, execute_sql: {enabled: false}}\n"


class Watched:
    """A world with a shadow policy, and what the shadow had to report."""

    def __init__(self, text=NEXT, **world):
        self.reports = []
        self.world = World(**world)
        shadow = Shadow(bootstrap._read_text(text), lambda *said: self.reports.append(said))
        self.world.services.live.newest = msgspec.structs.replace(self.world.services, shadow=shadow)


@pytest.fixture
def watched():
    built = Watched()
    yield built
    built.world.close()


def test_what_it_would_have_said_stands_beside_the_decision(watched):
    agent = watched.world.register()
    answer = watched.world.verify(agent)
    entry = watched.world.decisions(agent)[0]

    assert answer["decision"] == entry["decision"] == "APPROVED"
    assert entry["shadow"]["decision"] == "DENIED"
    assert entry["shadow"]["code"] == "QWED-AGENT-TRUST-001"
    assert entry["shadow"]["rows"] == ["is_trusted"]
    assert run(replay(entry, watched.world.services.store.shared)).is_same


def test_where_both_say_the_same_nothing_is_added(watched):
    agent = watched.world.register()
    watched.world.verify(agent, {"type": "prove_logic", "query": "a"})

    assert "shadow" not in watched.world.decisions(agent)[0]


def test_the_differences_are_listed_from_the_record(watched):
    agent = watched.world.register()
    for step in (1, 2):
        watched.world.verify(agent, calculate(f"{step}+1"), step=step)
    told = watched.world.call("GET", "/shadow").json()

    assert told["differences"] == 2
    assert told["by_changes"] == {"APPROVED -> DENIED": 2}
    assert told["by_actions"] == {"calculate": 2} and told["by_agents"] == {agent["agent_id"]: 2}
    assert told["by_rows"] == {"is_trusted": 2}
    assert [one["would"]["decision"] for one in told["examples"]] == ["DENIED", "DENIED"]
    assert watched.world.call("GET", "/shadow", key=agent["agent_token"]).status_code == 403


def test_it_never_changes_an_answer():
    """The same requests with and without it; then what it said is what a backtest says."""
    watched, plain = Watched(), World()
    act_at_random(watched.world, 120, seed=5)
    act_at_random(plain, 120, seed=5)

    def decisions(world):
        entries = world.call("GET", "/activity", params={"limit": 1000}).json()["activities"]
        return [
            (e["action_type"], e["decision"], e.get("error_code"))
            for e in entries
            if e["decision"] != "NOTED"
        ]

    told = watched.world.call("GET", "/shadow").json()
    report = plain.call("POST", "/policy/backtest", json={"text": NEXT}).json()
    changed = sum(row["count"] for row in (*report["direct"], *report["follow_on"]))

    assert decisions(watched.world) == decisions(plain)
    assert told["differences"] >= changed > 0
    assert watched.reports == []
    watched.world.close()
    plain.close()


def test_a_crash_in_it_is_a_line_in_the_log(watched, monkeypatch):
    agent = watched.world.register()

    async def crash(self, case, said):
        raise ZeroDivisionError

    monkeypatch.setattr(Shadow, "_walk", crash)
    answer = watched.world.verify(agent)

    assert answer["decision"] == "APPROVED"
    assert watched.reports == [("shadow_failed", "ZeroDivisionError")]


def test_what_would_have_to_be_proven_again_is_left_out():
    watched = Watched(
        "files: {roots: [/srv]}\nactions: {read_file: {engine: tool_control, risk: critical}}\n"
    )
    agent = watched.world.register()
    watched.world.verify(agent, {"type": "read_file", "parameters": {"path": "a"}})
    entry = watched.world.decisions(agent)[0]
    watched.world.close()

    assert "shadow" not in entry and watched.reports == []


# --- its rules -------------------------------------------------------------------------------------------


def watch(text):
    watched = Watched(text)
    return watched, watched.world, watched.world.register()


def test_rules_of_the_other_policy_are_asked():
    watched, world, agent = watch("rules: [{id: nines, when: 'action.query.contains(\"9\")', then: deny}]\n")
    answers = [world.verify(agent, calculate(q), n)["decision"] for n, q in enumerate(("9+1", "2+2"), 1)]
    entries = world.decisions(agent)
    told = world.call("GET", "/shadow").json()
    world.close()

    assert answers == ["APPROVED", "APPROVED"] and "shadow" not in entries[0]
    assert entries[1]["shadow"]["rules"] == ["nines"]
    assert entries[1]["shadow"]["code"] == "QWED-AGENT-RULE-001"
    assert told["by_rules"] == {"nines": 1} and watched.reports == []


def test_what_its_limits_count_is_kept_apart_and_opens_nothing():
    text = "rules: [{id: few, when: 'true', limit: {at_most: 2, within: 10s}, then: ask}]\n"
    watched, world, agent = watch(text)
    answers = []
    for step in range(1, 5):
        answers.append(world.verify(agent, calculate(f"{step}+1"), step)["decision"])
    world.clock.advance(10_000)
    answers.append(world.verify(agent, calculate("5+1"), 5)["decision"])
    would = [entry.get("shadow", {}).get("decision") for entry in reversed(world.decisions(agent))]
    approvals = world.call("GET", "/approvals").json()["approvals"]
    world.close()

    assert answers == ["APPROVED"] * 5
    assert would == [None, None, "PENDING", "PENDING", None]
    assert approvals == [] and watched.reports == []


def test_the_same_limit_in_both_policies_is_counted_for_each():
    text = "rules: [{id: few, when: 'true', limit: {at_most: 2, within: 1h}, then: deny}]\n"
    watched = Watched(text.replace("2,", "3,"), policy=load_policy(text, "p.yaml"))
    world = watched.world
    agent = world.register()
    answers = [world.verify(agent, calculate(f"{n}+1"), 1, f"c{n}")["decision"] for n in range(5)]
    would = [entry.get("shadow", {}).get("decision") for entry in reversed(world.decisions(agent))]
    world.close()

    assert answers == ["APPROVED", "APPROVED", "DENIED", "DENIED", "DENIED"]
    # Under the other policy the third would have acted, and the fourth not.
    assert would == [None, None, "APPROVED", None, None]


def test_what_it_would_have_said_is_counted_once_for_each_decision_on_record():
    watched = Watched("rules: [{id: r, when: 'true', limit: {at_most: 0, within: 1h}, then: ask}]\n")
    shadow = watched.world.services.newest.shadow
    watched.world.verify(watched.world.register())
    watched.world.close()

    assert shadow.counted == {("APPROVED", "PENDING"): 1}


def test_shadow_and_backtest_agree_about_rules():
    from tests.unit.gateway.policy.test_backtest_rules import FREE, RULES, act_freely

    watched, plain = Watched(RULES), World()
    for world in (watched.world, plain):
        act_freely(world, [world.register(budget=FREE) for _ in range(2)], 11, 60)
    told = watched.world.call("GET", "/shadow").json()
    report = plain.call("POST", "/policy/backtest", json={"text": RULES}).json()
    watched.world.close()
    plain.close()

    assert told["by_rules"] == report["by_rule"] and report["by_rule"]
    assert watched.reports == []
