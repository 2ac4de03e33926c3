"""An event loop on a thread, for callers who have none."""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from qwed.gateway.kernel.coroutines import Ticket, wake
from qwed.gateway.kernel.ports import StoreUnavailable

T = TypeVar("T")


class BackgroundLoop:
    def __init__(self, name: str) -> None:
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        self.loop.run_forever()

    async def do(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Await work of this loop from a thread that has no loop, or from another loop."""
        ticket: Ticket[T] = Ticket()

        def end(task: asyncio.Task[T]) -> None:
            error = asyncio.CancelledError() if task.cancelled() else task.exception()
            ticket.bring(None if error is not None else task.result(), error)
            wake((ticket,))

        def start() -> None:
            self.loop.create_task(work()).add_done_callback(end)

        try:
            self.loop.call_soon_threadsafe(start)
        except RuntimeError:
            raise StoreUnavailable("the store is closed") from None
        return await ticket

    def stop(self) -> None:
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join()
        self.loop.close()
