"""A hash chain over the record: each entry holds the hash of the one before it.

Entries commit to their payload with a salt, so that a payload (and its salt) can be erased while the
chain still verifies.
"""

import hashlib
from collections.abc import Iterable
from typing import Final

import msgspec

GENESIS: Final = bytes(32)


class Entry(msgspec.Struct, frozen=True):
    seq: int
    at_ms: int
    subject: str
    commitment: bytes
    previous: bytes
    hash: bytes


class Head(msgspec.Struct, frozen=True):
    seq: int = 0
    hash: bytes = GENESIS


class BrokenChain(Exception):
    """An entry does not follow from the one before it; the message names it."""


def commit_to(payload: bytes, salt: bytes) -> bytes:
    return hashlib.sha256(salt + payload).digest()


def append(head: Head, at_ms: int, subject: str, commitment: bytes) -> Entry:
    seq = head.seq + 1
    return Entry(
        seq, at_ms, subject, commitment, head.hash, _entry_hash(seq, at_ms, subject, commitment, head.hash)
    )


def _entry_hash(seq: int, at_ms: int, subject: str, commitment: bytes, previous: bytes) -> bytes:
    # Fixed-width fields first and the one free field last: no two entries share these bytes.
    data = b"".join(
        (b"qwed-ledger-v1", seq.to_bytes(8), at_ms.to_bytes(8), previous, commitment, subject.encode())
    )
    return hashlib.sha256(data).digest()


def verify(entries: Iterable[Entry], head: Head = Head()) -> Head:  # noqa: B008 - Head is frozen
    """Follow the chain from `head` to its end. Raises `BrokenChain`."""
    for entry in entries:
        if entry.seq != head.seq + 1:
            raise BrokenChain(f"entry {head.seq + 1} is missing: {entry.seq} follows {head.seq}")
        if entry.previous != head.hash:
            raise BrokenChain(f"entry {entry.seq} does not follow from entry {head.seq}")
        expected = _entry_hash(entry.seq, entry.at_ms, entry.subject, entry.commitment, entry.previous)
        if entry.hash != expected:
            raise BrokenChain(f"entry {entry.seq} was changed: its hash is not that of its content")
        head = Head(entry.seq, entry.hash)
    return head
