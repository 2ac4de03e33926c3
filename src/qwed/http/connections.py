"""Who is connected: how many in all and from one address, who gives way, and who takes too long.

A connection that was never asked a whole request on costs its peer nothing, so where there is no room it is
the first to go, the oldest before the others: who connects and asks at once is answered, also while
somebody else holds all places with requests that never end.
"""

import asyncio
from typing import Final, Protocol

from qwed.domain.bounds import Bounds, Proxies, neighbourhood

LOOK_SECONDS: Final = 1.0
#: Who is asked less often than this may be sending the next request at this moment.
MIN_IDLE_SECONDS: Final = 1.0
#: So many of those who are refused are listened to until they have read why.
MAX_REFUSED: Final = 64


class Connection(Protocol):
    """What is known of a connection."""

    #: Whether it has sent one whole request at least.
    has_asked: bool
    #: Since when nothing has been expected of us; None while a request is under way.
    idle_since: float | None

    def give_way(self) -> None:
        """End at once: others need the room."""
        ...

    def check_deadlines(self, now: float) -> None:
        """End if what was begun has taken too long."""
        ...


class Connections:
    """Of one process; on the event loop alone."""

    def __init__(self, bounds: Bounds, proxies: Proxies | None = None) -> None:
        self.bounds = bounds
        self._proxies = proxies or Proxies()
        # Both in the order of arrival. A proxy's connections have no address: they are of many peers.
        self._addresses: dict[Connection, str | None] = {}
        self._by_address: dict[str, dict[Connection, None]] = {}
        self._turned_away: set[Connection] = set()
        self._next_look: asyncio.TimerHandle | None = None

    def __len__(self) -> int:
        return len(self._addresses)

    def admit(self, one: Connection, host: str, loop: asyncio.AbstractEventLoop) -> bool:
        """Whether there is room for it, made where somebody else may be sent away for it."""
        address = None if self._proxies.include(host) else neighbourhood(host)
        if not self._has_room(address, loop.time()):
            return False
        self._addresses[one] = address
        if address is not None:
            self._by_address.setdefault(address, {})[one] = None
        self._keep_looking(loop)
        return True

    def turn_away(self, one: Connection, loop: asyncio.AbstractEventLoop) -> bool:
        """Whether one that was refused may stay until it has read the answer."""
        if len(self._turned_away) >= MAX_REFUSED:
            return False
        self._turned_away.add(one)
        self._keep_looking(loop)
        return True

    def leave(self, one: Connection) -> None:
        self._turned_away.discard(one)
        address = self._addresses.pop(one, None)
        if address is None:
            return
        neighbours = self._by_address[address]
        del neighbours[one]
        if not neighbours:
            del self._by_address[address]

    def look(self, now: float) -> None:
        """Ends whoever has taken too long."""
        for one in (*self._addresses, *self._turned_away):
            one.check_deadlines(now)

    def _has_room(self, address: str | None, now: float) -> bool:
        neighbours = self._by_address.get(address, {}) if address is not None else {}
        if len(neighbours) >= self.bounds.max_connections_per_address and not self._free_one(neighbours, now):
            return False
        return len(self) < self.bounds.max_connections or self._free_one(self._addresses, now)

    def _free_one(self, among: dict[Connection, None] | dict[Connection, str | None], now: float) -> bool:
        one = next((one for one in among if not one.has_asked), None) or _longest_idle(among, now)
        if one is None:
            return False
        self.leave(one)
        one.give_way()
        return True

    def _keep_looking(self, loop: asyncio.AbstractEventLoop) -> None:
        if self._next_look is None:
            self._next_look = loop.call_later(LOOK_SECONDS, self._look_again, loop)

    def _look_again(self, loop: asyncio.AbstractEventLoop) -> None:
        self._next_look = None
        self.look(loop.time())
        if self._addresses or self._turned_away:
            self._keep_looking(loop)


def _longest_idle(
    among: dict[Connection, None] | dict[Connection, str | None], now: float
) -> Connection | None:
    idle = [(one.idle_since, number, one) for number, one in enumerate(among) if one.idle_since is not None]
    since, _, one = min(idle, default=(now, 0, None))
    return one if since <= now - MIN_IDLE_SECONDS else None
