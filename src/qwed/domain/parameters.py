"""Check 7: parameters are deterministic JSON, of bounded depth and size."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Final, NamedTuple

from qwed.domain.codes import Code, Refusal
from qwed.domain.json_text import MAX_DEPTH, Unrepresentable, describe_type, is_finite

MAX_VALUES: Final = 50_000
MIN_EXPONENT: Final = 2_000


class _Place(NamedTuple):
    """Where a value stands: in what, and under which name or number. Only a refusal spells it out."""

    holder: "_Place | None"
    name: str | int


def parameters_problem(parameters: Any) -> Refusal | None:
    """What is wrong with them, with the path to it; None when nothing is."""
    if not isinstance(parameters, Mapping):
        return _refusal(None, f"is {describe_type(parameters)}, not an object")
    pending: list[tuple[Any, _Place | None, int]] = [(parameters, None, 1)]
    found = 1
    while pending:
        value, place, depth = pending.pop()
        if depth > MAX_DEPTH:
            return _refusal(place, f"is nested deeper than {MAX_DEPTH} levels")
        # Counted before they are looked at: a small text can hold the same large list many times.
        found += len(value)
        if found > MAX_VALUES:
            return _refusal(None, f"holds more than {MAX_VALUES} values")
        if isinstance(value, Mapping) and (wrong := _wrong_key(value)):
            return _refusal(place, wrong)
        for name, item in value.items() if isinstance(value, Mapping) else enumerate(value):
            if isinstance(item, Mapping | list | tuple):
                pending.append((item, _Place(place, name), depth + 1))
            elif wrong := _wrong_value(item):
                return _refusal(_Place(place, name), wrong)
    return None


def _wrong_key(value: Mapping[Any, Any]) -> str | None:
    for key in value:
        if type(key) is not str:
            return f"has a key that is {describe_type(key)}, not a string"
        if not key.isascii() and has_surrogate(key):
            return "has a key with a lone surrogate"
    return None


def _wrong_value(value: Any) -> str | None:
    if type(value) is str:
        return "holds a lone surrogate" if not value.isascii() and has_surrogate(value) else None
    if value is None or _is_number(value):
        return None
    return f"is {_name(value)}, which has no deterministic JSON form"


def _is_number(value: Any) -> bool:
    if isinstance(value, Decimal) and value.is_finite() and value.adjusted() < -MIN_EXPONENT:
        return False
    return isinstance(value, int | float | Decimal) and is_finite(value)


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
        return "an integer that most readers take for infinity"
    return str(value)[:40] if isinstance(value, float | Decimal) else type(value).__name__


def _refusal(place: _Place | None, problem: str) -> Refusal:
    path = _path(place)
    return Refusal(Code.STATE_PARAMETERS, f"{path} {problem}", {"path": path})


def _path(place: _Place | None) -> str:
    names: list[str] = []
    while place is not None:
        place, name = place
        names.append(f"[{name}]" if isinstance(name, int) else f".{name[:40]}")
    return f"parameters{''.join(reversed(names))}"[:200]
