"""A test of letters never spares a reading in which something would be found."""

import itertools
import shutil
import subprocess

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.corpora import (
    code_javascript,
    code_places,
    code_python,
    code_second,
    code_shell,
    ordinary_texts,
    shell_again,
    shell_everyday,
)

from qwed.engines.code.inspect import guess_shell, inspect_code
from qwed.engines.code.pretests import (
    find_runnable,
    is_no_command,
    is_no_javascript,
    is_no_python,
    sets_nothing,
)


def texts_of(*modules):
    for module in modules:
        for value in vars(module).values():
            if isinstance(value, list | tuple):
                yield from (each for each in value if isinstance(each, str))


MODULES = (code_javascript, code_places, code_python, code_second, code_shell, ordinary_texts, shell_everyday)
TEXTS = sorted({*texts_of(*MODULES), *shell_again.planted("rm -rf /home")})
SPELLINGS = list(itertools.islice(code_shell.deletions(), 0, None, 17))
PYTHON_LINES = [
    *(
        "x = 1",
        "import os",
        "from a import b",
        "rm = rf = home = 1",
        "# it's",
        '"""Doc."""',
        "y = 'a b'",
        "pass",
    )
]
PIECES = st.sampled_from([*TEXTS, *SPELLINGS, *PYTHON_LINES * 40])
# The tables are loaded by the first text, whenever that is.
UNHURRIED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
MIXED = st.lists(PIECES, min_size=1, max_size=3).map("\n".join)


def found_by_shell(text):
    full, guessed = inspect_code("shell", text), guess_shell(text)
    return bool(full.harms or guessed.harms or guessed.acts or (guessed.home and not guessed.pure))


def test_no_text_of_the_corpora_is_spared_wrongly():
    spared = [text for text in TEXTS + SPELLINGS if is_no_command(text) and found_by_shell(text)]
    parsed = [
        text
        for text in TEXTS + SPELLINGS
        if is_no_javascript(text) and inspect_code("javascript", text).malformed is None
    ]

    as_python = [
        text
        for text in TEXTS + SPELLINGS
        if is_no_python(text) and inspect_code("python", text).malformed is None
    ]

    assert (spared, parsed, as_python) == ([], [], [])


@UNHURRIED
@given(MIXED)
def test_a_text_said_to_hold_no_command_has_no_effect_as_shell(text):
    assert not (is_no_command(text) and found_by_shell(text))


@UNHURRIED
@given(MIXED)
def test_a_text_said_to_be_no_javascript_does_not_parse(text):
    if is_no_javascript(text):
        assert inspect_code("javascript", text).malformed is not None


WORDS = st.sampled_from(
    [
        *(
            "const",
            "let",
            "var",
            "function",
            "do",
            "new",
            "x",
            "match",
            "type",
            "print",
            "not",
            "lambda",
            "await",
        )
    ]
)
SIGNS = st.sampled_from(
    [*(" ", "  ", "\t", "\n", "=", "(", ")", "[", "]", "{", "}", ":", "'a'", "1", ",", "//")]
)


@UNHURRIED
@given(MIXED | st.lists(WORDS | SIGNS, max_size=9).map("".join))
def test_a_text_said_to_be_no_python_does_not_parse(text):
    if is_no_python(text):
        assert inspect_code("python", text).malformed is not None


@UNHURRIED
@given(MIXED)
def test_a_text_said_to_set_and_call_nothing_does_no_harm_as_python_or_javascript(text):
    if sets_nothing(text):
        assert not inspect_code("python", text).harms
        script = inspect_code("javascript", text)
        assert script.malformed is not None or not script.harms


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs a bash to ask")
def test_a_bash_can_not_read_a_text_that_is_cut():
    for text in [*code_second.ORDINARY_PYTHON, *code_javascript.ORDINARY]:
        runnable = find_runnable(text)
        if runnable is not None:
            # -n: reads without running anything.
            asked = subprocess.run(["bash", "-n"], input=text, text=True, capture_output=True, check=False)
            assert asked.returncode != 0, text
            assert text.startswith(runnable)
