"""Texts that a shell evaluates again: arithmetic, subscripts, names of variables, prompts.

`$((x))` runs what a subscript in the *value* of `x` says, and `printf -v "$name"` what one in `name` says.
Where the text is known, it is followed; where it is not, that is an effect, and a doubt if it was fetched.
"""

import re
from typing import Any, Final

from qwed.engines.code.shell import words
from qwed.engines.code.shell.runner import EMPTY, Runner
from qwed.engines.code.shell.words import HOLE

EVALUATES: Final = "evaluates-text-again"
_NAME: Final = re.compile(r"[A-Za-z_]\w*")
_ACTIVE: Final = re.compile(r"[\[$`]")
_BACKQUOTED: Final = re.compile(r"`([^`]*)`")
_ARE_NUMBERS: Final = frozenset({"#", "?", "$", "!"})
_MAX_NAMES: Final = 32


def evaluate(run: Runner, text: str, line: int) -> None:
    """The text is computed with: the variables it names are evaluated in turn."""
    waiting, seen = [text], set[str]()
    while waiting:
        current = waiting.pop()
        if HOLE in current:
            note_unknown(run, line)
        if _ACTIVE.search(current):
            _follow(run, current, line)
        for name in _NAME.findall(current)[:_MAX_NAMES]:
            if name not in seen and len(seen) < _MAX_NAMES:
                seen.add(name)
                if "network" in run.marked.get(name, ()):
                    run.doubt(EVALUATES, line)
                if name not in run.computed:
                    waiting.append(run.variables.get(name, HOLE))


def note_unknown(run: Runner, line: int) -> None:
    run.report.effects.add("dynamic-execution")
    if "network" in run.word_marks:
        run.doubt(EVALUATES, line)


def _follow(run: Runner, text: str, line: int) -> None:
    """A subscript is evaluated, and the substitutions in it run."""
    run.report.effects.add("dynamic-execution")
    if "$(" in text or "`" in text:
        run.doubt(EVALUATES, line)
        for command in _BACKQUOTED.findall(text):
            run.run_text(command, EMPTY, line)
        run.run_text(f": <<QWED_TEXT\n{text.replace(HOLE, '')}\nQWED_TEXT\n", EMPTY, line)


def name_variable(run: Runner, text: str, line: int) -> None:
    """The text is taken for a variable's name, with a subscript where it has one."""
    name, bracket, subscript = text.partition("[")
    if HOLE in name or not re.fullmatch(r"\w*", name):
        run.report.effects.add("dynamic-execution")
        run.doubt(EVALUATES, line)
    if bracket and subscript not in ("@]", "*]"):
        evaluate(run, subscript.removesuffix("]"), line)


def evaluate_node(run: Runner, node: Any) -> None:
    """An arithmetic expression of the text itself: what its names hold, and what it expands, is evaluated."""
    waiting = [node]
    while waiting:
        current = waiting.pop()
        match current.type:
            case "command_substitution" | "process_substitution":
                made = run.substituted(current)
                evaluate(run, HOLE if made.text is None else made.text, run.line(current))
            case "simple_expansion" if run.text(current)[1:] in run.computed | _ARE_NUMBERS:
                continue
            case "simple_expansion" | "expansion" | "string" | "concatenation" | "raw_string":
                evaluate(run, words.plain(run.word(current)), run.line(current))
            case "variable_name" | "word" | "ansi_c_string":
                evaluate(run, run.text(current), run.line(current))
            case _:
                waiting.extend(current.named_children)
