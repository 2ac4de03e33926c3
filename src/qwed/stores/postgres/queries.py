"""Questions to the record: one statement each."""

from collections.abc import Sequence
from typing import Any, Final, TypeVar

from qwed.domain.agents import Agent, AgentId, PrincipalId
from qwed.domain.approvals import Approval
from qwed.domain.conduct import Standing
from qwed.domain.credentials import ApiKey
from qwed.domain.deliveries import Delivery, DeliveryClaim, claimed
from qwed.domain.outcomes import Outcome
from qwed.domain.permits import IssuedPermit
from qwed.domain.trust_changes import TrustChange
from qwed.domain.webhooks import Webhook
from qwed.gateway.kernel.ports import KeyClaim, KeyInFlight, StoreUnavailable
from qwed.gateway.kernel.records import (
    Activity,
    ActivityPage,
    ActivityQuery,
    HourCount,
    LedgerState,
    Remembered,
    ReportScope,
    ScoreChange,
    SearchPage,
    SearchQuery,
    Survey,
    Tally,
)
from qwed.ledger.chain import Head
from qwed.stores.bodies import decode
from qwed.stores.postgres.rows import delivery_of, delivery_row, par_of, standing_of
from qwed.stores.postgres.statements import SQL
from qwed.stores.postgres.texts import show_text, show_text_or_none, store_text, store_text_or_none
from qwed.stores.tallies import added, alike_of

T = TypeVar("T")
Connection = Any
Row = tuple[Any, ...]

#: Whole payloads are read to count them, so a stretch is shorter than one that SQL counts.
STRETCH: Final = 5_000
#: How many entries one search looks at before it lets others read.
SEARCHED_AT_ONCE: Final = 5_000
#: With more entries that the leader has not counted (after an upgrade or a move), one agent's are counted.
UNCOUNTED: Final = 5_000
#: Entries are recorded in the order in which they end; they carry the time at which they began.
CLOCK_SLACK_MS: Final = 300_000
#: Due deliveries looked at for one claim: a webhook with more than these has its share in any case.
CANDIDATES: Final = 512


async def value(connection: Connection, name: str, *values: object) -> Any:
    return await connection.fetchval(SQL[name], *values)


async def body(connection: Connection, kind: type[T], name: str, *values: object) -> T | None:
    found = await connection.fetchval(SQL[name], *values)
    return None if found is None else decode(kind, found)


async def bodies(connection: Connection, kind: type[T], name: str, *values: object) -> list[T]:
    return [decode(kind, row[0]) for row in await connection.fetch(SQL[name], *values)]


async def find_completed_nodes(connection: Connection, workflow_id: str) -> frozenset[str]:
    rows = await connection.fetch(SQL["completed_nodes"], store_text(workflow_id))
    return frozenset(show_text(row[0]) for row in rows)


async def claim_key(
    connection: Connection, claim: KeyClaim, owner: str, now_ms: int, expires_ms: int
) -> Remembered | KeyInFlight | None:
    """What stands in the way of the claim; None where nothing does."""
    values = (claim.agent_id, claim.key_hash, claim.token, owner, now_ms, expires_ms)
    row = await connection.fetchrow(SQL["claim_key"], *values)
    if row is None:
        return None
    if row["until_ms"] is not None:
        return KeyInFlight(row["until_ms"])
    return Remembered(claim.agent_id, claim.key_hash, *tuple(row)[:4])


async def give_up_key(connection: Connection, claim: KeyClaim) -> None:
    await connection.execute(SQL["give_up_key"], claim.agent_id, claim.key_hash, claim.token)


async def agents(
    connection: Connection, principal_id: PrincipalId | None, after: str | None, limit: int
) -> list[Agent]:
    return await bodies(connection, Agent, "agents", after or "", principal_id, limit)


async def principal_standing(connection: Connection, principal_id: PrincipalId) -> tuple[int, bool]:
    row = await connection.fetchrow(SQL["principal_standing"], principal_id)
    return row[0], row[1]


async def activities(connection: Connection, query: ActivityQuery) -> ActivityPage:
    filters = (
        query.agent_id,
        query.from_ms,
        query.to_ms,
        query.decision,
        store_text_or_none(query.action_type),
        store_text_or_none(query.conversation_id),
    )
    summary = {decision: (count, int(cost)) for decision, count, cost in await _summary(connection, filters)}
    rows = await connection.fetch(SQL["activities_page"], *filters, query.before_seq, query.limit + 1)
    page = rows[: query.limit]
    entries = tuple((payload, decode(Outcome, body) if body else None) for _, payload, body in page)
    return ActivityPage(entries, summary, page[-1][0] if len(rows) > query.limit else None)


async def _summary(connection: Connection, filters: Row) -> list[Row]:
    """By decision: how many, and what they cost. All of an agent's entries are counted already."""
    agent_id, from_ms, to_ms, decision, action_type, conversation_id = filters
    is_of_everything = from_ms is to_ms is action_type is conversation_id is None
    if is_of_everything:
        async with connection.transaction(isolation="repeatable_read", readonly=True):
            until, behind = await connection.fetchrow(SQL["counted_until"])
            if behind <= UNCOUNTED:
                found: list[Row] = await connection.fetch(SQL["agent_totals"], agent_id, decision, until)
                return found
    counted: list[Row] = await connection.fetch(SQL["activities_summary"], *filters)
    return counted


async def activity(connection: Connection, activity_id: str) -> tuple[Activity, Outcome | None] | None:
    row = await connection.fetchrow(SQL["activity"], activity_id)
    return None if row is None else _activity(tuple(row))


def _activity(row: Row) -> tuple[Activity, Outcome | None]:
    columns, outcome = list(row[:-1]), row[-1]
    columns[4], columns[7] = show_text(columns[4]), show_text_or_none(columns[7])
    columns[12] = par_of(columns[12])
    found = Activity(*columns)
    return found, decode(Outcome, outcome) if outcome else None


async def search(connection: Connection, query: SearchQuery) -> SearchPage:
    """Bounded work: one search looks at so many entries of an agent, a principal or everybody."""
    walls = (query.agent_id, query.principal_id)
    top = query.before_seq or await connection.fetchval(SQL["search_end"])
    until_ms = None if query.to_ms is None else query.to_ms
    limit = await connection.fetchval(SQL["search_limit"], *walls, top, until_ms, SEARCHED_AT_ONCE - 1)
    low = limit or 0
    rows = await connection.fetch(
        SQL["search"],
        *walls,
        low,
        top,
        query.from_ms,
        query.to_ms,
        query.decision,
        store_text_or_none(query.action_type),
        query.error_code,
        store_text_or_none(query.conversation_id),
        query.text,
        query.limit + 1,
    )
    page = rows[: query.limit]
    entries = tuple(_activity(tuple(row)[1:]) for row in page)
    if len(rows) > query.limit:
        return SearchPage(entries, page[-1]["id"], page[-1]["at_ms"])
    before = await connection.fetchrow(SQL["before_search"], *walls, low)
    is_over = before is None or before["at_ms"] < (query.from_ms or 0) - CLOCK_SLACK_MS
    return SearchPage(entries) if is_over else SearchPage(entries, low, before["at_ms"])


async def hours(connection: Connection, principal_id: PrincipalId | None, from_hour: int) -> list[HourCount]:
    return [HourCount(*row) for row in await connection.fetch(SQL["hours"], principal_id, from_hour)]


async def agents_by_spending(
    connection: Connection, principal_id: PrincipalId | None, day: int, limit: int
) -> list[tuple[Agent, int]]:
    rows = await connection.fetch(SQL["agents_by_spending"], principal_id, day, limit)
    return [(decode(Agent, body), spent) for body, spent in rows]


async def count_waiting(connection: Connection, principal_id: PrincipalId | None, now_ms: int) -> int:
    return int(await connection.fetchval(SQL["count_waiting"], principal_id, now_ms))


async def approvals_due(connection: Connection, now_ms: int, limit: int) -> list[Approval]:
    return await bodies(connection, Approval, "approvals_due", now_ms, limit)


async def destinations(connection: Connection, principal_id: PrincipalId) -> tuple[Webhook, ...]:
    return tuple(await bodies(connection, Webhook, "destinations", principal_id))


async def deliveries(
    connection: Connection, webhook_id: str, after: str | None, limit: int
) -> list[Delivery]:
    return [
        delivery_of(row) for row in await connection.fetch(SQL["deliveries"], webhook_id, after or "~", limit)
    ]


async def delivery(connection: Connection, delivery_id: str) -> Delivery | None:
    row = await connection.fetchrow(SQL["delivery"], delivery_id)
    return None if row is None else delivery_of(row)


async def next_delivery_ms(connection: Connection) -> int | None:
    due: int | None = await connection.fetchval(SQL["next_delivery"])
    return due


async def claim_deliveries(connection: Connection, claim: DeliveryClaim) -> list[Delivery]:
    """One claimer at a time, of all processes."""
    async with connection.transaction():
        await connection.execute(SQL["claim_turn"])
        due = await connection.fetch(SQL["due_deliveries"], claim.now_ms, sorted(claim.full), CANDIDATES)
        taken = claim.chosen([(row[0], row[1]) for row in due])
        rows = await connection.fetch(SQL["deliveries_of"], taken) if taken else []
        found = [claimed(delivery_of(row), claim) for row in rows]
        for delivery in found:
            await connection.execute(SQL["put_delivery"], *delivery_row(delivery))
    return found


async def keep_scores(connection: Connection, changes: Sequence[ScoreChange]) -> None:
    rows = [tuple(getattr(change, name) for name in ScoreChange.__struct_fields__) for change in changes]
    await connection.executemany(SQL["keep_score"], rows)


async def keep_shared(connection: Connection, digest: str, body: bytes) -> None:
    await connection.execute(SQL["keep_shared"], digest, body)


async def keep_salt(
    connection: Connection, agent_id: str, conversation_id: str, fresh: bytes, now_ms: int
) -> bytes:
    await connection.execute(SQL["keep_salt"], agent_id, conversation_id, fresh, now_ms)
    salt: bytes = await connection.fetchval(SQL["heard_salt"], agent_id, conversation_id)
    return salt


async def keep_heard(
    connection: Connection, agent_id: str, conversation_id: str, report_id: str, body: bytes
) -> None:
    await connection.execute(SQL["keep_heard"], agent_id, conversation_id, report_id, body)


async def heard(
    connection: Connection, agent_id: str, conversation_id: str, after: int
) -> tuple[bytes | None, list[tuple[int, bytes]]]:
    salt: bytes | None = await connection.fetchval(SQL["heard_salt"], agent_id, conversation_id)
    if salt is None:
        return None, []
    rows = await connection.fetch(SQL["heard"], agent_id, conversation_id, after)
    return salt, [(row["number"], row["body"]) for row in rows]


async def shared(connection: Connection, digest: str) -> bytes | None:
    found: bytes | None = await connection.fetchval(SQL["shared"], digest)
    return found


async def end_session(connection: Connection, session_id: bytes, expires_ms: int) -> None:
    await connection.execute(SQL["end_session"], session_id, expires_ms)


async def keep_sign_in(connection: Connection, session_id: bytes, body: bytes, expires_ms: int) -> None:
    await connection.execute(SQL["keep_sign_in"], session_id, body, expires_ms)


async def sign_in(connection: Connection, session_id: bytes) -> bytes | None:
    body: bytes | None = await connection.fetchval(SQL["sign_in"], session_id)
    return body


async def is_session_ended(connection: Connection, session_id: bytes) -> bool:
    return bool(await connection.fetchval(SQL["is_session_ended"], session_id))


async def score_changes(
    connection: Connection, peer: str, before: int | None, limit: int
) -> list[ScoreChange]:
    return [ScoreChange(*row) for row in await connection.fetch(SQL["score_changes"], peer, before, limit)]


async def list_scored_peers(connection: Connection, after: str | None, limit: int) -> list[str]:
    return [row[0] for row in await connection.fetch(SQL["scored_peers"], after or "", limit)]


async def settle_delivery(connection: Connection, delivery: Delivery) -> None:
    await connection.execute(
        SQL["settle_delivery"],
        delivery.state.value,
        delivery.due_ms,
        delivery.last_error,
        delivery.delivery_id,
        delivery.attempts,
    )


async def standing(connection: Connection, agent_id: AgentId) -> Standing:
    row = await connection.fetchrow(SQL["standing"], agent_id)
    return standing_of(*(row or (0, None)))


async def trust_changes(
    connection: Connection, agent_id: AgentId, before: int | None, limit: int
) -> list[tuple[int, TrustChange]]:
    rows = await connection.fetch(SQL["trust_changes"], agent_id, before, limit)
    return [(number, decode(TrustChange, body)) for number, body in rows]


async def is_unsettled(connection: Connection, agent_id: AgentId, fingerprint: bytes) -> bool:
    return await connection.fetchval(SQL["is_unsettled"], agent_id, fingerprint) is not None


async def permit(connection: Connection, jti: str) -> IssuedPermit | None:
    found = await bodies(connection, IssuedPermit, "permit", jti)
    return found[0] if found else None


async def count_findings(
    connection: Connection,
    principal_id: PrincipalId | None,
    agent_id: AgentId | None,
    from_ms: int,
    to_ms: int,
) -> dict[str, int]:
    rows = await connection.fetch(SQL["count_findings"], principal_id, agent_id, from_ms, to_ms)
    return {row[0]: row[1] for row in rows}


async def outcomes(connection: Connection, agent_id: AgentId, limit: int) -> list[Outcome]:
    return await bodies(connection, Outcome, "outcomes", agent_id, limit)


async def approvals(
    connection: Connection,
    principal_id: PrincipalId | None,
    agent_id: AgentId | None,
    status: str | None,
    now_ms: int,
    after: str | None,
    limit: int,
) -> list[Approval]:
    filters = (after or "~", principal_id, agent_id, status, now_ms, limit)
    return await bodies(connection, Approval, "approvals", *filters)


async def keys(connection: Connection, principal_id: PrincipalId | None) -> list[ApiKey]:
    return await bodies(connection, ApiKey, "keys", principal_id)


async def webhooks(connection: Connection, principal_id: PrincipalId | None) -> list[Webhook]:
    return await bodies(connection, Webhook, "webhooks", principal_id)


async def survey(connection: Connection, scope: ReportScope, after_seq: int) -> Survey:
    until = after_seq + STRETCH
    rows = await connection.fetch(
        SQL["survey"], after_seq, until, scope.from_ms, scope.to_ms, scope.principal_id, scope.agent_id
    )
    tallies: dict[Row, Row] = {}
    changes: list[bytes] = []
    removed = 0
    for is_in_period, is_removed, at_ms, agent_id, decision, code, what, payload, cost, tokens, body in rows:
        if is_removed:
            removed += is_in_period
            continue
        action_type = show_text(what)
        if decision == "NOTED" and action_type in scope.changes:
            changes.append(payload)
        outcome = decode(Outcome, body) if body else None
        alike = alike_of(at_ms, agent_id, decision, code, action_type, payload, outcome)
        tallies[alike] = added(tallies.get(alike), (1, cost, tokens, at_ms, at_ms))
    last_seq = int(await connection.fetchval(SQL["ledger_size"]))
    return Survey(
        tuple(Tally(*alike, *costs) for alike, costs in tallies.items()),
        tuple(changes),
        removed,
        until if until < last_seq else None,
        last_seq,
    )


async def ledger_state(connection: Connection) -> LedgerState:
    entries, *rest = await connection.fetchrow(SQL["ledger_state"])
    return LedgerState(0, Head().hash, None, None) if entries is None else LedgerState(entries, *rest)


async def ping(connection: Connection) -> None:
    if await connection.fetchval(SQL["ping"]):
        raise StoreUnavailable("the database is a standby: it cannot record")
