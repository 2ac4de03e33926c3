"""The engines that parse, loaded when the first argument needs one."""

import functools
import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from qwed.engines.candidates import FoundEffect
    from qwed.engines.code import CodeVerdict
    from qwed.engines.sql import SqlVerdict
    from qwed.engines.tools import ArgumentProblem


@functools.cache
def _engine(name: str) -> Any:
    return importlib.import_module(f"qwed.engines.{name}")


def inspect_sql(text: str) -> "SqlVerdict":
    verdict: SqlVerdict = _engine("sql").inspect_sql(text)
    return verdict


def inspect_code(language: str, text: str) -> "CodeVerdict":
    verdict: CodeVerdict = _engine("code").inspect_code(language, text)
    return verdict


def judge_program(text: str, language: str | None) -> "CodeVerdict":
    """A text that is run, as this language or, where nobody said one, as any."""
    verdict: CodeVerdict = _engine("code.readings").judge_program(text, language)
    return verdict


def find_in_text(text: str) -> "FoundEffect | None":
    """The worst that a text does that nobody marked as a program."""
    found: FoundEffect | None = _engine("candidates").find_in(text)
    return found


def inspect_path(text: str) -> "Sequence[ArgumentProblem]":
    problems: Sequence[ArgumentProblem] = _engine("tools").inspect_path(text)
    return problems


def inspect_url(text: str) -> "Sequence[ArgumentProblem]":
    problems: Sequence[ArgumentProblem] = _engine("tools").inspect_url(text)
    return problems
