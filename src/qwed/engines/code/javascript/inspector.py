"""JavaScript text in, verdict out."""

from typing import Final

from qwed.engines.code.javascript.evaluator import Evaluator, Nested, OutOfSteps, parse
from qwed.engines.code.javascript.rules import PURE_CALLS, Rules
from qwed.engines.code.parsing import TooSlow, error_in
from qwed.engines.code.verdict import CodeVerdict, Report, too_slow

LANGUAGE: Final = "javascript"


def inspect(text: str, depth: int, nested: Nested) -> CodeVerdict:
    source = text.encode("utf-8", "replace")
    try:
        tree = parse(source)
    except TooSlow:
        return too_slow(LANGUAGE)
    malformed = error_in(tree.root_node) if tree.root_node.has_error or "\x00" in text else None
    report = Report()
    run = Evaluator(source, report, depth, nested, Rules())
    try:
        run.eval(tree.root_node)
    except (OutOfSteps, RecursionError):
        report.doubt("too-much-to-follow", 1, "the program is larger than what one inspection follows")
    pure, purity = (False, "does not parse") if malformed is not None else _purity(run, report)
    return CodeVerdict(LANGUAGE, report.problems, tuple(sorted(report.effects)), pure, purity, malformed)


def _purity(run: Evaluator, report: Report) -> tuple[bool, str]:
    if report.problems:
        return False, "has problems"
    if report.effects:
        return False, "effects: " + ", ".join(sorted(report.effects))
    if run.unbounded:
        return False, run.unbounded
    own = {path for path in run.calls if path.startswith("function ")}
    if own:
        return False, "calls its own functions, whose recursion is not bounded here"
    unknown = next((path for path in sorted(run.calls) if path == "?" or not PURE_CALLS.match(path)), None)
    if unknown is not None:
        return False, f"calls {unknown}, of which nothing is known"
    return (
        True,
        "no input or output but the console, no dynamic execution, loops over counters and collections",
    )
