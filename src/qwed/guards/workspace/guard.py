"""`WorkspaceGuard`: snapshot, diff, rollback."""

import hashlib
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import msgspec

from qwed.guards.workspace import snapshots
from qwed.guards.workspace.beneath import Beneath
from qwed.guards.workspace.changes import FileChange, WorkspaceTree, compare, describe, lost
from qwed.guards.workspace.contents import Contents
from qwed.guards.workspace.errors import RollbackIncomplete, WorkspaceError
from qwed.guards.workspace.ignore_files import PresentIgnoreFiles
from qwed.guards.workspace.objects import ObjectStore
from qwed.guards.workspace.restore import Restorer, remove_rooms
from qwed.guards.workspace.scan import Scanner, SnapshotScope
from qwed.guards.workspace.snapshots import SnapshotRecord
from qwed.guards.workspace.stat_cache import StatCache
from qwed.guards.workspace.store_lock import lock
from qwed.guards.workspace.tracked import TrackedPaths


class Rollback(msgspec.Struct, frozen=True):
    """`undone` is what the rollback reverted; `lost` could not be brought back (see the limits)."""

    undone: tuple[FileChange, ...]
    lost: tuple[str, ...]


class _Session(NamedTuple):
    """What one call works with, while it holds the lock."""

    store: ObjectStore
    cache: StatCache
    now_ns: int
    outside: frozenset[tuple[int, int]]

    def contents(self, beneath: Beneath) -> Contents:
        return Contents(beneath, self.store, self.cache, self.now_ns)


class WorkspaceGuard:
    """Takes snapshots of a directory and brings it back to one of them, byte for byte.

    The store is a bare git directory of its own. The workspace's `.git` is neither read for
    content nor written, and git is never run, so that no hook, filter or configuration of the
    repository has any part in it. Every method raises `WorkspaceError` and nothing else.
    """

    def __init__(self, path: str | os.PathLike[str], *, store: str | os.PathLike[str] | None = None) -> None:
        self._workspace = _resolve(path, "path")
        if not self._workspace.is_dir():
            raise ValueError(f"path: {str(path)!r} is not a directory")
        self._root = os.fsencode(self._workspace)
        self._directory = _default_store(self._root) if store is None else _resolve(store, "store")

    @property
    def path(self) -> Path:
        return self._workspace

    @property
    def store(self) -> Path:
        return self._directory

    def snapshot(self, *, include_ignored: bool = False, include_git: bool = False) -> str:
        """The id of the workspace as it is now."""
        scope = SnapshotScope(include_ignored, include_git)
        with self._session() as session, Beneath(self._root) as beneath:
            remove_rooms(beneath)
            ignore_files = PresentIgnoreFiles(self._root, beneath)
            tracked = TrackedPaths(self._root)
            scanner = Scanner(self._root, scope, ignore_files, tracked, outside=session.outside)
            scan = scanner.scan(on_repository=tracked.add_repository)
            if scan.bottomless:
                deepest = os.fsdecode(min(scan.bottomless))
                raise WorkspaceError(f"{deepest[:80]!r} … is nested too deeply to be saved")
            tree = session.contents(beneath).saved(scan)
            snapshot_id = snapshots.save(session.store, tree, scope, ignore_files.found())
            session.store.publish()
            snapshots.name(self._directory, snapshot_id)
            session.cache.save()
            return snapshot_id

    def snapshots(self) -> list[str]:
        """The ids of all snapshots of this workspace, the oldest first."""
        return snapshots.list_names(self._directory)

    def diff(self, snapshot_id: str) -> tuple[FileChange, ...]:
        """What changed since the snapshot, by path."""
        with self._session() as session:
            record, saved = snapshots.load(session.store, self._directory, snapshot_id)
            with Beneath(self._root) as beneath:
                return describe(compare(saved, self._now(record, saved, beneath, session)))

    def read_saved(self, snapshot_id: str, path: str) -> bytes | None:
        """What a file held in the snapshot; None where it held no such file."""
        with self._session() as session:
            _, saved = snapshots.load(session.store, self._directory, snapshot_id)
            entry = saved.entries.get(os.fsencode(path))
            if entry is None or not stat.S_ISREG(entry.mode):
                return None
            return session.store.read_blob(entry.id)

    def rollback(self, snapshot_id: str) -> Rollback:
        """Brings the workspace back to the snapshot, and checks that it is there."""
        with self._session() as session:
            record, saved = snapshots.load(session.store, self._directory, snapshot_id)
            self._workspace.mkdir(exist_ok=True)
            with Beneath(self._root, repair=True) as beneath:
                remove_rooms(beneath)
                changes = compare(saved, self._now(record, saved, beneath, session))
                try:
                    Restorer(beneath, session.store, saved).restore(changes)
                finally:
                    remove_rooms(beneath)
                remaining = compare(saved, self._now(record, saved, beneath, session))
        gone = lost(saved, remaining)
        if remaining.keys() - gone:
            paths = ", ".join(repr(change.path) for change in describe(remaining)[:5])
            raise RollbackIncomplete(f"{len(remaining)} paths still differ from the snapshot: {paths}")
        undone = {path: kind for path, kind in changes.items() if path not in gone}
        return Rollback(describe(undone), tuple(os.fsdecode(path) for path in sorted(gone)))

    def _now(
        self, record: SnapshotRecord, saved: WorkspaceTree, beneath: Beneath, session: _Session
    ) -> WorkspaceTree:
        """The workspace as it is, seen with the snapshot's eyes: its scope and its ignore rules."""
        scanner = Scanner(
            self._root, record.scope, record.ignore_files, saved.entries, outside=session.outside
        )
        scan = scanner.scan(on_denied=beneath.let_owner_in)
        return session.contents(beneath).compared(scan, saved.entries)

    @contextmanager
    def _session(self) -> Iterator[_Session]:
        store = ObjectStore(self._directory)
        try:
            self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            with lock(self._directory):
                store.open()
                cache = StatCache(self._directory / "stat-cache")
                cache.load()
                status = self._directory.stat()
                outside = frozenset({(status.st_dev, status.st_ino)})
                yield _Session(store, cache, _file_system_time(self._directory / "clock"), outside)
        except OSError as error:
            where = os.fsdecode(error.filename) if error.filename else str(self._workspace)
            raise WorkspaceError(f"{where!r}: {error.strerror or error}") from None
        finally:
            store.close()


def _resolve(path: str | os.PathLike[str], argument: str) -> Path:
    try:
        return Path(path).resolve()
    except (OSError, RuntimeError, TypeError, ValueError) as error:
        raise ValueError(f"{argument}: {path!r} is not a path ({error})") from None


def _default_store(root: bytes) -> Path:
    """Outside the workspace, where neither `git clean` nor an agent at work comes by."""
    try:
        home = Path.home()
    except RuntimeError:
        raise ValueError("store: there is no home directory to keep it in, so it must be given") from None
    return home / ".local" / "state" / "qwed" / "workspaces" / hashlib.sha256(root).hexdigest()[:32]


def _file_system_time(file: Path) -> int:
    """The time as files get it, which lags behind the clock by up to a tick."""
    file.write_bytes(b"")
    os.utime(file)
    return file.stat().st_mtime_ns
