"""Changed settings of engines over the record: nobody guesses; proofs are made anew on request."""

import pytest
from tests.support.world import World, calculate

from qwed import Gateway
from qwed.domain.findings import Failure, Status
from qwed.domain.risk import Risk

SQL = {"allowed_engines": ["sql"]}
STATEMENTS = [
    "SELECT name FROM customers LIMIT 5",
    "SELECT salary FROM staff LIMIT 5",
    "SELECT city FROM customers LIMIT 5",
]


@pytest.fixture
def gateway(tmp_path):
    policy = tmp_path / "qwed.yaml"
    policy.write_text("sql: {default_dialect: postgres}\n", encoding="utf-8")
    with Gateway.open(":memory:", policy=policy) as opened:
        agent = opened.register_agent(name="a", type="autonomous", principal_id="p", permissions=SQL)[
            "agent_id"
        ]
        for step, statement in enumerate(STATEMENTS, 1):
            context = {"conversation_id": "c", "step_number": step}
            opened.verify_action(agent, {"type": "execute_sql", "query": statement}, context)
        yield opened


STRICTER = "sql: {default_dialect: postgres, forbidden_columns: [salary, city]}\n"


def test_what_an_engine_would_be_asked_anew_is_not_guessed(gateway):
    report = gateway.backtest_policy(STRICTER)

    assert sum(report["cannot_say"].values()) == 3
    assert report["proven_again"] == 0 and not report["changes"]


def test_with_reprove_the_engines_are_asked_as_the_other_policy_sets_them(gateway):
    report = gateway.backtest_policy(STRICTER, reprove=True)

    assert not report["cannot_say"] and report["proven_again"] == 3
    now = [(row["now"], row["count"]) for row in (*report["direct"], *report["follow_on"])]
    then = gateway.backtest_policy("sql: {default_dialect: postgres}\n")
    assert then["same"] == 3 and then["proven_again"] == 0
    assert now == [("DENIED", 1), ("DENIED", 1)]


def test_its_proofs_are_those_that_a_gateway_under_this_policy_makes(gateway, tmp_path):
    report = gateway.backtest_policy(STRICTER, reprove=True)
    changed = {one["activity_id"]: one["now"]["decision"] for one in report["changes"]}
    policy = tmp_path / "stricter.yaml"
    policy.write_text(STRICTER, encoding="utf-8")
    with Gateway.open(":memory:", policy=policy) as other:
        agent = other.register_agent(name="a", type="autonomous", principal_id="p", permissions=SQL)[
            "agent_id"
        ]
        real = [
            other.verify_action(
                agent,
                {"type": "execute_sql", "query": statement},
                {"conversation_id": f"c{step}", "step_number": 1},
            )["decision"]
            for step, statement in enumerate(STATEMENTS)
        ]

    assert sorted(changed.values()) == sorted(one for one in real if one != "APPROVED")


def test_over_http_it_is_one_stretch_after_the_other(monkeypatch):
    monkeypatch.setattr("qwed.gateway.policy.run_backtest.MAX_PROVEN", 2)
    world = World()
    agent = world.register()
    for number in range(4):
        world.verify(agent, calculate(f"{number}+1"), 1, f"c{number}")
    world.prover.says(Status.FAILED, Risk.LOW, failure=Failure.INCORRECT)
    body = {"text": "actions: {calculate: {engine: logic}}\n", "reprove": True, "after": 0}
    stretches = 0
    while body["after"] is not None:
        report = world.call("POST", "/policy/backtest", json=body).json()
        body["after"], stretches = report["next"], stretches + 1
    world.close()

    assert stretches > 1 and report["proven_again"] == 4
    assert sum(row["count"] for row in (*report["direct"], *report["follow_on"])) == 4
    assert {one["now"]["decision"] for one in report["changes"]} == {"DENIED"}


def test_what_is_masked_is_not_proven_again():
    world = World()
    agent = world.register()
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    world.verify(agent, {**calculate("1+1"), "parameters": {"note": token}}, 1)
    body = {"text": "actions: {calculate: {engine: logic}}\n", "reprove": True}
    report = world.call("POST", "/policy/backtest", json=body).json()
    world.close()

    assert report["proven_again"] == 0 and sum(report["cannot_say"].values()) == 1
