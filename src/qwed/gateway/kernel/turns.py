"""Changes that read, decide and write: one at a time per key, under asyncio and in threads alike."""

import threading
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from qwed.gateway.kernel.coroutines import Ticket, wake


class Turns:
    """Whoever changes the same thing waits for its turn, in the order of arrival."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: dict[object, deque[Ticket[None]]] = {}

    @asynccontextmanager
    async def turn(self, key: object) -> AsyncIterator[None]:
        ticket = self._enter(key)
        if ticket is not None:
            try:
                await ticket
            except BaseException:
                self._give_up(key, ticket)
                raise
        try:
            yield
        finally:
            self._leave(key)

    def _enter(self, key: object) -> Ticket[None] | None:
        with self._lock:
            queue = self._waiting.get(key)
            if queue is None:
                self._waiting[key] = deque()
                return None
            ticket: Ticket[None] = Ticket()
            queue.append(ticket)
            return ticket

    def _give_up(self, key: object, ticket: Ticket[None]) -> None:
        """Leave the queue; or pass on the turn, if it had just been given."""
        with self._lock:
            queue = self._waiting.get(key, deque())
            was_waiting = ticket in queue
            if was_waiting:
                queue.remove(ticket)
        if not was_waiting:
            self._leave(key)

    def _leave(self, key: object) -> None:
        with self._lock:
            queue = self._waiting[key]
            following = queue.popleft() if queue else None
            if following is None:
                del self._waiting[key]
        if following is not None:
            following.bring(None)
            wake((following,))
