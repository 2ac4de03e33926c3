"""The `Store` port on PostgreSQL, for any number of processes and hosts.

Reads that decide, holds and commits each go through a lane of their own, where whatever arrives together
shares a round trip. Nothing that must be exact is kept in this process.
"""

import asyncio
import contextlib
import secrets
import uuid
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, TypeVar

import asyncpg

from qwed.domain.admission import Attempt
from qwed.domain.agents import Agent, AgentId, AgentStatus, PrincipalId
from qwed.domain.approvals import Approval
from qwed.domain.budgets import HOUR_SECONDS, Charge, Spending
from qwed.domain.codes import Refusal
from qwed.domain.conduct import Standing
from qwed.domain.credentials import ApiKey
from qwed.domain.deliveries import Delivery, DeliveryClaim
from qwed.domain.outcomes import Outcome
from qwed.domain.permits import IssuedPermit, PermitFinding
from qwed.domain.policy import Policy
from qwed.domain.policy_changes import PolicyChange
from qwed.domain.refusal_counts import Counted, CountedRefusal, RefusedMinute
from qwed.domain.times import day_of
from qwed.domain.trust_changes import TrustChange
from qwed.domain.webhooks import Webhook
from qwed.domain.workflows import Workflow
from qwed.ect.keys import KeyRing
from qwed.gateway.kernel.coroutines import SingleFlight, run
from qwed.gateway.kernel.integrity import Integrity
from qwed.gateway.kernel.ledger_watch import LedgerLag, LedgerWatch
from qwed.gateway.kernel.ports import (
    Admission,
    AgentChanged,
    Clock,
    KeyClaim,
    KeyInFlight,
    KeyTaken,
    LeaseLost,
    LedgerBehind,
    StateDiffers,
    StoreUnavailable,
)
from qwed.gateway.kernel.records import (
    Activity,
    ActivityPage,
    ActivityQuery,
    HourCount,
    LedgerState,
    Record,
    Remembered,
    ReportScope,
    ScoreChange,
    SearchPage,
    SearchQuery,
    Survey,
)
from qwed.ledger.record_keys import RecordKeys, follow_ring
from qwed.ledger.states import StateDifference
from qwed.stores.background import BackgroundLoop
from qwed.stores.postgres import queries
from qwed.stores.postgres.admission import Admissions
from qwed.stores.postgres.clock import DatabaseClock
from qwed.stores.postgres.commits import Commits, PendingEntry, entry_of, is_ordinary
from qwed.stores.postgres.connections import (
    FAILED,
    PASSING,
    READERS,
    Readers,
    connect,
    connect_for_long,
    is_lost,
    unavailable,
)
from qwed.stores.postgres.credentials import Kept
from qwed.stores.postgres.evidence import PostgresEvidence
from qwed.stores.postgres.lanes import Lane, LaneJob
from qwed.stores.postgres.refusal_counts import RefusalCounts
from qwed.stores.postgres.requests import AdmissionRequest, Held, new_token
from qwed.stores.postgres.room import Room
from qwed.stores.postgres.rows import spending_of
from qwed.stores.postgres.schema import make_parts, migrate, require_whole
from qwed.stores.postgres.seals import open_sealer
from qwed.stores.postgres.sequencer import FOLLOW_SECONDS, Sequencer, verify_end
from qwed.stores.postgres.statements import SQL
from qwed.stores.postgres.states import StatedRow, adopt_once, check_body, differences
from qwed.stores.postgres.texts import store_text

T = TypeVar("T")

MAX_ADMITTED = 128
MAX_GROUP = 128
#: How long a question about the ledger waits for what was recorded before it.
CATCH_UP_SECONDS = 3.0
TURN_SECONDS = 0.005
#: How long comparing all rows of some tables may take.
COMPARE_MS = 120_000


class _Home:
    """What one event loop uses: connections belong to the loop that opened them."""

    def __init__(self, store: "PostgresStore", url: str, max_waiting: int) -> None:
        self.loop = asyncio.get_running_loop()
        self.readers = Readers(url)
        self.turnkeeper = Readers(url, 1)
        self.claims = Readers(url, READERS, **PASSING)
        admissions, commits = store.admissions, store.commits
        self.admit: Lane[AdmissionRequest, Held | Refusal] = Lane(
            url, admissions.work, max_batch=MAX_ADMITTED, max_waiting=max_waiting, **PASSING
        )
        self.commit: Lane[PendingEntry, Refusal | None] = Lane(
            url, commits.work, max_batch=MAX_GROUP, max_waiting=max_waiting
        )
        self.commit.tell_of_failures(store.not_written)
        self.release: Lane[Held, None] = Lane(url, _release, max_batch=MAX_GROUP, max_waiting=4096)
        self.count: Lane[CountedRefusal, Counted] = Lane(
            url, store.refusal_counts.work, max_batch=MAX_GROUP, max_waiting=max_waiting
        )

    @property
    def _lanes(self) -> tuple[Lane[Any, Any], ...]:
        return self.admit, self.commit, self.release, self.count

    async def close(self) -> None:
        for lane in self._lanes:
            await lane.close()
        await self.readers.close()
        await self.turnkeeper.close()
        await self.claims.close()

    def drop(self) -> None:
        for lane in self._lanes:
            lane.drop()
        self.readers.drop()
        self.turnkeeper.drop()
        self.claims.drop()


async def _read_with(readers: Readers, call: Callable[..., Coroutine[Any, Any, T]], *values: Any) -> T:
    with unavailable():
        async with readers.one() as connection:
            return await call(connection, *values)


async def _release(connection: "asyncpg.Connection[Any]", batch: list[LaneJob[Held, None]]) -> None:
    keys = sorted({key for item in batch for key in item.what.keys})
    await connection.execute(SQL["release_holds"], keys, [item.what.serial for item in batch])
    for item in batch:
        item.bring(None)


class PostgresStore:
    def __init__(
        self, url: str, policy: Policy, clock: Clock, ring: KeyRing, keys: RecordKeys | None = None
    ) -> None:
        self._url = url
        self._record_keys = keys or follow_ring(ring)
        self._policy = policy
        self._clock = clock
        self._ring = ring
        self._number = secrets.randbits(31)
        self._owner = f"w{self._number}"
        self._standings: Kept[Standing] = Kept()
        self.admissions = Admissions(policy, self._owner, self._standings)
        self.commits = Commits(url, policy)
        self.refusal_counts = RefusalCounts(policy.limits.refusals_per_hour)
        self._agents: Kept[Agent] = Kept()
        self._tokens: Kept[AgentId] = Kept()
        self._keys: Kept[ApiKey] = Kept()
        #: What many ask for at once is read once.
        self._flights = SingleFlight()
        self._destinations: Kept[tuple[Webhook, ...]] = Kept()
        #: Holds that were neither committed nor given back: whatever ends one, ends it once.
        self._live: set[int] = set()
        self._homes: dict[asyncio.AbstractEventLoop, _Home] = {}
        self.integrity = Integrity()
        self.ledger_watch = LedgerWatch()
        self._room = Room()
        self._closed = False
        self._background = BackgroundLoop("qwed-postgres")
        self._tasks: list[asyncio.Task[None]] = []
        try:
            run(self._background.do(self._open))
        except BaseException:
            self._background.stop()
            raise

    async def _open(self) -> None:
        await migrate(self._url)
        connection = await connect(self._url)
        try:
            await require_whole(connection)
            await self._ask_time(connection)
            has_retention = self._policy.retention.activity_days is not None
            await make_parts(connection, self._clock.now_ms(), has_retention=has_retention)
            await connection.execute(SQL["name_ledger"], f"urn:uuid:{uuid.uuid4()}")
            await verify_end(connection, self._ring)
            self._sealer = await open_sealer(connection, self._record_keys, self._owner)
            self.commits.use_sealer(self._sealer)
            self.admissions.sealer = self._sealer
            await adopt_once(connection, self._clock.now_ms(), self._sealer)
            await self._sealer.say_void(connection, self._clock.now_ms())
        finally:
            connection.terminate()
        self._sequencer = Sequencer(
            self._url, self._clock, self._ring, self._policy, self.ledger_watch, self._sealer
        )
        loop = asyncio.get_running_loop()
        self._tasks = [loop.create_task(self._sequencer.run()), loop.create_task(self._listen())]

    async def _do(self, work: Callable[[_Home], Coroutine[Any, Any, T]]) -> T:
        """On the caller's own loop; on the one in the background where it has none."""
        if self._closed:
            raise StoreUnavailable("the store is closed")
        loop = asyncio._get_running_loop()
        try:
            if loop is not None:
                return await work(self._home(loop))
            return await self._background.do(lambda: work(self._home(self._background.loop)))
        except StoreUnavailable as error:
            self._room.note(error)
            raise

    def _home(self, loop: asyncio.AbstractEventLoop) -> _Home:
        home = self._homes.get(loop)
        if home is None:
            home = self._homes[loop] = _Home(self, self._url, self._policy.limits.write_queue)
        return home

    async def _read(self, call: Callable[..., Coroutine[Any, Any, T]], *values: Any) -> T:
        return await self._do(lambda home: _read_with(home.readers, call, *values))

    async def on_turns(self, name: str, number: int) -> bool:
        """On the connection that holds this process's locks between processes; what is not had is asked
        for again a moment later."""

        async def work(home: _Home) -> bool:
            with unavailable():
                async with home.turnkeeper.one() as connection:
                    is_done = bool(await connection.fetchval(SQL[name], number))
            if not is_done:
                await asyncio.sleep(TURN_SECONDS)
            return is_done

        return await self._do(work)

    # --- agents and keys -----------------------------------------------------------------------

    async def agent(self, agent_id: AgentId) -> Agent | None:
        agent = self._agents.get(agent_id)
        if agent is None:
            # Never together with whoever began to read before the last change.
            flight = ("a", agent_id, self._agents.moment)
            agent = await self._flights.do(flight, lambda: self._read_agent(agent_id))
        if agent is None or agent.status is AgentStatus.DEREGISTERED:
            return None
        return None if self.integrity.refuses_agent(agent_id) else agent

    async def _read_agent(self, agent_id: AgentId) -> Agent | None:
        moment = self._agents.moment
        agent: Agent | None = await self._sound(Agent, StatedRow("agents", "agent_id"), agent_id)
        if agent is not None:
            self._agents.put(agent_id, agent, moment)
        return agent

    async def agent_by_token(self, token_hash: bytes) -> Agent | None:
        name = token_hash.hex()
        agent_id = self._tokens.get(name)
        if agent_id is not None:
            agent = await self.agent(agent_id)
            if agent is not None and agent.token_hash == token_hash:
                return agent
        flight = ("t", name, self._agents.moment)
        found = await self._flights.do(flight, lambda: self._read_by_token(token_hash))
        return None if found is None else await self.agent(found.agent_id)

    async def _read_by_token(self, token_hash: bytes) -> Agent | None:
        moments = self._tokens.moment, self._agents.moment
        found: Agent | None = await self._sound(Agent, StatedRow("agents", "token_hash"), token_hash)
        if found is not None:
            self._tokens.put(token_hash.hex(), found.agent_id, moments[0])
            self._agents.put(found.agent_id, found, moments[1])
        return found

    async def api_key(self, key_hash: bytes) -> ApiKey | None:
        name = key_hash.hex()
        key = self._keys.get(name)
        if key is None:
            moment = self._keys.moment
            key = await self._sound(ApiKey, StatedRow("keys", "key_hash"), key_hash)
            if key is not None:
                self._keys.put(name, key, moment)
        if key is None or key.revoked_ms is not None or self.integrity.refuses("keys", key.key_id):
            return None
        return key

    async def _sound(self, kind: type[T], stated: StatedRow, value: object) -> T | None:
        """What is read, unless it is not what the ledger says: then it is as if it were not there."""
        try:
            return await self._read(check_body, kind, stated, value, self._sealer)
        except StateDiffers as error:
            self.integrity.add(error.difference)
            return None

    async def differences(self, tables: Sequence[str]) -> list[StateDifference]:
        async def work(home: _Home) -> list[StateDifference]:
            with unavailable():
                connection = await connect_for_long(self._url, COMPARE_MS)
                try:
                    return await differences(connection, tables, self._sealer)
                finally:
                    connection.terminate()

        return await self._do(work)

    async def _listen(self) -> None:
        """Hear of changes that other processes make, and let them know that this one lives."""
        while not self._closed:
            connection = None
            try:
                connection = await connect(self._url)
                await connection.fetchval(SQL["live"], self._number)
                await connection.add_listener("qwed_changes", self._heard)
                self._set_listening(True)
                while not self._closed:
                    await asyncio.sleep(FOLLOW_SECONDS)
                    await self._ask_time(connection)
                    await self._look_at_ledger(connection)
                    await self._sealer.say_void(connection, self._clock.now_ms())
            # Whatever it was: until it hears again, nothing is kept.
            except Exception:  # noqa: BLE001
                await asyncio.sleep(FOLLOW_SECONDS)
            finally:
                self._set_listening(False)
                if connection is not None:
                    connection.terminate()

    async def _ask_time(self, connection: "asyncpg.Connection[Any]") -> None:
        if isinstance(self._clock, DatabaseClock):
            await self._clock.ask(connection)
        else:
            await connection.fetchval("SELECT 1")

    async def _look_at_ledger(self, connection: "asyncpg.Connection[Any]") -> None:
        row = await connection.fetchrow(SQL["ledger_lag"])
        assert row is not None
        oldest_ms, entries = row
        behind = 0 if oldest_ms is None else max(0, self._clock.now_ms() - oldest_ms)
        self.ledger_watch.lag = LedgerLag(behind / 1000, entries, self._sequencer.is_leader)

    def _set_listening(self, is_listening: bool) -> None:
        for kept in (self._agents, self._tokens, self._keys, self._destinations, self._standings):
            kept.listen(is_listening)

    def _heard(self, connection: object, pid: int, channel: str, payload: object) -> None:
        kind, _, name = str(payload).partition(":")
        if kind == "a":
            self._agents.changed(name)
        elif kind == "k":
            self._keys.changed(name)
        elif kind == "s":
            self._standings.changed(name)
        elif kind == "w":
            self._destinations.clear()

    # --- admission -----------------------------------------------------------------------------

    async def claim_key(
        self, agent_id: AgentId, key_hash: bytes, now_ms: int
    ) -> Remembered | KeyClaim | KeyInFlight:
        claim = KeyClaim(agent_id, key_hash, new_token())
        lease_ms = int(self._policy.limits.lease_seconds * 1000)
        values = (claim, self._owner, now_ms, now_ms + lease_ms)
        found = await self._do(lambda home: _read_with(home.claims, queries.claim_key, *values))
        return claim if found is None else found

    async def give_up_key(self, claim: KeyClaim) -> None:
        # Where it can't be given up, its lease ends it.
        with contextlib.suppress(StoreUnavailable):
            await self._do(lambda home: _read_with(home.claims, queries.give_up_key, claim))

    async def admit(
        self, agent: Agent, attempt: Attempt, now_ms: int, claim: KeyClaim | None = None
    ) -> Admission | Refusal:
        return await self._ask(AdmissionRequest(agent, attempt.charge, now_ms, attempt, claim))

    async def hold(
        self, agent: Agent, charge: Charge, now_ms: int, claim: KeyClaim | None = None
    ) -> Admission | Refusal:
        return await self._ask(AdmissionRequest(agent, charge, now_ms, claim=claim))

    async def _ask(self, asked: AdmissionRequest) -> Admission | Refusal:
        if self._policy.limits.stop_when_ledger_lags and (problem := self.ledger_watch.problem()) is not None:
            raise LedgerBehind(problem)
        answer = await self._do(lambda home: home.admit.put(asked))
        if isinstance(answer, Held):
            self._live.add(answer.serial)
        return answer

    async def release(self, admission: Admission) -> None:
        assert isinstance(admission, Held)
        # What is being written is ended by the write alone, whatever becomes of its caller.
        if admission.serial in self._live:
            self._live.discard(admission.serial)
            # Where it can't be given back, its lease ends it.
            with contextlib.suppress(StoreUnavailable):
                await self._do(lambda home: home.release.put(admission))

    async def count_refusal(self, refused: CountedRefusal) -> Counted:
        return await self._do(lambda home: home.count.put(refused))

    async def list_refused_minutes_due(self, before: int, limit: int) -> list[RefusedMinute]:
        return await self._read(queries.bodies, RefusedMinute, "refused_minutes_due", before, limit)

    async def spending(self, agent: Agent, now_ms: int) -> Spending:
        async def read(connection: "asyncpg.Connection[Any]") -> Spending:
            oldest = now_ms // 1000 - HOUR_SECONDS
            values = ([agent.agent_id], [None], day_of(now_ms), oldest)
            row = await connection.fetchrow(SQL["accounts"], *values)
            assert row is not None
            return spending_of(row, now_ms, row["hour"])

        return await self._read(read)

    async def standing(self, agent_id: AgentId) -> Standing:
        known = self._standings.get(agent_id)
        return known if known is not None else await self._read(queries.standing, agent_id)

    def turn_taken(self, key: object) -> None:
        """Somebody weighs this agent's conduct: what is read from now on is what is on record."""
        if isinstance(key, tuple) and key[0] == "conduct":
            self._standings.changed(key[1])

    # --- committing ----------------------------------------------------------------------------

    async def commit(self, record: Record, admission: Admission | None = None) -> Refusal | None:
        assert isinstance(admission, Held | None)
        is_live = admission is not None and admission.serial in self._live
        if admission is not None:
            self._live.discard(admission.serial)
        try:
            refusal = await self._write(record, admission)
        except BaseException as error:
            if admission is not None and is_live:
                await self._not_written(admission, error)
            raise
        if refusal is not None and admission is not None and is_live:
            self._live.add(admission.serial)
        return refusal

    async def _not_written(self, held: Held, error: BaseException) -> None:
        """Refused, the hold goes on for the next conclusion; failed, it is given back. A caller who stops
        waiting changes nothing: the write goes on."""
        if isinstance(error, asyncio.CancelledError):
            return
        self._live.add(held.serial)
        if not isinstance(error, LeaseLost | AgentChanged | KeyTaken):
            await self.release(held)

    async def _write(self, record: Record, held: Held | None) -> Refusal | None:
        activity = record.activity
        keys = held.keys if held else self.admissions.keys_of(activity.agent_id, activity.principal_id)
        entry = entry_of(record, held, keys, self._sealer)
        if is_ordinary(record):
            return await self._do(lambda home: home.commit.put(entry))
        try:
            refusal = await self._write_special(entry)
        except BaseException:
            self.not_written(entry)
            raise
        finally:
            self._forget(record)
        if refusal is not None:
            self.not_written(entry)
        return refusal

    async def _write_special(self, entry: PendingEntry) -> Refusal | None:
        try:
            return await self._read(self.commits.write_special, entry)
        except StoreUnavailable as error:
            if error.__cause__ is None or not is_lost(error.__cause__):
                raise
            written = await self._do(lambda _: self.commits.settled([entry]))
            if not written[0]:
                raise
            return None

    def not_written(self, entry: PendingEntry) -> None:
        self._sealer.void(entry.seal.number)

    def _forget(self, record: Record) -> None:
        """This process need not hear of its own changes first."""
        if record.agent is not None:
            self._agents.changed(record.agent.agent_id)
        if record.key is not None:
            self._keys.changed(record.key.key_hash.hex())
        if record.conduct is not None:
            self._standings.changed(record.activity.agent_id)
        if record.webhook is not None or record.dropped_webhook is not None:
            # One of an operator concerns every principal.
            self._destinations.clear()

    # --- reading -------------------------------------------------------------------------------

    async def trust_changes(
        self, agent_id: AgentId, before: int | None, limit: int
    ) -> list[tuple[int, TrustChange]]:
        return await self._read(queries.trust_changes, agent_id, before, limit)

    async def is_unsettled(self, agent_id: AgentId, fingerprint: bytes) -> bool:
        return await self._read(queries.is_unsettled, agent_id, fingerprint)

    async def keep_scores(self, changes: Sequence[ScoreChange]) -> None:
        await self._read(queries.keep_scores, changes)

    async def score_changes(self, peer: str, before: int | None, limit: int) -> list[ScoreChange]:
        return await self._read(queries.score_changes, peer, before, limit)

    async def list_scored_peers(self, after: str | None, limit: int) -> list[str]:
        return await self._read(queries.list_scored_peers, after, limit)

    async def keep_shared(self, digest: str, body: bytes) -> None:
        await self._read(queries.keep_shared, digest, body)

    async def shared(self, digest: str) -> bytes | None:
        return await self._read(queries.shared, digest)

    async def keep_salt(self, agent_id: AgentId, conversation_id: str, fresh: bytes, now_ms: int) -> bytes:
        return await self._read(queries.keep_salt, agent_id, store_text(conversation_id), fresh, now_ms)

    async def keep_heard(self, agent_id: AgentId, conversation_id: str, report_id: str, body: bytes) -> None:
        await self._read(queries.keep_heard, agent_id, store_text(conversation_id), report_id, body)

    async def heard(
        self, agent_id: AgentId, conversation_id: str, after: int
    ) -> tuple[bytes | None, list[tuple[int, bytes]]]:
        return await self._read(queries.heard, agent_id, store_text(conversation_id), after)

    async def end_session(self, session_id: bytes, expires_ms: int) -> None:
        await self._read(queries.end_session, session_id, expires_ms)

    async def is_session_ended(self, session_id: bytes) -> bool:
        return await self._read(queries.is_session_ended, session_id)

    async def keep_sign_in(self, session_id: bytes, body: bytes, expires_ms: int) -> None:
        await self._read(queries.keep_sign_in, session_id, body, expires_ms)

    async def sign_in(self, session_id: bytes) -> bytes | None:
        return await self._read(queries.sign_in, session_id)

    async def permit(self, jti: str) -> IssuedPermit | None:
        return await self._read(queries.permit, jti)

    async def permits_of(self, activity_id: str) -> list[IssuedPermit]:
        return await self._read(queries.bodies, IssuedPermit, "permits_of", activity_id)

    async def unused_permits(
        self, agent_id: AgentId, audience: str, action_hash: str, now_ms: int
    ) -> list[IssuedPermit]:
        values = (agent_id, audience, action_hash, now_ms)
        return await self._read(queries.bodies, IssuedPermit, "unused_permits", *values)

    async def permits_due(self, before_ms: int, limit: int) -> list[IssuedPermit]:
        return await self._read(queries.bodies, IssuedPermit, "permits_due", before_ms, limit)

    async def count_findings(
        self, principal_id: PrincipalId | None, agent_id: AgentId | None, from_ms: int, to_ms: int
    ) -> dict[str, int]:
        return await self._read(queries.count_findings, principal_id, agent_id, from_ms, to_ms)

    async def findings(
        self, principal_id: PrincipalId | None, agent_id: AgentId | None, before: str | None, limit: int
    ) -> list[PermitFinding]:
        values = (principal_id, agent_id, before, limit)
        return await self._read(queries.bodies, PermitFinding, "findings", *values)

    async def outcomes(self, agent_id: AgentId, limit: int) -> list[Outcome]:
        return await self._read(queries.outcomes, agent_id, limit)

    async def agents(self, principal_id: PrincipalId | None, after: str | None, limit: int) -> list[Agent]:
        return await self._read(queries.agents, principal_id, after, limit)

    async def principal_standing(self, principal_id: PrincipalId) -> tuple[int, bool]:
        return await self._read(queries.principal_standing, principal_id)

    async def activities(self, query: ActivityQuery) -> ActivityPage:
        return await self._read(queries.activities, query)

    async def activity(self, activity_id: str) -> tuple[Activity, Outcome | None] | None:
        return await self._read(queries.activity, activity_id)

    async def approval(self, approval_id: str) -> Approval | None:
        try:
            return await self._read(
                check_body, Approval, StatedRow("approvals", "approval_id"), approval_id, self._sealer
            )
        except StateDiffers as error:
            self.integrity.add(error.difference)
            raise

    async def approvals(
        self,
        principal_id: PrincipalId | None,
        agent_id: AgentId | None,
        status: str | None,
        now_ms: int,
        after: str | None,
        limit: int,
    ) -> list[Approval]:
        return await self._read(queries.approvals, principal_id, agent_id, status, now_ms, after, limit)

    async def keys(self, principal_id: PrincipalId | None) -> list[ApiKey]:
        return await self._read(queries.keys, principal_id)

    async def webhooks(self, principal_id: PrincipalId | None) -> list[Webhook]:
        return await self._read(queries.webhooks, principal_id)

    async def search(self, query: SearchQuery) -> SearchPage:
        return await self._read(queries.search, query)

    async def hours(self, principal_id: PrincipalId | None, from_hour: int) -> list[HourCount]:
        return await self._read(queries.hours, principal_id, from_hour)

    async def agents_by_spending(
        self, principal_id: PrincipalId | None, day: int, limit: int
    ) -> list[tuple[Agent, int]]:
        return await self._read(queries.agents_by_spending, principal_id, day, limit)

    async def count_waiting(self, principal_id: PrincipalId | None, now_ms: int) -> int:
        return await self._read(queries.count_waiting, principal_id, now_ms)

    async def approvals_due(self, now_ms: int, limit: int) -> list[Approval]:
        due = await self._read(queries.approvals_due, now_ms, limit)
        stated = StatedRow("approvals", "approval_id")
        found = [await self._sound(Approval, stated, approval.approval_id) for approval in due]
        return [approval for approval in found if approval is not None]

    async def policy_change(self, number: int | None = None) -> PolicyChange | None:
        if number is None:
            number = await self._read(queries.value, "newest_policy_change")
        stated = StatedRow("policy_changes", "number")
        found: PolicyChange | None = await self._read(check_body, PolicyChange, stated, number, self._sealer)
        return found

    async def policy_changes(self, before: int | None, limit: int) -> list[PolicyChange]:
        return await self._read(queries.bodies, PolicyChange, "policy_changes", before or 2**62, limit)

    def use_policy(self, policy: Policy) -> None:
        self._policy = policy
        self.admissions.use_policy(policy)
        self.commits.use_policy(policy)
        self.refusal_counts.limit = policy.limits.refusals_per_hour
        self._sequencer.use_policy(policy)

    async def workflow(self, workflow_id: str) -> Workflow | None:
        return await self._read(queries.body, Workflow, "workflow", store_text(workflow_id))

    async def find_completed_nodes(self, workflow_id: str) -> frozenset[str]:
        return await self._read(queries.find_completed_nodes, workflow_id)

    async def webhook(self, webhook_id: str) -> Webhook | None:
        return await self._read(queries.body, Webhook, "webhook", webhook_id)

    async def destinations(self, principal_id: PrincipalId) -> tuple[Webhook, ...]:
        known = self._destinations.get(principal_id)
        if known is None:
            moment = self._destinations.moment
            known = await self._read(queries.destinations, principal_id)
            self._destinations.put(principal_id, known, moment)
        return known

    async def deliveries(self, webhook_id: str, after: str | None, limit: int) -> list[Delivery]:
        return await self._read(queries.deliveries, webhook_id, after, limit)

    async def delivery(self, delivery_id: str) -> Delivery | None:
        return await self._read(queries.delivery, delivery_id)

    async def next_delivery_ms(self) -> int | None:
        return await self._read(queries.next_delivery_ms)

    async def claim_deliveries(self, claim: DeliveryClaim) -> list[Delivery]:
        return await self._read(queries.claim_deliveries, claim)

    async def settle_delivery(self, delivery: Delivery) -> None:
        await self._read(queries.settle_delivery, delivery)

    async def survey(self, scope: ReportScope, after_seq: int) -> Survey:
        if after_seq == 0:
            await self._catch_up()
        return await self._read(queries.survey, scope, after_seq)

    async def ledger_state(self) -> LedgerState:
        await self._catch_up()
        return await self._read(queries.ledger_state)

    @property
    def evidence(self) -> PostgresEvidence:
        return PostgresEvidence(self._read, self._catch_up)

    async def _catch_up(self) -> None:
        await self._read(_caught_up)

    async def ping(self) -> None:
        await self._read(queries.ping)
        await self._read(self._room.require)

    # --- the end -------------------------------------------------------------------------------

    def close(self) -> None:
        """Finish what was accepted, give back what is held, then let go."""
        if self._closed:
            return
        self._closed = True
        run(self._background.do(self._close_background))
        self._background.stop()
        for loop, home in self._homes.items():
            if loop is not self._background.loop:
                # Its loop is the caller's, or gone: nothing can be awaited there.
                with contextlib.suppress(RuntimeError):
                    home.drop()
        self._homes.clear()

    async def _close_background(self) -> None:
        home = self._homes.get(self._background.loop)
        if home is not None:
            await home.close()
        with contextlib.suppress(*FAILED):
            connection = await connect(self._url)
            try:
                await connection.execute(SQL["release_own"], self._owner)
                await connection.execute(SQL["drop_claims_of"], [self._owner])
                await self._sealer.say_void(connection, self._clock.now_ms())
            finally:
                await connection.close()
        await self._sequencer.stop()
        for task in self._tasks[1:]:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


async def _caught_up(connection: "asyncpg.Connection[Any]") -> None:
    """Wait until everything recorded so far has its place in the ledger."""
    newest = await connection.fetchval(SQL["newest_waiting"])
    if newest is None:
        return
    end = asyncio.get_running_loop().time() + CATCH_UP_SECONDS
    while True:
        oldest = await connection.fetchval(SQL["oldest_waiting"])
        if oldest is None or oldest > newest:
            return
        if asyncio.get_running_loop().time() > end:
            raise StoreUnavailable("the ledger is behind: its leader has not come to these entries yet")
        await asyncio.sleep(0.02)
