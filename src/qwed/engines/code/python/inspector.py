"""Python text in, verdict out."""

import ast
import re
from typing import Final

from qwed.engines.code import places
from qwed.engines.code.python.book import RULE_BOOK
from qwed.engines.code.python.interpreter import Interpreter
from qwed.engines.code.python.machine import Nested, PythonTooLong, parse
from qwed.engines.code.python.purity import judge_purity
from qwed.engines.code.python.scopes import PythonNames
from qwed.engines.code.vendor_keys import find_vendor_keys
from qwed.engines.code.verdict import CodeProblem, CodeReport, CodeVerdict

LANGUAGE: Final = "python"
_READING: Final = frozenset({"file-read", "environment-read"})
_CODING: Final = re.compile(r"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")
_PLAIN_CODINGS: Final = frozenset(
    {"utf-8", "utf8", "ascii", "us-ascii", "latin-1", "latin1", "iso-8859-1", "utf-8-sig"}
)


def inspect(text: str, depth: int, nested: Nested) -> CodeVerdict:
    try:
        tree, rewritten = parse(text)
    except (SyntaxError, ValueError) as error:
        return CodeVerdict(LANGUAGE, malformed=_say(error), purity="does not parse")
    except (RecursionError, MemoryError):
        return _say_undecided("nested-too-deeply")
    report = CodeReport()
    home = False
    run = Interpreter(text, report, depth, nested, RULE_BOOK)
    _check_coding(text, report)
    if rewritten is not None and not rewritten.is_whole:
        report.doubt("newer-grammar", 1, "a construct of a newer grammar is read in part")
    for line in find_vendor_keys(text):
        report.harm("hard-coded-secret", line, text.splitlines()[line - 1])
    if "stratum" in text.lower() or "mining." in text:
        _check_pools(tree, report)
    try:
        run.run(tree)
        report.doubt_unfollowed(text)
        names = PythonNames(tree)
        home = names.is_home()
        pure, purity = _purity(tree, names, report) if rewritten is None else (False, "has a newer grammar")
    except PythonTooLong:
        report.doubt("too-much-to-follow", 1, "the program is larger than what one inspection follows")
        pure, purity = False, "not followed to its end"
    except RecursionError:
        report.doubt("nested-too-deeply", 1, "the program is nested too deeply to be followed")
        pure, purity = False, "not followed to its end"
    effects = tuple(sorted(report.effects))
    acts = tuple(effect for effect in effects if effect not in _READING)
    return CodeVerdict(LANGUAGE, report.problems, effects, pure, purity, home=home, acts=acts)


def _purity(tree: ast.Module, names: PythonNames, report: CodeReport) -> tuple[bool, str]:
    if report.problems:
        return False, "has problems"
    if report.effects:
        return False, "effects: " + ", ".join(sorted(report.effects))
    return judge_purity(tree, names)


def _say(error: SyntaxError | ValueError) -> str:
    if isinstance(error, SyntaxError) and error.lineno is not None:
        return f"line {error.lineno}: {error.msg}"
    return str(error)


def _say_undecided(rule: str) -> CodeVerdict:
    problem = CodeProblem(rule, 1, "the text is nested too deeply to be parsed", certain=False)
    return CodeVerdict(LANGUAGE, (problem,), purity="not inspected")


def _check_pools(tree: ast.Module, report: CodeReport) -> None:
    """The address of a mining pool, or the words that are said to one."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, (str, bytes)):
            known = node.value if isinstance(node.value, str) else node.value.decode("latin-1")
            if places.is_mining_pool(known):
                report.harm("mines-currency", node.lineno, known)


def _check_coding(text: str, report: CodeReport) -> None:
    """A declared encoding other than the one we read would make Python read another program."""
    for number, line in enumerate(text.split("\n", 2)[:2], 1):
        declared = _CODING.match(line)
        if declared and declared.group(1).lower().replace("_", "-") not in _PLAIN_CODINGS:
            report.doubt("declared-encoding", number, line)
