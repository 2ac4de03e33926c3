"""Calls that a person may still say yes to, after whoever asked for them stopped waiting."""

import threading
from collections import OrderedDict
from collections.abc import Mapping
from typing import Final

from qwed_sdk.conversations import action_hash_of
from qwed_sdk.forks import PerProcess
from qwed_sdk.results import Decision, Json

MAX_REMEMBERED: Final = 4096


class PendingCalls:
    """By the hash of the exact action. Taken by one who asks for that action again, so that two who ask at
    once do not wait for the same approval; put back where it is still open."""

    def __init__(self) -> None:
        self._decisions: OrderedDict[str, Decision] = OrderedDict()
        self._lock = PerProcess(threading.Lock)

    def keep(self, action: Mapping[str, Json], decision: Decision) -> None:
        name = action_hash_of(action)
        with self._lock.get():
            self._decisions[name] = decision
            while len(self._decisions) > MAX_REMEMBERED:
                self._decisions.popitem(last=False)

    def take(self, action: Mapping[str, Json]) -> Decision | None:
        if not self._decisions:
            return None
        name = action_hash_of(action)
        with self._lock.get():
            return self._decisions.pop(name, None)
