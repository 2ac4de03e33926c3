"""The numbers of each process, as its records arrive: one that stays away was deleted, or never written."""

import time
from collections.abc import Iterable
from typing import Any, Final

import msgspec

from qwed.stores.postgres.seals import Seals
from qwed.stores.postgres.statements import SQL

#: More gaps than this of one process are told at once.
MAX_GAPS: Final = 1_000
_BODY: Final = msgspec.msgpack.Decoder(tuple[int, list[tuple[int, int]]])

Connection = Any


class NumberGap(msgspec.Struct, frozen=True):
    """Numbers of one process that did not come, first and last."""

    source: str
    first: int
    last: int

    @property
    def count(self) -> int:
        return self.last - self.first + 1


class _Process:
    def __init__(self, upto: int = 0, gaps: Iterable[tuple[int, int]] = ()) -> None:
        self.upto = upto
        #: First and last number of each gap, and since when it is known here.
        now = time.monotonic()
        self.gaps = {first: (last, now) for first, last in gaps}

    def note(self, number: int) -> None:
        if number > self.upto:
            if number > self.upto + 1:
                self.gaps[self.upto + 1] = (number - 1, time.monotonic())
            self.upto = number
            return
        for first, (last, since) in self.gaps.items():
            if first <= number <= last:
                del self.gaps[first]
                if first < number:
                    self.gaps[first] = (number - 1, since)
                if number < last:
                    self.gaps[number + 1] = (last, since)
                return

    def body(self) -> bytes:
        return msgspec.msgpack.encode((self.upto, [(first, last) for first, (last, _) in self.gaps.items()]))


class ProcessNumbers:
    """Kept by the leader; sealed and written with each batch, so that the next leader goes on from there."""

    def __init__(self, seals: Seals, patience: float) -> None:
        self._seals = seals
        self._patience = patience
        self._processes: dict[str, _Process] = {}
        self._changed: set[str] = set()

    async def load(self, connection: Connection) -> list[str]:
        """Those of the leader before; which of them somebody edited."""
        edited = []
        for source, body, mac in await connection.fetch(SQL["record_sources"]):
            if self._seals.is_source(mac, source, body):
                self._processes[source] = _Process(*_BODY.decode(body))
            else:
                edited.append(source)
        return edited

    def note(self, source: str, number: int) -> None:
        self._processes.setdefault(source, _Process()).note(number)
        self._changed.add(source)

    def rows(self) -> tuple[list[str], list[bytes], list[bytes]]:
        """What is to be written: names, bodies, seals."""
        names = sorted(self._changed)
        bodies = [self._processes[name].body() for name in names]
        return names, bodies, [self._seals.source(*pair) for pair in zip(names, bodies, strict=True)]

    def written(self) -> None:
        self._changed.clear()

    def overdue(self) -> list[NumberGap]:
        """Gaps that lasted too long; each is told once."""
        now, found = time.monotonic(), []
        for source, process in self._processes.items():
            is_full = len(process.gaps) > MAX_GAPS
            for first, (last, since) in list(process.gaps.items()):
                if is_full or now - since > self._patience:
                    del process.gaps[first]
                    self._changed.add(source)
                    found.append(NumberGap(source, first, last))
        return found
