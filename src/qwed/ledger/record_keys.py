"""The record key: what a gateway writes to a database is told from what anybody else writes there.

One deployment has one symmetric key, the same at all its gateways and never in the database. A MAC names its
key by an id, so that a new key can take over while records under the old one still verify.
"""

import hashlib
import hmac
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec

from qwed.ect.keys import RECORD_PURPOSE, KeyRing, KeyUnusable, is_private
from qwed.ledger.entries import HASH_BYTES

KEY_BYTES: Final = 32
ID_BYTES: Final = 8
MAC_BYTES: Final = ID_BYTES + HASH_BYTES
MAX_KEYS: Final = 16
_encoder: Final = msgspec.msgpack.Encoder()


class RecordKeys:
    """The key that seals, and those that did: they only verify."""

    def __init__(self, active: bytes, older: tuple[bytes, ...] = ()) -> None:
        if any(len(key) != KEY_BYTES for key in (active, *older)):
            raise KeyUnusable(f"a record key has {KEY_BYTES} bytes")
        self.active_id = key_id(active)
        self._active = active
        self._known = {key_id(key): key for key in (active, *older)}

    def __repr__(self) -> str:
        return f"RecordKeys({self.active_id.hex()!r}, {len(self._known) - 1} older)"

    @property
    def ids(self) -> tuple[str, ...]:
        return tuple(known.hex() for known in self._known)

    def seal(self, purpose: bytes, facts: tuple[object, ...]) -> bytes:
        """The id of the key and the MAC. `facts` are told apart whatever they hold."""
        return self.active_id + _mac(self._active, self.active_id, purpose, facts)

    def knows(self, mac: object) -> bool:
        """Whether the key that a MAC names is here."""
        return isinstance(mac, bytes) and len(mac) == MAC_BYTES and mac[:ID_BYTES] in self._known

    def is_sealed(self, mac: object, purpose: bytes, facts: tuple[object, ...]) -> bool:
        if not isinstance(mac, bytes) or not self.knows(mac):
            return False
        name = mac[:ID_BYTES]
        try:
            expected = _mac(self._known[name], name, purpose, facts)
        except (TypeError, OverflowError, UnicodeError):
            # Whoever edits a row may leave what the gateway would not write.
            return False
        return hmac.compare_digest(mac[ID_BYTES:], expected)


def key_id(key: bytes) -> bytes:
    return hashlib.sha256(b"qwed-record-key-id\0" + key).digest()[:ID_BYTES]


def _mac(key: bytes, name: bytes, purpose: bytes, facts: tuple[object, ...]) -> bytes:
    return hmac.digest(key, _encoder.encode((purpose, name, *facts)), "sha256")


def follow_ring(ring: KeyRing, older: tuple[bytes, ...] = ()) -> RecordKeys:
    """Where nobody gave a record key: one that follows from the signing key, which all gateways share."""
    return RecordKeys(ring.derive(RECORD_PURPOSE), older)


def load_record_keys(uri: str, environ: Mapping[str, str]) -> RecordKeys:
    """What `file:PATH` or `env:NAME` leads to: keys of 64 hexadecimal digits, the one that seals first.

    Raises `KeyUnusable`, which quotes nothing.
    """
    scheme, _, rest = uri.partition(":")
    if scheme == "file" and rest:
        return _parse(_read(Path(rest.removeprefix("//"))), f"the record key {rest.removeprefix('//')}")
    if scheme == "env" and rest:
        if rest not in environ:
            raise KeyUnusable(f"the environment has no {rest}")
        return _parse(environ[rest], f"the variable {rest}")
    # The URI itself may be a key, put there by mistake: it is not quoted.
    raise KeyUnusable("the record key is given as file:PATH or env:NAME")


def _read(path: Path) -> str:
    try:
        found = path.stat()
        mode = stat.S_IMODE(found.st_mode)
        if not is_private(mode, found.st_uid, os.geteuid()):
            raise KeyUnusable(f"others can read the record key {path} (mode {mode:03o}): chmod 600 it")
        return path.read_text("ascii")
    except OSError as error:
        raise KeyUnusable(f"the record key {path} can't be read: {error.strerror}") from None
    except UnicodeError:
        raise KeyUnusable(f"the record key {path} is no text of hexadecimal digits") from None


def _parse(text: str, source: str) -> RecordKeys:
    words = text.replace(",", " ").split()
    try:
        keys = [bytes.fromhex(word) for word in words]
    except ValueError:
        keys = []
    if not 0 < len(keys) <= MAX_KEYS or any(len(key) != KEY_BYTES for key in keys):
        raise KeyUnusable(
            f"{source} has to hold 1 to {MAX_KEYS} keys of {2 * KEY_BYTES} hexadecimal digits, one a line"
        )
    if len(set(keys)) != len(keys):
        raise KeyUnusable(f"{source} holds one key twice")
    return RecordKeys(keys[0], tuple(keys[1:]))
