"""The text before it is parsed: its bounds, and the comments that the parser would drop.

Works on the characters alone, so that a text too hostile for the parser never reaches it.
"""

import functools
import re
from typing import Final

import msgspec

from qwed.engines.sql.dialects import BACKSLASH_ESCAPES, HASH_COMMENTS

MAX_LENGTH: Final = 100_000
MAX_LENGTH_FOR_RETRY: Final = 20_000
# Each level costs the parser up to thirty frames: well below the interpreter's own limit.
MAX_NESTING: Final = 24
MAX_PREFIX_RUN: Final = 32
MAX_SUBSCRIPTS: Final = 400
# The parser tries every way to nest joins that have no condition yet: its time doubles with each.
MAX_OPEN_JOINS: Final = 8


class Comment(msgspec.Struct, frozen=True):
    start: int
    end: int
    body: str
    is_line: bool
    follows_code: bool
    """Code stands before it on the same line."""


# Possessive and always consuming: an unterminated string or comment runs to the end, in linear time.
_PLAIN_STRING = r"'(?:[^']|'')*+'?|\"(?:[^\"]|\"\")*+\"?"
_ESCAPED_STRING = r"'(?:[^'\\]|''|\\.)*+'?|\"(?:[^\"\\]|\"\"|\\.)*+\"?"
_BLOCK = r"/\*(?:[^*]|\*(?!/))*+(?:\*/)?"
_DOLLAR_QUOTED = r"(?P<tag>\$(?:[A-Za-z_]\w*)?\$)(?:[^$]|\$(?!(?:[A-Za-z_]\w*)?\$))*+(?:(?P=tag))?"
_WORDS = r"(?i:\b(?:case|end|not|interval)\b)"


@functools.cache
def _lexemes(dialect: str) -> re.Pattern[str]:
    string = _ESCAPED_STRING if dialect in BACKSLASH_ESCAPES else _PLAIN_STRING
    line = r"--[^\n]*"
    if dialect == "mysql":
        line = r"--(?=\s|$)[^\n]*"
    if dialect in HASH_COMMENTS:
        line += r"|\#[^\n]*"
    return re.compile(
        rf"(?P<string>{string}|`[^`]*+`?|{_DOLLAR_QUOTED})|(?P<line>{line})|(?P<block>{_BLOCK})"
        rf"|(?P<open>[(\[{{])|(?P<close>[)\]}}])|(?P<word>{_WORDS})|(?P<sign>[-+~!])"
        rf"|(?P<other>[^\s\w'\"`$]|\w+)",
        re.DOTALL,
    )


def too_hostile(text: str) -> str | None:
    """Why the text is beyond the bounds, or None. Counting first: few texts need to be measured."""
    if len(text) > MAX_LENGTH:
        return f"{len(text)} characters, more than {MAX_LENGTH}"
    if text.count("[") > MAX_SUBSCRIPTS:
        return f"more than {MAX_SUBSCRIPTS} subscripts"
    lowered = text.lower()
    if lowered.count("join") > MAX_OPEN_JOINS and _most_open_joins(lowered) > MAX_OPEN_JOINS:
        return f"more than {MAX_OPEN_JOINS} joins in a row without a condition"
    if _may_nest_deeply(lowered):
        return _find_deep_nesting(text)
    return None


def _may_nest_deeply(lowered: str) -> bool:
    openers = sum(map(lowered.count, "([{")) + lowered.count("case")
    prefixes = lowered.count("not") + sum(map(lowered.count, "-+~!")) + lowered.count("interval")
    return openers + prefixes > MAX_PREFIX_RUN


def _find_deep_nesting(text: str) -> str | None:
    # Nesting is counted for the dialect in which the least of it is hidden in strings.
    for dialect in ("postgres", "mysql"):
        reason = _measure_nesting(text, dialect)
        if reason:
            return reason
    return None


def _measure_nesting(text: str, dialect: str) -> str | None:
    depth = run = 0
    for match in _lexemes(dialect).finditer(text):
        kind = match.lastgroup
        word = match.group().lower() if kind == "word" else ""
        if kind == "open" or word == "case":
            depth += 1
            run = 0
        elif kind == "close" or word == "end":
            depth = max(0, depth - 1)
            run = 0
        elif kind == "sign" or word:
            run += 1
        elif kind not in ("line", "block"):
            run = 0
        if depth > MAX_NESTING:
            return f"nested deeper than {MAX_NESTING} levels"
        if run > MAX_PREFIX_RUN:
            return f"more than {MAX_PREFIX_RUN} prefix operators in a row"
    return None


_JOIN_WORDS = re.compile(r"\b(?:(?:cross|natural)\s+(?:\w+\s+)?join|join|on|using)\b")


def _most_open_joins(lowered: str) -> int:
    most = unconditioned = 0
    for match in _JOIN_WORDS.finditer(lowered):
        word = match.group()
        if word == "join":
            unconditioned += 1
            most = max(most, unconditioned)
        elif word in ("on", "using"):
            unconditioned = max(0, unconditioned - 1)
    return most


def comments_in(text: str, dialect: str) -> list[Comment]:
    if "--" not in text and "/*" not in text and "#" not in text:
        return []
    found: list[Comment] = []
    last_code_line = -1
    line = counted_to = 0
    for match in _lexemes(dialect).finditer(text):
        kind = match.lastgroup
        line += text.count("\n", counted_to, match.start())
        counted_to = match.start()
        if kind not in ("line", "block"):
            last_code_line = line + match.group().count("\n")
            continue
        raw = match.group()
        body = (
            raw[2:].removesuffix("*/") if kind == "block" else raw.lstrip("#") if raw[0] == "#" else raw[2:]
        )
        found.append(Comment(match.start(), match.end(), body, kind == "line", last_code_line == line))
    return found


def blank_out(text: str, dialect: str) -> str:
    """The text of the same length with quotation marks for what is quoted and blanks for comments."""

    def blank(match: re.Match[str]) -> str:
        if match.lastgroup in ("line", "block"):
            return " " * len(match.group())
        return "'" * len(match.group()) if match["string"] is not None else match.group()

    return _lexemes(dialect).sub(blank, text)


_EXECUTABLE = re.compile(r"M?!\d{0,6}")


def with_executable_comments(text: str, dialect: str = "mysql") -> str | None:
    """The text as MySQL runs it, with `/*!50000 … */` as code; None when there is nothing of the kind."""
    if "/*!" not in text and "/*M!" not in text:
        return None
    pieces: list[str] = []
    position = 0
    for comment in comments_in(text, dialect):
        marker = _EXECUTABLE.match(comment.body)
        if comment.is_line or not marker:
            continue
        pieces += (text[position : comment.start], " ", comment.body[marker.end() :], " ")
        position = comment.end
    return "".join(pieces) + text[position:] if pieces else None
