"""What differs between a snapshot and the workspace now."""

import enum
import os
import stat
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import msgspec

from qwed.guards.workspace.objects import TreeEntry


class FileChangeKind(enum.StrEnum):
    ADDED = "added"
    REMOVED = "removed"
    MODIFIED = "modified"
    MODE = "mode"
    TYPE = "type"


class FileChange(msgspec.Struct, frozen=True):
    """What happened to a path since the snapshot. Names that are not UTF-8 hold surrogate escapes."""

    kind: FileChangeKind
    path: str


class WorkspaceTree(NamedTuple):
    """A workspace as a snapshot saved it, or as it is now.

    `kept` are paths that are neither saved nor restored, with their file type. `may_remain` are
    directories that may stay although they are new, because something ignored lies in them.
    """

    entries: Mapping[bytes, TreeEntry]
    kept: Mapping[bytes, int]
    may_remain: frozenset[bytes] = frozenset()


def compare(saved: WorkspaceTree, now: WorkspaceTree) -> dict[bytes, FileChangeKind]:
    """Every path that differs, in order; a path that is kept and gone is REMOVED."""
    return dict(sorted([*_entry_changes(saved, now), *_find_kept_changes(saved, now)]))


def describe(changes: Mapping[bytes, FileChangeKind]) -> tuple[FileChange, ...]:
    return tuple(FileChange(kind, os.fsdecode(path) or ".") for path, kind in changes.items())


def lost(saved: WorkspaceTree, changes: Mapping[bytes, FileChangeKind]) -> set[bytes]:
    """What is gone and cannot be brought back, because it was never saved."""
    return {path for path in changes if path in saved.kept}


def _entry_changes(saved: WorkspaceTree, now: WorkspaceTree) -> Iterator[tuple[bytes, FileChangeKind]]:
    for path, entry in saved.entries.items():
        present = now.entries.get(path)
        if present is None:
            yield path, FileChangeKind.TYPE if path in now.kept else FileChangeKind.REMOVED
        elif present != entry and (kind := _difference(entry, present)) is not None:
            yield path, kind
    for path in now.entries.keys() - saved.entries.keys():
        if path not in now.may_remain and path not in saved.kept:
            yield path, FileChangeKind.ADDED


def _difference(saved: TreeEntry, now: TreeEntry) -> FileChangeKind | None:
    if stat.S_IFMT(saved.mode) != stat.S_IFMT(now.mode):
        return FileChangeKind.TYPE
    if saved.id != now.id:
        return FileChangeKind.MODIFIED
    return None if stat.S_ISLNK(saved.mode) else FileChangeKind.MODE


def _find_kept_changes(saved: WorkspaceTree, now: WorkspaceTree) -> Iterator[tuple[bytes, FileChangeKind]]:
    for path, kind in saved.kept.items():
        if path in now.entries or now.kept.get(path, kind) != kind:
            yield path, FileChangeKind.TYPE
        elif path not in now.kept:
            yield path, FileChangeKind.REMOVED
    for path in now.kept.keys() - saved.kept.keys() - saved.entries.keys():
        yield path, FileChangeKind.ADDED
