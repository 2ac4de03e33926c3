"""What the constructor was given: copied, frozen, and refused with a sentence where it is wrong."""

from collections.abc import Mapping
from decimal import Decimal
from math import isfinite
from types import MappingProxyType
from typing import Any

from qwed.guards.agent_state.refusal import StateRefused, quote
from qwed.guards.agent_state.state_text import normalize_text


def frozen(value: Any, at: str) -> Any:
    """A deep copy that nobody can change; `at` says where a mistake stands."""
    if isinstance(value, Mapping):
        return _frozen_mapping(value, at)
    if isinstance(value, list | tuple):
        return tuple(frozen(item, f"{at}[{index}]") for index, item in enumerate(value))
    if isinstance(value, str):
        return normalize_name(value, at)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float | Decimal) and isfinite(value):
        return Decimal(str(value))
    raise ValueError(f"{at}: a {type(value).__name__} is not a JSON value")


def _frozen_mapping(value: Mapping[Any, Any], at: str) -> Mapping[str, Any]:
    members: dict[str, Any] = {}
    for key, item in value.items():
        if not isinstance(key, str):
            raise ValueError(f"{at}: keys are strings, not {type(key).__name__}")
        name = normalize_name(key, at)
        if name in members:
            raise ValueError(f"{at}: key {quote(name)} is given twice (after NFC)")
        members[name] = frozen(item, f"{at}.{name}")
    return MappingProxyType(members)


def normalize_name(text: str, at: str) -> str:
    try:
        # The characters themselves: `str()` of an enum member may be its name.
        return normalize_text(str.__str__(text))
    except StateRefused as refused:
        raise ValueError(f"{at}: {refused.message}") from None


def thaw(value: Any) -> Any:
    """The same value in the types that reading a state yields."""
    if isinstance(value, Mapping):
        return {key: thaw(item) for key, item in value.items()}
    if isinstance(value, tuple):
        return [thaw(item) for item in value]
    return value


def mapping(value: Any, at: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise ValueError(f"{at}: expected a dict, not {type(value).__name__}")
    return value


def names(value: Any, at: str) -> tuple[str, ...]:
    if not isinstance(value, tuple) or not all(isinstance(item, str) for item in value):
        raise ValueError(f"{at}: expected a list of strings")
    return value


def flag(value: Any, at: str) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"{at}: expected true or false, not {type(value).__name__}")
    return value


def refuse_unknown(given: Mapping[str, Any], known: frozenset[str], at: str) -> None:
    unknown = sorted(given.keys() - known)
    if unknown:
        raise ValueError(f"{at}: {quote(unknown[0])} is not supported; known are {', '.join(sorted(known))}")
