"""What makes entries of the record alike, and their sums, for stores that count in Python."""

from typing import Any, Final

import msgspec

from qwed.domain.agents import AgentId
from qwed.domain.outcomes import Outcome
from qwed.domain.times import day_of
from qwed.gateway.kernel.records import Activity

Row = tuple[Any, ...]


class _Verification(msgspec.Struct):
    status: str | None = None
    engine: str | None = None
    risk_level: str | None = None


class _Facts(msgspec.Struct):
    """What of a payload is counted; all of it stays when the text is erased."""

    verification: _Verification = msgspec.field(default_factory=_Verification)
    policy_version: str | None = None
    redacted: bool = False


_FACTS: Final = msgspec.json.Decoder(_Facts)


def tally_of(activity: Activity, outcome: Outcome | None) -> tuple[Row, Row]:
    """What makes entries alike, and what is added up over those that are."""
    alike = alike_of(
        activity.at_ms,
        activity.agent_id,
        activity.decision,
        activity.error_code,
        activity.action_type,
        activity.payload,
        outcome,
    )
    return alike, (1, activity.cost_nano, activity.tokens, activity.at_ms, activity.at_ms)


def alike_of(
    at_ms: int,
    agent_id: AgentId,
    decision: str,
    error_code: str | None,
    action_type: str,
    payload: bytes,
    outcome: Outcome | None,
) -> Row:
    facts = _FACTS.decode(payload)
    return (
        day_of(at_ms),
        agent_id,
        decision,
        error_code,
        action_type if decision == "NOTED" else None,
        facts.verification.status,
        facts.verification.engine,
        facts.verification.risk_level,
        facts.policy_version,
        facts.redacted,
        None if outcome is None else outcome.result.value,
        outcome is not None and outcome.reported_by.startswith("agent:"),
    )


def added(earlier: Row | None, costs: Row) -> Row:
    if earlier is None:
        return costs
    sums = (have + more for have, more in zip(earlier[:3], costs[:3], strict=True))
    return (*sums, min(earlier[3], costs[3]), max(earlier[4], costs[4]))
