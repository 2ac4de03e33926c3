"""Refuses arguments that break their rules: type, range, format, length, presence."""

import datetime
import ipaddress
import re
import uuid
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec

from qwed.domain.json_text import describe_type
from qwed.domain.json_types import Json
from qwed.domain.lazy_pattern import lazy_pattern
from qwed.domain.skeleton import compact_skeleton
from qwed_open_responses.guards.base import BaseGuard, Context, viewed
from qwed_open_responses.guards.schema import SchemaGuard
from qwed_open_responses.libraries import library
from qwed_open_responses.results import GuardResult

Rules = Mapping[str, Json]


class ArgumentRule(msgspec.Struct, frozen=True):
    """What one argument must be. `pattern` is an RE2 expression that the whole value matches."""

    type: str | None = None
    required: bool = True
    min: Any = None
    max: Any = None
    min_length: int | None = None
    max_length: int | None = None
    format: str | None = None
    enum: tuple[Any, ...] | None = None
    pattern: Any = None


class ArgumentGuard(BaseGuard):
    """`rules` hold for every call (and for a structured output), `tools` for the named tools.

    A rule is a mapping, such as `{"type": "number", "min": 0}`, or a bare type name. An argument that has
    a rule must be there unless the rule says `required: False`. A tool may have a JSON Schema instead.
    """

    def __init__(
        self, rules: Rules | None = None, tools: Mapping[str, Rules] | None = None, allow_extra: bool = True
    ) -> None:
        if not rules and not tools:
            raise ValueError("an ArgumentGuard needs rules={argument: rule} or tools={tool: rules}")
        self._allow_extra = allow_extra
        self._rules = _checker(rules or {}, allow_extra or not rules)
        # By skeleton, so that a disguised spelling of a tool does not slip past its rules.
        self._tools = {
            compact_skeleton(name): _checker(each, allow_extra) for name, each in (tools or {}).items()
        }

    def check(self, response: Any, context: Context | None = None) -> GuardResult:
        view = viewed(response)
        problems: list[dict[str, str]] = []
        unruled: list[str] = []
        for call in view.tool_calls:
            own = self._tools.get(compact_skeleton(call.name))
            problems += self._rules(call.arguments)
            problems += own(call.arguments) if own else []
            if own is None and self._tools:
                unruled.append(call.name)
        if view.has_structured and not view.tool_calls:
            if not isinstance(view.structured, Mapping):
                return self.fail_result(f"the output is {describe_type(view.structured)}, expected an object")
            problems += self._rules(view.structured)
        if problems:
            shown = "; ".join(problem["message"] for problem in problems[:3])
            return self.fail_result(shown, {"problems": problems})
        return self.pass_result(f"not checked, no rules: {', '.join(unruled)}" if unruled else "")


_Check = Callable[[Mapping[str, Json]], list[dict[str, str]]]


def _checker(rules: Rules, allow_extra: bool) -> _Check:
    if _is_schema(rules):
        guard = SchemaGuard(rules)
        return lambda arguments: _schema_problems(guard, arguments)
    table = {name: _rule(name, rule) for name, rule in rules.items()}
    return lambda arguments: list(_problems(table, arguments, allow_extra))


def _is_schema(rules: Rules) -> bool:
    return "$schema" in rules or (
        rules.get("type") == "object" and isinstance(rules.get("properties"), Mapping)
    )


def _schema_problems(guard: SchemaGuard, arguments: Mapping[str, Json]) -> list[dict[str, str]]:
    errors = guard.check(dict(arguments)).details.get("errors", [])
    return [
        {"argument": error["pointer"], "message": f"{error['pointer'] or 'arguments'}: {error['message']}"}
        for error in errors
    ]


def _problems(
    rules: Mapping[str, ArgumentRule], arguments: Mapping[str, Json], allow_extra: bool
) -> Iterator[dict[str, str]]:
    for name, rule in rules.items():
        if name not in arguments:
            if rule.required:
                yield {"argument": name, "message": f"{name} is missing"}
        elif (problem := _value_problem(rule, arguments[name])) is not None:
            yield {"argument": name, "message": f"{name} {problem}"}
    if not allow_extra:
        for name in arguments:
            if name not in rules:
                yield {"argument": name, "message": f"{name[:60]} is not an expected argument"}


def _value_problem(rule: ArgumentRule, value: Any) -> str | None:
    if rule.type is not None and not _TYPES[rule.type](value):
        return f"is {_show(value)}, expected {_ARTICLES.get(rule.type, 'a')} {rule.type}"
    if rule.enum is not None and not any(_same(value, choice) for choice in rule.enum):
        return f"is {_show(value)}, expected one of {', '.join(map(str, rule.enum))[:200]}"
    return _range_problem(rule, value) or _length_problem(rule, value) or _shape_problem(rule, value)


def _range_problem(rule: ArgumentRule, value: Any) -> str | None:
    if rule.min is None and rule.max is None:
        return None
    if not _is_number(value):
        return f"is {_show(value)}, expected a number"
    amount = _exact(value)
    if rule.min is not None and amount < rule.min:
        return f"is {_show(value)}, at least {rule.min} is allowed"
    if rule.max is not None and amount > rule.max:
        return f"is {_show(value)}, at most {rule.max} is allowed"
    return None


def _length_problem(rule: ArgumentRule, value: Any) -> str | None:
    if rule.min_length is None and rule.max_length is None:
        return None
    if not isinstance(value, str | list | dict | tuple):
        return f"is {_show(value)}, which has no length"
    if rule.min_length is not None and len(value) < rule.min_length:
        return f"is shorter than {rule.min_length}"
    if rule.max_length is not None and len(value) > rule.max_length:
        return f"is longer than {rule.max_length}"
    return None


def _shape_problem(rule: ArgumentRule, value: Any) -> str | None:
    if rule.format is None and rule.pattern is None:
        return None
    if not isinstance(value, str):
        return f"is {_show(value)}, expected a string"
    if rule.format is not None and not _FORMATS[rule.format](value):
        return f"is {_show(value)}, expected the format {rule.format}"
    if rule.pattern is not None and rule.pattern.fullmatch(value) is None:
        return f"is {_show(value)}, which does not match the pattern"
    return None


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool) and _is_finite(value)


def _is_finite(value: Any) -> bool:
    # NaN differs from itself.
    return bool(value == value and value not in (float("inf"), float("-inf")))


def _exact(value: Any) -> Any:
    # A float is compared as the decimal it is written as: 0.1 is not more than Decimal("0.1").
    return Decimal(repr(value)) if isinstance(value, float) else value


_TYPES: Final[dict[str, Callable[[Any], bool]]] = {
    "string": lambda value: isinstance(value, str),
    "number": _is_number,
    "integer": lambda value: _is_number(value) and value == value // 1,
    "boolean": lambda value: isinstance(value, bool),
    "array": lambda value: isinstance(value, list | tuple),
    "object": lambda value: isinstance(value, Mapping),
    "null": lambda value: value is None,
}
_ARTICLES: Final = {"integer": "an", "array": "an", "object": "an"}
_TYPE_NAMES: Final = {
    str: "string", int: "integer", float: "number", bool: "boolean", list: "array", dict: "object",
    "str": "string", "int": "integer", "float": "number", "bool": "boolean", "list": "array",
    "dict": "object",
}  # fmt: skip
_KEY_NAMES: Final = {
    "minimum": "min", "maximum": "max", "minLength": "min_length", "maxLength": "max_length",
    "choices": "enum", "values": "enum", "regex": "pattern",
}  # fmt: skip

# RFC 5322's dot-atom and RFC 1123's labels, which is what mailboxes are in practice.
_EMAIL = lazy_pattern(
    r"[A-Za-z0-9.!#$%&'*+/=?^_`{"
    r"|}~-]{1,64}@(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.)+[A-Za-z]{2,63}"
)


def _is_email(value: str) -> bool:
    if len(value) > 254 or _EMAIL.fullmatch(value) is None:
        return False
    mailbox = value.partition("@")[0]
    return ".." not in mailbox and not mailbox.startswith(".") and not mailbox.endswith(".")


def _is_url(value: str) -> bool:
    if not value.isprintable() or " " in value:
        return False
    try:
        parts = urlsplit(value)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        return False


def _parses(parse: Callable[[str], object]) -> Callable[[str], bool]:
    def is_parsed(value: str) -> bool:
        try:
            parse(value)
        except ValueError:
            return False
        return True

    return is_parsed


_DATE = lazy_pattern(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_DATETIME = lazy_pattern(
    r"\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:[zZ]|[+-]\d{2}:?\d{2})?", re.ASCII
)
_UUID = lazy_pattern(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_FORMATS: Final[dict[str, Callable[[str], bool]]] = {
    "email": _is_email,
    "url": _is_url,
    "uri": _is_url,
    "uuid": lambda value: _UUID.fullmatch(value) is not None and _parses(uuid.UUID)(value),
    "date": lambda value: _DATE.fullmatch(value) is not None and _parses(datetime.date.fromisoformat)(value),
    "datetime": lambda value: (
        _DATETIME.fullmatch(value) is not None and _parses(datetime.datetime.fromisoformat)(value.upper())
    ),
    "date-time": lambda value: _FORMATS["datetime"](value),
    "ip": _parses(ipaddress.ip_address),
    "ipv4": _parses(ipaddress.IPv4Address),
    "ipv6": _parses(ipaddress.IPv6Address),
}


def _rule(name: str, rule: Any) -> ArgumentRule:
    """Reads one rule; whatever it does not understand is a mistake, never ignored."""
    if isinstance(rule, ArgumentRule):
        return rule
    if isinstance(rule, str | type):
        rule = {"type": rule}
    if not isinstance(rule, Mapping):
        raise ValueError(f"the rule of {name!r} is {describe_type(rule)}, expected a mapping or a type name")
    fields: dict[str, Json] = {_KEY_NAMES.get(str(key), str(key)): value for key, value in rule.items()}
    unknown = sorted(set(fields) - set(ArgumentRule.__struct_fields__))
    if unknown:
        raise ValueError(f"the rule of {name!r} has the unknown key {unknown[0]!r}")
    _read_type(name, fields)
    if fields.get("format") in ("enum", "pattern") and fields.get(fields["format"]) is not None:
        del fields["format"]
    if fields.get("format") is not None and fields["format"] not in _FORMATS:
        raise ValueError(f"the rule of {name!r} has the unknown format {fields['format']!r}")
    for bound in ("min", "max"):
        if fields.get(bound) is not None:
            if not _is_number(fields[bound]):
                raise ValueError(f"{bound} of {name!r} is {describe_type(fields[bound])}, expected a number")
            fields[bound] = _exact(fields[bound])
    if fields.get("enum") is not None:
        fields["enum"] = tuple(fields["enum"])
    if fields.get("pattern") is not None:
        fields["pattern"] = _compile(name, fields["pattern"])
    return ArgumentRule(**fields)


def _read_type(name: str, fields: dict[str, Json]) -> None:
    kind = fields.get("type")
    if kind is None:
        return
    fields["type"] = kind = _TYPE_NAMES.get(kind, kind)
    if kind in _FORMATS and "format" not in fields:
        fields["type"], fields["format"] = "string", kind
    elif kind not in _TYPES:
        raise ValueError(f"the rule of {name!r} has the unknown type {kind!r}")


def _compile(name: str, pattern: str) -> Any:
    re2: Any = library("re2")
    try:
        return re2.compile(pattern)
    except re2.error as error:
        raise ValueError(f"the pattern of {name!r} is not an RE2 expression: {error}") from None


def _same(value: Any, choice: Any) -> bool:
    return isinstance(value, bool) == isinstance(choice, bool) and bool(value == choice)


def _show(value: Any) -> str:
    """The type, and a short value: long ones may hold what must not be logged."""
    if isinstance(value, str):
        return repr(value) if len(value) <= 24 else f"a string of {len(value)} characters"
    if isinstance(value, bool) or value is None or not isinstance(value, int | float | Decimal):
        return describe_type(value) if not isinstance(value, bool) else str(value).lower()
    return str(value)[:40]
