"""Policy tokens at the gateway (section 3): an agent acts only at its node, after its predecessors.

A request names its place in `context`: `workflow_id` (the policy token's id) and `node_id`. What the
policy's rules for people ask for can only tighten the decision: a pause waits in the same inbox as
everything else, for somebody with exactly the role that the rule names.
"""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from qwed.assurance.explanations import Thresholds
from qwed.assurance.scores import Confidence
from qwed.domain.agents import Agent, PrincipalId
from qwed.domain.codes import Code, Refusal
from qwed.domain.credentials import Caller, Scope
from qwed.domain.decisions import Decision
from qwed.domain.money import usd_of
from qwed.domain.policy import Profile
from qwed.domain.times import iso
from qwed.domain.workflows import Workflow
from qwed.ect import hitl
from qwed.ect.jws import InvalidToken
from qwed.ect.keys import KeyRing
from qwed.ect.policy_tokens import (
    ActRefusal,
    InvalidPolicy,
    Policy,
    constraints_at,
    issue_policy,
    refusal_to_act,
    verify_policy,
)
from qwed.ect.verifier import TrustedKeys
from qwed.gateway.decide.profile_checks import trust_inputs
from qwed.gateway.decide.proposals import Conclusion, Examined, HumanGate, Place, Proposal
from qwed.gateway.decide.workflow_policies import is_id, policy_of
from qwed.gateway.kernel.answers import Answer, malformed, refuse
from qwed.gateway.kernel.changes import noted
from qwed.gateway.kernel.records import Record
from qwed.gateway.kernel.requests import convert
from qwed.gateway.kernel.services import Services
from qwed.gateway.kernel.visibility import require_operator, require_own_or_scope, require_scope

_REASONS: Final = {
    ActRefusal.NO_SUCH_NODE: "the workflow has no such node",
    ActRefusal.OTHER_AGENT: "the node names another agent",
    ActRefusal.OTHER_ACTION: "the node is for another action",
    ActRefusal.TOO_EARLY: "a node before this one is not completed",
}


class WorkflowBody(msgspec.Struct, forbid_unknown_fields=True):
    """Either a policy token, or the rules themselves, which the gateway then signs (operators only)."""

    policy_token: str | None = None
    dag: Any = None
    hitl: Any = None
    lifetime_seconds: int = 86_400


# --- registering -----------------------------------------------------------------------------------


async def register_workflow(services: Services, caller: Caller, raw: Any) -> Answer:
    require_scope(caller, Scope.REGISTER)
    body = convert(raw, WorkflowBody)
    now_ms = services.clock.now_ms()
    token = body.policy_token if body.policy_token is not None else _issued(services, caller, body, now_ms)
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
    return Answer({**await _shown(services, workflow), "policy_token": token}, status=201)


def _issued(services: Services, caller: Caller, body: WorkflowBody, now_ms: int) -> str:
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
    return Answer(await _shown(services, workflow))


async def _may_see(services: Services, caller: Caller, workflow: Workflow) -> bool:
    if caller.is_operator or caller.principal_id == workflow.principal_id:
        return True
    agent = await services.store.agent(caller.agent_id) if caller.agent_id is not None else None
    return agent is not None and any(_names(node.agent, agent) for node in policy_of(workflow).nodes.values())


async def _shown(services: Services, workflow: Workflow) -> dict[str, Any]:
    policy = policy_of(workflow)
    completed = await services.store.completed_nodes(workflow.workflow_id)
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


def _state(policy: Policy, node_id: str, completed: frozenset[str]) -> str:
    if node_id in completed:
        return "completed"
    return "ready" if policy.before(node_id) <= completed else "waiting"


# --- acting ----------------------------------------------------------------------------------------


def may_be_placed(context: Any) -> bool:
    return isinstance(context, Mapping) and ("workflow_id" in context or "node_id" in context)


async def placed(proposal: Proposal) -> Proposal | Refusal:
    """The proposal at its node of the workflow, or why the agent may not act there now."""
    context = proposal.context
    workflow_id, node_id = context.get("workflow_id"), context.get("node_id")
    if not (is_id(workflow_id) and is_id(node_id)):
        return _refused("workflow_id and node_id are texts, and belong together")
    assert isinstance(workflow_id, str) and isinstance(node_id, str)
    workflow = await proposal.services.store.workflow(workflow_id)
    problem = _unusable(workflow, proposal)
    if workflow is None or problem is not None:
        return _refused(problem or "there is no such workflow")
    policy = policy_of(workflow)
    completed = await proposal.services.store.completed_nodes(workflow_id)
    # What comes along with the request counts: an agent may show what its predecessor completed.
    completed |= {done.node_id for done in proposal.execution.completions if done.workflow_id == workflow_id}
    agent = _name_in(policy, node_id, proposal.agent)
    reason = refusal_to_act(policy, node_id, agent, proposal.action.type, completed)
    if reason is not None:
        return _refused(_REASONS[reason])
    return msgspec.structs.replace(proposal, place=_place(policy, workflow_id, node_id))


def _place(policy: Policy, workflow_id: str, node_id: str) -> Place:
    asked = constraints_at(policy, node_id)
    wanted, profile = asked.min_confidence, asked.assurance_profile
    thresholds = Thresholds(asked.min_trust, None if wanted is None else Confidence[wanted.upper()])
    is_critical = policy.nodes[node_id].critical
    return Place(workflow_id, node_id, None if profile is None else Profile(profile), thresholds, is_critical)


def _unusable(workflow: Workflow | None, proposal: Proposal) -> str | None:
    if workflow is None or workflow.principal_id not in ("", proposal.agent.principal_id):
        return "there is no such workflow"
    if proposal.now_ms >= workflow.expires_ms:
        return "the workflow's policy has expired"
    if proposal.execution.wid not in (None, workflow.workflow_id):
        return "the tokens presented belong to another workflow"
    return None


def _refused(message: str) -> Refusal:
    return Refusal(Code.WORKFLOW_REFUSED, message)


def _names(name: str, agent: Agent) -> bool:
    return name in (agent.did, agent.agent_id)


def _name_in(policy: Policy, node_id: str, agent: Agent) -> str:
    """A policy may name an agent by its DID or by its id."""
    node = policy.nodes.get(node_id)
    return node.agent if node is not None and _names(node.agent, agent) else agent.did


async def under_human_rules(proposal: Proposal, conclusion: Conclusion) -> None:
    """What the workflow's rules make of a conclusion: never more than it was."""
    examined = conclusion.examined
    if proposal.place is None or examined is None or conclusion.decision is Decision.DENIED:
        return
    workflow = await proposal.services.store.workflow(proposal.place.workflow_id)
    if workflow is None:
        conclusion.decision, conclusion.refusal = Decision.DENIED, _refused("there is no such workflow")
        return
    policy = policy_of(workflow)
    unchecked = _open_constraints(proposal, policy, proposal.place.node_id)
    inputs = inputs_of(proposal, examined) | await trust_inputs(proposal)
    _tighten(conclusion, policy, hitl.evaluate(policy.hitl, inputs, unchecked))


def _open_constraints(proposal: Proposal, policy: Policy, node_id: str) -> list[str]:
    """Constraints that are set and that nothing here can check count as triggered."""
    found = constraints_at(policy, node_id)
    names = set(found.unknown)
    if proposal.services.assurance.keeper is None:
        if found.min_trust is not None:
            names.add("apae.min_trust")
        if found.min_confidence is not None:
            names.add("apae.min_confidence")
    return sorted(names)


def inputs_of(proposal: Proposal, examined: Examined) -> dict[str, Any]:
    """What a rule's `input_ref` can name."""
    inputs: dict[str, Any] = {
        "risk": int(examined.risk),
        "trust_level": int(proposal.agent.trust_level),
        "cost_usd": usd_of(proposal.charge.cost),
        "tokens": proposal.charge.tokens,
        "action_type": proposal.action.type,
        "confidence": 1 if examined.finding.status in ("VERIFIED", "CORRECTED") else 0,
    }
    return inputs | {f"parameters.{name}": value for name, value in proposal.action.parameters.items()}


def _tighten(conclusion: Conclusion, policy: Policy, asked: hitl.Verdict) -> None:
    if asked.action is hitl.Action.CONTINUE:
        return
    names = ", ".join(asked.triggered)
    rules = [rule for rule in policy.hitl.rules if rule.id in asked.triggered]
    roles = {rule.required_role for rule in rules}
    may_override = len(rules) == len(asked.triggered) and all(_lets_go_on(rule) for rule in rules)
    # Nobody may lift it, or no one person could lift all of it: then nobody is asked.
    if asked.action is hitl.Action.ABORT or not may_override or len(roles) != 1:
        conclusion.decision = Decision.DENIED
        conclusion.refusal = _refused(f"the workflow's rules stop this: {names}")
        return
    conclusion.decision = Decision.PENDING
    conclusion.refusal = Refusal(Code.APPROVAL_REQUIRED, f"the workflow's rules ask for a person: {names}")
    conclusion.gate = HumanGate(roles.pop(), policy.hitl.timeout_s, asked.triggered)


def _lets_go_on(rule: hitl.Rule) -> bool:
    return rule.allow_override is True and rule.override_action in (None, "continue")
