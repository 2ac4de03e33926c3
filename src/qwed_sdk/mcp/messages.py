"""JSON-RPC messages, read only as deep as the proxy has to understand them.

The envelope is read and written again, so that both sides see the same one whatever a sender put
twice or spelled differently; what it carries passes as the bytes it came in. What the gateway has to
judge is read strictly, and what was judged is what is sent on.
"""

import json
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Final, Literal

import msgspec

from qwed.domain.json_text import JsonError, Unrepresentable, loads

MessageId = int | str

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603
SERVER_GONE: Final = -32000
#: Ours: the server's answer was skipped because of its size.
TOO_LARGE: Final = -32090

CALL: Final = "tools/call"
LIST: Final = "tools/list"
READ: Final = "resources/read"
PROMPT: Final = "prompts/get"
TASK_RESULT: Final = "tasks/result"
TASK_GET: Final = "tasks/get"
CANCELLED: Final = "notifications/cancelled"
PROGRESS: Final = "notifications/progress"
TOOLS_CHANGED: Final = "notifications/tools/list_changed"

#: What a request of each kind may name; another spelling of one of these could be read by some servers.
_KNOWN_PARAMS: Final = frozenset(
    {"name", "uri", "arguments", "_meta", "task", "inputResponses", "requestState", "cursor"}
)


class MalformedMessage(ValueError):
    """Not a message of the protocol; the text says why."""


class McpMessage(msgspec.Struct, frozen=True, omit_defaults=True):
    jsonrpc: Literal["2.0"]
    id: MessageId | msgspec.UnsetType | None = msgspec.UNSET
    method: str | msgspec.UnsetType = msgspec.UNSET
    params: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    result: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    error: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET

    @property
    def is_request(self) -> bool:
        return self.method is not msgspec.UNSET and self.id is not msgspec.UNSET

    @property
    def is_notification(self) -> bool:
        return self.method is not msgspec.UNSET and self.id is msgspec.UNSET


_decoder: Final = msgspec.json.Decoder(McpMessage)
_encoder: Final = msgspec.json.Encoder()


def read_message(line: bytes) -> McpMessage:
    """One message. Raises `MalformedMessage` only."""
    try:
        message = _decoder.decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise MalformedMessage(f"not a JSON-RPC message: {error}") from None
    except RecursionError:
        raise MalformedMessage("not a JSON-RPC message: nested too deeply") from None
    if message.method is msgspec.UNSET:
        if message.id is msgspec.UNSET or (message.result is msgspec.UNSET) == (
            message.error is msgspec.UNSET
        ):
            raise MalformedMessage("neither a request, a notification nor a response")
    elif message.id is None:
        raise MalformedMessage("a request's id is a number or a string")
    return message


def encode(message: McpMessage) -> bytes:
    return _encoder.encode(message)


def request(id: MessageId, method: str, params: Any = None) -> McpMessage:
    return McpMessage("2.0", id=id, method=method, params=raw(params if params is not None else {}))


def notification(method: str, params: Any) -> McpMessage:
    return McpMessage("2.0", method=method, params=raw(params))


def response(id: MessageId, result: Any) -> McpMessage:
    return McpMessage("2.0", id=id, result=raw(result))


def error(id: MessageId | None, code: int, text: str) -> McpMessage:
    return McpMessage("2.0", id=id, error=raw({"code": code, "message": text}))


def id_of(message: McpMessage) -> MessageId:
    assert isinstance(message.id, int | str)
    return message.id


def progress_token(params: Mapping[str, Any]) -> MessageId | None:
    """What a request wants its progress to be called by."""
    meta = params.get("_meta")
    token = meta.get("progressToken") if isinstance(meta, dict) else None
    return token if isinstance(token, int | str) and not isinstance(token, bool) else None


def raw(value: Any) -> msgspec.Raw:
    """Finite numbers only: what has no JSON value must not become null on its way."""
    if isinstance(value, msgspec.Raw):
        return value
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return msgspec.Raw(text.encode())


def object_of(value: msgspec.Raw | msgspec.UnsetType) -> dict[str, Any]:
    """An object that every reader reads alike: no key twice, nothing without a JSON value."""
    if isinstance(value, msgspec.UnsetType):
        return {}
    try:
        read = _plain(loads(bytes(value)))
    except JsonError as problem:
        raise MalformedMessage(str(problem)) from None
    if not isinstance(read, dict):
        raise MalformedMessage("expected an object")
    return read


def params_of(message: McpMessage) -> dict[str, Any]:
    """The parameters of what the gateway judges. A known name in another spelling is refused."""
    params = object_of(message.params)
    for name in params:
        if name not in _KNOWN_PARAMS and name.casefold() in _FOLDED_PARAMS:
            raise MalformedMessage(f"{name[:40]!r} could be read as another parameter")
    return params


_FOLDED_PARAMS: Final = frozenset(name.casefold() for name in _KNOWN_PARAMS)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, Unrepresentable):
        raise MalformedMessage(f"{value.why} has no JSON value")
    return value


class CallResult(msgspec.Struct, frozen=True):
    """The part of a tool's result that says how it went."""

    isError: bool = False
    resultType: str = "complete"
    requestState: str | None = None
    task: dict[str, Any] | None = None


_results: Final = msgspec.json.Decoder(CallResult)


def read_call_result(result: msgspec.Raw) -> CallResult:
    try:
        return _results.decode(result)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as problem:
        raise MalformedMessage(f"the result of a tool is an object: {problem}") from None


def tool_error(text: str, details: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """An answer that a model can read and act on."""
    result: dict[str, Any] = {
        "content": [{"type": "text", "text": text}],
        "isError": True,
        "resultType": "complete",
    }
    if details:
        result["_meta"] = {"qwed/decision": dict(details)}
    return result
