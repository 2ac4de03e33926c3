"""Refusals by agent and minute, exact across processes: agents are counted one after the other."""

from collections import defaultdict
from typing import Any

import asyncpg
import msgspec

from qwed.domain.agents import AgentId
from qwed.domain.refusal_counts import Counted, CountedRefusal, RefusedMinute, count_refusal, oldest_minute
from qwed.gateway.kernel.ports import StoreUnavailable
from qwed.stores.bodies import decode, encode
from qwed.stores.postgres.lanes import LaneJob
from qwed.stores.postgres.statements import SQL
from qwed.stores.refusals import COUNTED_MEANWHILE

Connection = Any
Counting = LaneJob[CountedRefusal, Counted]
_Minutes = dict[AgentId, dict[int, RefusedMinute]]


class RefusalCounts:
    """The work of the lane that counts refusals: what waits is counted in one transaction."""

    def __init__(self, limit: int) -> None:
        self.limit = limit

    async def work(self, connection: "asyncpg.Connection[Any]", batch: list[Counting]) -> None:
        async with connection.transaction():
            results = await self._count(connection, [item.what for item in batch])
        for item, counted in zip(batch, results, strict=True):
            item.bring(counted)

    async def _count(self, connection: Connection, refused: list[CountedRefusal]) -> list[Counted]:
        known = await _read_minutes(connection, refused)
        changed: dict[tuple[AgentId, int], RefusedMinute] = {}
        results = []
        for each in refused:
            row, counted = count_refusal(known[each.agent_id].values(), each, self.limit)
            known[each.agent_id][row.minute] = changed[each.agent_id, row.minute] = row
            results.append(counted)
        rows = list(changed.values())
        await connection.execute(
            SQL["put_refused_minutes"],
            [row.agent_id for row in rows],
            [row.minute for row in rows],
            [row.counted > 0 for row in rows],
            [encode(row) for row in rows],
        )
        return results


async def _read_minutes(connection: Connection, refused: list[CountedRefusal]) -> _Minutes:
    agents = list({each.agent_id for each in refused})
    await connection.execute(SQL["lock_refusals"], agents)
    oldest = oldest_minute(min(each.at_ms for each in refused))
    known: _Minutes = defaultdict(dict)
    for (body,) in await connection.fetch(SQL["refused_minutes"], agents, oldest):
        row = decode(RefusedMinute, body)
        known[row.agent_id][row.minute] = row
    return known


async def state_minute(connection: Connection, minute: RefusedMinute) -> None:
    closed = encode(msgspec.structs.replace(minute, is_stated=True))
    done = await connection.execute(
        SQL["state_minute"], minute.agent_id, minute.minute, encode(minute), closed
    )
    if done != "UPDATE 1":
        raise StoreUnavailable(COUNTED_MEANWHILE)
