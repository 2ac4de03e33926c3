"""Check 7: parameters are deterministic JSON, of bounded depth and size."""

import math
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Final

from qwed.domain.codes import Code, Refusal
from qwed.domain.json_text import MAX_DEPTH, Unrepresentable, describe_type

MAX_VALUES: Final = 50_000
MAX_INTEGER_BITS: Final = 4_096


def parameters_problem(parameters: Any) -> Refusal | None:
    """What is wrong with them, with the path to it; None when nothing is."""
    if not isinstance(parameters, Mapping):
        return _refusal("parameters", f"is {describe_type(parameters)}, not an object")
    pending: list[tuple[str, Any, int]] = [("parameters", parameters, 1)]
    seen = 0
    while pending:
        path, value, depth = pending.pop()
        seen += 1
        if seen > MAX_VALUES:
            return _refusal("parameters", f"holds more than {MAX_VALUES} values")
        kind = type(value)
        if kind is str or kind is bool or value is None:
            if kind is str and not value.isascii() and has_surrogate(value):
                return _refusal(path, "holds a lone surrogate")
        elif isinstance(value, Mapping | list | tuple):
            if depth > MAX_DEPTH:
                return _refusal(path[:200], f"is nested deeper than {MAX_DEPTH} levels")
            problem = _children(path, value, depth, pending)
            if problem is not None:
                return problem
        elif not _is_finite(value):
            return _refusal(path, f"is {_name(value)}, which has no deterministic JSON form")
    return None


def _children(path: str, value: Any, depth: int, pending: list[tuple[str, Any, int]]) -> Refusal | None:
    if not isinstance(value, Mapping):
        pending.extend((f"{path}[{index}]", item, depth + 1) for index, item in enumerate(value))
        return None
    for key, item in value.items():
        if type(key) is not str:
            return _refusal(path, f"has a key that is {describe_type(key)}, not a string")
        if not key.isascii() and has_surrogate(key):
            return _refusal(path, "has a key with a lone surrogate")
        pending.append((f"{path}.{key[:40]}", item, depth + 1))
    return None


def _is_finite(value: Any) -> bool:
    match value:
        case int():
            return value.bit_length() <= MAX_INTEGER_BITS
        case float():
            return math.isfinite(value)
        case Decimal():
            return value.is_finite() and abs(value.adjusted()) <= 2_000
    return False


def has_surrogate(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return True
    return False


def _name(value: Any) -> str:
    if isinstance(value, Unrepresentable):
        return value.why
    if isinstance(value, int):
        return "an integer of too many digits"
    return str(value)[:40] if isinstance(value, float | Decimal) else type(value).__name__


def _refusal(path: str, problem: str) -> Refusal:
    return Refusal(Code.STATE_PARAMETERS, f"{path} {problem}", {"path": path})
