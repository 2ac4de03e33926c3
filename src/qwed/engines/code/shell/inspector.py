"""Shell text in, verdict out."""

from typing import Any, Final

from qwed.engines.code.shell import words
from qwed.engines.code.shell.commands import CommandTables, is_known
from qwed.engines.code.shell.harmless import find_obstacle
from qwed.engines.code.shell.project import Project
from qwed.engines.code.shell.runner import Nested, Runner, ShellTooLong
from qwed.engines.code.shell.trees import function_names, parsed
from qwed.engines.code.syntax_trees import TooSlow, error_in
from qwed.engines.code.verdict import MAX_NESTING, CodeReport, CodeVerdict, too_large, too_slow

LANGUAGE: Final = "shell"


def inspect(text: str, depth: int, nested: Nested) -> CodeVerdict:
    """A text that is shell for certain."""
    return _inspect(text, depth, nested, is_guess=False)


class _HasMoved(Exception):
    """A command changes the folder: nobody knows from where another one climbs."""


def inspect_in(text: str, project: Project, nested: Nested) -> CodeVerdict:
    """A command that runs in a project: what lies below its root is its own, by whatever path it is named."""

    def inspect_nested(language: str, inner: str, depth: int) -> CodeVerdict:
        if language != LANGUAGE or depth > MAX_NESTING:
            return nested(language, inner, depth)
        large = too_large(language, inner)
        return large or _inspect(inner, depth, inspect_nested, is_guess=False, project=project)

    try:
        return inspect_nested(LANGUAGE, text, 0)
    except _HasMoved:
        return inspect_in(text, Project(project.root), nested)


def guess(text: str, nested: Nested) -> CodeVerdict:
    """A text that may be anything: commands count where they show themselves."""
    return _inspect(text, 0, nested, is_guess=True)


def _inspect(
    text: str, depth: int, nested: Nested, *, is_guess: bool, project: Project | None = None
) -> CodeVerdict:
    if "\x00" in text:
        return CodeVerdict(LANGUAGE, malformed="line 1: a null character", purity="does not parse")
    # The marks inside evaluated words must not come from outside.
    try:
        source, tree = parsed(words.MARKS.sub("\ufffd", text.replace("\r\n", "\n")))
    except TooSlow:
        return too_slow(LANGUAGE)
    report = CodeReport()
    run = Runner(source, report, depth, nested, CommandTables())
    run.is_guess = is_guess
    if project is not None:
        run.enter(project)
    run.is_list = is_guess and _is_list(tree.root_node, source)
    run.own_functions = function_names(source, tree.root_node)
    try:
        run.run(tree.root_node)
        if run.has_moved and project is not None and project.below:
            raise _HasMoved
    except (ShellTooLong, RecursionError, TooSlow):
        report.doubt("too-much-to-follow", 1, "the script is larger than what one inspection follows")
    report.effects |= run.settled
    malformed = error_in(tree.root_node) if tree.root_node.has_error else None
    pure, purity = _purity(tree.root_node, source, report) if malformed is None else (False, "does not parse")
    return CodeVerdict(
        LANGUAGE,
        report.problems,
        tuple(sorted(report.effects)),
        pure,
        purity,
        malformed,
        home=malformed is None and not run.unresolved,
        acts=tuple(sorted(run.acts)),
        substitutes_unknown=run.substitutes_unknown,
        reaches=tuple(sorted(report.reaches.items())),
    )


_SEPARATORS: Final = (b";", b"&&", b"||")


def _is_list(root: Any, source: bytes) -> bool:
    """`reboot; true`: several commands on a line, all of them known."""
    if not any(sign in source for sign in _SEPARATORS):
        return False
    waiting, names = [root], list[str]()
    while waiting:
        node = waiting.pop()
        if node.type in ("program", "list", "pipeline"):
            waiting.extend(node.named_children)
        elif node.type == "command" and (name := node.child_by_field_name("name")) is not None:
            names.append(source[name.start_byte : name.end_byte].decode("utf-8", "replace"))
        else:
            return False
    return len(names) > 1 and all(map(is_known, names))


def _purity(root: Any, source: bytes, report: CodeReport) -> tuple[bool, str]:
    if report.problems:
        return False, "has problems"
    if report.effects:
        return False, "effects: " + ", ".join(sorted(report.effects))
    obstacle = find_obstacle(root, source)
    return (
        obstacle is None,
        obstacle or "prints and tests its own words only, and every loop is over a list",
    )
