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
    MalformedMath,
    UndecidedMath,
)

_WHOLE: Final = (
    r"[0-9]{1,3}(?:,[0-9]{3})+(?![0-9])|[0-9]{1,2}(?:,[0-9]{2})+,[0-9]{3}(?![0-9])|[0-9]+(?:_[0-9]+)*"
)
_NUMBER: Final = rf"(?:(?:{_WHOLE})(?:\.[0-9]+)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?(?:\.\.\.|…)?"
_WORD: Final = r"[Rr]s\.(?=\s?[0-9(])|\\?[A-Za-z]+(?:_[A-Za-z]+)*(?:['’][A-Za-z]+)?"
_SIGNS: Final = r"[ \t]!=|\*\*|//|<<|>>|<=|>=|==|!=|<>|=>|->|:=|\.\.\.|[⁰¹²³⁴⁵⁶⁷⁸⁹⁻]+|\S"
_TOKEN: Final = re.compile(rf"{_NUMBER}|{_WORD}|{_SIGNS}")


_TENS: Final = tuple(10**places for places in range(40))


# Full-width forms are the same signs; the delimiters of LaTeX say nothing. Lengths do not change.
_FULL_WIDTH: Final = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)} | {0xFFE5: "¥", 0xFFE1: "£"}
_LATEX_SPACING: Final = re.compile(r"\\[()\[\],;!: ]")
_LATEX_INLINE: Final = re.compile(r"\s*(\$\$?)([^$]*[=+*/^\\][^$]*)\1\s*[.]?\s*")

# $…$ among words: what stands in it holds a sign and no word but commands, and prices do not look so.
_LATEX_AMONG_WORDS: Final = re.compile(
    r"(?<![\\$])(\$\$?)(?![\s$])(?=[^$\n]{0,160}[=+*/^<>\\-])"
    r"((?:[^$A-Za-z\n]|\\[A-Za-z]{1,12}|(?<![A-Za-z])[A-Za-z](?![A-Za-z])){1,200})(?<!\s)\1(?![$0-9])"
)


# Quotation marks, bullets and the number of an item, around a text or before it.
_ORNAMENT: Final = re.compile(
    r"""^[\s"'`*•“”‘’✓✔]+|[\s"'`*“”‘’✓✔]+$|^\s*(?:\d{1,3}\)|\(\d{1,3}\))\s+(?=[0-9$])"""
)


# **15** in a text that is marked up.
_BOLD: Final = re.compile(r"(?<![0-9a-z)*])\*\*([^*\n]{1,60})\*\*(?![0-9a-z(*])")


def is_plain(text: str) -> bool:
    """Surely nothing in it that `plain` would change; cheap to ask."""
    if not text.isascii() or "\\" in text or "**" in text:
        return False
    return not _AT_ENDS.intersection(text[:1] + text[-1:]) and ")" not in text[:6]


_AT_ENDS: Final = frozenset("$\"'`*")


def plain(text: str) -> str:
    """The text without typographic variants, ornaments and delimiters, every character in its place."""
    text = text.translate(_FULL_WIDTH)
    text = _BOLD.sub(lambda match: f"  {match.group(1)}  ", text)
    text = _ORNAMENT.sub(lambda match: " " * len(match.group()), text)
    text = _LATEX_SPACING.sub("  ", text).replace("\\%", " %").replace("\\$", " $")
    if "$" not in text:
        return text
    if _LATEX_INLINE.fullmatch(text) is not None:
        return text.replace("$", " ")
    return _LATEX_AMONG_WORDS.sub(
        lambda match: f"{_blank(match.group(1))}{match.group(2)}{_blank(match.group(1))}", text
    )


def _blank(text: str) -> str:
    return " " * len(text)


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
        raise UndecidedMath(f"more than {MAX_TOKENS} tokens")
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
            raise UndecidedMath(f"more than {MAX_TOKENS} tokens")
    values.append("")
    starts.append(len(text))
    ends.append(len(text))
    return Tokens(text, values, starts, ends)


def is_number(token: str) -> bool:
    """Not `isdigit`, which is true of superscripts and of the digits of other scripts."""
    head = token[:1]
    return "0" <= head <= "9" or (head == "." and "0" <= token[1:2] <= "9")


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
        raise UndecidedMath(f"a number of {len(token)} characters")
    continues = token.endswith(("...", "…"))
    digits, _, exponent = token.rstrip(".…").replace(",", "").replace("_", "").lower().partition("e")
    if len(exponent) > 6 or abs(int(exponent or 0)) > MAX_LITERAL_EXPONENT:
        raise UndecidedMath(f"a number with the exponent {exponent[:20]}")
    whole, point, fraction = digits.partition(".")
    if continues and not point:
        raise MalformedMath(f"{token!r} is not a number")
    places = len(fraction) - int(exponent or 0)
    value = int(whole + fraction)
    if places >= 0:
        return Literal(value, 10**places, places, bool(point), continues)
    return Literal(value * 10**-places, 1, places, bool(point), continues)
