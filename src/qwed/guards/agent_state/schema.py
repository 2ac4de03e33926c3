"""The strict schema: checked once, then compiled into one check per node.

A check answers None, or what is wrong and where. Keywords that are not implemented are refused
when the guard is built: an ignored keyword would be a promise the guard does not keep.
"""

from collections.abc import Callable, Mapping
from decimal import Decimal
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from qwed.domain.json_text import describe_type
from qwed.guards.agent_state.configuration import flag, mapping, names, refuse_unknown, thaw
from qwed.guards.agent_state.refusal import quote
from qwed.guards.agent_state.values import same_value


class SchemaProblem(NamedTuple):
    """`path` is relative to the node whose check answered."""

    path: str
    what: str


Check = Callable[[Any], SchemaProblem | None]

_SCALARS: Final[Mapping[str, tuple[type, ...]]] = MappingProxyType(
    {
        "string": (str,),
        # Exact types: a bool is an int to Python, and never one here.
        "integer": (int,),
        "number": (int, Decimal),
        "boolean": (bool,),
        "null": (type(None),),
    }
)
_KEYWORDS: Final[Mapping[str, frozenset[str]]] = MappingProxyType(
    {
        "object": frozenset({"type", "enum", "properties", "required", "additionalProperties"}),
        "array": frozenset({"type", "enum", "items"}),
        **dict.fromkeys(_SCALARS, frozenset({"type", "enum"})),
    }
)


def compile_schema(schema: Any, at: str) -> Check:
    """`schema` is frozen. Raises `ValueError` that names the wrong keyword."""
    keywords = mapping(schema, at)
    kind = keywords.get("type")
    if not isinstance(kind, str) or kind not in _KEYWORDS:
        raise ValueError(f"{at}.type: expected one of {', '.join(_KEYWORDS)}, not {kind!r}")
    refuse_unknown(keywords, _KEYWORDS[kind], at)
    match kind:
        case "object":
            check = _object(keywords, at)
        case "array":
            check = _array(keywords, at)
        case _:
            check = _scalar(kind, _SCALARS[kind])
    return _check_enumerated(check, keywords["enum"], f"{at}.enum") if "enum" in keywords else check


def _object(keywords: Mapping[str, Any], at: str) -> Check:
    if "properties" not in keywords:
        raise ValueError(f"{at}.properties: an object schema must define it")
    checks = {
        name: compile_schema(schema, f"{at}.properties.{name}")
        for name, schema in mapping(keywords["properties"], f"{at}.properties").items()
    }
    allows_more = flag(keywords.get("additionalProperties", False), f"{at}.additionalProperties")
    required = names(keywords.get("required", ()), f"{at}.required")
    for name in required:
        if name not in checks and not allows_more:
            raise ValueError(f"{at}.required: {quote(name)} is not one of the properties")
    return _object_check(checks, frozenset(required), allows_more)


def _object_check(checks: Mapping[str, Check], required: frozenset[str], allows_more: bool) -> Check:
    def check(value: Any) -> SchemaProblem | None:
        if type(value) is not dict:
            return _wrong_type("object", value)
        if not required <= value.keys():
            missing = ", ".join(quote(name) for name in sorted(required - value.keys()))
            return SchemaProblem("", f"missing required {missing}")
        for name, item in value.items():
            check_item = checks.get(name)
            if check_item is None:
                if allows_more:
                    continue
                return SchemaProblem("", f"unexpected field {quote(name)}")
            problem = check_item(item)
            if problem is not None:
                return SchemaProblem(f".{name}{problem.path}", problem.what)
        return None

    return check


def _array(keywords: Mapping[str, Any], at: str) -> Check:
    if "items" not in keywords:
        raise ValueError(f"{at}.items: an array schema must define it")
    check_item = compile_schema(keywords["items"], f"{at}.items")

    def check(value: Any) -> SchemaProblem | None:
        if type(value) is not list:
            return _wrong_type("array", value)
        for index, item in enumerate(value):
            problem = check_item(item)
            if problem is not None:
                return SchemaProblem(f"[{index}]{problem.path}", problem.what)
        return None

    return check


def _scalar(name: str, kinds: tuple[type, ...]) -> Check:
    def check(value: Any) -> SchemaProblem | None:
        return None if type(value) in kinds else _wrong_type(name, value)

    return check


def _check_enumerated(check: Check, values: Any, at: str) -> Check:
    if not isinstance(values, tuple) or not values:
        raise ValueError(f"{at}: expected a non-empty list")
    allowed = thaw(values)
    for index, value in enumerate(allowed):
        problem = check(value)
        if problem is not None:
            raise ValueError(f"{at}[{index}]{problem.path}: {problem.what}")

    def check_member(value: Any) -> SchemaProblem | None:
        problem = check(value)
        if problem is None and not any(same_value(value, member) for member in allowed):
            return SchemaProblem("", "the value is not one of the enum")
        return problem

    return check_member


def _wrong_type(expected: str, value: Any) -> SchemaProblem:
    return SchemaProblem("", f"expected {expected}, not {describe_type(value)}")
