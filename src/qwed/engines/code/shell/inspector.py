"""Shell text in, verdict out."""

from typing import Final

from qwed.engines.code.parsing import TooSlow, error_in
from qwed.engines.code.shell import words
from qwed.engines.code.shell.commands import PURE_COMMANDS, Tables
from qwed.engines.code.shell.runner import Nested, OutOfSteps, Runner, parsed
from qwed.engines.code.verdict import CodeVerdict, Report, too_slow

LANGUAGE: Final = "shell"


def inspect(text: str, depth: int, nested: Nested) -> CodeVerdict:
    if "\x00" in text:
        return CodeVerdict(LANGUAGE, malformed="line 1: a null character", purity="does not parse")
    # The marks inside evaluated words must not come from outside.
    try:
        source, tree = parsed(words.MARKS.sub("\ufffd", text.replace("\r\n", "\n")))
    except TooSlow:
        return too_slow(LANGUAGE)
    malformed = error_in(tree.root_node) if tree.root_node.has_error else None
    report = Report()
    run = Runner(source, report, depth, nested, Tables())
    try:
        run.run(tree.root_node)
    except (OutOfSteps, RecursionError, TooSlow):
        report.doubt("too-much-to-follow", 1, "the script is larger than what one inspection follows")
    pure, purity = (False, "does not parse") if malformed is not None else _purity(run, report)
    return CodeVerdict(LANGUAGE, report.problems, tuple(sorted(report.effects)), pure, purity, malformed)


def _purity(run: Runner, report: Report) -> tuple[bool, str]:
    if report.problems:
        return False, "has problems"
    if report.effects:
        return False, "effects: " + ", ".join(sorted(report.effects))
    impure = next((name for name in run.commands if name not in PURE_COMMANDS), None)
    if impure is not None:
        return False, f"runs {impure}"
    return True, "prints and tests known words only, and every loop is over a list"
