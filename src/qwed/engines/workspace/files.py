"""A file of a project that is read or written: where it lies, and what a written script would do."""

import re
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any, Final

from qwed.domain.actions import Action
from qwed.domain.findings import Failure, Finding, Status, uncertain
from qwed.domain.registry import WORKSPACE
from qwed.domain.risk import Risk
from qwed.engines.code import places
from qwed.engines.code.inspect import JAVASCRIPT, PYTHON, SHELL, inspect_code
from qwed.engines.code.shell.project import Project
from qwed.engines.code.shell.reach import holds_agent_settings
from qwed.engines.sensitive_places import find_credentials

_PATHS: Final = ("path", "file_path", "notebook_path", "paths")
_CONTENTS: Final = ("content", "new", "source")
_MAX_PATHS: Final = 100
_MAX_PATH: Final = 4_096
_READS: Final = frozenset({"file_read", "read_file", "file_list", "file_search"})
_LANGUAGES: Final = {
    **dict.fromkeys((".sh", ".bash", ".zsh", ".command"), SHELL),
    **dict.fromkeys((".py", ".pyw"), PYTHON),
    **dict.fromkeys((".js", ".mjs", ".cjs"), JAVASCRIPT),
}
_INTERPRETER: Final = re.compile(r"#!\s?\S*?(?:/env\s+(?:-S\s+)?)?(sh|bash|zsh|dash|python|node)[\d.]*\b")
_BY_INTERPRETER: Final = {"python": PYTHON, "node": JAVASCRIPT}


def judge_file(action: Action, project: Project) -> list[Finding]:
    """One finding for each path, and for what is written there."""
    found = list(_paths(action))
    if any(not isinstance(path, str) or not path.strip() or len(path) > _MAX_PATH for path in found):
        return [_forbid("path", "a path is a text of at most 4096 characters")]
    if len(found) > _MAX_PATHS:
        return [uncertain(WORKSPACE, Risk.HIGH, f"more than {_MAX_PATHS} paths")]
    findings = []
    for path in found:
        where = _place(path, project)
        if action.type in _READS:
            findings.append(_judge_read(where))
        else:
            findings.append(_judge_written_place(where))
            findings += _judge_contents(action, where)
    return findings


def _paths(action: Action) -> Iterator[Any]:
    for name in _PATHS:
        value = action.parameters.get(name)
        if isinstance(value, list):
            yield from value
        elif value is not None:
            yield value
    if action.target is not None:
        yield action.target


def _place(path: str, project: Project) -> str:
    """The path from the root; one that lies elsewhere is absolute, or begins with `..` or `~`."""
    absolute = path if path.startswith(("/", "~")) else "/".join((project.here, path))
    if absolute.startswith("~"):
        return absolute
    normal = places.normal_path(absolute)
    if normal == project.root:
        return "."
    return normal.removeprefix(f"{project.root}/")


def _judge_read(where: str) -> Finding:
    if places.is_sensitive(where):
        return _forbid("reads-sensitive-file", f"{_show(where)} holds credentials")
    if places.is_local_secret(where):
        return _pass(Risk.HIGH, f"{_show(where)} is a secret of the project")
    if places.leaves_working_tree(where):
        return _pass(Risk.MEDIUM, f"{_show(where)} is outside the project")
    return _pass(Risk.LOW, "a file of the project")


def _judge_written_place(where: str) -> Finding:
    if "\x00" in where:
        return _forbid("path", "the path holds a null character")
    if holds_agent_settings(where):
        return _forbid("disables-protection", f"{_show(where)} says which hooks an agent has")
    if places.is_persistent(where):
        return _forbid("persistence", f"{_show(where)} is run later by something else")
    if places.is_sensitive(where) or find_credentials(where.lower().split("/")) is not None:
        return _forbid("writes-sensitive-file", f"{_show(where)} holds credentials or keys")
    if places.is_system(where) and not where.startswith(("/home/", "/Users/")):
        return _forbid("writes-system-file", f"{_show(where)} belongs to the machine")
    if places.leaves_working_tree(where):
        return _pass(Risk.HIGH, f"{_show(where)} is outside the project")
    return _pass(Risk.LOW, "a file of the project")


def _judge_contents(action: Action, where: str) -> list[Finding]:
    """A script that would do harm when it is run waits for a person; most files are no scripts."""
    findings = []
    for text in _contents(action):
        language = _language_of(where, text)
        if language is None:
            continue
        verdict = inspect_code(language, text)
        harm = next(iter(verdict.harms), None)
        if harm is not None:
            reason = f"the {language} in {_show(where)}, line {harm.line}: {harm.rule}: {harm.text}"
            findings.append(uncertain(WORKSPACE, Risk.HIGH, reason, rule=harm.rule))
        elif any(problem.rule == "too-large" for problem in verdict.problems):
            reason = f"the {language} in {_show(where)} is too long to be read"
            findings.append(uncertain(WORKSPACE, Risk.HIGH, reason))
    return findings


def _contents(action: Action) -> Iterator[str]:
    values = [action.parameters.get(name) for name in _CONTENTS]
    edits = action.parameters.get("edits")
    if isinstance(edits, list):
        values += [edit.get("new") for edit in edits if isinstance(edit, dict)]
    yield from (value for value in values if isinstance(value, str))


def _language_of(where: str, text: str) -> str | None:
    interpreter = _INTERPRETER.match(text)
    if interpreter is not None:
        return _BY_INTERPRETER.get(interpreter[1], SHELL)
    return _LANGUAGES.get(PurePosixPath(where.lower()).suffix)


def _show(where: str) -> str:
    return repr(where[:120])


def _pass(risk: Risk, reason: str) -> Finding:
    return Finding(Status.VERIFIED, risk, WORKSPACE, reason, checks_passed=("place",))


def _forbid(rule: str, reason: str) -> Finding:
    return Finding(
        Status.FAILED,
        Risk.CRITICAL,
        WORKSPACE,
        f"{rule}: {reason}",
        failure=Failure.FORBIDDEN,
        checks_failed=(rule,),
    )
