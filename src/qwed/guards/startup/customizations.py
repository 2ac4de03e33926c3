"""`sitecustomize` and `usercustomize`: modules that Python runs at every start wherever it finds them."""

import os
from collections.abc import Iterator
from functools import partial
from typing import Final

from qwed.guards.startup import genuine
from qwed.guards.startup.findings import ACCEPT_OR_REMOVE, CLOSE, StartupFinding
from qwed.guards.startup.hook_code import unexplained_in
from qwed.guards.startup.hook_files import is_vouched_for
from qwed.guards.startup.hostile_files import Content, UnreadableFile, read_regular
from qwed.guards.startup.permissions import is_roots_alone, planting_place
from qwed.guards.startup.records import InstalledRecords
from qwed.guards.startup.search_path import SearchPath

NAMES: Final = ("sitecustomize", "usercustomize")


def inspect_customizations(search: SearchPath) -> Iterator[StartupFinding]:
    """Every one on the path, not the first alone: which one runs depends on how Python is started."""
    for name in NAMES:
        for directory in search.directories:
            spec = search.find(directory, name)
            if spec is not None and spec.origin is not None:
                yield from inspect_module(spec.origin, directory, search)


def inspect_module(path: str, directory: str, search: SearchPath) -> Iterator[StartupFinding]:
    content = read_regular(path)
    if isinstance(content, UnreadableFile):
        yield StartupFinding(path, 0, f"runs at every start of Python and {content.why}", "remove it")
        return
    if place := planting_place(path):
        yield StartupFinding(path, 0, f"runs at every start, and any user can write to {place}", CLOSE)
    if why := _find_unexplained(path, content, directory, search):
        why = f"runs at every start of Python and {why}"
        yield StartupFinding(path, 0, why, ACCEPT_OR_REMOVE, content.sha256)


def _find_unexplained(path: str, content: Content, directory: str, search: SearchPath) -> str | None:
    if not path.endswith(".py"):
        return "is compiled code"
    try:
        source = content.raw.decode("utf-8")
    except UnicodeDecodeError:
        return "is not UTF-8"
    tree = genuine.parse(source)
    if tree is None:
        return "is not readable as Python"
    if genuine.does_nothing(tree):
        return None
    if genuine.is_debian_sitecustomize(tree):
        return _debian_hook(search)
    claims = InstalledRecords(directory).claims(os.path.relpath(path, directory))
    if not any(claim.sha256 == content.sha256 for claim in claims):
        return "no installed distribution vouches for it"
    owns = partial(is_vouched_for, search=search, directory=directory, vouchers=claims)
    return unexplained_in(source, owns)


def _debian_hook(search: SearchPath) -> str | None:
    unsafe = [file for file in search.files_of(genuine.DEBIAN_HOOK_MODULE) if not is_roots_alone(file)]
    return f"loads {unsafe[0]}, which is not the system's" if unsafe else None
