"""Decide again: the same table, on the facts that were recorded with a decision.

Rows that only read the case run again, under the policy and on the agent of then. Of rows that asked the
world (tokens, admission, the engine, scores) the record holds the answer. Nothing is guessed.
"""

import enum
import functools
from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Any, Final, Protocol, cast

import msgspec

from qwed.domain.actions import Action
from qwed.domain.agents import Agent, AgentId, AgentType, PrincipalId
from qwed.domain.budgets import FREE
from qwed.domain.codes import Code, Refusal
from qwed.domain.credentials import Caller
from qwed.domain.decision_rules import disprove
from qwed.domain.decisions import Decision
from qwed.domain.findings import Failure, Finding, Status
from qwed.domain.fingerprints import Fingerprints
from qwed.domain.policy import BudgetLimits, Policy
from qwed.domain.risk import Risk
from qwed.domain.times import parse_iso
from qwed.domain.verdicts import APPROVED, LAST, Asked, Verdict
from qwed.gateway.decide.account import MASKED, VERSION
from qwed.gateway.decide.case import Case, Door, Examined, RowAnswer, Ruling
from qwed.gateway.decide.facts import Facts
from qwed.gateway.decide.gates import assess_tool
from qwed.gateway.decide.run import decide, leave_unrecorded, tighten
from qwed.gateway.decide.table import (
    GRANT,
    PROVEN,
    RECORDED,
    RECORDED_PRECEDENCE,
    RULES,
    SIGNED,
    STEP,
    SUITS_WORKFLOW,
    TABLE,
    Row,
)
from qwed.gateway.kernel.shared_facts import AgentFacts, read_agent_facts

Json = Mapping[str, Any]
SharedLookup = Callable[[str], Awaitable[bytes | None]]
_DECISIONS: Final = frozenset(decision.value for decision in Decision)


class NotReplayable(enum.StrEnum):
    """Why a decision can't be made again."""

    #: A change that somebody made, or what the gateway noted.
    NO_DECISION = "it records no decision"
    OLDER_FORMAT = "it was recorded before decisions kept what they were made from"
    ERASED = "its text was erased"
    PAST_RETENTION = "the agent or the policy of then is no longer kept"
    MASKED = "the name of its action is masked"
    #: Only under another policy than that of its time.
    NOT_REACHED = "it was refused before anything was proven, and would not be refused for that now"


class Replayed(msgspec.Struct, frozen=True):
    """`same`, or in what the new walk `differs`; or why there was none."""

    is_same: bool = False
    reason: NotReplayable | None = None
    differs: tuple[str, ...] = ()


class NotReached(Exception):
    """The walk came to a proof that was never made."""


async def replay(entry: Json, shared: SharedLookup) -> Replayed:
    """One recorded decision, made again. `shared` finds what is kept under a hash."""
    reason = find_reason(entry)
    if reason is not None:
        return Replayed(reason=reason)
    account = entry["account"]
    agent, policy = await shared(account["agent"]), await shared(entry["policy_version"])
    if agent is None or policy is None:
        return Replayed(reason=NotReplayable.PAST_RETENTION)
    try:
        case = await decide_again(entry, read_agent_facts(agent), _read_policy(policy))
    except NotReached:
        return Replayed(differs=("it came to a proof that was never made",))
    differs = tuple(_compare(entry, case))
    return Replayed(is_same=not differs, differs=differs)


def find_reason(entry: Json) -> NotReplayable | None:
    """Why the entry alone does not tell what it was decided from."""
    account = entry.get("account")
    if entry.get("redacted"):
        return NotReplayable.ERASED
    if entry.get("decision") not in _DECISIONS or entry.get("action_hash") is None:
        return NotReplayable.NO_DECISION
    if not isinstance(account, Mapping) or account.get("version") != VERSION:
        return NotReplayable.OLDER_FORMAT
    if "[masked" in str(entry["action_type"]) or " #" in str(entry["action_type"]):
        return NotReplayable.MASKED
    return None


@functools.lru_cache(maxsize=16)
def _read_policy(body: bytes) -> Policy:
    return Policy.from_wire(msgspec.json.decode(body))


class RulesAgain(Protocol):
    """Asks the policy's rules about a recorded action, and its windows of a history that it keeps."""

    async def ask(self, case: Case, said: Verdict) -> RowAnswer:
        """What the row says; `said` is what it said then."""
        ...

    def settle(self, case: Case, said: Verdict) -> Verdict:
        """What windows of time have against the case, once everything else was asked; `said` is what they
        had against it then."""
        ...


async def decide_again(
    entry: Json,
    agent: AgentFacts,
    policy: Policy,
    rules: RulesAgain | None = None,
    prove: Callable[[Case], Awaitable[Examined]] | None = None,
) -> Case:
    """The walk over the recorded facts, under the given policy. What its rules say is recalled, or asked anew
    of `rules`; so is the proof, of `prove`. Raises `NotReached`."""
    account = entry["account"]
    said = {row["row"]: _verdict_of(entry, row) for row in account.get("rows", ())}
    case = _case_of(entry, agent, policy)
    rows = tuple(_recall(row, entry, said, rules) for row in TABLE[case.door])
    if prove is not None:
        rows = tuple(_prove_anew(row, prove) if row.name == PROVEN.name else row for row in rows)
    case = await decide(case, cast(Facts, _NoWorld()), leave_unrecorded, rows)
    if SIGNED in said:
        case = tighten(case, SIGNED, said[SIGNED], LAST)
    late = said.get(RECORDED, APPROVED)
    if rules is not None:
        if not _is_of_rules(late):
            case, late = tighten(case, RECORDED, late, RECORDED_PRECEDENCE), APPROVED
        late = rules.settle(case, late)
    return case if late.decision is Decision.APPROVED else tighten(case, RECORDED, late, RECORDED_PRECEDENCE)


def _is_of_rules(late: Verdict) -> bool:
    """Whether the store refused for windows of rules, or not at all."""
    return late.refusal is None or late.refusal.code is Code.RULE_LIMIT


class _NoWorld:
    """Nothing is asked of the world: rows that would are answered from the record."""

    #: What a missing state means was settled at admission, whose answer is recorded.
    state_required = False


def _case_of(entry: Json, facts: AgentFacts, policy: Policy) -> Case:
    account, shown = entry["account"], entry["action"]
    name, door = entry["action_type"], Door(account["door"])
    # A long action that was refused before anything looked at it keeps its beginning only.
    action = read_action(name, shown)
    agent = _agent_of(entry, facts)
    threshold = account.get("threshold")
    return Case(
        door=door,
        policy=policy,
        agent=agent,
        caller=Caller(agent_id=agent.agent_id),
        action=action,
        kept_type=name,
        context=entry["context"],
        now_ms=parse_iso(entry["timestamp"]),
        charge=FREE,
        action_hash=entry["action_hash"],
        fingerprints=Fingerprints(),
        parameters_problem=None,
        threshold=None if threshold is None else Risk.from_wire(threshold),
        is_advisory="is_advisory" in account.get("facts", ()),
        is_limited=threshold is not None,
        takes_next_step="takes_next_step" in account.get("facts", ()),
        assessment=assess_tool(policy, agent, name, action.parameters) if door is Door.TOOL else None,
    )


def read_action(name: str, wire: Any) -> Action:
    """The action as the record shows it."""
    if not isinstance(wire, Mapping):
        return Action(name)
    parameters = wire.get("parameters")
    return Action(
        name,
        query=wire.get("query"),
        code=wire.get("code"),
        target=wire.get("target"),
        parameters=parameters if isinstance(parameters, Mapping) else {},
    )


def _agent_of(entry: Json, facts: AgentFacts) -> Agent:
    """Only what decisions read; the rest of an agent is nobody's business here."""
    return Agent(
        agent_id=AgentId(entry["agent_id"]),
        name="",
        type=AgentType.SUPERVISED,
        principal_id=PrincipalId(""),
        token_hash=b"",
        trust_level=facts.trust_level,
        permissions=facts.permissions,
        budget=BudgetLimits(),
        created_ms=0,
        status=facts.status,
        status_reason=facts.status_reason,
    )


# --- what the record says ---------------------------------------------------------------------------


def _verdict_of(entry: Json, row: Json) -> Verdict:
    """What a row said then. Of the row that speaks, the entry itself holds the words."""
    decision = Decision(row["decision"])
    if decision.lets_act:
        return Verdict(decision)
    source = row if "code" in row else entry["error"]
    asked = Asked(rules=(row["row"],)) if row["row"] == SUITS_WORKFLOW.name else Asked()
    return Verdict(decision, Refusal(Code(source["code"]), source["message"]), asked=asked)


def _recall(row: Row, entry: Json, said: Mapping[str, Verdict], rules: RulesAgain | None) -> Row:
    """The row itself where it only reads the case; else one that answers what was answered then."""
    if row is RULES and rules is not None:
        then = said.get(row.name, APPROVED)
        return msgspec.structs.replace(row, check=lambda case, _: rules.ask(case, then), needs=())
    if not row.reads_world and not (row.name == STEP.name and _is_masked(entry)):
        return row

    def recall(case: Case, facts: Facts) -> RowAnswer:
        if row.name in (PROVEN.name, GRANT.name):
            return _recall_proof(case, entry)
        return said.get(row.name, case)

    return msgspec.structs.replace(row, check=recall, awaits=False, needs=())


def _is_masked(entry: Json) -> bool:
    return MASKED in entry["account"].get("facts", ())


def _recall_proof(case: Case, entry: Json) -> RowAnswer:
    examined = _read_examined(entry)
    if examined is None:
        raise NotReached
    case = case.add(examined=examined)
    is_failed = examined.finding.status is Status.FAILED
    return Ruling(case, disprove(examined.finding)) if is_failed else case


def _prove_anew(row: Row, prove: Callable[[Case], Awaitable[Examined]]) -> Row:
    async def ask(case: Case, facts: Facts) -> RowAnswer:
        examined = await prove(case)
        case = case.add(examined=examined)
        is_failed = examined.finding.status is Status.FAILED
        return Ruling(case, disprove(examined.finding)) if is_failed else case

    return msgspec.structs.replace(row, check=ask, awaits=True, needs=())


def _read_examined(entry: Json) -> Examined | None:
    found = entry.get("verification")
    if not isinstance(found, Mapping):
        return None
    failure = found.get("failure")
    risk = Risk.from_wire(found["risk_level"])
    finding = Finding(
        Status(found["status"]),
        risk,
        found["engine"],
        found.get("reason", ""),
        found.get("evidence") or {},
        failure=None if failure is None else Failure(failure),
    )
    return Examined(finding, risk, 0.0)


def _compare(entry: Json, case: Case) -> Iterator[str]:
    """Decision, code and what every row said; the words too, where nothing of the action is masked."""
    if case.verdict.decision.value != entry["decision"]:
        yield f"decision: {entry['decision']} then, {case.verdict.decision.value} now"
    code = None if case.verdict.refusal is None else case.verdict.refusal.code.value
    if code != entry.get("error_code"):
        yield f"code: {entry.get('error_code')} then, {code} now"
    then = [(row["row"], row["decision"]) for row in entry["account"].get("rows", ())]
    now = [(said.row, said.verdict.decision.value) for said in case.tightened]
    if then != now:
        yield f"rows: {then} then, {now} now"
    message = None if case.verdict.refusal is None else case.verdict.refusal.message
    if not _is_masked(entry) and message != (entry.get("error") or {}).get("message"):
        yield f"message: {(entry.get('error') or {}).get('message')!r} then, {message!r} now"
