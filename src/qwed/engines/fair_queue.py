"""Who is served next, so that nobody waits behind another's backlog.

Clients take turns; each has at most one item in flight and a few waiting. An item of no client
(`None`) is its own client: nothing is known that would hold it back. Not thread-safe by itself.
"""

from collections import OrderedDict, deque
from collections.abc import Hashable
from typing import Generic, TypeVar

Item = TypeVar("Item")


class _Anonymous:
    """A client of a single item."""


class FairQueue(Generic[Item]):
    def __init__(self, *, max_waiting: int, max_waiting_per_client: int) -> None:
        self._max_waiting = max_waiting
        self._max_waiting_per_client = max_waiting_per_client
        # The order of the keys is the order of turns; clients in flight are set aside.
        self._ready: OrderedDict[Hashable, deque[Item]] = OrderedDict()
        self._held_back: dict[Hashable, deque[Item]] = {}
        self._waiting = 0

    def __len__(self) -> int:
        return self._waiting

    def put(self, item: Item, client: Hashable = None) -> bool:
        """Whether the item was taken in; False when it or its client has too many waiting."""
        client = _Anonymous() if client is None else client
        if self._waiting >= self._max_waiting:
            return False
        lane = self._held_back.get(client)
        if lane is None:
            lane = self._ready.setdefault(client, deque())
        if len(lane) >= self._max_waiting_per_client:
            return False
        lane.append(item)
        self._waiting += 1
        return True

    def take(self) -> tuple[Hashable, Item] | None:
        """The next client's oldest item; the client is held back until `finish(client)`."""
        if not self._ready:
            return None
        client, lane = self._ready.popitem(last=False)
        item = lane.popleft()
        self._held_back[client] = lane
        self._waiting -= 1
        return client, item

    def finish(self, client: Hashable) -> None:
        lane = self._held_back.pop(client)
        if lane:
            self._ready[client] = lane

    def drain(self) -> list[Item]:
        """Everything that waits, taken out."""
        lanes = [*self._ready.values(), *self._held_back.values()]
        items = [item for lane in lanes for item in lane]
        for lane in lanes:
            lane.clear()
        self._ready.clear()
        self._waiting = 0
        return items
