"""Connections with an end to everything: to connecting, to a statement, to waiting for a lock.

A store is used from event loops and from plain threads. Each loop has connections of its own (a `Home`);
threads without a loop share one that runs in the background.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any, Final, TypeVar

import asyncpg

from qwed.gateway.kernel.ports import GatewayError, StoreUnavailable

T = TypeVar("T")

CONNECT_SECONDS: Final = 3.0
#: How long the client waits for an answer; the server gives up sooner and says so.
ANSWER_SECONDS: Final = 4.0
STATEMENT_MS: Final = 3_000
LOCK_MS: Final = 2_000
IDLE_TRANSACTION_MS: Final = 2_000
READERS: Final = 4

# Without a name each, so that a pooler in front may hand a connection on between statements.
SERVER_SETTINGS: Final = {
    "application_name": "qwed",
    "statement_timeout": str(STATEMENT_MS),
    "lock_timeout": str(LOCK_MS),
    "idle_in_transaction_session_timeout": str(IDLE_TRANSACTION_MS),
    # Joined by index whatever the first statistics say; compiling a plan costs more than these plans do.
    "jit": "off",
}

#: For what only holds and claims, in tables that a crash empties. Such a transaction need not reach the disk,
#: but whoever reads a page of `days`, `seconds` or `standings` also tidies it up (pruning), which is logged:
#: then the transaction has written to the log, and its end would wait for a flush.
PASSING: Final = {"synchronous_commit": "off"}

#: What ends a connection or a statement from outside.
LOST: Final = (
    OSError,
    asyncio.TimeoutError,
    asyncpg.InterfaceError,
    # What the client says when the server ends a connection between two statements.
    asyncpg.InternalClientError,
    asyncpg.PostgresConnectionError,
    asyncpg.AdminShutdownError,
    asyncpg.CrashShutdownError,
    asyncpg.CannotConnectNowError,
)
FAILED: Final = (*LOST, asyncpg.PostgresError, UnicodeError, OverflowError, ValueError)


def is_lost(error: BaseException) -> bool:
    """Whether nobody knows what became of a statement. A value that can't be sent never was."""
    return isinstance(error, LOST) and not isinstance(error, ValueError)


@contextmanager
def unavailable() -> Iterator[None]:
    """What the database can't do, in the words of the port."""
    try:
        yield
    except StoreUnavailable:
        raise
    except FAILED as error:
        text = str(error).split("\n", 1)[0] or type(error).__name__
        raise StoreUnavailable(f"the database cannot do this: {text}") from error


async def connect(url: str, **settings: str) -> "asyncpg.Connection[Any]":
    return await asyncpg.connect(
        url,
        timeout=CONNECT_SECONDS,
        command_timeout=ANSWER_SECONDS,
        server_settings={**SERVER_SETTINGS, **settings},
    )


async def connect_for_long(url: str, milliseconds: int = 0) -> "asyncpg.Connection[Any]":
    """For work on whole tables: a statement may take so long; 0 for as long as it takes."""
    settings = {"statement_timeout": str(milliseconds), "idle_in_transaction_session_timeout": "0"}
    return await asyncpg.connect(
        url,
        timeout=CONNECT_SECONDS,
        command_timeout=milliseconds / 1000 + ANSWER_SECONDS if milliseconds else None,
        server_settings={**SERVER_SETTINGS, **settings},
    )


class LiveConnection:
    """One connection that is kept open, for work that is done one piece after the other."""

    def __init__(self, url: str, **settings: str) -> None:
        self._url = url
        self._settings = settings
        self._connection: asyncpg.Connection[Any] | None = None

    async def connection(self) -> "asyncpg.Connection[Any]":
        if self._connection is None or self._connection.is_closed():
            self._connection = await connect(self._url, **self._settings)
        return self._connection

    def drop(self) -> None:
        """After an error nobody knows what it is in the middle of."""
        if self._connection is not None:
            self._connection.terminate()
            self._connection = None

    async def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None and not connection.is_closed():
            try:
                await connection.close(timeout=CONNECT_SECONDS)
            except FAILED:
                connection.terminate()


class Readers:
    """A few lines for reading and for rare changes; who finds none free waits, but not for ever."""

    def __init__(self, url: str, count: int = READERS, **settings: str) -> None:
        self._lines = [LiveConnection(url, **settings) for _ in range(count)]
        self._free = list(self._lines)
        self._turn = asyncio.Condition()

    @asynccontextmanager
    async def one(self) -> AsyncIterator["asyncpg.Connection[Any]"]:
        async with asyncio.timeout(ANSWER_SECONDS):
            line = await self._take()
        try:
            yield await line.connection()
        except BaseException as error:
            # A refused statement or record leaves the connection as it was; anything else does not.
            if not isinstance(error, asyncpg.PostgresError | GatewayError) or is_lost(error):
                line.drop()
            raise
        finally:
            self._free.append(line)
            async with self._turn:
                self._turn.notify()

    async def _take(self) -> LiveConnection:
        async with self._turn:
            await self._turn.wait_for(lambda: bool(self._free))
            return self._free.pop()

    async def close(self) -> None:
        for line in self._lines:
            await line.close()

    def drop(self) -> None:
        for line in self._lines:
            line.drop()
