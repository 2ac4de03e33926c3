"""Failed authentications by source address, apart from what agents did: a file a day, kept as long as the
policy says. Addresses are about people, so that nobody else may read them, and none is kept for ever.

It is no part of the ledger: whoever has no credential must not be able to write there.
"""

import os
import re
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Final

from qwed.domain.times import DAY_MS, iso
from qwed.http.logs import EventLog

FOLDER: Final = "security-log"
#: Many addresses together must not fill the disk; what is beyond is counted.
MAX_DAY_BYTES: Final = 64 * 1024 * 1024
TEND_SECONDS: Final = 600.0
_DAY: Final = re.compile(r"(\d{4}-\d{2}-\d{2})\.jsonl")


class DailyFiles:
    """A stream into the file of the day. Raises `OSError` where that is full, or can't be written."""

    def __init__(self, folder: Path, now_ms: Callable[[], int], max_bytes: int = MAX_DAY_BYTES) -> None:
        self._folder = folder
        self._now_ms = now_ms
        self._max_bytes = max_bytes

    def write(self, lines: bytes) -> None:
        """One call to the system: workers of one gateway append to the same file."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = self._folder / f"{_day(self._now_ms())}.jsonl"
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(path, flags, 0o600)
        try:
            if os.fstat(descriptor).st_size + len(lines) > self._max_bytes:
                raise OSError("the security log of this day is full")
            os.write(descriptor, lines)
        finally:
            os.close(descriptor)

    def flush(self) -> None:
        """Everything is written already."""

    def remove_older(self, days: int | None) -> None:
        """Files of which every line is older than that; None keeps them."""
        if days is None or not self._folder.is_dir():
            return
        oldest = _day(self._now_ms() - days * DAY_MS)
        for path in self._folder.iterdir():
            day = _DAY.fullmatch(path.name)
            if day is not None and day[1] < oldest:
                # Another worker may have been here first.
                path.unlink(missing_ok=True)


class SecurityLog:
    """`days` is asked each time: the policy may change."""

    def __init__(self, folder: Path, now_ms: Callable[[], int], days: Callable[[], int | None]) -> None:
        self._files = DailyFiles(folder, now_ms)
        self._log = EventLog(stream=self._files)
        self._days = days
        self._closed = threading.Event()
        self._tender = threading.Thread(target=self._tend, name="qwed-security-log", daemon=True)

    def start(self) -> None:
        self._tender.start()

    def write(self, address: str, path: str) -> None:
        self._log.write("warning", "failed_authentication", address=address, path=path)

    def _tend(self) -> None:
        """Also where nobody fails any more, what is too old goes."""
        while True:
            try:
                self._files.remove_older(self._days())
            except OSError:
                # It is tried again; meanwhile the log itself says that it is longer than it should be.
                self._log.write("warning", "older_files_not_removed")
            if self._closed.wait(TEND_SECONDS):
                return

    def close(self) -> None:
        self._closed.set()
        self._log.close()


def _day(at_ms: int) -> str:
    return iso(at_ms)[:10]
