"""One door to the three inspectors, which call each other through it for code inside code."""

import functools
import importlib
import re
from collections.abc import Callable
from typing import Final, cast

import msgspec

from qwed.engines.code.shell.project import Project
from qwed.engines.code.verdict import MAX_NESTING, CodeProblem, CodeVerdict, excerpt, too_large

Inspector = Callable[[str, int, Callable[[str, str, int], CodeVerdict]], CodeVerdict]

PYTHON: Final = "python"
SHELL: Final = "shell"
JAVASCRIPT: Final = "javascript"


def inspect_code(language: str, text: str, depth: int = 0) -> CodeVerdict:
    """`depth` counts how many texts this one was found inside of. Never raises on any text."""
    if depth > MAX_NESTING:
        deep = CodeProblem("nested-too-deeply", 1, f"code within code, {depth} deep", certain=False)
        return CodeVerdict(language, (deep,), purity="not inspected")
    verdict = too_large(language, text) or _inspector(language)(text, depth, inspect_code)
    return verdict if text.isascii() else _with_hidden_text(verdict, text)


def inspect_in_project(text: str, project: Project) -> CodeVerdict:
    """Shell that runs in a project."""
    inspector = importlib.import_module("qwed.engines.code.shell.inspector")
    verdict = cast(CodeVerdict, inspector.inspect_in(text, project, inspect_code))
    return verdict if text.isascii() else _with_hidden_text(verdict, text)


def guess_shell(text: str) -> CodeVerdict:
    """Shell, read in a text that may be anything: commands count only where they show themselves."""
    return too_large(SHELL, text) or _shell_guess()(text, inspect_code)


_REORDERING: Final = re.compile("[\u202a-\u202e\u2066-\u2069]")


def _with_hidden_text(verdict: CodeVerdict, text: str) -> CodeVerdict:
    """Characters that show a program in another order than it runs in."""
    found = _REORDERING.search(text)
    if found is None:
        return verdict
    line = text.count("\n", 0, found.start()) + 1
    hidden = CodeProblem("hidden-text", line, excerpt(_REORDERING.sub("\ufffd", text.splitlines()[line - 1])))
    return msgspec.structs.replace(verdict, problems=(hidden, *verdict.problems), pure=False)


@functools.cache
def _inspector(language: str) -> Inspector:
    # Loaded on first use: their tables and patterns take longer to build than most processes live.
    module = importlib.import_module(f"qwed.engines.code.{language}.inspector")
    return cast(Inspector, module.inspect)


@functools.cache
def _shell_guess() -> Callable[[str, Callable[[str, str, int], CodeVerdict]], CodeVerdict]:
    module = importlib.import_module("qwed.engines.code.shell.inspector")
    return cast(Callable[[str, Callable[[str, str, int], CodeVerdict]], CodeVerdict], module.guess)


def inspect_python(text: str) -> CodeVerdict:
    return inspect_code(PYTHON, text)


def inspect_shell(text: str) -> CodeVerdict:
    return inspect_code(SHELL, text)


def inspect_javascript(text: str) -> CodeVerdict:
    return inspect_code(JAVASCRIPT, text)
