"""The commons on Redis: rate limits that all processes share, and events that all of them hear.

Redis that cannot be reached means that requests cannot be counted: then nothing is let through, until it
answers again. What it forgets (a flush, a restart) is counted anew; budgets are not kept here.
"""

import asyncio
import contextlib
import secrets
from importlib import resources
from typing import Final

import msgspec
from redis import asyncio as redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import NoScriptError, RedisError

from qwed.domain.policy import RateLimit
from qwed.gateway.kernel.coroutines import run
from qwed.gateway.kernel.events import Event, EventHub
from qwed.gateway.kernel.ports import LimiterUnavailable
from qwed.gateway.kernel.rate_limits import ALLOWED, Allowed, Limited
from qwed.stores.background import BackgroundLoop

TIMEOUT_SECONDS: Final = 1.0
#: How often Redis is asked whether it is there.
LOOK_SECONDS: Final = 0.25
CHANNEL: Final = "qwed:events"
PREFIX: Final = "qwed:limit:"
MAX_WAITING: Final = 1_000
CONNECTIONS: Final = 8
#: Events of so long go out together: to wake another thread for each costs more than to decide.
GATHER_SECONDS: Final = 0.02

_FAILED: Final = (RedisError, OSError, asyncio.TimeoutError)
_encode: Final = msgspec.json.Encoder(decimal_format="number").encode


class _News(msgspec.Struct):
    sender: str
    events: list[Event]


_decode: Final = msgspec.json.Decoder(_News).decode


class RedisCommons:
    name = "redis"

    def __init__(self, url: str) -> None:
        self._outage: str | None = "Redis has not answered yet"
        self._background = BackgroundLoop("qwed-redis")
        self._client = redis.Redis.from_url(
            url,
            socket_timeout=TIMEOUT_SECONDS,
            socket_connect_timeout=TIMEOUT_SECONDS,
            # One try: who waits for a second one waits for an answer that may come too late.
            retry=Retry(NoBackoff(), 0),
            # Beside those that count: one each to look, to tell and to listen.
            max_connections=CONNECTIONS + 4,
        )
        self._script = resources.files("qwed.stores").joinpath("limit.lua").read_text(encoding="utf-8")
        self._sha = ""
        self._slots = asyncio.Semaphore(CONNECTIONS)
        self.events = SharedHub(self._background.loop)
        self._closed = False
        self._tasks = run(self._background.do(self._start))

    async def _start(self) -> list["asyncio.Task[None]"]:
        await self._look()
        loop = asyncio.get_running_loop()
        return [loop.create_task(work()) for work in (self._watch, self._listen, self._tell)]

    # --- is it there? --------------------------------------------------------------------------

    def outage(self) -> str | None:
        return self._outage

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            await self._look()

    async def _look(self) -> None:
        try:
            async with asyncio.timeout(TIMEOUT_SECONDS):
                # It forgets scripts when it starts anew.
                self._sha = await self._client.script_load(self._script)
            self._outage = None
        except _FAILED as error:
            self._fail(error)

    def _fail(self, error: BaseException) -> None:
        text = str(error).split("\n", 1)[0] or type(error).__name__
        self._outage = f"Redis does not answer: {text}"

    # --- limits --------------------------------------------------------------------------------

    def limiter(self, name: str, rate: RateLimit) -> "RedisLimiter":
        return RedisLimiter(self, f"{PREFIX}{name}:", rate)

    async def count(self, key: str, rate: RateLimit) -> Allowed | Limited:
        """Raises `LimiterUnavailable`."""
        return await self._background.do(lambda: self._count(key, rate))

    async def _count(self, key: str, rate: RateLimit) -> Allowed | Limited:
        window = round(rate.window_seconds * 1_000_000)
        try:
            async with asyncio.timeout(TIMEOUT_SECONDS), self._slots:
                wait = await self._evaluate(key, rate.limit, window)
        except _FAILED as error:
            self._fail(error)
            raise LimiterUnavailable(self.name, "requests can't be counted: Redis does not answer") from error
        return ALLOWED if wait == 0 else Limited(wait / 1_000_000)

    async def _evaluate(self, key: str, limit: int, window: int) -> int:
        try:
            return int(await self._client.evalsha(self._sha, 1, key, str(limit), str(window)))
        except NoScriptError:
            return int(await self._client.eval(self._script, 1, key, str(limit), str(window)))

    # --- events --------------------------------------------------------------------------------

    async def _tell(self) -> None:
        """Whatever waits goes out as one message. Events are best effort: the record is the truth."""
        while True:
            waiting = await self.events.waiting()
            with contextlib.suppress(*_FAILED):
                await self._client.publish(CHANNEL, _encode(_News(self.events.sender, waiting)))

    async def _listen(self) -> None:
        while True:
            pubsub = self._client.pubsub(ignore_subscribe_messages=True)
            try:
                await pubsub.subscribe(CHANNEL)
                while True:
                    message = await pubsub.get_message(timeout=TIMEOUT_SECONDS / 2)
                    if message is not None:
                        self._heard(message["data"])
            except _FAILED as error:
                self._fail(error)
                await asyncio.sleep(LOOK_SECONDS)
            finally:
                with contextlib.suppress(*_FAILED):
                    await pubsub.aclose()

    def _heard(self, data: bytes) -> None:
        # Where nobody listens, nobody has to read what the others say.
        if not self.events.is_heard_here:
            return
        try:
            news = _decode(data)
        except msgspec.MsgspecError:
            return
        if news.sender != self.events.sender:
            for event in news.events:
                self.events.offer(event)

    def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        run(self._background.do(self._stop))
        self._background.stop()

    async def _stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        with contextlib.suppress(*_FAILED):
            await self._client.aclose()


class RedisLimiter:
    """At most `limit` hits of a key in any window, counted by all processes together."""

    def __init__(self, commons: RedisCommons, prefix: str, rate: RateLimit) -> None:
        self._commons = commons
        self._prefix = prefix
        self._rate = rate

    async def hit(self, key: str) -> Allowed | Limited:
        return await self._commons.count(self._prefix + key, self._rate)


class SharedHub(EventHub):
    """Listeners of this process hear at once; those of others through Redis."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__()
        self.sender = secrets.token_hex(8)
        self._loop = loop
        self._waiting: list[Event] = []
        self._arrived = asyncio.Event()

    @property
    def is_heard(self) -> bool:
        # Nobody knows who listens elsewhere.
        return True

    @property
    def is_heard_here(self) -> bool:
        return super().is_heard

    def publish(self, event: Event) -> None:
        self.offer(event)
        if len(self._waiting) < MAX_WAITING:
            self._waiting.append(event)
            if len(self._waiting) == 1:
                with contextlib.suppress(RuntimeError):
                    self._loop.call_soon_threadsafe(self._arrived.set)

    def offer(self, event: Event) -> None:
        super().publish(event)

    async def waiting(self) -> list[Event]:
        await self._arrived.wait()
        await asyncio.sleep(GATHER_SECONDS)
        self._arrived.clear()
        waiting, self._waiting = self._waiting, []
        return waiting
