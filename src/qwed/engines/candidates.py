"""What is found in a text that nobody marked as a program, and that something might run all the same.

Here not parsing, an unknown command and an unknown name say nothing: most texts are not programs. Only
what is found counts: a forbidden effect, a complete statement that does more than read, a known command
with an effect.
"""

import functools
import importlib
import re
from collections.abc import Iterable
from typing import Any, Final

import msgspec

from qwed.domain.findings import Failure, Finding, Status, uncertain
from qwed.domain.risk import Risk
from qwed.domain.skeleton import without_invisible
from qwed.domain.texts import MAX_BYTES, MAX_TEXTS, Joined, Text
from qwed.engines.may_act import may_act
from qwed.engines.windows import find_windows

MAX_CANDIDATE: Final = 65_536
_CACHED_LENGTH: Final = 512
_CACHE_SIZE: Final = 4_096
_MAX_SHOWN: Final = 10
_READS_FIRST: Final = re.compile(r"[\s(;]*(?:select|with|values|table|explain|describe|show)\b", re.I)


class FoundEffect(msgspec.Struct, frozen=True):
    """FAILED: it is forbidden; VERIFIED: it acts, at its risk; UNCERTAIN: too much to read."""

    language: str
    rule: str
    reason: str
    status: Status
    risk: Risk = Risk.CRITICAL
    where: str = ""

    def to_evidence(self) -> dict[str, str]:
        return {
            "where": self.where,
            "language": self.language,
            "rule": self.rule,
            "reason": self.reason,
            "risk": self.risk.wire,
        }


def find_in_candidates(
    texts: Iterable[Text],
    joined: Iterable[Joined] = (),
    dialect: str | None = None,
    *,
    in_database: bool = False,
) -> tuple[FoundEffect, ...]:
    """All that is found in these texts, each at its place; those of a database's action may be parts of its
    statement."""
    texts = tuple(texts)
    found = [(text.where, find_in(text.value)) for text in texts]
    if in_database:
        found += [(text.where, _find_part(text, dialect)) for text in texts]
    for each in joined:
        found.append((each.where, find_in(each.command)))
        if each.lines is not None:
            found.append((each.where, find_in(each.lines)))
    return tuple(msgspec.structs.replace(item, where=where) for where, item in found if item is not None)


def find_in(text: str) -> FoundEffect | None:
    """The worst that one text does, in whatever language, with its signs that nobody sees and without."""
    found = _find_as_written(text)
    if text.isascii() or (plain := without_invisible(text)) == text:
        return found
    each = [item for item in (found, _find_as_written(plain)) if item is not None]
    return max(each, key=lambda item: (item.status.gravity, item.risk), default=None)


def _find_as_written(text: str) -> FoundEffect | None:
    text = _without_client(text.lstrip("\ufeff"))
    return _find_cached(text) if len(text) <= _CACHED_LENGTH else _find(text)


# What the clients of databases hand to a shell: `\\! ls`, `.shell ls`.
_CLIENT_SHELL: Final = re.compile(r"\s*(?:\\!|\.(?:shell|system)\b)\s*")


def _without_client(text: str) -> str:
    begins = _CLIENT_SHELL.match(text)
    return text if begins is None else text[begins.end() :]


def _find_part(text: Text, dialect: str | None) -> FoundEffect | None:
    part: FoundEffect | None = _module("sql.fragments").find_in_fragment(text.value, text.slot, dialect)
    return part


def _find(text: str) -> FoundEffect | None:
    if not may_act(text):
        return None
    if len(text) > MAX_CANDIDATE:
        reason = f"longer than {MAX_CANDIDATE} characters: it may hold a program"
        return FoundEffect("any", "too-large", reason, Status.UNCERTAIN)
    readings = (_find_sql(text), _find_program(text), _find_windows(text))
    found = [each for each in readings if each is not None]
    if found and _ASKS_WHAT_IT_MEANS.fullmatch(text):
        # `rm -rf meaning`: what is forbidden stays so, whatever is asked about it.
        found = [each for each in found if each.status is Status.FAILED]
    return max(found, key=lambda each: (each.status.gravity, each.risk), default=None)


# A command, options and numbers, and nothing that it could act on but a word of whoever asks about it.
_ASKS_WHAT_IT_MEANS: Final = re.compile(
    r"[A-Za-z]{1,20}(?:\s-{1,2}[a-z][\w-]{0,20}|\s-?\d{1,5}){0,4}\s(?:meaning|explained|syntax|vs\.?\s\d{1,5})\??",
    re.I,
)

_find_cached = functools.lru_cache(_CACHE_SIZE)(_find)


def _find_sql(text: str) -> FoundEffect | None:
    completeness = _module("sql.completeness")
    verbs = completeness.complete_statements(text)
    if not verbs and not _READS_FIRST.match(text):
        return None
    verdict = _module("sql").inspect_sql(text)
    broken = {problem.failure for problem in verdict.problems}
    unread = next((item for item in verdict.problems if item.rule == "bounds"), None)
    if unread is not None and Failure.FORBIDDEN not in broken:
        return (
            FoundEffect("sql", "bounds", unread.message, Status.UNCERTAIN) if _is_query(text, verbs) else None
        )
    if Failure.MALFORMED in broken:
        return _statement(verbs[0], Risk.CRITICAL) if verbs else None
    forbidden = next((item for item in verdict.problems if item.failure is Failure.FORBIDDEN), None)
    if forbidden is not None:
        return FoundEffect("sql", forbidden.rule, forbidden.message, Status.FAILED)
    acting = [item.kind.value for item in verdict.statements if item.kind not in _list_ignored_kinds()]
    # A SELECT may move a sequence, take a lock or send a notice: it does more than read.
    acting += [warning.message for warning in verdict.warnings if warning.rule == "side_effect"]
    if verbs or acting:
        return _statement((verbs or acting)[0], max(verdict.risk, Risk.HIGH))
    return None


def _is_query(text: str, verbs: tuple[str, ...]) -> bool:
    """Whether it begins as only a statement does: `with` and `show` alone are everyday words."""
    return bool(verbs) or _QUERY.match(text) is not None


_QUERY: Final = re.compile(
    r"[\s(;]*(?:select\b|values\s*\(|explain\s+\w|with\s.{1,200}?\bas\s*(?:(?:not\s+)?materialized\s*)?\()",
    re.I | re.S,
)


@functools.cache
def _list_ignored_kinds() -> frozenset[Any]:
    verdict = _module("sql.verdict")
    return frozenset({*verdict.READS, verdict.StatementKind.LOCKING_READ, verdict.StatementKind.TRANSACTION})


def _statement(verb: str, risk: Risk) -> FoundEffect:
    return FoundEffect(
        "sql", "statement", f"a complete statement that does more than read: {verb}", Status.VERIFIED, risk
    )


def _find_program(text: str) -> FoundEffect | None:
    verdict = _module("code.readings").find_in_program(text)
    if verdict is None:
        return None
    if verdict.harms:
        first = verdict.harms[0]
        return FoundEffect(verdict.language, first.rule, f"line {first.line}: {first.text}", Status.FAILED)
    if verdict.acts:
        effects = ", ".join(verdict.acts)
        return FoundEffect(
            verdict.language, "acts", f"a known command with an effect: {effects}", Status.VERIFIED
        )
    doubt = verdict.doubts[0]
    return FoundEffect(verdict.language, doubt.rule, doubt.text, Status.UNCERTAIN)


def _find_windows(text: str) -> FoundEffect | None:
    command = find_windows(text)
    if command is None:
        return None
    return FoundEffect("windows", "acts", f"a command of Windows with an effect: {command}", Status.VERIFIED)


@functools.cache
def _module(name: str) -> Any:
    """The inspectors are heavy, and most candidates never need one."""
    return importlib.import_module(f"qwed.engines.{name}")


_FAILURES: Final = (Failure.INCORRECT, Failure.MALFORMED, Failure.FORBIDDEN)


def join_findings(findings: Iterable[Finding]) -> Finding:
    """The worst status and, apart from it, the highest risk; the reason is the worst one's."""
    each = list(findings)
    worst = max(each, key=lambda finding: (_gravity(finding), finding.risk))
    return msgspec.structs.replace(
        worst,
        risk=max(finding.risk for finding in each),
        checks_passed=() if worst.status is Status.FAILED else worst.checks_passed,
    )


def _gravity(finding: Finding) -> tuple[int, int]:
    failure = -1 if finding.failure is None else _FAILURES.index(finding.failure)
    return finding.status.gravity, failure


def add_found(finding: Finding, found: tuple[FoundEffect, ...]) -> Finding:
    """The finding about what runs, tightened by what was found beside it."""
    if not found:
        return finding
    worst = max(found, key=lambda each: (each.status.gravity, each.risk))
    evidence = {**finding.evidence, "found_elsewhere": [each.to_evidence() for each in found[:_MAX_SHOWN]]}
    risk = max(finding.risk, *(each.risk for each in found))
    is_worse = worst.status.gravity > finding.status.gravity
    is_harm = worst.status is Status.FAILED and finding.failure is not Failure.FORBIDDEN
    if not is_worse and not is_harm:
        return msgspec.structs.replace(finding, risk=risk, evidence=evidence)
    return Finding(
        worst.status,
        risk,
        finding.engine,
        f"{worst.where}: {worst.reason}",
        evidence,
        failure=Failure.FORBIDDEN if worst.status is Status.FAILED else None,
        checks_passed=finding.checks_passed,
        checks_failed=(*finding.checks_failed, worst.rule),
    )


def too_many_texts(engine: str) -> Finding:
    reason = f"more than {MAX_TEXTS} texts or {MAX_BYTES // 1024} kB of them: not all were looked at"
    return uncertain(engine, Risk.CRITICAL, reason, limit="texts")
