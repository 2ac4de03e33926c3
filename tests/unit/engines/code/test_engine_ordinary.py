"""Everyday programs pass; what calls something that nobody has listed is in doubt."""

import pytest
from tests.corpora import code_ordinary

from qwed.domain.findings import Status
from qwed.engines.code import inspect_code, inspect_javascript, inspect_python


@pytest.mark.parametrize("text", code_ordinary.PYTHON)
def test_everyday_python_is_verified(text):
    assert inspect_python(text).status is Status.VERIFIED, inspect_python(text).problems


@pytest.mark.parametrize("text", code_ordinary.JAVASCRIPT)
def test_everyday_javascript_is_verified(text):
    assert inspect_javascript(text).status is Status.VERIFIED, inspect_javascript(text).problems


@pytest.mark.parametrize(("language", "text"), code_ordinary.UNKNOWN)
def test_a_call_of_something_on_no_list_is_in_doubt(language, text):
    verdict = inspect_code(language, text)

    assert verdict.status is Status.UNCERTAIN
    assert {problem.rule for problem in verdict.doubts} <= {"unknown-module", "unknown-api"}
