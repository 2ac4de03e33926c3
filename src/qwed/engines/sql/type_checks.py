"""Comparisons that cannot be meant: a number with a word, a date with a word.

Only literals are judged, and only where no dialect could make sense of them; SQLite, which compares
anything with anything, gets a warning instead.
"""

import re
from typing import Any, Final

from sqlglot import exp

from qwed.engines.sql.notes import Notes
from qwed.engines.sql.schema import TypeFamily

_NUMERIC_TEXT: Final = re.compile(r"\s*[-+]?[\d.,]*\d[\d.,]*(?:[eE][-+]?\d+)?\s*%?\s*|\s*")
_STRICT: Final = frozenset({"postgres", "bigquery", "redshift"})
_LOOSE: Final = frozenset({"sqlite"})


def check_types(left: TypeFamily, other: Any, right: TypeFamily | None, node: exp.Expr, notes: Notes) -> None:
    """Whether `other` (of the family `right`, if it is a column) fits what `left` is."""
    while isinstance(other, exp.Paren | exp.Neg):
        other = other.this
    dialect = notes.context.dialect
    message = None
    if isinstance(other, exp.Literal):
        message = _literal_mismatch(left, other, dialect)
    elif dialect in _STRICT:
        message = _column_mismatch(left, right)
    if message is None:
        return
    report = notes.warn if dialect in _LOOSE else notes.incorrect
    report("type_mismatch", message, node)


def _literal_mismatch(left: TypeFamily, literal: exp.Literal, dialect: str | None) -> str | None:
    value = str(literal.this)
    if literal.is_string:
        if left is TypeFamily.NUMBER and not _NUMERIC_TEXT.fullmatch(value) and not _has_digits(value):
            return f"a number is compared with the text {value[:60]!r}"
        if left is TypeFamily.TIME and value and not _has_digits(value) and value.lower() not in _TIME_WORDS:
            return f"a date or time is compared with the text {value[:60]!r}"
        return None
    if left is TypeFamily.TEXT and dialect in _STRICT:
        return f"a text is compared with the number {value[:60]}"
    return None


_TIME_WORDS: Final = frozenset(
    {"now", "today", "tomorrow", "yesterday", "epoch", "infinity", "-infinity", "allballs"}
)


def _has_digits(text: str) -> bool:
    return any(map(str.isdigit, text))


_COMPARABLE: Final = frozenset({TypeFamily.NUMBER, TypeFamily.TEXT, TypeFamily.TIME})


def _column_mismatch(left: TypeFamily, right: TypeFamily | None) -> str | None:
    if left in _COMPARABLE and right in _COMPARABLE and left is not right:
        return f"a {left} column is compared with a {right} column"
    return None
