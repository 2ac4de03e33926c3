"""Changes that read, decide and write: one at a time per key, across all processes on one database."""

import contextlib
import hashlib
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from qwed.gateway.kernel.ports import StoreUnavailable
from qwed.gateway.kernel.turns import Turns
from qwed.stores.postgres.store import PostgresStore

PATIENCE_SECONDS: Final = 5.0


class PostgresTurns(Turns):
    """In this process by waiting in line, between processes by a lock that ends with its session."""

    def __init__(self, store: PostgresStore) -> None:
        super().__init__()
        self._store = store

    @asynccontextmanager
    async def turn(self, key: object) -> AsyncIterator[None]:
        number = _number(key)
        async with super().turn(key):
            await self._take(number)
            self._store.turn_taken(key)
            try:
                yield
            finally:
                # Where it can't be said, the session has ended, and the lock with it.
                with contextlib.suppress(StoreUnavailable):
                    await self._store.on_turns("unlock_turn", number)

    async def _take(self, number: int) -> None:
        end = time.monotonic() + PATIENCE_SECONDS
        while not await self._store.on_turns("lock_turn", number):
            if time.monotonic() > end:
                raise StoreUnavailable("somebody else is changing the same thing for too long")


def _number(key: object) -> int:
    """The same for everybody who means the same thing."""
    return int.from_bytes(hashlib.sha256(repr(key).encode()).digest()[:8], signed=True)
