"""Workflows: registered with the policy token that holds their rules, and shown with how far they are."""

from typing import Any

import msgspec

from qwed.domain.agents import PrincipalId
from qwed.domain.codes import Code
from qwed.domain.credentials import Caller, Scope
from qwed.domain.times import iso
from qwed.domain.workflows import Workflow
from qwed.ect.jws import InvalidToken
from qwed.ect.keys import KeyRing
from qwed.ect.policy_tokens import (
    InvalidPolicy,
    TokenPolicy,
    issue_policy,
    verify_policy,
)
from qwed.ect.verifier import TrustedKeys
from qwed.gateway.decide.workflow_policies import policy_of
from qwed.gateway.decide.workflow_rules import is_named
from qwed.gateway.kernel.answers import Answer, malformed, refuse
from qwed.gateway.kernel.changes import noted
from qwed.gateway.kernel.records import Record
from qwed.gateway.kernel.requests import convert
from qwed.gateway.kernel.services import Services
from qwed.gateway.kernel.visibility import require_operator, require_own_or_scope, require_scope


class WorkflowBody(msgspec.Struct, forbid_unknown_fields=True):
    """Either a policy token, or the rules themselves, which the gateway then signs (operators only)."""

    policy_token: str | None = None
    dag: Any = None
    hitl: Any = None
    lifetime_seconds: int = 86_400


async def register_workflow(services: Services, caller: Caller, raw: Any) -> Answer:
    require_scope(caller, Scope.REGISTER)
    body = convert(raw, WorkflowBody)
    now_ms = services.clock.now_ms()
    token = body.policy_token if body.policy_token is not None else _issue(services, caller, body, now_ms)
    try:
        found = verify_policy(
            token, _issuers(services), {services.signer.issuer}, now_ms // 1000, services.issuers.algorithms
        )
    except InvalidToken as error:
        raise malformed("policy_token", f"is not accepted: {error}") from None
    owner = caller.principal_id or PrincipalId("")
    workflow = Workflow(found.jti, owner, token, now_ms, found.exp * 1000)
    if await services.store.workflow(found.jti) is not None:
        raise refuse(Code.WORKFLOW_REFUSED, "a workflow of this id is registered already")
    details = {"workflow_id": found.jti, "iss": found.iss, "nodes": len(found.policy.nodes)}
    activity = noted(services, caller, "register_workflow", details, principal_id=owner)
    await services.store.commit(Record(activity, workflow=workflow))
    return Answer({**await _show(services, workflow), "policy_token": token}, status=201)


def _issue(services: Services, caller: Caller, body: WorkflowBody, now_ms: int) -> str:
    require_operator(caller)
    if not isinstance(services.signer, KeyRing):
        raise refuse(Code.WORKFLOW_REFUSED, "this gateway has no key to sign a policy with")
    if not 60 <= body.lifetime_seconds <= 31_536_000:
        raise malformed("lifetime_seconds", "is from a minute to a year")
    issuer, now = services.signer.issuer, now_ms // 1000
    try:
        human = {} if body.hitl is None else body.hitl
        return issue_policy(services.signer, issuer, body.dag, human, now, body.lifetime_seconds)
    except (InvalidPolicy, TypeError) as error:
        raise malformed("dag", str(error)) from None


def _issuers(services: Services) -> TrustedKeys:
    own, keys = services.signer, services.issuers.keys
    return keys.joined(TrustedKeys.of_ring(own)) if isinstance(own, KeyRing) else keys


async def show_workflow(services: Services, caller: Caller, workflow_id: str) -> Answer:
    require_own_or_scope(caller, Scope.READ)
    workflow = await services.store.workflow(workflow_id)
    if workflow is None or not await _may_see(services, caller, workflow):
        raise refuse(Code.NOT_FOUND, f"there is no workflow {workflow_id[:80]!r}")
    return Answer(await _show(services, workflow))


async def _may_see(services: Services, caller: Caller, workflow: Workflow) -> bool:
    if caller.is_operator or caller.principal_id == workflow.principal_id:
        return True
    agent = await services.store.agent(caller.agent_id) if caller.agent_id is not None else None
    return agent is not None and any(
        is_named(node.agent, agent) for node in policy_of(workflow).nodes.values()
    )


async def _show(services: Services, workflow: Workflow) -> dict[str, Any]:
    policy = policy_of(workflow)
    completed = await services.store.find_completed_nodes(workflow.workflow_id)
    return {
        "workflow_id": workflow.workflow_id,
        "expires_at": iso(workflow.expires_ms),
        "nodes": [
            {
                "id": node.id,
                "agent": node.agent,
                "action": node.action,
                "critical": node.critical,
                "after": policy.parents[node.id],
                "state": _state(policy, node.id, completed),
            }
            for node in policy.nodes.values()
        ],
    }


def _state(policy: TokenPolicy, node_id: str, completed: frozenset[str]) -> str:
    if node_id in completed:
        return "completed"
    return "ready" if policy.before(node_id) <= completed else "waiting"
