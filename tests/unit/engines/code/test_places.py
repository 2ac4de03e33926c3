"""There is no place in a grammar where code can stand unseen."""

import pytest
from tests.corpora import code_places as corpus

from qwed.engines.code import inspect_javascript, inspect_python, inspect_shell


@pytest.mark.parametrize("text", corpus.SHELL)
def test_a_command_is_found_wherever_a_script_can_hold_one(text):
    assert inspect_shell(text).harms


@pytest.mark.parametrize("text", corpus.PYTHON)
def test_a_call_is_found_wherever_a_python_program_can_hold_one(text):
    assert inspect_python(text).harms


@pytest.mark.parametrize("text", corpus.JAVASCRIPT)
def test_a_call_is_found_wherever_a_javascript_program_can_hold_one(text):
    assert inspect_javascript(text).harms
