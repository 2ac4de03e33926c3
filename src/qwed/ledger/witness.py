"""A witness of logs (C2SP tlog-witness): it signs a tree only if that begins with the last one it signed.

Pure: a request and what is remembered in, an answer and what to remember out. Whoever keeps the memory writes
it durably before the answer is sent, one request of a log after the other.
"""

import base64
import binascii
import re
from collections.abc import Mapping
from typing import Final

import msgspec

from qwed.ledger.merkle import verify_consistency
from qwed.ledger.notes import InvalidNote, Note, NoteKey, NoteSigner, read_note, verify_note
from qwed.ledger.tlog import LogCheckpoint, parse_log_checkpoint

MAX_PROOF: Final = 63
SIZE_TYPE: Final = "text/x.tlog.size"
_OLD: Final = re.compile(r"old (0|[1-9][0-9]{0,18})")


class AddCheckpoint(msgspec.Struct, frozen=True):
    """What a log asks of a witness."""

    old: int
    proof: tuple[bytes, ...]
    note: str

    @property
    def body(self) -> str:
        lines = (f"old {self.old}", *(base64.b64encode(item).decode("ascii") for item in self.proof), "")
        return "".join(f"{line}\n" for line in lines) + self.note


class WitnessAnswer(msgspec.Struct, frozen=True):
    """`seen` is what to remember before the answer is sent."""

    status: int
    body: str
    content_type: str = "text/plain; charset=utf-8"
    seen: LogCheckpoint | None = None


def read_add_checkpoint(raw: str) -> AddCheckpoint:
    """Raises `InvalidNote`."""
    head, found, note = raw.partition("\n\n")
    old, *lines = head.split("\n")
    size = _OLD.fullmatch(old)
    if not found or size is None:
        raise InvalidNote("a request is `old SIZE`, lines of a proof, an empty line and a checkpoint")
    if len(lines) > MAX_PROOF:
        raise InvalidNote(f"a proof has at most {MAX_PROOF} lines")
    try:
        proof = tuple(base64.b64decode(line, validate=True) for line in lines)
    except (binascii.Error, ValueError):
        raise InvalidNote("a line of the proof is not base64") from None
    return AddCheckpoint(int(size[1]), proof, note)


def witness_checkpoint(
    witness: NoteSigner,
    raw: str,
    logs: Mapping[str, tuple[NoteKey, ...]],
    remembered: Mapping[str, LogCheckpoint],
    now: int,
) -> WitnessAnswer:
    """Answers as the protocol says; the order of its checks is that of the specification."""
    try:
        asked = read_add_checkpoint(raw)
        note = read_note(asked.note)
        checkpoint = parse_log_checkpoint(note.text)
    except InvalidNote as error:
        return WitnessAnswer(400, f"{error}\n")
    keys = logs.get(checkpoint.origin)
    if keys is None:
        return WitnessAnswer(404, "this witness does not know the log\n")
    if not any(_has_signed(note, key) for key in keys):
        return WitnessAnswer(403, "no known key of the log signed this\n")
    if asked.old > checkpoint.size:
        return WitnessAnswer(400, "the old size is larger than the checkpoint\n")
    last = remembered.get(checkpoint.origin)
    if asked.old != (last.size if last else 0):
        return WitnessAnswer(409, f"{last.size if last else 0}\n", SIZE_TYPE)
    if last is not None and last.size == checkpoint.size and last.root != checkpoint.root:
        return WitnessAnswer(409, f"{last.size}\n", SIZE_TYPE)
    if not _begins_with(checkpoint, last, asked.proof):
        return WitnessAnswer(422, "the proof does not lead from the last tree to this one\n")
    return WitnessAnswer(200, witness.cosign(checkpoint.text, now), seen=checkpoint)


def _begins_with(checkpoint: LogCheckpoint, last: LogCheckpoint | None, proof: tuple[bytes, ...]) -> bool:
    if last is None or last.size == 0:
        return not proof
    return verify_consistency(last.size, checkpoint.size, last.root, checkpoint.root, proof)


def _has_signed(note: Note, key: NoteKey) -> bool:
    try:
        verify_note(note, key)
    except InvalidNote:
        return False
    return True
