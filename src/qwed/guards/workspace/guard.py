"""`WorkspaceGuard`: snapshot, diff, rollback."""

import hashlib
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from qwed.guards.workspace import snapshots
from qwed.guards.workspace.beneath import Beneath, split
from qwed.guards.workspace.changes import Change, Tree, compare, describe, lost
from qwed.guards.workspace.errors import RollbackIncomplete, WorkspaceError
from qwed.guards.workspace.ignore_files import PresentIgnoreFiles
from qwed.guards.workspace.locking import locked
from qwed.guards.workspace.objects import Entry, FileChanged, ObjectStore, blob_id
from qwed.guards.workspace.restoring import Restorer, remove_rooms
from qwed.guards.workspace.scanning import Scan, Scanner, Scope
from qwed.guards.workspace.snapshots import Record
from qwed.guards.workspace.stat_cache import StatCache, signature
from qwed.guards.workspace.tracked import TrackedPaths

_READ_ATTEMPTS: Final = 5


class Rollback(msgspec.Struct, frozen=True):
    """`undone` is what the rollback reverted; `lost` could not be brought back (see the limits)."""

    undone: tuple[Change, ...]
    lost: tuple[str, ...]


class _Session(NamedTuple):
    """What one call works with, while it holds the lock."""

    store: ObjectStore
    cache: StatCache
    now_ns: int
    outside: frozenset[tuple[int, int]]


class WorkspaceGuard:
    """Takes snapshots of a directory and brings it back to one of them, byte for byte.

    The store is a bare git directory of its own. The workspace's `.git` is neither read for
    content nor written, and git is never run, so that no hook, filter or configuration of the
    repository has any part in it. Every method raises `WorkspaceError` and nothing else.
    """

    def __init__(self, path: str | os.PathLike[str], *, store: str | os.PathLike[str] | None = None) -> None:
        workspace = Path(path).resolve()
        if not workspace.is_dir():
            raise ValueError(f"path: {os.fspath(path)!r} is not a directory")
        self._workspace = workspace
        self._root = os.fsencode(workspace)
        self._directory = Path(store).resolve() if store is not None else _default_store(self._root)

    @property
    def path(self) -> Path:
        return self._workspace

    @property
    def store(self) -> Path:
        return self._directory

    def snapshot(self, *, include_ignored: bool = False, include_git: bool = False) -> str:
        """The id of the workspace as it is now."""
        scope = Scope(include_ignored, include_git)
        with self._session() as session, Beneath(self._root) as beneath:
            remove_rooms(beneath)
            ignore_files = PresentIgnoreFiles(self._root, beneath)
            tracked = TrackedPaths(self._root)
            scanner = Scanner(self._root, scope, ignore_files, tracked, outside=session.outside)
            scan = scanner.scan(on_repository=tracked.add_repository)
            if scan.bottomless:
                deepest = os.fsdecode(min(scan.bottomless))
                raise WorkspaceError(f"{deepest[:80]!r} … is nested too deeply to be saved")
            tree = _identified(scan, beneath, session, keep=True)
            snapshot_id = snapshots.save(session.store, tree, scope, ignore_files.found())
            session.store.publish()
            snapshots.name(self._directory, snapshot_id)
            session.cache.save()
            return snapshot_id

    def snapshots(self) -> list[str]:
        """The ids of all snapshots of this workspace, the oldest first."""
        return snapshots.named(self._directory)

    def diff(self, snapshot_id: str) -> tuple[Change, ...]:
        """What changed since the snapshot, by path."""
        with self._session() as session:
            record, saved = snapshots.load(session.store, self._directory, snapshot_id)
            with Beneath(self._root) as beneath:
                return describe(compare(saved, self._now(record, saved, beneath, session)))

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

    def _now(self, record: Record, saved: Tree, beneath: Beneath, session: _Session) -> Tree:
        """The workspace as it is, seen with the snapshot's eyes: its scope and its ignore rules."""
        scanner = Scanner(
            self._root, record.scope, record.ignore_files, saved.entries, outside=session.outside
        )
        return _identified(scanner.scan(on_denied=beneath.let_owner_in), beneath, session, keep=False)

    @contextmanager
    def _session(self) -> Iterator[_Session]:
        store = ObjectStore(self._directory)
        try:
            self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            with locked(self._directory):
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


def _identified(scan: Scan, beneath: Beneath, session: _Session, *, keep: bool) -> Tree:
    entries: dict[bytes, Entry] = {}
    for path, status in scan.entries.items():
        if stat.S_ISDIR(status.st_mode):
            entries[path] = Entry(status.st_mode, "")
        elif (known := session.cache.id_of(path, status)) is not None:
            entries[path] = Entry(status.st_mode, known)
        else:
            entry = _read(path, status, beneath, session, keep=keep)
            if entry is not None:
                entries[path] = entry
    return Tree(entries, scan.kept, frozenset(scan.hides_ignored))


def _read(
    path: bytes, status: os.stat_result, beneath: Beneath, session: _Session, *, keep: bool
) -> Entry | None:
    """None when it is gone meanwhile."""
    for _ in range(_READ_ATTEMPTS):
        try:
            if stat.S_ISLNK(status.st_mode):
                return _read_link(path, status, beneath, session, keep=keep)
            return _read_file(path, beneath, session, keep=keep)
        except FileNotFoundError:
            return None
        except FileChanged:
            continue
        except PermissionError:
            if keep:
                raise
            # What cannot be read is not what was saved.
            return Entry(status.st_mode, "")
    raise WorkspaceError(f"{os.fsdecode(path)!r} changes faster than it can be read")


def _read_link(
    path: bytes, status: os.stat_result, beneath: Beneath, session: _Session, *, keep: bool
) -> Entry:
    parent, name = split(path)
    target = os.readlink(name, dir_fd=beneath.directory(parent))
    object_id = session.store.add_blob(target) if keep else blob_id(target)
    session.cache.learn(path, status, object_id, session.now_ns)
    return Entry(status.st_mode, object_id)


def _read_file(path: bytes, beneath: Beneath, session: _Session, *, keep: bool) -> Entry:
    with beneath.file(path, os.O_RDONLY) as file:
        status = os.fstat(file)
        if not stat.S_ISREG(status.st_mode):
            raise FileChanged
        object_id = session.store.add_file(file, status.st_size, keep=keep)
        if signature(os.fstat(file)) != signature(status):
            raise FileChanged
    session.cache.learn(path, status, object_id, session.now_ns)
    return Entry(status.st_mode, object_id)
