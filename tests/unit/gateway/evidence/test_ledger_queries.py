"""The ledger over HTTP: checkpoints, entries, proofs, and a witness elsewhere."""

import pytest
from tests.support.fakes import FakeClock
from tests.support.world import OPERATOR_KEY, SIGNER, World

from qwed.domain.policy import DEFAULT_POLICY
from qwed.ect import KeyRing, base64url, generate
from qwed.ect.signatures import keys_of
from qwed.gateway.kernel.issuers import Issuers
from qwed.ledger.checkpoints import Cosigned, cosign, read_checkpoint, read_cosignature
from qwed.ledger.merkle import leaf_hash, verify_consistency, verify_inclusion
from qwed.stores import open_sqlite

WITNESS = KeyRing("did:qwed:witness:w", generate())
WITNESSED = Issuers(witnesses={WITNESS.kid: WITNESS.active.public})


@pytest.fixture(params=["memory", "sqlite"])
def world(request, tmp_path):
    clock = FakeClock()
    store = None
    if request.param == "sqlite":
        store = open_sqlite(tmp_path / "qwed.db", DEFAULT_POLICY, clock, SIGNER)
    world = World(store=store, clock=clock, issuers=WITNESSED)
    yield world
    world.close()


def grow(world, count):
    agent = world.register()
    for number in range(count):
        world.verify_response(agent, conversation=f"c{number}")
    return agent


def checkpoint_of(world):
    keys = keys_of(world.call("GET", "/.well-known/jwks.json").json())
    shown = world.call("GET", "/ledger/checkpoint").json()
    return read_checkpoint(shown["checkpoint"], keys), shown


def test_every_entry_is_proven_with_the_published_keys_alone(world):
    grow(world, 5)
    checkpoint, _ = checkpoint_of(world)

    for seq in range(1, checkpoint.size + 1):
        shown = world.call("GET", "/ledger/proof/inclusion", params={"seq": seq}).json()
        proof = [base64url.decode(item) for item in shown["proof"]]
        leaf = leaf_hash(base64url.decode(shown["entry"]["hash"]))
        assert verify_inclusion(leaf, seq - 1, checkpoint.size, proof, checkpoint.root)


def test_an_entry_is_found_by_what_it_is_about(world):
    agent = grow(world, 1)
    newest = world.call("GET", f"/agents/{agent['agent_id']}/activity").json()["activities"][0]

    shown = world.call("GET", "/ledger/proof/inclusion", params={"subject": newest["activity_id"]}).json()

    assert shown["entry"]["subject"] == newest["activity_id"]


def test_a_later_ledger_begins_with_an_earlier_one(world):
    grow(world, 3)
    before, _ = checkpoint_of(world)
    grow(world, 4)
    after, _ = checkpoint_of(world)

    shown = world.call("GET", "/ledger/proof/consistency", params={"first": before.size}).json()

    proof = [base64url.decode(item) for item in shown["proof"]]
    assert verify_consistency(before.size, after.size, before.root, after.root, proof)


def test_entries_are_paged_and_show_no_payload(world):
    grow(world, 4)

    page = world.call("GET", "/ledger/entries", params={"limit": 3}).json()
    rest = world.call("GET", "/ledger/entries", params={"after": page["next"], "limit": 1000}).json()

    assert [entry["seq"] for entry in page["entries"] + rest["entries"]] == list(
        range(1, len(page["entries"] + rest["entries"]) + 1)
    )
    assert {"payload", "salt"} & set(page["entries"][0]) == set()


@pytest.mark.parametrize(
    "path",
    [
        "/ledger/proof/inclusion?seq=99999",
        "/ledger/proof/inclusion?seq=0",
        "/ledger/proof/inclusion?subject=act_none",
        "/ledger/proof/inclusion?seq=1&size=99999",
        "/ledger/checkpoint?size=99999",
        "/ledger/proof/consistency?first=1&second=99999",
    ],
)
def test_what_is_not_in_the_ledger_is_not_found(world, path):
    grow(world, 1)

    assert world.call("GET", path).status_code == 404


@pytest.mark.parametrize(
    "path",
    [
        "/ledger/proof/inclusion",
        "/ledger/proof/inclusion?seq=1&subject=act_x",
        "/ledger/proof/inclusion?seq=-1",
        "/ledger/proof/consistency",
        "/ledger/proof/consistency?first=0",
        "/ledger/entries?limit=0",
    ],
)
def test_a_question_that_makes_no_sense_is_refused(world, path):
    grow(world, 1)

    assert world.call("GET", path).status_code == 422


def test_nobody_reads_the_ledger_without_a_credential(world):
    for path in ("/ledger/checkpoint", "/ledger/entries", "/ledger/proof/inclusion?seq=1"):
        assert world.call("GET", path, key=None).status_code == 401


def test_a_witness_signs_what_only_grew_and_its_word_is_kept(world):
    grow(world, 3)
    keys = keys_of(world.call("GET", "/.well-known/jwks.json").json())
    first, shown = checkpoint_of(world)
    signed = cosign(WITNESS, shown["checkpoint"], keys, None, [], 1)
    assert isinstance(signed, Cosigned)
    grow(world, 2)
    later, shown = checkpoint_of(world)
    proof = world.call("GET", "/ledger/proof/consistency", params={"first": first.size}).json()["proof"]

    again = cosign(
        WITNESS, shown["checkpoint"], keys, signed.checkpoint, [base64url.decode(item) for item in proof], 2
    )

    assert isinstance(again, Cosigned)
    assert read_cosignature(again.token, WITNESSED.witnesses, later) == 2
    kept = world.call(
        "POST",
        "/ledger/checkpoint/cosignatures",
        json={"checkpoint": shown["checkpoint"], "cosignature": again.token},
    )
    assert kept.status_code == 201
    grow(world, 1)
    shown = world.call("GET", "/ledger/checkpoint", params={"size": later.size}).json()
    assert shown["cosignatures"] == [again.token]


def test_a_cosignature_of_no_known_witness_is_refused(world):
    grow(world, 1)
    keys = keys_of(world.call("GET", "/.well-known/jwks.json").json())
    _, shown = checkpoint_of(world)
    signed = cosign(KeyRing("did:x:y", generate()), shown["checkpoint"], keys, None, [], 1)
    assert isinstance(signed, Cosigned)

    answer = world.call(
        "POST",
        "/ledger/checkpoint/cosignatures",
        json={"checkpoint": shown["checkpoint"], "cosignature": signed.token},
    )

    assert answer.status_code == 422


def seen_by(world, key):
    return world.call("GET", "/ledger/entries", params={"limit": 1000}, key=key).json()["entries"]


def test_a_principal_sees_its_own_entries_and_of_others_the_hashes_alone(world):
    mine, yours = world.principal_key("acme"), world.principal_key("other")
    agent = world.register(principal_id="acme")
    world.verify(agent)
    world.verify(world.register(principal_id="other"))
    everything = {entry["seq"]: entry for entry in seen_by(world, OPERATOR_KEY)}
    own = {entry["activity_id"] for entry in world.activity(agent, limit=1000)["activities"]}

    for key in (mine, agent["agent_token"]):
        shown = seen_by(world, key)
        assert [entry["seq"] for entry in shown] == sorted(everything)
        assert {entry["subject"] for entry in shown if "subject" in entry} >= own
        for entry in shown:
            assert entry["hash"] == everything[entry["seq"]]["hash"]
            if "subject" not in entry:
                assert entry.keys() == {"seq", "hash", "previous"}
    assert not own & {entry.get("subject") for entry in seen_by(world, yours)}


def test_a_proof_of_anothers_entry_looks_like_that_of_none(world):
    agent = world.register(principal_id="acme")
    activity_id = world.verify(agent)["activity_id"]
    seq = world.call("GET", "/ledger/proof/inclusion", params={"subject": activity_id}).json()["entry"]["seq"]
    mine, yours = world.principal_key("acme"), world.principal_key("other")

    def ask(key, **query):
        return world.call("GET", "/ledger/proof/inclusion", params=query, key=key)

    nothing = ask(yours, subject="act_none")
    assert ask(mine, subject=activity_id).json()["entry"]["seq"] == seq
    assert ask(mine, seq=seq).status_code == 200
    assert ask(agent["agent_token"], seq=seq).status_code == 200
    for answer in (
        ask(yours, subject=activity_id),
        ask(yours, seq=seq),
        ask(yours, seq=seq, size=1),
        ask(yours, seq=1),
    ):
        assert (answer.status_code, answer.json()) == (nothing.status_code, nothing.json())
