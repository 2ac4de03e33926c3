"""The arithmetic of the specification, number by number."""

from decimal import Decimal
from fractions import Fraction

import pytest

from qwed.assurance.scores import (
    DAY_SECONDS,
    ZERO_TRUST,
    Confidence,
    InvalidScore,
    ScoreEvent,
    ScoreRules,
    as_score,
)

RULES = ScoreRules()
HALF = Decimal("0.5")
HIGH = Decimal("0.82")


def repeated(event, times, start=HALF):
    for _ in range(times):
        start = RULES.after(start, event)
    return start


@pytest.mark.parametrize(
    ("before", "event", "after"),
    [
        ("0.5", "task_success", "0.51"),
        ("0.5", "task_partial", "0.505"),
        ("0.82", "task_failure", "0.656"),
        ("0.82", "task_timeout", "0.656"),
        ("0.82", "rollback_triggered", "0.656"),
        ("0.82", "policy_violation", "0.5248"),
        ("0.82", "attestation_invalid", "0.5248"),
        ("0.995", "task_success", "1"),
        ("1", "task_success", "1"),
        ("0", "task_failure", "0"),
    ],
)
def test_each_event_moves_the_score_as_the_table_says(before, event, after):
    assert RULES.after(Decimal(before), ScoreEvent(event)) == Decimal(after)


def test_fifty_successes_lead_from_a_half_to_one():
    assert repeated(ScoreEvent.TASK_SUCCESS, 49) == Decimal("0.99")
    assert repeated(ScoreEvent.TASK_SUCCESS, 50) == 1


def test_the_fifth_failure_is_the_first_below_the_floor():
    assert repeated(ScoreEvent.TASK_FAILURE, 4) == Decimal("0.2048")
    assert repeated(ScoreEvent.TASK_FAILURE, 5) == Decimal("0.16384") < RULES.floor


@pytest.mark.parametrize(
    ("score", "days", "expected"),
    [
        ("0.82", 7, "0.82"),
        ("0.82", 8, "0.81"),
        ("0.82", 60, "0.5"),
        ("0.82", 39, "0.5"),
        ("0.82", 38, "0.51"),
        ("0.2", 30, "0.2"),
        ("0.5", 300, "0.5"),
    ],
)
def test_idle_days_take_a_hundredth_each_down_to_the_initial_value_never_upwards(score, days, expected):
    assert RULES.decay(Decimal(score), days * DAY_SECONDS) == Decimal(expected)


def test_only_whole_days_count():
    assert RULES.decay(HIGH, 8 * DAY_SECONDS - 1) == HIGH
    assert RULES.decay(HIGH, -5) == HIGH


def test_what_others_say_is_worth_their_score_times_ours_of_them_times_a_half():
    assert RULES.passed_on(HIGH, Decimal("0.9")) == Decimal("0.369")


def test_an_unknown_peer_gets_a_half_and_with_zero_trust_a_tenth():
    assert RULES.initial == HALF
    assert Decimal("0.1") == ZERO_TRUST


def test_two_hundred_and_fifty_failures_in_a_row_lose_no_digit():
    assert Fraction(repeated(ScoreEvent.TASK_FAILURE, 250, Decimal(1))) == Fraction(8, 10) ** 250


def test_a_score_never_grows_longer_than_its_places_and_ends_at_zero():
    score = repeated(ScoreEvent.TASK_FAILURE, 4_000)

    assert score == 0
    assert len(str(repeated(ScoreEvent.TASK_FAILURE, 1_000))) < 300


@pytest.mark.parametrize(
    ("count", "confidence"),
    [(0, "low"), (9, "low"), (10, "medium"), (99, "medium"), (100, "high"), (147, "high")],
)
def test_confidence_comes_with_experience(count, confidence):
    assert Confidence.of(count).wire == confidence


@pytest.mark.parametrize(
    "changes",
    [
        {"alpha": Decimal(0)},
        {"alpha": Decimal("1.1")},
        {"beta": Decimal(1)},
        {"beta": Decimal("-0.1")},
        {"beta": Decimal("NaN")},
        {"initial": Decimal(2)},
        {"floor": Decimal("Infinity")},
        {"settle_seconds": -1},
        {"max_hops": -1},
    ],
    ids=lambda changes: "-".join(f"{name}={value}" for name, value in changes.items()),
)
def test_parameters_that_turn_a_rule_around_are_refused(changes):
    with pytest.raises(ValueError, match=next(iter(changes))):
        ScoreRules(**changes)


def test_the_ends_of_the_ranges_are_within_them():
    assert ScoreRules(alpha=Decimal(1), beta=Decimal(0)).after(HALF, ScoreEvent.TASK_FAILURE) == 0


@pytest.mark.parametrize("value", [None, True, "high", "", "NaN", "1.01", -1, float("inf"), [0.5]], ids=str)
def test_what_is_no_number_from_zero_to_one_is_no_score(value):
    with pytest.raises(InvalidScore):
        as_score(value)


def test_a_float_is_read_as_it_is_written():
    assert as_score(0.82) == HIGH
