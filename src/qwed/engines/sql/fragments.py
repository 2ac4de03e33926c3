"""Pieces of SQL beside a statement: a column list, a condition, an order, a source.

A tool that builds its statement from parts hands each part to the database as it stands. In a member whose
name says so (`filter`, `order_by`), a part is looked up as the same part of a statement is: a function on
no list is UNCERTAIN. In any other member only what is found counts.
"""

import functools
import re
from collections.abc import Iterator
from typing import Final

from qwed.domain.findings import Failure, Status
from qwed.domain.risk import Risk
from qwed.engines.candidates import FoundEffect
from qwed.engines.sql.engine import inspect_sql
from qwed.engines.sql.functions import FORBIDDEN, FORBIDDEN_PREFIXES, SIDE_EFFECTS, forbidden_rule
from qwed.engines.sql.lexemes import MAX_LENGTH_FOR_RETRY
from qwed.engines.sql.part_names import is_part, names_a_function
from qwed.engines.sql.verdict import READS, SqlVerdict, StatementKind
from qwed.engines.words import words

_CACHED_LENGTH: Final = 512
_CACHE_SIZE: Final = 1_024
_MAX_SLOT: Final = 200
# Where a part can stand. What it is called beside an effect is said by the first place that takes it.
_PLACES: Final = (
    "SELECT {}",
    "SELECT 1 FROM t WHERE {}",
    "SELECT 1 FROM t WHERE ({})",
    "SELECT 1 FROM {}",
    "SELECT 1 FROM t {}",
    "SELECT 1 FROM t JOIN {}",
    "SELECT 1 FROM t ORDER BY {}",
    "WITH {} SELECT 1",
    "SELECT sum(1) OVER ({}) FROM t",
    "SELECT 1 FROM t LIMIT {}",
)
_DIALECTS: Final = ("postgres", "mysql", "tsql")

_WORD: Final = re.compile(r"[A-Za-z_][\w$]*")
_NAMES: Final = frozenset(part for name in (*FORBIDDEN, *SIDE_EFFECTS) for part in name.split("."))
_PREFIXES: Final = tuple(prefix.rstrip(".") for prefix, _ in FORBIDDEN_PREFIXES)
_QUALIFIED: Final = re.compile(r"[a-z_][\w$.]{1,100}")
_ESCAPED_NAME: Final = re.compile(r"\bu&\s*\"", re.I)
_COMMENT: Final = re.compile(r"/\*(?:[^*]|\*(?!/))*+\*/")
_WRITES_A_FILE: Final = re.compile(r"\binto\s+(?:out|dump)file\s*['\"@:]", re.I)
_NEEDS_A_LOOK: Final = re.compile(r"lock|\bfor\s|file", re.I)
_WHOLE: Final = re.compile(r"[\s(;]*(?:select\b.{1,2000}?\bfrom\b|with\b.{1,2000}?\bas\s*\()", re.I | re.S)
_MAY_LOCK: Final = re.compile(r"lock|\bfor\s", re.I)
# `Price (EUR)` is how people head a column. A call has its bracket beside its name.
_HEADING: Final = re.compile(r"[^\W_][\w /&%.-]*\s\([\w .,/&%-]+\)")
# `sleep(8h)`: a number with a unit is nothing that a database reads.
_UNIT: Final = re.compile(r"(?<![\w.'\"])\d+(?!e\d|x[0-9a-f])[a-z]\w*", re.I)
_EVERYDAY: Final = words(
    """
    file url edit shell system remote cluster mysql postgresql mongodb http s3 gcs hdfs executable jdbc odbc
    iceberg deltalake reflect
    """
)
_REACHES: Final = frozenset(
    {"time_probe", "error_probe", "file_access", "network_access", "command_execution", "administration"}
    | {"stacked_write"}
)
_DOUBTS: Final = frozenset({"unknown_function", "bounds"})


def may_reach(text: str, *, in_part: bool) -> bool:
    """Whether anything could be found in the text: no reading calls a function whose name is not in it."""
    if "(" in text and (in_part or _holds_a_function(text)):
        return True
    return (in_part or _WHOLE.match(text) is not None) and _MAY_LOCK.search(text) is not None


def _holds_a_function(text: str) -> bool:
    if _ESCAPED_NAME.search(text):
        return True
    named = {word.lower() for word in _WORD.findall(text)}
    return not named.isdisjoint(_NAMES) or any(word.startswith(_PREFIXES) for word in named)


def find_in_fragment(text: str, slot: str, dialect: str | None = None) -> FoundEffect | None:
    """What a text of a database's action does as a part of its statement."""
    if "(" not in text and not _NEEDS_A_LOOK.search(text):
        return _find_named_function(text, slot)
    in_part = is_part(slot[-_MAX_SLOT:])
    if _WRITES_A_FILE.search(_COMMENT.sub(" ", text)):
        return FoundEffect("sql", "file_access", "it writes a file of the server", Status.FAILED)
    if not may_reach(text, in_part=in_part):
        return _find_named_function(text, slot)
    if len(text) > MAX_LENGTH_FOR_RETRY:
        reason = f"a part of a statement, longer than {MAX_LENGTH_FOR_RETRY} characters"
        return FoundEffect("sql", "bounds", reason, Status.UNCERTAIN)
    find = _find_cached if len(text) <= _CACHED_LENGTH else _find
    return find(text, in_part, dialect)


def _find_named_function(text: str, slot: str) -> FoundEffect | None:
    """`{"function": "pg_sleep", "args": [10]}`: the name alone is the call."""
    if not names_a_function(slot[-_MAX_SLOT:]):
        return None
    name = text.strip().lower()
    if not _QUALIFIED.fullmatch(name):
        return None
    rule = forbidden_rule(name) or forbidden_rule(name.rpartition(".")[2])
    if rule is not None:
        return FoundEffect("sql", rule, f"it calls {name}()", Status.FAILED)
    if name in SIDE_EFFECTS:
        return _acts(f"{name}() changes something", SIDE_EFFECTS[name])
    return None


def _find(text: str, in_part: bool, dialect: str | None) -> FoundEffect | None:
    is_heading = _HEADING.fullmatch(text.strip()) is not None
    if (is_heading and not _is_unmistakable(text)) or (not in_part and _UNIT.search(text)):
        return None
    # `ready for update` is English; a statement that begins as one is none.
    is_whole = _WHOLE.match(text) is not None
    doubt: FoundEffect | None = None
    for number, verdict in enumerate(_verdicts(text, dialect)):
        found = _find_effect(verdict, may_lock=in_part or is_whole)
        if found is not None:
            return found
        if number == 0 and in_part and not is_heading:
            doubt = _find_doubt(verdict)
    return doubt


_find_cached = functools.lru_cache(_CACHE_SIZE)(_find)


def _is_unmistakable(heading: str) -> bool:
    name = heading.partition("(")[0].split()[-1].lower()
    return name in _KEYWORDS or (name not in _EVERYDAY and _holds_a_function(name))


_KEYWORDS: Final = words(
    "with in exists over values as from join select where and or not any all some filter on by"
)


def _verdicts(text: str, dialect: str | None) -> Iterator[SqlVerdict]:
    """Of each place that takes the text, by the first dialect that reads it."""
    for place in _PLACES:
        for each in (dialect,) if dialect else _DIALECTS:
            verdict = inspect_sql(place.replace("{}", text), each)
            if verdict.failure is not Failure.MALFORMED:
                yield verdict
                break


def _find_effect(verdict: SqlVerdict, *, may_lock: bool) -> FoundEffect | None:
    for problem in verdict.problems:
        if problem.failure is Failure.FORBIDDEN and problem.rule in _REACHES:
            return FoundEffect("sql", problem.rule, problem.message, Status.FAILED)
    acting = [item for item in verdict.statements if item.kind not in READS]
    acting = [item for item in acting if may_lock or item.kind is not StatementKind.LOCKING_READ]
    if acting:
        return _acts(acting[0].kind.value, max(item.risk for item in acting))
    effect = next((warning for warning in verdict.warnings if warning.rule == "side_effect"), None)
    return None if effect is None else _acts(effect.message, Risk.HIGH)


def _find_doubt(verdict: SqlVerdict) -> FoundEffect | None:
    doubt = next((item for item in verdict.problems if item.rule in _DOUBTS), None)
    if doubt is None:
        return None
    return FoundEffect("sql", doubt.rule, doubt.message, Status.UNCERTAIN, doubt.risk)


def _acts(what: str, risk: Risk) -> FoundEffect:
    return FoundEffect("sql", "statement", f"a part that does more than read: {what}", Status.VERIFIED, risk)
