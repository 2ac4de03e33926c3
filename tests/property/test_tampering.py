"""Whatever somebody changes in the store's file, following the ledger finds it and names it.

The file is a real one, written by the store in groups, with activities, tokens and signatures. The
attacker may write anything anywhere in the ledger's tables but has no key.
"""

import random
import shutil
import sqlite3
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.records import RING, an_activity, an_agent

from qwed.domain.agents import PrincipalId
from qwed.ect import KeyRing, generate, issue, parse
from qwed.gateway.kernel.records import ReceivedEct, Record
from qwed.ledger.audit import Audited, AuditKind, Tampering, audit
from qwed.ledger.chain import BrokenChain
from qwed.ledger.checkpoints import read_checkpoint
from qwed.ledger.entries import LedgerEntry, entry_hash
from qwed.stores.sqlite import SqliteTables
from qwed.stores.sqlite.ledger import Followed, verify_ledger

ENTRIES = 150
AT_MS = 1_700_000_000_000
PEN = KeyRing("did:example:agent", generate())
KEYS = RING.known()


def write_store(path: Path) -> None:
    tables = SqliteTables(path, RING)
    agent = an_agent()
    number = 0
    while number < ENTRIES:
        # A checkpoint of each minute is kept; these groups are two minutes apart.
        at_ms = AT_MS + number * 120_000
        group = []
        for _ in range(random.Random(number).randint(1, 12)):
            activity = an_activity(agent, at_ms, error_code="QWED-AGENT-005", conversation_id="c")
            ects = ()
            if number % 7 == 0:
                token = issue(PEN, "act", "did:example:gateway", at_ms // 1000)
                ects = (ReceivedEct(parse(token).claims["jti"], token, at_ms, PrincipalId("acme")),)
            group.append(Record(activity, ects=ects))
            number += 1 + len(ects)
        tables.write(group)
    tables.close()


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    path = tmp_path_factory.mktemp("store") / "qwed.db"
    write_store(path)
    return path


def attacked(store: Path, attack) -> Followed | Tampering:
    """A copy of the store after the attack, followed."""
    copy = store.with_name("attacked.db")
    shutil.copy(store, copy)
    connection = sqlite3.connect(copy)
    attack(connection)
    connection.commit()
    connection.close()
    return verify_ledger(copy, KEYS)


def size_of(store: Path) -> int:
    connection = sqlite3.connect(store)
    try:
        return int(connection.execute("SELECT max(seq) FROM ledger").fetchone()[0])
    finally:
        connection.close()


def test_a_store_that_nobody_touched_holds(store):
    found = attacked(store, lambda connection: None)

    assert isinstance(found, Followed)
    assert found.audited.head.seq == found.audited.signed == size_of(store)
    assert found.payloads == size_of(store) and found.erased == 0


COLUMNS = {
    "ledger": ["seq", "at_ms", "subject", "commitment", "previous", "hash"],
    "activities": [
        *("activity_id", "agent_id", "principal_id", "at_ms", "action_type", "decision", "error_code"),
        *("conversation_id", "cost_nano", "tokens", "fingerprint", "par", "wid", "salt", "payload"),
    ],
    "ects": ["jti", "seq", "salt", "token"],
    "tiles": ["level", "idx", "hash"],
    "checkpoints": ["size", "token"],
}


def changed(value, how: random.Random):
    if isinstance(value, bytes):
        if not value:
            return b"\x01"
        at = how.randrange(len(value))
        return value[:at] + bytes([value[at] ^ (1 << how.randrange(8))]) + value[at + 1 :]
    if isinstance(value, str):
        return how.choice([value + "x", "APPROVED" if value != "APPROVED" else "DENIED"])
    if isinstance(value, int):
        return value + how.choice([-1, 1, 1_000])
    return "something"


@settings(deadline=None, max_examples=150)
@given(st.randoms(use_true_random=False), st.sampled_from([(t, c) for t in COLUMNS for c in COLUMNS[t]]))
def test_an_edit_of_any_field_of_any_row_is_found(store, how, place):
    table, column = place
    named = []

    def edit(connection):
        key = "rowid" if table in ("ledger", "activities", "checkpoints") else None
        identity = {"ects": "jti", "tiles": "level, idx"}.get(table, key)
        rows = connection.execute(f"SELECT {identity}, {column} FROM {table}").fetchall()
        *where, value = how.choice(rows)
        names = identity.split(", ")
        condition = " AND ".join(f"{name} = ?" for name in names)
        sql = f"UPDATE OR REPLACE {table} SET {column} = ? WHERE {condition}"
        connection.execute(sql, (changed(value, how), *where))
        if table in ("ledger", "activities"):
            named.append(where[0])

    found = attacked(store, edit)

    assert isinstance(found, Tampering), (table, column)
    # The entry itself, or (where its number was changed) its neighbour, is named.
    if named and column != "seq":
        assert abs(found.seq - named[0]) <= 1 or found.seq <= named[0] <= found.last


@settings(deadline=None, max_examples=25)
@given(st.randoms(use_true_random=False))
def test_a_removed_entry_is_found_and_named(store, how):
    victim = how.randrange(1, size_of(store))

    found = attacked(store, lambda c: c.execute("DELETE FROM ledger WHERE seq = ?", (victim,)))

    assert isinstance(found, Tampering)
    # Before a checkpoint it is missing at the end of what was signed.
    assert found.kind in (AuditKind.REMOVED, AuditKind.TRUNCATED)
    assert (found.seq, found.last) == (victim, victim)


@settings(deadline=None, max_examples=25)
@given(st.randoms(use_true_random=False))
def test_two_swapped_entries_are_found(store, how):
    one, other = how.sample(range(1, size_of(store)), 2)

    def swap(connection):
        connection.execute("UPDATE ledger SET seq = -1 WHERE seq = ?", (one,))
        connection.execute("UPDATE ledger SET seq = ? WHERE seq = ?", (one, other))
        connection.execute("UPDATE ledger SET seq = ? WHERE seq = -1", (other,))

    found = attacked(store, swap)

    assert isinstance(found, Tampering)
    assert min(one, other) - 1 <= found.seq <= max(one, other)


@settings(deadline=None, max_examples=25)
@given(st.randoms(use_true_random=False))
def test_an_entry_rewritten_with_all_that_follows_breaks_the_signature(store, how):
    """The attacker computes every hash anew, and can't sign."""
    victim = how.randrange(1, size_of(store) + 1)

    def rewrite(connection):
        rows = connection.execute("SELECT * FROM ledger WHERE seq >= ? ORDER BY seq", (victim,)).fetchall()
        previous = rows[0][4]
        for seq, at_ms, subject, commitment, _, _ in rows:
            forged = bytes(32) if seq == victim else commitment
            digest = entry_hash(seq, at_ms, subject, forged, previous)
            connection.execute(
                "UPDATE ledger SET commitment = ?, previous = ?, hash = ? WHERE seq = ?",
                (forged, previous, digest, seq),
            )
            previous = digest

    found = attacked(store, rewrite)

    assert isinstance(found, Tampering)
    assert found.seq <= victim <= max(found.last, victim)


@settings(deadline=None, max_examples=25)
@given(st.randoms(use_true_random=False))
def test_a_shortened_ledger_is_found(store, how):
    last = how.randrange(0, size_of(store))

    found = attacked(store, lambda c: c.execute("DELETE FROM ledger WHERE seq > ?", (last,)))

    assert isinstance(found, Tampering)


def rolled_back(connection, to):
    """As the file was at an earlier signature: nothing in it contradicts."""
    connection.execute("DELETE FROM ledger WHERE seq > ?", (to,))
    connection.execute("DELETE FROM activities WHERE seq > ?", (to,))
    connection.execute("DELETE FROM ects WHERE seq > ?", (to,))
    connection.execute("DELETE FROM checkpoints WHERE size > ?", (to,))
    for level in (4, 8):
        connection.execute("DELETE FROM tiles WHERE level = ? AND (idx + 1) << level > ?", (level, to))


@settings(deadline=None, max_examples=15)
@given(st.randoms(use_true_random=False))
def test_an_old_state_brought_back_is_found_by_whoever_kept_a_later_checkpoint(store, how):
    connection = sqlite3.connect(store)
    sizes = [size for (size,) in connection.execute("SELECT size FROM checkpoints ORDER BY size")]
    token = connection.execute("SELECT token FROM checkpoints WHERE size = ?", (sizes[-1],)).fetchone()[0]
    connection.close()
    to = how.choice(sizes[:-1])
    copy = store.with_name("old.db")
    shutil.copy(store, copy)
    connection = sqlite3.connect(copy)
    rolled_back(connection, to)
    connection.commit()
    connection.close()

    alone, with_knowledge = (
        verify_ledger(copy, KEYS),
        verify_ledger(copy, KEYS, [read_checkpoint(token, KEYS)]),
    )

    assert isinstance(alone, Followed)  # from inside the file alone nobody could tell
    assert isinstance(with_knowledge, Tampering)
    assert (with_knowledge.kind, with_knowledge.seq) == (AuditKind.TRUNCATED, to + 1)


@settings(deadline=None, max_examples=25)
@given(st.randoms(use_true_random=False))
def test_an_old_signature_in_the_place_of_a_new_one_is_found(store, how):
    def replay(connection):
        rows = connection.execute("SELECT size, token FROM checkpoints ORDER BY size").fetchall()
        (_, old), (size, _) = rows[how.randrange(len(rows) - 1)], rows[-1]
        connection.execute("UPDATE checkpoints SET token = ? WHERE size = ?", (old, size))

    assert isinstance(attacked(store, replay), Tampering)


@settings(deadline=None, max_examples=25)
@given(st.randoms(use_true_random=False))
def test_an_inserted_entry_is_found(store, how):
    at = how.randrange(1, size_of(store) + 2)

    def insert(connection):
        row = connection.execute("SELECT * FROM ledger WHERE seq = ?", (max(1, at - 1),)).fetchone()
        connection.execute("UPDATE ledger SET seq = -seq - 1 WHERE seq >= ?", (at,))
        connection.execute("UPDATE ledger SET seq = -seq WHERE seq < 0")
        forged = (
            at,
            row[1],
            "act_forged",
            bytes(32),
            row[5],
            entry_hash(at, row[1], "act_forged", bytes(32), row[5]),
        )
        connection.execute("INSERT INTO ledger VALUES (?, ?, ?, ?, ?, ?)", forged)

    assert isinstance(attacked(store, insert), Tampering)


def test_an_activity_that_no_entry_speaks_of_is_found(store):
    def smuggle(connection):
        row = (
            connection.execute("SELECT * FROM activities WHERE seq = 2").fetchone()
            or connection.execute("SELECT * FROM activities LIMIT 1").fetchone()
        )
        connection.execute(
            f"INSERT INTO activities VALUES ({','.join('?' * len(row))})", (10_000, "act_smuggled", *row[2:])
        )

    found = attacked(store, smuggle)

    assert isinstance(found, Tampering)
    assert "act_smuggled" in found.says


def test_a_record_taken_out_from_among_others_is_found_and_named(store):
    def take(connection):
        connection.execute("DELETE FROM activities WHERE seq = 40 OR seq = 41")

    found = attacked(store, take)

    assert isinstance(found, Tampering)
    assert found.seq in (40, 41)
    assert "no erasure says so" in found.says


def test_the_oldest_records_may_be_gone_as_retention_takes_them(store):
    found = attacked(store, lambda connection: connection.execute("DELETE FROM activities WHERE seq < 40"))

    assert isinstance(found, Followed)
    assert found.erased > 30


def test_a_key_of_somebody_else_signs_nothing_here(store):
    assert isinstance(verify_ledger(store, KeyRing(RING.issuer, generate()).known()), Tampering)


def test_a_store_whose_end_was_changed_is_not_opened(store, tmp_path):
    for number, attack in enumerate(
        (
            "UPDATE ledger SET at_ms = at_ms + 1 WHERE seq = (SELECT max(seq) FROM ledger)",
            "DELETE FROM ledger WHERE seq = (SELECT max(seq) FROM ledger)",
            "DELETE FROM checkpoints WHERE size = (SELECT max(size) FROM checkpoints)",
            "UPDATE tiles SET hash = x'00' WHERE level = 4 AND idx = 0",
        )
    ):
        copy = tmp_path / f"{number}.db"
        shutil.copy(store, copy)
        connection = sqlite3.connect(copy)
        connection.execute(attack)
        connection.commit()
        connection.close()

        with pytest.raises(BrokenChain):
            SqliteTables(copy, RING)


def test_the_streaming_audit_and_the_store_agree(store):
    connection = sqlite3.connect(store)
    entries = [LedgerEntry(*row) for row in connection.execute("SELECT * FROM ledger ORDER BY seq")]
    connection.close()

    found, whole = audit(entries), verify_ledger(store, KEYS)

    assert isinstance(found, Audited) and isinstance(whole, Followed)
    assert (found.head, found.root) == (whole.audited.head, whole.audited.root)
