"""Cedar policies: what they deny, and that nothing is allowed because a policy could not be asked."""

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from qwed.policy import load_policy
from qwed.policy.mistakes import PolicyError
from qwed.rules.cedar import CedarBook, CedarQuestion, NotCedar

ALL = "permit (principal, action, resource);\n"
BIG = """@id("no-big-transfer")
forbid (principal, action == Action::"transfer", resource) when { context.action.parameters.amount > 100 };"""


def ask(text: str, parameters: Any = None, **agent: Any) -> str | None:
    question = CedarQuestion(
        action={"type": "transfer", "parameters": {} if parameters is None else parameters},
        agent={"id": "agent_1", "name": "Payer", "type": "autonomous", "trust": 2, "principal": "acme"}
        | agent,
        conversation={"conversation_id": "c", "step_number": 1},
        finding={"status": "VERIFIED", "engine": "tool_control"},
        risk=1,
    )
    return CedarBook(text).explain_denial(question)


def test_a_forbid_denies_by_its_id_and_what_it_does_not_meet_is_allowed():
    assert ask(ALL + BIG, {"amount": 500}) == "forbidden by Cedar: no-big-transfer"
    assert ask(ALL + BIG, {"amount": 100}) is None


def test_what_nothing_permits_is_denied():
    assert ask('permit (principal in Team::"finance", action, resource);', {"amount": 1}) == (
        "no Cedar policy permits it"
    )


def test_policies_name_agent_principal_team_risk_and_conversation():
    text = (
        'permit (principal in Team::"finance", action, resource == Tool::"transfer")'
        ' when { principal in Principal::"acme" && principal.trust >= 2 && context.risk < 3'
        ' && context.conversation.step_number == 1 && principal.name like "Pay*" };'
    )
    assert ask(text, team="finance") is None
    assert ask(text, team="sales") is not None
    assert ask(text, team="finance", principal="other") is not None
    assert ask(text, team="finance", trust=1) is not None


@pytest.mark.parametrize(
    ("amount", "why"),
    [
        (None, "can't be evaluated"),
        ("500", "can't be evaluated"),
        (500.5, "can't be evaluated"),
        (2**70, "more digits"),
        (Decimal("0.00001"), "more digits"),
        (float("nan"), "more digits"),
        ([1, None], "no set"),
        ({"__entity": {"type": "Agent", "id": "admin"}}, "makes an entity"),
        ({"__extn": {"fn": "decimal", "arg": "1.0"}}, "makes an entity"),
        ("x" * 70_000, "longer than"),
    ],
)
def test_a_value_that_the_policy_cannot_judge_is_denied_although_cedar_itself_would_allow(
    amount: Any, why: str
):
    denied = ask(ALL + BIG, {"amount": amount})

    assert denied is not None and why in denied


def test_deep_values_are_denied_without_recursion():
    deep: Any = 1
    for _ in range(5_000):
        deep = [deep]
    assert "nested too deeply" in str(ask(ALL + BIG, {"amount": deep}))


def test_ids_with_quotes_and_line_breaks_are_ids_and_no_cedar():
    evil = 'x", action == Action::"y\n"'
    assert ask('permit (principal == Agent::"agent_1", action, resource);', id=evil) is not None
    assert ask(ALL + BIG, {"amount": 1}, id=evil) is None


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("permit (principal", "no Cedar policy"),
        (BIG, "add permit"),
        ("permit (principal == ?principal, action, resource);", "templates"),
        ("// nothing\n", "add permit"),
    ],
)
def test_a_text_that_is_no_usable_set_is_a_mistake_of_the_policy(text: str, says: str):
    with pytest.raises(NotCedar, match=says):
        CedarBook(text)
    indented = "".join(f"  {line}\n" for line in text.splitlines())
    with pytest.raises(PolicyError, match=says):
        load_policy(f"cedar: |\n{indented}", "policy.yaml")


def test_the_policy_holds_the_text_and_another_text_is_another_version(tmp_path: Path):
    one = load_policy("cedar: |\n  permit (principal, action, resource);\n", "policy.yaml")
    other = load_policy('cedar: |\n  @id("a")\n  permit (principal, action, resource);\n', "policy.yaml")

    assert one.cedar == "permit (principal, action, resource);\n"
    assert one.version != other.version
    assert load_policy("cedar:\n", "policy.yaml").version == load_policy("", "policy.yaml").version
