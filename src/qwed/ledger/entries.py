"""Entries of the ledger: each commits to its payload with a salt, and holds the hash of the one before.

A payload (and its salt) can be erased while the chain still verifies.
"""

import hashlib
from typing import Final

import msgspec

GENESIS: Final = bytes(32)
HASH_BYTES: Final = 32
#: Of one length, so that no byte can pass from the salt to the payload.
SALT_BYTES: Final = 16


class LedgerEntry(msgspec.Struct, frozen=True):
    seq: int
    at_ms: int
    subject: str
    commitment: bytes
    previous: bytes
    hash: bytes


class Head(msgspec.Struct, frozen=True):
    seq: int = 0
    hash: bytes = GENESIS


def commit_to(payload: bytes, salt: bytes) -> bytes:
    return hashlib.sha256(salt + payload).digest()


def append(head: Head, at_ms: int, subject: str, commitment: bytes) -> LedgerEntry:
    seq = head.seq + 1
    return LedgerEntry(
        seq, at_ms, subject, commitment, head.hash, entry_hash(seq, at_ms, subject, commitment, head.hash)
    )


def entry_hash(seq: int, at_ms: int, subject: str, commitment: bytes, previous: bytes) -> bytes:
    # Fixed-width fields first and the one free field last: no two entries share these bytes.
    data = b"".join(
        (b"qwed-ledger-v1", seq.to_bytes(8), at_ms.to_bytes(8), previous, commitment, subject.encode())
    )
    return hashlib.sha256(data).digest()
