"""What waits for a person, as its agent, its principal or an operator may see it."""

from qwed.domain.agents import AgentId
from qwed.domain.approvals import Approval, ApprovalStatus
from qwed.domain.codes import Code
from qwed.domain.credentials import Caller, Scope
from qwed.domain.json_types import Json
from qwed.gateway.kernel.answers import Answer, malformed, refuse
from qwed.gateway.kernel.services import Services
from qwed.gateway.kernel.visibility import names_of, require_own_or_scope


async def list_approvals(
    services: Services,
    caller: Caller,
    *,
    agent_id: str | None,
    status: str | None,
    after: str | None,
    limit: int,
) -> Answer:
    require_own_or_scope(caller, Scope.READ)
    if status is not None and status not in tuple(ApprovalStatus):
        raise malformed("status", f"is one of {', '.join(ApprovalStatus)}")
    now_ms = services.clock.now_ms()
    agent = caller.agent_id or (None if agent_id is None else AgentId(agent_id))
    found = await services.store.approvals(caller.principal_id, agent, status, now_ms, after, limit + 1)
    page = found[:limit]
    body: dict[str, Json] = {
        "approvals": [approval.to_wire(now_ms) for approval in page],
        "agents": await names_of(services, {approval.agent_id for approval in page}),
    }
    if len(found) > limit:
        body["next"] = page[-1].approval_id
    return Answer(body)


async def show_approval(services: Services, caller: Caller, approval_id: str) -> Answer:
    require_own_or_scope(caller, Scope.READ)
    approval = await visible_approval(services, caller, approval_id)
    return Answer(approval.to_wire(services.clock.now_ms()))


async def visible_approval(services: Services, caller: Caller, approval_id: str) -> Approval:
    """The approval, if the caller is its agent, its principal or an operator."""
    approval = await services.store.approval(approval_id)
    if approval is None or not _is_visible(caller, approval):
        raise refuse(Code.APPROVAL_UNKNOWN, f"there is no approval {approval_id[:80]!r}")
    return approval


def _is_visible(caller: Caller, approval: Approval) -> bool:
    if caller.agent_id is not None:
        return approval.agent_id == caller.agent_id
    return caller.is_operator or approval.principal_id == caller.principal_id
