"""What a forked child must not share with its parent: sockets, on which it would read the parent's answers,
and locks, which a thread of the parent may have held."""

import os
from collections.abc import Callable
from typing import Final, Generic, TypeVar

T = TypeVar("T")

#: How often the way to this process forked. No two processes of one line of descent have the same number.
_forks: Final = [0]


def _note_fork() -> None:
    _forks[0] += 1


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_note_fork)


class PerProcess(Generic[T]):
    """A value that every process makes for itself.

    What was inherited is kept and never touched again: closing it could speak on the parent's connection.
    """

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._made: dict[int, T] = {_forks[0]: make()}

    @property
    def is_inherited(self) -> bool:
        """Whether this process has not made its own yet."""
        return _forks[0] not in self._made

    def get(self) -> T:
        found = self._made.get(_forks[0])
        # Of two threads that come first at once, one makes it for both.
        return found if found is not None else self._made.setdefault(_forks[0], self._make())

    def renew(self) -> T:
        """The next one is new; gives the old one."""
        old, self._made[_forks[0]] = self.get(), self._make()
        return old
