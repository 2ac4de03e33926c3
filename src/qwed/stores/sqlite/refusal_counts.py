"""Refusals by agent and minute, on the writer's own connection."""

import sqlite3
from collections.abc import Callable, Sequence

import msgspec

from qwed.domain.agents import AgentId
from qwed.domain.refusal_counts import (
    HOUR_MINUTES,
    MINUTE_MS,
    Counted,
    CountedRefusal,
    RefusedMinute,
    count_refusal,
    oldest_minute,
)
from qwed.gateway.kernel.ports import StoreUnavailable
from qwed.stores.bodies import decode, encode
from qwed.stores.refusals import COUNTED_MEANWHILE

Run = Callable[..., sqlite3.Cursor]


def count_refusals(run: Run, refused: Sequence[CountedRefusal], limit: int) -> list[Counted]:
    """Each sees those before it; a row that several of them change is written once."""
    known: dict[AgentId, dict[int, RefusedMinute]] = {}
    changed: dict[tuple[AgentId, int], RefusedMinute] = {}
    results = []
    for each in refused:
        if each.agent_id not in known:
            known[each.agent_id] = _read_minutes(run, each)
        row, counted = count_refusal(known[each.agent_id].values(), each, limit)
        known[each.agent_id][row.minute] = changed[each.agent_id, row.minute] = row
        results.append(counted)
    for row in changed.values():
        run(
            "INSERT OR REPLACE INTO refused_minutes VALUES (?, ?, ?, ?)",
            (row.agent_id, row.minute, row.counted > 0, encode(row)),
        )
    return results


def _read_minutes(run: Run, refused: CountedRefusal) -> dict[int, RefusedMinute]:
    rows = run(
        "SELECT body FROM refused_minutes WHERE agent_id = ? AND minute >= ?",
        (refused.agent_id, oldest_minute(refused.at_ms)),
    ).fetchall()
    return {row.minute: row for row in (decode(RefusedMinute, body) for (body,) in rows)}


def state_minute(run: Run, minute: RefusedMinute) -> None:
    closed = msgspec.structs.replace(minute, is_stated=True)
    done = run(
        "UPDATE refused_minutes SET is_unstated = 0, body = ? WHERE agent_id = ? AND minute = ? AND body = ?",
        (encode(closed), minute.agent_id, minute.minute, encode(minute)),
    )
    if not done.rowcount:
        raise StoreUnavailable(COUNTED_MEANWHILE)


def forget_refused_minutes(run: Run, now_ms: int) -> None:
    run(
        "DELETE FROM refused_minutes WHERE minute < ? AND NOT is_unstated",
        (now_ms // MINUTE_MS - 2 * HOUR_MINUTES,),
    )
