"""Questions about many entries: pages of activity, search, sums by the hour, and what a report counts."""

from pathlib import Path
from typing import Any, Final

from qwed.domain.agents import Agent, AgentId, AgentStatus, PrincipalId
from qwed.domain.outcomes import Outcome
from qwed.gateway.kernel.changes import NOTED
from qwed.gateway.kernel.records import (
    Activity,
    ActivityPage,
    ActivityQuery,
    HourCount,
    ReportScope,
    SearchPage,
    SearchQuery,
    Survey,
)
from qwed.stores.bodies import decode
from qwed.stores.sqlite.file_reader import FileReader
from qwed.stores.sqlite.rows import Row
from qwed.stores.sqlite.survey import CHANGES, REMOVED, TALLIES, survey_filter, tally
from qwed.stores.summaries import Summaries
from qwed.stores.tables import EVERYBODY, SURVEY_STRETCH

#: How many entries one search looks at before it lets others read.
SEARCHED_AT_ONCE: Final = 20_000
MAX_SEQ: Final = 2**62
#: Entries are recorded in the order in which they end; they carry the time at which they began.
CLOCK_SLACK_MS: Final = 300_000


class Searching(FileReader):
    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._summaries = Summaries()

    def activities(self, query: ActivityQuery) -> ActivityPage:
        where, values = _activity_filter(query)
        if len(where) == 1:
            summary = self._summaries.of(query.agent_id, lambda seq: self._counts_after(query.agent_id, seq))
        else:
            summary = self._summary(" AND ".join(where), values)
        if query.before_seq is not None:
            where.append("a.seq < ?")
            values.append(query.before_seq)
        rows = self._rows(
            "SELECT a.seq, a.payload, o.body FROM activities a LEFT JOIN outcomes o USING (activity_id)"  # noqa: S608
            f" WHERE {' AND '.join(where)} ORDER BY a.seq DESC LIMIT ?",
            *values,
            query.limit + 1,
        )
        page = rows[: query.limit]
        entries = tuple((payload, decode(Outcome, body) if body else None) for _, payload, body in page)
        return ActivityPage(entries, summary, page[-1][0] if len(rows) > query.limit else None)

    def _summary(self, where: str, values: list[Any]) -> dict[str, Any]:
        rows = self._rows(
            # total() goes on where sum() would overflow and fail the whole page.
            "SELECT decision, count(*), CAST(total(cost_nano) AS INTEGER)"  # noqa: S608
            f" FROM activities a WHERE {where} GROUP BY decision",
            *values,
        )
        return {decision: (count, cost) for decision, count, cost in rows}

    def _counts_after(self, agent_id: AgentId, seq: int) -> list[Row]:
        return self._rows(
            "SELECT decision, count(*), CAST(total(cost_nano) AS INTEGER), max(seq)"
            " FROM activities WHERE agent_id = ? AND seq > ? GROUP BY decision",
            agent_id,
            seq,
        )

    def search(self, query: SearchQuery) -> SearchPage:
        """Bounded work: entries of one agent or principal come from its index, everybody's from the end of
        the record; a time becomes a place in the record, since both only grow."""
        top = self._end_of_search(query)
        walls, values = _walls(query)
        floor = 1 if query.from_ms is None else self._seq_at(query.from_ms - CLOCK_SLACK_MS)
        low = max(floor, self._search_limit(walls, values, top))
        filters, filtered = _search_filter(query)
        rows = self._rows(
            "SELECT a.seq, a.activity_id, a.agent_id, a.principal_id, a.at_ms, a.action_type, a.decision,"  # noqa: S608
            " a.error_code, a.conversation_id, a.cost_nano, a.tokens, a.fingerprint, a.payload, o.body"
            " FROM activities a LEFT JOIN outcomes o USING (activity_id)"
            f" WHERE {' AND '.join([*walls, 'a.seq >= ?', 'a.seq < ?', *filters])}"
            " ORDER BY a.seq DESC LIMIT ?",
            *values,
            low,
            top,
            *filtered,
            query.limit + 1,
        )
        page = rows[: query.limit]
        entries = tuple((Activity(*row[1:-1]), decode(Outcome, row[-1]) if row[-1] else None) for row in page)
        if len(rows) > query.limit:
            return SearchPage(entries, page[-1][0], page[-1][4])
        return SearchPage(entries, *((None, None) if low <= floor else (low, self._at_ms(low))))

    def _end_of_search(self, query: SearchQuery) -> int:
        tops = [MAX_SEQ if query.before_seq is None else query.before_seq]
        if query.to_ms is not None:
            tops.append(self._seq_at(query.to_ms + CLOCK_SLACK_MS))
        newest = self._row("SELECT max(seq) FROM activities")
        return min(*tops, ((newest and newest[0]) or 0) + 1)

    def _search_limit(self, walls: list[str], values: list[Any], top: int) -> int:
        """The place from which on there are as many entries as one search looks at."""
        if not walls:
            return top - SEARCHED_AT_ONCE
        row = self._row(
            f"SELECT a.seq FROM activities a WHERE {' AND '.join(walls)} AND a.seq < ?"  # noqa: S608
            " ORDER BY a.seq DESC LIMIT 1 OFFSET ?",
            *values,
            top,
            SEARCHED_AT_ONCE - 1,
        )
        return row[0] if row else 0

    def _seq_at(self, instant_ms: int) -> int:
        """The first place in the record that is not before this instant, found by halving."""
        # One at a time: together they would be looked for in the whole table.
        oldest, newest = (self._row(f"SELECT {end}(seq) FROM activities") for end in ("min", "max"))  # noqa: S608
        low, high = (oldest and oldest[0]) or 1, ((newest and newest[0]) or 0) + 1
        while low < high:
            middle = (low + high) // 2
            if self._at_ms(middle) < instant_ms:
                low = middle + 1
            else:
                high = middle
        return int(low)

    def _at_ms(self, seq: int) -> int:
        row = self._row("SELECT at_ms FROM activities WHERE seq >= ? ORDER BY seq LIMIT 1", seq)
        return int(row[0]) if row else 0

    def hours(self, principal_id: PrincipalId | None, from_hour: int) -> list[HourCount]:
        rows = self._rows(
            "SELECT hour, decision, error_code, entries, cost_nano FROM hours"
            " WHERE principal_id = ? AND hour >= ? ORDER BY hour, decision, error_code",
            EVERYBODY if principal_id is None else principal_id,
            from_hour,
        )
        return [HourCount(*row) for row in rows]

    def agents_by_spending(
        self, principal_id: PrincipalId | None, day: int, limit: int
    ) -> list[tuple[Agent, int]]:
        where, values = ["g.status != ?"], [AgentStatus.DEREGISTERED.value]
        if principal_id is not None:
            where.append("g.principal_id = ?")
            values.append(principal_id)
        rows = self._rows(
            "SELECT g.body, coalesce(d.cost_nano, 0) AS spent FROM agents g"  # noqa: S608
            " LEFT JOIN days d ON d.kind = 'agent' AND d.subject = g.agent_id AND d.day = ?"
            f" WHERE {' AND '.join(where)}"
            " ORDER BY g.status = 'suspended' DESC, spent DESC, g.agent_id LIMIT ?",
            day,
            *values,
            limit,
        )
        return [(decode(Agent, body), spent) for body, spent in rows]

    def survey(self, scope: ReportScope, after_seq: int) -> Survey:
        until = after_seq + SURVEY_STRETCH
        where, values = survey_filter(scope)
        values = [after_seq, until, *values]
        rows = self._rows(TALLIES.format(where=where), *values)
        changes = self._rows(
            CHANGES.format(where=where, kinds=",".join("?" * len(scope.changes))), *values, *scope.changes
        )
        removed = self._row(REMOVED, after_seq, until, scope.from_ms, scope.to_ms)
        last_seq = self.ledger_state().entries
        return Survey(
            tuple(map(tally, rows)),
            tuple(payload for (payload,) in changes),
            removed[0] if removed else 0,
            until if until < last_seq else None,
            last_seq,
        )


def _walls(query: SearchQuery) -> tuple[list[str], list[Any]]:
    """What an index finds: the entries of one agent, or of one principal."""
    if query.agent_id is not None:
        where, values = ["a.agent_id = ?"], [query.agent_id]
        if query.decision == NOTED:
            # Written out, so that the index of just these is used.
            where.append(f"a.decision = '{NOTED}'")
        return where, list(values)
    if query.principal_id is not None:
        return ["a.principal_id = ?"], [query.principal_id]
    return [], []


def _search_filter(query: SearchQuery) -> tuple[list[str], list[Any]]:
    filters: tuple[tuple[str, Any], ...] = (
        # The plus keeps it from being looked up by its own index, where the agent's is the narrower.
        ("+a.principal_id = ?", query.principal_id),
        ("a.at_ms >= ?", query.from_ms),
        ("a.at_ms < ?", query.to_ms),
        ("a.decision = ?", query.decision),
        ("a.action_type = ?", query.action_type),
        ("a.error_code = ?", query.error_code),
        ("a.conversation_id = ?", query.conversation_id),
        ("instr(a.payload, ?) > 0", query.text),
    )
    given = [(condition, value) for condition, value in filters if value is not None]
    return [condition for condition, _ in given], [value for _, value in given]


def _activity_filter(query: ActivityQuery) -> tuple[list[str], list[Any]]:
    where, values = ["a.agent_id = ?"], [query.agent_id]
    filters: tuple[tuple[str, Any], ...] = (
        ("a.at_ms >= ?", query.from_ms),
        ("a.at_ms < ?", query.to_ms),
        ("a.decision = ?", query.decision),
        ("a.action_type = ?", query.action_type),
        ("a.conversation_id = ?", query.conversation_id),
    )
    for condition, value in filters:
        if value is not None:
            where.append(condition)
            values.append(value)
    return where, values
