"""The shapes by which calls, messages and items are recognised, wherever they come from."""

from collections.abc import Mapping
from typing import Any, Final

from qwed.domain.json_types import Json
from qwed_open_responses import items

CALL_NESTS: Final = ("tool_call", "function_call", "function", "functionCall", "toolUse")
ARGUMENT_KEYS: Final = (
    "arguments", "args", "input", "parameters", "tool_input", "tool_kwargs", "kwargs", "action_input",
)  # fmt: skip
NAME_KEYS: Final = ("tool_name", "tool", "recipient_name", "name", "action")
FREE_TEXT_INPUTS: Final = frozenset({"input", "tool_input", "action_input"})
CALL_BOOKKEEPING: Final = frozenset(
    {"name", "id", "type", "index", "call_id", "status", "caller", "namespace", *ARGUMENT_KEYS}
)
MESSAGE_MARKS: Final = ("tool_calls", "invalid_tool_calls", "function_call", "refusal")
ROLES: Final = frozenset(
    {"assistant", "ai", "model", "tool", "user", "system", "developer", "human", "AIMessageChunk"}
)
ENVELOPE: Final = frozenset({"type", "id", "index", "call_id", "status"})


def is_call(value: Any) -> bool:
    if not isinstance(value, Mapping):
        return False
    if items.is_call_type(value.get("type")):
        return True
    if is_surely_a_call(value) or ("tool" in value and "tool_input" in value):
        return True
    if isinstance(value.get("action"), str) and "action_input" in value:
        return True
    return (
        isinstance(value.get("name"), str)
        and any(key in value for key in ARGUMENT_KEYS)
        and CALL_BOOKKEEPING.issuperset(value)
    )


def is_surely_a_call(value: Mapping[Any, Any]) -> bool:
    """Shapes that nothing but a tool call has, wherever they stand."""
    if "tool_name" in value or "recipient_name" in value:
        return isinstance(value.get("tool_name", value.get("recipient_name")), str)
    for nest in CALL_NESTS:
        if nest in value and isinstance(inner := value[nest], Mapping) and "name" in inner:
            return not inner.keys().isdisjoint(ARGUMENT_KEYS)
    kind = value.get("type")
    return isinstance(kind, str) and kind in items.CALLS and isinstance(value.get("name"), str)


def is_message(value: Mapping[str, Json]) -> bool:
    if value.get("role") in ROLES and ("content" in value or "parts" in value or "blocks" in value):
        return True
    if value.get("type") in ROLES and "content" in value:
        return True
    return any(isinstance(value.get(mark), list | dict | str) for mark in MESSAGE_MARKS)


def is_item(value: Any) -> bool:
    if not isinstance(value, Mapping):
        return False
    if is_call(value) or is_message(value):
        return True
    return items.is_harmless_type(value.get("type"))


# These name the tool that they call; the others are calls of a provider's own tools, named by their type.
_NAMED: Final = frozenset(
    {"function_call", "tool_call", "tool_use", "function", "server_tool_use", "mcp_tool_use", "mcp_call",
     "custom_tool_call", "tool-call", "tool_call_delta", "mcp_approval_request"}
)  # fmt: skip


def is_named_by_type(kind: Any) -> bool:
    return items.is_call_type(kind) and kind not in _NAMED


def tool_of(kind: Any) -> str | None:
    """local_shell_call, computer_call, …"""
    if not is_named_by_type(kind):
        return None
    return items.TOOL_OF.get(kind) or str(kind).removesuffix("_call")
