"""Signed notes (C2SP signed-note): a text, and a line for each who signed it.

A key is told by its name and four bytes; `vkey` is how people hand it on. Kind 1 signs the text; kind 4 is
a witness, which signs a time before it (C2SP tlog-cosignature). Others' signatures are passed over.
"""

import base64
import binascii
import hashlib
from collections.abc import Sequence
from typing import Final

import msgspec
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

SIGNS: Final = 1
COSIGNS: Final = 4
MAX_NOTE_BYTES: Final = 65_536
MAX_SIGNATURES: Final = 64
KEY_BYTES: Final = 32
MAX_NAME: Final = 255
_ID_BYTES: Final = 4
_TIME_BYTES: Final = 8
#: How the line of a signature begins.
LINE_START: Final = "\N{EM DASH} "


class InvalidNote(Exception):
    """Not a note, not a key, or not signed by whom it should be; the message says which."""


class NoteKey(msgspec.Struct, frozen=True):
    """A public key under a name. Raises `InvalidNote` for a name that a note can't carry."""

    name: str
    kind: int
    public: bytes

    def __post_init__(self) -> None:
        if not is_name(self.name):
            raise InvalidNote(f"a key's name has no space and no plus: {self.name[:MAX_NAME]!r}")
        if self.kind not in (SIGNS, COSIGNS) or len(self.public) != KEY_BYTES:
            raise InvalidNote("the key is not an Ed25519 key that signs notes (kind 1) or cosigns (kind 4)")

    @property
    def id(self) -> bytes:
        content = self.name.encode() + b"\n" + bytes([self.kind]) + self.public
        return hashlib.sha256(content).digest()[:_ID_BYTES]

    @property
    def vkey(self) -> str:
        material = base64.b64encode(bytes([self.kind]) + self.public).decode("ascii")
        return f"{self.name}+{self.id.hex()}+{material}"


class NoteSignature(msgspec.Struct, frozen=True):
    name: str
    key_id: bytes
    content: bytes

    @property
    def line(self) -> str:
        return f"{LINE_START}{self.name} {base64.b64encode(self.key_id + self.content).decode('ascii')}\n"


class Note(msgspec.Struct, frozen=True):
    """`text` ends in a line end; nothing of it counts before a signature was verified."""

    text: str
    signatures: tuple[NoteSignature, ...]


class NoteSigner:
    """Signs and cosigns under one name; it never shows its key."""

    def __init__(self, name: str, seed: bytes) -> None:
        self._private = Ed25519PrivateKey.from_private_bytes(seed)
        public = self._private.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
        self.key = NoteKey(name, SIGNS, public)
        self.cosigner = NoteKey(name, COSIGNS, public)

    def __repr__(self) -> str:
        return f"NoteSigner({self.key.vkey!r})"

    def sign(self, text: str) -> str:
        """The line of a signature."""
        content = self._private.sign(text.encode())
        return NoteSignature(self.key.name, self.key.id, content).line

    def cosign(self, text: str, at: int) -> str:
        """The line of a witness, which says when it saw this."""
        content = at.to_bytes(_TIME_BYTES) + self._private.sign(_add_time(text, at))
        return NoteSignature(self.cosigner.name, self.cosigner.id, content).line


def is_name(text: str) -> bool:
    return 0 < len(text) <= MAX_NAME and text.isprintable() and not any(c.isspace() or c == "+" for c in text)


def read_vkey(text: str) -> NoteKey:
    """`NAME+ID+KEY`. Raises `InvalidNote`."""
    name, _, rest = text.strip().partition("+")
    key_id, _, material = rest.partition("+")
    content = _decode(material)
    if not content:
        raise InvalidNote("a key is written NAME+ID+KEY")
    key = NoteKey(name, content[0], content[1:])
    if key.id.hex() != key_id:
        raise InvalidNote(f"the key of {name!r} does not fit its id: was it copied whole?")
    return key


def read_note(raw: str) -> Note:
    """Unverified. Raises `InvalidNote`."""
    if len(raw) > MAX_NOTE_BYTES:
        raise InvalidNote(f"the note takes more than {MAX_NOTE_BYTES} characters")
    if any(c < " " and c != "\n" for c in raw):
        raise InvalidNote("the note has control characters")
    text, found, lines = raw.rpartition("\n\n")
    if not found or not lines.endswith("\n"):
        raise InvalidNote("the note has no signatures")
    signatures = tuple(read_signature(line) for line in lines[:-1].split("\n"))
    if len(signatures) > MAX_SIGNATURES:
        raise InvalidNote(f"the note has more than {MAX_SIGNATURES} signatures")
    return Note(text + "\n", signatures)


def read_signature(line: str) -> NoteSignature:
    """One line, with or without its line end. Raises `InvalidNote`."""
    name, _, encoded = line.removesuffix("\n").removeprefix(LINE_START).partition(" ")
    content = _decode(encoded)
    if not line.startswith(LINE_START) or not is_name(name) or len(content) <= _ID_BYTES:
        raise InvalidNote("the line is not a signature of a note")
    return NoteSignature(name, content[:_ID_BYTES], content[_ID_BYTES:])


def verify_note(note: Note, key: NoteKey) -> int:
    """When a witness signed, 0 for a plain signature. Raises `InvalidNote`, also where the key signed nothing
    here, or one of two signatures that name it is not its own."""
    times = [
        _verify(note.text, one, key)
        for one in note.signatures
        if (one.name, one.key_id) == (key.name, key.id)
    ]
    if not times:
        raise InvalidNote(f"{key.name} did not sign this")
    return max(times)


def verify_witness_line(line: str, text: str, witnesses: Sequence[NoteKey]) -> int:
    """When one of these witnesses signed the text. Raises `InvalidNote`."""
    signature = read_signature(line)
    for key in witnesses:
        if key.kind == COSIGNS and (signature.name, signature.key_id) == (key.name, key.id):
            return _verify(text, signature, key)
    raise InvalidNote(f"{signature.name} is no known witness")


def _verify(text: str, signature: NoteSignature, key: NoteKey) -> int:
    content, at = signature.content, 0
    message = text.encode()
    if key.kind == COSIGNS:
        at, content = int.from_bytes(content[:_TIME_BYTES]), content[_TIME_BYTES:]
        if at >= 1 << 63:
            raise InvalidNote("the time of the signature is out of range")
        message = _add_time(text, at)
    try:
        Ed25519PublicKey.from_public_bytes(key.public).verify(content, message)
    except (InvalidSignature, ValueError):
        raise InvalidNote(f"the signature of {key.name} does not fit the text") from None
    return at


def _add_time(text: str, at: int) -> bytes:
    return f"cosignature/v1\ntime {at}\n{text}".encode()


def _decode(text: str) -> bytes:
    try:
        content = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return b""
    # A second spelling of the same bytes is none of ours.
    return content if base64.b64encode(content).decode("ascii") == text else b""
