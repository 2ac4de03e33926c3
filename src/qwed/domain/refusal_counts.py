"""How often an agent was refused before an engine looked at its action, minute by minute.

Up to a limit in an hour each such refusal is an entry of its own. Beyond it they are only counted, and one
entry for each minute says how many there were: nobody fills the record by being refused.
"""

from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from qwed.domain.agents import AgentId, PrincipalId
from qwed.domain.checks import CHECKS
from qwed.domain.codes import Code
from qwed.domain.json_types import Json
from qwed.domain.times import iso

MINUTE_MS: Final = 60_000
HOUR_MINUTES: Final = 60
#: How long after its end a minute is stated: what began within it has been counted by then.
SETTLE_MS: Final = 5_000
#: The codes of checks 3 to 12, and of what is asked between them: tokens, a workflow's place, the profile.
COUNTED_CODES: Final = frozenset(
    {code for check in CHECKS.values() if 3 <= check.number <= 12 for code in check.codes}
    | {Code.ECT_REFUSED, Code.WORKFLOW_REFUSED, Code.PROFILE_UNMET, Code.TRUST_NOT_MET}
)


class CountedRefusal(msgspec.Struct, frozen=True):
    """One refusal that is to be counted."""

    agent_id: AgentId
    principal_id: PrincipalId
    code: str
    at_ms: int


class RefusedMinute(msgspec.Struct, frozen=True):
    """One agent's refusals within a minute: `recorded` have an entry of their own, `counted` have none."""

    agent_id: AgentId
    principal_id: PrincipalId
    minute: int
    recorded: int = 0
    counted: int = 0
    #: Of those that were only counted: how many by code, the first and the last.
    codes: Mapping[str, int] = {}
    first_ms: int = 0
    last_ms: int = 0
    #: The entry that says so is in the ledger: nothing is added any more.
    is_stated: bool = False

    def is_due(self, now_ms: int) -> bool:
        return self.counted > 0 and not self.is_stated and self.minute < due_before(now_ms)

    def to_wire(self) -> dict[str, Json]:
        return {
            "count": self.counted,
            "codes": dict(sorted(self.codes.items())),
            "first": iso(self.first_ms),
            "last": iso(self.last_ms),
        }


class Counted(msgspec.Struct, frozen=True):
    """What counting came to. `wait_ms` is None where the refusal gets an entry of its own; else it is how
    long none does. `is_due`: an earlier minute of this agent has to be stated."""

    wait_ms: int | None
    is_due: bool


def due_before(now_ms: int) -> int:
    """Minutes before this one are over."""
    return (now_ms - SETTLE_MS) // MINUTE_MS


def oldest_minute(now_ms: int) -> int:
    """The first minute of the hour that ends now."""
    return now_ms // MINUTE_MS - HOUR_MINUTES + 1


def count_refusal(
    minutes: Iterable[RefusedMinute], refused: CountedRefusal, limit: int
) -> tuple[RefusedMinute, Counted]:
    """The row as it is now, and what it means. `minutes` are the agent's rows of the last hour or longer."""
    known = {row.minute: row for row in minutes}
    row = _row_for(known, refused)
    hour = [known[minute] for minute in sorted(known) if minute >= oldest_minute(refused.at_ms)]
    is_due = any(each.is_due(refused.at_ms) for each in known.values())
    wait_ms = _wait_ms(hour, refused.at_ms, limit)
    if wait_ms is None:
        return msgspec.structs.replace(row, recorded=row.recorded + 1), Counted(None, is_due)
    return _count_in(row, refused), Counted(wait_ms, is_due)


def _row_for(known: Mapping[int, RefusedMinute], refused: CountedRefusal) -> RefusedMinute:
    """Of its minute; of a later one where that is stated already."""
    minute = refused.at_ms // MINUTE_MS
    while (row := known.get(minute)) is not None and row.is_stated:
        minute += 1
    return row or RefusedMinute(refused.agent_id, refused.principal_id, minute)


def _wait_ms(hour: list[RefusedMinute], now_ms: int, limit: int) -> int | None:
    """Until enough of the recorded ones are an hour old; None where there is room now."""
    excess = sum(row.recorded for row in hour) - limit
    if excess < 0:
        return None
    for row in hour:
        excess -= row.recorded
        if excess < 0:
            break
    return max(1, (row.minute + HOUR_MINUTES) * MINUTE_MS - now_ms)


def _count_in(row: RefusedMinute, refused: CountedRefusal) -> RefusedMinute:
    at_ms = refused.at_ms
    return msgspec.structs.replace(
        row,
        counted=row.counted + 1,
        codes={**row.codes, refused.code: row.codes.get(refused.code, 0) + 1},
        first_ms=min(row.first_ms, at_ms) if row.counted else at_ms,
        last_ms=max(row.last_ms, at_ms),
    )
