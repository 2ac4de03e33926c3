"""The workspace engine: a command, or a file that is read or written, in a project, as a finding.

Its risk comes from what it does and where. Below the project's root: LOW. Over the network, or from an index
that everybody uses: MEDIUM. Outside the root, published, sent: HIGH. Destroying, taking rights, giving
secrets away: CRITICAL, and refused where it is certain. What is not understood is UNCERTAIN.
"""

from typing import Any, Final

from qwed.domain.actions import Action
from qwed.domain.findings import Failure, Finding, Status, uncertain
from qwed.domain.registry import WORKSPACE
from qwed.domain.risk import Risk
from qwed.domain.texts import Joined, Text
from qwed.engines.candidates import add_found, find_in_candidates, join_findings, too_many_texts
from qwed.engines.code.effects import EFFECTS, name_effects, rules_of
from qwed.engines.code.inspect import SHELL, inspect_in_project
from qwed.engines.code.shell.project import Project
from qwed.engines.code.shell.reach import FAR, INSTALLS
from qwed.engines.code.verdict import CodeProblem, CodeVerdict
from qwed.engines.effort import is_small
from qwed.engines.slots import RUNS_SHELL, sort_texts
from qwed.engines.workspace.files import judge_file

_QUICK_TOKENS: Final = 40
_OWN_MEMBERS: Final = frozenset({"cwd", "root"})
_HARMFUL: Final = frozenset(rule for effect in EFFECTS for rule in rules_of(effect, SHELL))
_MISTAKES: Final = frozenset({"destroys", "spends"})
#: `sudo` asks a person for rights; what it runs is judged like everything else.
_ASKS_FOR_RIGHTS: Final = "privilege"
_NO_PROJECT: Final = "root and cwd name no project: an absolute folder, and one in it"
_MAX_SHOWN: Final = 10


class WorkspaceEngine:
    """VERIFIED: parsed completely, every program known, and nothing in it reaches a forbidden effect."""

    name: Final = WORKSPACE

    def is_quick(self, action: Action) -> bool:
        return is_small(action, _QUICK_TOKENS)

    def verify(self, action: Action) -> Finding:
        project = _find_project(action)
        if project is None:
            return uncertain(WORKSPACE, Risk.HIGH, _NO_PROJECT)
        use = sort_texts(WORKSPACE, action, {}, own=_OWN_MEMBERS)
        findings = [_judge_command(text, project) for text, kind in use.runs if kind == RUNS_SHELL]
        findings += judge_file(action, project)
        if not findings:
            findings.append(uncertain(WORKSPACE, Risk.HIGH, "there is neither a command nor a path to judge"))
        if not use.is_complete:
            findings.append(too_many_texts(WORKSPACE))
        return add_found(join_findings(findings), find_in_candidates(use.candidates, use.joined))


def _find_project(action: Action) -> Project | None:
    """Where nobody says it, relative paths are the project's and absolute ones are not."""
    root, cwd = action.parameters.get("root"), action.parameters.get("cwd")
    if root is None and cwd is None:
        return Project("/-")
    folder = root if root is not None else cwd
    if not isinstance(folder, str) or not isinstance(cwd, str | None):
        return None
    return Project.at(folder, cwd if cwd is not None else folder)


def _judge_command(text: Text | Joined, project: Project) -> Finding:
    command = text.value if isinstance(text, Text) else text.command
    if not command.strip():
        return uncertain(WORKSPACE, Risk.HIGH, "there is no command to inspect")
    verdict = inspect_in_project(command, project)
    status, risk = _weigh(verdict)
    return Finding(
        status,
        risk,
        WORKSPACE,
        _explain(verdict, status),
        _evidence(verdict),
        failure=_failure(verdict) if status is Status.FAILED else None,
        checks_passed=("parsed",) if verdict.malformed is None else (),
        checks_failed=tuple(dict.fromkeys(problem.rule for problem in verdict.problems)),
    )


def _weigh(verdict: CodeVerdict) -> tuple[Status, Risk]:
    if any(problem.rule != _ASKS_FOR_RIGHTS for problem in verdict.harms):
        return Status.FAILED, Risk.CRITICAL
    if any(problem.rule in _HARMFUL for problem in verdict.problems):
        return Status.UNCERTAIN, Risk.CRITICAL
    reach = _risk_of_reach(verdict)
    if verdict.problems or verdict.malformed is not None:
        return Status.UNCERTAIN, max(Risk.HIGH, reach)
    return Status.VERIFIED, reach


def _failure(verdict: CodeVerdict) -> Failure | None:
    """What is aimed at others is a violation; to break something is a mistake, and only denied."""
    effects = name_effects(SHELL, verdict.harms)
    return None if set(effects) <= _MISTAKES else Failure.FORBIDDEN


def _risk_of_reach(verdict: CodeVerdict) -> Risk:
    reaches = {how_far for how_far, _ in verdict.reaches}
    if reaches & FAR:
        return Risk.HIGH
    return Risk.MEDIUM if INSTALLS in reaches or "network" in verdict.effects else Risk.LOW


def _explain(verdict: CodeVerdict, status: Status) -> str:
    problems: tuple[CodeProblem, ...] = verdict.harms or verdict.doubts
    if problems:
        first = problems[0]
        doubt = "" if status is Status.FAILED else "can't be decided: "
        return f"line {first.line}: {doubt}{first.rule}: {first.text}"
    if verdict.malformed is not None:
        return f"does not parse as shell: {verdict.malformed}"
    far = next((f"{how_far}: {command}" for how_far, command in verdict.reaches if how_far in FAR), None)
    return far or "stays in the project, and every program is known"


def _evidence(verdict: CodeVerdict) -> dict[str, Any]:
    return {
        "effects": list(verdict.effects),
        "reaches": [{"reach": how_far, "command": command} for how_far, command in verdict.reaches],
        "problems": [
            {"rule": problem.rule, "line": problem.line, "text": problem.text, "certain": problem.certain}
            for problem in verdict.problems[:_MAX_SHOWN]
        ],
    }
