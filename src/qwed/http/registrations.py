"""Registrations of the last minute, so that one whose answer was lost is not made twice.

Kept in memory only: the answer holds the agent's token, which is stored nowhere. Another worker does not know
of it, and registers once more.
"""

from collections import OrderedDict
from typing import Final

from qwed.gateway.kernel.answers import Answer

KEPT_MS: Final = 60_000
MAX_KEPT: Final = 1_000

#: Who asked (all the names of its credential), and the name of key and body.
Name = tuple[tuple[str, ...], bytes]


class Registrations:
    def __init__(self) -> None:
        self._answers: OrderedDict[Name, tuple[int, Answer]] = OrderedDict()

    def recall(self, name: Name, now_ms: int) -> Answer | None:
        kept = self._answers.get(name)
        return kept[1] if kept is not None and now_ms < kept[0] else None

    def keep(self, name: Name, answer: Answer, now_ms: int) -> None:
        self._answers[name] = (now_ms + KEPT_MS, answer)
        while self._answers and (len(self._answers) > MAX_KEPT or self._is_over(now_ms)):
            self._answers.popitem(last=False)

    def _is_over(self, now_ms: int) -> bool:
        """Of the oldest."""
        return next(iter(self._answers.values()))[0] <= now_ms
