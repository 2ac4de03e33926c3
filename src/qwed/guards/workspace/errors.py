"""Why a workspace could not be snapshotted, compared or restored.

WorkspaceError
├── UnknownSnapshot      no snapshot of this workspace has that id
├── SnapshotDamaged      what the store holds is not what was put into it
├── WorkspaceBusy        another process works with this workspace's store
└── RollbackIncomplete   the tree is not the snapshot's yet: rolling back again continues
"""


class WorkspaceError(Exception):
    """The message says what could not be done, and to which path."""


class UnknownSnapshot(WorkspaceError):
    pass


class SnapshotDamaged(WorkspaceError):
    pass


class WorkspaceBusy(WorkspaceError):
    pass


class RollbackIncomplete(WorkspaceError):
    pass
