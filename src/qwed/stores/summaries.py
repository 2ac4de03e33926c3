"""What an agent's whole record comes to, without counting it again each time somebody looks.

Entries are only added behind the last one, so a sum goes on from where it ended. Retention is the
exception: it takes entries away, and every sum with them.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import Final

from qwed.domain.agents import AgentId

MAX_AGENTS: Final = 4_096

#: By decision: how many entries, and what they cost.
Summary = dict[str, tuple[int, int]]
#: Of the entries behind a number, by decision: how many, what they cost, and the last one's number.
CountAfter = Callable[[int], Iterable[tuple[str, int, int, int]]]


class Summaries:
    """Thread-safe. Least recently asked for are dropped first."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: OrderedDict[AgentId, tuple[int, Summary]] = OrderedDict()
        self._removals = 0

    def of(self, agent_id: AgentId, count_after: CountAfter) -> Summary:
        with self._lock:
            removals = self._removals
            last, summary = self._known.get(agent_id, (0, {}))
        grown = dict(summary)
        for decision, entries, cost, newest in count_after(last):
            earlier = grown.get(decision, (0, 0))
            grown[decision] = (earlier[0] + entries, earlier[1] + cost)
            last = max(last, newest)
        with self._lock:
            # What was counted while entries were removed may hold them still.
            if removals == self._removals:
                self._known[agent_id] = (last, grown)
                self._known.move_to_end(agent_id)
                if len(self._known) > MAX_AGENTS:
                    self._known.popitem(last=False)
        return grown

    def forget(self) -> None:
        """Entries were removed. Called after that is committed: no reader sees them from now on."""
        with self._lock:
            self._removals += 1
            self._known.clear()
