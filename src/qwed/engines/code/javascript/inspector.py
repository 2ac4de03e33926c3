"""JavaScript text in, verdict out."""

from typing import Any, Final

from qwed.engines.code.javascript.evaluator import Evaluator, Nested, ScriptTooLong, parse
from qwed.engines.code.javascript.globals import is_known
from qwed.engines.code.javascript.purity import judge_purity
from qwed.engines.code.javascript.rules import ScriptRules
from qwed.engines.code.javascript.scopes import ScriptNames
from qwed.engines.code.syntax_trees import TooSlow, error_in
from qwed.engines.code.vendor_keys import find_vendor_keys
from qwed.engines.code.verdict import CodeReport, CodeVerdict, too_slow

LANGUAGE: Final = "javascript"


_READING: Final = frozenset({"file-read", "environment-read"})


def inspect(text: str, depth: int, nested: Nested) -> CodeVerdict:
    source = text.encode("utf-8", "replace")
    try:
        tree = parse(source)
    except TooSlow:
        return too_slow(LANGUAGE)
    malformed = error_in(tree.root_node) if tree.root_node.has_error or "\x00" in text else None
    report = CodeReport()
    run = Evaluator(source, report, depth, nested, ScriptRules())
    for line in find_vendor_keys(text):
        report.harm("hard-coded-secret", line, text.splitlines()[line - 1])
    home, pure, purity = False, False, "does not parse"
    try:
        names = ScriptNames(tree.root_node, source)
        run.free = names.free
        run.eval(tree.root_node)
        report.doubt_unfollowed(text)
        if malformed is None:
            home = all(is_known(name) for name in names.free)
            pure, purity = _purity(tree.root_node, source, names, report)
    except (ScriptTooLong, RecursionError):
        report.doubt("too-much-to-follow", 1, "the program is larger than what one inspection follows")
        pure, purity = False, "not followed to its end"
    effects = tuple(sorted(report.effects))
    acts = tuple(effect for effect in effects if effect not in _READING)
    return CodeVerdict(LANGUAGE, report.problems, effects, pure, purity, malformed, home, acts)


def _purity(root: Any, source: bytes, names: ScriptNames, report: CodeReport) -> tuple[bool, str]:
    if report.problems:
        return False, "has problems"
    if report.effects:
        return False, "effects: " + ", ".join(sorted(report.effects))
    return judge_purity(root, source, names)
