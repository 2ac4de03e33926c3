"""The governed write: one file replaced as a whole, inside the allowed roots, by one writer at a time.

Everything happens relative to one descriptor of the target's directory, so that a path which
changes its meaning half-way cannot lead the write elsewhere. In order:

1. the target is resolved, lies below a root, and its directory is opened without following links
2. the directory itself is locked (no lock file)
3. the file that is about to be replaced is exactly the state the caller started from
4. the bytes go to a temporary file in that directory, and are flushed
5. the directory still stands where it was found
6. the temporary file replaces the target, and the directory is flushed

A failure in 6 puts the former bytes back: a blocked commit leaves the former state.
"""

import fcntl
import os
import stat
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, NamedTuple, cast

from qwed.guards.agent_state.refusal import StateCode, StateRefused, quote

LOCK_SECONDS: Final = 30.0
_LOCK_POLL_SECONDS: Final = 0.002
# One name is enough under the lock, and lets the next commit clear what a killed one left.
TEMPORARY_NAME: Final = ".qwed-state-commit.tmp"
_MODE: Final = 0o600
_DIRECTORY: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# On the way down, search permission is enough.
_WAYPOINT: Final = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# O_NONBLOCK: opening a named pipe must not wait for its writer.
_READ: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_CREATE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class FileTarget(NamedTuple):
    """A file to replace: `directory` is an open descriptor of the directory at `parent`."""

    directory: int
    parent: str
    name: str

    @property
    def path(self) -> str:
        return f"{self.parent.rstrip('/')}/{self.name}"


@contextmanager
def open_target(given: object, roots: Sequence[str]) -> Iterator[FileTarget]:
    """Raises `StateRefused` with 107 when this is no file that may be written."""
    parent, name = _resolve(given, roots)
    try:
        directory = _open_directory(parent)
    except OSError as error:
        raise _bad_target(f"its directory cannot be opened ({error.strerror})") from None
    try:
        _refuse_other_than_file(directory, name)
        yield FileTarget(directory, parent, name)
    finally:
        _close(directory)


def _resolve(given: object, roots: Sequence[str]) -> tuple[str, str]:
    if not roots:
        raise _bad_target("no allowed commit roots are configured")
    if not issubclass(type(given), str):
        raise _bad_target(f"expected an absolute path, not {quote(type(given).__name__)}")
    path = str.__str__(cast(str, given))
    if "\0" in path or not path.startswith("/"):
        raise _bad_target(f"{quote(path)} is not an absolute path")
    head, _, name = path.rpartition("/")
    if not name.endswith(".json") or name == ".json":
        raise _bad_target(f"{quote(path)} does not name a .json file")
    try:
        parent = os.path.realpath(head or "/", strict=True)
    except (OSError, ValueError):
        raise _bad_target(f"the directory of {quote(path)} does not exist") from None
    if not any(_is_below(parent, root) for root in roots):
        raise _bad_target(f"{quote(path)} is outside the allowed commit roots")
    return parent, name


def _is_below(path: str, root: str) -> bool:
    return path == root or path.startswith(root.rstrip("/") + "/")


def _open_directory(path: str) -> int:
    """Opens a resolved path step by step: a link that appeared since then is not followed."""
    directory = os.open("/", _WAYPOINT)
    try:
        for step in Path(path).parts[1:]:
            outer, directory = directory, os.open(step, _WAYPOINT, dir_fd=directory)
            _close(outer)
        return os.open(".", _DIRECTORY, dir_fd=directory)
    finally:
        _close(directory)


def _refuse_other_than_file(directory: int, name: str) -> None:
    try:
        mode = os.stat(name, dir_fd=directory, follow_symlinks=False).st_mode
    except FileNotFoundError:
        return
    except OSError as error:
        raise _bad_target(f"{quote(name)} cannot be examined ({error.strerror})") from None
    if not stat.S_ISREG(mode):
        raise _bad_target(f"{quote(name)} exists and is not a regular file")


def replace(target: FileTarget, current: bytes, proposed: bytes) -> None:
    """Raises `StateRefused`: 106 when the file is not `current`, 108 when the write failed."""
    try:
        with _lock(target.directory):
            previous = _read(target, limit=len(current))
            if previous is not None and previous != current:
                raise StateRefused(
                    StateCode.TRANSITION, "current state is stale: the file holds another state"
                )
            _replace_or_put_back(target, previous, proposed)
    except OSError as error:
        raise StateRefused(
            StateCode.COMMIT_WRITE, f"the state could not be written ({error.strerror})"
        ) from None


@contextmanager
def _lock(directory: int) -> Iterator[None]:
    deadline = time.monotonic() + LOCK_SECONDS
    while True:
        try:
            fcntl.flock(directory, fcntl.LOCK_EX | fcntl.LOCK_NB)
            break
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise
            time.sleep(_LOCK_POLL_SECONDS)
    # Closing the descriptor would unlock too, but not if the process forked meanwhile.
    try:
        yield
    finally:
        with suppress(OSError):
            fcntl.flock(directory, fcntl.LOCK_UN)


def _read(target: FileTarget, limit: int) -> bytes | None:
    """The file's bytes, one more than `limit` at most; None when there is no file."""
    try:
        file = os.open(target.name, _READ, dir_fd=target.directory)
    except FileNotFoundError:
        return None
    try:
        data = b""
        while len(data) <= limit and (chunk := os.read(file, limit + 1 - len(data))):
            data += chunk
        return data
    finally:
        _close(file)


def _replace_or_put_back(target: FileTarget, previous: bytes | None, proposed: bytes) -> None:
    try:
        _write_temporary(target.directory, proposed)
        _refuse_moved(target)
        os.replace(TEMPORARY_NAME, target.name, src_dir_fd=target.directory, dst_dir_fd=target.directory)
    except BaseException:
        _remove_temporary(target.directory)
        raise
    try:
        _refuse_moved(target)
        os.fsync(target.directory)
    except BaseException:
        _put_back(target, previous)
        raise


def _write_temporary(directory: int, data: bytes) -> None:
    try:
        file = os.open(TEMPORARY_NAME, _CREATE, _MODE, dir_fd=directory)
    except FileExistsError:
        os.unlink(TEMPORARY_NAME, dir_fd=directory)
        file = os.open(TEMPORARY_NAME, _CREATE, _MODE, dir_fd=directory)
    try:
        os.fchmod(file, _MODE)
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(file, rest) :]
        os.fsync(file)
    finally:
        _close(file)


def _refuse_moved(target: FileTarget) -> None:
    """The directory that is open must be the one its path leads to, or the write would escape."""
    now = _open_directory(target.parent)
    try:
        if not os.path.sameopenfile(now, target.directory):
            raise OSError(None, "the directory was moved meanwhile")
    finally:
        _close(now)


def _put_back(target: FileTarget, previous: bytes | None) -> None:
    """Best effort: the disk has just failed, and what stands there is whole either way."""
    with suppress(OSError):
        if previous is None:
            os.unlink(target.name, dir_fd=target.directory)
        else:
            _write_temporary(target.directory, previous)
            os.replace(TEMPORARY_NAME, target.name, src_dir_fd=target.directory, dst_dir_fd=target.directory)
        os.fsync(target.directory)
    _remove_temporary(target.directory)


def _remove_temporary(directory: int) -> None:
    with suppress(OSError):
        os.unlink(TEMPORARY_NAME, dir_fd=directory)


def _close(descriptor: int) -> None:
    # The data was flushed before; a close that reports an error has still closed.
    with suppress(OSError):
        os.close(descriptor)


def _bad_target(why: str) -> StateRefused:
    return StateRefused(StateCode.COMMIT_TARGET, f"commit target refused: {why}")
