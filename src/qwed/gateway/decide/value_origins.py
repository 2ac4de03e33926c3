"""Where the values of an action come from: asked of what its conversation has heard."""

from collections.abc import Mapping

from qwed.domain.provenance_rules import NO_PROVENANCE_RULES, OtherwiseAct, ProvenanceRules, Uncovered
from qwed.domain.risk import Risk
from qwed.gateway.decide.case import Case, Door
from qwed.gateway.kernel.services import Services
from qwed.origins.arguments import Argument, ArgumentRole
from qwed.origins.atoms import Atom, atoms_in, name_of
from qwed.origins.index import Index, hear_user
from qwed.origins.judge import OriginFinding, find_traced_arguments, judge, judge_private
from qwed.origins.trace import Origin, Traced, trace

COVERED, PARTIAL, NONE = "covered", "partial", "none"


async def trace_origins(services: Services, case: Case) -> Case:
    conversation = case.context.get("conversation_id") if isinstance(case.context, Mapping) else None
    if not isinstance(conversation, str):
        return case
    rules = case.policy.provenance or NO_PROVENANCE_RULES
    place, hearing = (case.agent.agent_id, conversation), services.hearing
    if case.reports is not None:
        step = 0 if case.step is None else case.step.step
        index: Index | None = await hearing.hear(
            services.store, services.signer, place, rules, case.reports, case.now_ms, step
        )
    else:
        index = await hearing.index_of(services.store, services.signer, *place)
    if index is not None and case.door is Door.GRANT:
        # What stands in a text in passing was shown as content: nobody approved it as a recipient.
        atoms = [each.atom for each in find_traced_arguments(case.action, rules)]
        await hearing.endorse(services.store, services.signer, place, atoms, case.now_ms)
    return _judge(case, index, rules)


def _judge(case: Case, index: Index | None, rules: ProvenanceRules) -> Case:
    intent = case.context.get("user_intent")
    if index is not None and isinstance(intent, str) and case.door is not Door.TOOL:
        index = Index(index.key, [*index.heard, hear_user(index.key, intent, 0)])
    coverage = coverage_of(index)
    if index is None or coverage is not COVERED:
        otherwise = None if rules.uncovered is Uncovered.PASS else OtherwiseAct(rules.uncovered.value)
        reason = "nobody reports what the user wrote and what tools returned, and the policy asks for it"
        found = OriginFinding(otherwise=otherwise, reasons=(reason,) if otherwise else ())
        private = OriginFinding() if index is None else judge_private(index, case.action, rules)
        if private.otherwise is not None and otherwise is not OtherwiseAct.DENY:
            found = private
        # Callers who report nothing see nothing of this.
        is_told = index is not None or case.policy.provenance is not None
        return case.add(origins=found, coverage=coverage) if is_told else case
    risk = Risk.LOW if case.examined is None else case.examined.risk
    return case.add(origins=judge(index, case.action, rules, risk), coverage=coverage)


def coverage_of(index: Index | None) -> str:
    if index is None:
        return NONE
    return COVERED if index.is_covered else PARTIAL


def origin_of(case: Case, path: str) -> str:
    """For rules, as `origin(path)`: the worst origin of the values at this place (`parameters.to`)."""
    order = (Origin.UNTRUSTED, Origin.UNSAID, Origin.ENDORSED, Origin.SAID)
    slot = path.removeprefix("parameters.")
    found = [] if case.origins is None else [each for each in case.origins.traced if each.slot == slot]
    return min((each.origin for each in found), key=order.index, default=Origin.UNSAID).value


def trace_value(index: Index, value: str) -> list[Traced]:
    """Every reading of one value, for people who ask where it comes from."""
    from_argument = [Argument("value", "value", ArgumentRole.VALUE, atom, value) for atom in _readings(value)]
    return [trace(index, argument) for argument in from_argument]


def _readings(value: str) -> list[Atom]:
    name = name_of(value)
    return [*dict.fromkeys(atoms_in(value)), *([] if name is None else [name])]
