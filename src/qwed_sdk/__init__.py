"""The client of a QWED gateway. Names are imported when they are first used."""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from qwed_sdk.async_client import AsyncQWEDClient
    from qwed_sdk.async_conversation import AsyncConversation
    from qwed_sdk.client import QWEDClient
    from qwed_sdk.conversation import Conversation
    from qwed_sdk.conversations import ActionDenied, Permit
    from qwed_sdk.decorator import verified
    from qwed_sdk.errors import GatewayUnavailable, QWEDError, RateLimited, RequestRefused
    from qwed_sdk.reported_values import user_says
    from qwed_sdk.results import Agent as Agent
    from qwed_sdk.results import Approval, Decision, ToolDecision
    from qwed_sdk.tool_gate import ToolGate, ToolRefused, tool_run
    from qwed_sdk.tool_map import ToolAs

#: Without `Agent`: `from qwed_sdk import *` must not hide the class of that name of any framework.
__all__ = [
    "ActionDenied",
    "Approval",
    "AsyncConversation",
    "AsyncQWEDClient",
    "Conversation",
    "Decision",
    "GatewayUnavailable",
    "Permit",
    "QWEDClient",
    "QWEDError",
    "RateLimited",
    "RequestRefused",
    "ToolAs",
    "ToolDecision",
    "ToolGate",
    "ToolRefused",
    "UnprotectedAgent",
    "tool_run",
    "user_says",
    "verified",
]

_HOMES = {
    "ActionDenied": "qwed_sdk.conversations",
    "Agent": "qwed_sdk.results",
    "Approval": "qwed_sdk.results",
    "AsyncConversation": "qwed_sdk.async_conversation",
    "AsyncQWEDClient": "qwed_sdk.async_client",
    "Conversation": "qwed_sdk.conversation",
    "Decision": "qwed_sdk.results",
    "GatewayUnavailable": "qwed_sdk.errors",
    "Permit": "qwed_sdk.conversations",
    "QWEDClient": "qwed_sdk.client",
    "QWEDError": "qwed_sdk.errors",
    "RateLimited": "qwed_sdk.errors",
    "RequestRefused": "qwed_sdk.errors",
    "ToolAs": "qwed_sdk.tool_map",
    "ToolDecision": "qwed_sdk.results",
    "ToolGate": "qwed_sdk.tool_gate",
    "ToolRefused": "qwed_sdk.tool_gate",
    "UnprotectedAgent": "qwed_sdk.sub_agents",
    "tool_run": "qwed_sdk.tool_gate",
    "user_says": "qwed_sdk.reported_values",
    "verified": "qwed_sdk.decorator",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = value
    return value
