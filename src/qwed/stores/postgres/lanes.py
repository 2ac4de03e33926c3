"""A lane: one batch at a time on one connection; what arrives meanwhile becomes the next batch."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any, Generic, TypeVar

import asyncpg

from qwed.gateway.kernel.ports import StoreUnavailable
from qwed.stores.postgres.connections import LiveConnection, unavailable

T = TypeVar("T")
R = TypeVar("R")


class LaneJob(Generic[T, R]):
    """Something to be done, and whoever waits for it."""

    __slots__ = ("_failed", "_future", "what")

    def __init__(self, what: T, failed: Callable[[T], None] | None = None) -> None:
        self.what = what
        self._failed = failed
        self._future: asyncio.Future[R] = asyncio.get_running_loop().create_future()

    def bring(self, result: R) -> None:
        if not self._future.done():
            self._future.set_result(result)

    def fail(self, error: BaseException) -> None:
        # Also where nobody waits any more.
        if self._failed is not None:
            self._failed(self.what)
        if not self._future.done():
            self._future.set_exception(error)

    async def wait(self) -> R:
        """Whoever stops waiting does not stop the work: that is the lane's."""
        return await self._future


Work = Callable[["asyncpg.Connection[Any]", list[LaneJob[T, R]]], Awaitable[None]]


class Lane(Generic[T, R]):
    """`work` answers every item of its batch, or raises for all that it has not answered."""

    def __init__(
        self,
        url: str,
        work: Work[T, R],
        *,
        max_batch: int,
        max_waiting: int,
        **settings: str,
    ) -> None:
        self._line = LiveConnection(url, **settings)
        self._work = work
        self._max_batch = max_batch
        self._max_waiting = max_waiting
        self._waiting: deque[LaneJob[T, R]] = deque()
        self._runner: asyncio.Task[None] | None = None
        #: Told of everything that was not done.
        self._failed: Callable[[T], None] | None = None
        self._closed = False

    def tell_of_failures(self, failed: Callable[[T], None]) -> None:
        self._failed = failed

    async def put(self, what: T) -> R:
        item: LaneJob[T, R] = LaneJob(what, self._failed)
        if self._closed or len(self._waiting) >= self._max_waiting:
            item.fail(
                StoreUnavailable("the store is closed" if self._closed else "too many writes are waiting")
            )
            return await item.wait()
        self._waiting.append(item)
        if self._runner is None:
            self._runner = asyncio.get_running_loop().create_task(self._run())
        return await item.wait()

    async def _run(self) -> None:
        try:
            while self._waiting:
                count = min(self._max_batch, len(self._waiting))
                await self._do([self._waiting.popleft() for _ in range(count)])
        finally:
            self._runner = None

    async def _do(self, batch: list[LaneJob[T, R]]) -> None:
        try:
            with unavailable():
                await self._work(await self._line.connection(), batch)
        except BaseException as error:  # noqa: BLE001 - carried to whoever waits
            self._line.drop()
            for item in batch:
                item.fail(error if isinstance(error, Exception) else StoreUnavailable("the store is closed"))

    async def close(self) -> None:
        """Finish what was accepted."""
        self._closed = True
        if self._runner is not None:
            await self._runner
        await self._line.close()

    def drop(self) -> None:
        self._closed = True
        self._line.drop()
