"""What one worker counted, and how several workers' counts become one.

Each worker leaves its counts in a folder that all of them share, every second; whoever is asked adds up.
Those of a worker that ended stay there: a total never goes down while the gateway runs.
"""

import contextlib
import os
import secrets
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Final

import msgspec

WRITE_SECONDS: Final = 1.0


class Counts(msgspec.Struct):
    """By decision and code, by route and status, by route (each bucket, and seconds in all)."""

    decisions: dict[tuple[str, str], int]
    requests: dict[tuple[str, int], int]
    times: dict[str, tuple[list[int], float]]
    failed_authentications: int = 0
    shed: int = 0
    #: What a policy that only watches would have decided otherwise.
    shadow: dict[tuple[str, str], int] = msgspec.field(default_factory=dict)
    #: Connections by why they were ended before a request of theirs was judged.
    ended: dict[str, int] = msgspec.field(default_factory=dict)

    def add(self, other: "Counts") -> None:
        for decided, count in other.decisions.items():
            self.decisions[decided] = self.decisions.get(decided, 0) + count
        for answered, count in other.requests.items():
            self.requests[answered] = self.requests.get(answered, 0) + count
        for route, (buckets, seconds) in other.times.items():
            known, before = self.times.get(route, ([0] * len(buckets), 0.0))
            summed = [mine + theirs for mine, theirs in zip(known, buckets, strict=True)]
            self.times[route] = (summed, before + seconds)
        self.failed_authentications += other.failed_authentications
        self.shed += other.shed
        for changed, count in other.shadow.items():
            self.shadow[changed] = self.shadow.get(changed, 0) + count
        for reason, count in other.ended.items():
            self.ended[reason] = self.ended.get(reason, 0) + count


_encode: Final = msgspec.msgpack.Encoder().encode
_decode: Final = msgspec.msgpack.Decoder(Counts).decode


class CountsFolder:
    """The folder, as one worker uses it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._own = folder / f"{os.getpid()}-{secrets.token_hex(4)}.counts"

    def write(self, counts: Counts) -> None:
        part = self._own.with_suffix(".part")
        # A disk that is full costs figures, not decisions.
        with contextlib.suppress(OSError):
            part.write_bytes(_encode(counts))
            part.replace(self._own)

    def others(self) -> list[Counts]:
        return [_decode(file.read_bytes()) for file in self._folder.glob("*.counts") if file != self._own]


class CountsWriter:
    """Writes every second, on a thread of its own, and once more when it is closed."""

    def __init__(self, folder: CountsFolder, counted: Callable[[], Counts]) -> None:
        self._folder = folder
        self._counted = counted
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="qwed-counts", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._closing.wait(WRITE_SECONDS):
            self._folder.write(self._counted())

    def close(self) -> None:
        self._closing.set()
        self._thread.join()
        self._folder.write(self._counted())
