"""Policy tokens at the gateway (section 3): an agent acts only at its node, after its predecessors.

A request names its place in `context`: `workflow_id` (the policy token's id) and `node_id`. What the
policy's rules for people ask for can only tighten the decision: a pause waits in the same inbox as
everything else, for somebody with exactly the role that the rule names.
"""

from typing import Any, Final

from qwed.assurance.explanations import Thresholds
from qwed.assurance.scores import Confidence
from qwed.domain.agents import Agent
from qwed.domain.codes import Code, Refusal
from qwed.domain.money import usd_of
from qwed.domain.policy import Profile
from qwed.domain.verdicts import APPROVED, Asked, Verdict, ask, refuse_with
from qwed.domain.workflows import Workflow
from qwed.ect import hitl
from qwed.ect.policy_tokens import ActRefusal, TokenPolicy, constraints_at, refusal_to_act
from qwed.gateway.decide.case import Case, Place
from qwed.gateway.decide.scores import trust_inputs
from qwed.gateway.decide.workflow_policies import is_id, policy_of
from qwed.gateway.kernel.services import Services

_REASONS: Final = {
    ActRefusal.NO_SUCH_NODE: "the workflow has no such node",
    ActRefusal.OTHER_AGENT: "the node names another agent",
    ActRefusal.OTHER_ACTION: "the node is for another action",
    ActRefusal.TOO_EARLY: "a node before this one is not completed",
}


async def find_place(services: Services, case: Case) -> Place | Refusal:
    """The node of the workflow, or why the agent may not act there now."""
    workflow_id, node_id = case.context.get("workflow_id"), case.context.get("node_id")
    if not (is_id(workflow_id) and is_id(node_id)):
        return _refuse("workflow_id and node_id are texts, and belong together")
    assert isinstance(workflow_id, str) and isinstance(node_id, str)
    workflow = await services.store.workflow(workflow_id)
    problem = _find_problem(workflow, case)
    if workflow is None or problem is not None:
        return _refuse(problem or "there is no such workflow")
    policy = policy_of(workflow)
    completed = await services.store.find_completed_nodes(workflow_id)
    # What comes along with the request counts: an agent may show what its predecessor completed.
    completed |= {done.node_id for done in case.execution.completions if done.workflow_id == workflow_id}
    agent = _name_in(policy, node_id, case.agent)
    reason = refusal_to_act(policy, node_id, agent, case.action.type, completed)
    return _place_at(policy, workflow_id, node_id) if reason is None else _refuse(_REASONS[reason])


def _place_at(policy: TokenPolicy, workflow_id: str, node_id: str) -> Place:
    asked = constraints_at(policy, node_id)
    wanted, profile = asked.min_confidence, asked.assurance_profile
    thresholds = Thresholds(asked.min_trust, None if wanted is None else Confidence[wanted.upper()])
    is_critical = policy.nodes[node_id].critical
    return Place(workflow_id, node_id, None if profile is None else Profile(profile), thresholds, is_critical)


def _find_problem(workflow: Workflow | None, case: Case) -> str | None:
    if workflow is None or workflow.principal_id not in ("", case.agent.principal_id):
        return "there is no such workflow"
    if case.now_ms >= workflow.expires_ms:
        return "the workflow's policy has expired"
    if case.execution.wid not in (None, workflow.workflow_id):
        return "the tokens presented belong to another workflow"
    return None


def _refuse(message: str) -> Refusal:
    return Refusal(Code.WORKFLOW_REFUSED, message)


def is_named(name: str, agent: Agent) -> bool:
    """A policy may name an agent by its DID or by its id."""
    return name in (agent.did, agent.agent_id)


def _name_in(policy: TokenPolicy, node_id: str, agent: Agent) -> str:
    node = policy.nodes.get(node_id)
    return node.agent if node is not None and is_named(node.agent, agent) else agent.did


async def apply_workflow_rules(services: Services, case: Case) -> Verdict:
    """What the workflow's rules for people make of a case at its node."""
    assert case.place is not None
    workflow = await services.store.workflow(case.place.workflow_id)
    if workflow is None:
        return refuse_with(_refuse("there is no such workflow"))
    policy = policy_of(workflow)
    unchecked = _open_constraints(services, policy, case.place.node_id)
    inputs = _inputs_of(case) | await trust_inputs(services, case)
    return _verdict_of(policy, hitl.evaluate(policy.hitl, inputs, unchecked))


def _open_constraints(services: Services, policy: TokenPolicy, node_id: str) -> list[str]:
    """Constraints that are set and that nothing here can check count as triggered."""
    found = constraints_at(policy, node_id)
    names = set(found.unknown)
    if services.assurance.keeper is None:
        if found.min_trust is not None:
            names.add("apae.min_trust")
        if found.min_confidence is not None:
            names.add("apae.min_confidence")
    return sorted(names)


def _inputs_of(case: Case) -> dict[str, Any]:
    """What a rule's `input_ref` can name."""
    examined = case.examined
    assert examined is not None
    inputs: dict[str, Any] = {
        "risk": int(examined.risk),
        "trust_level": int(case.agent.trust_level),
        "cost_usd": usd_of(case.charge.cost),
        "tokens": case.charge.tokens,
        "action_type": case.action.type,
        "confidence": 1 if examined.finding.status in ("VERIFIED", "CORRECTED") else 0,
    }
    return inputs | {f"parameters.{name}": value for name, value in case.action.parameters.items()}


def _verdict_of(policy: TokenPolicy, asked: hitl.HumanVerdict) -> Verdict:
    if asked.action is hitl.HumanStep.CONTINUE:
        return APPROVED
    names = ", ".join(asked.triggered)
    rules = [rule for rule in policy.hitl.rules if rule.id in asked.triggered]
    roles = frozenset(rule.required_role for rule in rules)
    may_override = len(rules) == len(asked.triggered) and all(map(_lets_go_on, rules))
    # Nobody may lift it, or no one person could lift all of it: then nobody is asked.
    if asked.action is hitl.HumanStep.ABORT or not may_override or len(roles) != 1:
        return refuse_with(_refuse(f"the workflow's rules stop this: {names}"))
    message = f"the workflow's rules ask for a person: {names}"
    return ask(message, Asked(roles, policy.hitl.timeout_s, tuple(asked.triggered)))


def _lets_go_on(rule: hitl.HumanRule) -> bool:
    return rule.allow_override is True and rule.override_action in (None, "continue")
