"""Server-sent events: what just happened, within the caller's walls."""

import asyncio
import threading
from collections.abc import AsyncIterator
from typing import Final

from qwed.domain.credentials import Caller
from qwed.gateway.events import EventHub, Subscription
from qwed.gateway.wire import encode_json

PING_SECONDS: Final = 15.0
#: How soon a stream notices that the server stops: a stop must not wait for those who listen.
LOOK_SECONDS: Final = 1.0


async def event_stream(hub: EventHub, caller: Caller, stopping: threading.Event) -> AsyncIterator[bytes]:
    """Frames until the client leaves or the server stops; a comment now and then keeps proxies awake."""
    loop = asyncio.get_running_loop()
    arrived = asyncio.Event()

    def wake() -> None:
        loop.call_soon_threadsafe(arrived.set)

    principal = None if caller.is_operator else caller.principal_id
    subscription = Subscription(principal, caller.agent_id, wake)
    hub.subscribe(subscription)
    try:
        yield b": connected\n\n"
        quiet_seconds = 0.0
        while not stopping.is_set():
            try:
                await asyncio.wait_for(arrived.wait(), LOOK_SECONDS)
            except TimeoutError:
                quiet_seconds += LOOK_SECONDS
                if quiet_seconds >= PING_SECONDS:
                    quiet_seconds = 0.0
                    yield b": still here\n\n"
                continue
            arrived.clear()
            for event in subscription.take():
                yield b"event: " + str(event["type"]).encode() + b"\ndata: " + encode_json(event) + b"\n\n"
    finally:
        hub.unsubscribe(subscription)
