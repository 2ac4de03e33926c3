"""The import path that the documents print."""

from qwed.guards.agent_state import AgentStateGuard

__all__ = ["AgentStateGuard"]
