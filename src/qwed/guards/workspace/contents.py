"""The content of what a scan found, as ids: read only where the status does not tell."""

import os
import stat
from collections.abc import Mapping
from typing import Final

from qwed.guards.workspace.beneath import Beneath, split
from qwed.guards.workspace.changes import WorkspaceTree
from qwed.guards.workspace.errors import WorkspaceError
from qwed.guards.workspace.objects import FileChanged, ObjectStore, TreeEntry, blob_id
from qwed.guards.workspace.scan import WorkspaceScan
from qwed.guards.workspace.stat_cache import StatCache, signature

_READ_ATTEMPTS: Final = 5
_UNLIKE_ANY: Final = ""


class Contents:
    """`now_ns` is the file system's time before anything was read."""

    def __init__(self, beneath: Beneath, store: ObjectStore, cache: StatCache, now_ns: int) -> None:
        self._beneath = beneath
        self._store = store
        self._cache = cache
        self._now_ns = now_ns

    def saved(self, scan: WorkspaceScan) -> WorkspaceTree:
        """Adds every content to the store. What cannot be read is an error."""
        entries: dict[bytes, TreeEntry] = {}
        for path, status in scan.entries.items():
            entry = self._known(path, status) or self._read(path, status, keep=True)
            if entry is not None:
                entries[path] = entry
        return WorkspaceTree(entries, scan.kept, frozenset(scan.hides_ignored))

    def compared(self, scan: WorkspaceScan, saved: Mapping[bytes, TreeEntry]) -> WorkspaceTree:
        """Reads only what may be as it was: an agent's terabyte of zeros is not looked at."""
        entries: dict[bytes, TreeEntry] = {}
        for path, status in scan.entries.items():
            entry = self._known(path, status)
            if entry is None and not self._may_equal(saved.get(path), status):
                entry = TreeEntry(status.st_mode, _UNLIKE_ANY)
            if entry is None:
                entry = self._read_if_possible(path, status)
            if entry is not None:
                entries[path] = entry
        return WorkspaceTree(entries, scan.kept, frozenset(scan.hides_ignored))

    def _known(self, path: bytes, status: os.stat_result) -> TreeEntry | None:
        if stat.S_ISDIR(status.st_mode):
            return TreeEntry(status.st_mode, "")
        object_id = self._cache.id_of(path, status)
        return None if object_id is None else TreeEntry(status.st_mode, object_id)

    def _may_equal(self, saved: TreeEntry | None, status: os.stat_result) -> bool:
        if saved is None or stat.S_IFMT(saved.mode) != stat.S_IFMT(status.st_mode):
            return False
        return stat.S_ISLNK(status.st_mode) or self._store.size_of(saved.id) == status.st_size

    def _read_if_possible(self, path: bytes, status: os.stat_result) -> TreeEntry | None:
        try:
            return self._read(path, status, keep=False)
        except PermissionError:
            return TreeEntry(status.st_mode, _UNLIKE_ANY)

    def _read(self, path: bytes, status: os.stat_result, *, keep: bool) -> TreeEntry | None:
        """None when it is gone meanwhile."""
        for _ in range(_READ_ATTEMPTS):
            try:
                if stat.S_ISLNK(status.st_mode):
                    return self._read_link(path, status, keep=keep)
                return self._read_file(path, keep=keep)
            except FileNotFoundError:
                return None
            except FileChanged:
                continue
        raise WorkspaceError(f"{os.fsdecode(path)!r} changes faster than it can be read")

    def _read_link(self, path: bytes, status: os.stat_result, *, keep: bool) -> TreeEntry:
        parent, name = split(path)
        target = os.readlink(name, dir_fd=self._beneath.directory(parent))
        object_id = self._store.add_blob(target) if keep else blob_id(target)
        self._cache.learn(path, status, object_id, self._now_ns)
        return TreeEntry(status.st_mode, object_id)

    def _read_file(self, path: bytes, *, keep: bool) -> TreeEntry:
        with self._beneath.file(path, os.O_RDONLY) as file:
            status = os.fstat(file)
            if not stat.S_ISREG(status.st_mode):
                raise FileChanged
            object_id = self._store.add_file(file, status.st_size, keep=keep)
            if signature(os.fstat(file)) != signature(status):
                raise FileChanged
        self._cache.learn(path, status, object_id, self._now_ns)
        return TreeEntry(status.st_mode, object_id)
