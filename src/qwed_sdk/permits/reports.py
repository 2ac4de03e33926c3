"""What a tool tells the gateway: receipts of what ran, and calls that it refused.

A report must not look like the tool's own failure: what can't be sent is logged, kept, and sent later.
"""

import atexit
import logging
import os
import queue
import threading
import time
from collections import Counter
from typing import Final

from qwed.domain.codes import Code
from qwed_sdk.calls import Call
from qwed_sdk.client import QWEDClient
from qwed_sdk.errors import QWEDError, RequestRefused
from qwed_sdk.permits import calls
from qwed_sdk.results import Json, Result

MAX_WAITING: Final = 1_000
FLUSH_SECONDS: Final = 2.0

logger = logging.getLogger("qwed_sdk.permits")


class PermitReports:
    """Refused calls are reported in the background, receipts at once. Without a client, they are logged."""

    def __init__(self, client: QWEDClient | None, audience: str) -> None:
        self._client = client
        self._audience = audience
        self._waiting: queue.Queue[Call[Result]] = queue.Queue(MAX_WAITING)
        self._lock = threading.Lock()
        #: Refused calls that found no room among those that wait: how many, by code.
        self._more: Counter[str] = Counter()
        self._worker: tuple[int, threading.Thread] | None = None

    def refused(self, code: Code, reason: str, jti: str | None, *, is_recorded: bool = False) -> None:
        logger.warning("a call at %s was refused: %s (%s)", self._audience, reason, code.value)
        if self._client is None or is_recorded:
            return
        finding = {
            "kind": "call_refused",
            "audience": self._audience,
            "message": reason[:1000],
            "jti": jti,
            "code": code.value,
        }
        try:
            self._waiting.put_nowait(calls.report_permit_finding(finding))
        except queue.Full:
            with self._lock:
                self._more[code.value] += 1
        self._start()

    def receipt(self, jti: str, receipt: dict[str, Json]) -> None:
        if self._client is None:
            return
        report = calls.report_receipt(jti, {"audience": self._audience, **receipt})
        while report is not None and self._send(report):
            kept = self._client.unsent.take()
            if kept is None:
                return
            report = kept

    def _send(self, report: Call[Result]) -> bool:
        """Whether the gateway heard it."""
        assert self._client is not None
        try:
            self._client.send(report)
        except RequestRefused as error:
            logger.warning("a report was not taken (%s): %s", report.path, error)
        except QWEDError as error:
            self._client.unsent.keep(report)
            logger.warning("a report could not be sent, and is kept (%s): %s", report.path, error)
            return False
        return True

    def flush(self) -> None:
        """Wait until every refused call is reported."""
        self._waiting.join()

    def _start(self) -> None:
        """A thread of this process; a forked one has none yet."""
        with self._lock:
            if self._worker is not None and self._worker[0] == os.getpid() and self._worker[1].is_alive():
                return
            thread = threading.Thread(target=self._work, name="qwed-permit-reports", daemon=True)
            self._worker = (os.getpid(), thread)
            thread.start()
            atexit.register(self._finish)

    def _work(self) -> None:
        while True:
            report = self._waiting.get()
            try:
                self._send(report)
                if self._waiting.empty():
                    self._send_more()
            finally:
                self._waiting.task_done()

    def _send_more(self) -> None:
        with self._lock:
            more, self._more = self._more, Counter()
        for code, count in more.items():
            message = f"{count} more calls were refused, too many to report each"
            finding = {"kind": "call_refused", "audience": self._audience, "message": message}
            self._send(calls.report_permit_finding({**finding, "code": code, "count": count}))

    def _finish(self) -> None:
        """At the end of the process, for a moment."""
        end = time.monotonic() + FLUSH_SECONDS
        while self._waiting.unfinished_tasks and time.monotonic() < end:
            time.sleep(0.01)
