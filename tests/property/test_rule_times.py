"""Time zones in rules: hours and days are those of the place, also where clocks are moved."""

import datetime
import itertools
import zoneinfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.tiers import scale

from qwed.domain.actions import Action
from qwed.policy import load_policy
from qwed.rules.evaluate import RuleBook, RuleView

#: Whole hours, half hours, three quarters, a summer time of half an hour, none, and one turned round.
ZONES = (
    *("UTC", "Europe/Berlin", "America/New_York", "America/St_Johns", "Asia/Kolkata"),
    *("Asia/Kathmandu", "Australia/Lord_Howe", "Pacific/Apia", "Africa/Casablanca", "America/Santiago"),
)
_PARTS = ("getFullYear", "getMonth", "getDate", "getDayOfWeek", "getDayOfYear", "getHours", "getMinutes")
_FIRST = int(datetime.datetime(2000, 1, 1, tzinfo=datetime.UTC).timestamp()) * 1000
_LAST = int(datetime.datetime(2037, 1, 1, tzinfo=datetime.UTC).timestamp()) * 1000
_books: dict[str, RuleBook] = {}


def _matches(condition: str, now_ms: int) -> bool:
    if (book := _books.get(condition)) is None:
        rules = load_policy(f"rules: [{{id: a, when: '{condition}', then: deny}}]\n", "a.yaml").rules
        book = _books[condition] = RuleBook(rules)
    view = RuleView(
        action=Action("calculate", query="1"),
        asked=Action("calculate", query="1"),
        agent={},
        context={},
        risk=0,
        finding={},
        charge=0.0,
        now_ms=now_ms,
    )
    answered = book.ask(view)
    assert all(problem is None for _, problem in answered.matched), answered
    return bool(answered.matched)


def _parts(zone: str, now_ms: int) -> dict[str, int]:
    """As Python's own zones have it."""
    local = datetime.datetime.fromtimestamp(now_ms // 1000, zoneinfo.ZoneInfo(zone))
    day_of_year = local.timetuple().tm_yday - 1
    numbers = (local.year, local.month - 1, local.day, local.isoweekday() % 7, day_of_year)
    return dict(zip(_PARTS, (*numbers, local.hour, local.minute), strict=True))


def _moves(zone: str) -> list[int]:
    """The instants of a few years at which the clocks of the place are moved."""
    place, hour = zoneinfo.ZoneInfo(zone), 3_600
    start = int(datetime.datetime(2024, 1, 1, tzinfo=datetime.UTC).timestamp())
    offsets = [
        (at, datetime.datetime.fromtimestamp(at, place).utcoffset())
        for at in range(start, start + 3 * 366 * 24 * hour, hour)
    ]
    return [at for (_, before), (at, after) in itertools.pairwise(offsets) if before != after]


@pytest.mark.parametrize("zone", ZONES)
def test_around_every_move_of_the_clocks_the_hour_is_that_of_the_place(zone):
    for at in _moves(zone):
        for seconds in (-3_600, -1, 0, 1, 1_800, 3_599, 3_600):
            now_ms = (at + seconds) * 1000
            local = _parts(zone, now_ms)
            for part in ("getHours", "getMinutes", "getDate"):
                assert _matches(f'now.{part}("{zone}") == {local[part]}', now_ms), (zone, at, seconds, part)


@settings(max_examples=scale(ci=60, nightly=5_000, long=50_000), deadline=None)
@given(zone=st.sampled_from(ZONES), now_ms=st.integers(_FIRST, _LAST), part=st.sampled_from(_PARTS))
def test_every_part_of_a_time_is_that_of_the_place(zone, now_ms, part):
    assert _matches(f'now.{part}("{zone}") == {_parts(zone, now_ms)[part]}', now_ms)


def test_an_hour_that_comes_twice_is_in_the_rule_twice_and_one_that_is_left_out_never():
    """In Berlin, 2026-03-29 has no hour 2 and 2026-10-25 has two of them."""
    condition = 'now.getHours("Europe/Berlin") == 2'

    def minutes_of(year: int, month: int, day: int) -> int:
        start = datetime.datetime(year, month, day, tzinfo=zoneinfo.ZoneInfo("Europe/Berlin")).timestamp()
        return sum(_matches(condition, int(start + 60 * minute) * 1000) for minute in range(6 * 60))

    assert [minutes_of(2026, 3, 28), minutes_of(2026, 3, 29), minutes_of(2026, 10, 25)] == [60, 0, 120]
