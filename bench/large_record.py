"""A large record in a SQLite file, written by the store itself: what the pages for people are measured on."""

import itertools
import random
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import msgspec
from tests.support.tiers import tier

from qwed.bootstrap import signing_key_path
from qwed.domain.agents import Agent, AgentId, AgentType, Permissions, PrincipalId
from qwed.domain.approvals import Approval
from qwed.domain.credentials import credential_hash
from qwed.domain.policy import BudgetLimits
from qwed.domain.risk import Risk
from qwed.domain.times import DAY_MS, day_of, iso
from qwed.domain.trust import TrustLevel
from qwed.ect.key_files import open_ring
from qwed.gateway.kernel.records import Activity, Booking, Record
from qwed.gateway.kernel.wire import encode_json
from qwed.stores.sqlite import SqliteTables

GROUP = 5_000
#: `make nightly` measures a smaller record.
ROWS = 200_000 if tier() == "nightly" else 1_000_000
ACTION_TYPES = ("calculate", "execute_sql", "send_email", "api_call", "file_write", "verify_fact")
#: Decision, code and how often of a hundred.
OUTCOMES = (
    ("APPROVED", None, 82),
    ("CORRECTED", None, 2),
    ("PENDING", "QWED-AGENT-TRUST-002", 4),
    ("DENIED", "QWED-AGENT-005", 5),
    ("DENIED", "QWED-AGENT-TRUST-001", 3),
    ("DENIED", "QWED-AGENT-LOOP-003", 2),
    ("BUDGET_EXCEEDED", "QWED-AGENT-BUDGET-001", 2),
)


class Shape(msgspec.Struct, frozen=True):
    activities: int = ROWS
    approvals: int = 10_000
    agents: int = 200
    principals: int = 5
    days: int = 30


def build(path: Path, shape: Shape, now_ms: int) -> list[Agent]:
    """The agents of the record, the first of each principal with far more entries than the others."""
    tables = SqliteTables(path, open_ring(signing_key_path(path), "did:qwed:node:local"))
    agents = [_agent(number, shape, now_ms) for number in range(shape.agents)]
    group: list[Record] = [_registered(agent, now_ms - shape.days * DAY_MS) for agent in agents]
    for record in itertools.chain(_decisions(agents, shape, now_ms), _waiting(agents, shape, now_ms)):
        group.append(record)
        if len(group) >= GROUP:
            tables.write(group)
            group = []
    if group:
        tables.write(group)
    tables.close()
    return agents


def _agent(number: int, shape: Shape, now_ms: int) -> Agent:
    agent_id = f"agent_{number:016x}"
    token_hash = credential_hash(f"qwed_agent_{agent_id}")
    assert token_hash is not None
    return Agent(
        AgentId(agent_id),
        f"agent {number}",
        AgentType.AUTONOMOUS,
        PrincipalId(f"principal-{number % shape.principals}"),
        token_hash,
        TrustLevel.AUTONOMOUS,
        Permissions(),
        BudgetLimits(Decimal(100), None, None, None, None, None),
        now_ms - shape.days * DAY_MS,
    )


def _registered(agent: Agent, at_ms: int) -> Record:
    return Record(_activity(agent, at_ms, 0, "register_agent", "NOTED", None, None), agent=agent)


def _decisions(agents: list[Agent], shape: Shape, now_ms: int) -> Iterator[Record]:
    chance = random.Random(7)
    outcomes = [(decision, code) for decision, code, weight in OUTCOMES for _ in range(weight)]
    favourites = agents[: shape.principals]
    step_ms = shape.days * DAY_MS / max(1, shape.activities)
    for number in range(shape.activities):
        agent = chance.choice(favourites if number % 2 else agents)
        decision, code = chance.choice(outcomes)
        at_ms = int(now_ms - (shape.activities - number) * step_ms)
        activity = _activity(
            agent,
            at_ms,
            number + 1,
            chance.choice(ACTION_TYPES),
            decision,
            code,
            f"conversation-{number // 40}",
        )
        # What was booked longer ago is not looked at any more.
        yield Record(activity, booking=_booking(activity) if at_ms > now_ms - DAY_MS else None)


def _booking(activity: Activity) -> Booking:
    day, second = day_of(activity.at_ms), activity.at_ms // 1000
    return Booking(activity.agent_id, activity.principal_id, day, second, 1, activity.cost_nano, 0)


def _activity(
    agent: Agent,
    at_ms: int,
    number: int,
    action_type: str,
    decision: str,
    code: str | None,
    conversation: str | None,
) -> Activity:
    activity_id = f"act_{at_ms:012x}{number:08x}{agent.agent_id[-8:]}"
    cost = 10_000_000 if decision in ("APPROVED", "CORRECTED") else 0
    entry = {
        "activity_id": activity_id,
        "agent_id": agent.agent_id,
        "timestamp": iso(at_ms),
        "action_type": action_type,
        "action": {
            "type": action_type,
            "query": f"{number} + {number}",
            "parameters": {"amount": number % 500},
        },
        "context": {"conversation_id": conversation, "step_number": number % 40 + 1},
        "decision": decision,
        "error_code": code,
        "verification": {
            "status": "VERIFIED",
            "engine": "math",
            "risk_level": "low",
            "checks_passed": ["parsed", "evaluated"],
            "checks_failed": [],
            "evidence": {"result": number * 2, "explanation": "every value was computed exactly" * 6},
            "latency_ms": 0.2 + number % 40 / 10,
        },
        "cost": {"usd": cost / 1e9, "tokens": 0},
        "policy_version": "sha256:" + "0" * 64,
        "requested_by": f"agent:{agent.agent_id}",
    }
    return Activity(
        activity_id,
        agent.agent_id,
        agent.principal_id,
        at_ms,
        action_type,
        decision,
        code,
        conversation,
        cost,
        0,
        b"",
        encode_json(entry),
    )


def _waiting(agents: list[Agent], shape: Shape, now_ms: int) -> Iterator[Record]:
    for number in range(shape.approvals):
        agent = agents[number % len(agents)]
        at_ms = now_ms - (shape.approvals - number)
        activity = _activity(
            agent, at_ms, shape.activities + number, "file_write", "PENDING", "QWED-AGENT-TRUST-002", "c"
        )
        approval = Approval(
            approval_id=f"apr_{at_ms:012x}{number:020x}",
            activity_id=activity.activity_id,
            agent_id=agent.agent_id,
            principal_id=agent.principal_id,
            requested_by=(f"agent:{agent.agent_id}",),
            conversation_id="c",
            step=1,
            action={
                "type": "file_write",
                "target": f"reports/{number}.csv",
                "parameters": {"amount": number},
            },
            action_hash="0" * 64,
            policy_version="sha256:0",
            risk=Risk.HIGH,
            reason="trust level 2 asks a person at high risk",
            evidence={"path": f"reports/{number}.csv"},
            intent="write the weekly report",
            created_ms=at_ms,
            expires_ms=at_ms + 7 * DAY_MS,
        )
        yield Record(activity, approval=approval)
