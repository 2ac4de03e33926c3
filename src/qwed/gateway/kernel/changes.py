"""Changes that people make, recorded like decisions: who, what, when."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from qwed.domain.agents import GATEWAY as GATEWAY
from qwed.domain.agents import Agent, AgentId, PrincipalId
from qwed.domain.codes import Refusal
from qwed.domain.credentials import Caller
from qwed.domain.decisions import Decision
from qwed.domain.money import usd_of
from qwed.domain.nodes import NOTED as NOTED
from qwed.domain.nodes import jti_of
from qwed.domain.times import iso
from qwed.gateway.kernel.masks import shown
from qwed.gateway.kernel.records import Activity
from qwed.gateway.kernel.services import Services
from qwed.gateway.kernel.wire import encode_json


def noted(
    services: Services,
    caller: Caller | None,
    what: str,
    details: Mapping[str, Any],
    *,
    agent: Agent | None = None,
    agent_id: AgentId = GATEWAY,
    principal_id: PrincipalId | None = None,
    cost_nano: int = 0,
    tokens: int = 0,
    caused_by: Sequence[str] = (),
    activity_id: str | None = None,
    refusal: Refusal | None = None,
    is_forged: bool = False,
    passkey: Any = None,
) -> Activity:
    """`caused_by` are activities that led to this one. Without a caller the gateway itself acts. With a
    `refusal` it is something that was not allowed; `is_forged` says that a signature was wrong, which is
    charged to the agent whose credential it came with, and to nobody where a key was used. `passkey` is kept
    as it is: a signature that was cut or masked proves nothing."""
    now_ms = services.clock.now_ms()
    activity_id = activity_id or services.ids.activity(now_ms)
    agent_id = agent.agent_id if agent else agent_id
    par = tuple(jti_of(cause) for cause in dict.fromkeys(caused_by) if cause)
    owner = agent.principal_id if agent else principal_id or PrincipalId("")
    decision = NOTED if refusal is None else Decision.DENIED.value
    entry: dict[str, Any] = {
        "activity_id": activity_id,
        "agent_id": agent_id,
        "timestamp": iso(now_ms),
        "action_type": what,
        "action": {"type": what, "parameters": shown(details)},
        "context": None,
        "decision": decision,
        "cost": {"usd": usd_of(cost_nano), "tokens": tokens},
        "requested_by": caller.name if caller else GATEWAY,
        "policy_version": services.policy.version,
        "ect_jti": jti_of(activity_id),
        "ect_par": par,
    }
    if refusal is not None:
        entry["error_code"], entry["error"] = refusal.code.value, shown(refusal.to_wire())
    if passkey is not None:
        entry["passkey"] = msgspec.to_builtins(passkey)
    if is_forged and caller is not None and caller.agent_id is not None:
        entry["attestation_invalid"] = True
    return Activity(
        activity_id=activity_id,
        agent_id=agent_id,
        principal_id=owner,
        at_ms=now_ms,
        action_type=what,
        decision=decision,
        error_code=None if refusal is None else refusal.code.value,
        conversation_id=None,
        cost_nano=cost_nano,
        tokens=tokens,
        fingerprint=b"",
        payload=encode_json(entry),
        par=par,
    )
