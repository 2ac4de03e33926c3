"""Who is served next, so that nobody waits behind another's backlog.

Principals take turns, and within a principal its agents do. An agent has one item in flight and a few
waiting. A principal has a share of what can be in flight and of the places to wait, however many agents it
has: what is left belongs to the others, also while none of them is there. An item of no client (`None`) is
its own client: nothing is known that would hold it back. Not thread-safe by itself.
"""

from collections import OrderedDict, deque
from typing import Generic, NamedTuple, TypeVar

Item = TypeVar("Item")


class Client(NamedTuple):
    """Whose item it is."""

    principal: str
    agent: str


class _Anonymous:
    """A principal of a single item."""


class Share(NamedTuple):
    """What may be in flight and waiting: in all, for one principal, and waiting for one agent."""

    in_flight_of_principal: int
    waiting: int
    waiting_of_principal: int
    waiting_of_agent: int


class _Lane(Generic[Item]):
    """One principal: its agents whose turn may come, and those that are in flight, each with what waits."""

    def __init__(self) -> None:
        # The order of the keys is the order of turns.
        self.ready: OrderedDict[object, deque[Item]] = OrderedDict()
        self.held_back: dict[object, deque[Item]] = {}
        self.waiting = 0

    @property
    def is_empty(self) -> bool:
        return not self.waiting and not self.held_back

    def items_of(self, agent: object) -> deque[Item]:
        held = self.held_back.get(agent)
        return self.ready.setdefault(agent, deque()) if held is None else held

    def take(self) -> tuple[object, Item]:
        agent, items = self.ready.popitem(last=False)
        self.held_back[agent] = items
        self.waiting -= 1
        return agent, items.popleft()

    def finish(self, agent: object) -> None:
        items = self.held_back.pop(agent)
        if items:
            self.ready[agent] = items


class FairQueue(Generic[Item]):
    def __init__(self, share: Share) -> None:
        self._share = share
        self._lanes: dict[object, _Lane[Item]] = {}
        # Principals that may be served now, in the order of turns.
        self._turns: OrderedDict[object, _Lane[Item]] = OrderedDict()
        self._waiting = 0

    def __len__(self) -> int:
        return self._waiting

    def put(self, item: Item, client: Client | None = None) -> bool:
        """Whether the item was taken in; False when all, its principal or its agent has too many waiting."""
        principal, agent = (_Anonymous(), None) if client is None else client
        lane = self._lanes.get(principal) or _Lane()
        if self._waiting >= self._share.waiting or lane.waiting >= self._share.waiting_of_principal:
            return False
        items = lane.items_of(agent)
        if len(items) >= self._share.waiting_of_agent:
            return False
        items.append(item)
        lane.waiting += 1
        self._waiting += 1
        self._lanes[principal] = lane
        self._give_turn(principal, lane)
        return True

    def take(self) -> tuple[tuple[object, object], Item] | None:
        """The next principal's next agent's oldest item, and whose it is, to be told to `finish`."""
        if not self._turns:
            return None
        principal, lane = self._turns.popitem(last=False)
        agent, item = lane.take()
        self._waiting -= 1
        self._give_turn(principal, lane)
        return (principal, agent), item

    def finish(self, owner: tuple[object, object]) -> None:
        principal, agent = owner
        lane = self._lanes[principal]
        lane.finish(agent)
        if lane.is_empty:
            del self._lanes[principal]
        else:
            self._give_turn(principal, lane)

    def drain(self) -> list[Item]:
        """Everything that waits, taken out."""
        drained: list[Item] = []
        for lane in self._lanes.values():
            for items in (*lane.ready.values(), *lane.held_back.values()):
                drained += items
                items.clear()
            lane.ready.clear()
            lane.waiting = 0
        self._lanes = {principal: lane for principal, lane in self._lanes.items() if not lane.is_empty}
        self._turns.clear()
        self._waiting = 0
        return drained

    def _give_turn(self, principal: object, lane: _Lane[Item]) -> None:
        """At the end of the line, once, where it has something to do and may have more in flight."""
        if lane.ready and len(lane.held_back) < self._share.in_flight_of_principal:
            self._turns.setdefault(principal, lane)
