"""The rules of another policy, asked about recorded actions.

Findings, origins and what was charged come from the record. What a rule reads and the record does not hold is
not guessed. Windows hold what the other policy would have allowed among the recorded actions.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from qwed.domain.agents import Agent, AgentId, PrincipalId
from qwed.domain.approvals import Approval
from qwed.domain.budgets import Charge
from qwed.domain.contexts import StepContext
from qwed.domain.decisions import LETS_ACT
from qwed.domain.findings import Status
from qwed.domain.money import NanoUsd
from qwed.domain.outcomes import OutcomeResult
from qwed.domain.policy import Policy
from qwed.domain.risk import Risk
from qwed.domain.rule_windows import Proof, Reached
from qwed.domain.verdicts import APPROVED, Verdict
from qwed.gateway.decide.account import MASKED
from qwed.gateway.decide.case import Case, Door, RowAnswer, Ruling
from qwed.gateway.decide.facts import Facts
from qwed.gateway.decide.replay import read_action
from qwed.gateway.decide.rule_row import book_of, follows_rules, rules_to_wire, take_reached, windows_of
from qwed.gateway.decide.run import tighten
from qwed.gateway.decide.table import RECORDED, RECORDED_PRECEDENCE
from qwed.gateway.kernel.records import Activity
from qwed.gateway.policy.rule_history import RuleHistory
from qwed.origins.arguments import read_values
from qwed.origins.judge import OriginFinding
from qwed.origins.trace import Origin, Traced
from qwed.rules.evaluate import RuleReads

Json = Mapping[str, Any]

READS_MASKED: Final = "a rule reads what is masked in the record"
READS_SCORE: Final = "a rule reads the agent's trust score, which the record does not hold"
READS_CHARGE: Final = "a rule reads what the action would have cost, and what is refused costs nothing"
READS_CORRECTED: Final = "a rule reads the corrected action, which older entries do not hold"
READS_ORIGIN: Final = "a rule asks for the origin of a value, which the record does not hold"
READS_AGENT: Final = "a rule reads the name or the type of an agent that is not there any more"
NO_GRANT: Final = "it uses a grant that nobody would have been asked for"
OLD_GRANT: Final = "it uses a grant that was asked for before the entries that were looked at"

#: How masked, cut and unwritable values look in the record.
_MASKS: Final = ("[masked", "\u2026[", "[nested too deeply]", "[an integer of too many digits]")
_NAMED: Final = frozenset({("agent", "name"), ("agent", "type"), ("agent",)})


class NotInRecord(Exception):
    """A rule reads what the record does not hold; the text says what."""


class RecordedEntry(msgspec.Struct, frozen=True):
    """One recorded decision, as rules are asked about it. `agent` is the agent of today, for what never
    changes of one; `granted` are the rules that a person was asked for, None where nobody can say."""

    whole: Json
    activity: Activity
    agent: Agent | None
    granted: frozenset[str] | None
    #: Decided under these very rules, on a history that has not changed: what they said then holds.
    is_recalled: bool

    @property
    def acts(self) -> bool:
        """Whether the agent acted then."""
        return self.activity.decision in LETS_ACT or self.whole.get("observed") is True


class RecordedRules:
    """Takes entries in the order of the record."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self.has_rules = bool(policy.rules or policy.teams)
        #: As the other policy would have had it, and as it was.
        self._new, self._old = RuleHistory(), RuleHistory()
        self._entry: RecordedEntry | None = None
        self._settled: Case | None = None
        #: Windows of the changed history stand against the last entry, or do not any more.
        self.is_follow_on = False
        #: What acted, and could not be counted.
        self.not_counted = 0

    @property
    def longest_ms(self) -> int:
        """How far back a window reaches."""
        teams = (team.rules for team in self._policy.teams.values())
        rules = [*self._policy.rules, *(rule for team in teams for rule in team)]
        forms = (
            form for rule in rules for form in (rule.limit, rule.requires, rule.never_after, rule.cooldown)
        )
        return max((form.within_ms for form in forms if form is not None), default=0)

    @property
    def is_whole(self) -> bool:
        return self._new.is_whole and self._old.is_whole

    def reads_of(self, principal_id: str, action_type: str) -> RuleReads:
        return book_of(self._policy, principal_id).reads_of(action_type)

    def take(self, entry: RecordedEntry) -> None:
        """What is asked next is about this entry."""
        self._entry, self._settled, self.is_follow_on = entry, None, False

    def skip(self, acts: bool) -> None:
        """Nothing of the entry could be counted."""
        if acts:
            self.not_counted += 1

    # --- as the walk asks -----------------------------------------------------------------------------

    async def ask(self, case: Case, said: Verdict) -> RowAnswer:
        entry = self._entry
        assert entry is not None
        reads = self.reads_of(entry.activity.principal_id, case.action.type)
        if not reads:
            return said if entry.is_recalled else case
        missing = _find_missing(entry, case, reads)
        if missing is not None:
            if not entry.is_recalled:
                raise NotInRecord(missing)
            self.skip(entry.acts)
            return said
        case = _complete(case, entry)
        answer = await follows_rules(case, _NO_FACTS)
        ruled = answer.case if isinstance(answer, Ruling) else case
        if entry.is_recalled:
            return Ruling(ruled, said)
        return answer

    def settle(self, case: Case, said: Verdict) -> Verdict:
        entry = self._entry
        assert entry is not None
        if case.ruled is None:
            self._settled = case
            return said if entry.is_recalled else APPROVED
        reached: tuple[Reached, ...] = ()
        while True:
            settled, verdict = _with_reached(case, reached)
            checks, marks = windows_of(settled)
            more = self._new.reach(checks, case.now_ms)
            if not reached:
                as_it_was = self._old.reach(checks, case.now_ms)
                self.is_follow_on = {each.rule for each in more} != {each.rule for each in as_it_was}
            if not more or entry.is_recalled:
                break
            reached += more
        if entry.is_recalled:
            self.is_follow_on = False
            verdict = said
            settled = case if said is APPROVED else tighten(case, RECORDED, said, RECORDED_PRECEDENCE)
            checks, marks = windows_of(settled)
        self._new.count(checks, marks, entry.activity.activity_id, case.now_ms)
        self._count_as_it_was(case, entry)
        self._settled = settled
        return verdict

    def _count_as_it_was(self, case: Case, entry: RecordedEntry) -> None:
        if entry.acts:
            checks, marks = windows_of(case.add(verdict=APPROVED))
            self._old.count(checks, marks, entry.activity.activity_id, case.now_ms)

    def named(self) -> tuple[str, ...]:
        """The rules in force that spoke against the entry."""
        if self._settled is None:
            return ()
        told = rules_to_wire(self._settled, with_observed=False)
        return tuple(rule["id"] for rule in told if rule["then"] != "note")

    def hear(self, details: Json, reported_by: str) -> None:
        """The report of an outcome, or a person's word on one."""
        if details.get("outcome") != OutcomeResult.SUCCESS or not isinstance(details.get("activity_id"), str):
            return
        is_own_word = details.get("settled_by") is None and reported_by.startswith("agent:")
        for history in (self._new, self._old):
            history.prove(details["activity_id"], Proof.SUCCESS if is_own_word else Proof.CONFIRMED)


class _NoFacts:
    async def rule_score(self, case: Case) -> float:
        raise NotInRecord(READS_SCORE)


_NO_FACTS: Final[Facts] = _NoFacts()  # type: ignore[assignment]


def _with_reached(case: Case, reached: tuple[Reached, ...]) -> tuple[Case, Verdict]:
    if not reached:
        return case, APPROVED
    settled, verdict = take_reached(case, reached)
    if verdict is not APPROVED:
        settled = tighten(settled, RECORDED, verdict, RECORDED_PRECEDENCE)
    return settled, verdict


# --- what the record holds ----------------------------------------------------------------------------


def _find_missing(entry: RecordedEntry, case: Case, reads: RuleReads) -> str | None:
    whole, roots = entry.whole, {path[0] for path in reads.paths}
    functions = {name for name, _ in reads.calls}
    assert case.examined is not None
    if ("agent", "score") in reads.paths:
        return READS_SCORE
    if entry.agent is None and not _NAMED.isdisjoint(reads.paths):
        return READS_AGENT
    if "charge" in roots and not entry.acts:
        return READS_CHARGE
    is_corrected = case.examined.finding.status is Status.CORRECTED
    reads_action = bool(functions - {"origin"}) or any(
        path[0] == "action" and path[1:] != ("type",) for path in reads.paths
    )
    if is_corrected and reads_action and "corrected_action" not in whole:
        return READS_CORRECTED
    if "origin" in functions and "origins" not in whole:
        return READS_ORIGIN
    if entry.granted is None and case.door is Door.GRANT and not entry.is_recalled:
        return OLD_GRANT
    return READS_MASKED if _is_masked(_values(entry, case, reads)) else None


def _values(entry: RecordedEntry, case: Case, reads: RuleReads) -> Iterable[Any]:
    """What rules read, where it may be masked."""
    whole = entry.whole
    assert case.examined is not None
    if MASKED in whole["account"].get("facts", ()):
        sources = {"action": [whole["action"]], "asked": [whole["action"]], "context": [whole["context"]]}
        if "corrected_action" in whole:
            sources["action"].append(whole["corrected_action"])
        for name, what in reads.calls:
            if name != "origin":
                yield from sources.get(what, ())
        for root, *path in reads.paths:
            yield from (_at(source, path) for source in sources.get(root, ()))
    if any(path[:2] in (("finding",), ("finding", "evidence")) for path in reads.paths):
        yield case.examined.finding.evidence


def _at(value: Any, path: list[str]) -> Any:
    for key in path:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def _is_masked(values: Iterable[Any]) -> bool:
    return any(mark in text for text in map(_text_of, values) for mark in _MASKS)


def _text_of(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _complete(case: Case, entry: RecordedEntry) -> Case:
    """The case with what only rules look at."""
    whole, activity, examined = entry.whole, entry.activity, case.examined
    assert examined is not None
    agent = case.agent
    known = {"name": entry.agent.name, "type": entry.agent.type} if entry.agent is not None else {}
    added: dict[str, Any] = {
        "agent": msgspec.structs.replace(agent, principal_id=PrincipalId(activity.principal_id), **known),
        "charge": Charge(NanoUsd(activity.cost_nano), activity.tokens),
        "has_rules": True,
        "is_observed": whole.get("observed") is True,
    }
    if isinstance(corrected := whole.get("corrected_action"), Mapping):
        finding = msgspec.structs.replace(
            examined.finding, corrected=read_action(str(corrected.get("type")), corrected)
        )
        added["examined"] = msgspec.structs.replace(examined, finding=finding)
    if case.step is None and activity.conversation_id is not None:
        added["step"] = StepContext(activity.conversation_id, 1)
    if isinstance(told := whole.get("origins"), list):
        added["origins"] = _origins_of(case, told)
    if case.door is Door.GRANT:
        added["approval"] = _grant_of(entry)
    return case.add(**added)


def _origins_of(case: Case, told: list[Any]) -> OriginFinding:
    slots = {argument.where: argument.slot for argument in read_values(case.action).arguments}
    return OriginFinding(
        tuple(
            Traced(
                where=each["argument"],
                slot=slots.get(each["argument"], each["argument"]),
                role="",
                value=each["value"],
                origin=Origin(each["origin"]),
                says=each["says"],
            )
            for each in told
        )
    )


def _grant_of(entry: RecordedEntry) -> Approval:
    """Only which rules a person was asked for; the rest of a grant is not looked at again."""
    activity = entry.activity
    return Approval(
        approval_id=str(entry.whole.get("approval_id")),
        activity_id=activity.activity_id,
        agent_id=AgentId(activity.agent_id),
        principal_id=activity.principal_id,
        requested_by=(),
        conversation_id=activity.conversation_id,
        step=None,
        action={},
        action_hash="",
        policy_version="",
        risk=Risk.LOW,
        reason="",
        evidence={},
        intent=None,
        created_ms=0,
        expires_ms=0,
        rules=tuple(sorted(entry.granted or ())),
    )
