"""Everything the guard opens or changes lies beneath one directory, and is reached without links.

Paths are bytes, relative to that directory, because a file name is any bytes; b"" is the directory
itself. A link put in the place of a directory meanwhile makes the call fail, and leads nowhere.
"""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Self

_DIRECTORY: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_PLACE: Final = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
OWNER_ALL: Final = 0o700


def split(path: bytes) -> tuple[bytes, bytes]:
    parent, _, name = path.rpartition(b"/")
    return parent, name


def join(directory: bytes, name: bytes) -> bytes:
    return directory + b"/" + name if directory else name


def ancestors(path: bytes) -> Iterator[bytes]:
    """Every directory above `path`, the nearest first, b"" last."""
    while path:
        path, _ = split(path)
        yield path


class Beneath:
    """`repair` makes directories accessible that their mode closes to their owner."""

    def __init__(self, root: bytes, *, repair: bool = False) -> None:
        self._repair = repair
        try:
            self._root = os.open(root, _DIRECTORY)
        except PermissionError:
            if not repair:
                raise
            Path(os.fsdecode(root)).chmod(OWNER_ALL)
            self._root = os.open(root, _DIRECTORY)
        self._last: tuple[bytes, int] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.forget()
        os.close(self._root)

    def directory(self, path: bytes) -> int:
        """A descriptor that stays open until the next one is asked for."""
        if self._last is None or self._last[0] != path:
            self.forget()
            self._last = (path, self._walk(path))
        return self._last[1]

    @contextmanager
    def file(self, path: bytes, flags: int) -> Iterator[int]:
        parent, name = split(path)
        descriptor = os.open(
            name, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=self.directory(parent)
        )
        try:
            yield descriptor
        finally:
            os.close(descriptor)

    def let_owner_in(self, path: bytes) -> None:
        """Raises `PermissionError` unless this is a repair."""
        if not self._repair:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
        parent, name = split(path)
        open_to_owner(name or b".", self.directory(parent))

    def _walk(self, path: bytes) -> int:
        directory = os.dup(self._root)
        for name in path.split(b"/") if path else ():
            try:
                inner = self._step(name, directory)
            finally:
                os.close(directory)
            directory = inner
        return directory

    def _step(self, name: bytes, parent: int) -> int:
        try:
            return os.open(name, _DIRECTORY, dir_fd=parent)
        except PermissionError:
            if not self._repair:
                raise
            open_to_owner(name, parent)
            return os.open(name, _DIRECTORY, dir_fd=parent)

    def forget(self) -> None:
        """After a directory was moved: its path leads to something else now."""
        if self._last is not None:
            os.close(self._last[1])
            self._last = None


def open_to_owner(name: bytes, parent: int) -> None:
    """Lets its owner into a directory. A descriptor of the place itself cannot be swapped for a link."""
    place = os.open(name, _PLACE, dir_fd=parent)
    try:
        Path(f"/proc/self/fd/{place}").chmod(stat.S_IMODE(os.fstat(place).st_mode) | OWNER_ALL)
    finally:
        os.close(place)
