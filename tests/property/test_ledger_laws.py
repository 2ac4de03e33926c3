"""Laws of the ledger: whatever is done to it is found and named; the tree is the RFC's."""

import hashlib

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from qwed.ledger.audit import Audited, AuditKind, Tampering, audit
from qwed.ledger.checkpoints import Checkpoint
from qwed.ledger.entries import Head, LedgerEntry, append, commit_to, entry_hash
from qwed.ledger.merkle import (
    EMPTY_ROOT,
    NodeMemory,
    Tree,
    TreeEdge,
    leaf_hash,
    verify_consistency,
    verify_inclusion,
)

SIZE = 9


def build(size=SIZE):
    head, entries = Head(), []
    for number in range(size):
        entry = append(head, 1_000 + number, f"act_{number}", commit_to(b"%d" % number, bytes(16)))
        entries.append(entry)
        head = Head(entry.seq, entry.hash)
    return entries


def checkpoint(entries, size=None):
    edge = TreeEdge()
    for entry in entries[:size]:
        edge.append(entry.hash)
    head = entries[:size][-1].hash if edge.size else bytes(32)
    return Checkpoint("l", edge.size, edge.root(), head, 1)


def rehash(entry, **changes):
    entry = msgspec.structs.replace(entry, **changes)
    digest = entry_hash(entry.seq, entry.at_ms, entry.subject, entry.commitment, entry.previous)
    return msgspec.structs.replace(entry, hash=digest)


def rebuild(entries):
    """A chain with the same content, numbered and hashed anew: what only a checkpoint can tell."""
    head, result = Head(), []
    for entry in entries:
        made = append(head, entry.at_ms, entry.subject, entry.commitment)
        result.append(made)
        head = Head(made.seq, made.hash)
    return result


ENTRIES = build()
LAST = checkpoint(ENTRIES)
positions = st.integers(0, SIZE - 1)
VALUES = {
    "seq": st.integers(-5, 2**70),
    "at_ms": st.integers(-5, 2**70),
    "subject": st.text(max_size=9),
    "commitment": st.binary(max_size=40),
    "previous": st.binary(max_size=40),
    "hash": st.binary(max_size=40),
}
changes = st.sampled_from(sorted(VALUES)).flatmap(lambda name: st.tuples(st.just(name), VALUES[name]))


def found(entries, known=(LAST,)):
    answer = audit(iter(entries), known=known)
    assert isinstance(answer, Tampering), answer
    return answer.kind, answer.seq


def test_an_untouched_ledger_is_whole():
    answer = audit(iter(ENTRIES), known=[checkpoint(ENTRIES, 4), LAST])

    assert answer == Audited(Head(SIZE, ENTRIES[-1].hash), LAST.root, SIZE)


@settings(max_examples=400, deadline=None)
@given(positions, changes)
def test_every_edit_of_every_field_is_found_and_named(position, change):
    name, value = change
    edited = msgspec.structs.replace(ENTRIES[position], **{name: value})
    if edited == ENTRIES[position]:
        return
    entries = [*ENTRIES[:position], edited, *ENTRIES[position + 1 :]]

    assert found(entries) == (AuditKind.EDITED, position + 1)


@given(positions, st.sampled_from(["subject", "commitment", "hash"]))
def test_a_single_flipped_bit_is_found_and_named(position, name):
    value = getattr(ENTRIES[position], name)
    raw = bytearray(value.encode() if isinstance(value, str) else value)
    raw[-1] ^= 1
    changed = raw.decode() if isinstance(value, str) else bytes(raw)
    edited = msgspec.structs.replace(ENTRIES[position], **{name: changed})

    assert found([*ENTRIES[:position], edited, *ENTRIES[position + 1 :]]) == (AuditKind.EDITED, position + 1)


def test_bytes_that_pass_from_one_field_to_the_next_are_found():
    entry = ENTRIES[3]
    moved = msgspec.structs.replace(
        entry, commitment=entry.commitment + entry.subject[:1].encode(), subject=entry.subject[1:]
    )

    assert found([*ENTRIES[:3], moved, *ENTRIES[4:]]) == (AuditKind.EDITED, 4)


@given(st.integers(0, SIZE - 3), st.sampled_from(["at_ms", "subject", "commitment"]))
def test_an_edited_entry_with_its_hash_made_to_fit_is_named_not_the_next_one(position, name):
    value = {"at_ms": 5, "subject": "other", "commitment": bytes(32)}[name]
    entries = [*ENTRIES[:position], rehash(ENTRIES[position], **{name: value}), *ENTRIES[position + 1 :]]

    assert found(entries, known=[]) == (AuditKind.EDITED, position + 1)


@given(positions, st.integers(1, SIZE))
def test_removed_entries_are_named(position, count):
    entries = ENTRIES[:position] + ENTRIES[position + count :]
    kind, seq = found(entries)

    assert seq == position + 1
    assert kind is (AuditKind.REMOVED if position + count < SIZE else AuditKind.TRUNCATED)


@given(positions, positions)
def test_a_repeated_entry_is_named_where_it_was_inserted(source, target):
    entries = [*ENTRIES[:target], ENTRIES[source], *ENTRIES[target:]]

    if source == target or source == target - 1:
        assert found(entries) == (AuditKind.INSERTED, source + 2)
    else:
        assert found(entries) == (AuditKind.INSERTED, target + 1)


@given(positions, st.integers(0, 2 * SIZE), st.booleans())
def test_a_made_up_entry_is_named_where_it_was_inserted(target, seq, is_hashed):
    head = Head(target, ENTRIES[target - 1].hash if target else bytes(32))
    made = append(head, 7, "made up", bytes(32))
    made = rehash(made, seq=seq) if is_hashed else msgspec.structs.replace(made, seq=seq, hash=bytes(32))
    entries = [*ENTRIES[:target], made, *ENTRIES[target:]]
    kind, named = found(entries)

    if is_hashed and seq == target + 1 == SIZE:
        # The checkpoint stands right behind it.
        assert (kind, named) == (AuditKind.REWRITTEN, 1)
    elif is_hashed and seq == target + 1:
        # It follows perfectly; the entry it displaced is the one that no longer does.
        assert (kind, named) == (AuditKind.INSERTED, target + 2)
    else:
        assert (kind, named) == (AuditKind.INSERTED, target + 1)


@given(positions, positions)
def test_two_swapped_entries_are_named(one, other):
    if one == other:
        return
    first, second = sorted((one, other))
    entries = list(ENTRIES)
    entries[first], entries[second] = entries[second], entries[first]

    assert found(entries) == (AuditKind.REORDERED, first + 1)


@given(positions, st.integers(0, SIZE - 2))
def test_a_moved_entry_is_named(source, target):
    entries = list(ENTRIES)
    entries.insert(target, entries.pop(source))
    if entries == ENTRIES:
        return

    assert found(entries) == (AuditKind.REORDERED, min(source, target) + 1)


@given(st.integers(0, SIZE - 1))
def test_an_end_that_is_missing_is_found_by_a_checkpoint(size):
    assert found(ENTRIES[:size]) == (AuditKind.TRUNCATED, size + 1)
    assert isinstance(audit(ENTRIES[:size]), Audited)


@given(positions, st.sampled_from(["edit", "remove", "insert", "swap"]), st.integers(1, SIZE))
def test_an_end_rewritten_with_all_its_hashes_is_found_between_two_checkpoints(position, how, middle):
    entries = list(ENTRIES)
    if how == "edit":
        entries[position] = msgspec.structs.replace(entries[position], subject="other")
    elif how == "remove":
        entries.pop(position)
        entries.append(entries[-1])
    elif how == "insert":
        entries.insert(position, msgspec.structs.replace(entries[position], subject="other"))
    else:
        entries[position], entries[0] = entries[0], entries[position]
    rebuilt = rebuild(entries)
    if rebuilt == ENTRIES:
        return
    answer = audit(rebuilt, known=[checkpoint(ENTRIES, middle), LAST])

    first_different = next(
        seq for seq, pair in enumerate(zip(rebuilt, ENTRIES, strict=False), 1) if pair[0] != pair[1]
    )
    assert answer.kind is AuditKind.REWRITTEN
    assert answer.seq <= first_different <= answer.last


def reference_root(leaves):
    """RFC 9162, section 2.1.1, word for word."""
    if not leaves:
        return hashlib.sha256(b"").digest()
    if len(leaves) == 1:
        return hashlib.sha256(b"\0" + leaves[0]).digest()
    k = 1
    while k * 2 < len(leaves):
        k *= 2
    return hashlib.sha256(b"\1" + reference_root(leaves[:k]) + reference_root(leaves[k:])).digest()


def reference_inclusion(index, leaves):
    """Section 2.1.3.1."""
    if len(leaves) == 1:
        return []
    k = 1
    while k * 2 < len(leaves):
        k *= 2
    if index < k:
        return [*reference_inclusion(index, leaves[:k]), reference_root(leaves[k:])]
    return [*reference_inclusion(index - k, leaves[k:]), reference_root(leaves[:k])]


def reference_consistency(first, leaves, is_whole=True):
    """Section 2.1.4.1."""
    if first == len(leaves):
        return [] if is_whole else [reference_root(leaves)]
    k = 1
    while k * 2 < len(leaves):
        k *= 2
    if first <= k:
        return [*reference_consistency(first, leaves[:k], is_whole), reference_root(leaves[k:])]
    return [*reference_consistency(first - k, leaves[k:], False), reference_root(leaves[:k])]


LEAVES = [b"leaf %d" % number for number in range(40)]


def grown(size):
    tree = Tree(NodeMemory())
    for leaf in LEAVES[:size]:
        tree.append(leaf)
    return tree


TREE = grown(40)


def test_every_root_and_every_proof_is_the_one_of_the_rfc():
    for size in range(41):
        assert TREE.root(size) == reference_root(LEAVES[:size]) == grown(size).root()
        for index in range(size):
            proof = TREE.inclusion(index, size)
            assert proof == reference_inclusion(index, LEAVES[:size])
            assert verify_inclusion(leaf_hash(LEAVES[index]), index, size, proof, TREE.root(size))
        for first in range(1, size + 1):
            proof = TREE.consistency(first, size)
            assert proof == reference_consistency(first, LEAVES[:size])
            assert verify_consistency(first, size, TREE.root(first), TREE.root(size), proof)
    assert TREE.root(0) == EMPTY_ROOT


@settings(deadline=None)
@given(st.data())
def test_no_changed_inclusion_proof_holds(data):
    size = data.draw(st.integers(1, 40))
    index = data.draw(st.integers(0, size - 1))
    leaf, proof, root = leaf_hash(LEAVES[index]), TREE.inclusion(index, size), TREE.root(size)
    how = data.draw(st.sampled_from(["drop", "add", "flip", "leaf", "root", "index"]))
    if how == "drop" and proof:
        proof.pop(data.draw(st.integers(0, len(proof) - 1)))
    elif how == "flip" and proof:
        proof[data.draw(st.integers(0, len(proof) - 1))] = data.draw(st.binary(min_size=32, max_size=32))
    elif how == "leaf":
        leaf = data.draw(st.binary(max_size=33))
    elif how == "root":
        root = data.draw(st.binary(max_size=33))
    elif how == "index" and size > 1:
        index = data.draw(st.integers(-2, size + 2).filter(lambda other: other != index))
    else:
        proof.insert(data.draw(st.integers(0, len(proof))), data.draw(st.binary(max_size=33)))

    assert not verify_inclusion(leaf, index, size, proof, root)


@settings(deadline=None)
@given(st.data())
def test_no_changed_consistency_proof_holds(data):
    second = data.draw(st.integers(2, 40))
    first = data.draw(st.integers(1, second - 1))
    proof, roots = TREE.consistency(first, second), [TREE.root(first), TREE.root(second)]
    how = data.draw(st.sampled_from(["drop", "add", "flip", "root", "swap"]))
    if how == "drop":
        proof.pop(data.draw(st.integers(0, len(proof) - 1)))
    elif how == "add":
        proof.insert(data.draw(st.integers(0, len(proof))), data.draw(st.binary(max_size=33)))
    elif how == "flip":
        proof[data.draw(st.integers(0, len(proof) - 1))] = data.draw(st.binary(min_size=32, max_size=32))
    elif how == "root":
        roots[data.draw(st.integers(0, 1))] = data.draw(st.binary(max_size=33))
    else:
        roots.reverse()

    assert not verify_consistency(first, second, *roots, proof)


@given(st.integers(0, 40))
def test_a_tree_reopened_from_its_nodes_goes_on_as_if_it_had_never_stopped(size):
    nodes = NodeMemory()
    first = Tree(nodes)
    for leaf in LEAVES[:size]:
        first.append(leaf)
    second = Tree(nodes, size)
    for leaf in LEAVES[size:]:
        second.append(leaf)

    assert second.root() == TREE.root()
    assert TreeEdge(size, first._edge.hashes).root() == reference_root(LEAVES[:size])


def test_entries_are_values():
    assert isinstance(ENTRIES[0], LedgerEntry)
    assert build() == ENTRIES
