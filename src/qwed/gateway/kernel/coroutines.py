"""Use cases are coroutines that run under asyncio and without it.

A port that has to wait for another thread awaits a `Ticket`. Under asyncio it parks the task; under
`run` it blocks the calling thread. So there is one text for the server and for in-process use.
"""

import asyncio
import threading
import time
from collections.abc import Callable, Coroutine, Generator, Iterable
from typing import Any, Final, Generic, TypeVar

T = TypeVar("T")


class Ticket(Generic[T]):
    """A result that another thread will bring, exactly once."""

    __slots__ = ("_arrived", "_error", "_future", "_result", "loop")

    def __init__(self) -> None:
        self._result: T | None = None
        self._error: BaseException | None = None
        self.loop = asyncio._get_running_loop()
        if self.loop is None:
            # A lock that is released when the answer is there: the cheapest thing a thread can wait on.
            self._arrived = threading.Lock()
            self._arrived.acquire()
        else:
            self._future: asyncio.Future[None] = self.loop.create_future()

    def __await__(self) -> Generator[Any, None, T]:
        if self.loop is None:
            yield self
        else:
            yield from self._future
        if self._error is not None:
            raise self._error
        return self._result  # type: ignore[return-value]

    def block(self) -> None:
        self._arrived.acquire()

    def bring(self, result: T | None, error: BaseException | None = None) -> None:
        """Store the answer; `wake` tells the waiter."""
        self._result, self._error = result, error

    def _wake_here(self) -> None:
        # The waiter may have been cancelled meanwhile; what it asked for is done all the same.
        if not self._future.done():
            self._future.set_result(None)


def wake(tickets: Iterable[Ticket[Any]]) -> None:
    """Wake all waiters, crossing into each event loop only once."""
    by_loop: dict[asyncio.AbstractEventLoop, list[Ticket[Any]]] = {}
    for ticket in tickets:
        if ticket.loop is None:
            ticket._arrived.release()
        else:
            by_loop.setdefault(ticket.loop, []).append(ticket)
    for loop, waiting in by_loop.items():
        try:
            loop.call_soon_threadsafe(_wake_all, waiting)
        except RuntimeError:
            # The loop closed under its own tasks: nobody is left to be told.
            continue


def _wake_all(tickets: list[Ticket[Any]]) -> None:
    for ticket in tickets:
        ticket._wake_here()


async def pause(seconds: float) -> None:
    """Let time pass, with a loop or without one."""
    if asyncio._get_running_loop() is None:
        time.sleep(seconds)
    else:
        await asyncio.sleep(seconds)


async def breathe() -> None:
    """Let others have the loop, if there is one."""
    ticket: Ticket[None] = Ticket()
    ticket.bring(None)
    wake((ticket,))
    await ticket


_ABANDONED: Final = object()


class SingleFlight:
    """Work under one key is done by one caller at a time; the others wait for it and share its result."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: dict[object, list[Ticket[Any]]] = {}

    async def do(self, key: object, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        while (ticket := self._join(key)) is not None:
            shared: Any = await ticket
            if shared is not _ABANDONED:
                return shared  # type: ignore[no-any-return]
        # A leader that is cancelled fails nobody else: one of those who wait takes over.
        result: Any = _ABANDONED
        error: Exception | None = None
        try:
            result = await work()
        except Exception as failure:
            error = failure
            raise
        finally:
            with self._lock:
                waiters = self._waiting.pop(key)
            for waiter in waiters:
                waiter.bring(result, error)
            wake(waiters)
        return result  # type: ignore[no-any-return]

    def _join(self, key: object) -> Ticket[Any] | None:
        """A ticket for the result of whoever is at work; None where nobody is, and this caller leads."""
        with self._lock:
            waiting = self._waiting.get(key)
            if waiting is None:
                self._waiting[key] = []
                return None
            ticket: Ticket[Any] = Ticket()
            waiting.append(ticket)
            return ticket


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    """Drive a use case to its end on this thread, without an event loop."""
    # A caller's own loop, if this thread runs one, is not ours to wait on.
    foreign = asyncio._get_running_loop()
    if foreign is not None:
        asyncio._set_running_loop(None)
    try:
        while True:
            ticket = coroutine.send(None)
            ticket.block()
    except StopIteration as finished:
        return finished.value  # type: ignore[no-any-return]
    finally:
        coroutine.close()
        if foreign is not None:
            asyncio._set_running_loop(foreign)
