"""A text, looked through before anybody puts it in force."""

import pytest
from tests.support.world import World

from qwed.rules.analysis import client


@pytest.fixture
def world():
    built = World()
    yield built
    built.close()


def check(world, text, **more):
    answer = world.call("POST", "/policy/check", json={"text": text}, **more)
    return answer.status_code, answer.json()


def test_mistakes_are_told_with_their_lines(world):
    status, found = check(world, "rules:\n  - id: r\n    when: action.qery == '9'\n    then: deny\n")

    assert status == 200 and not found["is_valid"]
    assert found["mistakes"][0]["line"] == 3 and "query" in found["mistakes"][0]["message"]


def test_findings_and_differences_are_told(world):
    status, found = check(
        world,
        "rules:\n  - {id: never, when: risk > CRITICAL, then: deny}\n"
        "  - {id: nines, when: 'action.query.contains(\"9\")', then: deny}\n",
    )

    assert status == 200 and found["is_valid"] and found["mistakes"] == []
    assert [(one["rule"], one["line"]) for one in found["findings"]] == [("never", 2)]
    assert ("rule nines", "tighter") in [(one["subject"], one["direction"]) for one in found["differences"]]
    assert found["needs_review"] is False


def test_what_gets_looser_needs_review(world):
    strict = {"text": "rules: [{id: r, when: 'true', then: deny}]\n", "reason": "strict"}
    assert world.call("PUT", "/policy", json=strict).status_code == 200

    assert check(world, "")[1]["needs_review"] is True
    assert check(world, strict["text"])[1]["differences"] == []


def test_an_analysis_that_takes_too_long_says_so_and_needs_review(world, monkeypatch):
    """Nothing is called fine because nobody had time to look."""
    text = "rules: [{id: r, when: 'risk >= HIGH', then: deny}]\n"
    assert check(world, text)[1]["needs_review"] is False
    ask = client._ask_worker
    monkeypatch.setattr(client, "_ask_worker", lambda policies, _: ask(policies, 0.001))
    found = check(world, text)[1]

    assert found["needs_review"] is True and found["not_analysed"][0]["question"] == "all rules"
    assert ("rules", "not analysed") in [(one["subject"], one["direction"]) for one in found["differences"]]


def test_it_is_for_operators_and_changes_nothing(world):
    assert check(world, "", key=world.principal_key())[0] == 403
    assert check(world, "x" * 600_000)[0] == 422
    assert world.call("GET", "/policy").json()["version"] == 0
