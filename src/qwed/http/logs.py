"""Structured logs: one JSON line per event, to standard error. Callers pass no secrets and no bodies.

Lines are gathered and written a few times a second: the log is for people, the record is elsewhere, and
a system call per request would cost more than most of the request.
"""

import sys
import threading
import time
from collections import deque
from typing import Any, Final, Protocol

from qwed.domain.json_types import Json
from qwed.gateway.kernel.wire import encode_json

LEVELS: Final = {"debug": 10, "info": 20, "warning": 30, "error": 40, "critical": 50}
FLUSH_SECONDS: Final = 0.2
MAX_GATHERED: Final = 10_000
_PRESSING: Final = LEVELS["error"]


class LogStream(Protocol):
    """Where lines go. Raises `OSError`, or `ValueError` once it is closed."""

    def write(self, lines: bytes, /) -> object: ...
    def flush(self) -> object: ...


class LineAllowance:
    """So many lines a second at most; how many were left out since is said with the next one."""

    def __init__(self, per_second: int) -> None:
        self._per_second = per_second
        self._second = self._written = self._left_out = 0

    def ask(self, now_seconds: float) -> int | None:
        """How many were left out before this line; None where it is left out as well."""
        if int(now_seconds) != self._second:
            self._second, self._written = int(now_seconds), 0
        if self._written >= self._per_second:
            self._left_out += 1
            return None
        self._written += 1
        left_out, self._left_out = self._left_out, 0
        return left_out


class EventLog:
    def __init__(self, level: str = "info", stream: LogStream | None = None) -> None:
        self._least = LEVELS[level]
        # A process may be started without a standard error at all.
        self._stream: LogStream | None = stream or getattr(sys.stderr, "buffer", None)
        self._lines: deque[bytes] = deque()
        self._lost = 0
        self._lock = threading.Lock()
        self._flusher: threading.Thread | None = None
        self._closed = threading.Event()

    def write(self, level: str, event: str, **fields: Any) -> None:
        weight = LEVELS[level]
        if weight < self._least:
            return
        self._lines.append(_line(level, event, fields))
        if weight >= _PRESSING or len(self._lines) > MAX_GATHERED:
            self.flush()
        elif self._flusher is None:
            self._start()

    def _start(self) -> None:
        with self._lock:
            if self._flusher is None:
                self._flusher = threading.Thread(target=self._flush_often, name="qwed-log", daemon=True)
                self._flusher.start()

    def _flush_often(self) -> None:
        while not self._closed.wait(FLUSH_SECONDS):
            if self._lines:
                self.flush()

    def flush(self) -> None:
        """Write what was gathered. What can't be written is lost, and counted: no answer waits for it."""
        with self._lock:
            lines = [self._lines.popleft() for _ in range(len(self._lines))]
            if self._lost:
                lines.append(_line("warning", "log_lines_lost", {"count": self._lost}))
            try:
                if self._stream is not None:
                    self._stream.write(b"".join(line + b"\n" for line in lines))
                    self._stream.flush()
            # A ValueError is what a stream says that was closed.
            except (OSError, ValueError):
                self._lost += len(lines) - bool(self._lost)
            else:
                self._lost = 0

    def close(self) -> None:
        self._closed.set()
        self.flush()


def _line(level: str, event: str, fields: dict[str, Json]) -> bytes:
    return encode_json({"at": round(time.time(), 3), "level": level, "event": event, **fields})
