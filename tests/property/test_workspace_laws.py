"""Whatever is done to a tree, a rollback undoes it; whatever was not done is not reported."""

import os
import shutil
import stat
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from qwed.guards.workspace import WorkspaceGuard

NAMES = st.sampled_from([b"a", b"b", b"c.log", b"\xff\n", b".hidden", "é".encode()])
PATHS = st.lists(NAMES, min_size=1, max_size=3).map(b"/".join)
MODES = st.sampled_from([0o644, 0o600, 0o755, 0o444, 0o700, 0o2750])
OPERATIONS = st.one_of(
    st.tuples(st.just("write"), PATHS, st.binary(max_size=20)),
    st.tuples(st.just("link"), PATHS, st.sampled_from([b"a", b"/etc/passwd", b"..", b"missing"])),
    st.tuples(st.just("mkdir"), PATHS),
    st.tuples(st.just("remove"), PATHS),
    st.tuples(st.just("chmod"), PATHS, MODES),
    st.tuples(st.just("rename"), PATHS, PATHS),
    st.tuples(st.just("hardlink"), PATHS, PATHS),
)


def apply(root, operation):
    """Does it, where it can be done at all."""
    kind, path, *rest = operation
    here = Path(os.fsdecode(os.fsencode(root) + b"/" + path))
    there = os.fsdecode(os.fsencode(root) + b"/" + rest[0]) if kind in ("rename", "hardlink") else ""
    try:
        if here.parent.resolve() != here.parent:
            return
        match kind:
            case "write":
                here.parent.mkdir(parents=True, exist_ok=True)
                if not here.is_symlink():
                    here.write_bytes(rest[0])
            case "link":
                here.parent.mkdir(parents=True, exist_ok=True)
                here.symlink_to(os.fsdecode(rest[0]))
            case "mkdir":
                here.mkdir(parents=True)
            case "remove":
                shutil.rmtree(here) if here.is_dir() and not here.is_symlink() else here.unlink()
            case "chmod" if not here.is_symlink():
                here.chmod(rest[0])
            case "rename":
                here.rename(there)
            case "hardlink" if Path(there).parent.resolve() == Path(there).parent:
                os.link(here, there, follow_symlinks=False)
    except (OSError, RuntimeError):
        pass


def picture(root):
    found = {}
    for directory, names, files in os.walk(os.fsencode(root)):
        for name in [*names, *files]:
            path = directory + b"/" + name
            status = os.lstat(path)
            content = None
            if stat.S_ISLNK(status.st_mode):
                content = os.fsencode(Path(os.fsdecode(path)).readlink())
            elif stat.S_ISREG(status.st_mode):
                content = Path(os.fsdecode(path)).read_bytes()
            found[path] = (status.st_mode, content)
    return found


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(OPERATIONS, max_size=8), st.lists(OPERATIONS, max_size=8))
def test_a_rollback_undoes_any_sequence_of_changes(tmp_path, building, vandalism):
    root, store = tmp_path / "workspace", tmp_path / "store"
    for path in (root, store):
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir()
    for operation in building:
        apply(root, operation)
    guard = WorkspaceGuard(root, store=store)
    before = picture(root)
    snapshot = guard.snapshot()
    assert guard.diff(snapshot) == ()
    for operation in vandalism:
        apply(root, operation)
    after = picture(root)

    changes = guard.diff(snapshot)
    result = guard.rollback(snapshot)

    different = {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}
    assert {os.fsencode(root / change.path) for change in changes} == different
    assert result.undone == changes
    assert picture(root) == before
    assert guard.snapshot() == snapshot
