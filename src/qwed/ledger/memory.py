"""A ledger in this process: the same entries, tree, receipts and export as a stored one, nothing durable."""

import hashlib
import os
from collections.abc import Callable, Iterator

import msgspec

from qwed.ect import base64url
from qwed.ect.keys import KeyRing
from qwed.ledger.checkpoints import Checkpoint, sign_checkpoint
from qwed.ledger.entries import SALT_BYTES, Head, LedgerEntry, append, commit_to
from qwed.ledger.export import ExportLine, Signed, write
from qwed.ledger.merkle import NodeMemory, Tree
from qwed.ledger.receipts import Receipt, sign_receipt


class Duplicate(ValueError):
    """The ledger has an entry about this already."""


class MemoryLedger:
    """Takes payloads, one entry each; a subject (a token's `jti`, a decision's id) has one entry."""

    def __init__(
        self, name: str, ring: KeyRing, draw_salt: Callable[[], bytes] = lambda: os.urandom(SALT_BYTES)
    ) -> None:
        self.name = name
        self._ring = ring
        self._draw_salt = draw_salt
        self._head = Head()
        self._tree = Tree(NodeMemory())
        self._lines: list[ExportLine] = []
        self._by_subject: dict[str, int] = {}
        self._checkpoints: dict[int, Signed] = {}

    @property
    def size(self) -> int:
        return self._head.seq

    def append(self, subject: str, payload: bytes, at_ms: int) -> LedgerEntry:
        """Raises `Duplicate`."""
        if subject in self._by_subject:
            raise Duplicate(f"the ledger has {subject!r} already")
        salt = self._draw_salt()
        entry = append(self._head, at_ms, subject, commit_to(payload, salt))
        self._tree.append(entry.hash)
        self._head = Head(entry.seq, entry.hash)
        self._lines.append(ExportLine(**msgspec.structs.asdict(entry), salt=salt, payload=payload))
        self._by_subject[subject] = entry.seq
        return entry

    def entry(self, seq: int) -> LedgerEntry:
        """Raises `IndexError`."""
        if not 1 <= seq <= self.size:
            raise IndexError(f"there is no entry {seq}")
        line = self._lines[seq - 1]
        return LedgerEntry(line.seq, line.at_ms, line.subject, line.commitment, line.previous, line.hash)

    def holds(self, jti: str, token_hash: str) -> bool:
        """Whether exactly these bytes are recorded under the token's id."""
        seq = self._by_subject.get(jti)
        payload = self._lines[seq - 1].payload if seq else None
        return payload is not None and base64url.encode(hashlib.sha256(payload).digest()) == token_hash

    def receipt(self, jti: str, now: int) -> str:
        """Raises `KeyError` for a token that is not there, or whose bytes were erased."""
        line = self._lines[self._by_subject[jti] - 1]
        if line.payload is None:
            raise KeyError(jti)
        token_hash = hashlib.sha256(line.payload).digest()
        return sign_receipt(self._ring, Receipt(self.name, line.seq, jti, token_hash, line.hash, now))

    def checkpoint(self, now: int) -> str:
        checkpoint = Checkpoint(self.name, self.size, self._tree.root(), self._head.hash, now)
        token = sign_checkpoint(self._ring, checkpoint)
        self._checkpoints[self.size] = Signed(token)
        return token

    def cosigned(self, size: int, token: str) -> None:
        """Keep a witness's signature beside its checkpoint. Raises `KeyError`."""
        signed = self._checkpoints[size]
        self._checkpoints[size] = Signed(signed.checkpoint, (*signed.cosignatures, token))

    def inclusion(self, seq: int, size: int | None = None) -> list[bytes]:
        """That entry `seq` is in the tree. Raises `NoSuchProof`."""
        return self._tree.inclusion(seq - 1, size)

    def consistency(self, first: int, second: int | None = None) -> list[bytes]:
        """Raises `NoSuchProof`."""
        return self._tree.consistency(first, second)

    def erase(self, subject: str) -> None:
        """Forget payload and salt; the entry stays, and the ledger still verifies. Raises `KeyError`."""
        seq = self._by_subject[subject]
        self._lines[seq - 1] = msgspec.structs.replace(self._lines[seq - 1], salt=None, payload=None)

    def export(self) -> Iterator[bytes]:
        """Up to the last checkpoint: what came later is under no signature yet."""
        return write(self.name, self._signed_lines())

    def _signed_lines(self) -> Iterator[ExportLine | Signed]:
        if 0 in self._checkpoints:
            yield self._checkpoints[0]
        for line in self._lines[: max(self._checkpoints, default=0)]:
            yield line
            if line.seq in self._checkpoints:
                yield self._checkpoints[line.seq]
