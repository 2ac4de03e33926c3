"""`qwed policy`: init, check, test, diff and explain, as people run them."""

import json
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from qwed.cli.policy import policy
from qwed.policy import load_policy
from qwed.policy.cases import load_cases
from qwed.policy.starters import STARTERS, read_starter
from qwed.rules.analysis.findings import analyse_rules


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def _run(*arguments: str) -> tuple[Any, str]:
    """The exit code that `qwed` would have, and what was printed."""
    result = CliRunner().invoke(policy, arguments, standalone_mode=False)
    if result.exception is not None:
        raise result.exception
    return result.return_value, result.output


@pytest.mark.parametrize("name", STARTERS)
def test_a_starting_point_has_nothing_doubtful_and_a_test_for_each_rule(name: str) -> None:
    text, tests = read_starter(name)
    starter, cases = load_policy(text, name), load_cases(tests, name)
    tested = {rule for case in cases.tests for rule in case.expect.rules or ()}
    analysis = analyse_rules(starter)

    assert analysis.findings == ()
    assert tested >= {rule.id for rule in starter.rules} - {"refunds-of-everybody"}
    assert len(text.splitlines()) <= 60


def test_init_writes_a_policy_and_its_tests_and_overwrites_nothing() -> None:
    code, _ = _run("init", "office")

    assert code == 0
    assert sorted(path.name for path in Path().iterdir()) == ["qwed.test.yaml", "qwed.yaml"]
    with pytest.raises(Exception, match="would be overwritten"):
        _run("init", "payments")
    assert "An office" in Path("qwed.yaml").read_text()


def test_check_prints_findings_with_line_and_example_and_strict_makes_them_an_error() -> None:
    Path("p.yaml").write_text(
        "rules:\n  - {id: a, when: 'action.type == \"file_delete\" && risk < HIGH', then: deny}\n"
    )
    code, printed = _run("check", "p.yaml")

    assert code == 0
    assert "p.yaml:2: a: warning: can never match" in printed
    assert '"type":"file_delete"' in printed
    assert _run("check", "p.yaml", "--strict")[0] == 1


def test_a_rule_that_cannot_be_read_is_an_error() -> None:
    Path("p.yaml").write_text("rules:\n  - {id: a, when: 'action.typo == 1', then: deny}\n")
    code, printed = _run("check", "p.yaml", "--json")

    assert code == 1
    (mistake,) = json.loads(printed)["mistakes"]
    assert (mistake["line"], mistake["path"]) == (2, "rules[0].when")
    assert "did you mean type" in mistake["message"]
    with pytest.raises(click.ClickException, match="did you mean type"):
        _run("check", "p.yaml")


def test_diff_answers_with_3_where_anything_got_looser() -> None:
    for name, amount in (("a.yaml", 100), ("b.yaml", 1000)):
        rule = f"when: 'action.type == \"send_email\" && action.parameters.size > {amount}'"
        Path(name).write_text(f"rules:\n  - {{id: a, {rule}, then: ask}}\n")
    code, printed = _run("diff", "a.yaml", "b.yaml")

    assert code == 3
    assert "looser: rule a" in printed
    assert "let through now: " in printed
    assert _run("diff", "b.yaml", "a.yaml")[0] == 0
    assert _run("diff", "a.yaml", "a.yaml") == (0, "both say the same\n")


_TESTS = """
agents:
  clerk: {type: supervised, allowed_tools: [own_tool]}
  boss: {trust: 3}
tests:
  - name: tables decide
    agent: clerk
    action: {type: calculate, query: 2 + 2 = 4}
    expect: {decision: APPROVED}
  - name: trust counts
    agent: boss
    action: {type: file_delete, parameters: {path: notes.txt}}
    expect: {decision: APPROVED}
  - name: history is lived through
    agent: clerk
    now: 2026-03-01T10:00:00Z
    history:
      - {action: {type: calculate, query: "{n} + 0 = {n}"}, ago: 1h, times: 45, outcome: success}
    action: {type: calculate, query: 1 + 1 = 2}
    expect: {decision: APPROVED}
"""


def test_cases_are_decided_as_the_gateway_would() -> None:
    Path("qwed.yaml").write_text("")
    Path("qwed.test.yaml").write_text(_TESTS)
    code, printed = _run("test")

    assert "3 of 3 tests pass" in printed
    assert code == 0


def test_a_case_that_fails_says_what_was_expected_and_what_was() -> None:
    Path("qwed.yaml").write_text("")
    Path("qwed.test.yaml").write_text(
        "tests:\n  - {name: wrong, action: {type: close_shop}, expect: {decision: APPROVED, rules: [a]}}\n"
    )
    code, printed = _run("test")

    assert code == 1
    assert "qwed.test.yaml:2: expected APPROVED, was DENIED (QWED-AGENT-ACTION-001" in printed
    assert "expected rules a, were none" in printed


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "there is no test"),
        ("tests: [{name: a, action: {type: b}}]", "needs expect"),
        ("tests: [{name: a, action: 5, expect: {decision: DENIED}}]", "an action"),
        ("tests: [{name: a, agent: x, action: {type: b}, expect: {decision: DENIED}}]", "no agent 'x'"),
        ("tests: [{name: a, action: {type: b}, expect: {decision: NO}}]", "is not a decision"),
        ("tests: [{name: a, now: noon, action: {type: b}, expect: {decision: DENIED}}]", "a time such as"),
        (
            "tests: [{name: a, action: {type: b}, expect: {decision: DENIED}, histroy: []}]",
            "did you mean history?",
        ),
    ],
)
def test_a_mistake_in_a_test_file_is_named(text: str, words: str) -> None:
    Path("qwed.test.yaml").write_text(text)

    with pytest.raises(Exception, match="has mistakes") as caught:
        _run("test")
    assert words in str(getattr(caught.value, "message", caught.value))


def test_explain_shows_every_row_and_keeps_nothing() -> None:
    Path("action.json").write_text('{"type": "send_email", "parameters": {"to": "ann@acme.example"}}')
    _, printed = _run("explain", "action.json", "--trust", "1", "--json")
    shown = json.loads(printed)

    assert shown["decision"] == "PENDING"
    assert [each["number"] for each in shown["checks"] if each["number"]] == list(range(1, 21))
    assert [each["number"] for each in shown["checks"] if each["state"] == "decided"] == [18]
    assert [path.name for path in Path().iterdir()] == ["action.json"]
