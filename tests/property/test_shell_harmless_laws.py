"""Random harmless scripts are pure; with one piece planted that evaluates, reads or keeps, they never are."""

import os
import pathlib
import re
import shutil
import subprocess
import tempfile

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.corpora import shell_again

from qwed.engines.code import inspect_shell

NAMES = st.sampled_from(["a", "b", "name", "GREETING"])
COUNTERS = st.sampled_from(["n", "count", "total_2"])
WORDS = st.sampled_from(["one", "two", "hello", "x.txt", "42", "7"])
NUMBERS = st.integers(0, 999).map(str)


def prints():
    return st.one_of(
        WORDS.map(lambda word: f"echo {word}"),
        WORDS.map(lambda word: f"echo 'say {word}!'"),
        st.tuples(WORDS, NUMBERS).map(lambda pair: f"printf '%s %d\\n' {pair[0]} {pair[1]}"),
        st.tuples(NUMBERS, NUMBERS).map(lambda pair: f"echo $(({pair[0]} + {pair[1]}))"),
        st.tuples(NAMES, WORDS).map(lambda pair: f'{pair[0]}={pair[1]}; echo "${pair[0]}"'),
        st.tuples(COUNTERS, NUMBERS).map(lambda pair: f"{pair[0]}={pair[1]}; echo $(({pair[0]} * 2))"),
        WORDS.map(lambda word: f'echo "$(echo {word})"'),
    )


def compounds(inner):
    return st.one_of(
        st.lists(inner, min_size=1, max_size=3).map("; ".join),
        st.tuples(inner, inner).map(lambda pair: f"{{ {pair[0]}; }} && {{ {pair[1]}; }}"),
        st.tuples(NUMBERS, inner).map(lambda pair: f"if [ {pair[0]} -lt 5 ]; then {pair[1]}; fi"),
        inner.map(lambda body: f"for item in 1 2 3; do {body}; done"),
        inner.map(lambda body: f"case a in a) {body};; esac"),
        inner.map(lambda body: f"( {body} )"),
        inner.map(lambda body: f"{{ {body}; }}"),
    )


# The tables are loaded by the first text, whenever that is.
UNHURRIED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
SCRIPTS = st.recursive(prints(), compounds, max_leaves=4)
PLACES = st.sampled_from(
    [
        "{}",
        "{}; echo a",
        "echo a\n{}",
        "true && {{ {}\n}}",
        "if true; then\n{}\nfi",
        "for i in 1 2; do\n{}\ndone",
    ]
)


@UNHURRIED
@given(SCRIPTS)
def test_a_script_made_of_harmless_pieces_is_pure(script):
    verdict = inspect_shell(script)

    assert verdict.malformed is not None or verdict.pure, verdict.purity


@UNHURRIED
@given(SCRIPTS, st.sampled_from(shell_again.planted()), PLACES, st.booleans())
def test_a_script_with_one_piece_that_evaluates_reads_or_keeps_is_never_pure(script, piece, place, is_first):
    planted = place.format(piece)

    assert not inspect_shell(f"{planted}\n{script}" if is_first else f"{script}\n{planted}").pure


TOKENS = re.compile(r"\s+|\w+|\$\(\(|\)\)|\$\(|\$\{|\(\(|\[\[|\]\]|.", re.DOTALL)
PLANTED = shell_again.planted("touch made")
PARTS = sorted({token for piece in PLANTED for token in TOKENS.findall(piece)})
NAMES_SET_OUTSIDE = (
    "a",
    "b",
    "i",
    "n",
    "x",
    "y",
    "name",
    "item",
    "count",
    "TOKEN",
    "SECRET",
    "KEY",
    "GREETING",
)


@st.composite
def spoilt_scripts(draw):
    """A harmless script with a few tokens of other scripts in it."""
    tokens = TOKENS.findall(draw(SCRIPTS))
    for _ in range(draw(st.integers(1, 4))):
        place = draw(st.integers(0, len(tokens)))
        tokens[place:place] = [draw(st.sampled_from(PARTS + PLANTED))]
    return "".join(tokens)


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs a bash to run harmless scripts")
@UNHURRIED
@given(spoilt_scripts())
def test_a_script_called_pure_makes_no_file_and_shows_nothing_of_its_environment(script):
    if not inspect_shell(script).pure:
        return
    environ = {"PATH": os.defpath, **dict.fromkeys(NAMES_SET_OUTSIDE, "from-outside")}
    with tempfile.TemporaryDirectory() as place:
        ran = subprocess.run(
            ["bash", "--norc"], input=script, text=True, capture_output=True, cwd=place, env=environ,
            timeout=60, check=False,
        )  # fmt: skip
        assert list(pathlib.Path(place).iterdir()) == []
    assert "from-outside" not in ran.stdout
