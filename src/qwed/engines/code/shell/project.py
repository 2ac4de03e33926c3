"""The project that a command runs in: what lies below its root is its own, by whatever path it is named."""

import re
from typing import Final

import msgspec

from qwed.engines.code import places
from qwed.engines.code.shell.words import HOLE

# Below these lie the machine, homes and services: too much to be one project.
_SHARED: Final = re.compile(
    r"/|/(?:bin|boot|dev|etc|lib\w*|proc|run|sbin|sys|usr|var/(?!www/|tmp/|lib/jenkins/)\w+)(?:/.*)?|/var"
    r"|/(?:home|Users|opt|srv|mnt|media|root|tmp|private|Volumes)|/(?:home|Users)/[^/]+|/var/(?:www|tmp)"
)


def is_project_root(path: str) -> bool:
    """Whether a folder can be one project: absolute, and not the machine's, a home or a place of secrets."""
    normal = places.normal_path(path)
    if not path.startswith("/") or normal != (path.rstrip("/") or "/") or "\x00" in path or HOLE in path:
        return False
    return _SHARED.fullmatch(normal) is None and not _holds_secrets(normal)


def _holds_secrets(path: str) -> bool:
    # A home of the superuser is a place like others once something lies below it.
    return places.is_sensitive(path.removeprefix("/root"))


class Project(msgspec.Struct, frozen=True):
    """`root` is absolute; `below` are the members that lead from it to the working folder."""

    root: str
    below: tuple[str, ...] = ()

    @classmethod
    def at(cls, root: str, cwd: str) -> "Project | None":
        """None where the working folder is not below the root, or the root can't be a project."""
        root, cwd = root.rstrip("/") or "/", places.normal_path(cwd)
        if not is_project_root(root) or not (cwd == root or cwd.startswith(f"{root}/")):
            return None
        return cls(root, tuple(filter(None, cwd[len(root) :].split("/"))))

    @property
    def here(self) -> str:
        return "/".join((self.root, *self.below))

    def shorten(self, word: str) -> str:
        """A path below the root, as one that does not leave the working tree; any other word as it is."""
        option, sign, value = word.partition("=")
        if sign and value.startswith(("/", "../")) and "/" not in option:
            return f"{option}={self._shorten(value)}"
        return self._shorten(word)

    def _shorten(self, path: str) -> str:
        if path == self.root or path.startswith(f"{self.root}/"):
            normal = places.normal_path(path)
            if normal == self.root:
                return "."
            return normal[len(self.root) + 1 :] if normal.startswith(f"{self.root}/") else path
        if self.below and (path == ".." or path.startswith("../")):
            normal = places.normal_path("/".join((self.here, path)))
            is_below = normal == self.root or normal.startswith(f"{self.root}/")
            return (normal[len(self.root) + 1 :] or ".") if is_below else path
        return path
