"""From what was found in the SQL to the engine's answer."""

import re
from collections.abc import Iterator
from typing import Any, Final
from urllib.parse import unquote

import msgspec
from sqlglot import exp

from qwed.domain.findings import Failure, Finding, Status
from qwed.domain.registry import SQL
from qwed.domain.risk import Risk
from qwed.engines.sql.dialects import dialect_named
from qwed.engines.sql.inspection import inspect
from qwed.engines.sql.request import SqlRequest
from qwed.engines.sql.rules import SqlRules
from qwed.engines.sql.sql_trees import parse
from qwed.engines.sql.verdict import SqlProblem, SqlVerdict

# A check and the rules that break it.
CHECKS: Final[dict[str, frozenset[str]]] = {
    "parsed": frozenset(
        {"parse", "bounds", "statement", "command", "construct", "dialect", "unknown_function"}
    ),
    "no_stacked_writes": frozenset({"stacked_write"}),
    "no_injection": frozenset(
        {"tautology", "constant_condition", "union_smuggling", "comment_truncation", "comment_as_blank"}
        | {"blind_probe", "error_probe", "time_probe", "obfuscation", "hidden_code", "injected_value"}
    ),
    "no_outside_access": frozenset({"file_access", "network_access", "command_execution", "administration"}),
    "no_system_catalogs": frozenset({"system_catalog"}),
    "no_sensitive_columns": frozenset({"forbidden_column"}),
    "matches_schema": frozenset(
        {"schema", "unknown_table", "unknown_column", "ambiguous_column", "type_mismatch", "column_count"}
    ),
    "no_cartesian_joins": frozenset({"cartesian_join"}),
}
_ALWAYS: Final = ("parsed", "no_stacked_writes", "no_injection", "no_outside_access", "no_system_catalogs")
_MAX_VALUE_LENGTH: Final = 500


class SqlDecision(msgspec.Struct, frozen=True):
    finding: Finding
    corrected_text: str | None = None


def decide(request: SqlRequest, rules: SqlRules) -> SqlDecision:
    if not any(text.strip() for text in request.texts):
        return SqlDecision(_refuse("statement", "there is no SQL to verify", "", Failure.MALFORMED))
    named = request.dialect or rules.default_dialect
    dialect = dialect_named(named) if named else None
    if named and dialect is None:
        return SqlDecision(
            _refuse("dialect", f"the dialect {named[:40]!r} is not known", named, Failure.MALFORMED)
        )
    rules = _tighten(rules, request)
    verdict = _combine([inspect(text, dialect, rules, request.schema) for text in request.texts])
    injected = [_find_injection(value, dialect, rules) for value in request.unbound]
    injected += [_find_injection(each, dialect, rules, _CONDITION_PLACES) for each in request.conditions]
    verdict = _with_problems(verdict, [problem for problem in injected if problem is not None])
    finding = _finding(verdict, request, rules)
    if finding.status is Status.VERIFIED and rules.correct_missing_limit is not None:
        return _with_limit(finding, verdict, request, rules.correct_missing_limit)
    return SqlDecision(finding)


def _tighten(rules: SqlRules, request: SqlRequest) -> SqlRules:
    """An action may ask for more strictness than the deployment, never for less."""
    if not request.forbidden_columns and not request.no_sensitive_columns:
        return rules
    return msgspec.structs.replace(
        rules,
        forbidden_columns=(*rules.forbidden_columns, *request.forbidden_columns),
        no_sensitive_columns=rules.no_sensitive_columns or request.no_sensitive_columns,
    )


def _combine(verdicts: list[SqlVerdict]) -> SqlVerdict:
    if len(verdicts) == 1:
        return verdicts[0]
    return SqlVerdict(
        verdicts[0].dialect,
        tuple(statement for verdict in verdicts for statement in verdict.statements),
        # Several texts in one action are several statements, wherever they stand.
        Risk.CRITICAL,
        tuple(problem for verdict in verdicts for problem in verdict.problems),
        tuple(warning for verdict in verdicts for warning in verdict.warnings),
        tuple(dict.fromkeys(table for verdict in verdicts for table in verdict.tables)),
    )


def _with_problems(verdict: SqlVerdict, found: list[SqlProblem]) -> SqlVerdict:
    """A string that nothing binds may end up inside the text: it must not change what the text does."""
    if not found:
        return verdict
    return msgspec.structs.replace(
        verdict, problems=(*verdict.problems, *found), risk=Risk.CRITICAL, is_read=False
    )


def _find_injection(
    value: str, dialect: str | None, rules: SqlRules, places: tuple[str, ...] | None = None
) -> SqlProblem | None:
    """`places` is where a condition belongs; a mere value may be meant for several."""
    if value.isalnum() or len(value) > _MAX_VALUE_LENGTH:
        return None
    for spelling in _spellings(value):
        for template in places or _places_it_leaves(spelling):
            verdict = inspect(template.replace("{}", spelling), dialect, rules)
            for problem in verdict.problems:
                if problem.failure is Failure.FORBIDDEN and _is_injection(problem.rule, spelling):
                    return _report_injected_value(value, problem.rule)
        if _LEAVES_THE_QUOTES.search(spelling):
            return _report_injected_value(value, "outside the quotation marks")
    return None


def _places_it_leaves(value: str) -> tuple[str, ...]:
    """What neither ends a quotation nor goes on after a value stays where it stands: `n = 1`."""
    if _QUOTES_OR_ESCAPES.search(value):
        return _PLACES
    return _UNQUOTED_PLACES if _GOES_ON.search(value) and not _CHOICE.fullmatch(value) else ()


_QUOTES_OR_ESCAPES: Final = re.compile(r"['\"`\\]")
_GOES_ON: Final = re.compile(
    r"[\w)][\s)+(/*]*(?:(?<!\w)(?:or|and|xor|union|intersect|except|having|order|group|limit|procedure|into|in|is|like"
    r"|rlike|regexp|between|not|div|mod|where|from|select|case|exists|waitfor)(?=[\s(/*+~!@-])|\|\||&&|;|--|\#|/\*)"
    # A value of its own that runs something: a call with plain values, or a query.
    r"|\A\s*[\w.]+\s*\((?:[\d.,\s]|[a-z]\w*\()*\)|\A[\s(]*(?:select|case|not|exists)\b|\A\s*[);]|\A\s*(?:--|/\*)",
    re.IGNORECASE,
)
# `1 or 2` is everyday text; `1 or 1` is not.
_CHOICE: Final = re.compile(r"\s*(\d+)\s+(?:or|and)\s+(?!\1\s*\Z)\d+\s*", re.IGNORECASE)


def _is_injection(rule: str, value: str) -> bool:
    """`Lamp #4` holds no comment, unless something before it ends what it stands in."""
    if rule == "comment_truncation" and _COMMENT_SIGNS.search(value) is None:
        return _ENDS_A_VALUE.search(value) is not None
    return rule != "system_catalog"


_COMMENT_SIGNS: Final = re.compile(r"--|/\*")
_ENDS_A_VALUE: Final = re.compile(r"['\"`)\\]|\A\s*-?\d+\s*#")


def _report_injected_value(value: str, why: str) -> SqlProblem:
    message = f"a value that nothing binds would change the statement ({why})"
    return SqlProblem("injected_value", message, value[:200], Failure.FORBIDDEN, Risk.CRITICAL)


_UNQUOTED_PLACES: Final = ("SELECT a FROM t WHERE b = {}", "SELECT a FROM t WHERE (b = {})")
_CONDITION_PLACES: Final = ("SELECT a FROM t WHERE ({})",)
_PLACES: Final = (
    "SELECT a FROM t WHERE b = '{}'",
    "SELECT a FROM t WHERE (b = '{}')",
    *_UNQUOTED_PLACES,
)
# Valid in one database only, and nothing that follows a quotation mark in honest text.
_LEAVES_THE_QUOTES: Final = re.compile(
    r"(?:['\"]|^\s*-?\d+)[\s;)]*(?:.*\s)?(?:waitfor\s+delay\b|into\s+(?:out|dump)file\b"
    r"|procedure\s+analyse\s*\(|/\*!\d*)",
    re.IGNORECASE | re.DOTALL,
)


def _spellings(value: str) -> Iterator[str]:
    """As it is; with its open comment closed by the end of the line; percent-decoded."""
    yield value
    if value.count("/*") > value.count("*/"):
        yield value.rpartition("/*")[0] + "-- "
    if "%" in value and (decoded := unquote(value)) != value:
        yield decoded


def _finding(verdict: SqlVerdict, request: SqlRequest, rules: SqlRules) -> Finding:
    broken = {problem.rule for problem in verdict.problems}
    checks = _checks(request, rules)
    failed = tuple(name for name, breaking in CHECKS.items() if breaking & broken) if broken else ()
    passed = tuple(name for name in checks if name not in failed) if failed else tuple(checks)
    failure = verdict.failure
    if failure is not None:
        status = Status.FAILED
        first = next(problem for problem in verdict.problems if problem.failure is failure)
        reason = first.message
    elif verdict.problems:
        status, reason = Status.UNCERTAIN, verdict.problems[0].message
    else:
        status, reason = Status.VERIFIED, _describe(verdict)
    return Finding(
        status,
        verdict.risk,
        SQL,
        reason,
        _evidence(verdict, request),
        failure=failure,
        checks_passed=passed,
        checks_failed=failed,
    )


def _checks(request: SqlRequest, rules: SqlRules) -> list[str]:
    checks = [*_ALWAYS]
    if rules.forbidden_columns or rules.no_sensitive_columns:
        checks.append("no_sensitive_columns")
    if request.schema is not None:
        checks.append("matches_schema")
    if rules.reject_cartesian_joins:
        checks.append("no_cartesian_joins")
    return checks


def _describe(verdict: SqlVerdict) -> str:
    kinds = ", ".join(dict.fromkeys(kind.value for kind in verdict.kinds))
    return f"understood completely as {verdict.dialect}: {kinds}"


def _evidence(verdict: SqlVerdict, request: SqlRequest) -> dict[str, Any]:
    evidence: dict[str, Any] = {
        "dialect": verdict.dialect,
        "statements": [
            {"kind": item.kind.value, "risk": item.risk.wire, "text": item.text, "nested": item.nested}
            for item in verdict.statements
        ],
        "tables": list(verdict.tables),
    }
    if verdict.problems:
        evidence["problems"] = [_show(problem) for problem in verdict.problems]
    if verdict.warnings:
        evidence["warnings"] = [_show(problem) for problem in verdict.warnings]
    if request.bound_values:
        evidence["bound_values"] = request.bound_values
    return evidence


def _show(problem: SqlProblem) -> dict[str, str]:
    return {"rule": problem.rule, "message": problem.message, "node": problem.node}


def _refuse(rule: str, message: str, node: str, failure: Failure) -> Finding:
    problem = SqlProblem(rule, message, node[:200], failure, Risk.CRITICAL)
    evidence = {"problems": [_show(problem)]}
    return Finding(
        Status.FAILED, Risk.CRITICAL, SQL, message, evidence, failure=failure, checks_failed=("parsed",)
    )


def _with_limit(finding: Finding, verdict: SqlVerdict, request: SqlRequest, limit: int) -> SqlDecision:
    """The same read with a LIMIT, unless it has one or gives a single row anyway."""
    if not verdict.is_read or len(request.texts) != 1:
        return SqlDecision(finding)
    statements = parse(request.texts[0], verdict.dialect)
    query = statements[0] if isinstance(statements, list) else None
    if (
        not isinstance(query, exp.Select | exp.SetOperation)
        or query.args.get("limit")
        or _gives_one_row(query)
    ):
        return SqlDecision(finding)
    text = query.limit(limit, copy=False).sql(dialect=verdict.dialect)
    reason = f"the read has no LIMIT; it is given one of {limit}"
    corrected = msgspec.structs.replace(
        finding,
        status=Status.CORRECTED,
        reason=reason,
        evidence={**finding.evidence, "corrected_text": text},
        checks_failed=("limited",),
    )
    return SqlDecision(corrected, text)


def _gives_one_row(query: exp.Expr) -> bool:
    if query.args.get("fetch") or isinstance(query, exp.SetOperation):
        return query.args.get("fetch") is not None
    if query.args.get("from_") is None:
        return True
    return not query.args.get("group") and all(item.find(exp.AggFunc) for item in query.expressions)
