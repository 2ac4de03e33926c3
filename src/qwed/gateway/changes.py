"""Changes that people make, recorded like decisions: who, what, when."""

from collections.abc import Mapping
from typing import Any

from qwed.domain.agents import Agent, AgentId, PrincipalId
from qwed.domain.credentials import Caller
from qwed.domain.times import iso
from qwed.gateway.masking import shown
from qwed.gateway.records import Activity
from qwed.gateway.services import Services
from qwed.gateway.wire import encode_json

#: What such an entry has in place of a decision.
NOTED = "NOTED"

#: Entries that concern no agent are kept under this name.
GATEWAY = AgentId("gateway")


def noted(
    services: Services,
    caller: Caller,
    what: str,
    details: Mapping[str, Any],
    *,
    agent: Agent | None = None,
    principal_id: PrincipalId | None = None,
    cost_nano: int = 0,
    tokens: int = 0,
) -> Activity:
    now_ms = services.clock.now_ms()
    activity_id = services.ids.activity(now_ms)
    agent_id = agent.agent_id if agent else GATEWAY
    owner = agent.principal_id if agent else principal_id or PrincipalId("")
    entry = {
        "activity_id": activity_id,
        "agent_id": agent_id,
        "timestamp": iso(now_ms),
        "action_type": what,
        "action": {"type": what, "parameters": shown(details)},
        "decision": NOTED,
        "requested_by": caller.name,
        "policy_version": services.policy.version,
    }
    return Activity(
        activity_id=activity_id,
        agent_id=agent_id,
        principal_id=owner,
        at_ms=now_ms,
        action_type=what,
        decision=NOTED,
        error_code=None,
        conversation_id=None,
        cost_nano=cost_nano,
        tokens=tokens,
        fingerprint=b"",
        payload=encode_json(entry),
    )
