"""Arguments that are programs: SQL, shell commands, code. Their own engines read them.

The engines are loaded on first use, since they are heavy and an installation may lack them; an argument
that can't be read for that reason is not passed.
"""

import functools
import importlib
import re
from typing import Any, Final

from qwed.domain.actions import Action
from qwed.domain.findings import Failure, Finding, Status
from qwed.domain.risk import Risk
from qwed.engines.protocol import Engine
from qwed.engines.tools.problems import Problem, forbidden, malformed, undecided
from qwed.engines.tools.word_sets import word_set

_STATEMENT_WORDS: Final = word_set(
    """
    select with values table show explain describe desc pragma insert update delete merge upsert
    drop alter create truncate grant revoke exec execute call do copy set use begin commit rollback
    replace vacuum analyze attach load lock rename declare kill shutdown backup restore
    """
)
_READING_WORDS: Final = word_set(
    """
    select with values table show explain describe desc pragma analyze use
    """
)
_FIRST_WORD: Final = re.compile(r"[\s(;]*([A-Za-z]+)")
_SQL_SIGNS: Final = re.compile(r"[;'\"=*`]|--|/\*")
_APOSTROPHE: Final = re.compile(r"(?<=[A-Za-z])'(?=[A-Za-z])")
_SQL_WORDS: Final = re.compile(r"\b(?:from|into|table|where)\b", re.I)
# Names, lists of names, `COUNT(*)` and `price DESC`; no subquery, no call of a function that acts.
_IDENTIFIER: Final = re.compile(r"[\w$. ,\-\[\]\"`*()]{1,200}\Z")
_BEYOND_A_NAME: Final = re.compile(
    r"--|/\*|\b(?:select|union|insert|delete|drop|update|sleep|benchmark|exec|load_file|pg_\w+|xp_\w+|dbms_\w+)\b",
    re.I,
)
_OUTSIDE_WORDS: Final = re.compile(r"--|/\*|[;'\\]")


def inspect_statement(
    text: str, dialect: Any, *, reads_only: bool, must_be_sql: bool
) -> tuple[list[Problem], Risk]:
    """Problems and risk of a database tool's query. `must_be_sql`: a sentence is not an answer to it."""
    first = _FIRST_WORD.match(text)
    word = first[1].lower() if first else ""
    sentence = _APOSTROPHE.sub("", text)
    if (
        word not in _STATEMENT_WORDS
        and text.lstrip()[:2] not in ("--", "/*")
        and not _OUTSIDE_WORDS.search(sentence)
    ):
        return [], Risk.LOW
    finding = _sql_finding(text, dialect)
    if isinstance(finding, Problem):
        return [finding], Risk.CRITICAL
    if finding.failure is Failure.MALFORMED and not must_be_sql and not _SQL_SIGNS.search(sentence):
        doubt = [undecided("statement", "a sentence or a statement: it can't be told which", text)]
        is_sentence = word in _READING_WORDS and not _SQL_WORDS.search(text)
        return ([] if is_sentence else doubt), Risk.LOW
    return _statement_problems(text, finding, reads_only), finding.risk


def inspect_condition(text: str, dialect: Any) -> list[Problem]:
    """A WHERE condition handed over as text: it must be one condition, and only that."""
    finding = _sql_finding(f"SELECT 1 FROM t WHERE ({text})", dialect)  # noqa: S608 - parsed, never run
    if isinstance(finding, Problem):
        return [finding]
    if finding.failure is Failure.MALFORMED:
        return [forbidden("condition", "this is not one condition", text)]
    return _statement_problems(text, finding, reads_only=True)


def inspect_identifier(text: str) -> list[Problem]:
    if _IDENTIFIER.match(text) and not _BEYOND_A_NAME.search(text):
        return []
    return [forbidden("identifier", "this is more than the name of a table or a column", text, Risk.CRITICAL)]


def _statement_problems(text: str, finding: Finding, reads_only: bool) -> list[Problem]:
    if finding.status is Status.FAILED:
        kind = malformed if finding.failure is Failure.MALFORMED else forbidden
        return [kind("statement", finding.reason or "the statement is refused", text)]
    if reads_only and finding.risk > Risk.LOW:
        return [forbidden("read-only", "the statement of a read does more than read", text, Risk.CRITICAL)]
    if finding.status is Status.UNCERTAIN:
        return [undecided("statement", finding.reason, text)]
    return []


def _sql_finding(text: str, dialect: Any) -> Finding | Problem:
    engine = _engine("qwed.engines.sql", "SqlEngine")
    if engine is None:
        return undecided("statement", "the SQL engine is not installed", text)
    parameters = {"dialect": dialect} if isinstance(dialect, str) else {}
    return engine.verify(Action("execute_sql", query=text, parameters=parameters))


def inspect_program(text: str, language: Any) -> tuple[list[Problem], Risk]:
    """Problems and risk of a command or a piece of code."""
    engine = _engine("qwed.engines.code", "CodeEngine")
    if engine is None:
        return [undecided("program", "the code engine is not installed", text)], Risk.CRITICAL
    parameters = {"language": language} if isinstance(language, str) else {}
    finding = engine.verify(Action("execute_code", code=text, parameters=parameters))
    if finding.status is Status.FAILED:
        kind = malformed if finding.failure is Failure.MALFORMED else forbidden
        return [kind("program", finding.reason or "the program is refused", text)], finding.risk
    if finding.status is not Status.VERIFIED:
        return [undecided("program", finding.reason, text)], finding.risk
    return [], finding.risk


@functools.cache
def _engine(module: str, name: str) -> Engine | None:
    try:
        engine: Engine = getattr(importlib.import_module(module), name)()
    except (ImportError, AttributeError):
        return None
    return engine
