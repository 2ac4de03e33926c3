"""Rows as they are read, each thread on a connection of its own that cannot write."""

import sqlite3
import threading
from pathlib import Path
from typing import Any, TypeVar

from qwed.stores.bodies import decode
from qwed.stores.sqlite.file import connect_reader, unavailable

T = TypeVar("T")
Row = tuple[Any, ...]


class Rows:
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

    def close_readers(self) -> None:
        for reader in self._readers:
            reader.close()
