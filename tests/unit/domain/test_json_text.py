"""Strict JSON against hostile texts: depth is measured exactly, and cheaply whatever stands there."""

import time

import pytest

from qwed.domain import json_text

MEGABYTE = 1 << 20


def cpu_seconds(call):
    best = float("inf")
    for _ in range(3):
        started = time.process_time()
        call()
        best = min(best, time.process_time() - started)
    return best


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


@pytest.mark.parametrize(
    "text",
    [
        b"[" + b"[]," * (MEGABYTE // 3) + b"[]]",
        b"[" * MEGABYTE,
        b"[" * 65 + b'"' * MEGABYTE,
        b'"' + b'\\"' * (MEGABYTE // 2) + b"[" * 65,
        b"[" * 65 + b'"\\",' * (MEGABYTE // 4),
        b"]" * MEGABYTE + b"[" * 65,
    ],
    ids=["many", "deep", "quotes", "escapes", "both", "closed"],
)
def test_the_cost_of_measuring_depth_is_that_of_reading(text):
    """Compared with the cost of reading as many plain bytes, so that a busy machine does not matter."""

    def measure():
        try:
            json_text.loads(text)
        except json_text.JsonError:
            return

    plain = b"[" + b"1," * (MEGABYTE // 2) + b"1]"

    assert cpu_seconds(measure) < 8 * cpu_seconds(lambda: json_text.loads(plain))
