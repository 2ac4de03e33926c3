"""Who else could put code there."""

# Paths stay the strings that Python itself uses; Path would tidy them up.
# ruff: noqa: PTH100, PTH116, PTH120

import os
import stat
from pathlib import Path


def planting_place(path: str) -> str | None:
    """The file or directory by which any user of this machine could change what is at `path`.

    Every directory above counts, of the path as written and of what it resolves to: whoever may
    rename one of them decides what lies below. In a sticky one (`/tmp`) only owners rename.
    """
    for spelling in dict.fromkeys((os.path.abspath(path), os.path.realpath(path))):
        if found := _writable_above(Path(spelling)):
            return found
    return None


def _writable_above(path: Path) -> str | None:
    is_missing = not os.path.lexists(path)
    for place in (path, *path.parents):
        try:
            mode = place.lstat().st_mode
        except (OSError, ValueError):
            continue
        if stat.S_ISLNK(mode) or not mode & stat.S_IWOTH:
            is_missing = False
            continue
        # What does not exist yet can be created in a sticky directory as well.
        if place == path or is_missing or not mode & stat.S_ISVTX:
            return str(place)
        is_missing = False
    return None


def is_roots_alone(path: str) -> bool:
    """Only the superuser could have put this file there."""
    for place in (path, os.path.dirname(path)):
        try:
            status = os.stat(place)
        except OSError:
            return False
        if status.st_uid != 0 or status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            return False
    return True
