"""Text to tokens: plain strings first (the fast path), their places in the text when asked."""

import re
from collections.abc import Sequence
from typing import Final

import msgspec

from qwed.engines.math.nodes import Literal
from qwed.engines.math.problems import (
    MAX_LITERAL_EXPONENT,
    MAX_LITERAL_LENGTH,
    MAX_TOKENS,
    Malformed,
    Undecided,
)

_WHOLE: Final = (
    r"[0-9]{1,3}(?:,[0-9]{3})+(?![0-9])|[0-9]{1,2}(?:,[0-9]{2})+,[0-9]{3}(?![0-9])|[0-9]+(?:_[0-9]+)*"
)
_NUMBER: Final = rf"(?:(?:{_WHOLE})(?:\.[0-9]+)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?(?:\.\.\.|…)?"
_WORD: Final = r"\\?[A-Za-z]+(?:_[A-Za-z]+)*(?:['’][A-Za-z]+)?"
_SIGNS: Final = r"[ \t]!=|\*\*|<<|>>|<=|>=|==|!=|<>|=>|->|:=|\.\.\.|[⁰¹²³⁴⁵⁶⁷⁸⁹⁻]+|\S"
_TOKEN: Final = re.compile(rf"{_NUMBER}|{_WORD}|{_SIGNS}")


_TENS: Final = tuple(10**places for places in range(40))


class Tokens(msgspec.Struct, frozen=True):
    """`values[i]` was read from `text[starts[i]:ends[i]]`; the last value is the empty string."""

    text: str
    values: list[str]
    starts: Sequence[int]
    ends: Sequence[int]


def split(text: str) -> list[str]:
    """The tokens alone, closed by an empty string."""
    values = _TOKEN.findall(text)
    if len(values) > MAX_TOKENS:
        raise Undecided(f"more than {MAX_TOKENS} tokens")
    values.append("")
    return values


def locate(text: str) -> Tokens:
    """The tokens with their places."""
    values: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    for match in _TOKEN.finditer(text):
        values.append(match.group())
        starts.append(match.start())
        ends.append(match.end())
        if len(values) > MAX_TOKENS:
            raise Undecided(f"more than {MAX_TOKENS} tokens")
    values.append("")
    starts.append(len(text))
    ends.append(len(text))
    return Tokens(text, values, starts, ends)


def number(token: str) -> Literal:
    if len(token) < 40:
        if token.isdigit():
            return Literal(int(token))
        whole, _, fraction = token.partition(".")
        if fraction.isdigit() and whole.isdigit():
            places = len(fraction)
            return Literal(int(whole + fraction), _TENS[places], places, True)
    return _number(token)


def _number(token: str) -> Literal:
    if len(token) > MAX_LITERAL_LENGTH:
        raise Undecided(f"a number of {len(token)} characters")
    continues = token.endswith(("...", "…"))
    digits, _, exponent = token.rstrip(".…").replace(",", "").replace("_", "").lower().partition("e")
    if len(exponent) > 6 or abs(int(exponent or 0)) > MAX_LITERAL_EXPONENT:
        raise Undecided(f"a number with the exponent {exponent[:20]}")
    whole, point, fraction = digits.partition(".")
    if continues and not point:
        raise Malformed(f"{token!r} is not a number")
    places = len(fraction) - int(exponent or 0)
    value = int(whole + fraction)
    if places >= 0:
        return Literal(value, 10**places, places, bool(point), continues)
    return Literal(value * 10**-places, 1, places, bool(point), continues)
