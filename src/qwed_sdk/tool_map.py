"""What a tool call is to the gateway: an action with a type, and the tool's own arguments in it. No I/O."""

import base64
import dataclasses
import datetime
import decimal
import enum
import inspect
import math
import pathlib
import uuid
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from qwed_sdk.results import Json

FIELDS: Final = ("query", "code", "target")
MAX_DEPTH: Final = 60
#: Engines prove what stands in these fields, so a tool that goes by one of these names fills them.
_ENGINE_BOUND: Final = frozenset(
    [
        "calculate",
        "verify_math",
        "verify",
        "verify_logic",
        "prove",
        "verify_fact",
        "execute_sql",
        "execute_code",
    ]
)


@dataclasses.dataclass(frozen=True)
class ToolAs:
    """`ToolAs("execute_sql", query="statement")`: a tool's action type, and which of its arguments is the
    action's query, code or target. The others are its parameters. `fixed` are parameters that the tool itself
    decides, such as `{"language": "shell"}`: a call that says otherwise is refused."""

    action_type: str
    query: str | None = None
    code: str | None = None
    target: str | None = None
    fixed: Mapping[str, Json] = dataclasses.field(default_factory=dict)


ToolMap: TypeAlias = Mapping[str, str | ToolAs]


class NotShowable(ValueError):
    """An argument that has no JSON form, so nobody could decide about it."""


class NotApplicable(ValueError):
    """A granted action that this tool can't carry out."""


@dataclasses.dataclass(frozen=True)
class ToolCall:
    """A tool's name, the arguments it would get, and the action that they are to the gateway."""

    tool_name: str
    arguments: Mapping[str, Json]
    action: Mapping[str, Json]
    #: Field of the action → the argument it was taken from.
    taken: Mapping[str, str]
    #: Parameters of the action that no argument holds, and that nobody changes.
    fixed: Mapping[str, Json] = dataclasses.field(default_factory=dict)

    def arguments_for(self, granted: Mapping[str, Json]) -> dict[str, Json]:
        """The arguments to run with: as they are, but for what the granted action changes."""
        if granted.get("type", granted.get("action_type")) != self.action["type"]:
            raise NotApplicable("the granted action is of another type")
        arguments = dict(self.arguments)
        for field in FIELDS:
            self._take_field(arguments, field, granted.get(field))
        self._take_parameters(arguments, granted.get("parameters") or {})
        return arguments

    def _take_field(self, arguments: dict[str, Json], field: str, value: Any) -> None:
        if value == self.action.get(field):
            return
        if field not in self.taken or not isinstance(value, str):
            raise NotApplicable(f"the granted action changes its {field}, which no argument holds")
        arguments[self.taken[field]] = value

    def _take_parameters(self, arguments: dict[str, Json], granted: Mapping[str, Json]) -> None:
        proposed = self.action.get("parameters") or {}
        for name, value in self.fixed.items():
            if name not in granted or granted[name] != value:
                raise NotApplicable(f"the granted action changes {name!r}, which the tool has fixed")
        for name in proposed.keys() - granted.keys():
            del arguments[name]
        for name, value in granted.items():
            if name in proposed and value == proposed[name]:
                continue
            if name in proposed and proposed[name] != arguments[name]:
                raise NotApplicable(f"the argument {name!r} is no plain value, so it can't be changed")
            arguments[name] = value


def action_of_call(
    function: str | Callable[..., Json],
    arguments: Mapping[str, Json],
    tool_map: ToolMap,
    *,
    is_strict: bool = False,
) -> ToolCall:
    """What a call is to the gateway: for those who ask about it, and for those who run it with a permit. A
    function's names and defaults are bound; a tool that the map does not name goes by its own name.

    `is_strict`: only JSON values are taken, as they are. Raises `NotShowable`.
    """
    if callable(function):
        tool_name, arguments = function.__name__, _with_defaults(function, arguments)
    else:
        tool_name = function
    show = exact if is_strict else plain
    rule = tool_map.get(tool_name)
    if isinstance(rule, ToolAs):
        given = {field: getattr(rule, field) for field in FIELDS}
        taken = {field: name for field, name in given.items() if name is not None}
    else:
        fills = rule is not None or tool_name in _ENGINE_BOUND
        taken = {field: field for field in FIELDS if fills and isinstance(arguments.get(field), str)}
    action_type = rule.action_type if isinstance(rule, ToolAs) else rule or tool_name
    action: dict[str, Json] = {"type": action_type}
    for field, name in taken.items():
        if not isinstance(arguments.get(name), str):
            raise NotShowable(f"the argument {name!r} is the action's {field}, and no text")
        action[field] = arguments[name]
    rest = {str(name): show(value) for name, value in arguments.items() if name not in taken.values()}
    fixed = _find_fixed(rule.fixed, rest) if isinstance(rule, ToolAs) else {}
    if rest or fixed:
        action["parameters"] = {**rest, **fixed}
    return ToolCall(tool_name, arguments, action, taken, fixed)


def _with_defaults(function: Callable[..., Json], arguments: Mapping[str, Json]) -> Mapping[str, Json]:
    try:
        bound = inspect.signature(function).bind(**arguments)
    except TypeError as error:
        raise NotShowable(f"the arguments are not those of the function: {error}") from None
    bound.apply_defaults()
    return bound.arguments


def _find_fixed(members: Mapping[str, Json], given: Mapping[str, Json]) -> dict[str, Json]:
    fixed = {str(name): plain(value) for name, value in members.items()}
    for name, value in fixed.items():
        if name in given and given[name] != value:
            raise NotShowable(f"the argument {name!r} says otherwise than what the tool has fixed")
    return fixed


def exact(value: Any, depth: int = 0) -> Any:
    """A JSON value as it is. Raises `NotShowable` for any other: its JSON form would be somebody's choice."""
    kind = type(value)
    if value is None or kind in (bool, int, str):
        return value
    if depth > MAX_DEPTH:
        raise NotShowable("the arguments are nested too deep")
    if kind in (float, decimal.Decimal) and math.isfinite(value):
        return value
    if kind is dict:
        return {_key(key): exact(item, depth + 1) for key, item in value.items()}
    if kind in (list, tuple):
        return [exact(item, depth + 1) for item in value]
    raise NotShowable(f"an argument of type {kind.__name__} is not JSON")


def plain(value: Any, depth: int = 0) -> Any:
    """The JSON form of an argument. Raises `NotShowable`."""
    if value is None or type(value) in (bool, int, str):
        return value
    if depth > MAX_DEPTH:
        raise NotShowable("the arguments are nested too deep")
    match value:
        case float():
            if not math.isfinite(value):
                raise NotShowable(f"{value} has no JSON form")
            return float(value)
        case enum.Enum():
            return plain(value.value, depth + 1)
        case str() | int():
            return str(value) if isinstance(value, str) else int(value)
        case Mapping():
            return {_key(key): plain(item, depth + 1) for key, item in value.items()}
        case list() | tuple():
            return [plain(item, depth + 1) for item in value]
        case set() | frozenset():
            return sorted((plain(item, depth + 1) for item in value), key=repr)
        case bytes() | bytearray():
            return base64.b64encode(value).decode()
        case datetime.date() | datetime.time():
            return value.isoformat()
        case decimal.Decimal() | uuid.UUID() | pathlib.PurePath():
            return str(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        members = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        return plain(members, depth + 1)
    if callable(getattr(value, "model_dump", None)):
        return plain(value.model_dump(mode="json"), depth + 1)
    raise NotShowable(f"an argument of type {type(value).__name__} has no JSON form")


def _key(key: Any) -> str:
    if not isinstance(key, str):
        raise NotShowable(f"a key of type {type(key).__name__} has no JSON form")
    return str(key)
