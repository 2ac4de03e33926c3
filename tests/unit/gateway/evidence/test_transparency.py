"""The ledger over HTTP as others' tools read it."""

import hashlib
import sqlite3

import pytest
from tests.support.fakes import FakeClock
from tests.support.world import OPERATOR_KEY, SIGNER, World
from tests.unit.ledger.test_notes import rebuilt

from qwed.domain.policy import DEFAULT_POLICY
from qwed.ect.key_files import open_ring, rotate
from qwed.gateway.kernel.issuers import Issuers, read_issuers
from qwed.ledger.notes import NoteSigner, read_note, read_vkey, verify_note
from qwed.ledger.tlog import read_log_checkpoint, tile_index
from qwed.stores import open_sqlite

WITNESS = NoteSigner("witness.example/w", bytes(range(32)))


@pytest.fixture(params=["memory", "sqlite"])
def world(request, tmp_path):
    clock = FakeClock()
    store = None
    if request.param == "sqlite":
        store = open_sqlite(tmp_path / "qwed.db", DEFAULT_POLICY, clock, SIGNER)
    world = World(store=store, clock=clock, issuers=Issuers(note_witnesses=(WITNESS.cosigner,)))
    yield world
    world.close()


def grow(world, count):
    agent = world.register()
    for number in range(count):
        world.verify_response(agent, conversation=f"c{number}")


def shown(world):
    key = read_vkey(world.call("GET", "/ledger/log/key").text)
    answer = world.call("GET", "/ledger/log/checkpoint")
    return read_log_checkpoint(read_note(answer.text), key), answer


def test_a_monitor_follows_the_tree_with_tiles_alone(world):
    grow(world, 290)
    checkpoint, answer = shown(world)

    def fetch(place):
        path = f"{place.level}/{tile_index(place.index)}" + (
            "" if place.width == 256 else f".p/{place.width}"
        )
        answer = world.call("GET", f"/ledger/log/tile/{path}")
        assert answer.headers["content-type"] == "application/octet-stream"
        return answer.content

    assert checkpoint.size > 256
    assert rebuilt(checkpoint.size, fetch) == checkpoint.root
    assert answer.headers["content-type"].startswith("text/plain")
    bundle = world.call("GET", "/ledger/log/tile/entries/000").content
    entries = [bundle[at + 2 : at + 34] for at in range(0, len(bundle), 34)]
    tile = world.call("GET", "/ledger/log/tile/0/000").content
    assert b"".join(hashlib.sha256(b"\0" + entry).digest() for entry in entries) == tile
    assert len(world.call("GET", "/ledger/log/tile/1/000.p/1").content) == 32


@pytest.mark.parametrize(
    "path", ["0/000", "0/001", "1/000.p/1", "0/000.p/200", "0/0", "x", "0/x001/000", "63/000"]
)
def test_what_no_signature_covers_is_not_there(world, path):
    grow(world, 2)

    assert world.call("GET", f"/ledger/log/tile/{path}").status_code == 404


def test_the_log_is_read_with_a_key_unless_it_is_public(world):
    grow(world, 1)
    paths = ("/ledger/log/checkpoint", "/ledger/log/key", "/ledger/log/tile/0/000.p/1")

    assert {world.call("GET", path, key=None).status_code for path in paths} == {401}


def test_a_public_log_is_read_by_anybody_and_nothing_else_is():
    world = World(public_log=True)
    grow(world, 1)

    assert world.call("GET", "/ledger/log/checkpoint", key=None).status_code == 200
    assert world.call("GET", "/ledger/log/tile/0/000.p/1", key=None).status_code == 200
    assert world.call("GET", "/ledger/entries", key=None).status_code == 401
    world.close()


def test_a_witnesss_line_is_kept_and_shown(world):
    grow(world, 2)
    checkpoint, answer = shown(world)
    line = WITNESS.cosign(checkpoint.text, 77)
    body = {"checkpoint": answer.headers["QWED-Checkpoint"], "cosignature": line}

    kept = world.call("POST", "/ledger/checkpoint/cosignatures", json=body)

    assert kept.status_code == 201
    again = world.call("GET", "/ledger/checkpoint", params={"size": checkpoint.size}).json()
    assert again["cosignatures"] == [line]


@pytest.mark.parametrize(
    "signer", [NoteSigner("witness.example/w", bytes(32)), NoteSigner("x", bytes(range(32)))]
)
def test_a_strangers_line_is_refused(world, signer):
    grow(world, 2)
    checkpoint, answer = shown(world)
    body = {
        "checkpoint": answer.headers["QWED-Checkpoint"],
        "cosignature": signer.cosign(checkpoint.text, 1),
    }

    assert world.call("POST", "/ledger/checkpoint/cosignatures", json=body).status_code == 422


def test_the_log_signs_no_tree_that_the_ledger_did_not_sign(tmp_path):
    clock = FakeClock()
    path = tmp_path / "qwed.db"
    store = open_sqlite(path, DEFAULT_POLICY, clock, SIGNER)
    world = World(store=store, clock=clock)
    grow(world, 2)
    assert world.call("GET", "/ledger/log/checkpoint").status_code == 200
    with sqlite3.connect(path) as intruder:
        token = intruder.execute("SELECT token FROM checkpoints ORDER BY size DESC LIMIT 1").fetchone()[0]
        header, claims, signature = token.split(".")
        intruder.execute(
            "UPDATE checkpoints SET token = ? WHERE token = ?", (f"{header}.{claims[:-1]}.{signature}", token)
        )

    answer = world.call("GET", "/ledger/log/checkpoint", key=OPERATOR_KEY)

    assert answer.status_code == 503
    world.close()


def test_the_file_of_issuers_names_witnesses_by_their_vkeys():
    found = read_issuers(f'{{"note_witnesses": ["{WITNESS.cosigner.vkey}"]}}')

    assert found.note_witnesses == (WITNESS.cosigner,)
    with pytest.raises(ValueError, match="kind 4"):
        read_issuers(f'{{"note_witnesses": ["{WITNESS.key.vkey}"]}}')


def test_the_log_key_stays_when_the_signing_key_changes(tmp_path):
    path = tmp_path / "k"
    before = NoteSigner("log", open_ring(path, "did:x").log_seed()).key
    for at in (1, 2):
        rotate(path, "did:x", at)
    after = NoteSigner("log", open_ring(path, "did:x").log_seed())
    renewed = NoteSigner("log", rotate(path, "did:x", 3, new_log_key=True).log_seed()).key

    assert after.key == before
    assert renewed != before
    text = "a\n"
    verify_note(read_note(f"{text}\n{after.sign(text)}"), before)
