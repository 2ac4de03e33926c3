"""One process at a time works with a store."""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from qwed.guards.workspace.errors import WorkspaceBusy

LOCK_SECONDS: Final = 60.0
_POLL_SECONDS: Final = 0.01


@contextmanager
def lock(directory: Path) -> Iterator[None]:
    """The directory itself is the lock: no lock file can be left behind."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        _wait(descriptor, directory)
        yield
    finally:
        os.close(descriptor)


def _wait(descriptor: int, directory: Path) -> None:
    deadline = time.monotonic() + LOCK_SECONDS
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise WorkspaceBusy(f"another process works with {str(directory)!r}") from None
            time.sleep(_POLL_SECONDS)
