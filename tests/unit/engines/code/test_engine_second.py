"""The corpus that was written after the rules stays answered as it should be."""

import pytest
from tests.corpora import code_second as corpus

from qwed.domain.findings import Status
from qwed.engines.code import inspect_python, inspect_shell


@pytest.mark.parametrize("text", corpus.WEAK_PYTHON)
def test_a_weak_program_is_not_verified(text):
    assert inspect_python(text).status is not Status.VERIFIED


@pytest.mark.parametrize("text", corpus.ORDINARY_PYTHON)
def test_an_ordinary_program_is_verified(text):
    assert inspect_python(text).status is Status.VERIFIED


@pytest.mark.parametrize("text", corpus.HARMFUL_SHELL)
def test_a_harmful_script_is_not_verified(text):
    assert inspect_shell(text).status is not Status.VERIFIED


@pytest.mark.parametrize("text", corpus.HARMLESS_SHELL)
def test_a_harmless_script_is_verified(text):
    assert inspect_shell(text).status is Status.VERIFIED
