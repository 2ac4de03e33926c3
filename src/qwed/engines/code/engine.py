"""The code engine: an action's program text, inspected, as a finding."""

from typing import Any, Final

from qwed.domain.actions import Action
from qwed.domain.findings import Failure, Finding, Status, uncertain
from qwed.domain.registry import CODE
from qwed.domain.risk import Risk
from qwed.engines.code.inspect import JAVASCRIPT, PYTHON, SHELL, inspect_code
from qwed.engines.code.verdict import CodeVerdict, Problem

_LANGUAGES: Final = {
    "python": PYTHON,
    "python3": PYTHON,
    "py": PYTHON,
    "shell": SHELL,
    "bash": SHELL,
    "sh": SHELL,
    "zsh": SHELL,
    "javascript": JAVASCRIPT,
    "js": JAVASCRIPT,
    "node": JAVASCRIPT,
    "nodejs": JAVASCRIPT,
}
# This much ends within a few milliseconds; the parsers of shell and JavaScript slow down on garbage.
_QUICK_BYTES: Final = {PYTHON: 4096, SHELL: 1024, JAVASCRIPT: 1024}
_QUICK_LOOPS: Final = 12


class CodeEngine:
    """VERIFIED: parsed completely, and nothing in it reaches a forbidden effect."""

    name: Final = CODE

    def is_quick(self, action: Action) -> bool:
        language = _language(action)
        text = "".join(_texts(action))
        return language is None or (
            len(text) <= _QUICK_BYTES[language] and text.count("for ") <= _QUICK_LOOPS
        )

    def verify(self, action: Action) -> Finding:
        language = _language(action)
        if language is None:
            return uncertain(CODE, Risk.CRITICAL, "no inspector for the language that is named")
        texts = [text for text in _texts(action) if text.strip()]
        if not texts:
            return uncertain(CODE, Risk.CRITICAL, "there is no code to inspect")
        findings = [_finding(inspect_code(language, text)) for text in texts]
        return max(findings, key=lambda finding: _GRAVITY[finding.status])


def _language(action: Action) -> str | None:
    named = action.parameters.get("language", PYTHON)
    return _LANGUAGES.get(named.strip().lower()) if isinstance(named, str) else None


# Parameters that are programs too, whatever the caller's tool calls them.
_PROGRAMS: Final = ("code", "script", "source", "program", "snippet", "command", "cmd")


def _texts(action: Action) -> list[str]:
    named = [action.parameters.get(key) for key in _PROGRAMS]
    return [text for text in (action.code, action.query, *named) if isinstance(text, str)]


_GRAVITY: Final = {Status.VERIFIED: 0, Status.CORRECTED: 1, Status.UNCERTAIN: 2, Status.FAILED: 3}


def _finding(verdict: CodeVerdict) -> Finding:
    status = verdict.status
    return Finding(
        status,
        Risk.MEDIUM if verdict.pure and status is Status.VERIFIED else Risk.CRITICAL,
        CODE,
        _reason(verdict),
        _evidence(verdict),
        failure=_failure(verdict),
        checks_passed=_passed(verdict),
        checks_failed=_failed(verdict),
    )


def _failure(verdict: CodeVerdict) -> Failure | None:
    if verdict.harms:
        return Failure.FORBIDDEN
    return Failure.MALFORMED if verdict.malformed is not None else None


def _reason(verdict: CodeVerdict) -> str:
    if verdict.harms:
        first = verdict.harms[0]
        return f"line {first.line}: {first.rule}: {first.text}"
    if verdict.malformed is not None:
        return f"does not parse as {verdict.language}: {verdict.malformed}"
    if verdict.doubts:
        first = verdict.doubts[0]
        return f"line {first.line}: can't be decided: {first.rule}: {first.text}"
    return f"pure: {verdict.purity}" if verdict.pure else f"no forbidden effect; not pure: {verdict.purity}"


def _evidence(verdict: CodeVerdict) -> dict[str, Any]:
    evidence: dict[str, Any] = {
        "language": verdict.language,
        "problems": [_problem(problem) for problem in verdict.problems],
        "effects": list(verdict.effects),
        "pure": verdict.pure,
        "purity": verdict.purity,
    }
    if verdict.malformed is not None:
        evidence["malformed"] = verdict.malformed
    return evidence


def _problem(problem: Problem) -> dict[str, Any]:
    return {
        "rule": problem.rule,
        "line": problem.line,
        "text": problem.text,
        "flow": list(problem.flow),
        "certain": problem.certain,
    }


def _passed(verdict: CodeVerdict) -> tuple[str, ...]:
    passed = []
    if verdict.malformed is None:
        passed.append("parsed")
    if not verdict.problems and verdict.malformed is None:
        passed.append("no-forbidden-effect")
    return tuple(passed)


def _failed(verdict: CodeVerdict) -> tuple[str, ...]:
    failed = [] if verdict.malformed is None else ["parsed"]
    failed.extend(dict.fromkeys(problem.rule for problem in verdict.problems))
    return tuple(failed)
