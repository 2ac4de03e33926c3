"""Findings about permits that have no entry of their own: how many, until the sweeper states it."""

import threading
from collections import Counter
from typing import Final, NamedTuple

from qwed.domain.agents import AgentId, PrincipalId
from qwed.domain.permits import FindingKind

MAX_PLACES: Final = 1_000
_ELSEWHERE: Final = "(several)"


class FindingPlace(NamedTuple):
    principal_id: PrincipalId
    agent_id: AgentId
    kind: FindingKind
    audience: str
    code: str | None


class MoreFindings:
    """Of one process. The sweeper has a thread of its own."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: Counter[FindingPlace] = Counter()

    def add(self, place: FindingPlace, count: int) -> None:
        with self._lock:
            # Whoever reports may make up audiences, but not principals and agents.
            if place not in self._counts and len(self._counts) >= MAX_PLACES:
                place = place._replace(audience=_ELSEWHERE)
            self._counts[place] += count

    def take(self) -> list[tuple[FindingPlace, int]]:
        with self._lock:
            taken, self._counts = self._counts, Counter()
        return list(taken.items())
