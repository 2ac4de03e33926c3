"""The one protocol of all engines."""

from typing import Protocol

from qwed.domain.actions import Action
from qwed.domain.findings import Finding


class Engine(Protocol):
    """Proves what can be proven about one action.

    `verify` is deterministic, does no I/O, never raises on any action, and bounds its own work by
    counting (nodes, digits, solver steps). What it cannot decide it answers UNCERTAIN.
    """

    @property
    def name(self) -> str: ...

    def is_quick(self, action: Action) -> bool:
        """Whether `verify` surely ends within 2 ms, whatever the text is, so that it may run on the caller's
        thread: by how much there is to read and as what (`effort`; `bench/quick_work.py` prints the worst
        of what passes). Everything else runs in a worker process that is killed at its deadline. To ask
        costs no more than that either, however large the action is."""
        ...

    def verify(self, action: Action) -> Finding: ...
