"""A snapshot as it is stored: a git tree, and a record that says what the tree means.

The id of a snapshot is the id of its record, which names the tree, which names every blob: whoever
holds the id can tell whether the store still holds what was put into it. The same tree taken twice
has the same id.
"""

import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec

from qwed.guards.workspace.beneath import join, split
from qwed.guards.workspace.changes import WorkspaceTree
from qwed.guards.workspace.errors import SnapshotDamaged, UnknownSnapshot
from qwed.guards.workspace.ignore_files import SavedIgnoreFiles
from qwed.guards.workspace.objects import ObjectStore, TreeEntry, flush
from qwed.guards.workspace.scan import SnapshotScope

_ID_LENGTH: Final = 64
_HEX: Final = frozenset("0123456789abcdef")


class SnapshotRecord(msgspec.Struct, frozen=True):
    tree: str
    root_mode: int
    scope: SnapshotScope
    ignore_files: SavedIgnoreFiles
    kept: dict[bytes, int]
    version: int = 1


_decoder: Final = msgspec.msgpack.Decoder(SnapshotRecord)


def save(
    store: ObjectStore, tree: WorkspaceTree, scope: SnapshotScope, ignore_files: SavedIgnoreFiles
) -> str:
    """Adds the tree and its record; the caller publishes, and then calls `name`."""
    record = SnapshotRecord(
        _add_trees(store, tree.entries),
        tree.entries[b""].mode,
        scope,
        ignore_files,
        dict(sorted(tree.kept.items())),
    )
    return store.add_blob(msgspec.msgpack.encode(record))


def name(directory: Path, snapshot_id: str) -> None:
    """From here on the snapshot exists."""
    references = directory / "refs" / "snapshots"
    new = references / f"{snapshot_id}.new"
    new.write_text(snapshot_id + "\n")
    flush(new)
    new.replace(references / snapshot_id)
    flush(references)


def list_names(directory: Path) -> list[str]:
    """The ids of the snapshots, the oldest first."""
    references = [path for path in (directory / "refs" / "snapshots").glob("*") if _is_id(path.name)]
    return [path.name for path in sorted(references, key=lambda path: (path.stat().st_mtime_ns, path.name))]


def load(store: ObjectStore, directory: Path, snapshot_id: str) -> tuple[SnapshotRecord, WorkspaceTree]:
    if not _is_id(snapshot_id) or not (directory / "refs" / "snapshots" / snapshot_id).exists():
        raise UnknownSnapshot(f"{str(snapshot_id)[:80]!r} is not the id of a snapshot of this workspace")
    try:
        record = _decoder.decode(store.read_blob(snapshot_id))
    except msgspec.MsgspecError as error:
        raise SnapshotDamaged(f"the record of snapshot {snapshot_id} cannot be read ({error})") from None
    return record, WorkspaceTree(_read_trees(store, record), record.kept)


def _is_id(text: object) -> bool:
    return isinstance(text, str) and len(text) == _ID_LENGTH and _HEX.issuperset(text)


def _add_trees(store: ObjectStore, entries: Mapping[bytes, TreeEntry]) -> str:
    members: dict[bytes, dict[bytes, TreeEntry]] = {
        path: {} for path, entry in entries.items() if stat.S_ISDIR(entry.mode)
    }
    for path, entry in entries.items():
        if path and not stat.S_ISDIR(entry.mode):
            parent, base = split(path)
            members[parent][base] = entry
    # In reverse order a directory comes after everything in it.
    for path in sorted(members, reverse=True):
        tree = store.add_tree(members[path])
        if path:
            parent, base = split(path)
            members[parent][base] = TreeEntry(entries[path].mode, tree)
    return tree


def _read_trees(store: ObjectStore, record: SnapshotRecord) -> dict[bytes, TreeEntry]:
    entries = {b"": TreeEntry(record.root_mode, "")}
    pending = [(b"", record.tree)]
    while pending:
        directory, tree = pending.pop()
        for base, entry in store.read_tree(tree):
            path = join(directory, base)
            if stat.S_ISDIR(entry.mode):
                pending.append((path, entry.id))
                entry = TreeEntry(entry.mode, "")
            entries[path] = entry
    return entries
