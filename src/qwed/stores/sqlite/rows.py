"""Rows as they are read, each thread on a connection of its own that cannot write."""

import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from qwed.gateway.kernel.ports import StateDiffers
from qwed.ledger.states import StateDifference
from qwed.stores.bodies import decode
from qwed.stores.sqlite.file import connect_reader, unavailable
from qwed.stores.sqlite.states import difference_of, differences, row_where

T = TypeVar("T")
Row = tuple[Any, ...]


class FileRows:
    """What the other readers of the file are built on."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._local = threading.local()
        self._readers: list[sqlite3.Connection] = []

    def _reader(self) -> sqlite3.Connection:
        connection: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            connection = self._local.connection = connect_reader(self._path)
            self._readers.append(connection)
        return connection

    def _rows(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        with unavailable():
            return self._reader().execute(sql, values).fetchall()

    def _row(self, sql: str, *values: object) -> tuple[Any, ...] | None:
        rows = self._rows(sql, *values)
        return rows[0] if rows else None

    def _body(self, kind: type[T], sql: str, *values: object) -> T | None:
        row = self._row(sql, *values)
        return decode(kind, row[0]) if row else None

    def _bodies(self, kind: type[T], sql: str, *values: object) -> list[T]:
        return [decode(kind, row[0]) for row in self._rows(sql, *values)]

    @contextmanager
    def _snapshot(self) -> Iterator[sqlite3.Connection]:
        """Several questions about one moment."""
        with unavailable():
            reader = self._reader()
            reader.execute("BEGIN")
            try:
                yield reader
            finally:
                reader.execute("COMMIT")

    def _stated(self, kind: type[T], table: str, column: str, value: object) -> T | None:
        """The value of a row that is as the ledger says. Raises `StateDiffers`."""
        with self._snapshot() as reader:
            row = row_where(reader.execute, table, column, value)
            wrong = None if row is None else difference_of(reader.execute, table, row)
        if wrong is not None:
            raise StateDiffers(wrong)
        return None if row is None else decode(kind, row["body"])

    def differences(self, tables: Sequence[str]) -> list[StateDifference]:
        with self._snapshot() as reader:
            return differences(reader.execute, tables)

    def close_readers(self) -> None:
        for reader in self._readers:
            reader.close()
