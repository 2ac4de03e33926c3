"""What lies in a workspace now: one walk, no link followed, no ignored directory entered."""

import errno
import os
import stat
from collections.abc import Callable, Container, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple, Protocol

from qwed.guards.workspace.beneath import ancestors, join
from qwed.guards.workspace.errors import WorkspaceError
from qwed.guards.workspace.ignore_files import GITIGNORE
from qwed.guards.workspace.ignore_rules import IgnoreRules, is_ignored

# A directory below this is not walked: one descriptor and one call are held for each level above.
MAX_DEPTH: Final = 128
GIT: Final = b".git"


class SnapshotScope(NamedTuple):
    """What a snapshot covers beside ordinary paths; decided once, when it is taken."""

    ignored: bool = False
    git: bool = False


class IgnoreFiles(Protocol):
    def outermost(self) -> bytes:
        """The rules that apply before every `.gitignore`."""

    def of(self, directory: bytes, is_there: bool) -> bytes:
        """The text of a directory's `.gitignore`, or nothing."""


class WorkspaceScan(NamedTuple):
    """`entries` are files, links and directories, the root (b"") among them.

    `kept` are left as they are, with their file type: `.git`, and what has no content to save.
    `hides_ignored` are the directories with something ignored in them, at any depth.
    `bottomless` are the directories too deep to walk.
    """

    entries: dict[bytes, os.stat_result]
    kept: dict[bytes, int]
    hides_ignored: set[bytes]
    bottomless: set[bytes]


def _nothing(directory: bytes) -> None:
    pass


def _refuse(directory: bytes) -> None:
    raise WorkspaceError(f"{os.fsdecode(directory) or '.'!r} cannot be read (permission denied)")


class Scanner:
    """`wanted` are paths that count although they are ignored, and the directories leading to them.

    `outside` are directories (device and inode) that are no part of the workspace.
    """

    def __init__(
        self,
        root: bytes,
        scope: SnapshotScope,
        ignore_files: IgnoreFiles,
        wanted: Container[bytes],
        *,
        outside: Container[tuple[int, int]],
    ) -> None:
        self._root = root
        self._scope = scope
        self._ignore_files = ignore_files
        self._wanted = wanted
        self._outside = outside
        self._found = WorkspaceScan({}, {}, set(), set())

    def scan(
        self,
        *,
        on_repository: Callable[[bytes], None] = _nothing,
        on_denied: Callable[[bytes], None] = _refuse,
    ) -> WorkspaceScan:
        """`on_denied` makes a directory readable that is not, or raises."""
        self._on_repository = on_repository
        self._on_denied = on_denied
        try:
            self._found.entries[b""] = Path(os.fsdecode(self._root)).lstat()
            self._walk(b"", (IgnoreRules(b"", self._ignore_files.outermost()),), False, 0)
        except OSError as error:
            name = os.fsdecode(error.filename or self._root)
            raise WorkspaceError(f"{name!r} cannot be read ({error.strerror})") from None
        for directory in list(self._found.hides_ignored):
            self._found.hides_ignored.update(ancestors(directory))
        return self._found

    def _walk(
        self, directory: bytes, rules: Sequence[IgnoreRules], is_inside_ignored: bool, depth: int
    ) -> None:
        if depth > MAX_DEPTH:
            self._found.bottomless.add(directory)
            return
        try:
            members = self._members(directory)
        except OSError as error:
            if error.errno != errno.ENAMETOOLONG:
                raise
            self._found.bottomless.add(directory)
            return
        if GIT in members:
            self._on_repository(directory)
        text = self._ignore_files.of(directory, GITIGNORE in members)
        if text:
            rules = (*rules, IgnoreRules(directory, text))
        prefix = directory + b"/" if directory else b""
        for name, status in members.items():
            self._take(prefix + name, name, status, rules, is_inside_ignored, depth)

    def _take(
        self,
        path: bytes,
        name: bytes,
        status: os.stat_result,
        rules: Sequence[IgnoreRules],
        is_inside_ignored: bool,
        depth: int,
    ) -> None:
        mode = status.st_mode
        is_directory = stat.S_ISDIR(mode)
        if is_directory and (status.st_dev, status.st_ino) in self._outside:
            return
        if name == GIT and not self._scope.git and not is_inside_ignored:
            self._found.kept[path] = stat.S_IFMT(mode)
            return
        ignored = not self._scope.ignored and (
            is_inside_ignored or is_ignored(rules, path, name, is_directory)
        )
        if ignored and path not in self._wanted:
            self._found.hides_ignored.add(path.rpartition(b"/")[0])
        elif is_directory:
            self._found.entries[path] = status
            self._walk(path, rules, ignored, depth + 1)
        elif stat.S_ISREG(mode) or stat.S_ISLNK(mode):
            self._found.entries[path] = status
        else:
            self._found.kept[path] = stat.S_IFMT(mode)

    def _members(self, directory: bytes) -> Mapping[bytes, os.stat_result]:
        try:
            return _list(join(self._root, directory))
        except PermissionError:
            self._on_denied(directory)
            return _list(join(self._root, directory))


def _list(directory: bytes) -> dict[bytes, os.stat_result]:
    members = {}
    with os.scandir(directory) as entries:
        for entry in entries:
            try:
                members[entry.name] = entry.stat(follow_symlinks=False)
            except FileNotFoundError:
                continue
    return members
