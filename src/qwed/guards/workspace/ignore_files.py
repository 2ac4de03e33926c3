"""Where ignore rules come from: the files of a workspace, or what a snapshot saved of them."""

import os
from contextlib import suppress
from typing import Final

import msgspec

from qwed.guards.workspace.beneath import Beneath, join
from qwed.guards.workspace.errors import WorkspaceError
from qwed.guards.workspace.tracked import git_directory, name_from, read_regular_file

GITIGNORE: Final = b".gitignore"
_MAX_BYTES: Final = 1024 * 1024


class SavedIgnoreFiles(msgspec.Struct, frozen=True):
    """The rules of the moment of the snapshot: an agent that edits `.gitignore` hides nothing."""

    exclude: bytes
    by_directory: dict[bytes, bytes]

    def outermost(self) -> bytes:
        return self.exclude

    def of(self, directory: bytes, is_there: bool) -> bytes:
        return self.by_directory.get(directory, b"")


class PresentIgnoreFiles:
    """Reads them as the walk meets them, and remembers what it read."""

    def __init__(self, root: bytes, beneath: Beneath) -> None:
        self._root = root
        self._beneath = beneath
        self._exclude = b""
        self._by_directory: dict[bytes, bytes] = {}

    def outermost(self) -> bytes:
        try:
            self._exclude = read_regular_file(_exclude_file(self._root), _MAX_BYTES)
        except (OSError, ValueError):
            # No repository, or none that git could use: there are no such rules.
            self._exclude = b""
        return self._exclude

    def of(self, directory: bytes, is_there: bool) -> bytes:
        if not is_there:
            return b""
        path = join(directory, GITIGNORE)
        try:
            with self._beneath.file(path, os.O_RDONLY) as file:
                text = os.read(file, _MAX_BYTES + 1)
        except OSError:
            # A link or a directory of this name: git reads neither.
            return b""
        if len(text) > _MAX_BYTES:
            raise WorkspaceError(f"{os.fsdecode(path)!r} is larger than {_MAX_BYTES} bytes")
        self._by_directory[directory] = text
        return text

    def found(self) -> SavedIgnoreFiles:
        return SavedIgnoreFiles(self._exclude, dict(sorted(self._by_directory.items())))


def _exclude_file(root: bytes) -> bytes:
    git = git_directory(root)
    # A linked work tree shares this file with the others.
    with suppress(OSError):
        git = name_from(git, read_regular_file(join(git, b"commondir"), 4096).strip())
    return join(git, b"info/exclude")
