"""`PYTHONPATH`: directories that come before the standard library."""

# Paths stay the strings that Python itself uses; Path would tidy them up.
# ruff: noqa: PTH110, PTH112, PTH117, PTH208

import hashlib
import os
import sys
from collections.abc import Iterator, Sequence

from qwed.guards.startup.findings import ACCEPT_OR_REMOVE, CLOSE, StartupFinding
from qwed.guards.startup.permissions import planting_place
from qwed.guards.startup.search_path import SearchPath


def split(python_path: str) -> list[str]:
    return python_path.split(os.pathsep) if python_path else []


def inspect_entry(entry: str, site_dirs: Sequence[str], search: SearchPath) -> Iterator[StartupFinding]:
    if not os.path.isabs(entry):
        why = f"holds {entry!r}" if entry else "holds an empty entry"
        why += ", so whoever chooses the working directory chooses the code"
        yield StartupFinding("PYTHONPATH", 0, why, "write absolute paths only, or unset it")
    elif place := planting_place(entry):
        yield StartupFinding(entry, 0, f"is on PYTHONPATH, and any user can write to {place}", CLOSE)
    elif os.path.isdir(entry):
        yield from _shadowing(entry, site_dirs, search)
    elif os.path.exists(entry):
        yield StartupFinding(entry, 0, "is on PYTHONPATH and is not a directory", "unpack or remove it")


def _shadowing(directory: str, site_dirs: Sequence[str], search: SearchPath) -> Iterator[StartupFinding]:
    names = {name.partition(".")[0] for name in os.listdir(directory)}
    modules = sorted(name for name in names if name.isidentifier() and search.find(directory, name))
    taken = [name for name in modules if _is_taken(name, directory, site_dirs, search)]
    if taken:
        listed = ", ".join(taken[:5]) + (", …" if len(taken) > 5 else "")
        digest = hashlib.sha256("\n".join(modules).encode()).hexdigest()
        why = f"is on PYTHONPATH and takes the place of {listed}"
        yield StartupFinding(directory, 0, why, ACCEPT_OR_REMOVE, digest)


def _is_taken(name: str, directory: str, site_dirs: Sequence[str], search: SearchPath) -> bool:
    if name in sys.stdlib_module_names:
        return True
    return any(search.find(other, name) for other in site_dirs if not _is_same(other, directory))


def _is_same(one: str, other: str) -> bool:
    return os.path.realpath(one) == os.path.realpath(other)
