"""The code engine's answers: which status, which risk, which evidence; and that nothing makes it fall."""

import subprocess
import sys

import msgspec
import pytest
from tests.corpora.hostile import CODE as HOSTILE
from tests.support.calls import counted_calls

from qwed.domain.actions import Action
from qwed.domain.findings import Failure, Status
from qwed.domain.risk import Risk
from qwed.engines.code import CodeEngine, inspect_code

ENGINE = CodeEngine()
LANGUAGES = ("python", "shell", "javascript")


def verify(code, **parameters):
    return ENGINE.verify(Action("execute_code", code=code, parameters=parameters))


def test_pure_code_is_verified_at_medium_risk_with_the_reason():
    finding = verify("print(sum(range(10)))")

    assert (finding.status, finding.risk) == (Status.VERIFIED, Risk.MEDIUM)
    assert finding.evidence["pure"] is True
    assert "no dynamic execution" in finding.reason


def test_code_with_ordinary_effects_is_verified_and_critical():
    finding = verify("print(open('notes.txt').read())")

    assert (finding.status, finding.risk) == (Status.VERIFIED, Risk.CRITICAL)
    assert finding.evidence["effects"] == ["file-read"]


def test_harmful_code_is_forbidden_and_critical_with_its_problems():
    finding = verify("import os\nos.system(input())")

    assert (finding.status, finding.failure, finding.risk) == (
        Status.FAILED,
        Failure.FORBIDDEN,
        Risk.CRITICAL,
    )
    assert finding.checks_failed == ("command-injection",)
    (problem,) = finding.evidence["problems"]
    assert (problem["rule"], problem["line"]) == ("command-injection", 2)


def test_code_that_does_not_parse_is_malformed():
    finding = verify("def f(:")

    assert (finding.status, finding.failure) == (Status.FAILED, Failure.MALFORMED)
    assert finding.checks_failed == ("parsed",)


def test_undecidable_code_is_uncertain():
    finding = verify("exec(make())")

    assert (finding.status, finding.failure, finding.risk) == (Status.UNCERTAIN, None, Risk.CRITICAL)


@pytest.mark.parametrize("code", [None, "", "  \n"])
def test_no_code_at_all_is_uncertain(code):
    assert verify(code).status is Status.UNCERTAIN


@pytest.mark.parametrize("language", ["cobol", "", 7, None, ["python"]])
def test_an_unknown_language_is_uncertain_and_critical(language):
    finding = verify("print(1)", language=language)

    assert (finding.status, finding.risk) == (Status.UNCERTAIN, Risk.CRITICAL)


@pytest.mark.parametrize("language", ["bash", "sh", "Shell", " shell "])
def test_shells_are_known_by_their_names(language):
    assert verify("rm -rf /", language=language).failure is Failure.FORBIDDEN


@pytest.mark.parametrize("language", ["js", "JavaScript", "node"])
def test_javascript_is_known_by_its_names(language):
    assert verify("require('fs').rmSync('/')", language=language).failure is Failure.FORBIDDEN


def test_the_query_is_inspected_where_there_is_no_code_and_also_beside_it():
    assert ENGINE.verify(Action("execute_code", query="eval(input())")).status is Status.FAILED
    assert (
        ENGINE.verify(Action("execute_code", query="eval(input())", code="print(1)")).status is Status.FAILED
    )


def test_a_program_in_the_parameters_is_inspected_too():
    hidden = Action("execute_code", code="print(1)", parameters={"script": "eval(input())"})

    assert ENGINE.verify(hidden).failure is Failure.FORBIDDEN
    assert ENGINE.verify(Action("execute_code", parameters={"code": "print(1)"})).status is Status.VERIFIED
    assert ENGINE.verify(Action("execute_code", parameters={"code": 7})).status is Status.UNCERTAIN


def test_the_evidence_is_json():
    for code in ("import os\nos.system(input())", "def f(:", "print(1)", "'\ud800'"):
        assert msgspec.json.encode(dict(verify(code).evidence))


@pytest.mark.parametrize("language", LANGUAGES)
def test_text_beyond_the_bound_is_not_read(language):
    finding = verify("#" + "x" * 70_000, language=language)

    assert finding.status is Status.UNCERTAIN
    assert finding.checks_failed == ("too-large",)


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("language", LANGUAGES)
def test_hostile_text_gets_an_answer_for_a_bounded_number_of_calls(name, language):
    with counted_calls() as work:
        finding = verify(HOSTILE[name], language=language)

    assert finding.risk is not None
    assert work.calls < 10_000_000


def test_code_within_code_is_followed_only_so_far():
    text = "print(1)"
    for _ in range(8):
        text = f"exec({text!r})"

    assert inspect_code("python", text).status is Status.UNCERTAIN


def test_a_harmful_core_is_found_through_three_languages():
    python = 'python3 -c \\"import os; os.remove(chr(47) + chr(120))\\"'
    text = f'node -e \'require("child_process").exec("{python}")\''

    assert inspect_code("shell", text).harms


def test_small_texts_may_run_on_the_callers_thread():
    assert ENGINE.is_quick(Action("execute_code", code="print(1)"))
    assert not ENGINE.is_quick(Action("execute_code", code="x = 1\n" * 5_000))
    assert not ENGINE.is_quick(Action("execute_code", code="a|" * 2_000, parameters={"language": "shell"}))


def test_importing_the_engine_loads_no_parser():
    loaded = subprocess.run(
        [sys.executable, "-c", "import qwed.engines.code, sys; print('tree_sitter' in sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    )

    assert loaded.stdout == "False\n"


def test_the_same_text_gives_the_same_answer():
    for language in LANGUAGES:
        for text in ("eval(x)", "rm -rf $x", "print(1)"):
            assert inspect_code(language, text) == inspect_code(language, text)
