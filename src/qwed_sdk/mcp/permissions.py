"""Which tools an agent may use at all: for what is shown. Each call is still decided by the gateway."""

from collections.abc import Mapping
from typing import Any

import msgspec

from qwed.domain.registry import TOOL_CONTROL
from qwed.domain.skeleton import compact_skeleton
from qwed.domain.tools import skeletons
from qwed_sdk.async_client import AsyncQWEDClient
from qwed_sdk.errors import GatewayUnavailable


class KnownActions(msgspec.Struct, frozen=True):
    """Action types with a meaning and their engines, and what this agent was given."""

    engines: Mapping[str, str]
    allowed_engines: frozenset[str]
    allowed_tools: frozenset[str]
    blocked: frozenset[str]

    def refusal(self, action_type: str) -> str | None:
        """Why the gateway would never let this agent do it, or None where it depends on the call."""
        if compact_skeleton(action_type) in self.blocked:
            return "blocked"
        engine = self.engines.get(action_type)
        if engine is None:
            return None if action_type in self.allowed_tools else "unknown"
        if engine != TOOL_CONTROL and engine not in self.allowed_engines:
            return "engine not allowed"
        return None


async def read_permissions(client: AsyncQWEDClient, agent_id: str) -> KnownActions:
    """Raises `QWEDError`."""
    agent = await client.get_agent(agent_id)
    actions = await client.actions()
    try:
        return permissions_of(agent["permissions"], actions)
    except (KeyError, TypeError, AttributeError):
        raise GatewayUnavailable("the gateway describes permissions or actions in an unknown way") from None


def permissions_of(granted: Mapping[str, Any], actions: list[Any]) -> KnownActions:
    return KnownActions(
        engines={row["name"]: row["engine"] for row in actions},
        allowed_engines=frozenset(granted.get("allowed_engines") or ()),
        allowed_tools=frozenset(granted.get("allowed_tools") or ()),
        blocked=skeletons(tuple(granted.get("blocked_tools") or ())),
    )
