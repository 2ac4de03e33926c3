"""The first days before a running fleet: each decision is recorded as it would have been, and none stops.

What comes before check 4 is enforced as ever (who asks, a suspended agent, what an operator stopped, tokens,
the place in a workflow), and so are requests that cannot be read, grants, and the profile `regulated`.
"""

from typing import Any, Final

from qwed.domain.codes import Code
from qwed.domain.decisions import Decision
from qwed.domain.policy import Policy, Profile
from qwed.domain.times import LAST_MS, iso
from qwed.gateway.decide.case import Case, Door, Ruled, Ruling
from qwed.gateway.decide.facts import Facts
from qwed.gateway.decide.rule_row import follows_rules, rules_to_wire, windows_of
from qwed.gateway.decide.table import ACTIVE, NOT_STOPPED, PLACE, PROFILE, TOKENS
from qwed.gateway.kernel.services import Services

_ENFORCED_ROWS: Final = frozenset(row.name for row in (ACTIVE, NOT_STOPPED, TOKENS, PLACE, PROFILE))
NO_END: Final = "it is started without --observe"
_OBSERVED_DOORS: Final = (Door.ACTION, Door.TOOL)


def why_enforced(policy: Policy) -> str | None:
    """Why nothing may only be observed under this policy; None where it may."""
    if policy.profile is Profile.REGULATED:
        return "the profile 'regulated' enforces every decision"
    if policy.broker is not None:
        return "a broker acts for agents, and does so only with leave: take `broker` out of the policy"
    return None


def observes_until(services: Services) -> str | None:
    """Until when nothing is enforced, for people; None where everything is."""
    until = services.observes_until_ms
    if until is None or until <= services.clock.now_ms():
        return None
    return NO_END if until == LAST_MS else iso(until)


async def observe(services: Services, case: Case, facts: Facts) -> Case:
    """The case, marked where the agent acts whatever the verdict is."""
    is_observed = _is_observed(services, case)
    if is_observed == case.is_observed:
        return case
    if not is_observed:
        return case.add(is_observed=False, uncounted=None)
    case = case.add(is_observed=True)
    return case.add(uncounted=await _count_late(case, facts))


def _is_observed(services: Services, case: Case) -> bool:
    until = services.observes_until_ms
    if until is None or case.now_ms >= until or case.door not in _OBSERVED_DOORS:
        return False
    if case.parameters_problem is not None or case.profile is Profile.REGULATED:
        return False
    return not any(
        said.row in _ENFORCED_ROWS
        or (said.verdict.refusal is not None and said.verdict.refusal.code is Code.ECT_REFUSED)
        for said in case.tightened
    )


async def _count_late(case: Case, facts: Facts) -> Ruled | None:
    """What rules count of an action that was refused before they were asked, and that runs all the same."""
    if not case.has_rules or case.ruled is not None or case.examined is None:
        return None
    answer = await follows_rules(case, facts)
    other = answer.case if isinstance(answer, Ruling) else answer
    assert isinstance(other, Case)
    if other.ruled is None:
        return None
    windows, marks = windows_of(other.add(watched=None))
    return Ruled(windows=windows, marks=marks)


def tell_would(case: Case, show: Any) -> dict[str, Any]:
    """What the answer would have been."""
    verdict = case.verdict
    would: dict[str, Any] = {"decision": verdict.decision.value}
    if verdict.refusal is not None:
        would["error"] = show(verdict.refusal.to_wire())
    corrected = None if case.examined is None else case.examined.finding.corrected
    if corrected is not None and verdict.decision in (Decision.CORRECTED, Decision.PENDING):
        would["corrected_action"] = corrected.to_wire()
    if rules := rules_to_wire(case, with_observed=False):
        would["rules"] = show(rules)
    return would
