"""What a coding agent does in a project: commands, and files that it reads and writes."""

from qwed.engines.workspace.engine import WorkspaceEngine

__all__ = ["WorkspaceEngine"]
