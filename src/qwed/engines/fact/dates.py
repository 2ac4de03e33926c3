"""Dates as spans of days: a year, a month, a day, a decade, a century."""

import datetime
import re
from typing import Final

import msgspec

from qwed.engines.fact.quantities import Relation

_MONTH_TEXT: Final = "january february march april may june july august september october november december"
_MONTH_NAMES: Final = _MONTH_TEXT.split()
MONTHS: Final = (
    {name: number for number, name in enumerate(_MONTH_NAMES, start=1)}
    | {name[:3]: number for number, name in enumerate(_MONTH_NAMES, start=1)}
    | {"sept": 9}
)
_MONTH: Final = "|".join(sorted(MONTHS, key=len, reverse=True))
_DAY: Final = r"(?P<day>[12]\d|3[01]|0?[1-9])(?:st|nd|rd|th)?"
_YEAR: Final = r"(?P<year>1\d{3}|20\d{2})"
# Days and months in figures only as ISO dates: 03/04/2024 is two days, depending on who reads it.
DATE: Final = re.compile(
    rf"\b(?:(?P<iso>(?:1\d{{3}}|20\d{{2}})-(?:0[1-9]|1[0-2])-(?:[0-2]\d|3[01]))(?:T[\d:.]+Z?)?"
    rf"|{_DAY}\s+(?:of\s+)?(?P<month>{_MONTH})\.?,?\s+{_YEAR}"
    rf"|(?P<month2>{_MONTH})\.?\s+(?P<day2>[12]\d|3[01]|0?[1-9])(?:st|nd|rd|th)?,?\s+(?P<year2>1\d{{3}}|20\d{{2}})"
    rf"|(?P<month3>{_MONTH})\.?,?\s+(?P<year3>1\d{{3}}|20\d{{2}})"
    r"|(?:the\s+)?(?P<decade>1\d|20)(?P<decade2>\d)0s"
    r"|(?:the\s+)?(?P<century>1\d|20|21)(?:th|st)\s+century)(?!\w)",
    re.I,
)
YEAR: Final = re.compile(r"(?:1\d{3}|20\d{2})\Z")


class Span(msgspec.Struct, frozen=True):
    """The days a date leaves open, both ends included."""

    first: datetime.date
    last: datetime.date

    @property
    def key(self) -> tuple[object, ...]:
        return ("date", self.first.toordinal(), self.last.toordinal())


def compare_spans(claim: Span, source: Span) -> Relation:
    if claim == source:
        return Relation.SAME
    if claim.first <= source.first and source.last <= claim.last:
        return Relation.WITHIN
    if source.last < claim.first or claim.last < source.first:
        return Relation.DISJOINT
    return Relation.UNKNOWN


def year_span(year: int) -> Span:
    return Span(datetime.date(year, 1, 1), datetime.date(year, 12, 31))


def read_date(match: re.Match[str]) -> Span | None:
    """The span of a `DATE` match; None for a day that no calendar has."""
    try:
        if match["iso"]:
            day = datetime.date.fromisoformat(match["iso"])
            return Span(day, day)
        if match["decade"]:
            start = int(match["decade"] + match["decade2"] + "0")
            return Span(datetime.date(start, 1, 1), datetime.date(start + 9, 12, 31))
        if match["century"]:
            last = int(match["century"]) * 100
            return Span(datetime.date(last - 99, 1, 1), datetime.date(last, 12, 31))
        if match["month3"]:
            return _month_span(int(match["year3"]), MONTHS[match["month3"].lower()])
        month = MONTHS[(match["month"] or match["month2"]).lower()]
        day = datetime.date(int(match["year"] or match["year2"]), month, int(match["day"] or match["day2"]))
        return Span(day, day)
    except ValueError:
        return None


def _month_span(year: int, month: int) -> Span:
    first = datetime.date(year, month, 1)
    following = datetime.date(year + month // 12, month % 12 + 1, 1)
    return Span(first, following - datetime.timedelta(days=1))
