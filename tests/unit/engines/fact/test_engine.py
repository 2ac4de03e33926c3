"""The fact engine: VERIFIED and FAILED only by rule, with the witness; UNCERTAIN otherwise."""

from collections import Counter
from collections.abc import Iterable
from typing import Any

import pytest
from tests.corpora import fact_handwritten as written
from tests.corpora import fact_tables, fact_texts

from qwed.domain.actions import Action
from qwed.domain.findings import Failure, Finding, Status
from qwed.domain.risk import Risk
from qwed.engines.fact import FactEngine

ENGINE = FactEngine()


def verify(claim: str, sources: Any) -> Finding:
    return ENGINE.verify(Action("verify_fact", query=claim, parameters={"sources": sources}))


def answers(cases: Iterable[tuple[Any, str, str]]) -> Counter[tuple[str, str]]:
    return Counter((expected, verify(claim, sources).status.value) for sources, claim, expected in cases)


def is_expected(status: Status, expected: str | tuple[str, ...]) -> bool:
    return status.value in ((expected,) if isinstance(expected, str) else expected)


@pytest.mark.parametrize(("claim", "expected"), written.MIXED_CLAIMS)
def test_a_claim_about_a_text_gets_the_reader_s_answer(claim: str, expected: str) -> None:
    assert verify(claim, written.MIXED_TEXT).status == expected


@pytest.mark.parametrize(("claim", "expected"), written.PRODUCT_CLAIMS)
def test_a_claim_about_a_table_gets_the_calculator_s_answer(claim: str, expected: str) -> None:
    assert verify(claim, written.PRODUCTS).status == expected


@pytest.mark.parametrize(("claim", "expected"), written.COMPANY_CLAIMS)
def test_a_claim_about_an_object_gets_the_answer_of_its_members(claim: str, expected: str) -> None:
    assert verify(claim, written.COMPANY).status == expected


@pytest.mark.parametrize(("source", "claim", "expected"), written.TRAPS)
def test_a_trap_is_not_stepped_into(source: str, claim: str, expected: str | tuple[str, ...]) -> None:
    assert is_expected(verify(claim, source).status, expected)


@pytest.mark.parametrize(("passage", "claim", "expected"), written.PASSAGE_CLAIMS)
def test_a_claim_about_a_passage_gets_the_reader_s_answer(
    passage: str, claim: str, expected: str | tuple[str, ...]
) -> None:
    assert is_expected(verify(claim, written.PASSAGES[passage]).status, expected)


@pytest.mark.parametrize(("sources", "claim", "expected"), written.STRUCTURED_CLAIMS)
def test_units_currencies_gaps_and_doubles_of_structured_sources_are_minded(
    sources: Any, claim: str, expected: str | tuple[str, ...]
) -> None:
    assert is_expected(verify(claim, sources).status, expected)


def test_every_claim_about_a_generated_text_gets_the_world_s_answer() -> None:
    found = answers(fact_texts.text_cases(40))

    assert {pair: count for pair, count in found.items() if pair[0] != pair[1]} == {}


def test_every_claim_about_a_generated_table_gets_the_computed_answer() -> None:
    found = answers(fact_tables.table_cases(60))

    assert {pair: count for pair, count in found.items() if pair[0] != pair[1]} == {}


def test_every_claim_about_a_generated_object_gets_the_computed_answer() -> None:
    found = answers(fact_tables.object_cases(40))

    assert {pair: count for pair, count in found.items() if pair[0] != pair[1]} == {}


def test_the_witness_is_the_sentence_and_its_source() -> None:
    sources = [
        {"id": "guide", "text": "It rains. The Grand Tower is 330 m tall."},
        {"id": "other", "text": "Hello."},
    ]
    finding = verify("The Grand Tower is 300 m tall.", sources)
    (assertion,) = finding.evidence["assertions"]

    assert (finding.status, finding.failure, finding.risk) == (Status.FAILED, Failure.INCORRECT, Risk.LOW)
    assert assertion["witnesses"] == [
        {
            "stance": "contradicts",
            "rule": "number",
            "source": "guide",
            "witness": "The Grand Tower is 330 m tall.",
        }
    ]


def test_the_witness_of_a_table_is_its_cell_or_its_result() -> None:
    cell = verify("The price of the Desk is 300.", written.PRODUCTS).evidence["assertions"][0]["witnesses"][0]
    total = verify("The total units is 39.", written.PRODUCTS).evidence["assertions"][0]["witnesses"][0]

    assert cell["witness"] == "row 3, column 'price': 300"
    assert total["witness"] == "sum of unit over 4 rows = 39"


def test_sources_that_contradict_each_other_leave_the_claim_open_with_both_witnesses() -> None:
    sources = [{"id": "a", "text": "Acme has 5 employees."}, {"id": "b", "text": "Acme has 6 employees."}]
    finding = verify("Acme has 5 employees.", sources)
    stances = {(one["source"], one["stance"]) for one in finding.evidence["assertions"][0]["witnesses"]}

    assert finding.status is Status.UNCERTAIN
    assert stances == {("a", "entails"), ("b", "contradicts")}


def test_every_part_of_a_claim_must_hold() -> None:
    text = "Acme was founded in 1990. Acme has 5 employees."

    assert verify("Acme was founded in 1990. Acme has 5 employees.", text).status is Status.VERIFIED
    assert verify("Acme was founded in 1990 and Acme has 6 employees.", text).status is Status.FAILED
    assert verify("Acme was founded in 1990. Acme is in Rome.", text).status is Status.UNCERTAIN


def test_the_claim_may_be_a_parameter() -> None:
    action = Action(
        "verify_fact", parameters={"claim": "Acme has 5 employees.", "sources": "Acme has 5 employees."}
    )

    assert ENGINE.verify(action).status is Status.VERIFIED


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"sources": None},
        {"sources": ""},
        {"sources": []},
        {"sources": {}},
        {"sources": 5},
        {"sources": [5]},
        {"sources": True},
        {"sources": "x" * 300_000},
        {"sources": [[["a"]]]},
        {"sources": [{}]},
        {"sources": {"a": None}},
    ],
)
def test_missing_or_strange_sources_prove_nothing(parameters: dict[str, Any]) -> None:
    action = Action("verify_fact", query="Acme has 5 employees.", parameters=parameters)

    assert ENGINE.verify(action).status is Status.UNCERTAIN


@pytest.mark.parametrize(
    "claim", [None, "", "   ", "x" * 5_000, "?", "...", "a", '"', "is is is", "5", "\x00"]
)
def test_an_empty_or_senseless_claim_proves_nothing(claim: str | None) -> None:
    action = Action("verify_fact", query=claim, parameters={"sources": "Acme has 5 employees."})

    assert ENGINE.verify(action).status is Status.UNCERTAIN


@pytest.mark.parametrize(
    "unit",
    [
        "a ",
        "(",
        '"',
        ", ",
        "and ",
        "is ",
        "5 ",
        "5 - ",
        "1,000,",
        "between 5 and ",
        ".\n",
        "\n",
        " of",
        "'s ",
        "not ",
        "A. ",
        "x: ",
    ],
)
def test_a_hostile_text_gets_an_answer_in_time(unit: str) -> None:
    text = (unit * 262_144)[:250_000]

    assert verify("Acme has 5 employees.", f"Acme {text}").status is Status.UNCERTAIN
    assert isinstance(verify((unit * 4_096)[:4_000], "Acme has 5 employees.").status, Status)


def test_a_deep_object_gets_an_answer() -> None:
    value: Any = {"name": "Acme"}
    for _ in range(5_000):
        value = {"a": value}

    assert verify("Acme has 5 employees.", value).status is Status.UNCERTAIN


def test_sentences_inside_an_object_are_read_as_text() -> None:
    source = {"pages": [{"title": "Home", "body": "Acme was founded in 1990. It is small."}]}
    finding = verify("Acme was founded in 1991.", source)

    assert finding.status is Status.FAILED
    assert finding.evidence["assertions"][0]["witnesses"][0]["source"] == "source 1.pages[0].body"


def test_the_order_of_the_sources_does_not_change_the_answer() -> None:
    sources = ["Acme has 5 employees.", "Globex has 6 employees.", {"name": "Hooli", "employees": 7}]
    claims = [
        "Acme has 5 employees.",
        "Globex has 7 employees.",
        "Hooli has 7 employees.",
        "Initech has 1 employee.",
    ]

    for claim in claims:
        assert verify(claim, sources).status == verify(claim, sources[::-1]).status


def test_small_sources_are_quick_and_large_or_deep_ones_are_not() -> None:
    deep: Any = "x"
    for _ in range(100):
        deep = [deep]

    assert ENGINE.is_quick(Action("verify_fact", query="x", parameters={"sources": "short"}))
    assert not ENGINE.is_quick(Action("verify_fact", query="x", parameters={"sources": "x" * 20_000}))
    assert ENGINE.is_quick(Action("verify_fact", query="x", parameters={"sources": [{"a": 1}] * 5}))
    assert not ENGINE.is_quick(Action("verify_fact", query="x", parameters={"sources": deep}))
