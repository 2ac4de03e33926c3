"""What rules remember, in the transaction of the record: a key is checked and counted by one at a time."""

from decimal import Decimal
from typing import Any, Final

from qwed.domain.outcomes import Outcome
from qwed.domain.rule_windows import (
    EXACT,
    LastTime,
    Reached,
    TimeForm,
    WindowCheck,
    WindowEntry,
    WindowsReached,
    join_pairs,
    refuse_reached,
)
from qwed.domain.rules import MAX_COUNT, Measure
from qwed.gateway.kernel.records import Record
from qwed.stores.postgres.statements import SQL

Connection = Any
#: Beyond so many entries above the bound, the older half is joined.
_SLACK: Final = 1_000


async def check_windows(connection: Connection, record: Record) -> WindowsReached | None:
    """Whatever is asked about stays as it is until the transaction ends."""
    if not record.windows and not record.marks:
        return None
    keys = [check.key for check in record.windows] + [mark.key for mark in record.marks]
    await connection.execute(SQL["lock_windows"], keys)
    found = [
        await _reach(connection, check, record.activity.at_ms) for check in record.windows if check.is_checked
    ]
    return refuse_reached([reached for reached in found if reached is not None])


async def _reach(connection: Connection, check: WindowCheck, at_ms: int) -> Reached | None:
    if check.form is not TimeForm.LIMIT:
        return LastTime(await connection.fetchval(SQL["last_time"], check.key)).reach(check, at_ms)
    state = await connection.fetchrow(SQL["window_state"], check.key, at_ms, check.within_ms, check.value)
    held = state["total"] if check.measure is Measure.SUM else Decimal(state["entries"])
    more = Decimal(check.value) if check.measure is Measure.SUM else Decimal(1)
    if check.measure is Measure.DISTINCT and state["has_value"]:
        more = Decimal(0)
    if EXACT.add(held, more) <= check.at_most:
        return None
    return Reached(check.rule, str(held), state["is_merged"])


async def write_windows(connection: Connection, record: Record) -> None:
    at_ms = record.activity.at_ms
    for check in record.windows:
        if check.form is TimeForm.LIMIT and check.is_counted:
            await _count(connection, check, at_ms)
    for mark in record.marks:
        until_ms = at_ms + mark.within_ms
        if mark.proof:
            waits = (record.activity.activity_id, mark.key, int(mark.proof), at_ms, until_ms)
            await connection.execute(SQL["put_waiting_mark"], *waits)
        else:
            await connection.execute(SQL["put_last_time"], mark.key, at_ms, until_ms)


async def _count(connection: Connection, check: WindowCheck, at_ms: int) -> None:
    is_sum = check.measure is Measure.SUM
    if check.measure is Measure.DISTINCT:
        await connection.execute(SQL["drop_window_value"], check.key, check.value)
    amount = Decimal(check.value) if is_sum else None
    await connection.execute(SQL["put_window_entry"], check.key, at_ms, check.value, amount, check.within_ms)
    if is_sum and await connection.fetchval(SQL["count_window_entries"], check.key) > MAX_COUNT + _SLACK:
        await _join_oldest(connection, check.key)


async def _join_oldest(connection: Connection, key: bytes) -> None:
    rows = await connection.fetch(SQL["oldest_window_entries"], key, MAX_COUNT // 2)
    oldest = [WindowEntry(*row) for row in rows]
    joined = join_pairs(oldest)
    kept = {entry.number for entry in joined}
    gone = [entry.number for entry in oldest if entry.number not in kept]
    await connection.execute(SQL["drop_window_entries"], key, gone)
    changes = [(key, entry.number, entry.value, Decimal(entry.value)) for entry in joined if entry.is_merged]
    await connection.executemany(SQL["change_window_entry"], changes)


async def prove(connection: Connection, outcome: Outcome) -> None:
    """An outcome shows that something happened: it did so at the action's own time."""
    if not outcome.proves:
        return
    rows = await connection.fetch(SQL["take_waiting_marks"], outcome.activity_id, int(outcome.proves))
    for row in sorted(map(tuple, rows)):
        await connection.execute(SQL["put_last_time"], *row)
