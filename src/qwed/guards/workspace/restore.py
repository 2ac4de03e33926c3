"""Puts a saved tree back, in an order that a crash at any instant leaves repeatable.

1. every blob that is needed is unpacked and verified beside the tree, before the tree is touched
2. what is in the way is moved out of the tree, as a whole
3. directories are made, and files and links are moved into place
4. directories get their modes, the innermost first
5. what was moved out is deleted

Files are never written in place: a hard link to one of them elsewhere keeps its content.
"""

import os
import secrets
import stat
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Final

from qwed.guards.workspace.beneath import OWNER_ALL, Beneath, ancestors, join, open_to_owner, split
from qwed.guards.workspace.changes import FileChangeKind, WorkspaceTree
from qwed.guards.workspace.objects import ObjectStore

# Names of this form at the root of a workspace are the guard's own.
ROOM_PREFIX: Final = b".qwed-rollback-"
_DIRECTORY: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW_FILE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class Restorer:
    """Works in a room of its own at the root, which is on the same file system as the tree."""

    def __init__(self, beneath: Beneath, store: ObjectStore, saved: WorkspaceTree) -> None:
        self._beneath = beneath
        self._store = store
        self._saved = saved
        self._room = ROOM_PREFIX + secrets.token_hex(8).encode()
        self._opened: set[bytes] = set()
        self._moved = 0

    def restore(self, changes: Mapping[bytes, FileChangeKind]) -> None:
        if not changes:
            return
        wanted = {path: self._saved.entries[path] for path in changes if path in self._saved.entries}
        contents = [path for path, entry in wanted.items() if not stat.S_ISDIR(entry.mode)]
        self._open_to_owner(b"")
        os.mkdir(self._room, OWNER_ALL, dir_fd=self._beneath.directory(b""))
        for number, path in enumerate(contents):
            self._unpack(path, b"%d" % number)
        self._clear(
            path for path, kind in changes.items() if kind in (FileChangeKind.ADDED, FileChangeKind.TYPE)
        )
        for path, entry in wanted.items():
            if stat.S_ISDIR(entry.mode):
                self._make_directory(path)
        for number, path in enumerate(contents):
            self._place(b"%d" % number, path)
        self._set_modes(path for path, entry in wanted.items() if stat.S_ISDIR(entry.mode))

    def _unpack(self, path: bytes, number: bytes) -> None:
        entry = self._saved.entries[path]
        room = self._beneath.directory(self._room)
        if stat.S_ISLNK(entry.mode):
            os.symlink(self._store.read_blob(entry.id), number, dir_fd=room)
            return
        file = os.open(number, _NEW_FILE, 0o600, dir_fd=room)
        try:
            for chunk in self._store.blob_chunks(entry.id):
                _write_all(file, chunk)
            os.fchmod(file, stat.S_IMODE(entry.mode))
        finally:
            os.close(file)

    def _clear(self, paths: Iterable[bytes]) -> None:
        """Paths in order, so that a directory comes before what is in it and takes it along."""
        cleared: set[bytes] = set()
        for path in paths:
            if path not in self._saved.kept and cleared.isdisjoint(ancestors(path)):
                self._move(path, b"gone-%d" % self._moved)
                self._moved += 1
                cleared.add(path)

    def _move(self, path: bytes, number: bytes) -> None:
        parent, name = split(path)
        self._open_to_owner(parent)
        room = os.dup(self._beneath.directory(self._room))
        try:
            directory = self._beneath.directory(parent)
            # A directory that its owner may not write cannot be moved: its ".." would change.
            if stat.S_ISDIR(os.stat(name, dir_fd=directory, follow_symlinks=False).st_mode):
                open_to_owner(name, directory)
            os.rename(name, number, src_dir_fd=directory, dst_dir_fd=room)
            self._beneath.forget()
        finally:
            os.close(room)

    def _make_directory(self, path: bytes) -> None:
        parent, name = split(path)
        if path:
            self._open_to_owner(parent)
            with suppress(FileExistsError):
                os.mkdir(name, OWNER_ALL, dir_fd=self._beneath.directory(parent))
            self._opened.add(path)

    def _place(self, number: bytes, path: bytes) -> None:
        parent, name = split(path)
        self._open_to_owner(parent)
        room = os.dup(self._beneath.directory(self._room))
        try:
            os.rename(number, name, src_dir_fd=room, dst_dir_fd=self._beneath.directory(parent))
        finally:
            os.close(room)

    def _open_to_owner(self, directory: bytes) -> None:
        """So that its entries can be changed; its own mode comes back at the end."""
        if directory not in self._opened:
            descriptor = self._beneath.directory(directory)
            mode = stat.S_IMODE(os.fstat(descriptor).st_mode)
            if mode & OWNER_ALL != OWNER_ALL:
                os.fchmod(descriptor, mode | OWNER_ALL)
            self._opened.add(directory)

    def _set_modes(self, changed: Iterable[bytes]) -> None:
        directories = (self._opened | set(changed)) & self._saved.entries.keys()
        for path in sorted(directories, reverse=True):
            os.fchmod(self._beneath.directory(path), stat.S_IMODE(self._saved.entries[path].mode))


def _write_all(file: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(file, rest) :]


def remove_rooms(beneath: Beneath) -> None:
    """Deletes what rollbacks moved out, in this call or in one that was interrupted."""
    root = beneath.directory(b"")
    for name in _names(root):
        if name.startswith(ROOM_PREFIX):
            _remove(name, root)


def _remove(name: bytes, parent: int) -> None:
    """A tree of any depth with two descriptors: each directory is moved up before it is emptied."""
    if not _is_directory(name, parent):
        os.unlink(name, dir_fd=parent)
        return
    unique = secrets.token_hex(8).encode()
    top = _open_directory(name, parent)
    try:
        pending = [b"."]
        moved = 0
        while pending:
            current = pending.pop()
            for member in _empty(current, top):
                aside = b"%s-%d" % (unique, moved)
                moved += 1
                os.rename(join(current, member), aside, src_dir_fd=top, dst_dir_fd=top)
                pending.append(aside)
            if current != b".":
                os.rmdir(current, dir_fd=top)
    finally:
        os.close(top)
    os.rmdir(name, dir_fd=parent)


def _empty(name: bytes, parent: int) -> list[bytes]:
    """Unlinks the files of a directory, and lists its directories, which can then be moved."""
    directory = _open_directory(name, parent)
    try:
        inner = []
        for member in _names(directory):
            if _is_directory(member, directory):
                open_to_owner(member, directory)
                inner.append(member)
            else:
                os.unlink(member, dir_fd=directory)
        return inner
    finally:
        os.close(directory)


def _open_directory(name: bytes, parent: int) -> int:
    open_to_owner(name, parent)
    return os.open(name, _DIRECTORY, dir_fd=parent)


def _is_directory(name: bytes, parent: int) -> bool:
    return stat.S_ISDIR(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode)


def _names(directory: int) -> list[bytes]:
    with os.scandir(directory) as entries:
        return [os.fsencode(entry.name) for entry in entries]
