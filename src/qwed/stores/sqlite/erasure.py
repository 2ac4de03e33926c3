"""What leaves the file: redacted texts, and what no window can see any more."""

import itertools
import sqlite3
from collections.abc import Callable

import msgspec

from qwed.domain.agents import AgentId
from qwed.domain.policy import Retention
from qwed.domain.times import DAY_MS
from qwed.domain.trust_changes import TrustChange
from qwed.gateway.kernel.records import (
    Redaction,
)
from qwed.stores.bodies import decode, encode
from qwed.stores.randomness import nobodys_fingerprint
from qwed.stores.sqlite.refusal_counts import forget_refused_minutes
from qwed.stores.sqlite.rule_windows import forget_windows
from qwed.stores.sqlite.states import MAX_DROPPED, SqliteStateRows

Run = Callable[..., sqlite3.Cursor]


class Removed(msgspec.Struct, frozen=True):
    """Of what a person may have written something, whether any is gone."""

    activities: bool
    approvals: bool


def redact(run: Run, states: SqliteStateRows, redaction: Redaction) -> None:
    agent_id = redaction.agent_id
    for stone in redaction.tombstones:
        _forget_fingerprint(run, stone.activity_id)
        run(
            "UPDATE activities SET action_type = ?, conversation_id = ?, fingerprint = x'', salt = NULL,"
            " payload = ? WHERE activity_id = ?",
            (stone.action_type, stone.conversation_id, stone.payload, stone.activity_id),
        )
        run(
            "DELETE FROM remembered WHERE agent_id = ? AND instr(body, CAST(? AS BLOB)) > 0",
            (agent_id, stone.activity_id),
        )
        # The hash of an action has no salt: it could be guessed.
        run("DELETE FROM permits WHERE activity_id = ?", (stone.activity_id,))
        run("DELETE FROM deliveries WHERE instr(body, CAST(? AS BLOB)) > 0", (stone.activity_id,))
    _redact_trust_changes(run, states, agent_id, {stone.activity_id for stone in redaction.tombstones})
    for approval in redaction.approvals:
        states.change("approvals", approval.approval_id, {"body": encode(approval)})
    for outcome in redaction.outcomes:
        columns = {"fingerprint": outcome.fingerprint, "body": encode(outcome)}
        states.change("outcomes", outcome.activity_id, columns)
    for conversation in redaction.conversations:
        run("DELETE FROM steps WHERE agent_id = ? AND conversation_id = ?", (agent_id, conversation))
        run("DELETE FROM crossings WHERE agent_id = ? AND conversation_id = ?", (agent_id, conversation))
        run("DELETE FROM heard_keys WHERE agent_id = ? AND conversation_id = ?", (agent_id, conversation))
        run("DELETE FROM heard WHERE agent_id = ? AND conversation_id = ?", (agent_id, conversation))
    for jti in redaction.tokens:
        run("UPDATE ects SET token = NULL, salt = NULL WHERE jti = ?", (jti,))


def _redact_trust_changes(run: Run, states: SqliteStateRows, agent_id: AgentId, erased: set[str]) -> None:
    rows = run("SELECT number, body FROM trust_changes WHERE agent_id = ?", (agent_id,)).fetchall()
    for number, body in rows:
        change = decode(TrustChange, body)
        if (kept := change.without_texts_of(erased)) is not change:
            states.change("trust_changes", number, {"body": encode(kept)})


def _forget_fingerprint(run: Run, activity_id: str) -> None:
    """A hash without a salt can be guessed: another takes its place, which is nobody's."""
    row = run(
        "SELECT agent_id, conversation_id, fingerprint FROM activities WHERE activity_id = ?",
        (activity_id,),
    ).fetchone()
    if row is None or not row[2]:
        return
    run(
        "UPDATE steps SET fingerprint = ? WHERE agent_id = ? AND conversation_id = ? AND fingerprint = ?",
        (nobodys_fingerprint(row[2]), *row),
    )
    run("DELETE FROM crossings WHERE agent_id = ? AND fingerprint = ?", (row[0], row[2]))


def keep_house(run: Run, states: SqliteStateRows, now_ms: int, retention: Retention) -> Removed:
    """Drop what no window can see any more, a little at a time, on the writer's own transaction."""
    run("DELETE FROM remembered WHERE expires_ms < ?", (now_ms,))
    run("DELETE FROM ended_sessions WHERE expires_ms < ?", (now_ms,))
    run("DELETE FROM sign_ins WHERE expires_ms < ?", (now_ms,))
    run("DELETE FROM seconds WHERE second < ?", (now_ms // 1000 - 7200,))
    run("DELETE FROM crossings WHERE at_ms < ?", (now_ms - DAY_MS,))
    forget_refused_minutes(run, now_ms)
    forget_windows(run, now_ms)
    activities = approvals = False
    if retention.activity_days is not None:
        activities = _forget_activities(run, states, now_ms - retention.activity_days * DAY_MS)
        _forget_heard(run, now_ms - retention.activity_days * DAY_MS)
    if retention.approval_days is not None:
        # Ids begin with their time, so the old ones are the first of the key.
        oldest = now_ms - retention.approval_days * DAY_MS
        old = (
            "approval_id IN (SELECT approval_id FROM approvals"
            " WHERE approval_id < ? AND status != 'open' LIMIT ?)"
        )
        approvals = states.drop("approvals", old, f"apr_{oldest:012x}", MAX_DROPPED) > 0
    if retention.delivery_days is not None:
        oldest = now_ms - retention.delivery_days * DAY_MS
        run("DELETE FROM deliveries WHERE delivery_id < ? AND state != 'pending'", (f"dlv_{oldest:012x}",))
    return Removed(activities, approvals)


def _forget_heard(run: Run, before_ms: int) -> None:
    """With its key, what a conversation has heard can't be read any more."""
    old = run(
        "SELECT agent_id, conversation_id FROM heard_keys WHERE at_ms < ? LIMIT 100", (before_ms,)
    ).fetchall()
    for place in old:
        run("DELETE FROM heard_keys WHERE agent_id = ? AND conversation_id = ?", place)
        run("DELETE FROM heard WHERE agent_id = ? AND conversation_id = ?", place)


def _forget_activities(run: Run, states: SqliteStateRows, before_ms: int) -> bool:
    """From the oldest on, and no further than the first that is young enough: never a scan."""
    rows = run("SELECT seq, at_ms FROM activities ORDER BY seq LIMIT 1000").fetchall()
    old = [seq for seq, at_ms in itertools.takewhile(lambda row: row[1] < before_ms, rows)]
    if old:
        # What was said of an outcome goes too, but one that is still unknown blocks a retry.
        said = "result != 'unknown' AND activity_id IN (SELECT activity_id FROM activities WHERE seq <= ?)"
        states.drop("outcomes", said, old[-1])
        run(
            "DELETE FROM permits WHERE activity_id IN (SELECT activity_id FROM activities WHERE seq <= ?)",
            (old[-1],),
        )
        run("DELETE FROM permit_findings WHERE at_ms < ?", (before_ms,))
        run("DELETE FROM activities WHERE seq <= ?", (old[-1],))
    return bool(old)
