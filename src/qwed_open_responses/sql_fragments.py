"""SQL injection: does a value, put where values stand in a statement, change the statement?

The value is read in every place it could land in: inside a string, a quoted name, as a number, as a name,
behind a closing quote or bracket. In each, what leaves the place has to read as SQL to its end
(`sql_grammar`), and to hold something that a sentence does not. Prose with apostrophes is SQL in none.
"""

import functools
import itertools
from collections.abc import Iterator
from typing import Any, Final

from qwed.domain.lazy_pattern import lazy_pattern
from qwed_open_responses.engines import inspect_sql
from qwed_open_responses.libraries import library
from qwed_open_responses.sql_grammar import PROBES, SqlReader
from qwed_open_responses.sql_statements import is_statement_shaped
from qwed_open_responses.sql_tokens import STOP, SqlToken, tokens

MAX_LENGTH: Final = 1_000
MAX_WINDOWS: Final = 12
SIGNAL: Final = "sql:"
_CONTINUES: Final = (
    r"(?:or|and|xor|union|having|order\s+by|group\s+by|like|rlike|regexp|between|is|in|limit|procedure"
    r"|waitfor|into)\b"
)
SIGNALS: Final = {
    SIGNAL: (
        rf"(?i)[\x27\"`)\]%0-9]\s{{0,20}}(?:\)\s{{0,5}}){{0,5}}(?:{_CONTINUES}|\|\||&&|;|--|#|/\*|=|<|>"
        r"|[+-]\s{0,3}[(a-z]"
        r"|\x00|%(?:20|0[ad09]))"
        r"|\bunion(?:\s|/\*|\(|%|\+)|;\s{0,20}(?:drop|delete|update|insert|alter|truncate|exec|execute|begin"
        r"|shutdown|create|grant|declare|set|merge|copy|select|call|waitfor|attach)\b"
        r"|(?:^|: )-?[0-9.]+\s{0,5}\)?\s{0,5}(?:or|and|xor|\|\||&&|union|having|order|group|;|--|/\*|-\s*if"
        r"|procedure)(?:\b|\s|$)"
        rf"|\b(?:{'|'.join(sorted(PROBES))})\s{{0,5}}\("
        r"|\bwaitfor\s+delay\b|/\*|\b(?:or|and)\s+[0-9\x27\"(]+|\border\s+by\s|\(\s{0,3}select\b|@@[a-z]|\bcase\s+when\b"
    )
}
_QUERY = lazy_pattern(r"(?is)\s*(?:select\s.{1,900}?\sfrom\s|with\s+\w+\s+as\s*\()")
_NUMBER = lazy_pattern(r"\s*[-+(]{0,3}\s*(?:0x[0-9A-Fa-f]+|\d+(?:\.\d*)?(?:e\d+)?)")
_NAME = lazy_pattern(r"\s*[A-Za-z_][\w.]{0,60}(?:\s+(?:asc|desc))?")
_CLOSERS: Final = ("\x27", '"', "`", "]")
_MAX_EXITS: Final = 4


def breaks_out(value: str) -> bool:
    """Whether the value would escape from a literal and be read as SQL.

    Of a long value the places that look like SQL are read, each with what stands around it.
    """
    if len(value) <= MAX_LENGTH:
        return _breaks_out(value) and not _is_sound_query(value)
    found = itertools.islice(_signal().finditer(value), MAX_WINDOWS)
    return any(_breaks_out(value[max(0, match.start() - 60) : match.start() + 400]) for match in found)


def _is_sound_query(value: str) -> bool:
    """A whole query that the SQL engine finds nothing wrong with was not pasted into one."""
    if _QUERY.match(value) is None:
        return False
    verdict = inspect_sql(value)
    return not verdict.problems and all(one.kind.value == "read" for one in verdict.statements)


@functools.cache
def _signal() -> Any:
    return library("re2").compile(SIGNALS[SIGNAL])


def _breaks_out(value: str) -> bool:
    return (
        any(_leaves_literal(value, at, closer) for at, closer in _exits(value))
        or _follows_number(value)
        or _follows_name(value)
        or _is_expression(value)
        or _is_stacked(value)
    )


def _exits(value: str) -> Iterator[tuple[int, str]]:
    """The first places at which each kind of literal would end."""
    for closer in _CLOSERS:
        at = value.find(closer)
        for _ in range(_MAX_EXITS):
            if at < 0:
                break
            if value[at + 1 : at + 2] != closer or at == 0:
                yield at + 1, closer
            at = value.find(closer, at + 1)


def _leaves_literal(value: str, at: int, closer: str) -> bool:
    """What follows the closing quote, with the quote that the host puts behind the value."""
    rest = value[at:]
    read = list(tokens(rest))
    if _is_cut_off(read, value[:at]):
        return True
    for host in ("", closer if closer != "]" else ""):
        reader = SqlReader(list(tokens(rest + host)) if host else read)
        if reader.continuation() and _is_meant(reader.notes, bool(host), value[:at]):
            return True
        if _stacks(rest):
            return True
    return False


def _is_cut_off(read: list[SqlToken], before: str) -> bool:
    """`admin\x27--`: the literal ends, and a comment swallows the rest of the statement."""
    rest = [token for token in read if token.text not in (")", ";")]
    if len(rest) != 1 or rest[0].kind != STOP:
        return False
    comment = rest[0].text
    return len(comment) <= 5 and " " not in before.strip() and (len(before) > 1 or len(comment) > 1)


def _is_meant(notes: set[str], is_completed: bool, before: str) -> bool:
    if "empty" in notes and notes.isdisjoint({"compares", "unites", "probes", "selects"}):
        return False
    if not notes.isdisjoint({"unites", "probes", "selects", "writes"}):
        return True
    if "connects" in notes or "sorts" in notes:
        return not notes.isdisjoint({"compares", "ends", "calls"})
    if "goes on" in notes:
        # Quoted signs stand in any sentence about them: "followed by '='".
        is_bare = " " not in before.strip() and {"compares", "constant"} <= notes
        return is_bare and ("ends" in notes or is_completed)
    return "calls" in notes and "ends" in notes


def _stacks(rest: str) -> bool:
    """A second statement behind a semicolon, after what closes the first."""
    closed = rest.lstrip(" )\t\n")
    return closed.startswith(";") and _is_statement(closed[1:])


def _is_statement(text: str) -> bool:
    if is_statement_shaped(text):
        return True
    reader = SqlReader(list(tokens(text)))
    if not reader.take_word("select"):
        return False
    is_whole = reader.query() and (reader.is_done or reader.take_sign(";"))
    return is_whole and not reader.notes.isdisjoint({"from", "calls", "probes", "constant"})


def _follows_number(value: str) -> bool:
    number = _NUMBER.match(value)
    if number is None:
        return False
    rest = value[number.end() :]
    reader = SqlReader(list(tokens(rest)))
    if reader.continuation() and _is_meant_after_number(reader.notes):
        return True
    return _stacks(rest)


def _is_meant_after_number(notes: set[str]) -> bool:
    if not notes.isdisjoint({"unites", "probes", "selects", "writes"}):
        return True
    if "connects" in notes:
        return not notes.isdisjoint({"compares", "calls", "ends"})
    return not notes.isdisjoint({"sorts", "calls"}) and not notes.isdisjoint(
        {"ends", "closes", "calls", "constant"}
    )


def _follows_name(value: str) -> bool:
    """Behind a name, or where a closing quote or bracket stood before the value."""
    for start in dict.fromkeys((0, match.end() if (match := _NAME.match(value)) else 0)):
        rest = value[start:]
        reader = SqlReader(list(tokens(rest)))
        if reader.continuation() and _is_meant_after_name(reader.notes):
            return True
        if _stacks(rest):
            return True
    return False


def _is_meant_after_name(notes: set[str]) -> bool:
    if "unites" in notes:
        return not notes.isdisjoint({"constant", "calls", "from", "lists"})
    if not notes.isdisjoint({"probes", "selects", "writes"}):
        return True
    if "connects" in notes:
        return (
            {"compares", "constant"} <= notes or "empty" in notes or ("ends" in notes and "constant" in notes)
        )
    return "sorts" in notes and "ends" in notes


def _is_expression(value: str) -> bool:
    """A value that is a query or calls what probes a database."""
    reader = SqlReader(list(tokens(value)))
    if not reader.expression():
        return False
    while reader.take_sign(",") and reader.expression():
        pass
    if not reader.is_done:
        return False
    return bool(reader.notes & {"probes", "selects"}) and not value.strip().lower().startswith(
        ("version", "database")
    )


def _is_stacked(value: str) -> bool:
    """`price desc; drop table items`: few words, a semicolon, a statement."""
    before, semicolon, after = value.partition(";")
    return bool(semicolon) and len(before.split()) <= 2 and _is_statement(after)
