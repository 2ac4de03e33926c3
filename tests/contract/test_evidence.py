"""The ledger and the graph of tokens: one suite over every store."""

import threading

import pytest
from tests.contract.test_stores import DURABLE, at_once, verified
from tests.support.fakes import FakeClock
from tests.support.records import RING, an_activity, an_agent, noted
from tests.support.services import shared

from qwed.domain.agents import PrincipalId
from qwed.domain.codes import Refusal
from qwed.domain.nodes import jti_of
from qwed.domain.policy import DEFAULT_POLICY
from qwed.domain.workflows import Completion, Workflow
from qwed.ect import KeyRing, Level, generate, hash_bytes, issue, parse
from qwed.gateway.kernel.coroutines import run
from qwed.gateway.kernel.records import Cosignature, ReceivedEct, Record, Redaction
from qwed.ledger.checkpoints import read_checkpoint
from qwed.ledger.merkle import leaf_hash, verify_consistency, verify_inclusion
from qwed.stores.postgres import open_postgres

PEN = KeyRing("did:example:agent", generate())
ACME = PrincipalId("acme")


def a_token(at_ms, **claims):
    return issue(PEN, "act", "did:example:gateway", at_ms // 1000, **claims)


def received(token, at_ms):
    return ReceivedEct(parse(token).claims["jti"], token, at_ms, ACME)


def decided(shelf, agent, **changes):
    """The node of an activity that was written."""
    activity = an_activity(agent, shelf.now, **changes)
    assert shelf.commit(Record(activity)) is None
    return jti_of(activity.activity_id)


@pytest.fixture
def agent(shelf):
    return shelf.add(an_agent())


def everything(shelf):
    """The ledger's size once all that was written has its place, with its checkpoint."""
    run(shelf.store.ledger_state())
    signed = run(shelf.store.evidence.checkpoint())
    return signed.size, read_checkpoint(signed.token, RING.known())


def test_every_entry_has_a_proof_that_leads_to_the_signed_root(shelf, agent):
    for _ in range(20):
        decided(shelf, agent)
    size, checkpoint = everything(shelf)
    evidence = shelf.store.evidence

    assert size == run(evidence.size()) == 22
    for entry in run(evidence.entries(0, 100)):
        proof = run(evidence.inclusion(entry.seq, size))
        assert verify_inclusion(leaf_hash(entry.hash), entry.seq - 1, size, proof, checkpoint.root)


def test_the_ledger_only_grows(shelf, agent):
    decided(shelf, agent)
    first, before = everything(shelf)
    for _ in range(18):
        decided(shelf, agent)
    second, after = everything(shelf)

    proof = run(shelf.store.evidence.consistency(first, second))
    assert verify_consistency(first, second, before.root, after.root, proof)


def test_an_entry_is_found_by_what_it_is_about(shelf, agent):
    activity = an_activity(agent, shelf.now)
    shelf.commit(Record(activity))
    everything(shelf)

    seq = run(shelf.store.evidence.position(activity.activity_id))

    (entry,) = run(shelf.store.evidence.entries(seq - 1, 1))
    assert entry.subject == activity.activity_id
    assert run(shelf.store.evidence.position("act_none")) is None


def test_a_token_is_kept_byte_for_byte_with_its_own_entry(shelf, agent):
    token = a_token(shelf.now)
    ect = received(token, shelf.now)
    shelf.commit(Record(an_activity(agent, shelf.now), ects=(ect,)))
    everything(shelf)

    found = run(shelf.store.evidence.received(ect.jti))

    assert (found.token, found.principal_id, found.received_ms) == (token, ACME, shelf.now)
    (entry,) = run(shelf.store.evidence.entries(found.seq - 1, 1))
    assert (entry.subject, entry.hash) == (ect.jti, found.entry_hash)
    assert run(shelf.store.evidence.received("99999999-9999-4999-8999-999999999999")) is None


def test_a_token_that_comes_again_is_recorded_once(shelf, agent):
    ect = received(a_token(shelf.now), shelf.now)
    for _ in range(3):
        assert shelf.commit(Record(an_activity(agent, shelf.now), ects=(ect,))) is None

    subjects = [entry.subject for entry in _entries(shelf)]
    assert subjects.count(ect.jti) == 1


def _entries(shelf):
    everything(shelf)
    return run(shelf.store.evidence.entries(0, 1_000))


def test_of_two_tokens_under_one_id_one_is_taken(shelf, agent):
    first = a_token(shelf.now)
    jti = parse(first).claims["jti"]
    tokens = [first, *(a_token(shelf.now, jti=jti, par=[]) for _ in range(3))]

    answers = at_once(
        4,
        lambda number: shelf.commit(
            Record(an_activity(agent, shelf.now), ects=(received(tokens[number], shelf.now),))
        ),
    )

    assert sum(answer is None for answer in answers) == 1
    assert all(isinstance(answer, Refusal) for answer in answers if answer is not None)


def test_an_erased_token_leaves_its_entry_and_the_weakest_of_nodes(shelf, agent):
    ect = received(a_token(shelf.now), shelf.now)
    shelf.commit(Record(an_activity(agent, shelf.now), ects=(ect,)))
    redaction = Redaction(agent.agent_id, (), tokens=(ect.jti,))
    shelf.commit(Record(an_activity(agent, shelf.now), redaction=redaction))
    everything(shelf)

    assert run(shelf.store.evidence.received(ect.jti)).token is None
    assert ect.jti in [entry.subject for entry in _entries(shelf)]
    (known,) = run(shelf.store.evidence.ancestry([ect.jti], 10))
    assert (known.node.level, known.node.par, known.token_hash) == (Level.L1, (), "")
    assert [item.token for item in run(shelf.store.evidence.lineage(ect.jti, 10))] == [None]


def test_the_graph_is_walked_over_decisions_and_tokens_alike(shelf, agent):
    root = a_token(shelf.now)
    jti = parse(root).claims["jti"]
    activity = an_activity(agent, shelf.now, par=(jti,), wid="11111111-2222-4333-8444-555555555555")
    shelf.commit(Record(activity, ects=(received(root, shelf.now),)))
    last = decided(shelf, agent, par=(jti_of(activity.activity_id),))
    everything(shelf)

    found = {item.node.jti: item for item in run(shelf.store.evidence.ancestry([last], 100))}

    middle = jti_of(activity.activity_id)
    assert set(found) == {jti, middle, last}
    assert found[last].node.par == (middle,)
    assert found[middle].node.wid == "11111111-2222-4333-8444-555555555555"
    assert found[middle].token_hash is None
    assert found[jti].token_hash == hash_bytes(root.encode())
    assert {item.node.level for item in found.values()} == {Level.L3}


def test_a_walk_stops_at_its_bound(shelf, agent):
    last = None
    for _ in range(8):
        last = decided(shelf, agent, par=(last,) if last else ())
    everything(shelf)

    assert len(run(shelf.store.evidence.ancestry([last], 3))) in (3, 4)
    assert len(run(shelf.store.evidence.ancestry([last], 100))) == 8
    assert run(shelf.store.evidence.ancestry(["99999999-9999-4999-8999-999999999999"], 5)) == []


def test_what_a_witness_signed_is_kept(shelf, agent):
    decided(shelf, agent)
    size, _ = everything(shelf)
    signed = run(shelf.store.evidence.checkpoint(size))
    kept = Cosignature(size, shelf.now, signed.token, "a witness's word")
    for token in ("one", "other"):
        record = noted(agent, shelf.now, cosignature=Cosignature(size, shelf.now, signed.token, token))
        assert shelf.commit(record) is None
    for _ in range(3):
        decided(shelf, agent)
    everything(shelf)

    found = run(shelf.store.evidence.checkpoint(size))
    assert (found.token, found.cosignatures) == (kept.checkpoint, ("one", "other"))


def test_the_ledger_holds_after_it_was_opened_again(shelf, agent, tmp_path):
    for _ in range(3):
        decided(shelf, agent)
    name = run(shelf.store.evidence.ledger())
    if shelf.kind in DURABLE:
        shelf.reopen()
    decided(shelf, agent)
    size, _ = everything(shelf)

    assert run(shelf.store.evidence.ledger()) == name
    # An agent, registered and committed, and four decisions.
    assert size == 6
    if shelf.kind in DURABLE:
        assert verified(shelf, tmp_path).seq == size


def test_a_workflow_and_the_nodes_that_are_done_are_kept(shelf, agent):
    workflow = Workflow("11111111-2222-4333-8444-555555555555", ACME, "a.b.c", 1, 2)
    shelf.commit(noted(agent, shelf.now, workflow=workflow))
    done = Completion(workflow.workflow_id, "first", "99999999-9999-4999-8999-999999999999")
    for _ in range(2):
        shelf.commit(noted(agent, shelf.now, completions=(done,)))

    assert run(shelf.store.workflow(workflow.workflow_id)) == workflow
    assert run(shelf.store.workflow("other")) is None
    assert run(shelf.store.find_completed_nodes(workflow.workflow_id)) == {"first"}
    assert run(shelf.store.find_completed_nodes("other")) == frozenset()


def test_a_gateway_joins_while_others_add_to_the_ledger():
    url, clock, over = shared().new_database(), FakeClock(), threading.Event()
    store = open_postgres(url, DEFAULT_POLICY, clock, RING)
    agent = an_agent()
    run(store.commit(noted(agent, clock.now_ms(), agent=agent)))

    def write() -> None:
        while not over.is_set():
            run(store.commit(Record(an_activity(agent, clock.now_ms()))))

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for _ in range(12):
            open_postgres(url, DEFAULT_POLICY, clock, RING).close()
    finally:
        over.set()
        writer.join()
        store.close()

    assert not writer.is_alive()


def test_every_entry_is_known_by_its_owner(shelf, agent):
    other = shelf.add(an_agent(principal="other"))
    decided(shelf, agent)
    decided(shelf, other)
    shelf.commit(noted(agent, shelf.now, ects=(received(a_token(shelf.now), shelf.now),)))
    size, _ = everything(shelf)

    owners = run(shelf.store.evidence.owners(0, size))
    entries = run(shelf.store.evidence.entries(0, size))
    assert len(owners) == len(entries) == size
    # An entry about a row that decides is the gateway's own.
    assert owners == ["acme", None, "other", None, "acme", "other", "acme", "acme"]
    assert run(shelf.store.evidence.owners(4, 2)) == ["acme", "other"]
