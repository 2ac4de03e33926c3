"""Signed notes, checkpoints and cosignatures, held against what others published."""

import base64
import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qwed.ledger.merkle import NodeMemory, Tree, node_hash, root_of
from qwed.ledger.notes import (
    COSIGNS,
    SIGNS,
    InvalidNote,
    NoteSigner,
    read_note,
    read_vkey,
    verify_note,
    verify_witness_line,
)
from qwed.ledger.tlog import (
    LogCheckpoint,
    TilePlace,
    bundle_entries,
    parse_log_checkpoint,
    read_log_checkpoint,
    read_tile_place,
    sign_log_checkpoint,
    tile_index,
)
from qwed.ledger.witness import AddCheckpoint, witness_checkpoint

#: golang.org/x/mod/sumdb/note, its example.
PETER = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"
PETER_SEED = base64.b64decode("AYEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDFz")[1:]
PETER_TEXT = (
    "If you think cryptography is the answer to your problem,\nthen you don't know what your problem is.\n"
)
PETER_LINE = (
    "\N{EM DASH} PeterNeumann"
    " x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n"
)
#: A real log of certificates, signed by itself and by a real witness of another operator.
LOG = "arche2025h1.staging.ct.transparency.dev+ba2f06c0+AU0vHmlGCS/PdN8b2OaGmKprLI8HKM+dJ472xgFYh15f"
REMORA = "remora.n621.de+da77ade7+BOvN63jn/bLvkieywe8R6UYAtVtNbZpXh34x7onlmtw2"
REAL_TEXT = (
    "arche2025h1.staging.ct.transparency.dev\n1432088532\nU7WM79jrzyhGZ5/GUBTpM7NzwdyfFx61t3RovgcC4Ro=\n"
)
REMORA_LINE = (
    "\N{EM DASH} remora.n621.de 2net5wAAAABqEiEgPlfF3V06o0Y+fHM+J5J9s27wgxxcOVSpZ/2g/KSiXCg9DEZI+aVCIobWX9"
    "sXTynk5XeU/zZ0WBxtqB0DrAWfBw==\n"
)
REAL = (
    f"{REAL_TEXT}\n"
    "\N{EM DASH} arche2025h1.staging.ct.transparency.dev zTM8sQAAAZ5W0WdjBAMARjBEAiBjW5IQf9pvsYLfQFX6hoGREP"
    "MHbdQ3urbllzalApkptQIgIpwtEroeW2BXaHAI4kJXFbon5Ch9MNL5zRNZ55lvGt0=\n"
    "\N{EM DASH} arche2025h1.staging.ct.transparency.dev ui8GwCF1+kWqZrxGdhj4aX3gcw7XUlXQQabg/27lefwhUkzbC"
    "3NygNI75MdhL1bfTW9g8Ei59RA23oHP7Ry1k3ZFWwQ=\n"
    f"{REMORA_LINE}"
)
SIGNER = NoteSigner("log.example/one", bytes(range(32)))
WITNESS = NoteSigner("witness.example/w", bytes(range(1, 33)))
LOGS = {"log.example/one": (SIGNER.key,)}


def test_a_note_is_signed_as_the_published_example_is():
    signer = NoteSigner("PeterNeumann", PETER_SEED)

    assert signer.key.vkey == PETER
    assert signer.sign(PETER_TEXT) == PETER_LINE
    assert verify_note(read_note(f"{PETER_TEXT}\n{PETER_LINE}"), read_vkey(PETER)) == 0


def test_a_real_logs_checkpoint_and_a_real_witness_verify():
    note = read_note(REAL)

    found = read_log_checkpoint(note, read_vkey(LOG))

    assert (found.size, found.text) == (1_432_088_532, REAL_TEXT)
    assert verify_note(note, read_vkey(REMORA)) == 0x6A122120
    assert verify_witness_line(REMORA_LINE, REAL_TEXT, [read_vkey(REMORA)]) == 0x6A122120


@pytest.mark.parametrize("vkey", [LOG, REMORA])
def test_another_size_is_under_no_signature(vkey):
    with pytest.raises(InvalidNote, match="does not fit"):
        verify_note(read_note(REAL.replace("1432088532", "1432088533")), read_vkey(vkey))


@pytest.mark.parametrize(
    "vkey",
    [
        "bananas.sigstore.dev+12344556",
        "rekor.sigstore.dev+12345678+THIS_IS_NOT_BASE64!",
        "rekor.sigstore.dev+12345678+AwEB",
        PETER.replace("c74f20a3", "00000000"),
        PETER.replace("PeterNeumann", "Peter Neumann"),
        "",
    ],
)
def test_what_is_no_key_is_refused(vkey):
    with pytest.raises(InvalidNote):
        read_vkey(vkey)


def test_a_witness_and_a_log_are_told_apart_though_the_key_is_the_same():
    text = LogCheckpoint("log.example/one", 1, bytes(32)).text
    cosigned = read_note(f"{text}\n{SIGNER.cosign(text, 7)}")

    assert verify_note(cosigned, SIGNER.cosigner) == 7
    with pytest.raises(InvalidNote, match="did not sign"):
        verify_note(cosigned, SIGNER.key)
    assert (SIGNER.key.kind, SIGNER.cosigner.kind) == (SIGNS, COSIGNS)


@pytest.mark.parametrize(
    "text",
    [
        "a\n01\n" + base64.b64encode(bytes(32)).decode() + "\n",
        "a\n1\n" + base64.b64encode(bytes(31)).decode() + "\n",
        "a\n1\n" + base64.b64encode(bytes(32)).decode(),
        "a\n1\n" + base64.b64encode(bytes(32)).decode() + "\nmore\n",
        "\n1\n" + base64.b64encode(bytes(32)).decode() + "\n",
        "a\n-1\n" + base64.b64encode(bytes(32)).decode() + "\n",
    ],
)
def test_a_checkpoint_has_one_spelling(text):
    with pytest.raises(InvalidNote):
        parse_log_checkpoint(text)


# --- tiles -------------------------------------------------------------------------------------------


def test_an_index_is_written_as_the_format_says():
    assert tile_index(1_234_067) == "x001/x234/067"
    assert read_tile_place("0/x001/x234/067") == TilePlace(0, 1_234_067, 256)
    assert read_tile_place("entries/000.p/7") == TilePlace(None, 0, 7)


@pytest.mark.parametrize(
    "path",
    [
        "0/1",
        "00/001",
        "8/000",
        "0/x000/001",
        "0/000.p/256",
        "0/000.p/0",
        "0/000.p/07",
        "0/000/",
        "../000",
        "0/٣٣٣",
    ],
)
def test_another_spelling_is_no_tile(path):
    assert read_tile_place(path) is None


@given(st.integers(0, 10**15))
def test_a_place_reads_back(index):
    assert read_tile_place(f"3/{tile_index(index)}") == TilePlace(3, index, 256)


def rebuilt(size: int, fetch) -> bytes:
    """The root from level-0 tiles alone, as a monitor would: a second implementation, from the RFC."""
    hashes = []
    for index in range(0, size, 256):
        width = min(256, size - index)
        path = f"0/{tile_index(index // 256)}" + ("" if width == 256 else f".p/{width}")
        content = fetch(read_tile_place(path))
        hashes += [content[at : at + 32] for at in range(0, len(content), 32)]

    def mth(leaves: list[bytes]) -> bytes:
        if len(leaves) == 1:
            return leaves[0]
        split = 1
        while split * 2 < len(leaves):
            split *= 2
        return hashlib.sha256(b"\1" + mth(leaves[:split]) + mth(leaves[split:])).digest()

    return mth(hashes)


@pytest.mark.parametrize("size", [1, 255, 256, 257, 600])
def test_a_monitor_computes_the_root_from_tiles(size):
    nodes = NodeMemory()
    tree = Tree(nodes)
    for number in range(size):
        tree.append(b"%d" % number)

    def fetch(place):
        assert place.leaves <= size
        return b"".join(nodes.get(8 * place.level, place.first + at) for at in range(place.width))

    assert rebuilt(size, fetch) == root_of(nodes, size)
    if size >= 256:
        (above,) = [fetch(TilePlace(1, 0, 1))]
        below = fetch(TilePlace(0, 0, 256))
        level = [below[at : at + 32] for at in range(0, len(below), 32)]
        while len(level) > 1:
            level = [node_hash(*pair) for pair in zip(level[::2], level[1::2], strict=True)]
        assert above == level[0]


def test_a_bundle_tells_the_length_of_each_entry():
    assert bundle_entries([b"ab", b"c" * 300]) == b"\0\2ab\1\x2c" + b"c" * 300


# --- a witness ---------------------------------------------------------------------------------------


class Log:
    def __init__(self, size: int = 0, mark: bytes = b"") -> None:
        self.tree = Tree(NodeMemory())
        for number in range(size):
            self.tree.append(mark + b"%d" % number)

    def ask(self, old: int, size: int | None = None, signer: NoteSigner = SIGNER) -> str:
        size = self.tree.size if size is None else size
        checkpoint = LogCheckpoint("log.example/one", size, self.tree.root(size))
        proof = tuple(self.tree.consistency(old, size)) if 0 < old <= size else ()
        return AddCheckpoint(old, proof, sign_log_checkpoint(signer, checkpoint)).body


def witnessed(asked: str, remembered=None):
    return witness_checkpoint(WITNESS, asked, LOGS, remembered or {}, 99)


def test_a_witness_signs_a_log_that_grows():
    log = Log(5)
    first = witnessed(log.ask(0))
    for number in range(5, 9):
        log.tree.append(b"%d" % number)

    second = witnessed(log.ask(5), {"log.example/one": first.seen})

    assert (first.status, second.status, second.seen.size) == (200, 200, 9)
    assert verify_witness_line(second.body, second.seen.text, [WITNESS.cosigner]) == 99


def test_a_witness_signs_no_second_history():
    seen = {"log.example/one": witnessed(Log(5).ask(0)).seen}

    assert witnessed(Log(9, b"x").ask(5), seen).status == 422
    same_size = witnessed(Log(5, b"x").ask(5), seen)
    assert (same_size.status, same_size.seen) == (409, None)
    shorter = witnessed(Log(4).ask(0), seen)
    assert (shorter.status, shorter.body, shorter.content_type) == (409, "5\n", "text/x.tlog.size")
    assert witnessed(Log(3).ask(5, 3), seen).status == 400


def test_a_witness_signs_for_no_stranger():
    stranger = NoteSigner("log.example/one", bytes(32))
    other = NoteSigner("log.example/two", bytes(32))

    assert witnessed(Log(5).ask(0, signer=stranger)).status == 403
    assert witness_checkpoint(WITNESS, Log(5).ask(0), {"x": (other.key,)}, {}, 1).status == 404


@given(st.text(max_size=300))
def test_whatever_is_sent_to_a_witness_gets_an_answer(raw):
    assert witnessed(raw).seen is None


@given(st.integers(0, 400), st.sampled_from(list("0123456789abcXYZ+/=\n— ")))
def test_one_letter_changed_is_never_signed(at, letter):
    good = Log(5).ask(0)
    raw = good[: at % len(good)] + letter + good[at % len(good) + 1 :]
    answer = witnessed(raw)

    assert raw == good or answer.status != 200 or answer.seen == witnessed(good).seen
