"""Sentences about interest, loans and present values, put into the functions they stand for."""

import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import Final

from qwed.engines.math.prose import Phrase
from qwed.engines.math.tokens import locate

Part = tuple[str, int, int]

_MAX_TEXT: Final = 600
_MENTIONED: Final = re.compile(r"interest|compounded|loan|mortgage|npv|net present value", re.IGNORECASE)
_MONEY: Final = r"[$€£]?\s?[0-9][0-9,]*(?:\.[0-9]+)?"
_FLOW: Final = r"[-−]?[$€£]?[-−]?[0-9][0-9,]*(?:\.[0-9]+)?"
_PERCENT: Final = r"(?P<rate>[0-9]+(?:\.[0-9]+)?)\s?(?:%|percent)"
_RATE: Final = rf"(?:an? )?(?:annual |yearly |fixed |interest )*(?:rate of )?{_PERCENT}"
_A_YEAR: Final = r"(?: interest)?(?: per year| per annum| a year| annual interest| annually| apr)?"
_EVERY: Final = r"(?:annually|yearly|semi-?annually|quarterly|monthly|weekly|daily)"
_YEARS: Final = r"(?:for|over|after|in) (?P<years>[0-9]+(?:\.[0-9]+)?)[- ]years?"
_IS: Final = (
    r"(?:is|are|equals|=|comes to|amounts to|grows to|becomes|is worth|will be|will be worth|would be|"
    r"yields|earns)"
)
_RESULT: Final = rf"(?: about| approximately)? (?P<result>{_MONEY})(?: dollars| in interest| total)?\.?"

# Compounding periods in a year.
_PERIODS: Final = {
    **dict.fromkeys(("annually", "yearly"), 1),
    **dict.fromkeys(("semiannually", "semi-annually"), 2),
    "quarterly": 4,
    "monthly": 12,
    "weekly": 52,
    "daily": 365,
}

_COMPOUNDED: Final = rf"(?:,? compounded (?P<every>{_EVERY}))?"
_COMPOUNDED_LATE: Final = rf"(?:,? compounded (?P<every_late>{_EVERY}))?"


@cache
def _form(pattern: str) -> re.Pattern[str]:
    """Compiled when first needed: most texts are about something else."""
    return re.compile(rf"\s*(?:so |then |the |a |an )*{pattern}\s*", re.IGNORECASE)


_INTEREST: Final = (
    rf"(?P<kind>simple|compound) interest (?:earned )?on (?P<principal>{_MONEY}) at {_RATE}{_A_YEAR}"
    rf"{_COMPOUNDED},? {_YEARS}{_COMPOUNDED_LATE} {_IS}{_RESULT}"
)
_AMOUNT: Final = (
    rf"(?P<principal>{_MONEY}) (?:is )?(?:invested |deposited |borrowed |left )?at {_RATE}{_A_YEAR}"
    rf"(?P<simple> simple interest)?{_COMPOUNDED},? {_YEARS}{_COMPOUNDED_LATE} {_IS}{_RESULT}"
)
_LOAN: Final = (
    rf"monthly payment (?:on|for) (?:a |an )?(?P<principal>{_MONEY}) (?:loan|mortgage) at {_RATE}{_A_YEAR},? "
    rf"{_YEARS} {_IS}{_RESULT}"
)
_NPV: Final = (
    rf"(?:npv|net present value) of (?:the )?(?:cash flows? )?"
    rf"(?P<flows>{_FLOW}(?:(?:, and |, | and ){_FLOW})+) at (?:a )?(?:discount )?{_RATE} {_IS}{_RESULT}"
)


def read(text: str) -> Phrase | None:
    """The claim as tokens of one function call and its result; None when the text is no such claim."""
    if len(text) > _MAX_TEXT or _MENTIONED.search(text) is None:
        return None
    for pattern, write in _FORMS:
        match = _form(pattern).fullmatch(text)
        if match is not None:
            return _phrase(match, write(match))
    return None


def _phrase(match: re.Match[str], parts: Iterator[Part]) -> Phrase:
    start, end = match.span("result")
    about = re.search(r"about|approximately", match.group()) is not None
    written = [*parts, ("≈" if about else "=", start, start), *_tokens(match, "result"), ("", end, end)]
    return Phrase([value for value, _, _ in written], [(first, last) for _, first, last in written])


def _tokens(match: re.Match[str], group: str) -> Iterator[Part]:
    start = match.start(group)
    located = locate(match.group(group))
    for value, first, last in zip(located.values[:-1], located.starts, located.ends, strict=False):
        yield value, start + first, start + last


def _call(match: re.Match[str], name: str, *arguments: Iterator[Part] | str) -> Iterator[Part]:
    at = match.start()
    yield name, at, at
    for index, argument in enumerate(arguments):
        yield "(" if index == 0 else ",", at, at
        if isinstance(argument, str):
            yield argument, at, at
        else:
            yield from argument
    yield ")", at, at


def _rate(match: re.Match[str]) -> Iterator[Part]:
    yield from _tokens(match, "rate")
    yield "%", match.end("rate"), match.end("rate")


def _periods(match: re.Match[str]) -> str:
    every = match.group("every") or match.group("every_late") or "annually"
    return str(_PERIODS[every.lower()])


def _interest(match: re.Match[str]) -> Iterator[Part]:
    given = (_tokens(match, "principal"), _rate(match), _tokens(match, "years"))
    if match.group("kind").lower() == "simple":
        return _call(match, "simple_interest", *given)
    return _call(match, "compound_interest", *given, _periods(match))


def _amount(match: re.Match[str]) -> Iterator[Part]:
    given = (_tokens(match, "principal"), _rate(match), _tokens(match, "years"))
    if match.group("simple"):
        return _call(match, "simple_amount", *given)
    return _call(match, "compound_amount", *given, _periods(match))


def _loan(match: re.Match[str]) -> Iterator[Part]:
    return _call(
        match, "loan_payment", _tokens(match, "principal"), _rate(match), _tokens(match, "years"), "12"
    )


def _npv(match: re.Match[str]) -> Iterator[Part]:
    return _call(match, "npv", _rate(match), _flows(match))


def _flows(match: re.Match[str]) -> Iterator[Part]:
    for value, first, last in _tokens(match, "flows"):
        if value != "and":
            yield value, first, last


_FORMS: Final[tuple[tuple[str, Callable[[re.Match[str]], Iterator[Part]]], ...]] = (
    (_INTEREST, _interest),
    (_AMOUNT, _amount),
    (_LOAN, _loan),
    (_NPV, _npv),
)
