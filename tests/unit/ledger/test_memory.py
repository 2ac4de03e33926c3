"""Checkpoints, witnesses, receipts, proofs and exports of a ledger."""

import json
import uuid

import pytest

from qwed.ect import (
    InvalidToken,
    KeyRing,
    Level,
    TokenMemory,
    TrustedKeys,
    Verifier,
    generate,
    hash_bytes,
    issue,
)
from qwed.ect.jwk import InvalidKey
from qwed.ect.signatures import keys_of
from qwed.ledger import export
from qwed.ledger.audit import AuditKind, Tampering
from qwed.ledger.chain import BrokenChain, Head, verify
from qwed.ledger.checkpoints import (
    Cosigned,
    WitnessRefusal,
    cosign,
    read_checkpoint,
    read_cosignature,
    sign_checkpoint,
)
from qwed.ledger.export import Exported, NotAnExport
from qwed.ledger.memory import Duplicate, MemoryLedger
from qwed.ledger.merkle import NodeMemory, NoSuchProof, Tree, leaf_hash, verify_consistency, verify_inclusion
from qwed.ledger.receipts import read_receipt

NOW = 1_800_000_000
RING = KeyRing("did:qwed:node:ledger", generate())
WITNESS = KeyRing("did:qwed:witness:w", generate("Ed25519"))
KEYS, WITNESS_KEYS = keys_of(RING.jwks()), keys_of(WITNESS.jwks())


def filled(count=5, name="ledger:test"):
    ledger = MemoryLedger(name, RING)
    for number in range(count):
        ledger.append(f"act_{number}", b'{"n":%d}' % number, NOW * 1000 + number)
    return ledger


def exported(ledger=None):
    ledger = ledger or filled()
    ledger.checkpoint(NOW)
    return list(ledger.export())


def test_a_checkpoint_says_what_the_ledger_is_and_only_its_key_can_say_it():
    ledger = filled()
    checkpoint = read_checkpoint(ledger.checkpoint(NOW), KEYS)

    assert (checkpoint.ledger, checkpoint.size, checkpoint.iat) == ("ledger:test", 5, NOW)
    assert checkpoint.head == ledger.entry(5).hash
    with pytest.raises(InvalidToken):
        read_checkpoint(ledger.checkpoint(NOW), WITNESS_KEYS)
    with pytest.raises(InvalidToken):
        read_checkpoint(ledger.receipt("act_1", NOW), KEYS)


@pytest.mark.parametrize(
    "changes",
    [{"size": -1}, {"size": "5"}, {"root": "x"}, {"head": ""}, {"iat": None}, {"ledger": 7}, {"size": 0}],
)
def test_a_signed_checkpoint_that_says_nonsense_is_refused(changes):
    claims = {"iss": RING.issuer, "ledger": "l", "size": 1, "root": hash_bytes(b""), "head": hash_bytes(b"")}
    token = RING.sign("qwed-checkpoint+jwt", claims | {"iat": NOW} | changes)

    with pytest.raises(InvalidToken):
        read_checkpoint(token, KEYS)


def test_every_entry_is_proven_to_be_in_the_tree_of_a_checkpoint():
    ledger = filled(7)
    checkpoint = read_checkpoint(ledger.checkpoint(NOW), KEYS)

    for seq in range(1, 8):
        leaf = leaf_hash(ledger.entry(seq).hash)
        assert verify_inclusion(leaf, seq - 1, 7, ledger.inclusion(seq), checkpoint.root)
        assert not verify_inclusion(leaf, seq % 7, 7, ledger.inclusion(seq), checkpoint.root)
    for seq in (0, 8):
        with pytest.raises(NoSuchProof):
            ledger.inclusion(seq)
        with pytest.raises(IndexError):
            ledger.entry(seq)


def test_a_grown_ledger_begins_with_what_it_was():
    ledger = filled(3)
    before = read_checkpoint(ledger.checkpoint(NOW), KEYS)
    ledger.append("more", b"x", 1)
    after = read_checkpoint(ledger.checkpoint(NOW), KEYS)

    assert verify_consistency(3, 4, before.root, after.root, ledger.consistency(3))
    for first, second in ((0, 4), (4, 3), (1, 9)):
        with pytest.raises(NoSuchProof):
            ledger.consistency(first, second)


def test_a_witness_signs_what_grew_and_refuses_what_was_replaced():
    ledger = filled(3)
    first = cosign(WITNESS, ledger.checkpoint(NOW), KEYS, None, [], NOW)
    assert isinstance(first, Cosigned)
    ledger.append("more", b"x", 1)
    token = ledger.checkpoint(NOW)
    second = cosign(WITNESS, token, KEYS, first.checkpoint, ledger.consistency(3), NOW + 5)
    checkpoint = read_checkpoint(token, KEYS)

    assert read_cosignature(second.token, WITNESS_KEYS, checkpoint) == NOW + 5
    with pytest.raises(InvalidToken, match="another tree"):
        read_cosignature(first.token, WITNESS_KEYS, checkpoint)
    with pytest.raises(InvalidToken):
        read_cosignature(second.token, KEYS, checkpoint)

    replaced = filled(6)
    answers = {
        "no proof": cosign(WITNESS, token, KEYS, first.checkpoint, [], NOW),
        "replaced": cosign(
            WITNESS, replaced.checkpoint(NOW), KEYS, second.checkpoint, replaced.consistency(4), NOW
        ),
        "rolled back": cosign(WITNESS, filled(2).checkpoint(NOW), KEYS, second.checkpoint, [], NOW),
        "same size": cosign(WITNESS, filled(4).checkpoint(NOW), KEYS, second.checkpoint, [], NOW),
        "other": cosign(WITNESS, filled(9, "other").checkpoint(NOW), KEYS, second.checkpoint, [], NOW),
        "unsigned": cosign(WITNESS, "nonsense", KEYS, None, [], NOW),
        "again": cosign(WITNESS, token, KEYS, second.checkpoint, [], NOW),
    }
    assert isinstance(answers.pop("again"), Cosigned)
    assert answers == {
        "no proof": WitnessRefusal.INCONSISTENT,
        "replaced": WitnessRefusal.INCONSISTENT,
        "rolled back": WitnessRefusal.ROLLED_BACK,
        "same size": WitnessRefusal.INCONSISTENT,
        "other": WitnessRefusal.OTHER_LEDGER,
        "unsigned": WitnessRefusal.INVALID,
    }


def test_a_witness_that_saw_the_empty_ledger_accepts_any_growth():
    ledger = filled(0)
    empty = cosign(WITNESS, ledger.checkpoint(NOW), KEYS, None, [], NOW)
    ledger.append("a", b"x", 1)

    assert isinstance(cosign(WITNESS, ledger.checkpoint(NOW), KEYS, empty.checkpoint, [], NOW), Cosigned)


def test_a_receipt_names_the_token_and_its_place():
    ledger = MemoryLedger("l", RING)
    jti = str(uuid.uuid4())
    token = issue(RING, "read", "urn:x", NOW, jti=jti)
    entry = ledger.append(jti, token.encode(), NOW)
    receipt = read_receipt(ledger.receipt(jti, NOW), KEYS)

    assert (receipt.seq, receipt.jti, receipt.entry_hash, receipt.iat) == (1, jti, entry.hash, NOW)
    with pytest.raises(KeyError):
        ledger.receipt("unknown", NOW)
    ledger.erase(jti)
    with pytest.raises(KeyError):
        ledger.receipt(jti, NOW)


def test_the_ledger_confirms_exactly_the_bytes_it_took():
    ledger = MemoryLedger("l", RING)
    memory = TokenMemory()
    verifier = Verifier(["urn:x"], TrustedKeys.of_ring(RING), memory, memory, ledger, minimum=Level.L3)
    jti = str(uuid.uuid4())
    token, other = (issue(RING, "read", "urn:x", NOW, jti=jti, ext={"n": n}) for n in (1, 2))
    ledger.append(jti, token.encode(), NOW)

    assert verifier.verify(token, NOW).level is Level.L3
    assert ledger.holds(jti, hash_bytes(other.encode())) is False
    assert ledger.holds("unknown", hash_bytes(token.encode())) is False
    with pytest.raises(Duplicate):
        ledger.append(jti, other.encode(), NOW)


def test_an_export_verifies_with_the_public_key_alone():
    ledger = filled()
    ledger.checkpoint(NOW)
    ledger.append("later", b"x", 1)
    answer = export.verify(exported(ledger), KEYS)

    assert isinstance(answer, Exported)
    assert (answer.ledger, answer.checkpoint.size, answer.payloads, answer.is_witnessed) == (
        "ledger:test",
        6,
        6,
        False,
    )
    assert export.verify(exported(filled(0)), KEYS).audited.head == Head()


def test_no_letter_of_an_export_can_be_changed_not_even_to_a_second_spelling():
    whole = b"".join(exported(filled(2)))
    letters = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    following = {letter: letters[(at + 1) % 64] for at, letter in enumerate(letters)}
    for place, letter in enumerate(whole):
        changed = bytearray(whole)
        changed[place] = following.get(letter, letter ^ 1)
        if place < len(whole) - 1:
            assert not isinstance(export.verify(bytes(changed).splitlines(keepends=True), KEYS), Exported)


def test_a_member_that_is_written_twice_is_found():
    first, line, *rest = exported()
    twice = line.replace(b'{"seq":1,', b'{"seq":9,"seq":1,')

    assert export.verify([first, twice, *rest], KEYS) == NotAnExport(2, "the line is not as it was written")


def test_entries_after_the_last_checkpoint_are_not_exported():
    ledger = filled()
    ledger.checkpoint(NOW)
    ledger.append("later", b"x", 1)

    assert export.verify(ledger.export(), KEYS).checkpoint.size == 5


def test_erased_payloads_leave_the_export_whole_and_are_in_it_no_more():
    ledger = filled()
    ledger.erase("act_2")
    lines = exported(ledger)

    assert export.verify(lines, KEYS).payloads == 4
    assert "payload" not in json.loads(lines[3])
    assert "salt" not in json.loads(lines[3])


def test_a_witness_is_asked_for_where_its_key_is_given():
    ledger = filled()
    cosigned = cosign(WITNESS, ledger.checkpoint(NOW), KEYS, None, [], NOW)
    without = list(ledger.export())
    ledger.cosigned(5, cosigned.token)

    assert export.verify(ledger.export(), KEYS, WITNESS_KEYS).is_witnessed
    assert isinstance(export.verify(without, KEYS, WITNESS_KEYS), NotAnExport)
    assert isinstance(export.verify(ledger.export(), KEYS, KEYS), NotAnExport)


def test_an_export_cut_back_to_an_old_checkpoint_is_found_by_who_remembers_a_later_one():
    ledger = filled()
    ledger.checkpoint(NOW)
    old = list(ledger.export())
    ledger.append("later", b"x", 1)
    later = read_checkpoint(ledger.checkpoint(NOW), KEYS)

    assert isinstance(export.verify(old, KEYS), Exported)
    answer = export.verify(old, KEYS, known=[later])
    assert (answer.kind, answer.seq) == (AuditKind.TRUNCATED, 6)


def edit(line, **changes):
    return json.dumps(json.loads(line) | changes).encode() + b"\n"


@pytest.mark.parametrize(
    "field", ["at_ms", "subject", "commitment", "previous", "hash", "payload", "salt", "seq"]
)
@pytest.mark.parametrize("seq", [1, 3, 5])
def test_every_edit_of_an_exported_line_is_named(field, seq):
    lines = exported()
    value = {"at_ms": 1, "seq": 77, "subject": "other"}.get(field, "AAAA")
    lines[seq] = edit(lines[seq], **{field: value})
    answer = export.verify(lines, KEYS)

    assert isinstance(answer, Tampering)
    assert (answer.kind, answer.seq) == (AuditKind.EDITED, seq)


@pytest.mark.parametrize(
    ("change", "kind", "seq"),
    [
        (lambda lines: lines.pop(2), AuditKind.REMOVED, 2),
        (lambda lines: lines.insert(2, lines[4]), AuditKind.INSERTED, 2),
        (lambda lines: lines.insert(2, lines.pop(3)), AuditKind.REORDERED, 2),
        (lambda lines: lines.pop(5), AuditKind.TRUNCATED, 5),
        (lambda lines: lines.insert(3, lines.pop()), AuditKind.TRUNCATED, 3),
    ],
)
def test_removing_inserting_and_reordering_lines_is_named(change, kind, seq):
    lines = exported()
    change(lines)
    answer = export.verify(lines, KEYS)

    assert isinstance(answer, Tampering)
    assert (answer.kind, answer.seq) == (kind, seq)


def test_a_checkpoint_moved_behind_more_entries_than_it_signed_is_named():
    ledger = filled()
    ledger.checkpoint(NOW)
    old = list(ledger.export())
    ledger.append("later", b"x", 1)
    lines = exported(ledger)
    lines = [*lines[:6], lines[7], old[-1]]
    answer = export.verify(lines, KEYS)

    assert (answer.kind, answer.seq) == (AuditKind.INSERTED, 6)


def test_a_rewritten_export_with_an_old_checkpoint_is_named_by_its_stretch():
    forged = filled(5)
    genuine = exported()
    lines = [*exported(forged)[:-1], genuine[-1]]
    answer = export.verify(lines, KEYS)

    assert (answer.kind, answer.seq, answer.last) == (AuditKind.REWRITTEN, 1, 5)


@pytest.mark.parametrize(
    "change",
    [
        lambda lines: lines.clear(),
        lambda lines: lines.pop(0),
        lambda lines: lines.pop(),
        lambda lines: lines.__setitem__(0, edit(lines[0], format="other/1")),
        lambda lines: lines.__setitem__(0, edit(lines[0], ledger="other")),
        lambda lines: lines.__setitem__(-1, b'{"checkpoint":"a.b.c"}\n'),
        lambda lines: lines.__setitem__(-1, b'{"checkpoint":7}\n'),
        lambda lines: lines.append(b"\n"),
        lambda lines: lines.append(b"[" * 100_000),
        lambda lines: lines.append(b"\xff\xfe"),
        lambda lines: lines.append(b"{}" + b" " * 5_000_000),
        lambda lines: lines.__setitem__(2, edit(lines[2], extra=1)),
        lambda lines: lines.__setitem__(2, edit(lines[2], seq="2")),
    ],
)
def test_what_is_not_an_export_is_said_to_be_none(change):
    lines = exported()
    change(lines)

    assert isinstance(export.verify(lines, KEYS), NotAnExport)


def test_an_export_signed_by_a_stranger_is_refused():
    stranger = KeyRing(RING.issuer, generate())

    assert isinstance(export.verify(exported(), keys_of(stranger.jwks())), NotAnExport)


def test_the_first_problem_is_named_even_when_a_later_line_is_nonsense():
    lines = exported()
    lines.pop(2)
    lines[3] = b"nonsense\n"
    answer = export.verify(lines, KEYS)

    assert (answer.kind, answer.seq) == (AuditKind.REMOVED, 2)


@pytest.mark.parametrize("keys", [{}, {"keys": []}, {"keys": [{"kty": "oct", "k": "AA"}]}])
def test_a_key_set_without_usable_keys_is_refused(keys):
    with pytest.raises(InvalidKey):
        keys_of(keys)


def test_the_chain_raises_for_who_builds_upon_it_and_names_the_entry():
    ledger = filled()
    entries = [ledger.entry(seq) for seq in (1, 2)]
    other = filled().entry(3)

    assert verify(entries).seq == 2
    with pytest.raises(BrokenChain, match="entry 3"):
        verify([*entries, other])
    with pytest.raises(BrokenChain, match="entry 1 is missing"):
        verify(entries[1:])


def test_nodes_are_kept_in_order():
    nodes = NodeMemory()
    with pytest.raises(ValueError, match="out of order"):
        nodes.put(0, 1, bytes(32))
    tree = Tree(nodes)
    tree.append(b"a")
    with pytest.raises(NoSuchProof):
        tree.root(2)


def test_a_checkpoint_can_be_signed_again_by_a_rotated_key():
    ledger = filled()
    rotated = RING.rotated(generate("Ed25519"), NOW)
    checkpoint = read_checkpoint(ledger.checkpoint(NOW), keys_of(rotated.jwks()))

    assert read_checkpoint(sign_checkpoint(rotated, checkpoint), keys_of(rotated.jwks())) == checkpoint
