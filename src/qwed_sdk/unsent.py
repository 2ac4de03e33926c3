"""Reports of outcomes that could not be sent: kept until the gateway hears again."""

import logging
from collections import deque
from typing import Final

from qwed_sdk.calls import Call
from qwed_sdk.results import Result

MAX_KEPT: Final = 1000

logger = logging.getLogger("qwed_sdk")


class Unsent:
    """Oldest first. Threads and tasks share it: a deque's ends are safe."""

    def __init__(self) -> None:
        self._reports: deque[Call[Result]] = deque()

    def __len__(self) -> int:
        return len(self._reports)

    def keep(self, report: Call[Result]) -> None:
        if len(self._reports) >= MAX_KEPT:
            lost = self._reports.popleft()
            logger.error("more than %d outcomes wait to be reported: lost one (%s)", MAX_KEPT, lost.path)
        self._reports.append(report)

    def take(self) -> Call[Result] | None:
        try:
            return self._reports.popleft()
        except IndexError:
            return None
