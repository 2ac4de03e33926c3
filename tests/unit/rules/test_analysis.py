"""Questions to the solver: proofs hold, examples are real, and what nobody can tell is said."""

import datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qwed.domain.policy import DEFAULT_POLICY
from qwed.policy import load_policy
from qwed.rules.analysis import analyse
from qwed.rules.analysis.examples import Example
from qwed.rules.analysis.questions import SolverQuestions, Want
from qwed.rules.expressions import read_expression
from qwed.rules.schema import RULE_SCHEMA

_QUESTIONS = SolverQuestions(DEFAULT_POLICY)


def _find(text: str, want: Want = Want.TRUE) -> Any:
    return _QUESTIONS.find((read_expression(text), want))


@pytest.mark.parametrize(
    "text",
    [
        'action.type == "send_email" && recipients(action).exists(r, r.domain != "acme.example")',
        'action.type == "file_read" && paths(action).exists(p, p.startsWith("/secrets/"))',
        'action.parameters.amount > 500 && action.parameters.currency == "EUR"',
        'now.getDayOfWeek("Europe/Berlin") == 6 && now.getHours("Europe/Berlin") == 3',
        'action.parameters.items.exists(i, i.price * 2 > 10 && i.name == "x")',
        'action.query.matches("^SELECT [^;]* FROM [a-z]+$")',
        "recipients(action).size() > 50",
        'context.user == "eve" && agent.score < 0.5',
        'now > timestamp("2026-12-20T00:00:00Z") && now < timestamp("2026-12-21T00:00:00Z")',
        "recipients(action).filter(r, r.domain == 'a.example').exists(r, r.local == 'bob')",
    ],
)
def test_an_example_is_one_on_which_the_expression_is_true(text: str) -> None:
    assert _find(text).example.evaluate(text) is True


def test_a_missing_key_counts_as_matching_and_not_as_true() -> None:
    text = "action.parameters.x > 3 && !has(action.parameters.x)"

    assert _find(text).is_impossible
    assert _find("action.parameters.x > 3", Want.MATCHES).example is not None


@pytest.mark.parametrize(
    "text",
    [
        "action.parameters.a == [1, 2]",
        'action.query.matches("(?i)drop")',
        "action.parameters.a[0] == 1",
        "action.parameters.exists(k, k == 'x')",
        "recipients(action).exists_one(r, r.domain == 'x.example')",
        "string(action.parameters.a) == '1'",
    ],
)
def test_what_is_not_translated_is_not_analysed_and_never_called_impossible(text: str) -> None:
    answer = _find(text)

    assert not answer.is_impossible
    assert answer.example is None
    assert answer.why


def test_an_untranslated_part_contradicts_itself_all_the_same() -> None:
    assert _find('action.query.matches("(?i)drop") && !action.query.matches("(?i)drop")').is_impossible


def test_a_solver_that_gives_up_is_not_analysed() -> None:
    text = 'recipients(action).exists(r, r.address.endsWith("@b.example") && r.domain != "b.example")'
    answer = SolverQuestions(DEFAULT_POLICY, solver_ms=1).find((read_expression(text), Want.TRUE))

    assert answer.why is not None


def test_an_analysis_that_takes_too_long_says_so() -> None:
    text = "rules:\n  - {id: b, when: 'risk >= HIGH', then: ask}\n"
    analysis = analyse(load_policy(text, "x"), deadline_seconds=0.001)

    assert analysis.findings == ()
    assert [(each.rule, each.question) for each in analysis.not_analysed] == [("b", "all rules")]


def test_the_worker_answers_as_the_analysis_does() -> None:
    text = "rules:\n  - {id: a, when: 'risk > CRITICAL', then: deny}\n"
    (finding,) = analyse(load_policy(text, "x")).findings

    assert (finding.code, finding.rule, finding.line) == ("never-matches", "a", 2)


_COMPARED = ["1", "2.5", '"a"', '"ab"', "true"]
_PATHS = ["action.parameters.x", "action.parameters.y", "action.parameters.x.z"]
_ATOMS = st.one_of(
    st.builds(
        "{} {} {}".format,
        st.sampled_from(_PATHS),
        st.sampled_from(["==", "!=", "<", ">="]),
        st.sampled_from(_COMPARED[:4]),
    ),
    st.builds("has({})".format, st.sampled_from(_PATHS)),
    st.builds("{}.startsWith({})".format, st.sampled_from(_PATHS), st.sampled_from(['"a"', '""'])),
    st.builds("{} in {}".format, st.sampled_from(_PATHS), st.sampled_from(['[1, "a"]', "[2.5]"])),
    st.builds(
        "action.parameters.{}.{}(e, e == {})".format,
        st.sampled_from("xy"),
        st.sampled_from(["exists", "all"]),
        st.sampled_from(_COMPARED),
    ),
    st.sampled_from(["risk >= HIGH", "agent.trust < 2"]),
)
_EXPRESSIONS = st.recursive(
    _ATOMS,
    lambda inner: st.one_of(
        st.builds("!({})".format, inner),
        st.builds("({}) {} ({})".format, inner, st.sampled_from(["&&", "||"]), inner),
    ),
    max_leaves=4,
)
_VALUES = st.recursive(
    st.one_of(st.sampled_from([1, 2.5, "a", "ab", True])),
    lambda inner: st.one_of(st.lists(inner, max_size=2), st.dictionaries(st.just("z"), inner, max_size=1)),
    max_leaves=3,
)


@settings(max_examples=60, deadline=None)
@given(_EXPRESSIONS, st.dictionaries(st.sampled_from("xy"), _VALUES), st.integers(0, 3), st.integers(0, 3))
def test_what_is_proven_impossible_is_true_of_no_action(
    text: str, parameters: dict[str, Any], risk: int, trust: int
) -> None:
    """The library is the reference: it decides an action that was drawn at random."""
    expression = read_expression(text)
    data = {
        **RULE_SCHEMA.constants,
        "action": {"type": "send_email", "parameters": parameters},
        "agent": {"trust": trust},
        "risk": risk,
    }
    found = Example(data, {}).evaluate(text)
    want = {True: Want.TRUE, False: Want.SILENT, None: Want.MATCHES}[found]

    assert not _QUESTIONS.find((expression, want), with_tables=False).is_impossible


def test_a_date_is_read_as_the_library_reads_it() -> None:
    example = _find('now >= timestamp("2030-01-01T00:00:00Z")').example

    assert example.data["now"] >= datetime.datetime(2030, 1, 1, tzinfo=datetime.UTC)
