"""What every store answers when a record comes too late: the words, in one place."""

from collections.abc import Collection
from typing import Final

from qwed.domain.agents import Agent, AgentStatus
from qwed.domain.approvals import Approval, ApprovalStatus
from qwed.domain.codes import Code, Refusal
from qwed.domain.outcomes import Outcome, OutcomeResult
from qwed.domain.times import iso
from qwed.gateway.kernel.ports import AgentChanged, PolicyMoved

COUNTED_MEANWHILE: Final = "more was counted in this minute while its entry was written: ask again"


def policy_moved() -> PolicyMoved:
    return PolicyMoved("another policy came in force while this was at work")


def too_many_open(limit: int, ends_ms: Collection[int], now_ms: int) -> Refusal | None:
    """`ends_ms` are the ends of the approvals that are open now."""
    if len(ends_ms) < limit:
        return None
    return Refusal(
        Code.BUDGET_REQUESTS,
        f"the agent has {limit} open approvals; they must be answered or expire first",
        {
            "scope": "approvals",
            "limit": limit,
            "current": len(ends_ms),
            "reset_at": iso(min(ends_ms, default=now_ms)),
        },
    )


def changed_meanwhile(approval: Approval) -> Refusal:
    """Of two changes that were made from the same state, the first is taken; this is the other one."""
    if approval.status is ApprovalStatus.REDEEMED:
        return Refusal(Code.APPROVAL_REDEEMED, "the grant was used at the same moment")
    return Refusal(Code.APPROVAL_ANSWERED, "somebody else answered at the same moment")


def reported_already(earlier: OutcomeResult | None, outcome: Outcome) -> Refusal | None:
    """An outcome is reported once and settled once."""
    settles = outcome.settled_by is not None
    if earlier is None or (settles and earlier is OutcomeResult.UNKNOWN):
        return None
    return Refusal(Code.OUTCOME_CONFLICT, f"the outcome was reported already: {earlier}")


def check_unchanged(before: Agent, now: Agent) -> None:
    """An agent that lost its standing while its request was at work does not profit from the old one."""
    if now.status is not before.status and now.status is not AgentStatus.ACTIVE:
        raise AgentChanged(f"the agent was {now.status} while this request was at work")
    if now.trust_level < before.trust_level:
        raise AgentChanged("the agent's trust was lowered while this request was at work: ask again")
