"""Random harmless scripts are pure; with one piece planted that evaluates, reads or keeps, they never are."""

from hypothesis import given
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


@given(SCRIPTS)
def test_a_script_made_of_harmless_pieces_is_pure(script):
    verdict = inspect_shell(script)

    assert verdict.malformed is not None or verdict.pure, verdict.purity


@given(SCRIPTS, st.sampled_from(shell_again.planted()), PLACES, st.booleans())
def test_a_script_with_one_piece_that_evaluates_reads_or_keeps_is_never_pure(script, piece, place, is_first):
    planted = place.format(piece)

    assert not inspect_shell(f"{planted}\n{script}" if is_first else f"{script}\n{planted}").pure
