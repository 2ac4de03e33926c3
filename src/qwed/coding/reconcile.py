"""What changed on disk, compared with what was decided: an effect without a decision is named by its file.

A change counts as decided where an allowed call was under way when the file was changed for the last time: a
call that edits files, for the files that it names; a command, for all. When is the kernel's word (`ctime`),
which a program can't set. A call is under way until it is reported; where nobody reports it, until the next
decision of its conversation.
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import msgspec

#: The kernel's time of a change is that of its last tick.
_TICK_SECONDS: Final = 0.02
_ALLOWED: Final = frozenset({"APPROVED", "CORRECTED"})
#: The second names the call that a person allowed at the terminal.
_REPORTS: Final = frozenset({"report_outcome", "answer_approval"})
_ONLY_READS: Final = frozenset({"file-read"})
_EDITS: Final = frozenset({"file_write", "file_edit"})


class AllowedCall(msgspec.Struct, frozen=True):
    """`paths` is None for a command: whatever it runs may write any file of the project."""

    start: float
    end: float
    paths: frozenset[str] | None = None

    def explains(self, path: str, changed: float) -> bool:
        if not self.start - _TICK_SECONDS <= changed <= self.end:
            return False
        return self.paths is None or any(
            each == path or each.startswith(f"{path.rstrip('/')}/") for each in self.paths
        )


def find_undecided(project: Path, changed: Iterable[str], calls: Iterable[AllowedCall]) -> list[str]:
    """The changed files that no allowed call explains."""
    known = list(calls)
    return [
        path
        for path in changed
        if not any(call.explains(str(project / path), _changed_at(project / path)) for call in known)
    ]


def _changed_at(path: Path) -> float:
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
            _seconds(entry), reported.get(entry["activity_id"], _next_of(entry, decided, until)), paths
        )
        for entry in decided
        if entry["decision"] in _ALLOWED
        or (entry["decision"] == "PENDING" and entry["activity_id"] in reported)
        for paths in _written(entry)
    ]


def _next_of(entry: Mapping[str, Any], decided: Iterable[Mapping[str, Any]], until: float) -> float:
    """Calls at the same time are decided one after the other: a file may be written a little later."""
    start, conversation = _seconds(entry), _conversation(entry)
    later = [_seconds(other) for other in decided if _conversation(other) == conversation]
    return min((other for other in later if other > start), default=until)


def _conversation(entry: Mapping[str, Any]) -> Any:
    return (entry.get("context") or {}).get("conversation_id")


def _written(entry: Mapping[str, Any]) -> Iterator[frozenset[str] | None]:
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
