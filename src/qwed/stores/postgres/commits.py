"""Writing records: ordinary decisions together in one statement, the others each in a short transaction."""

import asyncio
import os
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import asyncpg
import msgspec

from qwed.domain.agents import Agent, AgentId
from qwed.domain.approvals import ApprovalKind
from qwed.domain.codes import Code, Refusal
from qwed.domain.outcomes import OutcomeResult
from qwed.domain.permits import permit_used
from qwed.domain.policy import Policy
from qwed.domain.trust_changes import TrustChange
from qwed.ect.verifier import GENERIC_REFUSAL
from qwed.gateway.kernel.commitments import committed
from qwed.gateway.kernel.ports import AgentChanged, KeyTaken, LeaseLost, StoreUnavailable
from qwed.gateway.kernel.records import ReceivedEct, Record, Redaction
from qwed.ledger.entries import SALT_BYTES, commit_to
from qwed.stores.bodies import decode, encode
from qwed.stores.postgres.connections import FAILED, connect, is_lost, unavailable
from qwed.stores.postgres.lanes import LaneJob
from qwed.stores.postgres.refusal_counts import state_minute
from qwed.stores.postgres.requests import Held
from qwed.stores.postgres.rows import delivery_row
from qwed.stores.postgres.rule_windows import check_windows, prove, write_windows
from qwed.stores.postgres.seals import ACTIVITIES, TOKENS, RecordSealer, Seal, SealedWrite
from qwed.stores.postgres.statements import SQL
from qwed.stores.postgres.states import PostgresStateRows
from qwed.stores.postgres.texts import store_text, store_text_or_none
from qwed.stores.randomness import POOL
from qwed.stores.refusals import (
    changed_meanwhile,
    check_unchanged,
    policy_moved,
    reported_already,
    too_many_open,
)
from qwed.stores.state_columns import (
    agent_columns,
    approval_columns,
    finding_columns,
    key_columns,
    outcome_columns,
    permit_columns,
    policy_change_columns,
    trust_change_columns,
    webhook_columns,
    workflow_columns,
)

#: Decisions that let the agent act, now or after an approval.
BINDING: Final = frozenset({"APPROVED", "CORRECTED", "PENDING"})
SETTLE_SECONDS: Final = 3.0
_WRITTEN, _LOST, _CHANGED, _KEY_TAKEN = 0, 1, 2, 3
#: Where, among the arrays of `record_decisions`, those begin that most batches do without.
_KEPT_AT: Final = 31
#: Trying one by one would only take longer.
_TOOK_TOO_LONG: Final = (asyncpg.QueryCanceledError, asyncpg.LockNotAvailableError)

#: What `require_policy` raises.
_POLICY_MOVED: Final = "QW001"

Connection = Any


class PendingEntry(msgspec.Struct, frozen=True):
    """A record on its way, with its hold and the keys whose versions it raises."""

    record: Record
    held: Held | None
    keys: tuple[str, ...]
    salt: bytes
    commitment: bytes
    seal: Seal

    @property
    def is_binding(self) -> bool:
        return self.held is not None and self.record.activity.decision in BINDING


Write = LaneJob[PendingEntry, Refusal | None]


def entry_of(record: Record, held: Held | None, keys: tuple[str, ...], sealer: RecordSealer) -> PendingEntry:
    """Its number is void where it is not written."""
    salt = POOL.take(SALT_BYTES)
    activity = record.activity
    commitment = commit_to(committed(activity), salt)
    seal = sealer.seal(ACTIVITIES, activity.activity_id, activity.at_ms, commitment)
    return PendingEntry(record, held, keys, salt, commitment, seal)


def is_ordinary(record: Record) -> bool:
    """Whether `record_decisions` writes all of it."""
    return (
        record.agent is None
        and record.approval is None
        and record.key is None
        and record.outcome is None
        and record.webhook is None
        and record.dropped_webhook is None
        and record.redaction is None
        and not record.deliveries
        and not record.ects
        and record.cosignature is None
        and record.workflow is None
        and not record.completions
        and record.conduct is None
        and not record.trust_changes
        and record.stated is None
        and record.policy_change is None
        and not record.consequences
        and record.permit is None
        and record.finding is None
        and not record.windows
        and not record.marks
    )


class _Refused(Exception):
    """Ends a transaction that wrote something before it was clear."""

    def __init__(self, refusal: Refusal) -> None:
        self.refusal = refusal


class Commits:
    """The work of the commit lane."""

    def __init__(self, url: str, policy: Policy) -> None:
        self._url = url
        self.use_policy(policy)

    def use_sealer(self, sealer: RecordSealer) -> None:
        self._sealer = sealer

    def columns(self, entries: Sequence[PendingEntry]) -> list[Any]:
        return columns(entries, self._sealer.source)

    def use_policy(self, policy: Policy) -> None:
        self._max_open = policy.approvals.max_open

    async def work(self, connection: Connection, batch: list[Write]) -> None:
        try:
            await self._together(connection, batch)
        except FAILED as error:
            if is_lost(error):
                await self._settle(batch)
            elif getattr(error, "sqlstate", None) == _POLICY_MOVED:
                await self._under_newest(connection, batch)
            elif len(batch) == 1 or isinstance(error, _TOOK_TOO_LONG):
                raise
            else:
                # Nobody pays for what is wrong with another's record.
                for item in batch:
                    await self._alone(connection, item)

    async def _under_newest(self, connection: Connection, batch: list[Write]) -> None:
        """Nothing was written: what was decided under an older policy is refused, the rest tried again."""
        newest = await connection.fetchval(SQL["newest_policy_change"]) or 0
        numbers = [item.what.record.policy_number for item in batch]
        for item, number in zip(batch, numbers, strict=True):
            if number not in (None, newest):
                item.fail(policy_moved())
            else:
                await self._alone(connection, item)

    async def _alone(self, connection: Connection, item: Write) -> None:
        try:
            with unavailable():
                await self._together(connection, [item])
        except StoreUnavailable as error:
            has_moved = getattr(error.__cause__, "sqlstate", None) == _POLICY_MOVED
            item.fail(policy_moved() if has_moved else error)

    async def _together(self, connection: Connection, batch: list[Write]) -> None:
        entries = [item.what for item in batch]
        verdicts = await connection.fetchval(SQL["record_decisions"], *self.columns(entries))
        for item, verdict in zip(batch, verdicts, strict=True):
            if verdict == _WRITTEN:
                item.bring(None)
            elif verdict == _LOST:
                item.fail(lease_lost())
            elif verdict == _CHANGED:
                item.fail(await _find_changed(connection, item.what))
            elif verdict == _KEY_TAKEN:
                item.fail(key_taken())
        # Beside one whose key is taken nothing was written.
        if again := [item for item, verdict in zip(batch, verdicts, strict=True) if verdict is None]:
            await self._together(connection, again)

    async def settled(self, entries: Sequence[PendingEntry]) -> Sequence[bool]:
        """The connection was lost: ask on another one what became of it, and let nothing happen later."""
        end = time.monotonic() + SETTLE_SECONDS
        while True:
            try:
                return await _settle_entries(self._url, entries)
            except FAILED as error:
                if time.monotonic() > end:
                    raise StoreUnavailable("the database went away in the middle of a commit") from error
                await asyncio.sleep(0.2)

    async def _settle(self, batch: list[Write]) -> None:
        written = await self.settled([item.what for item in batch])
        for item, is_written in zip(batch, written, strict=True):
            if is_written:
                item.bring(None)
            else:
                item.fail(StoreUnavailable("the connection to the database was lost; nothing was written"))

    # --- records with more to them -------------------------------------------------------------

    async def write_special(self, connection: Connection, entry: PendingEntry) -> Refusal | None:
        """Check what only the database knows, then write all of it, in one short transaction."""
        try:
            return await self._write_at_once(connection, entry)
        except asyncpg.InvalidCachedStatementError:
            # A newer gateway added a column meanwhile: nothing was written, and now it is known.
            return await self._write_at_once(connection, entry)

    async def _write_at_once(self, connection: Connection, entry: PendingEntry) -> Refusal | None:
        try:
            with self._sealer.write() as seals:
                async with connection.transaction():
                    await _take_policy_turn(connection, entry.record)
                    await self._write_special(connection, entry, seals)
        except _Refused as refused:
            return refused.refusal
        except asyncpg.PostgresError as error:
            if error.sqlstate == _POLICY_MOVED:
                raise policy_moved() from None
            raise
        return None

    async def _write_special(self, connection: Connection, entry: PendingEntry, seals: SealedWrite) -> None:
        record = entry.record
        await connection.execute("SELECT take_turns($1)", list(entry.keys))
        refusal = await check_windows(connection, record) or await self._refusal(connection, record)
        if refusal is not None:
            raise _Refused(refusal)
        await _receive(connection, record.ects, seals)
        verdicts = await connection.fetchval(SQL["record_decisions"], *self.columns([entry]))
        if verdicts[0] == _LOST:
            raise lease_lost()
        if verdicts[0] == _CHANGED:
            raise await _find_changed(connection, entry)
        if verdicts[0] == _KEY_TAKEN:
            raise key_taken()
        for consequence in record.consequences:
            following = entry_of(Record(consequence), None, entry.keys, self._sealer)
            seals.drew(following.seal)
            await connection.fetchval(SQL["record_decisions"], *self.columns([following]))
        await _write_parts(connection, record, seals)

    async def _refusal(self, connection: Connection, record: Record) -> Refusal | None:
        if (permit := record.permit) is not None and permit.version:
            version = await connection.fetchval(SQL["permit_version"], permit.jti)
            return permit_used(permit.jti) if version is None or version >= permit.version else None
        if (outcome := record.outcome) is not None:
            earlier = await connection.fetchval(SQL["outcome_result"], outcome.activity_id)
            return reported_already(None if earlier is None else OutcomeResult(earlier), outcome)
        if (approval := record.approval) is None:
            return None
        if approval.version:
            version = await connection.fetchval(SQL["approval_version"], approval.approval_id)
            return changed_meanwhile(approval) if (version or 0) >= approval.version else None
        if approval.kind is ApprovalKind.REVIEW:
            # Nobody keeps a review away by asking for much else.
            return None
        ends = await connection.fetch(SQL["open_approvals"], approval.agent_id, approval.created_ms)
        return too_many_open(self._max_open, [row[0] for row in ends], approval.created_ms)


async def _settle_entries(url: str, entries: Sequence[PendingEntry]) -> Sequence[bool]:
    connection = await connect(url)
    try:
        keys = sorted({key for entry in entries for key in entry.keys})
        ids = [entry.record.activity.activity_id for entry in entries]
        holds = [entry.held.serial if entry.held is not None else None for entry in entries]
        written: Sequence[bool] = await connection.fetchval(SQL["settle_commits"], keys, ids, holds)
        return written
    finally:
        connection.terminate()


async def _take_policy_turn(connection: Connection, record: Record) -> None:
    """Before every other lock, as all who write do it."""
    if record.policy_number is not None:
        await connection.fetchval(SQL["require_policy"], [record.policy_number])
    if (change := record.policy_change) is not None and not await connection.fetchval(
        SQL["follow_policy"], change.number
    ):
        raise policy_moved()


def lease_lost() -> LeaseLost:
    return LeaseLost("another request took over this step")


def key_taken() -> KeyTaken:
    return KeyTaken("another request answers under this idempotency key")


async def _find_changed(connection: Connection, entry: PendingEntry) -> AgentChanged:
    assert entry.held is not None
    body = await connection.fetchval(SQL["agent_body"], entry.held.agent_id)
    try:
        check_unchanged(entry.held.agent, decode(Agent, body))
    except AgentChanged as changed:
        return changed
    return AgentChanged("the agent was changed while this request was at work: ask again")


def columns(entries: Sequence[PendingEntry], source: str) -> list[Any]:
    """The parameters of `record_decisions`: one array per column, in its order. One that has no value at
    all is sent as an empty array, which the database reads alike and which costs nothing to write."""
    records = [entry.record for entry in entries]
    activities = [record.activity for record in records]
    steps = [None if record.step is None else record.step.step for record in records]
    kept = [record.remembered for record in records]
    crosses = [True if record.crossing is not None else None for record in records]
    keys = sorted({key for entry in entries for key in entry.keys})
    bookings = [record.booking for record in records]
    written: list[list[Any]] = [
        [a.activity_id for a in activities],
        [a.agent_id for a in activities],
        [a.principal_id for a in activities],
        [a.at_ms for a in activities],
        [store_text(a.action_type) for a in activities],
        [a.decision for a in activities],
        [a.error_code for a in activities],
        [store_text_or_none(a.conversation_id) for a in activities],
        [a.cost_nano for a in activities],
        [a.tokens for a in activities],
        [a.fingerprint for a in activities],
        [",".join(a.par) or None for a in activities],
        [a.wid for a in activities],
        [entry.salt for entry in entries],
        [a.payload for a in activities],
        [entry.commitment for entry in entries],
        [entry.held and entry.held.serial for entry in entries],
        [entry.is_binding for entry in entries],
        [entry.held and entry.held.agent.status.value for entry in entries],
        [entry.held and int(entry.held.agent.trust_level) for entry in entries],
        [step and step.number for step in steps],
        [step and step.state for step in steps],
        [step and step.approved for step in steps],
        [step and step.activity_id for step in steps],
        [step and step.wid for step in steps],
        _each(bookings, lambda b: b.day),
        _each(bookings, lambda b: b.second),
        _each(bookings, lambda b: b.requests),
        _each(bookings, lambda b: b.cost_nano),
        _each(bookings, lambda b: b.tokens),
        _each(bookings, lambda b: b.actions),
        _each(kept, lambda k: k.key_hash),
        _each(kept, lambda k: k.expires_ms),
        _each(kept, lambda k: k.status),
        _each(kept, lambda k: k.body),
        _each(kept, lambda k: k.retry_after_seconds),
        crosses,
        _each(kept, lambda k: k.claim),
    ]
    arrays = [[] if column.count(None) == len(column) else column for column in written]
    decided = {record.policy_number for record in records if record.policy_number is not None}
    seals = [source, [entry.seal.number for entry in entries], [entry.seal.mac for entry in entries]]
    return [keys, *arrays[:_KEPT_AT], any(kept) or any(crosses), *arrays[_KEPT_AT:], *seals, list(decided)]


def _each(values: Sequence[Any], field: Callable[[Any], Any]) -> list[Any]:
    return [None if value is None else field(value) for value in values]


async def _receive(connection: Connection, ects: Sequence[ReceivedEct], seals: SealedWrite) -> None:
    """Tokens are recorded before what they caused; of two under one id the first is taken."""
    for ect in ects:
        token, salt = ect.token.encode("ascii"), os.urandom(SALT_BYTES)
        done = await connection.execute(SQL["put_ect"], ect.jti, salt, token, ect.principal_id)
        if done == "INSERT 0 1":
            row = seals.waiting(TOKENS, ect.jti, ect.received_ms, commit_to(token, salt))
            await connection.execute(SQL["wait_for_ledger"], *row)
        elif await connection.fetchval(SQL["received_token"], ect.jti) != token:
            raise _Refused(Refusal(Code.ECT_REFUSED, GENERIC_REFUSAL))


async def _write_parts(connection: Connection, record: Record, seals: SealedWrite) -> None:
    """What most decisions do not have."""
    run = connection.execute
    states = PostgresStateRows(connection, record.activity.at_ms, seals)
    await _put_states(states, record)
    await write_windows(connection, record)
    if record.outcome is not None:
        await prove(connection, record.outcome)
    for change in _changes(record):
        await run(SQL["notify"], change)
    if record.dropped_webhook is not None:
        await states.drop("webhooks", "webhook_id = $1", record.dropped_webhook)
        await run(SQL["drop_deliveries"], record.dropped_webhook)
    if record.stated is not None:
        await state_minute(connection, record.stated)
    if record.permit is not None:
        await run(SQL["put_permit"], *permit_columns(record.permit).values())
    if record.finding is not None:
        await run(SQL["put_finding"], *finding_columns(record.finding).values())
    for delivery in record.deliveries:
        await run(SQL["put_delivery"], *delivery_row(delivery))
    if (signed := record.cosignature) is not None:
        kept = await connection.fetchval(SQL["lock_checkpoint"], signed.size)
        others = msgspec.json.decode(kept) if kept else []
        more = encode([*others, signed.token])
        await run(SQL["cosign"], signed.size, signed.at_ms, signed.checkpoint, more)
    if record.redaction is not None:
        await _redact(connection, states, record.redaction)


def _changes(record: Record) -> Iterator[str]:
    """What other processes have to hear of: they keep it for a while."""
    if record.agent is not None:
        yield f"a:{record.agent.agent_id}"
    if record.key is not None:
        yield f"k:{record.key.key_hash.hex()}"
    if record.webhook is not None or record.dropped_webhook is not None:
        yield "w:"
    if record.conduct is not None:
        yield f"s:{record.activity.agent_id}"


async def _put_states(states: PostgresStateRows, record: Record) -> None:
    """The parts of a record that decide from now on."""
    if (agent := record.agent) is not None:
        await states.put("agents", {**agent_columns(agent), "trust": int(agent.trust_level)})
    if (approval := record.approval) is not None:
        await states.put("approvals", {**approval_columns(approval), "version": approval.version})
    if record.key is not None:
        await states.put("keys", key_columns(record.key))
    if (outcome := record.outcome) is not None:
        put = states.put if outcome.is_binding else states.put_uncommitted
        await put("outcomes", outcome_columns(outcome))
    if record.webhook is not None:
        await states.put("webhooks", webhook_columns(record.webhook))
    if record.conduct is not None:
        columns = {"agent_id": record.activity.agent_id, "conduct": encode(record.conduct)}
        await states.put("conduct", columns)
    for change in record.trust_changes:
        await states.add("trust_changes", trust_change_columns(change))
    if (workflow := record.workflow) is not None:
        principal_id = store_text(workflow.principal_id)
        await states.add("workflows", {**workflow_columns(workflow), "principal_id": principal_id})
    if record.policy_change is not None:
        await states.add("policy_changes", policy_change_columns(record.policy_change))
    for done in record.completions:
        columns = {"workflow_id": done.workflow_id, "node_id": store_text(done.node_id), "jti": done.jti}
        await states.keep("workflow_nodes", columns)


async def _redact(connection: Connection, states: PostgresStateRows, redaction: Redaction) -> None:
    run, agent_id = connection.execute, redaction.agent_id
    for stone in redaction.tombstones:
        # A hash without a salt can be guessed: another takes its place, which is nobody's.
        await run(SQL["redact_steps"], stone.activity_id, os.urandom(32))
        await run(SQL["redact_crossings"], stone.activity_id)
        texts = (store_text(stone.action_type), store_text_or_none(stone.conversation_id), stone.payload)
        await run(SQL["redact_activity"], *texts, stone.activity_id)
        await run(SQL["redact_remembered"], agent_id, stone.activity_id.encode())
        # The hash of an action has no salt: it could be guessed.
        await run(SQL["redact_permits"], stone.activity_id)
        await run(SQL["redact_deliveries"], stone.activity_id.encode())
    erased = {stone.activity_id for stone in redaction.tombstones}
    await _redact_trust_changes(connection, states, agent_id, erased)
    for approval in redaction.approvals:
        await states.change("approvals", approval.approval_id, {"body": encode(approval)})
    for outcome in redaction.outcomes:
        columns = {"fingerprint": outcome.fingerprint, "body": encode(outcome)}
        await states.change("outcomes", outcome.activity_id, columns)
    for conversation in redaction.conversations:
        await run(SQL["forget_steps"], agent_id, store_text(conversation))
        await run(SQL["forget_conversation_crossings"], agent_id, store_text(conversation))
        await run(SQL["forget_heard"], agent_id, store_text(conversation))
    for jti in redaction.tokens:
        await run(SQL["redact_token"], jti)


async def _redact_trust_changes(
    connection: Connection, states: PostgresStateRows, agent_id: AgentId, erased: set[str]
) -> None:
    for number, body in await connection.fetch(SQL["all_trust_changes"], agent_id):
        change = decode(TrustChange, body)
        if (kept := change.without_texts_of(erased)) is not change:
            await states.change("trust_changes", number, {"body": encode(kept)})
