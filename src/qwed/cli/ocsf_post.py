"""Events for a SIEM by HTTP: batches of JSON lines, each sent until it arrives; then the cursor moves."""

import os
import time
import urllib.parse
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import httpx2
import msgspec

from qwed.cli.errors import CannotRun
from qwed.settings import environment

MAX_TRIES: Final = 6
_TIMEOUT_SECONDS: Final = 30.0
_MAX_BYTES: Final = 1_000_000
_FIRST_WAIT_SECONDS: Final = 1.0
_RETRIED: Final = frozenset({408, 425, 429, *range(500, 600)})


class OcsfBatch(msgspec.Struct, frozen=True):
    """`last` is the entry up to which everything was sent once these lines have arrived."""

    last: int
    lines: tuple[bytes, ...]


def batches_of(events: Iterator[tuple[int, bytes]], end: int) -> Iterator[OcsfBatch]:
    """Whole entries together, at most about a megabyte in one request."""
    lines: list[bytes] = []
    last, size = 0, 0
    for seq, line in events:
        if lines and seq != last and size + len(line) > _MAX_BYTES:
            yield OcsfBatch(last, tuple(lines))
            lines, size = [], 0
        lines.append(line)
        last, size = seq, size + len(line)
    yield OcsfBatch(end, tuple(lines))


class OcsfReceiver:
    """Raises `CannotRun` where a batch can't be delivered: the cursor then stays before it."""

    def __init__(self, url: str, authorization: str | None) -> None:
        parts = urllib.parse.urlsplit(url)
        is_here = parts.scheme == "http" and parts.hostname in ("127.0.0.1", "::1", "localhost")
        if not (parts.scheme == "https" and parts.hostname) and not is_here:
            raise CannotRun("--post takes an https address: events say what agents do")
        headers = {"Content-Type": "application/x-ndjson", "User-Agent": "QWED"}
        if authorization is not None:
            headers["Authorization"] = _secret(authorization)
        self._url = url
        self._client = httpx2.Client(headers=headers, timeout=_TIMEOUT_SECONDS, follow_redirects=False)

    def send(self, batch: OcsfBatch) -> None:
        if not batch.lines:
            return
        wait = _FIRST_WAIT_SECONDS
        for attempt in range(1, MAX_TRIES + 1):
            problem, is_final = self._try(batch)
            if problem is None:
                return
            if is_final or attempt == MAX_TRIES:
                raise CannotRun(f"the events up to entry {batch.last} were not taken: {problem}")
            time.sleep(wait)
            wait *= 2

    def _try(self, batch: OcsfBatch) -> tuple[str | None, bool]:
        try:
            status = self._client.post(self._url, content=b"".join(batch.lines)).status_code
        except httpx2.HTTPError as error:
            return f"{type(error).__name__}", False
        return (None if 200 <= status < 300 else f"it answered {status}"), status not in _RETRIED


def _secret(place: str) -> str:
    """What `env:NAME` or `file:PATH` leads to; the option itself is never the secret."""
    scheme, _, rest = place.partition(":")
    found = environment().get(rest) if scheme == "env" else None
    if scheme == "file":
        try:
            found = Path(rest).read_text("utf-8").strip()
        except (OSError, UnicodeError):
            found = None
    if not found or not found.isprintable():
        raise CannotRun("--authorization is env:NAME or file:PATH, and leads to the value of the header")
    return found


def keep_cursor(cursor: Path, last: int, ledger: str) -> None:
    """On the disk, whole, before anything else happens."""
    fresh = cursor.with_name(f"{cursor.name}.new")
    with fresh.open("w", encoding="utf-8") as file:
        file.write(f"{last} {ledger}\n")
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(cursor)
