"""The ledger's end has one writer at a time: whichever process holds the advisory lock.

A record is durable before it is answered; its place in the chain it gets in the next batch. If the leader
dies, its session ends and another takes over; if it hangs, the server ends its idle session. Were there
ever two, the ledger's primary key refuses the second one's batch.
"""

import asyncio
import contextlib
import time
from collections.abc import Mapping
from typing import Any, Final

import asyncpg
import msgspec

from qwed.domain.policy import Policy
from qwed.domain.refusal_counts import HOUR_MINUTES, MINUTE_MS
from qwed.domain.times import DAY_MS
from qwed.ect.jws import InvalidToken
from qwed.ect.keys import KeyRing
from qwed.gateway.kernel.ledger_watch import LedgerFinding, LedgerWatch
from qwed.gateway.kernel.ports import Clock
from qwed.ledger.chain import BrokenChain, Head, LedgerEntry, verify
from qwed.ledger.checkpoints import Checkpoint, read_checkpoint, sign_checkpoint
from qwed.ledger.merkle import TreeEdge, edge_of
from qwed.stores.chain import Growth
from qwed.stores.postgres.connections import connect
from qwed.stores.postgres.nodes import proven
from qwed.stores.postgres.numbers import ProcessNumbers
from qwed.stores.postgres.pending_checks import RefusedFor, Vetted, Vetting
from qwed.stores.postgres.schema import drop_parts, make_parts
from qwed.stores.postgres.seals import RecordSealer
from qwed.stores.postgres.statements import SQL
from qwed.stores.postgres.states import MAX_DROPPED, PostgresStateRows

LEADER_LOCK: Final = 7_932_002
BATCH: Final = 512
TAIL: Final = 1_000
#: How soon something new is noticed, how often a follower asks for the lead, how often house is kept.
LOOK_SECONDS: Final = 0.05
FOLLOW_SECONDS: Final = 0.5
#: How long, and how often at most, a leader without some key leaves the lead to others.
HAND_OVER_SECONDS: Final = 1.5
HAND_OVER_PAUSE_SECONDS: Final = 6.0
HOUSE_MS: Final = 60_000
#: How long after its lease a hold goes on to count, at most.
LATE_SECONDS: Final = 10.0
#: How often the leader looks for processes that died, and how long it waits for one to come back.
ABSENCE_LOOK_SECONDS: Final = 1.0
ABSENCE_SECONDS: Final = 4.0
#: How often the leader counts what agents did, and how many entries in one transaction.
COUNT_SECONDS: Final = 1.0
COUNTED_AT_ONCE: Final = 2_000
#: A leader that says nothing for so long is no leader any more.
SILENT_MS: Final = 5_000
KEEP_CHECKPOINT_MS: Final = 60_000
#: So long the numbers of a process that ended are kept.
SOURCE_DAYS: Final = 30
#: One that nobody knows yet blocks a retry: it stays.
_OLD_OUTCOMES: Final = (
    "result <> 'unknown' AND activity_id IN (SELECT activity_id FROM activities WHERE at_ms < $1 LIMIT $2)"
)
_OLD_APPROVALS: Final = (
    "approval_id IN (SELECT approval_id FROM approvals WHERE approval_id < $1 AND status <> 'open' LIMIT $2)"
)
_WHY: Final[Mapping[RefusedFor, str]] = {
    RefusedFor.NOT_SEALED: "no gateway sealed it",
    RefusedFor.WRONG_SEAL: "its seal is not of the record key",
    RefusedFor.UNKNOWN_KEY: "it names a record key that no leader has",
    RefusedFor.WRONG_CONTENT: "what it is about is not what it commits to",
    RefusedFor.NOT_NEW: "the ledger has it already",
}

Connection = Any


class _AnotherMayLead(Exception):
    """This process gives the lead away for a moment."""


class Sequencer:
    def __init__(
        self, url: str, clock: Clock, ring: KeyRing, policy: Policy, watch: LedgerWatch, sealer: RecordSealer
    ) -> None:
        self._url = url
        self._clock = clock
        self._ring = ring
        self.use_policy(policy)
        self._watch = watch
        self._sealer = sealer
        self._vetting = Vetting(sealer.seals)
        self._numbers = ProcessNumbers(sealer.seals, self._patience)
        self._end: End | None = None
        self._kept_house_ms = 0
        self._freed = time.monotonic()
        self._looked = time.monotonic()
        #: Owners of holds whose session is gone, and since when.
        self._absent: dict[str, float] = {}
        #: When entries were counted last, and how many there were.
        self._counted, self._uncounted = 0.0, 0
        self._stopping = asyncio.Event()
        self._handed_over = 0.0
        self.is_leader = False

    def use_policy(self, policy: Policy) -> None:
        self.retention = policy.retention
        #: A write that takes longer than its lease is not one of ours.
        self._patience = policy.limits.lease_seconds + LATE_SECONDS

    async def run(self) -> None:
        while not self._stopping.is_set():
            pause = 0.0
            connection = None
            try:
                connection = await connect(self._url, idle_session_timeout=str(SILENT_MS))
                await self._follow(connection)
            except _AnotherMayLead as error:
                self._watch.fail(str(error))
                pause = HAND_OVER_SECONDS
            # Whatever it was: another may lead, and this one tries again. It must not end for good.
            except Exception as error:  # noqa: BLE001
                self._watch.fail(f"{type(error).__name__}: {error}")
                pause = FOLLOW_SECONDS
            finally:
                self.is_leader, self._end = False, None
                if connection is not None:
                    connection.terminate()
            # Only now: whoever else may lead needs the lock that ended with the connection.
            await self._pause(pause)

    async def stop(self) -> None:
        self._stopping.set()

    async def _pause(self, seconds: float) -> None:
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self._stopping.wait(), seconds)

    async def _follow(self, connection: Connection) -> None:
        while not await connection.fetchval("SELECT pg_try_advisory_lock($1)", LEADER_LOCK):
            # Another leads.
            self._watch.succeed()
            await self._pause(FOLLOW_SECONDS)
            if self._stopping.is_set():
                return
        self.is_leader, self._absent = True, {}
        self._end = await verify_end(connection, self._ring)
        self._numbers = ProcessNumbers(self._sealer.seals, self._patience)
        for source in await self._numbers.load(connection):
            says = f"the count of the records of process {source} was edited: what it has lost can't be told"
            self._watch.report(LedgerFinding("gap", says))
        await self._lead(connection)

    async def _lead(self, connection: Connection) -> None:
        while True:
            count = await self._sequence(connection)
            await self._count(connection)
            await self._free_late_holds(connection)
            await self._free_holds_of_the_dead(connection)
            await self._tell_gaps(connection)
            await self._keep_house(connection)
            self._watch.succeed()
            if count == BATCH:
                continue
            if self._stopping.is_set():
                return
            await self._pause(LOOK_SECONDS)

    async def _sequence(self, connection: Connection) -> int:
        """One batch; how many it had."""
        assert self._end is not None
        rows = await connection.fetch(SQL["waiting_for_the_ledger"], BATCH)
        if not rows:
            return 0
        vetted = self._vetting.vet(rows, self._numbers)
        now_ms = self._clock.now_ms()
        self._end = await append(connection, self._ring, self._end, vetted, now_ms, self._numbers.rows())
        self._numbers.written()
        for refused in vetted.refused:
            says = (
                f"a record about {refused.subject[:200]!r} got no place in the ledger: {_WHY[refused.reason]}"
            )
            self._watch.report(LedgerFinding("refused", says))
        if vetted.skipped:
            self._hand_over()
        return len(vetted.entries) + len(vetted.void) + len(vetted.refused)

    def _hand_over(self) -> None:
        """Somebody else may have the key. Not too often: nonsense would keep everybody from leading."""
        now = time.monotonic()
        if now - self._handed_over > HAND_OVER_PAUSE_SECONDS:
            self._handed_over = now
            raise _AnotherMayLead("a record names a record key that this gateway does not have")

    async def _tell_gaps(self, connection: Connection) -> None:
        for gap in self._numbers.overdue():
            lives = await connection.fetchval(SQL["lives"], gap.source)
            which = f"{gap.first}" if gap.count == 1 else f"{gap.first} to {gap.last}"
            why = (
                "it lives, so somebody deleted them"
                if lives
                else "it has ended: deleted, or in flight when it was killed"
            )
            says = f"of the records of process {gap.source} number {which} never came; {why}"
            self._watch.report(LedgerFinding("gap", says, gap.count))

    async def _count(self, connection: Connection) -> None:
        """What agents did, by day; where that is far behind, a stretch in every round."""
        now = time.monotonic()
        if self._uncounted < COUNTED_AT_ONCE and now - self._counted < COUNT_SECONDS:
            return
        self._counted = now
        self._uncounted = await connection.fetchval(SQL["count_entries"], COUNTED_AT_ONCE)

    async def _free_late_holds(self, connection: Connection) -> None:
        if time.monotonic() - self._freed > LATE_SECONDS:
            self._freed = time.monotonic()
            await connection.execute(SQL["drop_expired"], self._clock.now_ms())

    async def _free_holds_of_the_dead(self, connection: Connection) -> None:
        """Whoever lost its connection to a process that died may ask again long before the lease ends."""
        now = time.monotonic()
        if now - self._looked < ABSENCE_LOOK_SECONDS:
            return
        self._looked = now
        owners = [row[0] for row in await connection.fetch(SQL["absent_owners"])]
        self._absent = {owner: self._absent.get(owner, now) for owner in owners}
        dead = [owner for owner, since in self._absent.items() if now - since >= ABSENCE_SECONDS]
        if dead:
            await connection.execute(SQL["drop_holds_of"], dead)
            await connection.execute(SQL["drop_claims_of"], dead)

    async def _keep_house(self, connection: Connection) -> None:
        """Drop what no window can see any more, a little at a time."""
        now_ms = self._clock.now_ms()
        if now_ms - self._kept_house_ms < HOUSE_MS:
            return
        self._kept_house_ms = now_ms
        run = connection.execute
        # A lock that others need now can be had the next time.
        with contextlib.suppress(asyncpg.LockNotAvailableError, asyncpg.QueryCanceledError):
            await run(SQL["forget_remembered"], now_ms)
            await run(SQL["drop_expired_claims"], now_ms)
            await run(SQL["forget_sessions"], now_ms)
            await run(SQL["forget_seconds"], now_ms // 1000 - 7200)
            await run(SQL["forget_crossings"], now_ms - DAY_MS)
            await run(SQL["forget_sources"], now_ms - SOURCE_DAYS * DAY_MS)
            await run(SQL["forget_refused_minutes"], now_ms // MINUTE_MS - 2 * HOUR_MINUTES)
            for forget in ("forget_window_entries", "forget_last_times", "forget_waiting_marks"):
                await run(SQL[forget], now_ms)
            days = self.retention.activity_days
            await make_parts(connection, now_ms, has_retention=days is not None)
            # Retention takes away only what is counted.
            if days is not None and self._uncounted < COUNTED_AT_ONCE:
                await drop_parts(connection, now_ms - days * DAY_MS)
                await self._drop(connection, "outcomes", _OLD_OUTCOMES, now_ms - days * DAY_MS)
                await run(SQL["forget_permits"], now_ms - days * DAY_MS)
                await run(SQL["forget_findings"], now_ms - days * DAY_MS)
                await run(SQL["forget_activities"], now_ms - days * DAY_MS)
                await run(SQL["forget_old_heard"], now_ms - days * DAY_MS)
            if self.retention.delivery_days is not None:
                oldest = now_ms - self.retention.delivery_days * DAY_MS
                await run(SQL["forget_deliveries"], f"dlv_{oldest:012x}")
            if self.retention.approval_days is not None:
                oldest = now_ms - self.retention.approval_days * DAY_MS
                await self._drop(connection, "approvals", _OLD_APPROVALS, f"apr_{oldest:012x}")

    async def _drop(self, connection: Connection, table: str, old: str, before: object) -> None:
        with self._sealer.write() as seals:
            async with connection.transaction():
                rows = PostgresStateRows(connection, self._clock.now_ms(), seals)
                await rows.drop(table, old, before, MAX_DROPPED)


class End(msgspec.Struct, frozen=True):
    """Where the ledger ends, and since when its last checkpoint may be replaced by the next."""

    name: str
    head: Head
    edge: TreeEdge
    replaceable_ms: int | None = None


async def append(
    connection: Connection,
    ring: KeyRing,
    end: End,
    vetted: Vetted,
    now_ms: int,
    numbers: tuple[list[str], list[bytes], list[bytes]] = ([], [], []),
) -> End:
    """A batch of what waits and its signature, in one transaction; what is refused is set aside in it."""
    growth = Growth(end.head, end.edge)
    for row in vetted.entries:
        growth.extend(row["subject"], row["at_ms"], row["commitment"])
    since = end.replaceable_ms
    is_replaced = since is not None and now_ms - since < KEEP_CHECKPOINT_MS
    entries = growth.entries
    checkpoint = Checkpoint(end.name, growth.head.seq, growth.edge.root(), growth.head.hash, now_ms // 1000)
    has_replaced = await connection.fetchval(
        SQL["append_ledger"],
        vetted.ids,
        [entry.seq for entry in entries],
        [entry.at_ms for entry in entries],
        [entry.subject for entry in entries],
        [entry.commitment for entry in entries],
        [entry.previous for entry in entries],
        [entry.hash for entry in entries],
        [level for level, _, _ in growth.tiles],
        [index for _, index, _ in growth.tiles],
        [digest for _, _, digest in growth.tiles],
        now_ms,
        await _sign(ring, checkpoint) if entries else "",
        end.head.seq if is_replaced else 0,
        *numbers,
        [refused.id for refused in vetted.refused],
        [refused.reason.value for refused in vetted.refused],
    )
    if not entries:
        return end
    return End(end.name, growth.head, growth.edge, since if has_replaced else now_ms)


async def _sign(ring: KeyRing, checkpoint: Checkpoint) -> str:
    """A key in an HSM or a cloud must not hold up the loop, which is the server's."""
    if ring.is_remote:
        return await asyncio.to_thread(sign_checkpoint, ring, checkpoint)
    return sign_checkpoint(ring, checkpoint)


async def verify_end(connection: Connection, ring: KeyRing) -> End:
    """The end of the ledger, after following its tail to the last signature: a broken one is not built
    upon. Raises `BrokenChain`."""
    # One snapshot: another gateway's leader may be adding to it at this very moment.
    async with connection.transaction(isolation="repeatable_read", readonly=True):
        return await read_end(connection, ring)


async def read_end(connection: Connection, ring: KeyRing) -> End:
    head = await _verify_head(connection)
    edge = await proven(connection, lambda nodes: edge_of(nodes, head.seq))
    name = await connection.fetchval(SQL["ledger_name"])
    row = await connection.fetchrow(SQL["last_checkpoint"])
    if row is None and head == Head():
        return End(name, head, edge)
    if row is None or row["size"] != head.seq:
        raise BrokenChain(f"the last entry, {head.seq}, is not the one that was signed")
    try:
        checkpoint = read_checkpoint(row["token"], ring.known())
    except InvalidToken:
        raise BrokenChain(
            "the last checkpoint was not signed by a key of this deployment: restore the key file that"
            " belongs to this store"
        ) from None
    if checkpoint.head != head.hash or checkpoint.root != edge.root():
        raise BrokenChain(f"the ledger up to entry {head.seq} is not the one that was signed")
    return End(name, head, edge)


async def _verify_head(connection: Connection) -> Head:
    rows = await connection.fetch(SQL["ledger_tail"], TAIL)
    if not rows:
        return Head()
    tail = [LedgerEntry(*row) for row in reversed(rows)]
    return verify(tail, Head(tail[0].seq - 1, tail[0].previous))
