"""Where in an action the mathematics stands."""

from decimal import Decimal

import pytest

from qwed.domain.actions import Action
from qwed.domain.findings import Failure, Status
from qwed.domain.json_text import Unrepresentable
from qwed.engines.math import MathEngine

_ENGINE = MathEngine()


def _verify(query=None, code=None, **parameters):
    return _ENGINE.verify(Action("calculate", query, code, parameters=parameters))


RIGHT = [
    {"query": "2+2", "expected": 4},
    {"query": "2+2", "expected": "4"},
    {"query": "10/3", "result": Decimal("3.33")},
    {"query": "0.1+0.2", "expected": 0.30000000000000004},
    {"query": "What is 15% of 200?", "answer": 30},
    {"query": "2+2=4", "expected": True},
    {"code": "2+2", "expected": 4},
    {"expression": "3*7", "expected": 21},
    {"claim": "3*7=21"},
    {"expression": "x*y", "x": 150, "y": 10, "result": 1500},
    {
        "expression": "price * quantity",
        "variables": {"price": Decimal("4.99"), "quantity": 3},
        "result": "14.97",
    },
    {"operation": "multiply", "x": 150, "y": 10, "result": 1500},
    {"operation": "add", "operands": [1, 2, 3], "result": 6},
    {"operation": "mean", "values": [2, 4, 6], "result": 4},
    {
        "operation": "compound interest",
        "principal": 1000,
        "rate": Decimal("0.05"),
        "years": 10,
        "result": "628.89",
    },
    {"operation": "npv", "values": ["10%", -1000, 500, 500, 500], "result": Decimal("243.43")},
    {"query": "solve x^2 - 5x + 6 = 0", "expected": [2, 3]},
    {"query": "[[1,2],[3,4]] * [[5,6],[7,8]]", "expected": [[19, 22], [43, 50]]},
    {"query": "2+2=4", "note": "hello", "precision": 2},
    {"query": "2+2=4", "steps": ["1+1=2", "2+2=4"]},
]


@pytest.mark.parametrize("given", RIGHT)
def test_a_right_claim_is_verified_wherever_it_stands(given):
    assert _verify(**given).status is Status.VERIFIED


WRONG = [
    {"query": "2+2", "expected": 5},
    {"operation": "multiply", "x": 150, "y": 10, "result": 1600},
    {"query": "2+2=4", "steps": ["1+1=3"]},
    {"expression": "x*y", "x": 150, "y": 10, "result": 1600},
    {"query": "2+2", "expression": "2+2=5"},
    {"query": "solve x^2 = 4", "expected": [2]},
    {"query": "1/0", "expected": 1},
]


@pytest.mark.parametrize("given", WRONG)
def test_a_wrong_claim_is_found_wherever_it_stands(given):
    assert _verify(**given).status in (Status.CORRECTED, Status.FAILED)


def test_the_corrected_action_keeps_everything_but_the_wrong_result():
    finding = _verify("2+2", expected=5, note="kept")

    assert finding.corrected == Action("calculate", "2+2", parameters={"expected": 4, "note": "kept"})


def test_a_corrected_result_keeps_its_type_where_it_can():
    assert _verify("1/8", expected="0.2").corrected.parameters["expected"] == "0.125"
    assert _verify("1/8", expected=Decimal("0.2")).corrected.parameters["expected"] == Decimal("0.125")
    assert _verify("2*3", expected=7).corrected.parameters["expected"] == 6


def test_a_claim_deep_in_the_parameters_is_corrected_there():
    finding = _verify("2+2=4", steps=[{"text": "1+1=3"}])

    assert finding.corrected.parameters == {"steps": [{"text": "1+1=2"}]}


@pytest.mark.parametrize(
    "given", [{}, {"note": "hello"}, {"operation": "explode", "x": 1}, {"operation": "add"}]
)
def test_an_action_without_mathematics_is_malformed(given):
    finding = _verify(**given)

    assert (finding.status, finding.failure) == (Status.FAILED, Failure.MALFORMED)


@pytest.mark.parametrize(
    "given",
    [
        {"query": "2+2", "expected": Unrepresentable("NaN")},
        {"query": "2+2", "expected": float("nan")},
        {"query": "2+2", "expected": Decimal("1e999999")},
        {"query": "2+2", "expected": 10**5000},
        {"query": "2+2", "expected": {"value": 4}},
        {"query": "2+2=5", "expected": False},
        {"query": "x+1", "variables": {"x": "y"}},
        {"query": "x+1", "variables": {"x": Unrepresentable("NaN")}},
        {"operation": "compound interest", "principal": 1000, "rate": 5, "years": 10, "result": 5},
    ],
)
def test_what_cannot_be_a_number_is_uncertain(given):
    assert _verify(**given).status is Status.UNCERTAIN


def test_an_action_with_parameters_is_never_quick():
    assert not _ENGINE.is_quick(Action("calculate", "2+2", parameters={"expected": "9**9**9"}))
    assert not _ENGINE.is_quick(Action("calculate", code="2+2"))
    assert not _ENGINE.is_quick(Action("calculate"))
