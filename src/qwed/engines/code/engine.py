"""The code engine: an action's program text, inspected, as a finding."""

from typing import Any, Final

from qwed.domain.actions import Action
from qwed.domain.findings import Failure, Finding, Status, uncertain
from qwed.domain.registry import CODE
from qwed.domain.risk import Risk
from qwed.domain.texts import Joined, Text
from qwed.engines.candidates import add_found, find_in_candidates, join_findings, too_many_texts
from qwed.engines.code.inspect import JAVASCRIPT, PYTHON, SHELL
from qwed.engines.code.readings import judge_program
from qwed.engines.code.rules import CodeRules
from qwed.engines.code.verdict import CodeProblem, CodeVerdict
from qwed.engines.effort import is_small
from qwed.engines.slots import RUNS_CODE, sort_texts

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
# A word or sign costs up to 50 µs; where no language is declared, each is read in several.
_QUICK_TOKENS: Final = 40
_QUICK_TOKENS_UNSAID: Final = 32


class _Unsaid:
    """The action names no language; to name one that is empty is something else."""


UNSAID: Final = _Unsaid()
_UNKNOWN: Final = "unknown"
_OWN_MEMBERS: Final = frozenset({"language"})


class CodeEngine:
    """VERIFIED: parsed completely, and nothing in it reaches a forbidden effect."""

    name: Final = CODE

    def __init__(self, rules: CodeRules | None = None) -> None:
        self._rules = rules or CodeRules()

    def is_quick(self, action: Action) -> bool:
        is_declared = "language" in action.parameters
        return is_small(action, _QUICK_TOKENS if is_declared else _QUICK_TOKENS_UNSAID)

    def verify(self, action: Action) -> Finding:
        use = sort_texts(CODE, action, self._rules.slots.get(action.type, {}), own=_OWN_MEMBERS)
        declared = action.parameters.get("language", UNSAID)
        findings = [self.judge(text, kind, declared) for text, kind in use.runs if not _is_blank(text)]
        if not findings:
            findings.append(uncertain(CODE, Risk.CRITICAL, "there is no code to inspect"))
        if not use.is_complete:
            findings.append(too_many_texts(CODE))
        return add_found(join_findings(findings), find_in_candidates(use.candidates, use.joined))

    def judge(self, text: Text | Joined, kind: str, declared: Any = UNSAID) -> Finding:
        """One text that will run: by the kind of its slot and the language that the action declares."""
        language = _read_language(declared)
        finding = _finding(_judge(text, kind, language))
        if language != _UNKNOWN:
            return finding
        return join_findings(
            (finding, uncertain(CODE, Risk.CRITICAL, "no inspector for the language that is named"))
        )


def _read_language(named: Any) -> str | None:
    """The language that the action names; None where it names none."""
    if named is UNSAID:
        return None
    return _LANGUAGES.get(named.strip().lower(), _UNKNOWN) if isinstance(named, str) else _UNKNOWN


def _is_blank(text: Text | Joined) -> bool:
    return not (text.value if isinstance(text, Text) else text.command).strip()


def _judge(text: Text | Joined, kind: str, declared: str | None) -> CodeVerdict:
    """The slot's language and the declared one are both believed; where they differ, the worse one is."""
    slot_language = None if kind == RUNS_CODE else kind
    said = {language for language in (slot_language, declared) if language not in (None, _UNKNOWN)}
    languages: list[str | None] = [*said] or [None]
    if isinstance(text, Joined):
        readings = [(text.command, SHELL), *((text.lines or "", language) for language in languages)]
    else:
        readings = [(text.value, language) for language in languages]
    return _worst([judge_program(each, language) for each, language in readings])


def _worst(verdicts: list[CodeVerdict]) -> CodeVerdict:
    """The worst of the readings at home, else of those that parse; harm counts in each."""
    if len(verdicts) == 1:
        return verdicts[0]
    parsing = [verdict for verdict in verdicts if verdict.malformed is None] or verdicts
    home = [verdict for verdict in parsing if verdict.home or verdict.pure] or parsing
    counted = [*home, *(verdict for verdict in parsing if verdict.harms)]
    return max(counted, key=lambda verdict: (verdict.status.gravity, not verdict.pure))


def _finding(verdict: CodeVerdict) -> Finding:
    status = verdict.status
    return Finding(
        status,
        Risk.MEDIUM if verdict.pure and status is Status.VERIFIED else Risk.CRITICAL,
        CODE,
        _reason(verdict),
        _evidence(verdict),
        failure=_failure(verdict),
        checks_passed=_list_passed(verdict),
        checks_failed=_list_failed(verdict),
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


def _problem(problem: CodeProblem) -> dict[str, Any]:
    return {
        "rule": problem.rule,
        "line": problem.line,
        "text": problem.text,
        "flow": list(problem.flow),
        "certain": problem.certain,
    }


def _list_passed(verdict: CodeVerdict) -> tuple[str, ...]:
    passed = []
    if verdict.malformed is None:
        passed.append("parsed")
    if not verdict.problems and verdict.malformed is None:
        passed.append("no-forbidden-effect")
    return tuple(passed)


def _list_failed(verdict: CodeVerdict) -> tuple[str, ...]:
    failed = [] if verdict.malformed is None else ["parsed"]
    failed.extend(dict.fromkeys(problem.rule for problem in verdict.problems))
    return tuple(failed)
