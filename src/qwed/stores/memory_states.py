"""Rows that decide, where nothing is a row: each value as the columns it would have, its salt beside it."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Protocol

from qwed.ledger.chain import LedgerEntry
from qwed.ledger.entries import SALT_BYTES
from qwed.ledger.states import SALT, Row, States, commit_row, is_state, subject_of, tombstone
from qwed.stores.randomness import POOL


class GrowingLedger(Protocol):
    def extend(self, subject: str, at_ms: int, commitment: bytes) -> None: ...
    def entries(self, after: int, limit: int) -> list[LedgerEntry]: ...
    def size(self) -> int: ...


class MemoryStates:
    def __init__(self, ledger: GrowingLedger) -> None:
        self._ledger = ledger
        self._salts: dict[str, bytes] = {}

    def commit(self, table: str, columns: Row, at_ms: int) -> None:
        """The value as it stands now; called for every write of one."""
        subject, salt = subject_of(table, columns), POOL.take(SALT_BYTES)
        commitment = commit_row(table, columns, salt)
        assert commitment is not None, "the gateway writes what it can commit to"
        self._salts[subject] = salt
        self._ledger.extend(subject, at_ms, commitment)

    def is_committed(self, table: str, columns: Row) -> bool:
        return subject_of(table, columns) in self._salts

    def drop(self, table: str, columns: Row, at_ms: int) -> None:
        subject = subject_of(table, columns)
        if self._salts.pop(subject, None) is not None:
            self._ledger.extend(subject, at_ms, tombstone(subject))

    def rows(self, table: str, values: Iterable[Mapping[str, object]]) -> Iterator[Row]:
        for columns in values:
            yield {**columns, SALT: self._salts.get(subject_of(table, columns))}

    def states(self) -> States:
        states = States()
        for entry in self._list_stated():
            states.note(entry.subject, entry.seq, entry.at_ms, entry.commitment)
        return states

    def earlier(self, subject: str) -> list[tuple[int, bytes]]:
        return [(entry.seq, entry.commitment) for entry in self._list_stated() if entry.subject == subject]

    def _list_stated(self) -> Iterator[LedgerEntry]:
        entries = self._ledger.entries(0, self._ledger.size())
        return (entry for entry in entries if is_state(entry.subject))
