"""Random bytes drawn in advance: a system call for each decision would cost more than its hashes."""

import os
import threading
from typing import Final

from qwed.domain.fingerprints import HASH_BYTES, VERSION, is_older

_DRAWN: Final = 4096


class RandomPool:
    def __init__(self) -> None:
        self._bytes = b""
        self._position = 0
        self._lock = threading.Lock()

    def take(self, count: int) -> bytes:
        with self._lock:
            if self._position + count > len(self._bytes):
                self._bytes, self._position = os.urandom(_DRAWN), 0
            self._position += count
            return self._bytes[self._position - count : self._position]


POOL: Final = RandomPool()


def nobodys_fingerprint(erased: bytes) -> bytes:
    """What takes the place of a fingerprint whose text is erased, in the same version."""
    return os.urandom(HASH_BYTES) if is_older(erased) else VERSION + os.urandom(HASH_BYTES)
