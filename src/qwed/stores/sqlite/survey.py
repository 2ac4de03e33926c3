"""Counting the record in SQL, one stretch at a time. `{where}` and `{kinds}` hold no values."""

from typing import Any, Final

import msgspec

from qwed.domain.money import NANO
from qwed.gateway.kernel.records import ReportScope, Tally

Row = tuple[Any, ...]

#: Facts of a payload that are counted, read in one pass; a payload that cannot be read has none.
_FACTS: Final = (
    "CASE WHEN json_valid(CAST(a.payload AS TEXT)) THEN json_extract(CAST(a.payload AS TEXT),"
    " '$.verification.status', '$.verification.engine', '$.verification.risk_level', '$.policy_version',"
    " '$.redacted') END"
)
# In two parts: a sum could pass 64 bits, and would fail the whole report.
TALLIES: Final = (
    "SELECT a.at_ms / 86400000, a.agent_id, a.decision, a.error_code,"  # noqa: S608
    " CASE WHEN a.decision = 'NOTED' THEN a.action_type END,"
    f" {_FACTS}, o.result, coalesce(json_extract(CAST(o.body AS TEXT), '$.reported_by') LIKE 'agent:%', 0),"
    " count(*), sum(a.cost_nano / 1000000000), sum(a.cost_nano % 1000000000),"
    " sum(a.tokens / 1000000000), sum(a.tokens % 1000000000),"
    " min(a.at_ms), max(a.at_ms)"
    " FROM activities a LEFT JOIN outcomes o USING (activity_id)"
    " WHERE a.seq > ? AND a.seq <= ? AND {where} GROUP BY 1, 2, 3, 4, 5, 6, 7, 8"
)
CHANGES: Final = (
    "SELECT a.payload FROM activities a WHERE a.seq > ? AND a.seq <= ? AND {where}"
    " AND a.decision = 'NOTED' AND a.action_type IN ({kinds}) ORDER BY a.seq"
)
REMOVED: Final = (
    "SELECT count(*) FROM ledger l LEFT JOIN activities a USING (seq) LEFT JOIN ects e ON e.seq = l.seq"
    " WHERE l.seq > ? AND l.seq <= ? AND a.seq IS NULL AND e.seq IS NULL AND l.at_ms >= ? AND l.at_ms < ?"
    " AND l.subject NOT LIKE 'state:%' AND l.subject NOT LIKE 'adopt_state:%'"
)


def survey_filter(scope: ReportScope) -> tuple[str, list[Any]]:
    where = ["a.at_ms >= ?", "a.at_ms < ?"]
    values: list[Any] = [scope.from_ms, scope.to_ms]
    for column, value in (("principal_id", scope.principal_id), ("agent_id", scope.agent_id)):
        if value is not None:
            where.append(f"a.{column} = ?")
            values.append(value)
    return " AND ".join(where), values


def tally(row: Row) -> Tally:
    day, agent_id, decision, error_code, what, facts, outcome, is_self_reported, *sums = row
    status, engine, risk, policy_version, redacted = msgspec.json.decode(facts) if facts else [None] * 5
    count, usd, billionths, billions, tokens, first_ms, last_ms = sums
    return Tally(
        day,
        agent_id,
        decision,
        error_code,
        what,
        status,
        engine,
        risk,
        policy_version,
        bool(redacted),
        outcome,
        bool(is_self_reported),
        count,
        usd * NANO + billionths,
        billions * NANO + tokens,
        first_ms,
        last_ms,
    )
