"""State an agent cannot corrupt: structure, transition and atomic commit, verified in that order."""

from qwed.guards.agent_state.guard import MAX_BYTES, AgentStateGuard, StateResult
from qwed.guards.agent_state.refusal import StateCode
from qwed.guards.agent_state.state_text import MAX_DEPTH

__all__ = ["MAX_BYTES", "MAX_DEPTH", "AgentStateGuard", "StateCode", "StateResult"]
