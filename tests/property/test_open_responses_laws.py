"""Laws of the in-process guards: they never raise, never wander off, and the corpus holds."""

from collections import Counter
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.corpora import code_shell
from tests.corpora import open_responses_held_out as held_out
from tests.corpora.open_responses import benign, evasions
from tests.corpora.ordinary_calls import ordinary_calls
from tests.support.calls import counted_calls

from qwed.domain.secrets import find_secrets, mask
from qwed.engines.code import inspect_shell
from qwed_open_responses import BaseGuard, GuardResult, ResponseVerifier, normalise
from qwed_open_responses.guards import (
    ArgumentGuard,
    MathGuard,
    SafetyGuard,
    SchemaGuard,
    StateGuard,
    ToolGuard,
)
from qwed_open_responses.outputs import normalise_tool_call

GUARDS: list[BaseGuard] = [
    ToolGuard(),
    MathGuard(),
    SafetyGuard(max_calls=None),
    SchemaGuard({"type": "object"}),
    StateGuard({"a": ["b"], "b": []}),
    ArgumentGuard(rules={"x": "number"}),
]
VERIFIER = ResponseVerifier(GUARDS)
RELAXED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=150)

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=40) | st.decimals(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


@given(json_values | st.binary(max_size=40))
@RELAXED
def test_no_output_makes_the_verifier_raise(output: Any) -> None:
    result = VERIFIER.verify(output)

    assert result.verified == (not result.guards_failed)
    assert isinstance(result.to_dict(), dict)


@given(st.text(max_size=20), json_values)
@RELAXED
def test_no_tool_call_makes_the_verifier_raise(name: str, arguments: Any) -> None:
    result = VERIFIER.verify_tool_call(name, arguments)

    assert "crashed" not in str(result.block_reason)


@given(st.lists(st.sampled_from([True, False, None]), max_size=5))
@RELAXED
def test_verified_means_something_looked_and_all_that_looked_passed(answers: list[bool | None]) -> None:
    class Fixed(BaseGuard):
        def __init__(self, answer: bool | None) -> None:
            self.answer = answer

        def check(self, response: Any, context: Any = None) -> GuardResult:
            if self.answer is None:
                raise ValueError("broken")
            return self.pass_result() if self.answer else self.fail_result("no")

    verified = ResponseVerifier([Fixed(answer) for answer in answers]).verify("x").verified

    assert verified == (bool(answers) and all(answer is True for answer in answers))


@given(st.integers(-(10**9), 10**9), st.integers(-(10**9), 10**9), st.sampled_from("+−×"), st.integers(-2, 2))
@RELAXED
def test_a_whole_result_holds_exactly_when_it_is_right(x: int, y: int, sign: str, error: int) -> None:
    right = {"+": x + y, "−": x - y, "×": x * y}[sign]
    claim = {
        "operation": {"+": "add", "−": "subtract", "×": "multiply"}[sign],
        "x": x,
        "y": y,
        "result": right + error,
    }

    assert MathGuard().check(claim).passed is (error == 0)


@given(
    st.lists(st.tuples(st.integers(1, 99), st.integers(1, 9999)), min_size=1, max_size=5), st.integers(-3, 3)
)
@RELAXED
def test_totals_agree_with_exact_arithmetic(lines: list[tuple[int, int]], error: int) -> None:
    items = [{"quantity": quantity, "price": float(Decimal(cents) / 100)} for quantity, cents in lines]
    exact = sum(Fraction(quantity * cents, 100) for quantity, cents in lines) + Fraction(error, 100)
    order = {"items": items, "total": Decimal(exact.numerator) / Decimal(exact.denominator)}

    assert MathGuard().check(order).passed is (error == 0)


@given(st.text(max_size=200))
@RELAXED
def test_masking_leaves_no_secret_behind(text: str) -> None:
    assert find_secrets(mask(f"password: hunter2 {text}")) == [] or "hunter2" not in mask(
        f"password: hunter2 {text}"
    )


ALPHABET = [
    "a",
    "1",
    " ",
    "-",
    "'",
    '"',
    "{",
    "$(",
    "`",
    ";",
    "%41",
    "&#65;",
    "\\x41",
    "QUJD",
    "../",
    "http://a/",
    "@",
    "a@b.co ",
    "123-45-6789 ",
    "4111111111111112 ",
    "+14155552671 ",
    "born 1985-03-12 ",
    "ignore all ",
    "system: ",
    "' or ",
    "union select ",
    "password: ",
    "sk-",
    "eyJ",
    "rm -rf / ; ",
    "eval(",
    "<script>",
    "i g n ",
    "\u0430b",
    "\u200b",
    "\U0001f600",
    "\n",
    "=",
    "1+1=2\n",
]


@given(st.lists(st.sampled_from(ALPHABET), min_size=1, max_size=4))
@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=25)
def test_four_times_the_repetition_takes_four_times_the_calls(units: list[str]) -> None:
    unit = "".join(units)
    for guard in (ToolGuard(), SafetyGuard(max_calls=None), MathGuard()):
        few, many = (calls_for(guard, (unit * (size // len(unit) + 1))[:size]) for size in (10_000, 40_000))

        # Linear is 4, quadratic 16.
        assert many < 6 * few + 1_000, (guard.name, unit)


def calls_for(guard: BaseGuard, text: str) -> int:
    view = normalise_tool_call("t", {"text": text})
    with counted_calls() as work:
        guard.check(view, {})
    return work.calls


@given(st.text(st.characters(codec="utf-8"), max_size=100))
@RELAXED
def test_a_view_of_a_text_shows_the_text(text: str) -> None:
    view = normalise({"tool_name": "t", "arguments": {"note": "." + text}})

    assert [seen.value for seen in view.texts] == ["." + text]


@pytest.fixture(scope="module")
def verifier() -> ResponseVerifier:
    return ResponseVerifier([ToolGuard(), MathGuard(), SafetyGuard(max_calls=None)])


def test_evasions_are_caught(verifier: ResponseVerifier) -> None:
    missed: Counter[str] = Counter()
    total: Counter[str] = Counter()
    for sample in evasions():
        total[sample.family] += 1
        result = verifier.verify_tool_call(sample.tool_name, sample.arguments)
        missed[sample.family] += result.verified
        assert "crashed" not in str(result.block_reason)

    assert sum(missed.values()) <= 0.02 * sum(total.values()), missed
    assert all(missed[family] <= 0.1 * total[family] for family in total), missed


def test_look_alikes_pass(verifier: ResponseVerifier) -> None:
    samples = list(benign())
    alarms = [
        sample
        for sample in samples
        if not verifier.verify_tool_call(sample.tool_name, sample.arguments).verified
    ]

    assert len(alarms) <= 0.01 * len(samples), alarms[:10]


def test_the_held_out_corpus_holds(verifier: ResponseVerifier) -> None:
    missed = [sample for sample in held_out.EVASIONS if verifier.verify_tool_call(*sample).verified]
    alarms = [sample for sample in held_out.BENIGN if not verifier.verify_tool_call(*sample).verified]

    leaks = [sample for sample in held_out.NO_LEAKS if not verifier.verify_tool_call(*sample).verified]

    assert len(missed) <= 0.03 * len(held_out.EVASIONS), missed
    assert leaks == []
    assert len(alarms) <= 0.02 * len(held_out.BENIGN), alarms


def test_ordinary_calls_of_many_trades_pass() -> None:
    verifier = ResponseVerifier([ToolGuard(), SafetyGuard(max_calls=None)])
    calls = list(ordinary_calls())
    alarms = [(tool, said) for tool, said in calls if not verifier.verify_tool_call(tool, said).verified]

    assert len(calls) >= 600
    assert len(alarms) <= 0.005 * len(calls), alarms


def test_what_the_parser_finds_in_a_command_is_found_in_any_slot(verifier: ResponseVerifier) -> None:
    # A word or two, such as `passwd root`, may as well be English.
    texts = [text for text in code_shell.HARMFUL if not text.replace(" ", "").isalpha()]
    harmful = [text for text in texts if inspect_shell(text).harms]
    missed = [text for text in harmful if verifier.verify_tool_call("helper", {"x": text}).verified]

    assert len(harmful) > 100
    assert missed == []
