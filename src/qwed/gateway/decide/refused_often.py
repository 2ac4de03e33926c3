"""Refusals count: beyond the policy's number in an hour they are counted instead of recorded.

Only requests that are refused all the same are concerned; one that passes is answered as always. What was
only counted is stated, minute by minute, in an entry of its own.
"""

from typing import Final

from qwed.domain.agents import Agent
from qwed.domain.codes import Code, Refusal
from qwed.domain.refusal_counts import CountedRefusal, RefusedMinute, due_before
from qwed.gateway.kernel.answers import RequestError
from qwed.gateway.kernel.changes import noted
from qwed.gateway.kernel.records import Record
from qwed.gateway.kernel.services import Services

BATCH: Final = 100


async def count_refusal(services: Services, agent: Agent, refusal: Refusal, now_ms: int) -> None:
    """Raises what is answered where this agent has been refused too often."""
    refused = CountedRefusal(agent.agent_id, agent.principal_id, refusal.code.value, now_ms)
    counted = await services.store.count_refusal(refused)
    if counted.is_due:
        # In a process without a sweeper, whoever comes next states what came before.
        await state_refusals(services)
    if counted.wait_ms is not None:
        raise RequestError(_too_often(services, refusal), retry_after=-(-counted.wait_ms // 1000))


def _too_often(services: Services, refusal: Refusal) -> Refusal:
    limit = services.policy.limits.refusals_per_hour
    return Refusal(
        Code.RATE_LIMITED,
        f"the agent was refused {limit} times within an hour, and would be again ({refusal.code.value}):"
        " correct the request, which then passes as always, or wait",
        {"refused_by": refusal.code.value, "limit": limit, "window_seconds": 3600},
    )


async def state_refusals(services: Services) -> int:
    """Write the entry of every minute that is over; how many there were, at most `BATCH`."""
    before = due_before(services.clock.now_ms())
    if not await services.store.list_refused_minutes_due(before, 1):
        return 0
    # One after the other, so that no minute has two entries.
    async with services.turns.turn("refused minutes"):
        due = await services.store.list_refused_minutes_due(before, BATCH)
        for minute in due:
            await _state(services, minute)
    return len(due)


async def _state(services: Services, minute: RefusedMinute) -> None:
    activity = noted(
        services,
        None,
        "count_refusals",
        minute.to_wire(),
        agent_id=minute.agent_id,
        principal_id=minute.principal_id,
    )
    await services.store.commit(Record(activity, stated=minute))
