"""`.pth` and `.start` files, line by line as `site` reads them."""

# Paths stay the strings that Python itself uses; Path would tidy them up.
# ruff: noqa: PTH100, PTH110, PTH112, PTH114, PTH118, PTH208

import os
import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Final

from qwed.guards.startup import genuine
from qwed.guards.startup.findings import ACCEPT_OR_REMOVE, CLOSE, REINSTALL, StartupFinding
from qwed.guards.startup.hook_code import unexplained_in
from qwed.guards.startup.hostile_files import Content, UnreadableFile, read_regular
from qwed.guards.startup.permissions import planting_place
from qwed.guards.startup.records import FileClaim, InstalledRecords, list_hashes
from qwed.guards.startup.search_path import SearchPath

MAX_LINE_LENGTH: Final = 8 * 1024

# Versions of Python disagree about what ends a line and about a byte order mark, and a person does
# not see the others: a file that holds one of them hides something.
_HIDDEN: Final = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]"
)
_CODE_IN_DISGUISE: Final = re.compile(r"\bimport\b|\bexec\b|[;=]")
_ENTRY_POINT: Final = re.compile(r"([A-Za-z_][\w.]*):[A-Za-z_][\w.]*")

Owns = Callable[[str], bool]


def inspect_site_dir(directory: str, search: SearchPath) -> Iterator[StartupFinding]:
    """Everything unexplained in one site directory. Appends to `search` what Python would."""
    search.append(directory)
    if place := planting_place(directory):
        yield StartupFinding(directory, 0, f"any user can write to {place}", CLOSE)
    records = InstalledRecords(directory)
    for name in sorted(os.listdir(directory)):
        if name.endswith((".pth", ".start")):
            yield from _inspect_file(directory, name, records, search)


def _inspect_file(
    directory: str, name: str, records: InstalledRecords, search: SearchPath
) -> Iterator[StartupFinding]:
    path = f"{directory}/{name}"
    content = read_regular(path)
    if isinstance(content, UnreadableFile):
        yield StartupFinding(path, 0, content.why, "remove it")
        return
    if place := planting_place(path):
        yield StartupFinding(path, 0, f"any user can write to {place}", CLOSE)
    claims = records.claims(name)
    if refuted := next((claim for claim in claims if claim.sha256 not in (None, content.sha256)), None):
        why = f"is not what {refuted.distribution} installed: its RECORD lists another hash"
        yield StartupFinding(path, 0, why, REINSTALL, content.sha256)
        return
    vouchers = [claim for claim in claims if claim.sha256]
    if os.path.islink(path) and not vouchers:
        why = f"is a symbolic link to {os.path.realpath(path)}"
        yield StartupFinding(path, 0, why, ACCEPT_OR_REMOVE, content.sha256)
    owns = partial(is_vouched_for, search=search, directory=directory, vouchers=vouchers)
    for number, why in _find_unexplained_lines(directory, name, content, owns, search):
        yield StartupFinding(path, number, why, ACCEPT_OR_REMOVE, content.sha256)


def _find_unexplained_lines(
    directory: str, name: str, content: Content, owns: Owns, search: SearchPath
) -> Iterator[tuple[int, str]]:
    try:
        text = content.raw.decode("utf-8")
    except UnicodeDecodeError:
        yield 0, "is not UTF-8"
        return
    if hidden := _HIDDEN.search(text):
        yield 0, f"holds the hidden character U+{ord(hidden.group()):04X}"
        return
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        if len(line) > MAX_LINE_LENGTH:
            why: str | None = f"is {len(line)} characters long"
        elif name.endswith(".start"):
            why = _entry_point(line, owns)
        elif line.startswith(("import ", "import\t")):
            why = _import_line(line, owns)
        else:
            why = _path_line(directory, name, line, search)
        if why:
            yield number, why


def _import_line(line: str, owns: Owns) -> str | None:
    if genuine.is_genuine_line(line, owns):
        return None
    why = unexplained_in(line, owns)
    return why and f"runs code at every start of Python that {why}"


def _entry_point(line: str, owns: Owns) -> str | None:
    entry = _ENTRY_POINT.fullmatch(line.strip())
    if entry and owns(entry.group(1)):
        return None
    return "runs code at every start of Python for which nothing vouches"


def _path_line(directory: str, name: str, line: str, search: SearchPath) -> str | None:
    if genuine.CODE_ONLY_NAMES.fullmatch(name):
        return "holds a path, which the tool that writes a file of this name never does"
    path = os.path.abspath(os.path.join(directory, line.rstrip()))
    if place := planting_place(path):
        return f"adds {path} to the path, and any user can write to {place}"
    if os.path.isdir(path):
        search.append(path)
        return None
    if os.path.exists(path):
        return f"adds {path} to the path, which is not a directory"
    # Python skips what does not exist, as an uninstalled project leaves it behind.
    return "is code dressed up as a path" if _CODE_IN_DISGUISE.search(line) else None


def is_vouched_for(module: str, search: SearchPath, directory: str, vouchers: list[FileClaim]) -> bool:
    """Every file that importing `module` would run is one that its distribution installed, unchanged."""
    files = search.files_of(module)
    return bool(files) and all(_is_vouched_file(module, file, directory, vouchers) for file in files)


def _is_vouched_file(module: str, file: str, directory: str, vouchers: list[FileClaim]) -> bool:
    if not file.startswith(f"{directory}/") or planting_place(file):
        return False
    content = read_regular(file)
    if isinstance(content, UnreadableFile):
        return False
    listed = [hash_ for claim in vouchers for hash_ in list_hashes(claim.record, file[len(directory) + 1 :])]
    if listed:
        return all(hash_ == content.sha256 for hash_ in listed)
    return file.endswith(".py") and genuine.is_genuine_module(module, content.raw)
