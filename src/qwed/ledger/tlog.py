"""The ledger as a transparency log that others' tools read: C2SP tlog-checkpoint, tlog-tiles.

Its leaves are the entries' hashes, as ever; a tile holds 256 neighbours of every eighth level of the tree.
The ledger's own format (`checkpoints`) stays beside it: both are about the same tree.
"""

import base64
import binascii
import re
from typing import Final

import msgspec

from qwed.ledger.merkle import HASH_BYTES
from qwed.ledger.notes import InvalidNote, Note, NoteKey, NoteSigner, verify_note

TILE_HEIGHT: Final = 8
TILE_WIDTH: Final = 1 << TILE_HEIGHT
MAX_LEVEL: Final = 7
_SIZE: Final = re.compile(r"0|[1-9][0-9]{0,18}")
_TILE: Final = re.compile(
    r"(?P<level>entries|[0-7])/(?P<index>(?:x[0-9]{3}/){0,5}[0-9]{3})(?:\.p/(?P<width>[1-9][0-9]{0,2}))?"
)


class LogCheckpoint(msgspec.Struct, frozen=True):
    """The tree over the first `size` entries of the log that `origin` names."""

    origin: str
    size: int
    root: bytes

    @property
    def text(self) -> str:
        return f"{self.origin}\n{self.size}\n{base64.b64encode(self.root).decode('ascii')}\n"


def sign_log_checkpoint(
    signer: NoteSigner, checkpoint: LogCheckpoint, cosignatures: tuple[str, ...] = ()
) -> str:
    """The whole note. `cosignatures` are lines."""
    return "".join((checkpoint.text, "\n", signer.sign(checkpoint.text), *cosignatures))


def read_log_checkpoint(note: Note, key: NoteKey) -> LogCheckpoint:
    """What the key signed. Raises `InvalidNote`."""
    checkpoint = parse_log_checkpoint(note.text)
    verify_note(note, key)
    return checkpoint


def parse_log_checkpoint(text: str) -> LogCheckpoint:
    """Unverified. Raises `InvalidNote`; lines of an extension are none of ours, and refused."""
    lines = text.removesuffix("\n").split("\n")
    if len(lines) != 3 or not all(lines):
        raise InvalidNote("a checkpoint has three lines: origin, size, root")
    origin, size, root = lines
    try:
        digest = base64.b64decode(root, validate=True)
    except (binascii.Error, ValueError):
        digest = b""
    if not _SIZE.fullmatch(size) or len(digest) != HASH_BYTES:
        raise InvalidNote("a checkpoint has a size in digits and a root of 32 bytes in base64")
    checkpoint = LogCheckpoint(origin, int(size), digest)
    if checkpoint.text != text:
        raise InvalidNote("the checkpoint is not written as it should be")
    return checkpoint


class TilePlace(msgspec.Struct, frozen=True):
    """Which tile: `level` counts tiles, not hashes; None are the entries themselves."""

    level: int | None
    index: int
    width: int

    @property
    def first(self) -> int:
        return self.index * TILE_WIDTH

    @property
    def leaves(self) -> int:
        """How many leaves a tree needs that has this tile."""
        return (self.first + self.width) << (TILE_HEIGHT * (self.level or 0))


def read_tile_place(path: str) -> TilePlace | None:
    """`<L>/<N>[.p/<W>]` or `entries/<N>[.p/<W>]`, in the one spelling that the format has; else None."""
    found = _TILE.fullmatch(path)
    if found is None:
        return None
    digits = found["index"].replace("x", "").replace("/", "")
    index, width = int(digits), int(found["width"] or TILE_WIDTH)
    if (found["width"] is not None and width >= TILE_WIDTH) or tile_index(index) != found["index"]:
        return None
    return TilePlace(None if found["level"] == "entries" else int(found["level"]), index, width)


def tile_index(index: int) -> str:
    """1234067 is `x001/x234/067`."""
    digits = str(index)
    digits = digits.zfill(-(-len(digits) // 3) * 3)
    parts = [digits[at : at + 3] for at in range(0, len(digits), 3)]
    return "/".join([*(f"x{part}" for part in parts[:-1]), parts[-1]])


def bundle_entries(entries: list[bytes]) -> bytes:
    """An entry bundle: each with its length before it."""
    return b"".join(len(entry).to_bytes(2) + entry for entry in entries)
