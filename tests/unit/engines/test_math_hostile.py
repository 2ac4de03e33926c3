"""Inputs made to break the engine: each is answered, quickly, and never with an exception."""

import random
import time

import pytest
from tests.support.cpu import cpu_time

from qwed.domain.actions import Action
from qwed.domain.findings import Status
from qwed.engines.math import MathEngine

_ENGINE = MathEngine()
_DEADLINE_SECONDS = 2.0

BOMBS = {
    "a megabyte of brackets": "(" * 1_000_000,
    "five thousand brackets": "(" * 5_000 + "1" + ")" * 5_000,
    "a hundred brackets": "(" * 100 + "1" + ")" * 100,
    "a tower of powers": "9**9**9**9",
    "a long tower": "^".join(["2"] * 1_500),
    "large factors": "2^65000 * 2^65000",
    "many large powers": "+".join(["3^40000"] * 900),
    "a large factorial": "100000!",
    "factorials of factorials": "((5!)!)!",
    "many factorials": "5" + "!" * 3_000,
    "many signs": "-" * 3_000 + "1",
    "many roots": "√" * 3_000 + "2",
    "many root words": "sqrt " * 3_000 + "2",
    "many parts": "half of " * 1_500 + "2",
    "many comparisons": "5 less than " * 1_000 + "5",
    "many derivatives": "derivative of " * 1_000 + "x",
    "many verbs": "increasing " * 1_500,
    "twenty thousand digits": "9" * 20_000,
    "a huge exponent": "1e999999999",
    "many sums of fractions": "+".join(f"1/{n}" for n in range(1, 1_000)),
    "many variables": "(x+y+z+a+b+c)^60 = 1",
    "many factors": "*".join(["(x+y+z+1)"] * 60) + " = x",
    "a tower of exponentials": "exp(exp(exp(exp(100)))) = 1",
    "a huge exponential": "e^(10^9) = 1",
    "the sine of a huge number": "sin(10^4000) = 0.5",
    "a huge root": "root(2, 100000)",
    "a huge power of pi": "pi^1000000000",
    "open matrices": "[" * 2_000,
    "the power of a matrix": "[[1,2],[3,4]]^200",
    "a huge binomial": "5000 choose 2500",
    "a high degree": "solve x^20 - 99999999x + 1 = 0; x = 1",
    "open annotations": "<<" * 1_900,
    "many annotations": "<<1=1>>" * 2_500,
    "many statements": "1=1;" * 4_000,
    "a long chain": "=".join(["1"] * 1_900),
    "many words": "so " * 3_900,
    "many labels": ("5 " + "apple " * 5 + "+ ") * 400 + "1 = 2",
    "many number words": "one hundred " * 1_500,
    "many full stops": "." * 3_900,
    "many commas": "1," * 1_900,
    "many bars": "|1" * 1_900,
    "many percent signs": "5%" * 1_900,
    "a mark of ours": "5\x00USD + 5\x00*9 = 10",
    "a lone surrogate": "\ud800 + 1",
    "other digits": "١ + ٢",
    "code": "__import__('os').system('true')",
    "attributes": "().__class__.__bases__[0].__subclasses__()",
    "a lambda": "(lambda: 1)()",
    "a pole": "∫_{-1}^1 1/x dx = 0",
    "an improper integral": "∫_0^1 1/x dx = 5",
    "has and has": "x has " * 150 + "solutions",
    "long interest": "compound interest on $" + "1" * 500 + " at 5% for 10 years is $5",
}


@pytest.mark.parametrize("text", BOMBS.values(), ids=BOMBS.keys())
def test_a_bomb_is_answered_within_the_deadline(text):
    _ENGINE.verify(Action("calculate", "sin(x)^2 + cos(x)^2 = 1"))
    with cpu_time() as spent:
        finding = _ENGINE.verify(Action("calculate", text))

    assert spent.seconds < _DEADLINE_SECONDS
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
        with cpu_time() as spent:
            finding = _ENGINE.verify(action)

        assert "could not be worked out" not in finding.reason, text
        assert spent.seconds < _DEADLINE_SECONDS, text
        if finding.corrected is not None:
            assert _ENGINE.verify(finding.corrected).status is Status.VERIFIED, text


@pytest.mark.parametrize("seed", range(4))
def test_a_quick_text_ends_within_a_few_milliseconds(seed):
    source = random.Random(f"quick {seed}")
    slowest = 0.0
    for _ in range(150):
        text = "".join(source.choices(_PIECES, k=source.randint(1, 400)))
        action = Action("calculate", text)
        if _ENGINE.is_quick(action):
            slowest = max(slowest, min(_seconds(action) for _ in range(2)))

    assert slowest < 0.05


def _seconds(action):
    started = time.process_time()
    _ENGINE.verify(action)
    return time.process_time() - started
