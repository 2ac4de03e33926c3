"""Untrusted JSON to typed requests. Every mistake is named by its field."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Annotated, Any, Final, TypeVar

import msgspec

from qwed.domain.actions import Action
from qwed.domain.json_text import describe_type
from qwed.domain.money import MAX_USD
from qwed.domain.outcomes import OutcomeResult
from qwed.domain.parameters import has_surrogate
from qwed.domain.risk import RISK_NAMES, Risk
from qwed.gateway.kernel.answers import RequestError, malformed
from qwed.gateway.kernel.masks import conceal_conversation
from qwed.gateway.kernel.mistakes import mistake_in
from qwed.gateway.kernel.wire import encode_json

T = TypeVar("T")

MAX_NAME: Final = 256
MAX_TEXT: Final = 4_096
MAX_COUNT: Final = 2**53 - 1
#: How much of a caller's own words a refusal repeats.
MAX_SHOWN: Final = 200


#: US dollars, read untyped (`read_amount`): as `Decimal`, a text would pass for a number.
Amount = Annotated[Any, msgspec.Meta(extra_json_schema={"type": ["number", "null"], "minimum": 0})]


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
    permit: bool = False


_NO_OPTIONS: Final = OptionsBody()


class UsageBody(msgspec.Struct, forbid_unknown_fields=True):
    cost_usd: Amount = None
    tokens: int | None = None


class PasskeyAnswer(msgspec.Struct, forbid_unknown_fields=True):
    """What a browser says of a passkey (WebAuthn), in answer to what the gateway asked, which is `flow`."""

    flow: str
    credential: dict[str, Any]


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
    outcome: OutcomeResult
    result_hash: str | None = None
    error: str | None = None
    usage: UsageBody | None = None
    #: What the tool returned, cut by the sender (`truncated`), and what the user wrote since.
    result: Any = None
    messages: Any = None
    truncated: bool = False


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
    #: Execution context tokens, as they came.
    presented: tuple[str, ...] = ()
    wants_permit: bool = False
    #: The gateway numbers its step; never read from a request.
    takes_next_step: bool = False


class ToolRequest(msgspec.Struct, frozen=True):
    tool_name: str
    #: As sent, like a `VerifyRequest`'s.
    parameters: Any
    context: Any
    usage: Usage
    justification: str | None = None
    presented: tuple[str, ...] = ()
    idempotency: bytes | None = None


def convert(raw: Any, kind: type[T]) -> T:
    """`raw` as `kind`, or a 422 that names the field."""
    try:
        value = msgspec.convert(raw, kind)
    except msgspec.ValidationError as error:
        mistake = mistake_in(raw, kind, error)
        raise malformed(mistake.field[:MAX_SHOWN], mistake.message) from None
    except (ValueError, RecursionError):
        # Only a caller in this process can pass what no JSON text could hold.
        raise malformed("body", "holds a number or a nesting that can't be read") from None
    # JSON from the wire has none left; a caller in this process may still pass some.
    if not _is_unicode(value) and (place := _surrogate_in(value)) is not None:
        raise malformed(place or "body", "holds a lone surrogate")
    return value


def _is_unicode(value: Any) -> bool:
    """Whether all of it can be written: one call answers for every text that there is."""
    try:
        encode_json(value)
    except (UnicodeEncodeError, RecursionError, ValueError, TypeError, OverflowError):
        return False
    return True


def _surrogate_in(value: Any) -> str | None:
    """The path to a text that is no Unicode. What is read untyped has checks of its own."""
    if isinstance(value, str):
        return "" if not value.isascii() and has_surrogate(value) else None
    if isinstance(value, msgspec.Struct):
        for name, inside in zip(value.__struct_fields__, msgspec.structs.astuple(value), strict=True):
            kind = type(inside)
            if inside is None or kind is dict or (kind is str and inside.isascii()):
                continue
            if (path := _surrogate_in(inside)) is not None:
                return f"{name}.{path}".rstrip(".")
    elif isinstance(value, tuple):
        return next((path for path in map(_surrogate_in, value) if path is not None), None)
    return None


def read_verify(raw: Any, idempotency: bytes | None = None, presented: tuple[str, ...] = ()) -> VerifyRequest:
    body = convert(raw, VerifyBody)
    action = body.action
    check_intent(body.context)
    options = body.options or _NO_OPTIONS
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
            parameters if type(parameters) is dict or isinstance(parameters, Mapping) else {},
        ),
        parameters=parameters,
        context=conceal_conversation(body.context),
        usage=NO_USAGE if body.usage is None else read_usage(body.usage),
        require_attestation=options.require_attestation,
        risk_threshold=None if threshold is None else Risk.from_wire(threshold),
        idempotency=idempotency,
        presented=presented,
        wants_permit=options.permit,
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


def read_tool(
    tool_name: Any, raw: Any, idempotency: bytes | None = None, presented: tuple[str, ...] = ()
) -> ToolRequest:
    """The tool's name comes with the address of its door, the rest with the body (which may be absent)."""
    _check_text("tool_name", tool_name, MAX_NAME)
    body = convert({} if raw is None else raw, ToolBody)
    parameters = body.parameters
    if body.tool_call is not None:
        if body.tool_call.tool_name != tool_name:
            raise malformed("tool_call.tool_name", "differs from the tool in the path")
        if parameters is not None:
            raise malformed("parameters", "stand inside tool_call, or alone, not both")
        parameters = body.tool_call.parameters
    check_intent(body.context)
    if body.justification is not None:
        _check_text("justification", body.justification, MAX_TEXT)
    return ToolRequest(
        tool_name,
        {} if parameters is None else parameters,
        conceal_conversation(body.context),
        read_usage(body.usage),
        body.justification,
        presented,
        idempotency,
    )


def check_intent(context: Any) -> None:
    """What an agent says of its purpose is shown to the person who approves: a text, of bounded length."""
    is_object = type(context) is dict or isinstance(context, Mapping)
    intent = context.get("user_intent") if is_object else None
    if intent is not None:
        _check_text("context.user_intent", intent, MAX_TEXT)


def check_identifier(field: str, value: Any) -> None:
    """A name from a caller in this process; names from the wire are texts by themselves."""
    _check_text(field, value, MAX_TEXT)


def _check_text(field: str, value: Any, limit: int) -> None:
    if not isinstance(value, str):
        raise malformed(field, f"is a string, not {describe_type(value)}")
    if len(value) > limit:
        raise malformed(field, f"is longer than {limit} characters")
    if not value.isascii() and has_surrogate(value):
        raise malformed(field, "holds a lone surrogate")


def read_usage(body: UsageBody | None) -> Usage:
    """The caller's figures, bounded so that sums stay exact."""
    if body is None:
        return NO_USAGE
    cost = Decimal(0) if body.cost_usd is None else read_amount("usage.cost_usd", body.cost_usd)
    tokens = body.tokens or 0
    if not 0 <= tokens <= MAX_COUNT:
        raise malformed("usage.tokens", f"is an integer from 0 to {MAX_COUNT}")
    return Usage(cost, tokens)


def read_amount(field: str, given: Any) -> Decimal:
    """US dollars, as exactly as they were written."""
    if type(given) not in (int, float, Decimal):
        raise malformed(field, f"is a number, not {describe_type(given)}")
    amount = Decimal(repr(given)) if isinstance(given, float) else Decimal(given)
    if not amount.is_finite() or not 0 <= amount <= MAX_USD:
        raise malformed(field, f"is an amount from 0 to {MAX_USD}")
    return amount


__all__ = [
    "NO_USAGE",
    "Amount",
    "OutcomeBody",
    "RequestError",
    "ToolRequest",
    "Usage",
    "VerifyRequest",
    "check_identifier",
    "convert",
    "read_amount",
    "read_tool",
    "read_usage",
    "read_verify",
]
