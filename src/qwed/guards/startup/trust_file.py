"""What a person has accepted: path and content, in a file that only they can write."""

import json
import os
import stat
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

from qwed.guards.startup.findings import StartupFinding
from qwed.guards.startup.hostile_files import UnreadableFile, read_regular
from qwed.guards.startup.permissions import planting_place


def load_accepted(path: Path) -> dict[str, str]:
    """Path to content hash. Empty without a file; `RuntimeError` for one that cannot be trusted."""
    try:
        status = path.lstat()
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise RuntimeError(f"{path}: cannot be read ({error.strerror})") from None
    if why := _distrust(path, status):
        raise RuntimeError(f"{path}: {why}; remove it and accept the start-up hooks again")
    content = read_regular(str(path))
    if isinstance(content, UnreadableFile):
        raise RuntimeError(f"{path}: {content.why}")
    try:
        return msgspec.json.decode(content.raw, type=dict[str, str])
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise RuntimeError(f"{path}: is damaged ({error}); remove it and accept the hooks again") from None


def accept(findings: Iterable[StartupFinding], path: Path) -> list[StartupFinding]:
    """Record these findings as accepted; the answer lists those that nobody can accept."""
    refused = [finding for finding in findings if finding.sha256 is None]
    accepted = load_accepted(path)
    accepted |= {finding.path: finding.sha256 for finding in findings if finding.sha256 is not None}
    _write(path, accepted)
    return refused


def _distrust(path: Path, status: os.stat_result) -> str | None:
    if not stat.S_ISREG(status.st_mode):
        return "is not a regular file"
    if status.st_uid not in (0, os.geteuid()):
        return "belongs to someone else"
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return "can be written by others"
    if place := planting_place(str(path.parent)):
        return f"can be exchanged by others, who can write to {place}"
    return None


def _write(path: Path, accepted: Mapping[str, str]) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    # mkstemp makes it 0600, and the rename replaces the old file in one step.
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump(accepted, file, indent=2, sort_keys=True)
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
