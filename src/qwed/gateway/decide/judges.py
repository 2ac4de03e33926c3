"""Check 18 and what follows it: each may make the verdict stricter, and the walk goes on unless it is no."""

from collections.abc import Awaitable
from typing import Final

from qwed.assurance.explanations import LEVEL_NOT_BORNE_OUT, NOT_TRUSTED_ENOUGH
from qwed.assurance.in_force import InForce
from qwed.assurance.profiles import Mechanism, is_consequential, needs_person
from qwed.domain.codes import Code, Refusal
from qwed.domain.decision_rules import hold_to_threshold, weigh
from qwed.domain.policy import DeniedCells, ToolGroup
from qwed.domain.provenance_rules import OtherwiseAct, Uncovered
from qwed.domain.risk import Risk
from qwed.domain.tools import explain_danger
from qwed.domain.trust import TrustLevel
from qwed.domain.verdicts import Verdict, ask, deny
from qwed.gateway.decide.case import Case, Door, Examined, RowAnswer, Ruling
from qwed.gateway.decide.facts import Facts
from qwed.origins.judge import rules_of

#: So many values are named in one sentence; the record has them all.
MAX_REASONS: Final = 3
_NO_CHECKPOINT: Final = (
    "this action needs a checkpoint of its own: present an atd:checkpoint that no action used"
)


def have_origins(case: Case, facts: Facts) -> RowAnswer | Awaitable[RowAnswer]:
    """Whose words the values of the action are. What a person granted is not asked about once more."""
    return _trace_origins(case, facts) if _is_asked_about(case) else case


async def _trace_origins(case: Case, facts: Facts) -> RowAnswer:
    case = await facts.trace_origins(case)
    found = case.origins
    if found is None or found.otherwise is None:
        return case
    reason = "; ".join(found.reasons[:MAX_REASONS])
    if found.otherwise is OtherwiseAct.DENY:
        return Ruling(case, deny(Code.ORIGIN_REFUSED, reason))
    return case if case.door is Door.GRANT else Ruling(case, ask(reason))


def _is_asked_about(case: Case) -> bool:
    """Whether origins could say anything against the action, or the caller reports with it."""
    if case.step is None and case.approval is None:
        return False
    if case.reports is not None or case.examined is None or case.examined.risk >= Risk.MEDIUM:
        return True
    rules = case.policy.provenance
    is_ruled = rules is not None and (
        rules.uncovered is not Uncovered.PASS or rules_of(rules, case.action.type)
    )
    return bool(is_ruled)


def is_trusted(case: Case, facts: Facts) -> RowAnswer:  # 18
    """Proof and risk, at the agent's level of trust."""
    examined = case.examined
    assert examined is not None
    pend = case.policy.denied_cells is DeniedCells.PENDING
    return weigh(examined.finding, examined.risk, case.agent.trust_level, denied_cells_pend=pend)


async def has_score(case: Case, facts: Facts) -> RowAnswer:
    """The same at the lower level that the agent's conduct bears out."""
    held = _weigh_at(case, await facts.borne_out(case))
    given = _weigh_at(case, case.agent.trust_level)
    if held.decision is given.decision or held.refusal is None:
        return case
    return Verdict(held.decision, Refusal(held.refusal.code, LEVEL_NOT_BORNE_OUT))


def _weigh_at(case: Case, level: TrustLevel) -> Verdict:
    examined, pend = _read_examined(case), case.policy.denied_cells is DeniedCells.PENDING
    return weigh(examined.finding, examined.risk, level, denied_cells_pend=pend)


def is_below_threshold(case: Case, facts: Facts) -> RowAnswer:
    return hold_to_threshold(_read_examined(case).risk, case.threshold)


def is_no_danger(case: Case, facts: Facts) -> RowAnswer:
    """A dangerous tool waits for a person, however much its caller is trusted."""
    if case.rule is None or case.rule.group is not ToolGroup.DANGEROUS:
        return case
    return ask(explain_danger(case.action.type, case.action.parameters))


async def suits_profile(case: Case, facts: Facts) -> RowAnswer:
    """Revocation, checkpoints and people, where an assurance profile asks for them."""
    given = case.assured
    assert given is not None
    if given.has(Mechanism.TRUST_THRESHOLDS) and await facts.is_revoked(case):
        return deny(Code.TRUST_NOT_MET, NOT_TRUSTED_ENOUGH)
    gated = await facts.find_gated_actions(case)
    if _needs_checkpoint(case, given, gated) and not await facts.use_checkpoint(case):
        return deny(Code.PROFILE_UNMET, _NO_CHECKPOINT)
    return _ask_for_profile(case, given, gated)


def _needs_checkpoint(case: Case, given: InForce, gated: tuple[str, ...]) -> bool:
    risk, action = _read_examined(case).risk, case.action.type
    if not given.has(Mechanism.CHECKPOINTS) or not is_consequential(risk, action, gated):
        return False
    before = case.replaces
    # The action that this one replaces used one.
    return before is None or not is_consequential(before.risk, before.action["type"], gated)


def _ask_for_profile(case: Case, given: InForce, gated: tuple[str, ...]) -> RowAnswer:
    risk, is_critical = _read_examined(case).risk, case.place is not None and case.place.is_critical
    if not given.has(Mechanism.HITL) or not needs_person(
        given.profile, risk, case.action.type, is_critical_node=is_critical, require_checkpoint_before=gated
    ):
        return case
    what = f"{risk.wire} risk" if risk >= Risk.HIGH else "this action"
    return ask(f"{what} needs a person's approval in the profile '{given.profile}'")


async def suits_workflow(case: Case, facts: Facts) -> RowAnswer:
    """What the rules of the workflow ask of people."""
    return await facts.apply_workflow_rules(case)


async def meets_thresholds(case: Case, facts: Facts) -> RowAnswer:
    """The deployment's thresholds and the node's; a person whom a rule asks may waive them, this once."""
    if case.verdict.asked.rules:
        return case
    return case if await facts.meets_thresholds(case) else deny(Code.TRUST_NOT_MET, NOT_TRUSTED_ENOUGH)


def _read_examined(case: Case) -> Examined:
    assert case.examined is not None
    return case.examined
