"""Checks 3 to 17: each adds a fact to the case, or refuses it, which ends the walk."""

from collections.abc import Mapping
from typing import Final, assert_never

import msgspec

from qwed.assurance.in_force import InForce
from qwed.assurance.profiles import (
    Mechanism,
    UnknownProfile,
    accepts_without_token,
    effective,
    minimum_level,
    profile_named,
)
from qwed.assurance.provenance import SOURCE
from qwed.domain.admission import UNSETTLED
from qwed.domain.agents import Agent, AgentStatus
from qwed.domain.approvals import Approval
from qwed.domain.codes import Code, Refusal
from qwed.domain.conduct import BLOCKED_TOOL
from qwed.domain.contexts import StepContext, read_context
from qwed.domain.decision_rules import disprove
from qwed.domain.findings import Finding, Status
from qwed.domain.policy import ActionRule, Policy, Profile, mark_dangerous
from qwed.domain.policy_changes import Stop, StopScope
from qwed.domain.registry import TOOL_CONTROL
from qwed.domain.risk import Risk
from qwed.domain.skeleton import compact_skeleton
from qwed.domain.tools import Group, ToolApprovalSystem, ToolAssessment, skeletons
from qwed.domain.verdicts import Verdict, deny, refuse_with
from qwed.ect.claims import Claims
from qwed.gateway.decide.case import Case, Door, Examined, RowAnswer, Ruling
from qwed.gateway.decide.execution_context import NotAccepted
from qwed.gateway.decide.facts import Facts

#: The name under which a token asks for a profile.
PROFILE: Final = "apae.assurance_profile"
#: What a type comes to that no registry knows any more and a person was asked about before.
UNKNOWN_TOOL: Final = ActionRule(TOOL_CONTROL, Risk.CRITICAL)


def is_active(case: Case, facts: Facts) -> RowAnswer:  # 3
    agent = case.agent
    if agent.status is not AgentStatus.SUSPENDED:
        return case
    reason = f": {agent.status_reason}" if agent.status_reason else ""
    return deny(Code.AGENT_SUSPENDED, f"the agent is suspended{reason}")


def is_not_stopped(case: Case, facts: Facts) -> RowAnswer:
    """An operator's word comes before everything that the policy says."""
    for stop in case.stops:
        if _is_meant(stop, case):
            what = f"the {stop.scope} {stop.name!r}" if stop.name else "every agent"
            return deny(Code.STOPPED, f"an operator stopped {what}: {stop.reason}")
    return case


def _is_meant(stop: Stop, case: Case) -> bool:
    match stop.scope:
        case StopScope.ALL:
            return True
        case StopScope.TOOL:
            return compact_skeleton(stop.name) == compact_skeleton(case.action.type)
        case StopScope.TEAM:
            # A principal that no team names is one of its own.
            principal_id = case.agent.principal_id
            return case.policy.team_of.get(principal_id, principal_id) == stop.name
    assert_never(stop.scope)


async def accept_tokens(case: Case, facts: Facts) -> RowAnswer:
    accepted = await facts.accept_tokens(case)
    if isinstance(accepted, NotAccepted):
        refused = case.add(is_forged=accepted.is_forged, log={"ect": accepted.says})
        return Ruling(refused, refuse_with(accepted.refusal))
    return case.add(execution=accepted)


async def find_place(case: Case, facts: Facts) -> RowAnswer:
    place = await facts.find_place(case)
    return refuse_with(place) if isinstance(place, Refusal) else case.add(place=place)


# --- the assurance profile --------------------------------------------------------------------------


def find_profile(case: Case, facts: Facts) -> RowAnswer:
    """The profile in force, unless the tokens of the request fall short of it."""
    is_plain = not case.execution.accepted and case.place is None and case.door is not Door.EDIT
    if is_plain and facts.deployment_profile is None:
        return case
    asked = _strictest(case, facts)
    if not isinstance(asked, Profile):
        return case if asked is None else asked
    given = facts.give(asked)
    problem = _shortfall(case, given)
    return case.add(assured=given) if problem is None else deny(Code.PROFILE_UNMET, problem)


def _strictest(case: Case, facts: Facts) -> Verdict | Profile | None:
    """Of the deployment's, the node's and what tokens ask for; nobody can ask for less."""
    strictest = facts.deployment_profile
    if case.place is not None and case.place.profile is not None:
        strictest = _stricter(strictest, case.place.profile)
    if case.replaces is not None and case.replaces.profile is not None:
        strictest = _stricter(strictest, case.replaces.profile)
    for claims in _claims_of(case):
        if PROFILE not in claims.ext:
            continue
        try:
            named = profile_named(claims.ext[PROFILE])
        except UnknownProfile as error:
            return deny(Code.PROFILE_UNMET, str(error))
        strictest = _stricter(strictest, named)
    return strictest


def _stricter(profile: Profile | None, other: Profile) -> Profile:
    return other if profile is None else effective(profile, node=other).profile


def _shortfall(case: Case, given: InForce) -> str | None:
    asked, level = given.profile, case.execution.chain_level
    if given.problems:
        return f"this gateway does not give the assurance of '{asked}'"
    if case.door is Door.EDIT:
        return None
    if level is None:
        if accepts_without_token(asked):
            return None
        return f"the profile '{asked}' needs an execution context token with every request"
    if level < minimum_level(asked):
        return (
            f"the profile '{asked}' needs tokens of level {minimum_level(asked).name}, not {level.name}:"
            " submit them to /ect first, signed"
        )
    if given.has(Mechanism.PROVENANCE) and not all(map(_states_data, _claims_of(case))):
        return f"the profile '{asked}' needs inp_hash, out_hash or {SOURCE} in every token"
    return None


def _claims_of(case: Case) -> list[Claims]:
    return [item.ect.claims for item in case.execution.accepted]


def _states_data(claims: Claims) -> bool:
    return claims.inp_hash is not None or claims.out_hash is not None or SOURCE in claims.ext


# --- step and budget --------------------------------------------------------------------------------


def read_step(case: Case, facts: Facts) -> RowAnswer:  # 4, 5
    if case.is_advisory and not case.policy.tools_require_context:
        return case
    context = None if case.is_advisory else case.context
    step = read_context(context, state_required=facts.state_required, takes_next=case.takes_next_step)
    return refuse_with(step) if isinstance(step, Refusal) else case.add(step=step)


async def admit(case: Case, facts: Facts) -> RowAnswer:  # 6 to 14; 7 and 14 without a conversation
    if case.step is None and case.parameters_problem is not None:
        return refuse_with(case.parameters_problem)
    admission = await facts.admit(case)
    if isinstance(admission, Refusal):
        return refuse_with(admission)
    case = case.add(admission=admission)
    return _number_step(case) if case.takes_next_step else case


def _number_step(case: Case) -> Case:
    """With the number that the store gave."""
    reserved = None if case.admission is None else case.admission.reservation
    if reserved is None or case.step is None:
        return case
    step = msgspec.structs.replace(case.step, step=reserved.step)
    return case.add(step=step, context={**case.context, "step_number": reserved.step})


# --- what it is, and whether this agent may -----------------------------------------------------------


def is_not_blocked(case: Case, facts: Facts) -> RowAnswer:
    assessment = _assessment(case)
    if assessment.group is not Group.BLOCKED:
        return case
    details = {BLOCKED_TOOL: assessment.tool_name[:80]}
    return refuse_with(Refusal(Code.TOOL_NOT_ALLOWED, assessment.blocked_reason or "", details))


def is_known_tool(case: Case, facts: Facts) -> RowAnswer:
    assessment = _assessment(case)
    rule = rule_for(case.policy, case.agent, case.action.type)
    if assessment.group is not Group.UNKNOWN and rule is not None:
        return case.add(rule=rule)
    return deny(Code.TOOL_NOT_ALLOWED, _explain_unknown(assessment))


def _assessment(case: Case) -> ToolAssessment:
    assert case.assessment is not None
    return case.assessment


def assess_tool(policy: Policy, agent: Agent, name: str, parameters: Mapping[str, object]) -> ToolAssessment:
    groups = ToolApprovalSystem(
        policy.safe_tools,
        policy.dangerous_tools,
        allowed=agent.permissions.allowed_tools,
        blocked=agent.permissions.blocked_tools,
    )
    return groups.assess(name, parameters)


def _explain_unknown(assessment: ToolAssessment) -> str:
    """A name that only looks like a dangerous one is known to nobody: no person is asked about it."""
    if assessment.group is Group.DANGEROUS:
        return f"Unknown tool '{assessment.tool_name[:100]}' looks like a dangerous one"
    return assessment.blocked_reason or f"Unknown tool '{assessment.tool_name[:100]}'"


def find_rule(case: Case, facts: Facts) -> RowAnswer:  # 15
    rule = rule_for(case.policy, case.agent, case.action.type)
    if rule is not None:
        return case.add(rule=rule)
    return deny(
        Code.ACTION_UNKNOWN,
        f"Unknown action_type '{case.action.type}' cannot be verified without explicit registered semantics",
    )


def find_granted_rule(case: Case, facts: Facts) -> RowAnswer:
    """Of what a person granted, as it is registered now."""
    return case.add(rule=rule_for(case.policy, case.agent, case.action.type) or UNKNOWN_TOOL)


def rule_for(policy: Policy, agent: Agent, action_type: str) -> ActionRule | None:
    """What a type means for this agent. Its own tools are MEDIUM, unless they look like a dangerous one."""
    rule = policy.action_rules.get(action_type)
    if rule is not None or action_type not in agent.permissions.allowed_tools:
        return rule
    own = ActionRule(TOOL_CONTROL, Risk.MEDIUM)
    return mark_dangerous(own) if policy.reads_dangerous(action_type) else own


def is_permitted(case: Case, facts: Facts) -> RowAnswer:  # 16
    permissions, rule, name = case.agent.permissions, case.rule, case.action.type
    assert rule is not None
    if permissions.blocked_tools and compact_skeleton(name) in skeletons(permissions.blocked_tools):
        details: dict[str, object] = {BLOCKED_TOOL: name[:80]}
        return refuse_with(
            Refusal(Code.TOOL_NOT_ALLOWED, f"'{name[:80]}' is blocked for this agent", details)
        )
    if rule.engine != TOOL_CONTROL and rule.engine not in permissions.allowed_engines:
        message = f"engine '{rule.engine}' is not among this agent's allowed engines"
        details = {"engine": rule.engine, "allowed_engines": permissions.allowed_engines}
        return refuse_with(Refusal(Code.TOOL_NOT_ALLOWED, message, details))
    return case


async def prove(case: Case, facts: Facts) -> RowAnswer:  # 17
    examined = await facts.prove(case)
    case = case.add(examined=examined)
    if examined.finding.status is Status.FAILED:
        return Ruling(case, disprove(examined.finding))
    return case


# --- a grant ------------------------------------------------------------------------------------------


async def is_settled(case: Case, facts: Facts) -> RowAnswer:
    return refuse_with(UNSETTLED) if await facts.is_unsettled(case) else case


def use_grant(case: Case, facts: Facts) -> RowAnswer:
    """A person's word stands where a proof would: the evidence names who gave it."""
    grant = case.approval
    assert grant is not None
    finding = Finding(
        Status.VERIFIED,
        grant.risk,
        "human",
        "approved by a person",
        {"approval_id": grant.approval_id, "approved_by": [vote.by for vote in grant.votes]},
        checks_passed=("approved",),
    )
    return case.add(examined=Examined(finding, grant.risk, 0.0), step=_step_of(grant), redeemed=grant)


def _step_of(grant: Approval) -> StepContext | None:
    if grant.conversation_id is None or grant.step is None:
        return None
    return StepContext(grant.conversation_id, grant.step)
