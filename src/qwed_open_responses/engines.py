"""The engines that parse, loaded when the first argument needs one."""

import functools
import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from qwed.engines.code import CodeVerdict
    from qwed.engines.sql import SqlVerdict
    from qwed.engines.tools import Problem


@functools.cache
def _engine(name: str) -> Any:
    return importlib.import_module(f"qwed.engines.{name}")


def inspect_sql(text: str) -> "SqlVerdict":
    verdict: SqlVerdict = _engine("sql").inspect_sql(text)
    return verdict


def inspect_code(language: str, text: str) -> "CodeVerdict":
    verdict: CodeVerdict = _engine("code").inspect_code(language, text)
    return verdict


def inspect_path(text: str) -> "Sequence[Problem]":
    problems: Sequence[Problem] = _engine("tools").inspect_path(text)
    return problems


def inspect_url(text: str) -> "Sequence[Problem]":
    problems: Sequence[Problem] = _engine("tools").inspect_url(text)
    return problems
