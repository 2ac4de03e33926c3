"""What of a request the gateway decides about, and how its answer gets back into the request."""

from collections.abc import Mapping
from typing import Any

import msgspec

from qwed_sdk.mcp import messages
from qwed_sdk.mcp.messages import MalformedMessage
from qwed_sdk.tool_map import NotShowable, ToolAs, ToolCall, ToolMap, action_of_call


class JudgedParameter(msgspec.Struct, frozen=True):
    """`field` is the parameter that the answer is written to."""

    call: ToolCall
    field: str

    def rewritten(self, params: dict[str, Any], granted: Mapping[str, Any]) -> dict[str, Any]:
        """The parameters as they were granted, which a correction or a person may have changed. Raises
        `NotApplicable`."""
        arguments = self.call.arguments_for(granted)
        if self.field == "uri":
            return {**params, "uri": arguments["uri"]}
        return {**params, "arguments": arguments} if arguments or "arguments" in params else params


def action_type_of(tool: str, tool_map: ToolMap) -> str:
    rule = tool_map.get(tool, tool)
    return rule.action_type if isinstance(rule, ToolAs) else rule


def read_call(params: Mapping[str, Any], tool_map: ToolMap, prefix: str = "") -> JudgedParameter:
    name, arguments = _name_and_arguments(params)
    try:
        return JudgedParameter(action_of_call(prefix + name, arguments, tool_map), "arguments")
    except NotShowable as problem:
        raise MalformedMessage(str(problem)) from None


def read_prompt(params: Mapping[str, Any], tool_map: ToolMap, prefix: str = "") -> JudgedParameter:
    name, arguments = _name_and_arguments(params)
    action: dict[str, Any] = {"type": action_type_of(messages.PROMPT, tool_map), "target": prefix + name}
    if arguments:
        action["parameters"] = arguments
    return JudgedParameter(ToolCall(messages.PROMPT, arguments, action, {}), "arguments")


def read_resource(params: Mapping[str, Any], tool_map: ToolMap, prefix: str = "") -> JudgedParameter:
    uri = params.get("uri")
    if not isinstance(uri, str):
        raise MalformedMessage("a resource has a uri")
    action = {"type": action_type_of(messages.READ, tool_map), "target": uri}
    return JudgedParameter(ToolCall(messages.READ, {"uri": uri}, action, {"target": "uri"}), "uri")


def _name_and_arguments(params: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    name, arguments = params.get("name"), params.get("arguments")
    if not isinstance(name, str) or not isinstance(arguments, dict | None):
        raise MalformedMessage("it has a name, and its arguments are an object")
    return name, arguments or {}
