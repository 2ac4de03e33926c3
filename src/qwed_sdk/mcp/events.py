"""What was said on the streams of a session, kept for a client that lost its connection (`Last-Event-ID`)."""

import itertools
from collections import deque
from typing import Final

from mcp.server.streamable_http import EventCallback, EventMessage, EventStore
from mcp_types import JSONRPCMessage

MAX_EVENTS: Final = 512
MAX_BYTES: Final = 24 * 1024 * 1024


class RecentEvents(EventStore):
    """The last ones, within bounds of number and size. An event that is gone cannot be gone back to."""

    def __init__(self) -> None:
        self._events: deque[tuple[str, str, JSONRPCMessage | None, int]] = deque()
        self._bytes = 0
        self._numbers = itertools.count(1)

    async def store_event(self, stream_id: str, message: JSONRPCMessage | None) -> str:
        event_id = str(next(self._numbers))
        size = 0 if message is None else len(message.model_dump_json())
        self._events.append((event_id, stream_id, message, size))
        self._bytes += size
        while len(self._events) > MAX_EVENTS or self._bytes > MAX_BYTES:
            self._bytes -= self._events.popleft()[3]
        return event_id

    async def replay_events_after(self, last_event_id: str, send_callback: EventCallback) -> str | None:
        kept = list(self._events)
        found = next((index for index, event in enumerate(kept) if event[0] == last_event_id), None)
        if found is None:
            return None
        stream = kept[found][1]
        for event_id, of_stream, message, _ in kept[found + 1 :]:
            if of_stream == stream and message is not None:
                await send_callback(EventMessage(message, event_id))
        return stream
