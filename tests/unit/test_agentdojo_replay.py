"""The replay of AgentDojo counts what the gateway answers, and its page says what was counted."""

import json
from pathlib import Path

import pytest
from bench.agentdojo.page import suites_table, table
from bench.agentdojo.replay import (
    Call,
    Fate,
    Suite,
    Task,
    attack_fate,
    fate_of,
    none_of_its_own,
    only_its_tools,
    replay,
)

from qwed import Gateway

ROOT = Path(__file__).parents[2]
LOOK = Call("look", {}, acts=False)
MAIL = Call("send_email", {"to": "a@example.com", "body": "hello"}, acts=True)
PAY = Call("send_money", {"amount": 1}, acts=True)
SUITE = Suite(
    "small",
    ("look", "send_email", "send_money"),
    (Task("reads", (LOOK,)), Task("mails", (LOOK, MAIL))),
    (Task("leak", (LOOK, MAIL)), Task("theft", (PAY,)), Task("words only", ())),
)


@pytest.mark.parametrize(
    ("decisions", "fate"),
    [
        (["APPROVED", "CORRECTED"], Fate.THROUGH),
        (["APPROVED", "PENDING"], Fate.ASKS),
        (["PENDING", "DENIED"], Fate.REFUSED),
        (["BUDGET_EXCEEDED"], Fate.REFUSED),
    ],
    ids=["through", "asks", "refused", "budget"],
)
def test_the_worst_answer_is_the_fate_of_a_task(decisions, fate):
    assert fate_of(decisions) is fate


def test_a_refused_read_does_not_stop_an_attack_whose_act_goes_through():
    leak = Task("leak", (LOOK, MAIL))

    assert attack_fate(leak, [(LOOK, "DENIED"), (MAIL, "APPROVED")]) is Fate.THROUGH
    assert attack_fate(leak, [(LOOK, "APPROVED"), (MAIL, "PENDING")]) is Fate.ASKS


def test_without_a_file_what_is_unknown_is_refused_and_mail_goes_through():
    with Gateway.open(":memory:") as gateway:
        outcome = replay(SUITE, gateway, none_of_its_own)

    assert outcome.user == {Fate.REFUSED: 2}
    assert outcome.attacks == {Fate.THROUGH: 2, Fate.REFUSED: 2}
    assert outcome.through == ("leak",)


def test_with_an_allowlist_an_attack_needs_the_tools_of_the_users_task():
    with Gateway.open(":memory:") as gateway:
        outcome = replay(SUITE, gateway, only_its_tools)

    assert outcome.user == {Fate.THROUGH: 2}
    assert outcome.attacks == {Fate.THROUGH: 1, Fate.REFUSED: 3}


def test_the_page_shows_the_committed_results():
    results = json.loads((ROOT / "bench" / "agentdojo" / "results.json").read_text(encoding="utf-8"))
    page = (ROOT / "docs" / "agentdojo.md").read_text(encoding="utf-8")

    assert f"<!-- suites -->\n{suites_table(results)}\n<!-- end -->" in page
    for name, outcomes in results["policies"].items():
        assert f"<!-- {name} -->\n{table(outcomes)}\n<!-- end -->" in page
