"""How tables are reached: on the caller's thread, or through reader threads and one writer.

Group commit: whatever waits when the writer is free becomes one transaction, so that concurrent
decisions share one flush to the disk. Nobody is woken before it.
"""

import asyncio
import itertools
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol, TypeVar

from qwed.gateway.kernel.coroutines import Ticket, wake
from qwed.gateway.kernel.ports import StoreUnavailable
from qwed.gateway.kernel.records import Record
from qwed.stores.tables import Tables

T = TypeVar("T")
Applied = Callable[[bool], None]

MAX_GROUP = 256


class StoreAccess(Protocol):
    async def read(self, call: Callable[..., T], *args: Any) -> T: ...

    async def write(self, record: Record, applied: Applied) -> None:
        """Durable before it returns. `applied(ok)` runs once, also when the waiter is cancelled."""
        ...

    async def change(self, call: Callable[..., T], *args: Any) -> T:
        """A change that is no record, made where records are written: one after the other."""
        ...

    @property
    def tables(self) -> Tables: ...

    def close(self) -> None: ...


class InlineAccess:
    """For tables in memory: nothing to wait for."""

    def __init__(self, tables: Tables) -> None:
        self.tables = tables

    async def read(self, call: Callable[..., T], *args: Any) -> T:
        return call(*args)

    async def write(self, record: Record, applied: Applied) -> None:
        try:
            self.tables.write([record])
        except BaseException:
            applied(False)
            raise
        applied(True)

    async def change(self, call: Callable[..., T], *args: Any) -> T:
        return call(*args)

    def close(self) -> None:
        self.tables.close()


class _Write:
    __slots__ = ("applied", "record", "ticket")

    def __init__(self, record: Record, applied: Applied) -> None:
        self.record, self.applied = record, applied
        self.ticket: Ticket[None] = Ticket()

    def end(self, error: BaseException | None) -> None:
        try:
            self.applied(error is None)
        # The writer serves everybody: a defect in applying one record must not end it.
        except Exception as defect:  # noqa: BLE001
            error = error or defect
        self.ticket.bring(None, error)


class _Change:
    __slots__ = ("_call", "ticket")

    def __init__(self, call: Callable[[], Any]) -> None:
        self._call = call
        self.ticket: Ticket[Any] = Ticket()

    def make(self) -> None:
        try:
            self.ticket.bring(self._call())
        except BaseException as error:  # noqa: BLE001 - carried to whoever waits for it
            self.ticket.bring(None, error)
        wake((self.ticket,))

    def refuse(self, error: BaseException) -> None:
        self.ticket.bring(None, error)
        wake((self.ticket,))


class ThreadedAccess:
    """For tables on a disk: a few readers, and one writer that owns every change."""

    def __init__(self, tables: Tables, *, readers: int = 2, max_waiting: int = 4096) -> None:
        self.tables = tables
        self._readers = ThreadPoolExecutor(readers, "qwed-read")
        self._waiting: deque[_Write] = deque()
        self._changes: deque[_Change] = deque()
        self._work = threading.Event()
        #: The event loop that will call the writer, once it has nothing else to do.
        self._called: asyncio.AbstractEventLoop | None = None
        self._max_waiting = max_waiting
        self._closed = False
        self._writer = threading.Thread(target=self._write_groups, name="qwed-write", daemon=True)
        self._writer.start()

    async def read(self, call: Callable[..., T], *args: Any) -> T:
        ticket: Ticket[T] = Ticket()

        def work() -> None:
            try:
                ticket.bring(call(*args))
            except BaseException as error:  # noqa: BLE001 - carried to the waiter, whatever it is
                ticket.bring(None, error)
            wake((ticket,))

        self._submit(work)
        return await ticket

    def _submit(self, work: Callable[[], None]) -> None:
        try:
            self._readers.submit(work)
        except RuntimeError:
            raise StoreUnavailable("the store is closed") from None

    async def write(self, record: Record, applied: Applied) -> None:
        if self._closed or len(self._waiting) >= self._max_waiting:
            applied(False)
            raise StoreUnavailable("the store is closed" if self._closed else "too many writes are waiting")
        write = _Write(record, applied)
        self._waiting.append(write)
        self._call_writer(write.ticket.loop)
        if not self._writer.is_alive():
            # Closed in between: nobody would ever come for it.
            self._refuse_the_rest()
        await write.ticket

    async def change(self, call: Callable[..., T], *args: Any) -> T:
        if self._closed:
            raise StoreUnavailable("the store is closed")
        change = _Change(lambda: call(*args))
        self._changes.append(change)
        self._work.set()
        if not self._writer.is_alive():
            self._refuse_the_rest()
        result: T = await change.ticket
        return result

    def _call_writer(self, loop: asyncio.AbstractEventLoop | None) -> None:
        """Under asyncio the writer is called once the loop has nothing else to do just now: requests that
        arrived together share a flush, and the two threads do not fight for the interpreter."""
        if loop is None:
            # A writer that was called and has not come yet will see this write too.
            if not self._work.is_set():
                self._work.set()
        elif self._called is not loop:
            self._called = loop
            loop.call_soon(self._call_now)

    def _call_now(self) -> None:
        self._called = None
        self._work.set()

    def _write_groups(self) -> None:
        while self._wait_for_work():
            self._make_changes()
            group = self._next_group()
            if not group:
                continue
            error = self._write(group)
            # Nobody pays for what is wrong with another's record: a group that fails is written one by one.
            errors = (
                [error] if error is None or len(group) == 1 else [self._write([write]) for write in group]
            )
            for write, error in zip(group, itertools.cycle(errors), strict=False):
                write.end(error)
            wake(write.ticket for write in group)

    def _write(self, group: list[_Write]) -> BaseException | None:
        try:
            self.tables.write([write.record for write in group])
        except BaseException as error:  # noqa: BLE001 - carried to whoever waits for it
            return error
        return None

    def _wait_for_work(self) -> bool:
        """False when the store is closed and nothing is left."""
        while not self._waiting and not self._changes:
            if self._closed:
                return False
            self._work.wait()
            self._work.clear()
        return True

    def _make_changes(self) -> None:
        """Those that wait now, and no more: decisions wait behind them."""
        for _ in range(len(self._changes)):
            self._changes.popleft().make()

    def _next_group(self) -> list[_Write]:
        return [self._waiting.popleft() for _ in range(min(MAX_GROUP, len(self._waiting)))]

    def _refuse_the_rest(self) -> None:
        late = [self._waiting.popleft() for _ in range(len(self._waiting))]
        for write in late:
            write.end(StoreUnavailable("the store is closed"))
        wake(write.ticket for write in late)
        while self._changes:
            self._changes.popleft().refuse(StoreUnavailable("the store is closed"))

    def close(self) -> None:
        """Finish what was accepted, then let go."""
        if self._closed:
            return
        self._closed = True
        self._work.set()
        self._writer.join()
        self._refuse_the_rest()
        self._readers.shutdown()
        self.tables.close()
