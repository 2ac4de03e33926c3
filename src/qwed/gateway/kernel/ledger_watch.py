"""Whether the ledger keeps up with what is recorded: seen by the store, asked by whoever is responsible."""

import threading
import time
from collections.abc import Callable
from typing import Final, Literal

import msgspec

#: So far behind, or failing for so long, the ledger is a problem.
PATIENCE_SECONDS: Final = 10.0

Listener = Callable[[str], None]
FindingListener = Callable[["LedgerFinding"], None]


class LedgerLag(msgspec.Struct, frozen=True):
    """How old the oldest record is that has no place in the ledger yet, and how many have none."""

    seconds: float = 0.0
    entries: int = 0
    is_leader: bool = True


class LedgerFinding(msgspec.Struct, frozen=True):
    """Somebody wrote to the store beside the gateways: a record was refused its place, or some are gone."""

    kind: Literal["refused", "gap"]
    says: str
    records: int = 1


class LedgerWatch:
    def __init__(self) -> None:
        self.lag = LedgerLag()
        #: Records that this process, as the leader, refused or missed.
        self.refused = 0
        self.missing = 0
        self._finders: tuple[FindingListener, ...] = ()
        self._failure: str | None = None
        self._failing_since = 0.0
        self._listeners: tuple[Listener, ...] = ()
        self._lock = threading.Lock()

    def listen(self, listener: Listener) -> None:
        """Told of every new kind of failure, and of the one at hand."""
        self._listeners = (*self._listeners, listener)
        if self._failure is not None:
            listener(self._failure)

    def listen_to_findings(self, listener: FindingListener) -> None:
        self._finders = (*self._finders, listener)

    def report(self, finding: LedgerFinding) -> None:
        with self._lock:
            if finding.kind == "gap":
                self.missing += finding.records
            else:
                self.refused += finding.records
        for listener in self._finders:
            listener(finding)

    def fail(self, failure: str) -> None:
        with self._lock:
            is_new = failure != self._failure
            if self._failure is None:
                self._failing_since = time.monotonic()
            self._failure = failure
        for listener in self._listeners if is_new else ():
            listener(failure)

    def succeed(self) -> None:
        self._failure = None

    def problem(self) -> str | None:
        """Why nobody should rely on the ledger now, in a sentence that names nobody: anybody may ask."""
        failure, behind = self._failure, self.lag.seconds >= PATIENCE_SECONDS
        if not behind and (failure is None or time.monotonic() - self._failing_since < PATIENCE_SECONDS):
            return None
        is_behind = f"{self.lag.entries} records wait for their place in the ledger, {self.lag.seconds:.0f} s"
        why = "nobody leads it" if failure is None else "it can't be written: see the log"
        return f"{is_behind}; {why}" if behind else why
