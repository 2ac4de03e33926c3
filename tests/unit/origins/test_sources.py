"""Sources that are trusted for some calls, and sources that are private."""

from typing import Any

import pytest

from qwed.domain.actions import Action
from qwed.domain.provenance_rules import OtherwiseAct, ProvenanceRules, SinkRule, SourceLabel, SourceRule
from qwed.domain.risk import Risk
from qwed.origins.index import Index, hear_result, hear_user
from qwed.origins.judge import OriginFinding, judge, judge_private
from qwed.policy import PolicyError, load_policy
from qwed.rules.sources import label_source

KEY = b"k" * 32
TEMPLATES = SourceRule(trusted_when='paths(action).all(p, p.startsWith("/srv/templates/"))')
PRIVATE = SourceRule(SourceLabel.DIRECTORY, private=True)
RULES = ProvenanceRules(sinks={"post_message.text": SinkRule(public=True, otherwise=OtherwiseAct.DENY)})
ROWS = [{"name": "Ann Whitfield", "iban": "DE02120300000000202051", "salary": 4210, "grade": "senior"}]


@pytest.mark.parametrize(
    ("parameters", "label"),
    [
        ({"path": "/srv/templates/letter.md"}, SourceLabel.TRUSTED),
        ({"path": "/srv/templates/../mail/inbox.txt"}, SourceLabel.UNTRUSTED),
        ({"path": "/srv/mail/inbox.txt"}, SourceLabel.UNTRUSTED),
        ({"paths": ["/srv/templates/a.md", "/srv/mail/b.txt"]}, SourceLabel.UNTRUSTED),
        # Of no path at all, everything would hold.
        ({"document": 7}, SourceLabel.UNTRUSTED),
        ({}, SourceLabel.UNTRUSTED),
    ],
)
def test_a_source_is_trusted_for_the_calls_that_its_condition_is_true_of(
    parameters: dict[str, Any], label: SourceLabel
) -> None:
    assert label_source(TEMPLATES, "read_file", parameters).label is label


def test_a_condition_that_cannot_be_evaluated_trusts_nothing() -> None:
    rule = SourceRule(trusted_when='action.parameters.folder == "templates"')

    assert label_source(rule, "read_file", {"folder": "templates"}).label is SourceLabel.TRUSTED
    assert label_source(rule, "read_file", {"folder": 7}).label is SourceLabel.UNTRUSTED
    assert label_source(rule, "read_file", {}).label is SourceLabel.UNTRUSTED


@pytest.mark.parametrize(
    "condition", ["risk < HIGH", "agent.trust > 1", "paths(asked).size() > 0", "1 +", "'yes'"]
)
def test_a_condition_asks_about_the_call_and_nothing_else(condition: str) -> None:
    text = f"provenance:\n  sources:\n    read_file: {{trusted_when: {condition!r}}}\n"
    with pytest.raises(PolicyError) as refused:
        load_policy(text, "p.yaml")

    assert [mistake.line for mistake in refused.value.mistakes] == [3]


def post(text: object, said: str = "hello", *others: Any) -> OriginFinding:
    heard = [hear_user(KEY, said, 0), hear_result(KEY, "read_payroll", 1, PRIVATE, ROWS)]
    heard += [hear_result(KEY, "read_page", 2, SourceRule(), other) for other in others]
    return judge(Index(KEY, heard), Action("post_message", parameters={"text": text}), RULES, Risk.LOW)


@pytest.mark.parametrize(
    "text",
    [
        "Ann earns 4210 now",
        "4,210.00 it is",
        "it was for Ann Whitfield, I think",
        "ANN  WHITFIELD",
        "pay to DE02 1203 0000 0000 2020 51",
        "REUwMjEyMDMwMDAwMDAwMDIwMjA1MQ==",
        4210,
    ],
)
def test_what_only_a_private_source_said_does_not_reach_where_others_read(text: object) -> None:
    found = post(text)

    assert found.otherwise is OtherwiseAct.DENY
    assert "stands in the result of read_payroll at step 1, which is private" in found.reasons[0]


@pytest.mark.parametrize("text", ["The meeting is at ten.", "We met 12 people", ""])
def test_other_words_are_nobodys_secret(text: str) -> None:
    assert post(text).otherwise is None


def test_what_another_source_said_too_is_no_secret() -> None:
    assert post("it was for Ann Whitfield", "write to Ann Whitfield").otherwise is None
    assert post("it was for Ann Whitfield", "hello", {"name": "Ann Whitfield"}).otherwise is None


def test_a_text_too_long_to_look_through_is_not_let_through() -> None:
    assert post("word " * 3_000).otherwise is OtherwiseAct.DENY


def test_a_private_value_is_kept_before_anybody_reports_what_the_user_wrote() -> None:
    index = Index(KEY, [hear_result(KEY, "read_payroll", 1, PRIVATE, ROWS)])
    action = Action("post_message", parameters={"text": "Ann earns 4210"})

    assert judge_private(index, action, RULES).otherwise is OtherwiseAct.DENY
    assert judge_private(index, Action("write_note", parameters={"text": "4210"}), RULES).otherwise is None
