"""What rules remember, in the file: written with the record that it counts, on the writer's connection."""

import sqlite3
from collections.abc import Callable
from typing import Final

from qwed.domain.rule_windows import CountedEntry, WindowEntry, join_pairs
from qwed.domain.rules import MAX_COUNT, Measure
from qwed.gateway.kernel.records import Record

Run = Callable[..., sqlite3.Cursor]

WINDOW: Final = (
    "SELECT number, at_ms, value, is_merged FROM rule_entries WHERE key = ? AND at_ms > ? ORDER BY number"
)
LAST_TIME: Final = "SELECT at_ms FROM rule_times WHERE key = ?"
WAITING: Final = "SELECT key, at_ms FROM rule_waits WHERE activity_id = ? AND proof <= ?"
_ENTRY: Final = "INSERT OR REPLACE INTO rule_entries VALUES (?, ?, ?, ?, ?, ?)"
_TIME: Final = (
    "INSERT INTO rule_times VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET"
    " at_ms = max(at_ms, excluded.at_ms), until_ms = max(until_ms, excluded.until_ms)"
)
#: A file keeps a few more entries of a key than can be asked for, and joins many at a time.
_JOIN_EVERY: Final = 1_000


def write_windows(run: Run, record: Record) -> None:
    for entry in record.counted:
        write_entry(run, entry)
    at_ms = record.activity.at_ms
    for mark in record.marks:
        until_ms = at_ms + mark.within_ms
        if mark.proof:
            waits = (record.activity.activity_id, mark.key, int(mark.proof), at_ms, until_ms)
            run("INSERT OR REPLACE INTO rule_waits VALUES (?, ?, ?, ?, ?)", waits)
        else:
            run(_TIME, (mark.key, at_ms, until_ms))


def write_entry(run: Run, entry: CountedEntry) -> None:
    run(_ENTRY, (entry.key, entry.number, entry.at_ms, entry.value, 0, entry.until_ms))
    if entry.measure is Measure.SUM and entry.number % _JOIN_EVERY == 0:
        _join_oldest(run, entry)


def prove(run: Run, activity_id: str, proof: int) -> None:
    """An outcome shows that something happened: it did so at the action's own time."""
    proven = "FROM rule_waits WHERE activity_id = ? AND proof <= ?"
    rows = run(f"SELECT key, at_ms, until_ms {proven}", (activity_id, proof)).fetchall()
    for row in rows:
        run(_TIME, row)
    if rows:
        run(f"DELETE {proven}", (activity_id, proof))


def forget_windows(run: Run, now_ms: int) -> None:
    for table in ("rule_entries", "rule_times", "rule_waits"):
        run(f"DELETE FROM {table} WHERE until_ms < ?", (now_ms,))  # noqa: S608


def _join_oldest(run: Run, newest: CountedEntry) -> None:
    """Of a sum: the older half becomes half as many."""
    rows = run(
        "SELECT number, at_ms, value, is_merged FROM rule_entries WHERE key = ? ORDER BY number",
        (newest.key,),
    ).fetchall()
    if len(rows) <= MAX_COUNT:
        return
    oldest = [WindowEntry(number, at_ms, value, bool(merged)) for number, at_ms, value, merged in rows]
    oldest = oldest[: MAX_COUNT // 2]
    lasts_ms = newest.until_ms - newest.at_ms
    run("DELETE FROM rule_entries WHERE key = ? AND number <= ?", (newest.key, oldest[-1].number))
    for entry in join_pairs(oldest):
        run(
            _ENTRY,
            (newest.key, entry.number, entry.at_ms, entry.value, entry.is_merged, entry.at_ms + lasts_ms),
        )
