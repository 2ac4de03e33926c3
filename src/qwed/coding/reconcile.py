"""What changed on disk, compared with what was decided: an effect without a decision is named by its file.

A change counts as decided where an allowed call was under way when the file was changed for the last time: a
call that edits files, for the files that it names, if they hold what it was allowed to put there
(`contents.py`); a command, for all. When is the kernel's word (`ctime`), which a program can't set. A call is
under way until it is reported; where nobody reports it, until the next decision of its conversation.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import msgspec

from qwed.coding.contents import MAX_BYTES, was_left

#: The kernel's time of a change is that of its last tick.
_TICK_SECONDS: Final = 0.02
_ALLOWED: Final = frozenset({"APPROVED", "CORRECTED"})
#: The second names the call that a person allowed at the terminal.
_REPORTS: Final = frozenset({"report_outcome", "answer_approval"})
_ONLY_READS: Final = frozenset({"file-read"})
_EDITS: Final = frozenset({"file_write", "file_edit"})


class AllowedCall(msgspec.Struct, frozen=True):
    """`paths` is None for a command: whatever it runs may write any file of the project. `entry` is what the
    record says of it."""

    start: float
    end: float
    paths: frozenset[str] | None = None
    entry: Mapping[str, Any] = {}

    def explains(self, path: str, changed: float) -> bool:
        if not self.start - _TICK_SECONDS <= changed <= self.end:
            return False
        return self.paths is None or any(
            each == path or each.startswith(f"{path.rstrip('/')}/") for each in self.paths
        )


def find_undecided(
    project: Path,
    changed: Iterable[str],
    calls: Iterable[AllowedCall],
    saved: Callable[[str], bytes | None] = lambda path: None,
) -> list[str]:
    """The changed files that no allowed call explains. `saved` is what a file held before the first."""
    known = sorted(calls, key=lambda call: call.start)
    return [path for path in changed if not _is_decided(project, path, known, saved)]


def _is_decided(
    project: Path, path: str, calls: Sequence[AllowedCall], saved: Callable[[str], bytes | None]
) -> bool:
    full, when = str(project / path), _find_change_time(project / path)
    under_way = [call for call in calls if call.explains(full, when)]
    if any(call.paths is None for call in under_way):
        return True
    now = _read(project / path)
    if now is None:
        return bool(under_way)
    is_alone = not any(call.paths is None and call.start <= when for call in calls)
    edits = [call.entry for call in calls if call.paths and full in call.paths and call.start <= when]
    before = saved(path) if is_alone and under_way else None
    return any(was_left(call.entry, path, now, before, edits if is_alone else None) for call in under_way)


def _read(path: Path) -> bytes | None:
    """None for what is no file any more, or too large to be compared."""
    try:
        if path.is_symlink() or not path.is_file() or path.stat().st_size > MAX_BYTES:
            return None
        return path.read_bytes()
    except OSError:
        return None


def _find_change_time(path: Path) -> float:
    """What is gone was changed when the folder that held it was."""
    while True:
        try:
            return path.lstat().st_ctime
        except OSError:
            if path == path.parent:
                return 0.0
            path = path.parent


def read_calls(entries: Iterable[Mapping[str, Any]], until: float) -> list[AllowedCall]:
    """The allowed calls of a record, which may be in any order."""
    found = list(entries)
    reported = {
        told["activity_id"]: _seconds(entry)
        for entry in found
        if entry.get("action_type") in _REPORTS
        and "activity_id" in (told := entry["action"].get("parameters") or {})
    }
    decided = [entry for entry in found if entry.get("decision") != "NOTED"]
    return [
        AllowedCall(
            _seconds(entry),
            reported.get(entry["activity_id"], _next_of(entry, decided, until)),
            paths,
            entry,
        )
        for entry in decided
        if entry["decision"] in _ALLOWED
        or (entry["decision"] == "PENDING" and entry["activity_id"] in reported)
        for paths in _list_written(entry)
    ]


def _next_of(entry: Mapping[str, Any], decided: Iterable[Mapping[str, Any]], until: float) -> float:
    """Calls at the same time are decided one after the other: a file may be written a little later."""
    start, conversation = _seconds(entry), _conversation(entry)
    later = [_seconds(other) for other in decided if _conversation(other) == conversation]
    return min((other for other in later if other > start), default=until)


def _conversation(entry: Mapping[str, Any]) -> Any:
    return (entry.get("context") or {}).get("conversation_id")


def _list_written(entry: Mapping[str, Any]) -> Iterator[frozenset[str] | None]:
    """Nothing where the call could not write."""
    action = entry.get("corrected_action") or entry.get("action") or {}
    given = action.get("parameters") or {}
    if entry.get("action_type") in _EDITS:
        paths = given.get("paths") or [given.get("path")]
        folder = str(given.get("cwd") or "/")
        yield frozenset(os.path.normpath(Path(folder) / path) for path in paths if isinstance(path, str))
    elif entry.get("action_type") == "shell":
        evidence = (entry.get("verification") or {}).get("evidence") or {}
        effects = evidence.get("effects")
        if effects is None or set(effects) - _ONLY_READS:
            yield None


def _seconds(entry: Mapping[str, Any]) -> float:
    return datetime.fromisoformat(entry["timestamp"]).timestamp()
