"""Laws of the fact engine, on statements whose truth is known by construction."""

from fractions import Fraction

from hypothesis import given, settings
from hypothesis import strategies as st

from qwed.domain.actions import Action
from qwed.domain.findings import Finding, Status
from qwed.engines.fact import FactEngine
from qwed.engines.fact.quantities import OpenQuantity, Relation, compare
from qwed.engines.fact.sentences import split_sentences

_ENGINE = FactEngine()
_NAMES = st.sampled_from(["Acme", "Globex", "Initech", "Hooli", "Umbrella Group"])
_COUNTS = st.integers(2, 99_999)
_BOUNDS = st.none() | st.integers(-20, 20).map(Fraction)
_PIECES = [*"ab AB15.,'\"()%$-:\n", " is ", " has ", " not ", " of ", " and ", "Acme", "5 kg", "in 1998"]
_TEXT = st.lists(st.sampled_from(_PIECES), max_size=60).map("".join)


def verify(claim: str, sources: object) -> Finding:
    return _ENGINE.verify(Action("verify_fact", query=claim, parameters={"sources": sources}))


@given(_NAMES, _NAMES, _COUNTS, _COUNTS)
def test_a_count_is_judged_by_equality_of_name_and_number(
    owner: str, other: str, said: int, stated: int
) -> None:
    status = verify(f"{owner} has {said} employees.", f"{other} has {stated:,} employees.").status
    expected = Status.UNCERTAIN if owner != other else Status.VERIFIED if said == stated else Status.FAILED

    assert status is expected


@given(_NAMES, _COUNTS)
def test_a_statement_and_its_negation_exclude_each_other(owner: str, count: int) -> None:
    statement, denial = f"{owner} has {count} employees.", f"{owner} does not have {count} employees."

    assert verify(statement, statement).status is Status.VERIFIED
    assert verify(denial, denial).status is Status.VERIFIED
    assert verify(statement, denial).status is Status.FAILED
    assert verify(denial, statement).status is Status.FAILED


@given(_NAMES, _COUNTS, st.lists(st.sampled_from(["It rained.", "The sun is hot.", "Bob left."]), max_size=4))
def test_unrelated_sentences_change_nothing(owner: str, count: int, others: list[str]) -> None:
    claim = f"{owner} has {count} employees."
    text = " ".join([*others, claim, *reversed(others)])

    assert verify(claim, text).status is Status.VERIFIED


@given(st.lists(st.integers(-500, 500), min_size=1, max_size=12), st.integers(-500, 500))
def test_a_total_is_verified_exactly_when_it_is_the_sum(values: list[int], guess: int) -> None:
    table = [["item", "score"], *[[f"n{index}", value] for index, value in enumerate(values)]]
    status = verify(f"The total score is {guess}.", table).status

    assert status is (Status.VERIFIED if guess == sum(values) else Status.FAILED)


@given(_BOUNDS, _BOUNDS, _BOUNDS, _BOUNDS, st.lists(st.booleans(), min_size=4, max_size=4))
def test_spans_are_compared_as_sets_of_numbers(
    claim_low: Fraction | None,
    claim_high: Fraction | None,
    low: Fraction | None,
    high: Fraction | None,
    open_ends: list[bool],
) -> None:
    claim = OpenQuantity(claim_low, claim_high, low_excluded=open_ends[0], high_excluded=open_ends[1])
    source = OpenQuantity(low, high, low_excluded=open_ends[2], high_excluded=open_ends[3])
    # Halves reach between the whole bounds, and far points stand for the open ends.
    points = [Fraction(step, 2) for step in range(-44, 45)]
    in_claim = {point for point in points if _holds(claim, point)}
    in_source = {point for point in points if _holds(source, point)}
    relation = compare(claim, source)

    if in_source and relation in (Relation.SAME, Relation.WITHIN):
        assert in_source <= in_claim
    if relation is Relation.DISJOINT:
        assert not in_source & in_claim


def _holds(quantity: OpenQuantity, point: Fraction) -> bool:
    above = (
        quantity.low is None or point > quantity.low or (point == quantity.low and not quantity.low_excluded)
    )
    below = (
        quantity.high is None
        or point < quantity.high
        or (point == quantity.high and not quantity.high_excluded)
    )
    return above and below


@settings(max_examples=300)
@given(_TEXT, _TEXT)
def test_any_claim_and_any_text_get_the_same_finding_twice(claim: str, text: str) -> None:
    finding = verify(claim, text)

    assert finding == verify(claim, text)
    assert (finding.status is Status.FAILED) == (finding.failure is not None)


@given(st.text(max_size=200))
def test_no_sentence_is_invented(text: str) -> None:
    for sentence in split_sentences("Aa. " + text):
        assert sentence.text.strip()


@given(
    _NAMES,
    _COUNTS,
    st.sampled_from(["Perhaps {}", "Bob said that {}", "If it rains, {}", "It is false that {}"]),
)
def test_what_a_source_does_not_assert_proves_nothing(owner: str, count: int, doubt: str) -> None:
    claim = f"{owner} has {count} employees."

    assert verify(claim, doubt.format(claim)).status is Status.UNCERTAIN
