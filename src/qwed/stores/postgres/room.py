"""Whether the database has room for another record."""

import os
from typing import Any, Final

import asyncpg

from qwed.gateway.kernel.ports import StoreUnavailable

#: What a server says when it can't extend a file.
_NO_ROOM: Final = (asyncpg.DiskFullError, asyncpg.PostgresIOError)
_TRIAL_BYTES: Final = 256 * 1024


class Room:
    """Remembers that a record found no room, until as much is written for trial."""

    def __init__(self) -> None:
        self.is_missing = False

    def note(self, error: StoreUnavailable) -> None:
        if isinstance(error.__cause__, _NO_ROOM):
            self.is_missing = True

    async def require(self, connection: Any) -> None:
        """Raises `StoreUnavailable` while there is none."""
        if not self.is_missing:
            return
        trial = connection.transaction()
        await trial.start()
        try:
            # Not to be compressed; nobody ever sees it.
            await connection.execute("INSERT INTO shared_facts VALUES ('', $1)", os.urandom(_TRIAL_BYTES))
        except _NO_ROOM:
            raise StoreUnavailable("the disk of the database is full") from None
        finally:
            await trial.rollback()
        self.is_missing = False
