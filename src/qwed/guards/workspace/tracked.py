"""Which paths the user's git tracks: read from its index, which is never written.

A tracked file is not ignored, whatever `.gitignore` says. The file is parsed here, because running
git inside somebody's repository runs what its configuration names.
"""

import errno
import hashlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from qwed.guards.workspace.beneath import ancestors, join
from qwed.guards.workspace.errors import WorkspaceError

_STAT_LENGTH: Final = 40
_MAX_INDEX_BYTES: Final = 256 * 1024 * 1024
_EXTENDED: Final = 0x4000
_SUPPORTED_VERSIONS: Final = (2, 3, 4)


class TrackedPaths:
    """The paths of every repository met so far, and the directories that lead to them."""

    def __init__(self, root: bytes) -> None:
        self._root = root
        self._unread: list[bytes] = []
        self._known: set[bytes] = set()

    def add_repository(self, directory: bytes) -> None:
        self._unread.append(directory)

    def __contains__(self, path: object) -> bool:
        # Read at the first ignored path: most workspaces have one, some have none.
        while self._unread:
            self._read(self._unread.pop())
        return path in self._known

    def _read(self, directory: bytes) -> None:
        for name in _find_tracked_names(join(self._root, directory)):
            path = join(directory, name.rstrip(b"/"))
            self._known.add(path)
            self._known.update(ancestors(path))


def git_directory(work_tree: bytes) -> bytes:
    """Where `.git` leads: itself, or the directory that a `.git` file names."""
    git = join(work_tree, b".git")
    if not Path(os.fsdecode(git)).is_file():
        return git
    return name_from(work_tree, read_regular_file(git, 4096).removeprefix(b"gitdir:").strip())


def name_from(directory: bytes, path: bytes) -> bytes:
    return path if path.startswith(b"/") else join(directory, path)


def read_regular_file(path: bytes, limit: int = _MAX_INDEX_BYTES) -> bytes:
    """Never waits, as reading a named pipe would."""
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise FileNotFoundError(errno.ENOENT, "not a regular file")
        data = file.read(limit + 1)
    if len(data) > limit:
        raise ValueError(f"larger than {limit} bytes")
    return data


def _find_tracked_names(work_tree: bytes) -> set[bytes]:
    git = git_directory(work_tree)
    try:
        return set(_names_in(git, b"index"))
    except (FileNotFoundError, NotADirectoryError):
        return set()
    except (OSError, ValueError, IndexError) as error:
        where = os.fsdecode(join(git, b"index"))
        raise WorkspaceError(
            f"the git index {where!r} cannot be read ({error}), so ignored paths that git tracks are unknown;"
            " include ignored paths to do without it"
        ) from None


def _names_in(git: bytes, file_name: bytes) -> Iterator[bytes]:
    data = read_regular_file(join(git, file_name))
    version = int.from_bytes(data[4:8])
    if data[:4] != b"DIRC" or version not in _SUPPORTED_VERSIONS:
        raise ValueError("not an index of version 2, 3 or 4")
    id_length = _id_length(data)
    position = 12
    name = b""
    for _ in range(int.from_bytes(data[8:12])):
        name, position = _entry(data, position, version, id_length, name)
        yield name
    if file_name == b"index":
        yield from _names_in_shared_index(git, data, position, id_length)


def _id_length(data: bytes) -> int:
    """20, or 32 in a SHA-256 repository: told by the file's own checksum."""
    return 32 if hashlib.sha256(data[:-32]).digest() == data[-32:] else 20


def _entry(data: bytes, start: int, version: int, id_length: int, previous: bytes) -> tuple[bytes, int]:
    position = start + _STAT_LENGTH + id_length
    flags = int.from_bytes(data[position : position + 2])
    position += 4 if flags & _EXTENDED else 2
    kept = b""
    if version == 4:
        dropped, position = _variable_length(data, position)
        kept = previous[: len(previous) - dropped]
    end = data.index(b"\0", position)
    name = kept + data[position:end]
    if version == 4:
        return name, end + 1
    return name, start + (end - start) // 8 * 8 + 8


def _variable_length(data: bytes, position: int) -> tuple[int, int]:
    value = data[position] & 0x7F
    while data[position] & 0x80:
        position += 1
        value = (value + 1 << 7) | data[position] & 0x7F
    return value, position + 1


def _names_in_shared_index(git: bytes, data: bytes, position: int, id_length: int) -> Iterator[bytes]:
    """A split index names another file, which holds most entries."""
    while position + 8 <= len(data) - id_length:
        size = int.from_bytes(data[position + 4 : position + 8])
        if data[position : position + 4] == b"link":
            shared = data[position + 8 : position + 8 + id_length].hex()
            yield from _names_in(git, b"sharedindex." + shared.encode())
        position += 8 + size
