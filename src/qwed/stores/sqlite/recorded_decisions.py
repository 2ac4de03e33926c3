"""A store's decisions, in their order, with what they were made from: read without owning the file."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Final

_BATCH: Final = 1_000


def count_activities(path: Path) -> int:
    with closing(_open(path)) as connection:
        return int(connection.execute("SELECT count(*) FROM activities").fetchone()[0])


def read_payloads(path: Path) -> Iterator[bytes]:
    """In constant memory. Raises `sqlite3.Error`."""
    with closing(_open(path)) as connection:
        rows = connection.execute("SELECT payload FROM activities ORDER BY seq")
        while batch := rows.fetchmany(_BATCH):
            yield from (row[0] for row in batch)


def read_shared(path: Path) -> dict[str, bytes]:
    with closing(_open(path)) as connection:
        return dict(connection.execute("SELECT digest, body FROM shared_facts"))


def _open(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"file:{path}?mode=ro", uri=True)
