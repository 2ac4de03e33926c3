"""What just happened, for whoever listens. Listening is best effort: the record is the truth."""

import threading
from collections import deque
from collections.abc import Callable
from typing import Any, Final

MAX_BACKLOG: Final = 1_000

Event = dict[str, Any]


class Subscription:
    """One listener's bounded backlog: a slow reader loses the oldest events and is told how many."""

    def __init__(self, principal_id: str | None, agent_id: str | None, wake: Callable[[], object]) -> None:
        self.principal_id = principal_id
        self.agent_id = agent_id
        self._wake = wake
        self._backlog: deque[Event] = deque()
        self._lost = 0
        self._lock = threading.Lock()

    def hears(self, event: Event) -> bool:
        """The walls between principals hold here too: None hears everything (an operator)."""
        if self.agent_id is not None:
            return bool(event.get("agent_id") == self.agent_id)
        return self.principal_id is None or event.get("principal_id") == self.principal_id

    def offer(self, event: Event) -> None:
        with self._lock:
            if len(self._backlog) >= MAX_BACKLOG:
                self._backlog.popleft()
                self._lost += 1
            self._backlog.append(event)
        self._wake()

    def take(self) -> list[Event]:
        with self._lock:
            taken = list(self._backlog)
            self._backlog.clear()
            lost, self._lost = self._lost, 0
        return [{"type": "lost", "count": lost}, *taken] if lost else taken


class EventHub:
    def __init__(self) -> None:
        self._subscriptions: tuple[Subscription, ...] = ()
        self._lock = threading.Lock()

    @property
    def is_heard(self) -> bool:
        return bool(self._subscriptions)

    def subscribe(self, subscription: Subscription) -> None:
        with self._lock:
            self._subscriptions = (*self._subscriptions, subscription)

    def unsubscribe(self, subscription: Subscription) -> None:
        with self._lock:
            self._subscriptions = tuple(s for s in self._subscriptions if s is not subscription)

    def publish(self, event: Event) -> None:
        for subscription in self._subscriptions:
            if subscription.hears(event):
                subscription.offer(event)
