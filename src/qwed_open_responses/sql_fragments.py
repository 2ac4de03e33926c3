"""SQL injection: does a value, put where values stand in a statement, change the statement?

The value is set into small statements, as a quoted string and as a number, and the result is parsed. Prose
with apostrophes breaks the parse; an injection keeps it and adds conditions, unions, statements or calls.
"""

import functools
import itertools
import re
from typing import Any, Final

from qwed.domain.lazy_pattern import lazy_pattern
from qwed_open_responses.libraries import library

MAX_LENGTH: Final = 1_000
MAX_WINDOWS: Final = 6
SIGNAL: Final = "sql:"
SIGNALS: Final = {
    SIGNAL: (
        r"(?i)['\"`)]\s{0,20}(?:\)\s{0,5}){0,5}(?:or\b|and\b|union\b|having\b|order\s+by|group\s+by|like\b"
        r"|xor\b|rlike\b|regexp\b|"
        r"between\b|is\b|in\s{0,3}\(|limit\b|procedure\b|\|\||&&|;|--|#|/\*|=|<|>|\+\s{0,3}\(|%(?:20"
        r"|0[ad9])|waitfor\b|into\b)"
        r"|\bunion(?:\s|/\*|\(|%|\+)|;\s{0,20}(?:drop|delete|update|insert|alter|truncate|exec|execute"
        r"|shutdown|create|grant|declare|"
        r"set|merge|copy|select|call|waitfor|attach)\b"
        r"|(?:^|: )-?[0-9]+\s{0,5}\)?\s{0,5}(?:or|and|xor|\|\||&&|union|having|order|group|;|--|/\*|-\s*if"
        r"|procedure)(?:\b|\s|$)"
        r"|\b(?:sleep|benchmark|pg_sleep|xp_cmdshell|load_file|extractvalue|updatexml|randomblob"
        r"|load_extension)\s{0,5}\("
        r"|\bwaitfor\s+delay\b|/\*|\bor\s+[0-9'\"]+\s{0,5}(?:=|like|<|>)"
    )
}

_PLACES: Final = (
    "SELECT c FROM t WHERE k = '{}'",
    'SELECT c FROM t WHERE k = "{}"',
    "SELECT c FROM t WHERE (k = '{}')",
    "SELECT c FROM t WHERE f(k, '{}')",
    "SELECT c FROM t WHERE k IN ('{}')",
)
_NUMBER_PLACES: Final = (
    "SELECT c FROM t WHERE k = {}",
    "SELECT c FROM t WHERE (k = {})",
    "SELECT c FROM t WHERE f(k, {})",
)
# Between them they know every way to begin a comment and to quote a string.
_DIALECTS: Final = ("mysql", "postgres")
# No parser knows it.
_SHUTDOWN = lazy_pattern(r"(?i)\s*shutdown\b")
_TIME_PROBE = lazy_pattern(r"(?i)\bwaitfor\s+(?:delay|time)\s+['@]")
_SPEAKS_TSQL = lazy_pattern(r"(?i)\bwaitfor\b|\bexec\b|\bdeclare\b|xp_|sp_")
_STARTS_LIKE_A_NUMBER = lazy_pattern(r"\s*[-(]?\s*[0-9]")
_VERSION_COMMENT = lazy_pattern(r"/\*!\d{0,6}(.*?)\*/", re.S)
_COMMENT = lazy_pattern(r"/\*.*?(?:\*/|$)", re.S)
_COMMENT_AT_THE_END = lazy_pattern(r"(?:--|#|/\*)[^'\"]*$")


_STATEMENT = lazy_pattern(
    r"""(?isx)
    \s* (?:
      drop \s+ (?:table|database|schema|view|index|user|role|function|procedure|trigger|sequence
          |column|tablespace)
        \s+ (?:if \s+ exists \s+)? [\w."`\[\]$-]+ (?:\s*,\s*[\w."`\[\]$-]+)*
        \s* (?:cascade|restrict|purge)? \s* (?:;|--|/\*|\#|$)
    | truncate \s+ (?:table \s+)? (?:only \s+)? [\w."`\[\]$-]+
        \s* (?:cascade|restart \s+ identity)? \s* (?:;|--|/\*|\#|$)
    | delete \s+ from \s+ [\w."`\[\]$-]+ \s* (?:;|--|/\*|\#|$|where\b|using\b|limit\b|as\b)
    | update \s+ [\w."`\[\]$-]+ \s+ set \s+ [\w."`\[\]$-]+ \s* =
    | alter \s+ (?:table|user|role|database|system|login) \s+ \S+ \s+ \w+
    | (?:grant|revoke) \s+ [\w\s,*]+? \s+ on \s+ \S+ \s+ (?:to|from) \s
    | (?:grant|revoke) \s+ \w+ \s+ (?:to|from) \s+ [\w'"@%.`]+ \s* (?:;|$|with\b|identified\b)
    | exec(?:ute)? \s+ (?:master\.|dbo\.|xp_|sp_|immediate\b|\() | shutdown \s* (?:;|$|with\b)
    | copy \s+ [\w."(]+ .* \s (?:program|to|from) \s+ '
    | create \s+ (?:or \s+ replace \s+)? (?:temp \w* \s+ | unlogged \s+)?
        table \s+ (?:if \s+ not \s+ exists \s+)? [\w."`\[\]$-]+ \s* (?:\(|as\b|like\b)
    | create \s+ (?:user|role|login) \s+ [\w."'`@%-]+
        \s* (?:;|--|$|identified\b|with\b|password\b|login\b|superuser\b|createdb\b)
    | create \s+ (?:database|schema) \s+ (?:if \s+ not \s+ exists \s+)? [\w."`\[\]$-]+
        \s* (?:;|--|/\*|$|with\b|authorization\b|character\b|owner\b)
    | create \s+ (?:or \s+ replace \s+)? (?:materialized \s+)? view \s+ [\w."`\[\]$-]+ .* \b as \b
    | create \s+ (?:or \s+ replace \s+)? (?:function|procedure) \s+ [\w."`\[\]$-]+ \s* \(
    | create \s+ (?:or \s+ replace \s+)? trigger \s+ [\w."`\[\]$-]+ \s+ (?:before|after|instead|for|on) \b
    | create \s+ (?:unique \s+)? index \s+ .* \b on \s+ [\w."`\[\]$-]+
    | (?:insert|replace|merge) \s+ into \b | select \b .* (?:\bfrom\b|[0-9*(@]) | with \s+ \w+ \s+ as \s* \(
    | explain \s+ \w+ | declare \s+ @?\w+ \s+ \w+ | attach \s+ (?:database\b|') | load \s+ data \b
    | call \s+ [\w.]+ \s* \( | set \s+ @?@?[\w.]+ \s* (?:=|to\b) | do \s+ \$
    )"""
)  # fmt: skip
# The shape of a statement is told by its beginning.
_HEAD: Final = 400


def is_statement_shaped(text: str) -> bool:
    """Whether a text begins as a statement does, rather than as a sentence with the same verb."""
    return _STATEMENT.match(text[:_HEAD]) is not None


def breaks_out(value: str) -> bool:
    """Whether the value would escape from a literal and be read as SQL.

    Of a long value the places that look like SQL are read, each with what stands around it.
    """
    if len(value) <= MAX_LENGTH:
        return _breaks_out(value)
    found = itertools.islice(_signal().finditer(value), MAX_WINDOWS)
    return any(_breaks_out(value[max(0, match.start() - 60) : match.start() + 400]) for match in found)


@functools.cache
def _signal() -> Any:
    return library("re2").compile(SIGNALS[SIGNAL])


def _breaks_out(value: str) -> bool:
    plain = _COMMENT.sub(" ", _VERSION_COMMENT.sub(r" \1 ", value))
    joined = _COMMENT.sub("", value)
    opened, comment, _ = value.rpartition("/*")
    candidates = dict.fromkeys((value, plain, joined, *((f"{opened} -- ",) if comment else ())))
    return _TIME_PROBE.search(plain) is not None or any(map(_changes, candidates))


def _changes(value: str) -> bool:
    if any(_changed(place, value) for place in _PLACES if _quote(place) in value):
        return True
    return _STARTS_LIKE_A_NUMBER.match(value) is not None and any(
        _changed(place, value) for place in _NUMBER_PLACES
    )


def _quote(place: str) -> str:
    return '"' if '"' in place else "'"


def _changed(place: str, value: str) -> bool:
    dialects = (*_DIALECTS, "tsql") if _SPEAKS_TSQL.search(value) else _DIALECTS
    return any(_is_changed(_parsed(place.replace("{}", value), dialect), value) for dialect in dialects)


def _is_changed(statements: list[Any] | None, value: str) -> bool:
    if not statements:
        return False
    if len(statements) > 1:
        second = value.partition(";")[2]
        is_known = (
            all(_is_statement(statement) for statement in statements) or _SHUTDOWN.match(second) is not None
        )
        return is_statement_shaped(second) and is_known
    return _has_more_than_the_value(statements[0], value)


def _parsed(statement: str, dialect: str) -> list[Any] | None:
    sqlglot = _sqlglot()
    try:
        parsed = sqlglot.parse(statement, dialect=dialect, error_level=sqlglot.ErrorLevel.RAISE)
    except (sqlglot.errors.SqlglotError, RecursionError, ValueError, TypeError, AttributeError, IndexError):
        return None
    return [one for one in parsed if one is not None]


def _is_statement(statement: Any) -> bool:
    expressions = _sqlglot().exp
    return isinstance(
        statement,
        (
            expressions.Query,
            expressions.DML,
            expressions.DDL,
            expressions.Drop,
            expressions.Alter,
            expressions.Command,
            expressions.TruncateTable,
            expressions.Set,
            expressions.Grant,
            expressions.Declare,
            expressions.Semicolon,
        ),
    )


def _has_more_than_the_value(statement: Any, value: str) -> bool:
    expressions = _sqlglot().exp
    if isinstance(statement, expressions.SetOperation):
        return True
    if not isinstance(statement, expressions.Select):
        return False
    if any(statement.args.get(clause) for clause in ("having", "order", "group", "limit", "into")):
        return True
    where = statement.args.get("where")
    if where is None:
        return False
    if any(
        where.find(kind)
        for kind in (expressions.Connector, expressions.Select, expressions.Xor, expressions.Between)
    ):
        return True
    comparisons = list(where.find_all(expressions.Predicate))
    # k = 'admin' and a comment that swallows the rest of the statement.
    return len(comparisons) > 1 or _COMMENT_AT_THE_END.search(value) is not None


@functools.cache
def _sqlglot() -> Any:
    module: Any = library("sqlglot")
    library("sqlglot.errors")
    return module
