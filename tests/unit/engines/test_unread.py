"""Engines that read some slots only say which texts they did not read."""

from qwed.domain.actions import Action
from qwed.domain.findings import Status
from qwed.engines.fact import FactEngine
from qwed.engines.math import MathEngine


def test_the_math_engine_names_the_texts_it_did_not_read() -> None:
    action = Action(
        "calculate", "2 + 2 = 4", target="somewhere", parameters={"a": 5, "note": ["rm x", "1 = 1"]}
    )

    finding = MathEngine().verify(action)

    assert finding.status is Status.VERIFIED
    assert finding.evidence["not_read"] == ["target"]


def test_the_math_engine_says_nothing_where_all_was_read() -> None:
    for action in (
        Action("calculate", "2 + 2 = 4"),
        Action("calculate", parameters={"expression": "2 + 2", "result": "4"}),
        Action("calculate", parameters={"operation": "add", "a": 1, "b": 2, "result": 3}),
    ):
        assert "not_read" not in MathEngine().verify(action).evidence


def test_the_fact_engine_names_the_texts_it_did_not_read() -> None:
    sources = ["The tower is 324 metres high."]
    action = Action(
        "verify_fact",
        "The tower is 324 metres high.",
        code="print(1)",
        parameters={"sources": sources, "extra": {"deep": "x"}},
    )

    finding = FactEngine().verify(action)

    assert finding.status is Status.VERIFIED
    assert finding.evidence["not_read"] == ["code", "parameters.extra.deep"]
