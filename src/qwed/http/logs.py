"""Structured logs: one JSON line per event, to standard error. Callers pass no secrets and no bodies."""

import sys
import threading
import time
from typing import Any, Final, TextIO

from qwed.gateway.wire import encode_json

LEVELS: Final = {"debug": 10, "info": 20, "warning": 30, "error": 40}


class EventLog:
    def __init__(self, level: str = "info", stream: TextIO | None = None) -> None:
        self._least = LEVELS[level]
        self._stream = stream or sys.stderr
        self._lock = threading.Lock()

    def is_on(self, level: str) -> bool:
        return LEVELS[level] >= self._least

    def write(self, level: str, event: str, **fields: Any) -> None:
        if not self.is_on(level):
            return
        line = encode_json({"at": round(time.time(), 3), "level": level, "event": event, **fields})
        with self._lock:
            self._stream.write(line.decode("utf-8", "replace") + "\n")
            self._stream.flush()
