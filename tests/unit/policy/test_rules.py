"""The section `rules` of the policy file: what is read, and what is said of mistakes."""

from decimal import Decimal

import pytest

from qwed.domain.policy import DEFAULT_POLICY, Policy
from qwed.domain.rules import (
    MAX_TEAM_RULES,
    MAX_TEAMS,
    Limit,
    Measure,
    Mode,
    Per,
    Requires,
    Then,
    duration_ms,
    show_duration,
)
from qwed.policy import PolicyError, load_policy

EVERYTHING = """\
rules:
  - id: mail-outside
    when: action.type == "send_email"
    then: ask
    message: mail to people outside needs a second pair of eyes
    role: operator:mail
    approvers: 2
  - id: refunds
    when: action.type == "refund"
    limit: {sum: action.parameters.amount, by: action.parameters.currency, at_most: 500.50, within: 24h}
    then: ask
  - id: backup-first
    when: action.type == "execute_sql"
    requires: {before: 'action.type == "backup"', within: 1h, outcome: success, same: conversation}
    then: deny
  - id: after-secrets
    when: action.type == "send_email"
    never_after: {after: 'action.type == "file_read"', within: 12h}
    then: deny
    mode: observe
  - {id: slowly, when: 'action.type == "deploy"', cooldown: {within: 10m, per: everything}, then: note}
"""


def _mistakes(text: str) -> list[str]:
    with pytest.raises(PolicyError) as raised:
        load_policy(text, "policy.yaml")
    return str(raised.value).splitlines()


def test_every_form_of_a_rule_is_read_with_its_line():
    mail, refunds, backup, secrets, slowly = load_policy(EVERYTHING, "policy.yaml").rules

    assert (mail.then, mail.role, mail.approvers, mail.line) == (Then.ASK, "operator:mail", 2, 2)
    assert refunds.limit == Limit(
        Decimal("500.50"),
        86_400_000,
        Measure.SUM,
        "action.parameters.amount",
        "action.parameters.currency",
        Per.AGENT,
    )
    assert backup.requires == Requires(
        'action.type == "backup"', 3_600_000, succeeded=True, same=Per.CONVERSATION
    )
    assert secrets.mode is Mode.OBSERVE and secrets.trigger == 'action.type == "file_read"'
    assert slowly.cooldown is not None and slowly.cooldown.per is Per.EVERYTHING and slowly.is_timed


def test_rules_are_part_of_the_policys_name_and_their_lines_are_not():
    policy = load_policy(EVERYTHING, "policy.yaml")

    assert load_policy(f"# a remark\n{EVERYTHING}", "other.yaml").version == policy.version
    assert load_policy(EVERYTHING.replace("10m", "11m"), "policy.yaml").version != policy.version
    assert Policy.from_wire(policy.to_wire()).version == policy.version
    assert "rules" not in DEFAULT_POLICY.to_wire()


def test_mistakes_are_named_with_line_and_nearest_name():
    found = _mistakes("rules:\n  - id: a\n    wen: 'true'\n    then: denny\n")

    assert found == [
        "policy.yaml:2: rules[0]: needs when",
        "policy.yaml:3: rules[0].wen: unknown key; did you mean when?",
        'policy.yaml:4: rules[0].then: "denny" is not an effect; expected one of deny, ask, note',
    ]


@pytest.mark.parametrize(
    ("rest", "says"),
    [
        ("then: deny, role: boss", "need then: ask"),
        ("then: deny, limit: {at_most: 1.5, within: 1h}", "a whole number from 0 to 10000"),
        ("then: deny, limit: {at_most: 10001, within: 1h}", "a whole number from 0 to 10000"),
        ("then: deny, limit: {at_most: 1}", "needs within"),
        ("then: deny, limit: {at_most: 1, within: 0s}", "a duration"),
        ("then: deny, limit: {at_most: 1, within: 367d}", "a duration"),
        ("then: deny, limit: {at_most: 1, within: 1h, sum: amount}", "a path such as"),
        ("then: deny, limit: {at_most: 1, within: 1h, sum: action.type, count: true}", "one of count"),
        ("then: deny, cooldown: {within: 1h}, limit: {at_most: 1, within: 1h}", "one of limit"),
        ("then: deny, requires: {before: 'true', within: 1h, confirmed: true}", "needs outcome"),
        ("then: ask, approvers: 11", "a whole number from 1 to 10"),
    ],
)
def test_what_makes_no_sense_is_refused(rest: str, says: str):
    assert any(says in line for line in _mistakes(f"rules:\n  - {{id: a, when: 'true', {rest}}}\n"))


def test_an_id_is_given_once():
    found = _mistakes("rules:\n  - {id: a, when: 'true', then: deny}\n  - {id: a, when: 'true', then: ask}\n")

    assert found == ["policy.yaml:3: rules.a: is given twice, first in line 2"]


def test_rules_and_expressions_are_bounded():
    one = "  - {{id: r{}, when: 'true', then: note}}\n"
    many = "rules:\n" + "".join(one.format(number) for number in range(501))
    long = f"rules:\n  - id: a\n    then: deny\n    when: '{'x' * 4097}'\n"

    assert "a list of at most 500 entries" in _mistakes(many)[0]
    assert "at most 4096 bytes" in _mistakes(long)[0]


def test_durations_are_shown_in_their_largest_unit():
    assert [show_duration(ms) for ms in (1, 1500, 90_000, 3_600_000, 86_400_000)] == [
        "1ms",
        "1500ms",
        "90s",
        "1h",
        "1d",
    ]
    assert duration_ms("1w") is None and duration_ms("01h") is None


def test_as_many_teams_and_rules_as_are_allowed_fit_into_one_file():
    when = 'action.type == "type_{}" && risk >= CRITICAL'
    lines = ["teams:"]
    for team in range(MAX_TEAMS):
        lines += [f"  team_{team}:", f"    principals: [p{team}]", "    rules:"]
        each = range(MAX_TEAM_RULES // MAX_TEAMS)
        lines += [f"      - {{id: t{team}r{n}, when: '{when.format(n)}', then: deny}}" for n in each]

    policy = load_policy("\n".join(lines), "p")

    assert sum(len(team.rules) for team in policy.teams.values()) == MAX_TEAM_RULES
    assert policy.team_of["p49"] == "team_49"


def test_teams_are_read_and_their_mistakes_named():
    policy = load_policy("teams: {a: {principals: [x], rules: [{id: r, when: 'true', then: note}]}}", "p")

    assert policy.team_of == {"x": "a"} and [rule.id for rule in policy.rules_of("a")] == ["a/r"]
    assert Policy.from_wire(policy.to_wire()).version == policy.version
    assert "needs principals" in _mistakes("teams: {a: {}}")[0]
    assert "is in the team a already" in _mistakes("teams: {a: {principals: [x]}, b: {principals: [x]}}")[0]


def test_an_expression_that_does_not_check_is_refused_with_its_line():
    found = _mistakes("rules:\n  - id: a\n    then: deny\n    when: action.typ == 'x'\n")

    assert found[0].startswith("policy.yaml:4: rules[0].when: ") and "type" in found[0]
