"""One proposed action, and everything that is known of it.

A `Case` holds values only. The rows of the table add facts to it; nothing is ever changed, and nothing else
travels beside it.
"""

import enum
from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec

from qwed.assurance.explanations import Thresholds
from qwed.assurance.in_force import InForce
from qwed.domain.actions import Action
from qwed.domain.agents import Agent
from qwed.domain.approvals import Approval
from qwed.domain.budgets import Charge
from qwed.domain.codes import Refusal
from qwed.domain.contexts import StepContext
from qwed.domain.credentials import Caller
from qwed.domain.decisions import LETS_ACT
from qwed.domain.findings import Finding
from qwed.domain.fingerprints import Fingerprints, identify
from qwed.domain.money import nano_of
from qwed.domain.parameters import parameters_problem
from qwed.domain.permits import IssuedPermit
from qwed.domain.policy import ActionRule, Policy, Profile
from qwed.domain.policy_changes import Stop
from qwed.domain.registry import SQL
from qwed.domain.risk import Risk
from qwed.domain.rule_windows import Reached, WindowCheck, WindowMark
from qwed.domain.rules import PolicyRule
from qwed.domain.tools import ToolAssessment
from qwed.domain.verdicts import APPROVED, Verdict
from qwed.gateway.decide.execution_context import NOTHING_PRESENTED, ExecutionContext
from qwed.gateway.kernel.masks import keep_type
from qwed.gateway.kernel.ports import Admission, KeyClaim
from qwed.gateway.kernel.reports import Reports, take_reports
from qwed.gateway.kernel.requests import NO_USAGE, Usage
from qwed.gateway.kernel.services import Services
from qwed.origins.judge import OriginFinding


class Door(enum.StrEnum):
    """How an action came in: proposed, called as a tool, granted by a person, or edited by one."""

    ACTION = "action"
    TOOL = "tool"
    GRANT = "grant"
    EDIT = "edit"


class Place(msgspec.Struct, frozen=True):
    """Where in a workflow an action is taken, and what the node and all before it ask for."""

    workflow_id: str
    node_id: str
    profile: Profile | None = None
    thresholds: Thresholds = Thresholds()
    is_critical: bool = False


class Examined(msgspec.Struct, frozen=True):
    """What the engine found, and the risk that follows for this action."""

    finding: Finding
    risk: Risk
    latency_ms: float


class MatchedRule(msgspec.Struct, frozen=True):
    """A rule whose condition holds, or could not be evaluated, and why. `is_full`: its form of time stands
    against the action whatever the store knows, since what it counts can't be read."""

    rule: PolicyRule
    problem: str | None = None
    is_full: bool = False


class Ruled(msgspec.Struct, frozen=True):
    """What the rules say of this action, and what they want to know and remember of others."""

    matched: tuple[MatchedRule, ...] = ()
    windows: tuple[WindowCheck, ...] = ()
    marks: tuple[WindowMark, ...] = ()


class Tightened(msgspec.Struct, frozen=True):
    """What a row of the table said against the action."""

    row: str
    verdict: Verdict


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """First what was asked, then the facts in the order in which rows add them."""

    door: Door
    policy: Policy
    #: The change that brought it in force, and what is stopped.
    policy_number: int = 0
    stops: tuple[Stop, ...] = ()
    agent: Agent
    caller: Caller
    action: Action
    #: The action's type as it is stored and shown.
    kept_type: str
    context: Any
    now_ms: int
    charge: Charge
    #: Both are empty where the parameters are not JSON (check 7 refuses).
    action_hash: str
    fingerprints: Fingerprints
    parameters_problem: Refusal | None
    threshold: Risk | None = None
    require_attestation: bool = False
    wants_permit: bool = False
    #: The right to answer under the idempotency key of the request.
    claim: KeyClaim | None = None
    #: Execution context tokens, as they came.
    presented: tuple[str, ...] = ()
    #: A tool call without a conversation: nothing stops a repeat.
    is_advisory: bool = False
    #: The context names a workflow or a node; the policy asks that scores bear trust levels out.
    names_place: bool = False
    is_scored: bool = False
    #: The request itself sets a threshold.
    is_limited: bool = False
    #: The policy has rules.
    has_rules: bool = False
    has_cedar: bool = False
    #: The gateway numbers its step: it is the one after the decision before it.
    takes_next_step: bool = False
    #: The grant that this action wants to use, or the approval whose action it shall replace.
    approval: Approval | None = None

    #: What came along of messages and results.
    reports: Reports | None = None

    execution: ExecutionContext = NOTHING_PRESENTED
    #: The agent brought a token whose signature is wrong; and what the log says of it.
    is_forged: bool = False
    log: dict[str, str] | None = None
    place: Place | None = None
    assured: InForce | None = None
    step: StepContext | None = None
    admission: Admission | None = None
    assessment: ToolAssessment | None = None
    rule: ActionRule | None = None
    examined: Examined | None = None
    #: Where the values of the action come from; None where nobody reports.
    origins: OriginFinding | None = None
    #: `covered`, `partial` or `none`, where that was looked at.
    coverage: str | None = None
    #: The grant that the record uses up.
    redeemed: Approval | None = None
    #: What the policy's rules say, and which of their windows the store found full.
    ruled: Ruled | None = None
    reached: tuple[Reached, ...] = ()

    verdict: Verdict = APPROVED
    #: Every row that said something against it, in the order of the table.
    tightened: tuple[Tightened, ...] = ()

    #: The agent as it was, by its content; see `shared_facts`.
    agent_digest: str = ""
    activity_id: str = ""
    #: The agent acts whatever the verdict is; and what rules count of it that were not asked in the walk.
    is_observed: bool = False
    uncounted: Ruled | None = None
    #: The nodes that led here, and what is signed about it.
    par: tuple[str, ...] = ()
    attestation: tuple[str, str] | None = None
    #: What a policy that only watches would have said, where that is something else.
    shadow: dict[str, Any] | None = None
    #: What the rules of that policy check and count.
    watched: Ruled | None = None
    token: str | None = None
    permit: tuple[IssuedPermit, str] | None = None

    @property
    def acts(self) -> bool:
        """Whether the agent may act now: its step is used and its cost is charged."""
        return self.is_observed or self.verdict.decision in LETS_ACT

    @property
    def profile(self) -> Profile | None:
        return None if self.assured is None else self.assured.profile

    @property
    def replaces(self) -> Approval | None:
        """The approval whose action this one shall replace: tokens and checkpoint came with that one."""
        return self.approval if self.door is Door.EDIT else None

    @property
    def wid(self) -> str | None:
        """The workflow it belongs to, by its place or by the tokens that came along."""
        return self.execution.wid if self.place is None else self.place.workflow_id

    def add(self, **facts: Any) -> "Case":
        return msgspec.structs.replace(self, **facts)


class Ruling(NamedTuple):
    """A fact, and what it says against the action."""

    case: Case
    verdict: Verdict


#: What a row answers: nothing new, a new fact, something against the action, or both.
RowAnswer = Case | Verdict | Ruling


def is_run_as_sql(rule: ActionRule | None) -> bool:
    """Whether letter case tells two actions of this kind apart only within quotation marks."""
    return rule is not None and rule.engine == SQL


def open_case(
    services: Services,
    door: Door,
    caller: Caller,
    agent: Agent,
    action: Action,
    *,
    parameters: Any,
    context: Any,
    usage: Usage = NO_USAGE,
    charge: Charge | None = None,
    now_ms: int | None = None,
    **rest: Any,
) -> Case:
    """What is known from the request alone."""
    policy = services.policy
    is_context = type(context) is dict or isinstance(context, Mapping)
    reports = None
    if is_context and ("messages" in context or "results" in context):
        context, reports = take_reports(context)
    problem = None if parameters == {} else parameters_problem(parameters)
    rule = policy.actions.get(action.type)
    if charge is None and usage is NO_USAGE:
        charge = services.charges.get(action.type)
    exact, fingerprints = ("", Fingerprints()) if problem else identify(action, is_sql=is_run_as_sql(rule))
    case = Case(
        door=door,
        policy=policy,
        policy_number=services.policy_number,
        stops=services.stops,
        agent=agent,
        caller=caller,
        action=action,
        kept_type=action.type if rule is not None else keep_type(policy, action.type),
        context=context,
        now_ms=services.clock.now_ms() if now_ms is None else now_ms,
        charge=_charge(services, action.type, usage) if charge is None else charge,
        action_hash=exact,
        fingerprints=fingerprints,
        parameters_problem=problem,
        reports=reports,
        names_place=is_context and ("workflow_id" in context or "node_id" in context),
        is_scored=bool(policy.assurance.level_scores),
        is_limited=rest.get("threshold") is not None,
        has_rules=bool(policy.rules or policy.teams),
        has_cedar=bool(policy.cedar),
    )
    # What most requests leave out need not be said.
    # By identity: the lowest risk is a threshold, and equal to False.
    given = {k: v for k, v in rest.items() if v is not None and v is not False and v != ()}
    return case.add(**given) if given else case


def _charge(services: Services, action_type: str, usage: Usage) -> Charge:
    return Charge(nano_of(services.policy.cost_of(action_type, usage.cost_usd)), usage.tokens)
