"""Inputs made to break the engine: each is answered, at a bounded cost, and never with an exception."""

import random

import pytest
from tests.corpora.hostile import MATH as BOMBS
from tests.support.calls import counted_calls

from qwed.domain.actions import Action
from qwed.domain.findings import Status
from qwed.engines.math import MathEngine

_ENGINE = MathEngine()
_MAX_CALLS = 2_000_000
_MAX_QUICK_CALLS = 30_000


@pytest.mark.parametrize("text", BOMBS.values(), ids=BOMBS.keys())
def test_a_bomb_is_answered_for_a_bounded_number_of_calls(text):
    _ENGINE.verify(Action("calculate", "sin(x)^2 + cos(x)^2 = 1"))
    with counted_calls() as work:
        finding = _ENGINE.verify(Action("calculate", text))

    assert work.calls < _MAX_CALLS
    assert "could not be worked out" not in finding.reason


@pytest.mark.parametrize(
    "text", ["∫_{-1}^1 1/x dx = 0", "∫_0^1 1/x dx = 5", "5\x00USD + 5\x00*9 = 10", "9**9**9**9"]
)
def test_a_bomb_is_never_verified(text):
    assert _ENGINE.verify(Action("calculate", text)).status is not Status.VERIFIED


_PIECES = (
    *"0123456789+-*/^()[]{}=<>%!|,.;:$€ \n\t?'\"\\_#~√π∫²°±…",
    *(
        " of ",
        " is ",
        " and ",
        "x",
        "sin ",
        "sqrt",
        "mean of ",
        "derivative of ",
        "solve ",
        " has solutions ",
    ),
    *("1e9", "<<", ">>", "half ", "dozen ", " per ", " hour ", "%", " mod ", "log", "<=", "**", "dx", "5%"),
)


@pytest.mark.parametrize("seed", range(8))
def test_random_text_is_always_answered(seed):
    source = random.Random(seed)
    for _ in range(250):
        text = "".join(source.choices(_PIECES, k=source.randint(1, 40)))
        action = Action("calculate", text)
        with counted_calls() as work:
            finding = _ENGINE.verify(action)

        assert "could not be worked out" not in finding.reason, text
        assert work.calls < _MAX_CALLS, text
        if finding.corrected is not None:
            assert _ENGINE.verify(finding.corrected).status is Status.VERIFIED, text


@pytest.mark.parametrize("seed", range(4))
def test_a_quick_text_takes_few_calls(seed):
    source = random.Random(f"quick {seed}")
    most = 0
    for _ in range(150):
        text = "".join(source.choices(_PIECES, k=source.randint(1, 400)))
        action = Action("calculate", text)
        if _ENGINE.is_quick(action):
            with counted_calls() as work:
                _ENGINE.verify(action)
            most = max(most, work.calls)

    assert most < _MAX_QUICK_CALLS
