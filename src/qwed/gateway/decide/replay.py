"""Decide again: the same table, on the facts that were recorded with a decision.

Rows that only read the case run again, under the policy and on the agent of then. Of rows that asked the
world (tokens, admission, the engine, scores) the record holds the answer. Nothing is guessed.
"""

import enum
import functools
from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Any, cast

import msgspec

from qwed.domain.actions import Action
from qwed.domain.agents import Agent, AgentId, AgentType, PrincipalId
from qwed.domain.budgets import FREE
from qwed.domain.codes import Code, Refusal
from qwed.domain.credentials import Caller
from qwed.domain.deciding import disprove
from qwed.domain.decisions import Decision
from qwed.domain.findings import Failure, Finding, Status
from qwed.domain.fingerprints import Fingerprints
from qwed.domain.policy import BudgetLimits, Policy
from qwed.domain.risk import Risk
from qwed.domain.times import parse_iso
from qwed.domain.verdicts import LAST, Asked, Verdict
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
    SIGNED,
    STEP,
    SUITS_WORKFLOW,
    TABLE,
    Row,
)
from qwed.gateway.kernel.shared_facts import AgentFacts, read_agent_facts

Json = Mapping[str, Any]
SharedLookup = Callable[[str], Awaitable[bytes | None]]


class NotReplayable(enum.StrEnum):
    """Why a decision can't be made again."""

    #: A change that somebody made, or what the gateway noted.
    NO_DECISION = "it records no decision"
    OLDER_FORMAT = "it was recorded before decisions kept what they were made from"
    ERASED = "its text was erased"
    PAST_RETENTION = "the agent or the policy of then is no longer kept"
    MASKED = "the name of its action is masked"


class Replayed(msgspec.Struct, frozen=True):
    """`same`, or in what the new walk `differs`; or why there was none."""

    is_same: bool = False
    reason: NotReplayable | None = None
    differs: tuple[str, ...] = ()


async def replay(entry: Json, shared: SharedLookup) -> Replayed:
    """One recorded decision, made again. `shared` finds what is kept under a hash."""
    account = entry.get("account")
    if entry.get("redacted"):
        return Replayed(reason=NotReplayable.ERASED)
    if entry.get("decision") not in tuple(Decision) or entry.get("action_hash") is None:
        return Replayed(reason=NotReplayable.NO_DECISION)
    if not isinstance(account, Mapping) or account.get("version") != VERSION:
        return Replayed(reason=NotReplayable.OLDER_FORMAT)
    if "[masked" in str(entry["action_type"]) or " #" in str(entry["action_type"]):
        return Replayed(reason=NotReplayable.MASKED)
    agent, policy = await shared(account["agent"]), await shared(entry["policy_version"])
    if agent is None or policy is None:
        return Replayed(reason=NotReplayable.PAST_RETENTION)
    case = await decide_again(entry, read_agent_facts(agent), _read_policy(policy))
    differs = tuple(_compare(entry, case))
    return Replayed(is_same=not differs, differs=differs)


@functools.lru_cache(maxsize=16)
def _read_policy(body: bytes) -> Policy:
    return Policy.from_wire(msgspec.json.decode(body))


async def decide_again(entry: Json, agent: AgentFacts, policy: Policy) -> Case:
    """The walk over the recorded facts, under the given policy."""
    account = entry["account"]
    said = {row["row"]: _verdict_of(entry, row) for row in account.get("rows", ())}
    case = _case_of(entry, agent, policy)
    rows = tuple(_recall(row, entry, said) for row in TABLE[case.door])
    case = await decide(case, cast(Facts, _NoWorld()), leave_unrecorded, rows)
    for name, precedence in ((SIGNED, LAST), (RECORDED, RECORDED_PRECEDENCE)):
        if name in said:
            case = tighten(case, name, said[name], precedence)
    return case


class _NoWorld:
    """Nothing is asked of the world: rows that would are answered from the record."""

    #: What a missing state means was settled at admission, whose answer is recorded.
    state_required = False


def _case_of(entry: Json, facts: AgentFacts, policy: Policy) -> Case:
    account, shown = entry["account"], entry["action"]
    name, door = entry["action_type"], Door(account["door"])
    # A long action that was refused before anything looked at it keeps its beginning only.
    parameters = shown.get("parameters") if isinstance(shown, Mapping) else None
    action = Action(name, parameters=parameters if isinstance(parameters, Mapping) else {})
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
        assessment=assess_tool(policy, agent, name, action.parameters) if door is Door.TOOL else None,
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


def _recall(row: Row, entry: Json, said: Mapping[str, Verdict]) -> Row:
    """The row itself where it only reads the case; else one that answers what was answered then."""
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
    examined = _examined_in(entry)
    if examined is None:
        return case
    case = case.add(examined=examined)
    is_failed = examined.finding.status is Status.FAILED
    return Ruling(case, disprove(examined.finding)) if is_failed else case


def _examined_in(entry: Json) -> Examined | None:
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
