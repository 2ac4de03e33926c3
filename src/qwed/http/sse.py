"""Listening to what happens: server-sent events, and waits for one answer."""

import asyncio
import contextlib
import threading
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Final

from qwed.domain.agents import AgentId, PrincipalId
from qwed.domain.approvals import ApprovalStatus
from qwed.domain.credentials import Caller, Scope
from qwed.gateway.kernel.events import Event, EventHub, Subscription
from qwed.gateway.kernel.wire import encode_json

PING_SECONDS: Final = 15.0
#: How soon a listener notices that the server stops: a stop must not wait for those who listen.
LOOK_SECONDS: Final = 1.0
MAX_STREAMS: Final = 16
#: A principal has one of so many parts of the share.
PARTS: Final = 4
MAX_FRAMES: Final = 256


class Arrivals:
    """One caller's events, within its walls."""

    def __init__(self, subscription: Subscription, arrived: asyncio.Event, stopping: threading.Event) -> None:
        self._subscription = subscription
        self._arrived = arrived
        self._stopping = stopping

    @property
    def is_over(self) -> bool:
        return self._stopping.is_set()

    async def next(self) -> list[Event]:
        """What arrived, or nothing after a short while."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._arrived.wait(), LOOK_SECONDS)
        self._arrived.clear()
        return self._subscription.take()

    async def approval(self, approval_id: str, seconds: float) -> None:
        """Until this approval is no longer open, the time is over, or the server stops."""
        deadline = asyncio.get_running_loop().time() + seconds
        while not self.is_over and asyncio.get_running_loop().time() < deadline:
            for event in await self.next():
                if event["type"] != "approval" or event["approval"]["id"] != approval_id:
                    continue
                # A reminder, or one vote of several, is no answer.
                if event["approval"]["status"] != ApprovalStatus.OPEN:
                    return


def may_still_listen(began: Caller, now: Caller) -> bool:
    """Whether a stream that `began` opened is still theirs: somebody who changed groups opens another."""
    if began.agent_id is None and not now.may(Scope.READ):
        return False
    return _heard_by(began) == _heard_by(now)


def _heard_by(caller: Caller) -> tuple[PrincipalId | None, AgentId | None]:
    """What a caller hears of: an operator of everything."""
    return None if caller.is_operator else caller.principal_id, caller.agent_id


@contextlib.asynccontextmanager
async def listening(hub: EventHub, caller: Caller, stopping: threading.Event) -> AsyncIterator[Arrivals]:
    loop = asyncio.get_running_loop()
    arrived = asyncio.Event()
    subscription = Subscription(*_heard_by(caller), lambda: loop.call_soon_threadsafe(arrived.set))
    hub.subscribe(subscription)
    try:
        yield Arrivals(subscription, arrived, stopping)
    finally:
        hub.unsubscribe(subscription)


class Frames:
    """Events as they are sent, written once for everybody who hears them."""

    def __init__(self) -> None:
        # The event is kept with its frame, so that no other can come to have its identity meanwhile.
        self._kept: dict[int, tuple[Event, bytes]] = {}

    def of(self, event: Event) -> bytes:
        kept = self._kept.get(id(event))
        if kept is None:
            frame = b"event: " + str(event["type"]).encode() + b"\ndata: " + encode_json(event) + b"\n\n"
            if len(self._kept) >= MAX_FRAMES:
                self._kept.clear()
            kept = self._kept[id(event)] = (event, frame)
        return kept[1]


class Listeners:
    """Event streams and long polls: connections on which nothing happens for long. All of them together have
    a share of the connections, and no principal has more than a part of that share."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._most_of_one = max(1, most // PARTS)
        self._waiting: Counter[str] = Counter()
        self._streams: Counter[str] = Counter()
        self.frames = Frames()

    def is_full(self, caller: Caller) -> bool:
        if self._waiting.total() >= self._most:
            return True
        return self._waiting[_owner(caller)] >= self._most_of_one

    def has_enough_streams(self, caller: Caller) -> bool:
        return self._streams[caller.name] >= MAX_STREAMS

    @contextlib.contextmanager
    def one_more(self, caller: Caller) -> Iterator[None]:
        with _count(self._waiting, _owner(caller)):
            yield

    @contextlib.contextmanager
    def one_more_stream(self, caller: Caller) -> Iterator[None]:
        with self.one_more(caller), _count(self._streams, caller.name):
            yield


def _owner(caller: Caller) -> str:
    return caller.name if caller.principal_id is None else f"principal {caller.principal_id}"


@contextlib.contextmanager
def _count(counts: Counter[str], name: str) -> Iterator[None]:
    counts[name] += 1
    try:
        yield
    finally:
        counts[name] -= 1
        if not counts[name]:
            # Who is gone is forgotten.
            del counts[name]


async def event_stream(
    hub: EventHub,
    caller: Caller,
    stopping: threading.Event,
    is_welcome: Callable[[], Awaitable[bool]],
    frames: Frames,
) -> AsyncIterator[bytes]:
    """Frames until the client leaves, its credential ends or the server stops; a comment now and then
    keeps proxies awake. Nothing is sent before `is_welcome` has said yes again."""
    async with listening(hub, caller, stopping) as arrivals:
        yield b": connected\n\n"
        quiet_seconds = 0.0
        while not arrivals.is_over:
            events = await arrivals.next()
            if not await is_welcome():
                return
            if events:
                yield b"".join([frames.of(event) for event in events])
            quiet_seconds = 0.0 if events else quiet_seconds + LOOK_SECONDS
            if quiet_seconds >= PING_SECONDS:
                quiet_seconds = 0.0
                yield b": still here\n\n"
