"""One SQL text, judged: in its dialect, and in every other reading that a server might give it."""

import re
from collections.abc import Iterator
from itertools import islice
from typing import Any, Final

import msgspec
from sqlglot import exp

from qwed.domain.findings import Failure
from qwed.domain.risk import Risk
from qwed.engines.sql.dialects import UNION, dialect_named
from qwed.engines.sql.lexemes import MAX_LENGTH_FOR_RETRY, blank_out, with_executable_comments
from qwed.engines.sql.notes import Context, Notes
from qwed.engines.sql.rules import SqlRules
from qwed.engines.sql.schema import UnreadableSchema, read_schema
from qwed.engines.sql.sql_trees import Unparsed, parse
from qwed.engines.sql.statement_walk import read_statement
from qwed.engines.sql.truncation import check_comments
from qwed.engines.sql.verdict import READS, SqlProblem, SqlVerdict, StatementKind

_ANY_DIALECT: Final = "any"


def inspect_named(text: str, dialect: str | None, rules: SqlRules) -> SqlVerdict:
    """As `inspect`, for a dialect by any of its names; a name that is not known fails."""
    known = dialect_named(dialect) if dialect else None
    if dialect and known is None:
        message = f"the dialect {dialect[:40]!r} is not known"
        problem = SqlProblem("dialect", message, dialect[:80], Failure.MALFORMED, Risk.CRITICAL)
        return SqlVerdict(dialect[:40], (), Risk.CRITICAL, (problem,))
    return inspect(text, known, rules)


def inspect(text: str, dialect: str | None, rules: SqlRules, schema: Any = None) -> SqlVerdict:
    """The verdict on a text in a declared dialect, or in the first of the union that parses it."""
    try:
        known = read_schema(schema) if schema is not None else None
    except UnreadableSchema as error:
        verdict = inspect(text, dialect, rules)
        problem = SqlProblem("schema", str(error), str(schema)[:80], None, Risk.LOW)
        return msgspec.structs.replace(verdict, problems=(*verdict.problems, problem), is_read=False)
    context = Context(text, rules, dialect, known)
    verdict = _inspect_in(context, dialect) if dialect else _inspect_in_union(context)
    executable = with_executable_comments(text)
    if executable is not None:
        verdict = _with_hidden(
            verdict, _inspect_in(msgspec.structs.replace(context, text=executable), "mysql")
        )
    for other in _other_readings(text, dialect, verdict, rules):
        verdict = _with_worse(verdict, _inspect_begun(context, other))
    return verdict


def _other_readings(text: str, dialect: str | None, verdict: SqlVerdict, rules: SqlRules) -> Iterator[str]:
    """The dialects that may split the text elsewhere: only the operator's word tells which server runs it."""
    theirs = dialect_named(rules.default_dialect) if rules.default_dialect else None
    if theirs is not None:
        if theirs != dialect:
            yield theirs
    elif _SPLIT_DIFFERENTLY.search(text):
        yield from (each for each in _FAMILIES if each not in (dialect, verdict.dialect))


def _with_hidden(verdict: SqlVerdict, hidden: SqlVerdict) -> SqlVerdict:
    """Code in a comment that MySQL runs: where it can't be read, nobody knows what runs."""
    if hidden.failure is not Failure.MALFORMED:
        return _with_worse(verdict, hidden)
    message = "a comment that MySQL runs holds what can't be read"
    problem = SqlProblem("hidden_code", message, hidden.problems[0].node, Failure.FORBIDDEN, Risk.CRITICAL)
    return msgspec.structs.replace(
        verdict, problems=(*verdict.problems, problem), risk=Risk.CRITICAL, is_read=False
    )


def _inspect_in_union(context: Context) -> SqlVerdict:
    dialects = UNION if len(context.text) <= MAX_LENGTH_FOR_RETRY else UNION[:1]
    first: Unparsed | None = None
    for dialect in dialects:
        statements = parse(context.text, dialect)
        if not isinstance(statements, Unparsed):
            return _verdict(statements, Notes(context, dialect))
        first = first or statements
        if statements.beyond_bounds:
            break
    assert first is not None
    return _report_unparsed(first, _ANY_DIALECT)


def _inspect_in(context: Context, dialect: str) -> SqlVerdict:
    statements = parse(context.text, dialect)
    if isinstance(statements, Unparsed):
        return _report_unparsed(statements, dialect)
    return _verdict(statements, Notes(context, dialect))


def _inspect_begun(context: Context, dialect: str) -> SqlVerdict:
    """As `_inspect_in`; MySQL runs the statements before one that it can't read."""
    verdict = _inspect_in(context, dialect)
    if dialect != "mysql" or verdict.failure is not Failure.MALFORMED:
        return verdict
    blanked = blank_out(context.text, dialect)
    ends = [match.start() for match in islice(re.finditer(";", blanked), _MAX_BEGUN)]
    for end in reversed(ends):
        begun = _inspect_in(msgspec.structs.replace(context, text=context.text[:end]), dialect)
        if begun.failure is not Failure.MALFORMED:
            return begun
    return verdict


_MAX_BEGUN: Final = 8
# Where a string, a name or a comment ends is read in one of these ways.
_FAMILIES: Final = ("mysql", "postgres", "tsql")
# Comments, escapes and quotation marks that only some of them have.
_SPLIT_DIFFERENTLY: Final = re.compile(
    r"""#|\\['"]|@@|--\S|\r(?!\n)|\$\w{0,60}\$|/\*(?:[^*/]|\*(?!/)|/(?!\*))*/\*|\[[^\[\]'"]*+['"]"""
)


def _with_worse(verdict: SqlVerdict, other: SqlVerdict) -> SqlVerdict:
    """The verdict, and what the other reading of the same text adds to it."""
    if other.failure is Failure.MALFORMED:
        return verdict
    added = [problem for problem in other.problems if problem.failure is not Failure.INCORRECT]
    statements = tuple(item for item in other.statements if item.kind not in verdict.kinds)
    return msgspec.structs.replace(
        verdict,
        statements=(*verdict.statements, *statements),
        risk=max(verdict.risk, other.risk),
        problems=tuple(dict.fromkeys((*verdict.problems, *added))),
        is_read=verdict.is_read and other.is_read,
    )


def _report_unparsed(unparsed: Unparsed, dialect: str) -> SqlVerdict:
    if unparsed.beyond_bounds:
        message, failure = f"too large to decide: {unparsed.why}", None
        problem = SqlProblem("bounds", message, unparsed.where, failure, Risk.CRITICAL)
    else:
        problem = SqlProblem("parse", unparsed.why, unparsed.where, Failure.MALFORMED, Risk.CRITICAL)
    return SqlVerdict(dialect, (), Risk.CRITICAL, (problem,))


def _verdict(statements: list[exp.Expr], notes: Notes) -> SqlVerdict:
    text = notes.context.text
    if not statements:
        notes.malformed("statement", "there is no statement in it", text)
    for statement in statements:
        read_statement(statement, notes, text, alone=len(statements) == 1, depth=0)
    check_comments(text, notes)
    _check_stacking(statements, notes)
    problems = tuple(notes.problems.values())
    is_read = len(statements) == 1 and not problems and all(item.kind in READS for item in notes.statements)
    return SqlVerdict(
        notes.dialect,
        tuple(notes.statements),
        notes.risk,
        problems,
        tuple(notes.warnings.values()),
        tuple(notes.tables),
        is_read,
    )


def _check_stacking(statements: list[exp.Expr], notes: Notes) -> None:
    if len(statements) < 2:
        return
    notes.raise_risk(Risk.CRITICAL)
    for statement in notes.statements:
        if statement.kind not in READS and statement.kind is not StatementKind.TRANSACTION:
            message = f"a statement that does more than read ({statement.kind}) is stacked with others"
            notes.forbidden("stacked_write", message, statement.text)
            return
