"""Comparing policies: what got looser is shown by an action, and rewriting changes nothing."""

import pytest
from msgspec import structs

from qwed.domain.policy import Policy
from qwed.policy import load_policy
from qwed.policy.comparison import compare
from qwed.rules.analysis import Difference, Direction, diff_rules
from qwed.rules.analysis.differences import compare_rules
from qwed.rules.analysis.examples import Example

_TOOLS = "tools:\n  refund: {risk: medium}\n  deploy: {risk: high}\nrules:\n"


def _policy(*rules: str) -> Policy:
    return load_policy(_TOOLS + "".join(f"  - {{{rule}}}\n" for rule in rules) if rules else _TOOLS, "x")


def _refund(above: int, then: str = "ask") -> str:
    return f"id: a, when: 'action.type == \"refund\" && action.parameters.amount > {above}', then: {then}"


def _limit(at_most: int, within: str) -> str:
    limit = f"limit: {{at_most: {at_most}, within: {within}}}"
    return f"id: l, when: 'action.type == \"refund\"', then: deny, {limit}"


def _by_subject(old: Policy, new: Policy) -> dict[str, Difference]:
    return {each.subject: each for each in compare_rules(old, new)}


@pytest.mark.parametrize(
    ("old", "new", "direction"),
    [
        ([_refund(100)], [_refund(1000)], Direction.LOOSER),
        ([_refund(1000)], [_refund(100)], Direction.TIGHTER),
        ([_refund(100)], [_refund(100, "deny")], Direction.TIGHTER),
        ([_refund(100, "deny")], [_refund(100)], Direction.LOOSER),
        ([_refund(100)], [_refund(100, "ask, mode: observe")], Direction.LOOSER),
        ([_refund(100)], [_refund(100, "ask, approvers: 2")], Direction.TIGHTER),
        ([_refund(100, "ask, role: operator:bank")], [_refund(100)], Direction.LOOSER),
        ([_refund(100)], [], Direction.LOOSER),
        ([], [_refund(100)], Direction.TIGHTER),
        ([_refund(100)], [_refund(100).replace("> 100", "< 50")], Direction.BOTH),
        (
            [_refund(100)],
            [_refund(100).replace("action.parameters.amount > 100", "!(action.parameters.amount <= 100)")],
            Direction.SAME,
        ),
        ([_limit(10, "1h")], [_limit(20, "1h")], Direction.LOOSER),
        ([_limit(20, "1h")], [_limit(10, "2h")], Direction.TIGHTER),
        ([_limit(20, "1h")], [_limit(30, "2h")], Direction.BOTH),
        ([_refund(100, "note")], [], Direction.SAME),
    ],
)
def test_each_change_has_its_direction(old: list[str], new: list[str], direction: Direction) -> None:
    found = _by_subject(_policy(*old), _policy(*new))

    assert found["action refund"].direction is direction
    assert found["action deploy"].direction is Direction.SAME
    assert {each.direction for name, each in found.items() if name.startswith("rule ")} <= {direction}


def test_what_got_looser_is_shown_by_an_action_on_which_they_differ() -> None:
    found = _by_subject(_policy(_refund(100)), _policy(_refund(1000)))["rule a"]
    assert found.looser is not None
    data = {"action": found.looser["action"]}

    assert Example(data, {}).evaluate("action.parameters.amount > 100") is True
    assert Example(data, {}).evaluate("action.parameters.amount > 1000") is False


def test_a_rule_that_another_one_covers_can_go() -> None:
    wide = "id: b, when: 'action.type == \"refund\"', then: deny"

    assert _by_subject(_policy(_refund(100), wide), _policy(wide))["rule a"].direction is Direction.SAME


def test_a_rule_may_be_split() -> None:
    parts = [
        _refund(100).replace("id: a", "id: x").replace("> 100", "> 100 && action.parameters.amount < 500"),
        _refund(100).replace("id: a", "id: y").replace("> 100", ">= 500"),
    ]
    found = _by_subject(_policy(_refund(100)), _policy(*parts))

    assert found["action refund"].direction is Direction.SAME


def test_what_is_not_translated_is_not_analysed_unless_it_is_proven_all_the_same() -> None:
    drop = 'id: a, when: \'action.type == "refund" && action.query.matches("(?i)drop")\', then: ask'
    more = drop.replace('(\\"(?i)drop\\")', "").replace("drop", "drop|delete")
    also = drop.replace("(?i)drop\")'", '(?i)drop") || action.type == "refund" && risk >= HIGH\'')

    assert _by_subject(_policy(drop), _policy(more))["rule a"].direction is Direction.NOT_ANALYSED
    assert _by_subject(_policy(drop), _policy(also))["rule a"].direction is Direction.TIGHTER


def test_rules_that_cannot_be_read_are_not_analysed() -> None:
    """No file has such a rule: it is a mistake when it is loaded. A policy made in code can have one."""
    rule = structs.replace(_policy(_refund(1)).rules[0], when="action.typo == 1")
    broken = structs.replace(_policy(), rules=(rule,))

    (found,) = diff_rules(_policy(), broken)

    assert found.direction is Direction.NOT_ANALYSED


def test_a_worker_that_does_not_answer_in_time_leaves_everything_not_analysed() -> None:
    (found,) = diff_rules(_policy(_refund(100)), _policy(_refund(1)), deadline_seconds=0.001)

    assert found.direction is Direction.NOT_ANALYSED


@pytest.mark.parametrize(
    ("old", "new", "subject", "direction"),
    [
        ("", "tools: {close_shop: {group: safe}}", "action close_shop", Direction.LOOSER),
        ("tools: {a: {risk: high}}", "tools: {a: {risk: low}}", "action a", Direction.LOOSER),
        ("tools: {a: {group: safe}}", "tools: {a: {group: dangerous}}", "action a", Direction.TIGHTER),
        ("tools: {a: {}}", "tools: {a: {checks: {b: url}}}", "action a", Direction.NOT_ANALYSED),
        ("", "budgets: {max_daily_cost_usd: 500}", "budgets.max_daily_cost_usd", Direction.LOOSER),
        ("", "budgets: {max_daily_cost_usd: null}", "budgets.max_daily_cost_usd", Direction.LOOSER),
        ("", "approvals: {approvers: 2}", "approvals.approvers", Direction.TIGHTER),
        ("", "trust: {denied_cells: pending}", "trust.denied_cells", Direction.LOOSER),
        ("", "profile: standard", "profile", Direction.TIGHTER),
        ("", "urls: {allow: [a.example]}", "urls.allow", Direction.NOT_ANALYSED),
    ],
)
def test_tables_and_keys_have_their_direction(old: str, new: str, subject: str, direction: Direction) -> None:
    found = compare(load_policy(old, "old"), load_policy(new, "new"))
    by_subject = {each.subject: each.direction for each in found.differences}

    assert by_subject[subject] is direction
    assert found.needs_review is (direction is not Direction.TIGHTER)
