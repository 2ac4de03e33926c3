"""What is unusual about an action that waits, beside what its agent was allowed to do before."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from qwed.domain.approvals import Approval, ApprovalKind
from qwed.domain.credentials import Caller, Scope
from qwed.domain.decisions import Decision
from qwed.domain.habits import ComparedAction, differences
from qwed.domain.json_types import Json
from qwed.domain.risk import Risk
from qwed.gateway.approvals.read_approvals import visible_approval
from qwed.gateway.kernel.answers import Answer
from qwed.gateway.kernel.records import Activity, SearchQuery
from qwed.gateway.kernel.services import Services
from qwed.gateway.kernel.visibility import require_own_or_scope

#: How far back "usually" reaches.
PAST: Final = 500
_RISKS: Final[Mapping[str, Risk]] = {risk.wire: risk for risk in Risk}


async def compare_approval(services: Services, caller: Caller, approval_id: str) -> Answer:
    require_own_or_scope(caller, Scope.READ)
    approval = await visible_approval(services, caller, approval_id)
    agent = await services.store.agent(approval.agent_id)
    body: dict[str, Json] = {
        "approval_id": approval_id,
        "agent": None if agent is None else agent.to_wire(),
        "compared_with": 0,
        "differences": [],
    }
    if approval.kind is ApprovalKind.ACTION:
        entries = (await services.store.search(_before(approval))).entries
        past = [_deed_of(entry) for entry, _ in entries if entry.at_ms <= approval.created_ms]
        body["compared_with"] = len(past)
        body["differences"] = differences(_describe_asked(approval), past)
    return Answer(body)


def _before(approval: Approval) -> SearchQuery:
    """What was let through: by trying again and again nothing becomes usual."""
    return SearchQuery(
        approval.principal_id,
        agent_id=approval.agent_id,
        to_ms=approval.created_ms + 1,
        decision=Decision.APPROVED.value,
        limit=PAST,
    )


def _describe_asked(approval: Approval) -> ComparedAction:
    action = approval.action
    return _deed(action.get("type"), action, approval.created_ms, approval.risk)


class _Entry(msgspec.Struct):
    action: Any = None
    verification: Any = None


def _deed_of(activity: Activity) -> ComparedAction:
    try:
        entry = msgspec.json.decode(activity.payload, type=_Entry)
    except msgspec.DecodeError:
        entry = _Entry()
    examined = entry.verification if isinstance(entry.verification, dict) else {}
    risk = _RISKS.get(str(examined.get("risk_level")))
    return _deed(activity.action_type, entry.action, activity.at_ms, risk)


def _deed(action_type: Any, action: Any, at_ms: int, risk: Risk | None) -> ComparedAction:
    members: Mapping[str, Json] = action if isinstance(action, Mapping) else {}
    parameters = members.get("parameters")
    target, query, code = (_text(members.get(name)) for name in ("target", "query", "code"))
    return ComparedAction(
        str(action_type),
        at_ms,
        target,
        parameters if isinstance(parameters, Mapping) else {},
        risk,
        query,
        code,
    )


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None
