"""Counters (days, seconds, hours, steps) against the activities they follow from, as far as those are kept.

They change with every decision, so no entry commits to them; but each follows from activities, to which
entries do. Where activities are gone by retention, a counter is not checked, and that is said.
"""

import sqlite3
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any, Final

import msgspec

from qwed.domain.nodes import NOTED
from qwed.domain.times import DAY_MS, HOUR_MS

#: Decisions that took a request, and perhaps a step; those that let the agent act.
_TAKEN: Final = ("APPROVED", "CORRECTED", "PENDING")
_ACTING: Final = ("APPROVED", "CORRECTED")
_MOST: Final = 4_611_686_018_427_387_904
_WINDOW_SECONDS: Final = 3_600
MAX_TOLD: Final = 20
_COLUMNS: Final = (
    "activity_id, agent_id, principal_id, at_ms, decision, error_code, conversation_id, cost_nano, tokens,"
    " fingerprint, par, payload"
)

Key = tuple[Any, ...]


class CounterAudit(msgspec.Struct, frozen=True):
    """How many counters follow from the activities, how many could not be checked, and what differs."""

    checked: int
    not_checked: int
    differences: tuple[str, ...]


class _Context(msgspec.Struct):
    step_number: object = None


class _Payload(msgspec.Struct):
    context: _Context | None = None
    approval_id: object = None
    redacted: bool = False


class _Step(msgspec.Struct, frozen=True):
    """What an activity says of the step it took."""

    agent_id: str
    conversation_id: str
    number: object
    fingerprint: bytes
    is_acting: bool


_payloads: Final = msgspec.json.Decoder(_Payload)


def verify_counters(path: Path, now_ms: int, *, is_copy: bool = False) -> CounterAudit:
    """Recompute what a store's file counts. A copy of a database server has some counters in another form,
    counts requests that ended without a record, and has activities that still wait for their entries.
    Raises `sqlite3.Error`."""
    connection = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)
    try:
        connection.execute("BEGIN")
        return _Recount(connection, now_ms, is_copy).result()
    finally:
        connection.close()


class _Recount:
    def __init__(self, connection: sqlite3.Connection, now_ms: int, is_copy: bool) -> None:
        self._rows = connection.execute
        self._now_ms = now_ms
        self._is_copy = is_copy
        self._told: list[str] = []
        self._checked = self._unchecked = 0
        #: Up to this moment activities are gone: what they counted for can't be computed.
        self._horizon_ms = self._rows(
            "SELECT coalesce(max(l.at_ms), -1) FROM ledger l LEFT JOIN activities a USING (seq)"
            " WHERE a.seq IS NULL AND l.subject >= 'act_' AND l.subject < 'act`'"
        ).fetchone()[0]
        #: Of these some text was erased, and with it perhaps steps.
        self._redacted: set[str] = set()
        self._hours: dict[Key, list[int]] = defaultdict(lambda: [0, 0])
        self._spent: dict[Key, list[int]] = defaultdict(lambda: [0, 0])
        self._least: Counter[Key] = Counter()
        self._most: Counter[Key] = Counter()
        self._seconds_least: Counter[Key] = Counter()
        self._seconds_most: Counter[Key] = Counter()
        self._steps: dict[str, _Step] = {}
        #: Activities that have an entry, by their names.
        self._entered: frozenset[str] = frozenset()

    def result(self) -> CounterAudit:
        for table in ("activities", "late_activities") if self._is_copy else ("activities",):
            for row in self._rows(f"SELECT {_COLUMNS} FROM {table}"):  # noqa: S608
                self._count(*row)
        for check in (self._check_hours, self._check_days, self._check_seconds, self._check_steps):
            check()
        return CounterAudit(self._checked, self._unchecked, tuple(self._told))

    # --- what the activities say ---------------------------------------------------------------

    def _count(
        self,
        activity_id: str,
        agent_id: str,
        principal_id: str,
        at_ms: int,
        decision: str,
        error_code: str | None,
        conversation_id: str | None,
        cost: int,
        tokens: int,
        fingerprint: bytes,
        par: str | None,
        payload: bytes,
    ) -> None:
        subjects = (("agent", agent_id), ("principal", principal_id))
        if decision == NOTED:
            # What an action really cost is booked on the day of the action.
            at = _find_settling_time(par) if cost or tokens else None
            self._spend(subjects, at, cost, tokens)
            return
        for owner in (principal_id, ""):
            hour = self._hours[owner, at_ms // HOUR_MS, decision, error_code or ""]
            hour[0] += 1
            hour[1] += cost
        self._spend(subjects, at_ms, cost, tokens)
        second = (agent_id, at_ms // 1000)
        self._seconds_most[second] += 1
        for subject in subjects:
            self._most[*subject, at_ms // DAY_MS] += 1
        if decision in _TAKEN:
            self._seconds_least[second] += 1
            for subject in subjects:
                self._least[*subject, at_ms // DAY_MS] += 1
            self._take_step(activity_id, agent_id, decision, conversation_id, fingerprint, payload)

    def _spend(self, subjects: tuple[Key, ...], at_ms: int | None, cost: int, tokens: int) -> None:
        for subject in subjects if at_ms is not None else ():
            spent = self._spent[*subject, (at_ms or 0) // DAY_MS]
            spent[0] += cost
            spent[1] += tokens

    def _take_step(
        self,
        activity_id: str,
        agent_id: str,
        decision: str,
        conversation_id: str | None,
        fingerprint: bytes,
        payload: bytes,
    ) -> None:
        said = _read_payload(payload)
        # A grant that is redeemed used its step when it was asked for; what was erased says nothing.
        if said is None or said.redacted:
            self._redacted.add(agent_id)
        if conversation_id is None or said is None or said.redacted:
            return
        if said.approval_id is not None and decision != "PENDING":
            return
        number = None if said.context is None else said.context.step_number
        if number is not None:
            step = _Step(agent_id, conversation_id, number, fingerprint, decision in _ACTING)
            self._steps[activity_id] = step

    # --- what the counters say -----------------------------------------------------------------

    def _check_hours(self) -> None:
        stored = {
            (owner, hour, decision, code): [entries, cost]
            for owner, hour, decision, code, entries, cost in self._rows("SELECT * FROM hours")
        }
        expected = {
            key: [entries, min(_MOST, cost)]
            for key, (entries, cost) in self._hours.items()
            if key[0] or not self._is_copy
        }
        for key in stored.keys() | expected.keys():
            if _begins(key[1], HOUR_MS) <= self._horizon_ms:
                self._unchecked += 1
            elif stored.get(key) != expected.get(key):
                self._tell("hours", key, stored.get(key), expected.get(key))
            else:
                self._checked += 1

    def _check_days(self) -> None:
        sql = "SELECT kind, subject, day, requests, cost_nano, tokens FROM days"
        stored = {tuple(row[:3]): tuple(row[3:]) for row in self._rows(sql)}
        for key in stored.keys() | self._spent.keys():
            requests, cost, tokens = stored.get(key, (0, 0, 0))
            expected = [min(_MOST, max(0, spent)) for spent in self._spent.get(key, (0, 0))]
            if _begins(key[2], DAY_MS) <= self._horizon_ms:
                self._unchecked += 1
            elif [cost, tokens] != expected:
                self._tell("days", key, [cost, tokens], expected)
            elif not self._is_within(requests, self._least[key], self._most[key]):
                self._tell("days", key, requests, f"{self._least[key]} to {self._most[key]}")
            else:
                self._checked += 1

    def _is_within(self, count: int, least: int, most: int) -> bool:
        """An earlier refusal is recorded without a request that counts, so there is a range."""
        return isinstance(count, int) and least <= count and (self._is_copy or count <= most)

    def _check_seconds(self) -> None:
        """Of the last hour only: nothing before it is read any more."""
        since = max(self._now_ms // 1000 - _WINDOW_SECONDS, self._horizon_ms // 1000 + 1)
        stored: Counter[Key] = Counter()
        for agent_id, second, requests in self._rows("SELECT agent_id, second, requests FROM seconds"):
            if not isinstance(second, int) or second >= since:
                # Whoever edits a row may leave something else behind than a number.
                stored[self._second_key(agent_id, second)] += (
                    requests if isinstance(requests, int) else -_MOST
                )
        least, most = (self._sum(counts, since) for counts in (self._seconds_least, self._seconds_most))
        for key in stored.keys() | least.keys():
            if self._is_within(stored[key], least[key], most[key]):
                self._checked += 1
            else:
                self._tell("seconds", key, stored[key], f"{least[key]} to {most[key]}")

    def _second_key(self, agent_id: str, second: int) -> Key:
        """A server counts a request that comes late in the newest second, so only the sum can be compared."""
        return (agent_id,) if self._is_copy else (agent_id, second)

    def _sum(self, counts: Counter[Key], since: int) -> Counter[Key]:
        summed: Counter[Key] = Counter()
        for (agent_id, second), count in counts.items():
            if second >= since:
                summed[self._second_key(agent_id, second)] += count
        return summed

    def _check_steps(self) -> None:
        found = set()
        subjects = self._rows("SELECT subject FROM ledger WHERE subject >= 'act_' AND subject < 'act`'")
        self._entered = frozenset(subject for (subject,) in subjects)
        rows = self._rows(
            "SELECT agent_id, conversation_id, step, fingerprint, approved, activity_id FROM steps"
        )
        for agent_id, conversation_id, number, fingerprint, approved, activity_id in rows:
            step = self._steps.get(activity_id)
            found.add(activity_id)
            if step is None:
                self._check_unexplained(activity_id)
            elif step != _Step(agent_id, conversation_id, number, fingerprint, bool(approved)):
                self._tell_step(step, "another step", activity_id)
            else:
                self._checked += 1
        for activity_id, step in self._steps.items():
            if activity_id not in found:
                self._tell_step(step, "no row", activity_id)

    def _tell_step(self, step: _Step, stored: str, activity_id: str) -> None:
        """Who has a text erased loses steps with it, and fingerprints."""
        if step.agent_id in self._redacted:
            self._unchecked += 1
        else:
            key = (step.agent_id, step.conversation_id, step.number)
            self._tell("steps", key, stored, f"that of {activity_id}")

    def _check_unexplained(self, activity_id: str) -> None:
        """A step whose activity is gone or erased can't be checked; one that no entry knows was inserted."""
        if activity_id in self._entered:
            self._unchecked += 1
        else:
            self._tell("steps", (activity_id,), "a row", "no entry of such an activity")

    def _tell(self, table: str, key: Key, stored: object, expected: object) -> None:
        if len(self._told) < MAX_TOLD:
            name = " ".join(str(part) for part in key)
            says = f"{table} {name} has {stored}, but the activities make it {expected}"
            self._told.append(says)


def _begins(number: object, length_ms: int) -> int:
    """When an hour or a day begins; what is no number is after everything, and compared."""
    return number * length_ms if isinstance(number, int) else _MOST


def _read_payload(payload: bytes | None) -> _Payload | None:
    try:
        return None if payload is None else _payloads.decode(payload)
    except msgspec.MsgspecError:
        return None


def _find_settling_time(par: str | None) -> int | None:
    """When the action was decided: the ids of activities begin with their time."""
    try:
        return int((par or "").split(",")[0].replace("-", "")[:12], 16)
    except ValueError:
        return None
