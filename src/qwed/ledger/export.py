"""An exported ledger: JSON lines that anyone verifies with the public keys alone.

    {"format":"qwed-ledger/1","ledger":"…"}
    {"seq":1,"at_ms":…,"subject":"…","commitment":"…","previous":"…","hash":"…","salt":"…","payload":"…"}
    …
    {"checkpoint":"<JWS>","cosignatures":["<JWS, or a line of a signed note>"]}

Hashes are base64. `salt` and `payload` are absent where they were erased or left out. A checkpoint stands
right after the entries it covers, and the last line is one: nothing is exported unsigned.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeVar

import msgspec

from qwed.ect.jwk import PublicKey
from qwed.ect.jws import InvalidToken
from qwed.ledger.audit import Audited, AuditKind, Tampering, audit
from qwed.ledger.checkpoints import Checkpoint, read_checkpoint, read_cosignature
from qwed.ledger.entries import SALT_BYTES, LedgerEntry, commit_to
from qwed.ledger.notes import LINE_START, InvalidNote, NoteKey, verify_witness_line
from qwed.ledger.passkeys import PasskeyAudit
from qwed.ledger.tlog import LogCheckpoint

FORMAT: Final = "qwed-ledger/1"
MAX_LINE_BYTES: Final = 4_194_304


class Preamble(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    format: str
    ledger: str


class ExportLine(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """An entry, with its payload where that is still kept."""

    seq: int
    at_ms: int
    subject: str
    commitment: bytes
    previous: bytes
    hash: bytes
    salt: bytes | None = None
    payload: bytes | None = None


class Signed(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    checkpoint: str
    cosignatures: tuple[str, ...] = ()


class Exported(msgspec.Struct, frozen=True):
    """The export holds: what was signed, and how many payloads were there to compare."""

    ledger: str
    audited: Audited
    checkpoint: Checkpoint
    is_witnessed: bool
    payloads: int


class NotAnExport(msgspec.Struct, frozen=True):
    """Not in the format, or not signed by whom it should be; `line` counts from 1."""

    line: int
    says: str


_preamble_decoder: Final = msgspec.json.Decoder(Preamble)
_line_decoder: Final = msgspec.json.Decoder(ExportLine)
_signed_decoder: Final = msgspec.json.Decoder(Signed)
_encoder: Final = msgspec.json.Encoder()
_Item = TypeVar("_Item")


def write(ledger: str, items: Iterable[ExportLine | Signed]) -> Iterator[bytes]:
    """The lines, each with its line end."""
    yield _encoder.encode(Preamble(FORMAT, ledger)) + b"\n"
    for item in items:
        yield _encoder.encode(item) + b"\n"


def verify(
    lines: Iterable[bytes],
    keys: Mapping[str, PublicKey],
    witness_keys: Mapping[str, PublicKey] | None = None,
    known: Sequence[Checkpoint] = (),
    note_witnesses: Sequence[NoteKey] = (),
) -> Exported | Tampering | NotAnExport:
    """Follow an export. With `witness_keys` or `note_witnesses`, its last checkpoint has to be cosigned by
    one of them; `known` are checkpoints from elsewhere with which it has to agree."""
    reader = _Reader(keys, witness_keys or {}, note_witnesses)
    audited = audit(reader.items(lines), known=known)
    # A line that can't be read ends the entries: what follows from that is not the first problem.
    if reader.problem is not None and (isinstance(audited, Audited) or audited.kind is AuditKind.TRUNCATED):
        return reader.problem
    return audited if isinstance(audited, Tampering) else reader.finished(audited)


class _Reader:
    """Lines in, entries and verified checkpoints out, until the first line with a problem."""

    def __init__(
        self,
        keys: Mapping[str, PublicKey],
        witness_keys: Mapping[str, PublicKey],
        note_witnesses: Sequence[NoteKey],
    ) -> None:
        self.problem: Tampering | NotAnExport | None = None
        self._keys = keys
        self._witness_keys = witness_keys
        self._note_witnesses = note_witnesses
        self._ledger = ""
        self._number = 0
        self._payloads = 0
        self._last: Checkpoint | None = None
        self._is_witnessed = False
        self._respelt: int | None = None
        self._passkeys = PasskeyAudit()
        self._is_whole = True

    def items(self, lines: Iterable[bytes]) -> Iterator[LedgerEntry | Checkpoint]:
        for self._number, raw in enumerate(lines, start=1):
            item = self._read(raw)
            if isinstance(item, LedgerEntry | Checkpoint):
                yield item
            elif item is not None:
                self.problem = item
                return
        if self._number == 0:
            self.problem = NotAnExport(1, "there is nothing")

    def _read(self, raw: bytes) -> LedgerEntry | Checkpoint | Tampering | NotAnExport | None:
        if len(raw) > MAX_LINE_BYTES:
            return NotAnExport(self._number, f"the line takes more than {MAX_LINE_BYTES} bytes")
        try:
            if self._number == 1:
                return self._preamble(self._decode(_preamble_decoder, raw))
            if raw.startswith(b'{"checkpoint"'):
                return self._read_signed(self._decode(_signed_decoder, raw))
            return self._entry(self._decode(_line_decoder, raw))
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return NotAnExport(self._number, "not a line of an exported ledger")
        except InvalidToken as error:
            return NotAnExport(self._number, f"the checkpoint is not signed: {error}")

    def _decode(self, decoder: msgspec.json.Decoder[_Item], raw: bytes) -> _Item:
        item = decoder.decode(raw)
        if self._respelt is None and _encoder.encode(item) != raw.rstrip(b"\r\n"):
            self._respelt = self._number
        return item

    def _preamble(self, preamble: Preamble) -> NotAnExport | None:
        if preamble.format != FORMAT:
            return NotAnExport(self._number, f"the format is not {FORMAT}")
        self._ledger = preamble.ledger
        return None

    def _entry(self, line: ExportLine) -> LedgerEntry | Tampering:
        if line.payload is not None:
            salt = line.salt or b""
            if len(salt) != SALT_BYTES or commit_to(line.payload, salt) != line.commitment:
                says = f"the payload of entry {line.seq} was changed"
                return Tampering(AuditKind.EDITED, line.seq, line.seq, says)
            self._payloads += 1
            problem = self._passkey_problem(line.payload)
            if problem is not None:
                return Tampering(AuditKind.EDITED, line.seq, line.seq, f"entry {line.seq}: {problem}")
        else:
            self._is_whole = False
        return LedgerEntry(line.seq, line.at_ms, line.subject, line.commitment, line.previous, line.hash)

    def _passkey_problem(self, content: bytes) -> str | None:
        """An activity's payload ends with a line end; the facts follow. A token has neither."""
        payload, _, facts = content.rpartition(b"\n")
        if b'"passkey"' not in payload:
            return None
        what = msgspec.json.decode(facts, type=tuple[Any, ...])[4]
        return self._passkeys.find_problem(what, payload, is_whole=self._is_whole)

    def _read_signed(self, line: Signed) -> Checkpoint | NotAnExport:
        checkpoint = read_checkpoint(line.checkpoint, self._keys)
        if checkpoint.ledger != self._ledger:
            return NotAnExport(self._number, "the checkpoint belongs to another ledger")
        self._last = checkpoint
        self._is_witnessed = any(self._is_cosigned(token, checkpoint) for token in line.cosignatures[:16])
        return checkpoint

    def _is_cosigned(self, token: str, checkpoint: Checkpoint) -> bool:
        try:
            if token.startswith(LINE_START):
                text = LogCheckpoint(checkpoint.ledger, checkpoint.size, checkpoint.root).text
                verify_witness_line(token, text, self._note_witnesses)
            else:
                read_cosignature(token, self._witness_keys, checkpoint)
        except (InvalidToken, InvalidNote):
            return False
        return True

    def finished(self, audited: Audited) -> Exported | NotAnExport:
        # What says the same in other letters may say something else to another reader.
        if self._respelt is not None:
            return NotAnExport(self._respelt, "the line is not as it was written")
        if self._last is None or self._last.size != audited.head.seq:
            return NotAnExport(self._number, f"entry {audited.head.seq} is under no checkpoint")
        if (self._witness_keys or self._note_witnesses) and not self._is_witnessed:
            return NotAnExport(self._number, "the last checkpoint is not signed by the witness")
        return Exported(self._ledger, audited, self._last, self._is_witnessed, self._payloads)
