"""What a trust table never forgets: who said what to whom, what became of tasks, and what has counted."""

from typing import Protocol

import msgspec

from qwed.assurance.accusations import Seen


class Task(msgspec.Struct, frozen=True, gc=False):
    """What the observer requested or approved, and the token that answered it."""

    at: int
    answered_by: str | None = None


class TrustMemory(Protocol):
    """Grows with the ledger. Belongs to one table, and raises `TrustMemoryLost` only."""

    def seen(self, jti: str) -> Seen | None: ...
    def see(self, jti: str, seen: Seen) -> None: ...

    def task(self, jti: str) -> Task | None: ...
    def keep_task(self, jti: str, task: Task) -> None: ...

    def answered(self, jti: str) -> str | None:
        """The task that this token answered."""
        ...

    def answers(self, jti: str, task: str) -> None: ...

    def has_counted(self, peer: str, kind: str, name: str) -> bool: ...
    def count(self, peer: str, kind: str, name: str) -> None: ...


class TrustMemoryLost(Exception):
    """What was learned can't be read or added to: nothing that rests on it can be told any more."""


class InProcess:
    """Dictionaries: the fastest, as long as there is room for every token ever seen."""

    def __init__(self) -> None:
        self._seen: dict[str, Seen] = {}
        self._tasks: dict[str, Task] = {}
        self._answers: dict[str, str] = {}
        self._counted: dict[str, set[tuple[str, str]]] = {}
        self.seen = self._seen.get
        self.task = self._tasks.get
        self.answered = self._answers.get

    def see(self, jti: str, seen: Seen) -> None:
        self._seen[jti] = seen

    def keep_task(self, jti: str, task: Task) -> None:
        self._tasks[jti] = task

    def answers(self, jti: str, task: str) -> None:
        self._answers[jti] = task

    def has_counted(self, peer: str, kind: str, name: str) -> bool:
        counted = self._counted.get(peer)
        return counted is not None and (kind, name) in counted

    def count(self, peer: str, kind: str, name: str) -> None:
        self._counted.setdefault(peer, set()).add((kind, name))
