"""Check 7: what is not deterministic JSON is refused with its path, and nothing large is built for it."""

import math
import tracemalloc
from decimal import Decimal

import pytest

from qwed.domain.json_text import MAX_DEPTH, Unrepresentable
from qwed.domain.parameters import MAX_VALUES, parameters_problem


def nested(levels):
    value = {"k": 1}
    for _ in range(levels - 1):
        value = {"k": value}
    return value


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"a": [1, 2.5, Decimal("1e20"), None, True, "ü", {"b": ()}]},
        {"a": [10**308, 1.7976931348623157e308, Decimal("-1.7976931348623158e308"), Decimal("1e-999")]},
        {"a": [0] * (MAX_VALUES - 2)},
        nested(MAX_DEPTH),
    ],
)
def test_what_json_can_say_within_bounds_is_fine(parameters):
    assert parameters_problem(parameters) is None


@pytest.mark.parametrize(
    ("parameters", "path"),
    [
        ([], "parameters"),
        ({"a": {"b": [1, math.nan]}}, "parameters.a.b[1]"),
        ({"a": [Unrepresentable("NaN")]}, "parameters.a[0]"),
        ({"a": {"b": "\ud800"}}, "parameters.a.b"),
        ({"a": {"\ud800": 1}}, "parameters.a"),
        ({"a": [{1: 2}]}, "parameters.a[0]"),
        ({"a": 10**5000}, "parameters.a"),
        ({"a": 10**309}, "parameters.a"),
        ({"a": Decimal("1e999")}, "parameters.a"),
        ({"a": Decimal("-1e309")}, "parameters.a"),
        ({"a": Decimal("sNaN")}, "parameters.a"),
        ({"a": Decimal("Infinity")}, "parameters.a"),
        ({"a": object()}, "parameters.a"),
        ({"a": [0] * MAX_VALUES}, "parameters"),
    ],
)
def test_a_refusal_names_the_path(parameters, path):
    problem = parameters_problem(parameters)

    assert problem is not None
    assert problem.details == {"path": path}
    assert problem.message.startswith(f"{path} ")


def test_one_level_too_deep_is_refused_with_a_short_path():
    problem = parameters_problem(nested(MAX_DEPTH + 1))

    assert problem is not None
    assert "nested deeper" in problem.message
    assert len(problem.details["path"]) <= 200


def test_a_large_list_far_inside_is_refused_without_a_path_for_each_of_its_members():
    value = [1] * 300_000
    for _ in range(MAX_DEPTH - 4):
        value = {"k" * 40: value}
    tracemalloc.start()
    try:
        problem = parameters_problem(value)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert problem is not None
    assert f"more than {MAX_VALUES} values" in problem.message
    assert peak < 1_000_000


def test_a_list_that_holds_itself_many_times_over_ends():
    value = [1]
    for _ in range(40):
        value = [value, value]

    assert parameters_problem({"a": value}) is not None
