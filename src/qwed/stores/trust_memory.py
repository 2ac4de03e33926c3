"""What a trust table never forgets, on disk: as long as the ledger, in memory that stays bounded.

What is new is in memory, as most questions are about that; what is older is in a file. Nothing in it is
worth keeping: it follows from the ledger. The file has no name once it is open, so that no second process
finds it and nothing is left behind by a crash.
"""

import os
import sqlite3
import tempfile
import weakref
from pathlib import Path
from typing import Any, Final

import msgspec

from qwed.assurance.accusations import Seen
from qwed.assurance.trust_memory import Mark, Task, TrustMemoryLost

#: Of each of two generations in memory; the older one goes to the file as a whole.
GENERATION: Final = 50_000
_CACHE_KIBIBYTES: Final = 16_384
_FILTER_BITS: Final = 2**26
_COUNTED: Final = True
_encode: Final = msgspec.msgpack.Encoder().encode
_decode_seen: Final = msgspec.msgpack.Decoder(Seen).decode
_decode_task: Final = msgspec.msgpack.Decoder(Task).decode
_decode_text: Final = msgspec.msgpack.Decoder(str).decode


class SqliteTrustMemory:
    def __init__(self, directory: Path, generation: int = GENERATION) -> None:
        self._shelf = _Shelf(directory, generation)
        self._numbers: dict[str, int] = {}

    def seen(self, jti: str) -> Seen | None:
        found = self._shelf.get(f"seen {jti}")
        return _decode_seen(found) if isinstance(found, bytes) else found

    def see(self, jti: str, seen: Seen) -> None:
        self._shelf.put(f"seen {jti}", seen)

    def task(self, jti: str) -> Task | None:
        found = self._shelf.get(f"task {jti}")
        return _decode_task(found) if isinstance(found, bytes) else found

    def keep_task(self, jti: str, task: Task) -> None:
        self._shelf.put(f"task {jti}", task)

    def answered(self, jti: str) -> str | None:
        found = self._shelf.get(f"answer {jti}")
        return _decode_text(found) if isinstance(found, bytes) else found

    def answers(self, jti: str, task: str) -> None:
        self._shelf.put(f"answer {jti}", task)

    def has_counted(self, mark: Mark) -> bool:
        return self._shelf.get(self._key(mark)) is not None

    def count(self, mark: Mark) -> None:
        self._shelf.put(self._key(mark), _COUNTED)

    def _key(self, mark: Mark) -> str:
        peer, kind, name = mark
        return f"{self._numbers.setdefault(peer, len(self._numbers))} {kind} {name}"


class _Shelf:
    """Values under keys: as they were given while they are new, encoded once they are not."""

    def __init__(self, directory: Path, generation: int) -> None:
        self._directory = directory
        #: Made when it is needed: most ledgers are short.
        self._file: sqlite3.Connection | None = None
        self._generation = generation
        self._new: dict[str, Any] = {}
        self._older: dict[str, Any] = {}
        # Most keys that are asked for are not there: a bit that is not set says so without a look.
        self._filter = bytearray(_FILTER_BITS // 8)

    def get(self, key: str) -> Any:
        found = self._new.get(key)
        if found is None:
            found = self._older.get(key)
        if found is not None or self._file is None or not self._may_be_filed(key):
            return found
        return _find_filed(self._file, key)

    def put(self, key: str, value: Any) -> None:
        self._new[key] = value
        if len(self._new) >= self._generation:
            if self._older:
                self._file_older()
            self._new, self._older = {}, self._new

    def _may_be_filed(self, key: str) -> bool:
        one, other = _places(key)
        bits = self._filter
        return bool(bits[one >> 3] >> (one & 7) & bits[other >> 3] >> (other & 7) & 1)

    def _file_older(self) -> None:
        for key in self._older:
            for place in _places(key):
                self._filter[place >> 3] |= 1 << (place & 7)
        rows = ((key, _encode(value)) for key, value in sorted(self._older.items()))
        try:
            if self._file is None:
                self._file = _unnamed(self._directory)
                weakref.finalize(self, self._file.close)
            self._file.executemany("INSERT OR REPLACE INTO shelf VALUES (?, ?)", rows)
        except (sqlite3.Error, OSError) as error:
            raise _report_lost(error) from None


def _find_filed(file: sqlite3.Connection, key: str) -> bytes | None:
    try:
        row = file.execute("SELECT value FROM shelf WHERE key = ?", (key,)).fetchone()
    except sqlite3.Error as error:
        raise _report_lost(error) from None
    return None if row is None else row[0]


def _places(key: str) -> tuple[int, int]:
    number = hash(key)
    return number % _FILTER_BITS, (number >> 29) % _FILTER_BITS


def _report_lost(error: sqlite3.Error | OSError) -> TrustMemoryLost:
    return TrustMemoryLost(f"the file of what trust rests on can't be used: {error}")


def _unnamed(directory: Path) -> sqlite3.Connection:
    descriptor, name = tempfile.mkstemp(prefix=".qwed-trust-", dir=directory)
    try:
        connection = sqlite3.connect(name, isolation_level=None, check_same_thread=False)
        for pragma in (f"cache_size = -{_CACHE_KIBIBYTES}", "journal_mode = OFF", "synchronous = OFF"):
            connection.execute(f"PRAGMA {pragma}")
        # A transaction without an end: there is nothing to come back to after a crash.
        connection.execute("BEGIN EXCLUSIVE")
        connection.execute("CREATE TABLE shelf (key TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID")
        return connection
    finally:
        os.close(descriptor)
        Path(name).unlink()
