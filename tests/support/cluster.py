"""A gateway of several workers on a real PostgreSQL and a real Redis."""

import os
import signal
import time
from pathlib import Path
from typing import Any

import httpx2
from tests.support.server import Server, verify_request


class Cluster(Server):
    """`qwed serve --workers N` in its own process group; `workers` are the processes that answer."""

    def __init__(
        self, folder: Path, database: str, redis: str | None, workers: int = 4, *arguments: str, **more: Any
    ) -> None:
        extra = ("--workers", str(workers)) if workers > 1 else ()
        shared = ("--redis", redis) if redis else ()
        super().__init__(folder, *extra, *shared, *arguments, database=database, **more)
        self.count = workers

    @property
    def workers(self) -> list[int]:
        assert self.process is not None
        path = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        return [pid for pid in map(int, path.read_text().split()) if _is_worker(pid)]

    def kill_worker(self, number: int = 0) -> int:
        pid = self.workers[number]
        os.kill(pid, signal.SIGKILL)
        return pid

    def await_ready(self, seconds: float = 60) -> None:
        """Until every one of a row of new connections finds a ready gateway."""
        self._await_status(200, seconds)

    def await_not_ready(self, seconds: float = 60) -> None:
        """As `await_ready`, for the opposite."""
        self._await_status(503, seconds)

    def _await_status(self, status: int, seconds: float) -> None:
        end, good = time.monotonic() + seconds, 0
        while good < 3 * self.count:
            if time.monotonic() > end:
                raise TimeoutError(f"/ready is not {status} after {seconds} s: {self.log()[-2000:]}")
            try:
                good = good + 1 if self.call("GET", "/ready", key=None).status_code == status else 0
            except httpx2.HTTPError:
                good = 0
            if not good:
                time.sleep(0.1)


def _is_worker(pid: int) -> bool:
    try:
        return b"--inherit" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


def approvals(responses: list[Any]) -> int:
    return sum(r.status_code == 200 and r.json().get("decision") == "APPROVED" for r in responses)


__all__ = ["Cluster", "approvals", "verify_request"]
