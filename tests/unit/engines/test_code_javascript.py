"""JavaScript: parsed, its strings put together, its calls classified."""

import pytest
from tests.corpora import code_javascript as corpus

from qwed.domain.findings import Status
from qwed.engines.code import inspect_javascript


def rules(text):
    return [problem.rule for problem in inspect_javascript(text).problems]


@pytest.mark.parametrize("text", corpus.HARMFUL)
def test_a_harmful_program_fails(text):
    assert inspect_javascript(text).harms, rules(text)


@pytest.mark.parametrize("text", corpus.ORDINARY)
def test_ordinary_code_raises_no_alarm(text):
    assert inspect_javascript(text).status is Status.VERIFIED, rules(text)


@pytest.mark.parametrize("text", corpus.UNDECIDABLE)
def test_what_depends_on_a_value_nobody_knows_is_uncertain(text):
    assert inspect_javascript(text).status is Status.UNCERTAIN, rules(text)


@pytest.mark.parametrize("text", corpus.PURE)
def test_a_program_that_only_computes_is_pure(text):
    assert inspect_javascript(text).pure, inspect_javascript(text).purity


@pytest.mark.parametrize(
    "text",
    ["while (true) {}", "fetch('https://x.example/')", "alert(1)", "function f() { f() } f()", "eval('1')"],
)
def test_what_may_not_end_or_reaches_outside_is_not_pure(text):
    assert not inspect_javascript(text).pure


def test_text_that_does_not_parse_is_malformed():
    assert inspect_javascript("let a =").malformed == "line 1: unexpected text"


def test_a_problem_names_its_line_and_flow():
    view = "app.get('/', (req, res) => {\n  cp.exec('ls ' + req.query.d);\n});\n"
    text = "const cp = require('child_process');\n" + view

    (problem,) = inspect_javascript(text).problems

    assert (problem.rule, problem.line) == ("command-injection", 3)
    assert problem.flow[0] == "line 3: remote data from req.query"
