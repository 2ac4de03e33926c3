"""A second policy beside the one in force: what it would have said is recorded, and changes nothing.

It is asked on the facts of the real walk. What the engines or the world would have to be asked anew for it is
not guessed: then nothing is recorded of it.
"""

from collections import Counter
from collections.abc import Callable
from typing import Any, Final, cast

import msgspec

from qwed.domain.approvals import Approval
from qwed.domain.codes import Code
from qwed.domain.decision_rules import disprove
from qwed.domain.decisions import Decision
from qwed.domain.findings import Status
from qwed.domain.policy import ActionRule, Policy
from qwed.domain.risk import Risk
from qwed.domain.rules import Then
from qwed.domain.verdicts import APPROVED, LAST, Verdict
from qwed.gateway.decide.case import Case, Door, Examined, RowAnswer, Ruling
from qwed.gateway.decide.facts import Facts, Live
from qwed.gateway.decide.gates import assess_tool, rule_for
from qwed.gateway.decide.rule_row import (
    book_of,
    follows_rules,
    rules_to_wire,
    take_reached,
    watch_windows,
    watched_reached,
)
from qwed.gateway.decide.run import decide, leave_unrecorded, tighten
from qwed.gateway.decide.table import (
    GRANT,
    PROVEN,
    RECORDED,
    RECORDED_PRECEDENCE,
    RULES,
    SIGNED,
    STEP,
    TABLE,
    Row,
)

MAX_KNOWN: Final = 20_000
#: Engines whose proofs hang on nothing that a policy says.
_WITHOUT_RULES: Final = frozenset({"math", "logic", "fact"})
_ENGINE_RULES: Final = ("sql", "files", "urls", "email", "payments")


class _Walked(msgspec.Struct, frozen=True):
    """What the rows other than the rules come to under the other policy. `asks_rules`: the walk gets as far
    as the rules; `before` is the verdict there, which is the end of it where a rule denies."""

    before: Verdict
    after: Verdict
    rows_before: tuple[str, ...]
    rows_after: tuple[str, ...]
    examined: Examined | None = None
    rule: ActionRule | None = None
    asks_rules: bool = False


class Shadow:
    """Asked for every decision of one process; of alike ones, all but the rules is decided once."""

    def __init__(self, policy: Policy, report: Callable[[str, str], None]) -> None:
        self.policy = policy
        self._report = report
        #: Decisions on record that it would have made otherwise, by what they are and what they would be.
        self.counted: Counter[tuple[str, str]] = Counter()
        self._known: dict[Any, _Walked | None] = {}

    async def look(self, case: Case, facts: Facts) -> Case:
        """The case with what the other policy says, where that is something else, and with what its rules
        count. Never raises."""
        try:
            return await self._look(case, facts)
        # Whatever is wrong with a policy that only watches, the decision stands.
        except Exception as defect:  # noqa: BLE001
            self._report("shadow_failed", type(defect).__name__)
            return case.add(shadow=None, watched=None)

    async def _look(self, case: Case, facts: Facts) -> Case:
        said = {one.row: one.verdict for one in case.tightened}
        key = self._key(case, said)
        if key in self._known:
            walked = self._known[key]
        else:
            walked = await self._walk(case, said)
            if len(self._known) >= MAX_KNOWN:
                self._known.clear()
            self._known[key] = walked
        if walked is None:
            return case if case.shadow is None else case.add(shadow=None)
        other = None
        if walked.asks_rules and book_of(self.policy, case.agent.principal_id).reads_of(case.action.type):
            other = await self._ask_rules(case, walked, facts)
        verdict, rows = (walked.after, walked.rows_after) if other is None else _combine(walked, other)
        shadow = _difference(case, verdict, rows, self.policy, other)
        watched = None if other is None or other.ruled is None else watch_windows(other, verdict)
        return case.add(shadow=shadow, watched=watched)

    async def _ask_rules(self, case: Case, walked: _Walked, facts: Facts) -> Case:
        """The case under the other policy with what its rules say; what they count, they count apart."""
        other = case.add(
            policy=self.policy,
            rule=walked.rule,
            examined=walked.examined,
            redeemed=None,
            ruled=None,
            reached=(),
            verdict=APPROVED,
            tightened=(),
            approval=self._find_granted(case),
        )
        answer = await follows_rules(other, facts)
        if not isinstance(answer, Ruling):
            return cast(Case, answer)
        other = tighten(answer.case, RULES.name, answer.verdict, RULES.precedence)
        reached = watched_reached(case)
        if not reached:
            return other
        other, late = take_reached(other, reached)
        return other if late is APPROVED else tighten(other, RECORDED, late, RECORDED_PRECEDENCE)

    def _find_granted(self, case: Case) -> Approval | None:
        """Whoever said yes would have been asked by these rules too."""
        if case.door is not Door.GRANT or case.approval is None:
            return case.approval
        team = self.policy.team_of.get(case.agent.principal_id)
        rules = tuple(rule.id for rule in self.policy.rules_of(team))
        return msgspec.structs.replace(case.approval, rules=rules)

    def report_count(self, case: Case) -> None:
        """Once the decision is on record."""
        if case.shadow is not None:
            self.counted[case.verdict.decision.value, str(case.shadow["decision"])] += 1

    def _key(self, case: Case, said: dict[str, Verdict]) -> Any:
        """All that decides but rules; the words of the action do not."""
        found = None if case.examined is None else case.examined.finding
        return (
            case.door,
            case.agent_digest,
            case.action.type,
            case.policy.version,
            case.threshold,
            case.is_advisory,
            case.verdict.decision,
            None if case.verdict.refusal is None else case.verdict.refusal.code,
            tuple((row, verdict.decision) for row, verdict in said.items()),
            None if found is None else (found.status, found.risk, found.engine, found.failure),
        )

    async def _walk(self, case: Case, said: dict[str, Verdict]) -> _Walked | None:
        policy, name = self.policy, case.action.type
        if why_not(case.policy, policy, name) is not None:
            return None
        examined = None if case.examined is None else _under(case, case.examined, policy)
        parameters = case.action.parameters
        other = case.add(
            policy=policy,
            admission=None,
            rule=None,
            examined=None,
            redeemed=None,
            ruled=None,
            reached=(),
            verdict=APPROVED,
            tightened=(),
            assessment=assess_tool(policy, case.agent, name, parameters) if case.door is Door.TOOL else None,
        )
        seen: list[Case] = []
        rows = tuple(_recall(row, said, examined, seen) for row in TABLE[case.door])
        try:
            other = await decide(other, cast(Live, None), leave_unrecorded, rows)
        except _NeverProven:
            return None
        for row, precedence in ((SIGNED, LAST), (RECORDED, RECORDED_PRECEDENCE)):
            if row in said and not _is_of_rules(row, said[row]):
                other = tighten(other, row, said[row], precedence)
        before = seen[0] if seen else other
        return _Walked(
            before.verdict,
            other.verdict,
            tuple(one.row for one in before.tightened),
            tuple(one.row for one in other.tightened),
            before.examined,
            before.rule,
            bool(seen),
        )


def _is_of_rules(row: str, verdict: Verdict) -> bool:
    """What windows of the rules in force said is not what those of the other policy say."""
    return row == RECORDED and verdict.refusal is not None and verdict.refusal.code is Code.RULE_LIMIT


def _combine(walked: _Walked, other: Case) -> tuple[Verdict, tuple[str, ...]]:
    """What rules say, with what the other rows say; a rule that denies at once ends the walk."""
    rows = tuple(one.row for one in other.tightened)
    is_over = any(
        one.row == RULES.name and one.verdict.decision is Decision.DENIED for one in other.tightened
    )
    base, named = (walked.before, walked.rows_before) if is_over else (walked.after, walked.rows_after)
    return base.tighten(other.verdict), (*named, *rows)


class _NeverProven(Exception):
    pass


def why_not(before: Policy, after: Policy, action_type: str) -> str | None:
    """Why what was found under one policy does not tell what the other would have said."""
    if (before.profile, before.assurance) != (after.profile, after.assurance):
        return "the other policy has another assurance profile, with other scores"
    if before.provenance != after.provenance:
        return "the other policy asks for other origins, and what was said is not heard again"
    if _counting(before, action_type) != _counting(after, action_type):
        return "the other policy counts loops, budgets or prices in another way"
    if _must_prove(before, after, action_type):
        return PROVE_AGAIN
    return None


PROVE_AGAIN: Final = "the other policy asks an engine something else: it would have to be proven again"


def _counting(policy: Policy, action_type: str) -> tuple[Any, ...]:
    """What admission counted under: its answer holds only while this is the same."""
    return (policy.loops, policy.principals, policy.named_principals, policy.cost_of(action_type))


def _must_prove(before: Policy, after: Policy, action_type: str) -> bool:
    then, now = before.action_rules.get(action_type), after.action_rules.get(action_type)
    if then is None or now is None:
        return False
    if (then.engine, then.checks) != (now.engine, now.checks):
        return True
    return then.engine not in _WITHOUT_RULES and any(
        getattr(before, name) != getattr(after, name) for name in _ENGINE_RULES
    )


def _under(case: Case, examined: Examined, policy: Policy) -> Examined:
    """What was found, with the risk that the other policy gives the type."""
    if case.door is Door.GRANT:
        return examined
    rule = rule_for(policy, case.agent, case.action.type)
    risk = max((rule.risk if rule is not None else None) or Risk.LOW, examined.finding.risk)
    return msgspec.structs.replace(examined, risk=risk)


def _recall(row: Row, said: dict[str, Verdict], examined: Examined | None, seen: list[Case]) -> Row:
    """The row itself where it only reads the case; else one that answers what was answered. Rules are asked
    apart, of the case as it is `seen` there."""
    if row is RULES:

        def see(case: Case, facts: Facts) -> RowAnswer:
            seen.append(case)
            return case

        return msgspec.structs.replace(row, check=see, awaits=False, needs=())
    if not row.reads_world and row.name != STEP.name:
        return row

    def recall(case: Case, facts: Facts) -> RowAnswer:
        if row.name not in (PROVEN.name, GRANT.name):
            return said.get(row.name, case)
        if examined is None:
            raise _NeverProven
        proven = case.add(examined=examined)
        is_failed = examined.finding.status is Status.FAILED
        return Ruling(proven, disprove(examined.finding)) if is_failed else proven

    return msgspec.structs.replace(row, check=recall, awaits=False, needs=())


def _difference(
    case: Case, verdict: Verdict, rows: tuple[str, ...], policy: Policy, other: Case | None
) -> dict[str, Any] | None:
    code = None if verdict.refusal is None else verdict.refusal.code.value
    is_same = verdict.decision is case.verdict.decision and code == (
        None if case.verdict.refusal is None else case.verdict.refusal.code.value
    )
    if is_same:
        return None
    found: dict[str, Any] = {
        "policy_version": policy.version,
        "decision": verdict.decision.value,
        "code": code,
        "rows": list(rows),
    }
    if other is not None:
        told = rules_to_wire(other, with_observed=False)
        found["rules"] = [rule["id"] for rule in told if rule["then"] != Then.NOTE]
    return found
