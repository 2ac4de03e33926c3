"""What a trust table never forgets: who said what to whom, what became of tasks, and what has counted."""

from typing import Protocol

import msgspec

from qwed.assurance.accusations import Seen


class Task(msgspec.Struct, frozen=True, gc=False):
    """What the observer requested or approved, and the token that answered it."""

    at: int
    answered_by: str | None = None


#: What counts once: a peer, a kind, and the task or the evidence.
Mark = tuple[str, str, str]


class TrustMemory(Protocol):
    """Grows with the ledger. Belongs to one table, and raises `TrustMemoryLost` only."""

    def seen(self, jti: str, /) -> Seen | None: ...
    def see(self, jti: str, seen: Seen, /) -> None: ...

    def task(self, jti: str, /) -> Task | None: ...
    def keep_task(self, jti: str, task: Task, /) -> None: ...

    def answered(self, jti: str, /) -> str | None:
        """The task that this token answered."""
        ...

    def answers(self, jti: str, task: str, /) -> None: ...

    def has_counted(self, mark: Mark, /) -> bool: ...
    def count(self, mark: Mark, /) -> None: ...


class TrustMemoryLost(Exception):
    """What was learned can't be read or added to: nothing that rests on it can be told any more."""


class InProcess:
    """Dictionaries: the fastest, as long as there is room for every token ever seen."""

    def __init__(self) -> None:
        seen: dict[str, Seen] = {}
        tasks: dict[str, Task] = {}
        answers: dict[str, str] = {}
        counted: set[Mark] = set()
        # The collections' own methods: a call of ours in between would be a tenth of an event's price.
        self.seen, self.see = seen.get, seen.__setitem__
        self.task, self.keep_task = tasks.get, tasks.__setitem__
        self.answered, self.answers = answers.get, answers.__setitem__
        self.has_counted, self.count = counted.__contains__, counted.add
