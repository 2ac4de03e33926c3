"""Arguments that are programs: SQL, shell commands, code. Their own engines read them.

The engines are loaded on first use, since they are heavy and an installation may lack them; an argument
that can't be read for that reason is not passed.
"""

import functools
import importlib
import re
from collections.abc import Mapping
from typing import Any, Final

from qwed.domain.actions import Action
from qwed.domain.findings import Failure, Finding, Status
from qwed.domain.risk import Risk
from qwed.domain.texts import Joined, Text
from qwed.engines.tools.problems import ArgumentProblem, forbidden, malformed, undecided

# Names, lists of names, `COUNT(*)` and `price DESC`; no subquery, no call of a function that acts.
_IDENTIFIER: Final = re.compile(r"[\w$. ,:\-\[\]\"`*()]{1,200}\Z")
_BEYOND_A_NAME: Final = re.compile(
    r"--|/\*|\b(?:select|union|insert|delete|drop|update|sleep|benchmark|exec|load_file|pg_\w+|xp_\w+|dbms_\w+)\b",
    re.I,
)


def inspect_statement(text: str, dialect: Any, *, reads_only: bool) -> tuple[list[ArgumentProblem], Risk]:
    """Problems and risk of what a database tool runs."""
    finding = _sql_finding(text, dialect)
    if isinstance(finding, ArgumentProblem):
        return [finding], Risk.CRITICAL
    return _statement_problems(text, finding, reads_only), finding.risk


def inspect_condition(text: str, dialect: Any) -> list[ArgumentProblem]:
    """A WHERE condition handed over as text: it must be one condition, and only that."""
    finding = _sql_finding(f"SELECT 1 FROM t WHERE ({text})", dialect)  # noqa: S608 - parsed, never run
    if isinstance(finding, ArgumentProblem):
        return [finding]
    if finding.failure is Failure.MALFORMED:
        return [forbidden("condition", "this is not one condition", text)]
    return _statement_problems(text, finding, reads_only=True)


def inspect_identifier(text: str) -> list[ArgumentProblem]:
    if _IDENTIFIER.match(text) and not _BEYOND_A_NAME.search(text):
        return []
    return [forbidden("identifier", "this is more than the name of a table or a column", text, Risk.CRITICAL)]


def _statement_problems(text: str, finding: Finding, reads_only: bool) -> list[ArgumentProblem]:
    if finding.status is Status.FAILED:
        kind = malformed if finding.failure is Failure.MALFORMED else forbidden
        return [kind("statement", finding.reason or "the statement is refused", text)]
    if reads_only and finding.risk > Risk.LOW:
        return [forbidden("read-only", "the statement of a read does more than read", text, Risk.CRITICAL)]
    if finding.status is Status.UNCERTAIN:
        return [undecided("statement", finding.reason, text)]
    return []


def _sql_finding(text: str, dialect: Any) -> Finding | ArgumentProblem:
    engine = _engine("qwed.engines.sql", "SqlEngine")
    if engine is None:
        return undecided("statement", "the SQL engine is not installed", text)
    parameters = {"dialect": dialect} if isinstance(dialect, str) else {}
    finding: Finding = engine.verify(Action("execute_sql", query=text, parameters=parameters))
    return finding


def inspect_program(
    text: Text | Joined, kind: str, parameters: Mapping[str, Any]
) -> tuple[list[ArgumentProblem], Risk]:
    """Problems and risk of a command or a piece of code, in the slot's language and the one declared."""
    value = text.value if isinstance(text, Text) else text.command
    engine = _engine("qwed.engines.code", "CodeEngine")
    if engine is None:
        return [undecided("program", "the code engine is not installed", value)], Risk.CRITICAL
    declared = {"declared": parameters["language"]} if "language" in parameters else {}
    finding = engine.judge(text, kind, **declared)
    if finding.status is Status.FAILED:
        build = malformed if finding.failure is Failure.MALFORMED else forbidden
        return [build("program", finding.reason or "the program is refused", value)], finding.risk
    if finding.status is not Status.VERIFIED:
        return [undecided("program", finding.reason, value)], finding.risk
    return [], finding.risk


@functools.cache
def _engine(module: str, name: str) -> Any:
    try:
        return getattr(importlib.import_module(module), name)()
    except (ImportError, AttributeError):
        return None
