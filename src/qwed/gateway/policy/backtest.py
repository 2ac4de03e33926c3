"""What another policy would have decided: the record, decided again on the facts of its time.

Findings, scores and what the world answered come from the record. What would have to be proven or counted
anew under the other policy is not guessed: it is listed, with the reason, as what a backtest can't say.
"""

from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any, Final

import msgspec

from qwed.domain.agents import Agent, AgentId
from qwed.domain.decisions import LETS_ACT, Decision
from qwed.domain.policy import Policy
from qwed.gateway.decide.case import Door
from qwed.gateway.decide.replay import NotReached, NotReplayable, SharedLookup, decide_again, find_reason
from qwed.gateway.decide.shadow import PROVE_AGAIN, why_not
from qwed.gateway.kernel.coroutines import pause
from qwed.gateway.kernel.ports import Records
from qwed.gateway.kernel.records import Activity
from qwed.gateway.kernel.shared_facts import AgentFacts, read_agent_facts
from qwed.gateway.policy.prove_again import ProvesAgain, shows_whole_action
from qwed.gateway.policy.recorded_entries import (
    RecordedDecision,
    conversation_of,
    door_of,
    read_recorded,
    whole_of,
)
from qwed.gateway.policy.recorded_risk import is_risk_unknown, under_risk
from qwed.gateway.policy.recorded_rules import NO_GRANT, NotInRecord, RecordedEntry, RecordedRules
from qwed.rules.evaluate import RuleReads

#: Changed decisions that a report shows one by one; all are counted.
MAX_SHOWN: Final = 200
#: Conversations of which it is remembered that they would have gone another way.
MAX_CONVERSATIONS: Final = 100_000
MAX_KNOWN: Final = 50_000
STRETCH: Final = 1_000
Json = Mapping[str, Any]


class _Verdict(msgspec.Struct, frozen=True):
    """What the other policy says, or why nobody can say it. `asked` are the rules that ask a person."""

    decision: str = ""
    code: str | None = None
    rows: tuple[str, ...] = ()
    reason: str | None = None
    rules: tuple[str, ...] = ()
    asked: frozenset[str] = frozenset()
    is_follow_on: bool = False


AgentLookup = Callable[[AgentId], Awaitable[Agent | None]]


class Backtest:
    """Takes entries in the order of the record, in bounded memory."""

    def __init__(
        self,
        policy: Policy,
        shared: SharedLookup,
        agents: AgentLookup | None = None,
        *,
        agent_id: str | None = None,
        since_ms: int | None = None,
    ) -> None:
        self._policy = policy
        self._shared = shared
        self._agent_now = agents
        self._agent_id = agent_id
        self._since_ms = since_ms
        self._rules = RecordedRules(policy)
        self._agents: dict[str, AgentFacts] = {}
        self._agents_now: dict[str, Agent | None] = {}
        self._policies: dict[str, Policy | None] = {}
        #: What entries that are alike in all that decides come to.
        self._known: dict[Any, _Verdict] = {}
        self._changed_conversations: set[tuple[str, str]] = set()
        #: The rules that each approval would have been opened for; None: nobody would have been asked.
        self._opened: dict[str, frozenset[str] | None] = {}
        #: A decision came out differently, or could not be made again: the history is another one from here.
        self._has_changed = False
        #: Makes the proofs that the other policy asks for; None: they are not made.
        self.engines: ProvesAgain | None = None
        self.proven_again = 0
        self.looked_at = 0
        self.same = 0
        self.direct: Counter[tuple[str, str, str]] = Counter()
        self.follow_on: Counter[tuple[str, str, str]] = Counter()
        self.by_rule: Counter[str] = Counter()
        self.cannot_say: Counter[str] = Counter()
        self.unsure_after = 0
        self.shown: list[dict[str, Any]] = []

    @property
    def starts_ms(self) -> int | None:
        """The first time that matters: windows reach back behind what is reported."""
        return None if self._since_ms is None else self._since_ms - self._rules.longest_ms

    async def take(self, activity: Activity) -> None:
        is_told = self._is_told(activity)
        if not is_told and not self._rules.longest_ms:
            return
        if activity.decision not in _DECISIONS:
            if activity.action_type in _REPORTS and self._rules.longest_ms:
                self._hear(read_recorded.decode(activity.payload))
            return
        entry = read_recorded.decode(activity.payload)
        verdict = await self._decide(entry, activity)
        self._remember_grant(entry, verdict)
        if verdict.reason is not None and self._rules.has_rules:
            self._rules.skip(entry.decision in LETS_ACT or entry.observed)
        if is_told:
            self._tell(entry, verdict)
        is_same = (verdict.decision, verdict.code) == (entry.decision, entry.error_code)
        self._has_changed = self._has_changed or not is_same

    def _is_told(self, activity: Activity) -> bool:
        is_late = self._since_ms is None or activity.at_ms >= self._since_ms
        return is_late and self._agent_id in (None, activity.agent_id)

    def _hear(self, entry: RecordedDecision) -> None:
        details = entry.action.get("parameters") if isinstance(entry.action, Mapping) else None
        if isinstance(details, Mapping):
            self._rules.hear(details, entry.requested_by)

    def _remember_grant(self, entry: RecordedDecision, verdict: _Verdict) -> None:
        if entry.approval_id is None or not self._rules.has_rules or door_of(entry) == Door.GRANT:
            return
        if verdict.reason is None:
            if len(self._opened) >= MAX_KNOWN:
                self._opened.clear()
            is_asked = verdict.decision == Decision.PENDING
            self._opened[entry.approval_id] = verdict.asked if is_asked else None

    def _tell(self, entry: RecordedDecision, verdict: _Verdict) -> None:
        self.looked_at += 1
        where = conversation_of(entry)
        is_after = where is not None and where in self._changed_conversations
        if verdict.reason is not None:
            self.cannot_say[verdict.reason] += 1
        elif (verdict.decision, verdict.code) == (entry.decision, entry.error_code):
            self.same += 1
            self.unsure_after += is_after
        else:
            self._note(entry, verdict, is_after or verdict.is_follow_on)
            if where is not None and len(self._changed_conversations) < MAX_CONVERSATIONS:
                self._changed_conversations.add(where)

    def _note(self, entry: RecordedDecision, verdict: _Verdict, is_after: bool) -> None:
        counter = self.follow_on if is_after else self.direct
        counter[entry.action_type, entry.decision, verdict.decision] += 1
        self.by_rule.update(verdict.rules)
        if len(self.shown) < MAX_SHOWN:
            self.shown.append(
                {
                    "activity_id": entry.activity_id,
                    "at": entry.timestamp,
                    "agent_id": entry.agent_id,
                    "action_type": entry.action_type,
                    "then": {"decision": entry.decision, "code": entry.error_code},
                    "now": {
                        "decision": verdict.decision,
                        "code": verdict.code,
                        "rows": verdict.rows,
                        "rules": verdict.rules,
                    },
                    "change": "follow_on" if is_after else "direct",
                }
            )

    async def _decide(self, entry: RecordedDecision, activity: Activity) -> _Verdict:
        whole = whole_of(entry)
        reason = find_reason(whole)
        if reason is not None:
            return _Verdict(reason=reason.value)
        assert entry.account is not None
        is_recalled = entry.policy_version == self._policy.version and not self._has_changed
        reads = self._reads(entry, activity)
        if is_recalled and not reads.is_timed:
            # What they said then, they say again; nothing is counted.
            reads = NO_RULES
        # A proof is of the very words of the action.
        key = None if reads or self.engines is not None else self._key(entry)
        known = self._known.get(key) if key is not None else None
        if known is None:
            known = await self._decide_anew(whole, entry, activity, reads, is_recalled)
            if key is not None:
                if len(self._known) >= MAX_KNOWN:
                    self._known.clear()
                self._known[key] = known
        return known

    def _reads(self, entry: RecordedDecision, activity: Activity) -> RuleReads:
        if not self._rules.has_rules:
            return NO_RULES
        return self._rules.reads_of(activity.principal_id, entry.action_type)

    def _key(self, entry: RecordedDecision) -> Any:
        """All that decides, where the action's own words do not; None where they may."""
        account, found = entry.account, entry.verification
        assert account is not None
        rows = account.get("rows", ())
        if any(row["row"] == "read_step" for row in rows):
            return None
        engine = None if found is None else (found["status"], found["risk_level"], found["engine"])
        return (
            account["door"],
            account["agent"],
            account.get("threshold"),
            tuple(account.get("facts", ())),
            tuple((row["row"], row["decision"], row.get("code")) for row in rows),
            entry.action_type,
            entry.error_code,
            entry.policy_version,
            engine,
            None if found is None else found.get("failure"),
            entry.context is None,
        )

    async def _decide_anew(
        self, whole: Json, entry: RecordedDecision, activity: Activity, reads: RuleReads, is_recalled: bool
    ) -> _Verdict:
        assert entry.account is not None
        agent, before = await self._agent(entry.account["agent"]), await self._policy_of(entry.policy_version)
        if agent is None or before is None:
            return _Verdict(reason=NotReplayable.PAST_RETENTION.value)
        prove = None
        if before.version != self._policy.version:
            reason = self._why_not(entry, before)
            if reason == PROVE_AGAIN and self.engines is not None and shows_whole_action(entry):
                # What was corrected then is not what would be corrected now.
                whole = {name: value for name, value in whole.items() if name != "corrected_action"}
                prove, reason = self.engines.prove, None
            if reason is not None:
                return _Verdict(reason=reason)
            whole = whole if prove else under_risk(whole, before, self._policy)
        rules = None
        if reads or (not is_recalled and _has_rules(before)):
            # Also where the other policy has none: what rules said then is not recalled.
            granted = self._opened.get(entry.approval_id or "", frozenset() if not reads else None)
            if (
                reads
                and door_of(entry) == Door.GRANT
                and entry.approval_id in self._opened
                and granted is None
            ):
                return _Verdict(reason=NO_GRANT)
            rules = self._rules
            now = await self._agent_of_today(entry.agent_id)
            rules.take(RecordedEntry(whole, activity, now, granted, is_recalled))
        try:
            case = await decide_again(whole, agent, self._policy, rules, prove)
        except NotReached:
            return _Verdict(reason=NotReplayable.NOT_REACHED.value)
        except NotInRecord as missing:
            return _Verdict(reason=str(missing))
        self.proven_again += prove is not None
        code = None if case.verdict.refusal is None else case.verdict.refusal.code.value
        return _Verdict(
            case.verdict.decision.value,
            code,
            tuple(said.row for said in case.tightened),
            rules=() if rules is None else rules.named(),
            asked=case.verdict.asked.policy_rules,
            is_follow_on=rules is not None and rules.is_follow_on,
        )

    async def _agent_of_today(self, agent_id: str) -> Agent | None:
        """For its name and its type, which never change."""
        if self._agent_now is None:
            return None
        if agent_id not in self._agents_now:
            if len(self._agents_now) >= MAX_KNOWN:
                self._agents_now.clear()
            self._agents_now[agent_id] = await self._agent_now(AgentId(agent_id))
        return self._agents_now[agent_id]

    def _why_not(self, entry: RecordedDecision, before: Policy) -> str | None:
        """Why the record does not hold what the other policy would ask."""
        reason = why_not(before, self._policy, entry.action_type)
        if entry.verification is None:
            return None if reason == PROVE_AGAIN else reason
        if reason is None and is_risk_unknown(before, self._policy, entry.action_type, entry.verification):
            return PROVE_AGAIN
        return reason

    async def _agent(self, digest: str) -> AgentFacts | None:
        known = self._agents.get(digest)
        if known is None:
            body = await self._shared(digest)
            if body is None:
                return None
            if len(self._agents) >= MAX_KNOWN:
                self._agents.clear()
            known = self._agents[digest] = read_agent_facts(body)
        return known

    async def _policy_of(self, version: str) -> Policy | None:
        if version not in self._policies:
            body = await self._shared(version)
            self._policies[version] = None if body is None else Policy.from_wire(msgspec.json.decode(body))
        return self._policies[version]

    def report(self) -> dict[str, Any]:
        """First what it can't say."""
        return {
            "cannot_say": dict(self.cannot_say.most_common()),
            "agents_may_have_gone_on_differently": self.unsure_after,
            "not_counted_by_rules": self._rules.not_counted,
            "windows_are_whole": self._rules.is_whole,
            "proven_again": self.proven_again,
            "decisions": self.looked_at,
            "same": self.same,
            "direct": _rows(self.direct),
            "follow_on": _rows(self.follow_on),
            "by_rule": dict(self.by_rule.most_common()),
            "changes": self.shown,
        }


NO_RULES: Final = RuleReads()
#: Entries that say what became of an action.
_REPORTS: Final = frozenset({"report_outcome", "settle_outcome"})
_DECISIONS: Final = frozenset(decision.value for decision in Decision)


def _has_rules(policy: Policy) -> bool:
    return bool(policy.rules or policy.teams)


def _rows(counter: Counter[tuple[str, str, str]]) -> list[dict[str, Any]]:
    return [
        {"action_type": name, "then": then, "now": now, "count": count}
        for (name, then, now), count in counter.most_common()
    ]


# --- over a store -------------------------------------------------------------------------------------


async def backtest_store(
    store: Records,
    backtest: Backtest,
    *,
    after: int = 0,
    limit: int | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> int | None:
    """Look at the entries behind number `after`, at most `limit`; says where it stopped, None at the end."""
    total = await store.evidence.size()
    end = total if limit is None else min(total, after + limit)
    async for activity in _activities(store, after, end, backtest.starts_ms, progress):
        await backtest.take(activity)
    return None if end >= total else end


async def _activities(
    store: Records, after: int, end: int, starts_ms: int | None, progress: Callable[[int, int], None]
) -> AsyncIterator[Activity]:
    while after < end:
        items = await store.evidence.stretch(after, min(STRETCH, end - after))
        if not items:
            return
        for item in items:
            if item.activity is not None and (starts_ms is None or item.activity.at_ms >= starts_ms):
                yield item.activity
        after = items[-1].seq
        progress(after, end)
        # Others are served in between.
        await pause(0)
