"""A workspace that can be brought back: snapshot, diff, rollback, without touching the user's git."""

from qwed.guards.workspace.changes import FileChange, FileChangeKind
from qwed.guards.workspace.errors import (
    RollbackIncomplete,
    SnapshotDamaged,
    UnknownSnapshot,
    WorkspaceBusy,
    WorkspaceError,
)
from qwed.guards.workspace.guard import Rollback, WorkspaceGuard

__all__ = [
    "FileChange",
    "FileChangeKind",
    "Rollback",
    "RollbackIncomplete",
    "SnapshotDamaged",
    "UnknownSnapshot",
    "WorkspaceBusy",
    "WorkspaceError",
    "WorkspaceGuard",
]
