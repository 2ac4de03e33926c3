"""Untrusted JSON to typed requests. Every mistake is named by its field."""

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Final, TypeVar

import msgspec

from qwed.domain.actions import Action
from qwed.domain.json_text import Unrepresentable, describe_type
from qwed.domain.money import MAX_USD
from qwed.domain.outcomes import Result
from qwed.domain.parameters import has_surrogate
from qwed.domain.risk import RISK_NAMES, Risk
from qwed.gateway.answers import RequestError, malformed

T = TypeVar("T")

MAX_NAME: Final = 256
MAX_TEXT: Final = 4_096
MAX_COUNT: Final = 2**53 - 1


class ActionBody(msgspec.Struct, forbid_unknown_fields=True):
    type: str | None = None
    action_type: str | None = None
    query: str | None = None
    code: str | None = None
    target: str | None = None
    parameters: Any = None


class OptionsBody(msgspec.Struct, forbid_unknown_fields=True):
    require_attestation: bool = False
    risk_threshold: str | None = None


class UsageBody(msgspec.Struct, forbid_unknown_fields=True):
    cost_usd: Decimal | None = None
    tokens: int | None = None


class VerifyBody(msgspec.Struct, forbid_unknown_fields=True):
    action: ActionBody
    context: Any = None
    options: OptionsBody | None = None
    usage: UsageBody | None = None
    agent_id: str | None = None
    agent_token: str | None = None


class ToolCallBody(msgspec.Struct, forbid_unknown_fields=True):
    tool_name: str
    parameters: Any = None


class ToolBody(msgspec.Struct, forbid_unknown_fields=True):
    tool_call: ToolCallBody | None = None
    parameters: Any = None
    justification: str | None = None
    context: Any = None
    usage: UsageBody | None = None
    agent_id: str | None = None
    agent_token: str | None = None


class OutcomeBody(msgspec.Struct, forbid_unknown_fields=True):
    outcome: Result
    result_hash: str | None = None
    error: str | None = None
    usage: UsageBody | None = None


class Usage(msgspec.Struct, frozen=True):
    cost_usd: Decimal
    tokens: int


NO_USAGE: Final = Usage(Decimal(0), 0)


class VerifyRequest(msgspec.Struct, frozen=True):
    action: Action
    #: As sent: not always an object. `Action.parameters` is empty where this is not one.
    parameters: Any
    context: Any
    usage: Usage
    require_attestation: bool = False
    risk_threshold: Risk | None = None
    idempotency: bytes | None = None


def convert(raw: Any, kind: type[T]) -> T:
    """`raw` as `kind`, or a 422 that names the field."""
    try:
        return msgspec.convert(raw, kind)
    except msgspec.ValidationError as error:
        message, _, path = str(error).partition(" - at `")
        inside = path.rstrip("`").removeprefix("$").lstrip(".")
        absent = _ABSENT_OR_UNKNOWN.search(message)
        field = ".".join(filter(None, (inside, absent and absent[1]))) or "body"
        raise malformed(field[:200], _explained(message, raw, field)) from None


# msgspec puts these names into its sentence, not into its path.
_ABSENT_OR_UNKNOWN: Final = re.compile(
    r"^Object (?:missing required|contains unknown) field `(.*)`$", re.DOTALL
)


def _explained(message: str, raw: Any, field: str) -> str:
    value = _at(raw, field)
    return f"is {value.why}" if isinstance(value, Unrepresentable) else message


def _at(raw: Any, field: str) -> Any:
    for name in field.split("."):
        raw = raw.get(name) if isinstance(raw, Mapping) else None
    return raw


def read_verify(raw: Any, idempotency: bytes | None = None) -> VerifyRequest:
    body = convert(raw, VerifyBody)
    action = body.action
    for field in ("type", "action_type", "query", "code", "target"):
        _refuse_surrogates(f"action.{field}", getattr(action, field))
    _refuse_odd_text("context.user_intent", _intent(body.context))
    options = body.options or OptionsBody()
    threshold = options.risk_threshold
    if threshold is not None and threshold not in RISK_NAMES:
        raise malformed("options.risk_threshold", f"is one of {', '.join(RISK_NAMES)}")
    parameters = {} if action.parameters is None else action.parameters
    return VerifyRequest(
        action=Action(
            _action_type(action),
            action.query,
            action.code,
            action.target,
            parameters if isinstance(parameters, Mapping) else {},
        ),
        parameters=parameters,
        context=body.context,
        usage=read_usage(body.usage),
        require_attestation=options.require_attestation,
        risk_threshold=None if threshold is None else Risk.from_wire(threshold),
        idempotency=idempotency,
    )


def _action_type(action: ActionBody) -> str:
    name = action.type if action.type is not None else action.action_type
    if name is None:
        raise malformed("action.type", "is missing")
    if action.action_type not in (None, name):
        raise malformed("action.action_type", "differs from action.type")
    if len(name) > MAX_NAME:
        raise malformed("action.type", f"is longer than {MAX_NAME} characters")
    return name


def _refuse_surrogates(field: str, text: str | None) -> None:
    """JSON from the wire has none left; a caller in this process may still pass some."""
    if text is not None and not text.isascii() and has_surrogate(text):
        raise malformed(field, "holds a lone surrogate")


def _intent(context: Any) -> Any:
    return context.get("user_intent") if isinstance(context, Mapping) else None


def _refuse_odd_text(field: str, value: Any) -> None:
    if value is None:
        return
    if not isinstance(value, str):
        raise malformed(field, f"is a string, not {describe_type(value)}")
    if len(value) > MAX_TEXT:
        raise malformed(field, f"is longer than {MAX_TEXT} characters")


def read_usage(body: UsageBody | None) -> Usage:
    """The caller's figures, bounded so that sums stay exact."""
    if body is None:
        return NO_USAGE
    cost, tokens = body.cost_usd or Decimal(0), body.tokens or 0
    if not cost.is_finite() or not 0 <= cost <= MAX_USD:
        raise malformed("usage.cost_usd", f"is an amount from 0 to {MAX_USD}")
    if not 0 <= tokens <= MAX_COUNT:
        raise malformed("usage.tokens", f"is an integer from 0 to {MAX_COUNT}")
    return Usage(cost, tokens)


def read_parameters(raw: Any, field: str) -> Mapping[str, Any]:
    if raw is None:
        return {}
    if not isinstance(raw, Mapping):
        raise malformed(field, f"is an object, not {describe_type(raw)}")
    return raw


__all__ = [
    "NO_USAGE",
    "OutcomeBody",
    "RequestError",
    "ToolBody",
    "Usage",
    "VerifyRequest",
    "convert",
    "read_parameters",
    "read_usage",
    "read_verify",
]
