"""On a database server whoever may write there writes no record, and takes none away unnoticed."""

import asyncio
import hashlib
import secrets
import threading
from pathlib import Path

import asyncpg
import pytest
from tests.contract.test_stores import database_of
from tests.support.fakes import FakeClock
from tests.support.receivers import wait_for
from tests.support.records import RING, a_key, an_activity, an_agent, noted

from qwed.domain.policy import DEFAULT_POLICY
from qwed.ect.key_files import open_ring, read_older_records, rotate
from qwed.ect.keys import KeyUnusable
from qwed.gateway.kernel.coroutines import run
from qwed.gateway.kernel.ports import StoreUnavailable
from qwed.gateway.kernel.records import Record
from qwed.ledger.audit import Tampering
from qwed.ledger.entries import commit_to
from qwed.ledger.record_keys import RecordKeys, follow_ring, key_id, load_record_keys
from qwed.stores.postgres import open_postgres, pending_checks, sequencer, snapshot
from qwed.stores.postgres.seals import Seals
from qwed.stores.sqlite.ledger import verify_ledger

AGENT = an_agent()
CLOCK = FakeClock()


class Intruder:
    """May write whatever the database lets its owner write, and has no key."""

    def __init__(self, url: str) -> None:
        self.url = url

    def do(self, sql: str, *values: object) -> list[asyncpg.Record]:
        async def work() -> list[asyncpg.Record]:
            connection = await asyncpg.connect(self.url)
            try:
                await connection.execute("SET session_replication_role = replica")
                return list(await connection.fetch(sql, *values))
            finally:
                await connection.close()

        return asyncio.run(work())

    def value(self, sql: str, *values: object) -> object:
        return self.do(sql, *values)[0][0]

    def wait(self, subject: str, commitment: bytes, **seal: object) -> None:
        given = {"place": "activities", "source": "w1-0", "number": 1, "mac": b"", **seal}
        names, at_ms = list(given), CLOCK.now_ms()
        places = ", ".join(f"${number}" for number in range(4, 4 + len(names)))
        more = ", ".join(names)
        sql = f"INSERT INTO pending (at_ms, subject, commitment, {more}) VALUES ($1, $2, $3, {places})"
        self.do(sql, at_ms, subject, commitment, *given.values())


class World:
    def __init__(self, folder: Path, keys: RecordKeys | None = None) -> None:
        self.url = database_of(folder)
        self.intruder = Intruder(self.url)
        self.findings: list[str] = []
        self.store = self.open(keys)
        run(self.store.commit(noted(AGENT, CLOCK.now_ms(), agent=AGENT)))
        run(self.store.ledger_state())

    def open(self, keys: RecordKeys | None = None):
        store = open_postgres(self.url, DEFAULT_POLICY, CLOCK, RING, keys)
        store.ledger_watch.listen_to_findings(
            lambda found: self.findings.append(f"{found.kind}: {found.says}")
        )
        return store

    def decide(self) -> str:
        activity = an_activity(AGENT, CLOCK.now_ms())
        run(self.store.commit(Record(activity)))
        return activity.activity_id

    def size(self) -> int:
        return run(self.store.evidence.size())

    def told(self, text: str) -> None:
        wait_for(lambda: any(text in one for one in self.findings), text)

    def refused(self) -> list[str]:
        return [row["reason"] for row in self.intruder.do("SELECT reason FROM refused_entries ORDER BY id")]


@pytest.fixture
def world(tmp_path):
    world = World(tmp_path)
    yield world
    world.store.close()


# --- what somebody else writes -------------------------------------------------------------------------


def forge(world: World) -> str:
    """An approval that no gateway gave, with everything but its seal."""
    real = world.decide()
    run(world.store.ledger_state())
    forged = "act_" + secrets.token_hex(16)
    names = (
        "agent_id, principal_id, at_ms, action_type, decision, error_code, conversation_id, cost_nano, tokens"
    )
    world.intruder.do(
        f"INSERT INTO activities (activity_id, {names}, fingerprint, par, wid, salt, payload)"
        f" SELECT $2, {names}, fingerprint, par, wid, salt, payload FROM activities WHERE activity_id = $1",
        real,
        forged,
    )
    return forged


def test_a_record_that_no_gateway_sealed_gets_no_place_in_the_ledger_and_is_told(world):
    forged = forge(world)
    size = world.size()
    seal = follow_ring(RING).active_id + secrets.token_bytes(32)
    for mac in (b"", secrets.token_bytes(40), seal):
        world.intruder.wait(forged, b"c" * 32, mac=mac)
    world.intruder.wait(f"{forged}x", b"c" * 32, mac=seal)
    world.told("no gateway sealed it")
    world.told("its seal is not of the record key")
    real = world.decide()
    where = "SELECT count(*) FROM ledger WHERE subject = $1"
    wait_for(lambda: world.intruder.value(where, real) == 1, "the real one, beside one that waits")
    assert world.intruder.value(where, forged) == 0
    assert world.intruder.value("SELECT max(seq) FROM ledger") == size + 1
    assert world.store.ledger_watch.refused == 2


@pytest.mark.parametrize(
    "change", ["at_ms = at_ms + 1", "subject = subject || 'x'", "number = number + 1", "source = 'w1-x'"]
)
def test_a_sealed_record_that_somebody_changed_before_it_was_chained_is_refused(
    tmp_path, monkeypatch, change
):
    world = World(tmp_path)
    try:
        # Whoever is quick edits what waits: nobody leads meanwhile.
        give_back = hold_lead(world)
        real = world.decide()
        world.intruder.do(f"UPDATE pending SET {change} WHERE subject = $1", real)
        give_back()
        world.told("its seal is not of the record key")
        assert world.refused() == ["wrong_seal"]
        assert world.intruder.value("SELECT count(*) FROM ledger WHERE subject LIKE $1", real + "%") == 0
    finally:
        world.store.close()


def hold_lead(world: World):
    """Take the ledger's lead away from every gateway; the answer gives it back."""
    taken, back = threading.Event(), threading.Event()

    async def hold() -> None:
        connection = await asyncpg.connect(world.url)
        sql = "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND objid = $1"
        while True:
            await connection.execute(sql, sequencer.LEADER_LOCK)
            if await connection.fetchval("SELECT pg_try_advisory_lock($1)", sequencer.LEADER_LOCK):
                break
        taken.set()
        await asyncio.to_thread(back.wait)
        await connection.close()

    thread = threading.Thread(target=lambda: asyncio.run(hold()))
    thread.start()
    assert taken.wait(10)

    def give_back() -> None:
        back.set()
        thread.join()

    return give_back


def test_a_decision_that_was_edited_before_it_was_chained_is_refused_and_kept(world):
    give_back = hold_lead(world)
    real = world.decide()
    world.intruder.do(
        "UPDATE activities SET decision = 'APPROVED', payload = '{}' WHERE activity_id = $1", real
    )
    give_back()
    world.told("what it is about is not what it commits to")
    assert world.refused() == ["wrong_content"]
    assert world.intruder.value("SELECT subject FROM refused_entries") == real


def test_what_is_in_the_ledger_is_not_chained_again(world):
    give_back = hold_lead(world)
    real = world.decide()
    names = "at_ms, subject, commitment, place, source, number, mac"
    twice = f"INSERT INTO pending ({names}) SELECT {names} FROM pending WHERE subject = $1"
    world.intruder.do(f"CREATE TABLE kept AS SELECT {names} FROM pending WHERE subject = '{real}'")
    world.intruder.do(twice, real)
    give_back()
    world.told("the ledger has it already")
    world.intruder.do(f"INSERT INTO pending ({names}) SELECT {names} FROM kept")
    wait_for(lambda: world.refused() == ["not_new", "not_new"], "second refusal")
    assert world.intruder.value("SELECT count(*) FROM ledger WHERE subject = $1", real) == 1


def test_an_older_state_of_a_row_is_not_made_its_newest_by_chaining_it_again(world):
    """The row, its salt and its sealed entry, all of them as they were once."""
    give_back = hold_lead(world)
    key = a_key(hashlib.sha256(b"k").digest(), None)
    run(world.store.commit(noted(AGENT, CLOCK.now_ms(), key=key)))
    names = "at_ms, subject, commitment, place, source, number, mac"
    world.intruder.do(f"CREATE TABLE kept AS SELECT {names} FROM pending WHERE subject LIKE 'state:keys:%'")
    world.intruder.do("CREATE TABLE kept_key AS SELECT * FROM keys")
    give_back()
    revoked = type(key)(
        **{**{f: getattr(key, f) for f in key.__struct_fields__}, "revoked_ms": CLOCK.now_ms()}
    )
    run(world.store.commit(noted(AGENT, CLOCK.now_ms(), key=revoked)))
    run(world.store.ledger_state())
    world.intruder.do("DELETE FROM keys")
    world.intruder.do("INSERT INTO keys SELECT * FROM kept_key")
    world.intruder.do(f"INSERT INTO pending ({names}) SELECT {names} FROM kept")
    world.told("the ledger has it already")
    world.store.close()
    world.store = world.open()
    assert run(world.store.api_key(key.key_hash)) is None


# --- what somebody takes away --------------------------------------------------------------------------


def test_a_record_that_was_deleted_before_it_was_chained_is_missed(tmp_path, monkeypatch):
    monkeypatch.setattr(sequencer, "LATE_SECONDS", -29.5)
    world = World(tmp_path)
    try:
        give_back = hold_lead(world)
        gone, kept = world.decide(), world.decide()
        world.intruder.do("DELETE FROM pending WHERE subject = $1", gone)
        give_back()
        world.told("never came; it lives, so somebody deleted")
        assert world.store.ledger_watch.missing == 1
        assert run(world.store.evidence.position(kept)) is not None
    finally:
        world.store.close()


def test_the_next_leader_goes_on_counting_and_an_edited_count_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr(sequencer, "LATE_SECONDS", -29.5)
    world = World(tmp_path)
    try:
        for _ in range(3):
            world.decide()
        run(world.store.ledger_state())
        hold_lead(world)()
        world.decide()
        run(world.store.ledger_state())
        assert world.findings == []
        give_back = hold_lead(world)
        world.intruder.do("UPDATE record_sources SET body = body || '\\x00'")
        give_back()
        world.told("was edited: what it has lost")
    finally:
        world.store.close()


def test_a_write_that_came_to_nothing_leaves_no_gap(tmp_path, monkeypatch):
    monkeypatch.setattr(sequencer, "LATE_SECONDS", -28.0)
    world = World(tmp_path)
    try:
        twice = noted(AGENT, CLOCK.now_ms())
        run(world.store.commit(twice))
        with pytest.raises(StoreUnavailable):
            run(world.store.commit(twice))
        world.decide()
        run(world.store.ledger_state())
        body = "SELECT count(*) FROM pending"
        wait_for(lambda: world.intruder.value(body) == 0 and not world.store._sealer._void, "voids")
        world.decide()
        run(world.store.ledger_state())
        numbers = world.store._sequencer._numbers
        wait_for(lambda: all(not one.gaps for one in numbers._processes.values()), "gaps to close")
        assert world.findings == []
    finally:
        world.store.close()


# --- keys ----------------------------------------------------------------------------------------------


def test_keys_are_read_from_a_file_or_a_variable_and_never_quoted(tmp_path):
    one, two = secrets.token_bytes(32), secrets.token_bytes(32)
    path = tmp_path / "record.key"
    path.write_text(f"{two.hex()}\n{one.hex()}\n")
    path.chmod(0o600)
    keys = load_record_keys(f"file:{path}", {})
    assert keys.ids == (key_id(two).hex(), key_id(one).hex())
    assert load_record_keys("env:K", {"K": two.hex()}).active_id == key_id(two)
    assert two.hex() not in repr(keys)
    path.chmod(0o644)
    mistakes = {
        f"file:{path}": "chmod 600",
        "file:/nowhere": "can't be read",
        "env:NONE": "has no NONE",
        "env:SHORT": "hexadecimal",
        "env:TWICE": "twice",
        one.hex(): "file:PATH or env:NAME",
    }
    environ = {"SHORT": one.hex()[:-2], "TWICE": f"{one.hex()},{one.hex()}"}
    for uri, says in mistakes.items():
        with pytest.raises(KeyUnusable, match=says) as refused:
            load_record_keys(uri, environ)
        assert one.hex()[:20] not in str(refused.value)


def test_a_new_key_takes_over_while_the_old_one_verifies_and_a_gateway_without_it_does_not_start(tmp_path):
    old, new = secrets.token_bytes(32), secrets.token_bytes(32)
    world = World(tmp_path, RecordKeys(old))
    both = world.open(RecordKeys(new, (old,)))
    try:
        run(both.commit(Record(an_activity(AGENT, CLOCK.now_ms()))))
        assert run(both.agent(AGENT.agent_id)) == AGENT
        world.store.close()
        run(both.ledger_state())
        assert world.refused() == []
        with pytest.raises(KeyUnusable, match=f"record key {key_id(new).hex()}"):
            open_postgres(world.url, DEFAULT_POLICY, CLOCK, RING, RecordKeys(old))
        with pytest.raises(KeyUnusable, match="all need the same QWED_RECORD_KEY"):
            open_postgres(world.url, DEFAULT_POLICY, CLOCK, RING)
    finally:
        both.close()


def test_a_leader_that_lacks_a_key_lets_one_lead_that_has_it(tmp_path):
    old, new = secrets.token_bytes(32), secrets.token_bytes(32)
    world = World(tmp_path, RecordKeys(old))
    both = world.open(RecordKeys(new, (old,)))
    try:
        activity = an_activity(AGENT, CLOCK.now_ms())
        run(both.commit(Record(activity)))
        where = "SELECT count(*) FROM ledger WHERE subject = $1"
        wait_for(lambda: world.intruder.value(where, activity.activity_id) == 1, "another leader")
        assert world.refused() == []
    finally:
        both.close()
        world.store.close()


def test_a_record_under_a_key_that_nobody_has_is_set_aside_after_a_while(tmp_path, monkeypatch):
    monkeypatch.setattr(pending_checks, "UNKNOWN_KEY_SECONDS", 0.2)
    world = World(tmp_path)
    try:
        seals = Seals(RecordKeys(secrets.token_bytes(32)), run(world.store.evidence.ledger()))
        commitment = commit_to(b"x", b"s" * 16)
        mac = seals.record("activities", "w1-0", 1, "act_forged", CLOCK.now_ms(), commitment)
        world.intruder.wait("act_forged", commitment, mac=mac)
        world.told("names a record key that no leader has")
        assert world.refused() == ["unknown_key"]
        real = world.decide()
        assert run(world.store.evidence.position(real)) is not None
    finally:
        world.store.close()


def test_the_key_that_follows_from_a_signing_key_still_verifies_after_that_was_rotated(tmp_path):
    path = tmp_path / "qwed.key"
    before = follow_ring(open_ring(path, "test"))
    ring = rotate(path, "test", 1)
    again = follow_ring(rotate(path, "test", 2), read_older_records(path))
    assert follow_ring(ring).active_id != before.active_id
    mac = before.seal(b"p", (1,))
    assert again.is_sealed(mac, b"p", (1,)) and not follow_ring(ring).knows(mac)
    assert (path.with_name("qwed.key.records").stat().st_mode & 0o777) == 0o600


# --- rows ----------------------------------------------------------------------------------------------


def test_a_row_with_a_ledger_entry_that_fits_and_no_seal_is_not_read(world):
    """Whoever writes a whole new end of the ledger by hand still has no key."""
    subject = f"state:agents:{AGENT.agent_id}"
    world.intruder.do("UPDATE agents SET mac = $1", secrets.token_bytes(40))
    world.store.close()
    world.store = world.open()
    assert run(world.store.agent(AGENT.agent_id)) is None
    assert "no gateway sealed it" in world.store.integrity.differences[0].says
    world.intruder.do("UPDATE agents SET mac = NULL")
    world.store.close()
    world.store = world.open()
    assert run(world.store.agent(AGENT.agent_id)) is None
    assert world.intruder.value("SELECT count(*) FROM ledger WHERE subject = $1", subject) == 1


def test_an_entry_about_a_row_that_waits_without_a_seal_counts_for_nothing(world, tmp_path):
    give_back = hold_lead(world)
    try:
        subject = f"state:agents:{AGENT.agent_id}"
        world.intruder.wait(subject, b"c" * 32, place="agents", mac=secrets.token_bytes(40))
        world.store._agents.changed(AGENT.agent_id)
        assert run(world.store.agent(AGENT.agent_id)) == AGENT
        waiting = snapshot(world.url, tmp_path / "copy.db", follow_ring(RING))
        assert not isinstance(verify_ledger(tmp_path / "copy.db", RING.known(), (), waiting), Tampering)
    finally:
        give_back()
