"""What an expression may name: variables with their members, functions with what they answer.

The library sees maps with any key. So that `action.typo` is a mistake and not a rule that never matches, the
kinds below are checked by us (`kinds.py`).
"""

import enum
import functools
from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec
from cel_expr_python import cel

from qwed.domain.risk import Risk


class ValueKind(enum.StrEnum):
    """Values without parts, in the words of messages."""

    BOOL = "true or false"
    NUMBER = "a number"
    TEXT = "text"
    BYTES = "bytes"
    TIME = "a point in time"
    DURATION = "a duration"
    NULL = "null"
    TYPE = "a type"
    ANY = "any value"


class ListKind(msgspec.Struct, frozen=True):
    item: "AnyKind"


class MapKind(msgspec.Struct, frozen=True):
    """Keys are text, and anything."""

    value: "AnyKind"


class RecordKind(msgspec.Struct, frozen=True):
    """A map with known keys. What is in `optional` is not always there: `has()` asks."""

    name: str
    members: "Mapping[str, AnyKind]"
    optional: frozenset[str] = frozenset()


AnyKind = ValueKind | ListKind | MapKind | RecordKind


class FunctionKind(msgspec.Struct, frozen=True):
    """A function of ours with one argument: a variable (`action`, `asked`), or a path as text."""

    takes: AnyKind
    answers: AnyKind


class RuleSchema(msgspec.Struct, frozen=True, dict=True):
    variables: Mapping[str, AnyKind]
    constants: Mapping[str, int]
    functions: Mapping[str, FunctionKind]

    @property
    def names(self) -> tuple[str, ...]:
        return (*self.variables, *self.constants, *self.functions)

    @functools.cached_property
    def environment(self) -> Any:
        """The library's, for reading: it knows the functions and cannot evaluate them."""
        return make_environment(self)


_ACTION: Final = RecordKind(
    "action",
    {
        "type": ValueKind.TEXT,
        "query": ValueKind.TEXT,
        "code": ValueKind.TEXT,
        "target": ValueKind.TEXT,
        "parameters": MapKind(ValueKind.ANY),
    },
    frozenset({"query", "code", "target"}),
)
_AGENT: Final = RecordKind(
    "agent",
    {
        "id": ValueKind.TEXT,
        "name": ValueKind.TEXT,
        "type": ValueKind.TEXT,
        "trust": ValueKind.NUMBER,
        "principal": ValueKind.TEXT,
        "score": ValueKind.NUMBER,
    },
    frozenset({"score"}),
)
_RECIPIENT: Final = RecordKind(
    "recipient", {"address": ValueKind.TEXT, "local": ValueKind.TEXT, "domain": ValueKind.TEXT}
)
_AMOUNT: Final = RecordKind("amount", {"value": ValueKind.NUMBER, "currency": ValueKind.TEXT})
_FINDING: Final = RecordKind(
    "finding", {"status": ValueKind.TEXT, "engine": ValueKind.TEXT, "evidence": MapKind(ValueKind.ANY)}
)

RULE_SCHEMA: Final = RuleSchema(
    variables={
        "action": _ACTION,
        "asked": _ACTION,
        "agent": _AGENT,
        "context": MapKind(ValueKind.ANY),
        "risk": ValueKind.NUMBER,
        "finding": _FINDING,
        "charge": ValueKind.NUMBER,
        "now": ValueKind.TIME,
    },
    constants={risk.name: risk.value for risk in Risk},
    functions={
        "recipients": FunctionKind(_ACTION, ListKind(_RECIPIENT)),
        "hosts": FunctionKind(_ACTION, ListKind(ValueKind.TEXT)),
        "amounts": FunctionKind(_ACTION, ListKind(_AMOUNT)),
        "paths": FunctionKind(_ACTION, ListKind(ValueKind.TEXT)),
        "origin": FunctionKind(ValueKind.TEXT, ValueKind.TEXT),
    },
)
"""What rules may name."""


def make_environment(schema: RuleSchema, functions: Mapping[str, Callable[..., Any]] | None = None) -> Any:
    """The library's environment of a schema; `functions` answer what an expression asks at run time."""
    variables = {name: _cel_type(kind) for name, kind in schema.variables.items()}
    variables |= dict.fromkeys(schema.constants, cel.Type.INT)
    declared = [_declare(name, kind) for name, kind in schema.functions.items()]
    impls = {overload_id(name): function for name, function in (functions or {}).items()}
    return cel.NewEnv(variables=variables, functions=declared, function_impls=impls)


def overload_id(function: str) -> str:
    return f"qwed_{function}"


def _declare(name: str, kind: FunctionKind) -> Any:
    overload = cel.Overload(
        id=overload_id(name), return_type=_cel_type(kind.answers), parameters=[_cel_type(kind.takes)]
    )
    return cel.FunctionDecl(name, [overload])


def _cel_type(kind: AnyKind) -> Any:
    """Numbers are dynamic for the library: `charge > 1` compares a double with an int."""
    match kind:
        case ListKind():
            return cel.Type.List(_cel_type(kind.item))
        case MapKind() | RecordKind():
            return cel.Type.Map(cel.Type.STRING, cel.Type.DYN)
    return _CEL_TYPES.get(kind, cel.Type.DYN)


_CEL_TYPES: Final = {
    ValueKind.BOOL: cel.Type.BOOL,
    ValueKind.TEXT: cel.Type.STRING,
    ValueKind.TIME: cel.Type.TIMESTAMP,
    ValueKind.DURATION: cel.Type.DURATION,
}
