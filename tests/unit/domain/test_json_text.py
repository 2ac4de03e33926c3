"""Strict JSON against hostile texts: depth is measured exactly, and cheaply whatever stands there."""

import contextlib
import json
import math
from decimal import Decimal

import pytest
from tests.corpora.hostile import JSON
from tests.support.calls import counted_calls

from qwed.domain import json_text
from qwed.domain.json_text import Unrepresentable, loads


@pytest.mark.parametrize("opening", [b"[", b'{"a":'])
def test_the_deepest_allowed_nesting_is_read_and_one_more_level_is_not(opening):
    closing = b"]" if opening == b"[" else b"}"

    assert json_text.loads(opening * 64 + b"1" + closing * 64)
    with pytest.raises(json_text.TooDeep):
        json_text.loads(opening * 65 + b"1" + closing * 65)


@pytest.mark.parametrize(
    "text",
    [
        b'["' + b"[" * 100 + b'"]',
        b'["\\"' + b"[" * 100 + b'"]',
        b'["\\\\", "' + b"{" * 100 + b'"]',
        b'{"' + b"[{" * 100 + b'": [' + b"[]," * 100 + b"[]]}",
    ],
)
def test_brackets_inside_strings_are_not_nesting(text):
    assert json_text.loads(text) is not None


@pytest.mark.parametrize(
    "text",
    [
        b'["\\\\",' + b"[" * 65 + b"]" * 65 + b"]",
        b'["",""]' + b"[" * 65,
        b'["a\\"b", "c", ' + b"[" * 65 + b"]" * 66,
        b"[]" * 40 + b"[" * 65,
    ],
)
def test_strings_do_not_hide_nesting(text):
    with pytest.raises(json_text.TooDeep):
        json_text.loads(text)


@pytest.mark.parametrize("name", JSON)
def test_to_measure_depth_takes_no_step_per_character(name):
    with counted_calls() as work, contextlib.suppress(json_text.JsonError):
        json_text.loads(JSON[name])

    assert work.calls < 100


@pytest.mark.parametrize(
    "literal", ["1e999", "-1e999", "1E+309", "1.7976931348623159e308", "9" * 309, f"-{'9' * 309}", "0.1e310"]
)
def test_a_number_that_others_read_as_infinity_is_no_number(literal):
    assert math.isinf(float(literal))
    assert isinstance(loads(literal.encode()), Unrepresentable)
    assert isinstance(loads(f'{{"a":[{literal}]}}'.encode())["a"][0], Unrepresentable)


@pytest.mark.parametrize(
    "literal",
    ["1e308", "1.7976931348623158e308", "-1.7976931348623157e308", "9" * 308, "1e-999", "0e999", "0"],
)
def test_a_number_that_others_read_as_one_is_read_exactly(literal):
    assert math.isfinite(float(literal))
    assert loads(literal.encode()) == Decimal(literal)


@pytest.mark.parametrize(
    "text", ["", " ", "{", "}", '{"a": 1} x', '{"a": 1}{', "[1,]", "nul", "{}\n\n]", '"a', "1 2"]
)
def test_what_is_no_json_is_refused_in_the_library_s_words(text: str) -> None:
    with pytest.raises(json.JSONDecodeError) as expected:
        json.loads(text)
    with pytest.raises(json_text.NotJson) as refused:
        json_text.loads(text.encode())

    error = expected.value
    assert str(refused.value) == f"{error.msg} at line {error.lineno}, column {error.colno}"


@pytest.mark.parametrize(
    "text", ['{"a": [1, "b"]}', ' {"a": [1, "b"]}', '{"a": [1, "b"]}\n', '\t{"a":[1,"b"]} ']
)
def test_blanks_around_a_value_mean_nothing(text: str) -> None:
    assert json_text.loads(text.encode()) == {"a": [1, "b"]}
