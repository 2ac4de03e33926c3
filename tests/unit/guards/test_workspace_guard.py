"""Snapshot, diff and rollback: the tree comes back byte for byte, and nothing else is touched."""

import contextlib
import os
import shutil
import stat
import subprocess
import sys
import tempfile
import textwrap
import time
from pathlib import Path

import pytest

from qwed.guards.workspace import (
    FileChange,
    RollbackIncomplete,
    SnapshotDamaged,
    UnknownSnapshot,
    WorkspaceBusy,
    WorkspaceError,
    WorkspaceGuard,
    restore,
    store_lock,
)
from qwed.guards.workspace.objects import ObjectStore

GIT_ENVIRONMENT = {
    "PATH": os.environ["PATH"],
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "HOME": os.devnull,
    **{f"GIT_{who}_{what}": "a@b" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
}
needs_git = pytest.mark.skipif(
    shutil.which("git") is None, reason="git, to be the agent's tool, is not installed"
)


@pytest.fixture
def workspace(tmp_path):
    path = tmp_path / "workspace"
    path.mkdir()
    return path


@pytest.fixture
def guard(workspace, tmp_path):
    return WorkspaceGuard(workspace, store=tmp_path / "store")


def shell(workspace, script):
    subprocess.run(["sh", "-ec", script], cwd=workspace, env=GIT_ENVIRONMENT, check=True, capture_output=True)


def picture(root, *, without=()):
    """Every path with its type, mode and content; times are not part of it."""
    found = {}
    for directory, names, files in os.walk(os.fsencode(root)):
        names[:] = [name for name in names if name not in without]
        for name in [*names, *files, b"."]:
            path = directory + b"/" + name
            status = os.lstat(path)
            if name in without:
                continue
            if stat.S_ISLNK(status.st_mode):
                content = os.fsencode(Path(os.fsdecode(path)).readlink())
            elif stat.S_ISREG(status.st_mode):
                content = Path(os.fsdecode(path)).read_bytes()
            else:
                content = None
            mode = None if stat.S_ISLNK(status.st_mode) else stat.S_IMODE(status.st_mode)
            found[os.path.relpath(path, os.fsencode(root))] = (stat.S_IFMT(status.st_mode), mode, content)
    return found


def names(directory):
    return sorted(path.name for path in directory.iterdir())


def fill(workspace):
    """One of everything that a tree can hold."""
    (workspace / "src" / "deep" / "er").mkdir(parents=True)
    (workspace / "src" / "main.py").write_text("print('hello')\n")
    (workspace / "src" / "deep" / "er" / "data.bin").write_bytes(bytes(range(256)) * 20_000)
    (workspace / "empty").write_bytes(b"")
    (workspace / "nothing").mkdir(mode=0o750)
    (workspace / "crlf.txt").write_bytes(b"a\r\nb\nc\r\n")
    (workspace / "run.sh").write_text("#!/bin/sh\n")
    (workspace / "run.sh").chmod(0o755)
    (workspace / "secret").write_text("s")
    (workspace / "secret").chmod(0o600)
    (workspace / "frozen").write_text("f")
    (workspace / "frozen").chmod(0o444)
    (workspace / "set").write_text("uid")
    (workspace / "set").chmod(0o4711)
    (workspace / "link").symlink_to("src/main.py")
    (workspace / "absolute").symlink_to("/etc/passwd")
    (workspace / "dangling").symlink_to("no/such/thing")
    (workspace / "to-directory").symlink_to("src")
    for name in (b"new\nline", b"not-utf8-\xff\xfe", b"tab\t", "é".encode(), b" lead", b"-rf", b"quote\"'"):
        Path(os.fsdecode(os.fsencode(workspace) + b"/" + name)).write_bytes(name)


VANDALISM = """
    import os, shutil, pathlib
    for name in ("src", "nothing", "crlf.txt"):
        path = pathlib.Path(name)
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    pathlib.Path("src").write_text("now a file")
    pathlib.Path("empty").unlink(); pathlib.Path("empty").mkdir(); pathlib.Path("empty/x").write_text("x")
    pathlib.Path("run.sh").chmod(0o644)
    pathlib.Path("secret").chmod(0o644)
    pathlib.Path("frozen").chmod(0o644); pathlib.Path("frozen").write_text("thawed")
    pathlib.Path("link").unlink(); pathlib.Path("link").symlink_to("/etc/shadow")
    pathlib.Path("absolute").unlink(); pathlib.Path("absolute").write_text("not a link any more")
    pathlib.Path("to-directory").unlink(); pathlib.Path("to-directory").mkdir()
    pathlib.Path("added/deep/er").mkdir(parents=True); pathlib.Path("added/deep/er/file").write_text("new")
    os.mkfifo("pipe")
    pathlib.Path("e\\u0301").write_text("looks like é")
    pathlib.Path(".").chmod(0o700)
"""


def vandalise(workspace):
    with contextlib.chdir(workspace):
        exec(textwrap.dedent(VANDALISM), {})


def test_rollback_restores_everything_that_a_tree_can_hold(guard, workspace):
    fill(workspace)
    before = picture(workspace)
    snapshot = guard.snapshot()
    vandalise(workspace)
    assert picture(workspace) != before

    result = guard.rollback(snapshot)

    assert picture(workspace) == before
    assert guard.diff(snapshot) == ()
    assert result.lost == ()
    assert FileChange("type", "src") in result.undone


def test_taking_a_snapshot_and_comparing_change_nothing(guard, workspace):
    fill(workspace)
    before = picture(workspace)
    times = {path: path.lstat().st_ctime_ns for path in workspace.rglob("*")}

    guard.diff(guard.snapshot())

    assert picture(workspace) == before
    assert {path: path.lstat().st_ctime_ns for path in workspace.rglob("*")} == times


def test_diff_says_what_happened_to_each_path(guard, workspace):
    fill(workspace)
    snapshot = guard.snapshot()
    (workspace / "new").write_text("n")
    (workspace / "fresh").mkdir()
    (workspace / "secret").chmod(0o640)
    (workspace / "src" / "main.py").write_text("print('bye!!')\n")
    (workspace / "empty").unlink()
    (workspace / "link").unlink()
    (workspace / "link").mkdir()

    assert guard.diff(snapshot) == (
        FileChange("removed", "empty"),
        FileChange("added", "fresh"),
        FileChange("type", "link"),
        FileChange("added", "new"),
        FileChange("mode", "secret"),
        FileChange("modified", "src/main.py"),
    )


def test_the_same_tree_has_the_same_id_and_every_snapshot_stays_available(guard, workspace):
    (workspace / "a").write_text("1")
    first = guard.snapshot()
    (workspace / "a").write_text("2")
    second = guard.snapshot()
    (workspace / "b").write_text("3")

    guard.rollback(first)
    assert (workspace / "a").read_text() == "1"
    assert guard.snapshot() == first
    guard.rollback(second)
    assert (workspace / "a").read_text() == "2"
    assert set(guard.snapshots()) == {first, second}
    assert picture(workspace).keys() == {b".", b"a"}


def test_a_snapshot_outlives_the_guard_that_took_it(guard, workspace):
    (workspace / "a").write_text("1")
    snapshot = guard.snapshot()
    (workspace / "a").write_text("2")

    WorkspaceGuard(workspace, store=guard.store).rollback(snapshot)

    assert (workspace / "a").read_text() == "1"


def test_the_default_store_is_in_the_home_directory_and_one_per_workspace(workspace, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    other = tmp_path / "other"
    other.mkdir()

    assert WorkspaceGuard(workspace).store == WorkspaceGuard(str(workspace) + "/../workspace").store
    assert WorkspaceGuard(workspace).store != WorkspaceGuard(other).store
    assert (tmp_path / "home") in WorkspaceGuard(workspace).store.parents
    WorkspaceGuard(workspace).snapshot()
    assert picture(workspace).keys() == {b"."}


def test_a_store_inside_the_workspace_is_no_part_of_it(workspace):
    guard = WorkspaceGuard(workspace, store=workspace / ".state" / "store")
    (workspace / "a").write_text("1")
    snapshot = guard.snapshot()
    (workspace / "a").write_text("2")

    guard.rollback(snapshot)

    assert (workspace / "a").read_text() == "1"
    assert guard.diff(snapshot) == ()


REPOSITORY = """
    git init -q -b main .
    echo one > tracked; echo two > other; mkdir -p dir; echo three > dir/file
    git add . ; git commit -qm first
    echo stashed >> tracked; git stash -q
    echo staged > staged; git add staged
    echo changed >> other
    echo untracked > untracked
"""
DEEDS = {
    "staged": "echo x > x; git add -A",
    "unstaged": "git rm -q --cached tracked; git reset -q",
    "committed": "echo x > x; git add -A; git commit -qm x; git commit -q --allow-empty -m y",
    "amended": "git commit -qa --amend -m other",
    "branched": "git stash -q; git checkout -q -b new; git rm -qr dir; git commit -qm x;"
    " git checkout -q main",
    "rebased": "git add -A; git commit -qm a; git checkout -q -b b HEAD~; echo z > z; git add -A;"
    " git commit -qm z; git rebase -q main",
    "reset": "git reset -q --hard; git clean -qfdx",
    "stashed": "git stash -q -u; git stash drop -q",
    "popped": "git checkout -q -f .; git stash pop -q",
    "deleted": "rm -rf .git",
    "deleted with the files": "rm -rf .git tracked dir",
    "reinitialised": "rm -rf .git; git init -q .; git add -A; git commit -qm x",
    "replaced .git": "rm -rf .git; echo gitdir: /nowhere > .git",
    "worktree": "git worktree add -q ../elsewhere; git worktree add -q inner",
    "gc": "git add -A; git commit -qm x; git gc -q --prune=now",
    "locked": "touch .git/index.lock",
    "garbage index": "echo garbage > .git/index; rm tracked",
}


@needs_git
@pytest.mark.parametrize("deed", DEEDS)
def test_rollback_restores_the_tree_whatever_the_agent_did_with_git(guard, workspace, deed):
    shell(workspace, REPOSITORY)
    before = picture(workspace, without=(b".git",))
    snapshot = guard.snapshot()
    shell(workspace, DEEDS[deed])
    (workspace / "other").write_text("vandalised")
    git_before = picture(workspace / ".git") if (workspace / ".git").is_dir() else None

    result = guard.rollback(snapshot)

    assert picture(workspace, without=(b".git",)) == before
    assert (picture(workspace / ".git") if (workspace / ".git").is_dir() else None) == git_before
    assert result.lost == (
        (".git",) if deed in ("deleted", "deleted with the files", "replaced .git") else ()
    )


@needs_git
def test_the_users_index_refs_and_stash_are_untouched(guard, workspace):
    shell(workspace, REPOSITORY)
    before = picture(workspace / ".git")
    snapshot = guard.snapshot()
    assert picture(workspace / ".git") == before
    (workspace / "tracked").unlink()
    guard.diff(snapshot)
    guard.rollback(snapshot)

    assert picture(workspace / ".git") == before
    shell(workspace, 'test "$(git stash list | wc -l)" = 1; test "$(git diff --cached --name-only)" = staged')


@needs_git
def test_git_itself_is_restored_when_it_was_asked_for(guard, workspace):
    shell(workspace, REPOSITORY)
    before = picture(workspace)
    snapshot = guard.snapshot(include_git=True)
    shell(workspace, "git add -A; git commit -qm x; git branch -q -m main other")
    guard.rollback(snapshot)
    assert picture(workspace) == before

    shutil.rmtree(workspace / ".git")
    guard.rollback(snapshot)
    assert picture(workspace) == before
    shell(workspace, "git fsck --strict; git stash list | grep -q .")


@needs_git
def test_a_repository_that_the_agent_made_is_removed_with_its_directory(guard, workspace):
    (workspace / "a").write_text("1")
    before = picture(workspace)
    snapshot = guard.snapshot()
    shell(workspace, "git init -q .; git add -A; git commit -qm x; git init -q cloned; echo x > cloned/x")

    guard.rollback(snapshot)

    assert picture(workspace) == before


@needs_git
def test_files_of_nested_repositories_and_submodules_are_restored_too(guard, workspace):
    shell(
        workspace,
        """
        git init -q -b main inner; echo i > inner/file; git -C inner add -A; git -C inner commit -qm i
        git init -q -b main .; git -c protocol.file.allow=always submodule --quiet add ./inner sub; git add -A
        git commit -qm x; echo edited > sub/file; echo edited > inner/file
        """,
    )
    before = picture(workspace)
    snapshot = guard.snapshot()
    shell(workspace, "git -C inner checkout -q .; git -C sub checkout -q .; rm inner/file; touch sub/new")
    gits = picture(workspace / "inner" / ".git"), picture(workspace / ".git")

    guard.rollback(snapshot)

    assert (workspace / "sub" / "file").read_text() == "edited\n"
    assert picture(workspace, without=(b".git",)) == {
        path: entry for path, entry in before.items() if b".git" not in path.split(b"/")
    }
    assert (picture(workspace / "inner" / ".git"), picture(workspace / ".git")) == gits


@needs_git
def test_no_hook_filter_attribute_or_configuration_of_the_repository_has_a_part_in_it(
    guard, workspace, tmp_path, monkeypatch
):
    shell(workspace, "git init -q .")
    ran = tmp_path / "ran"
    program = workspace / "program.sh"
    program.write_text(f"#!/bin/sh\necho $0 >> {ran}\ncat\n")
    program.chmod(0o755)
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    for name in (
        "pre-commit",
        "post-checkout",
        "post-index-change",
        "reference-transaction",
        "fsmonitor-watchman",
    ):
        shutil.copy(program, hooks / name)
    shell(
        workspace,
        f"""
        git config core.hooksPath {hooks}; git config core.fsmonitor {program}; git config core.autocrlf true
        git config filter.f.clean {program}; git config filter.f.smudge {program}
        git config filter.f.required true
        git config core.excludesFile {workspace}/everything; git config core.fileMode false
        git config core.symlinks false; git config core.sparseCheckout true
        echo '*' > everything
        echo '* filter=f text eol=crlf ident working-tree-encoding=UTF-16' > .gitattributes
        """,
    )
    ran.unlink(missing_ok=True)
    monkeypatch.setenv("GIT_DIR", "/nowhere")
    monkeypatch.setenv("GIT_WORK_TREE", "/nowhere")
    monkeypatch.setenv("GIT_INDEX_FILE", str(workspace / "hijacked"))
    monkeypatch.setenv("GIT_CONFIG_PARAMETERS", "'core.fsmonitor=touch'")
    for name in ("fork", "posix_spawn", "execve", "system"):
        monkeypatch.setattr(os, name, None)
    monkeypatch.setattr(subprocess, "Popen", None)
    (workspace / "text").write_bytes(b"$Id$ one\ntwo\r\n")
    (workspace / "text").chmod(0o755)
    before = picture(workspace)

    snapshot = guard.snapshot()
    (workspace / "text").write_bytes(b"other")
    (workspace / "program.sh").chmod(0o644)
    guard.diff(snapshot)
    guard.rollback(snapshot)

    assert picture(workspace) == before
    assert not ran.exists()


def test_ignored_paths_are_left_alone(guard, workspace):
    (workspace / ".gitignore").write_text("*.log\nnode_modules/\n")
    (workspace / "node_modules").mkdir()
    (workspace / "node_modules" / "m.js").write_text("1")
    (workspace / "a.log").write_text("1")
    (workspace / "gone.log").write_text("1")
    (workspace / "kept").write_text("1")
    snapshot = guard.snapshot()
    (workspace / "node_modules" / "m.js").write_text("2")
    (workspace / "a.log").write_text("2")
    (workspace / "gone.log").unlink()
    (workspace / "new.log").write_text("2")
    (workspace / "fresh").mkdir()
    (workspace / "fresh" / "x.log").write_text("2")
    (workspace / "fresh" / "x.txt").write_text("2")
    (workspace / "kept").write_text("2")

    assert [change.path for change in guard.diff(snapshot)] == ["fresh/x.txt", "kept"]
    guard.rollback(snapshot)

    assert (workspace / "kept").read_text() == "1"
    assert (workspace / "a.log").read_text() == (workspace / "new.log").read_text() == "2"
    assert (workspace / "node_modules" / "m.js").read_text() == "2"
    assert not (workspace / "gone.log").exists()
    assert names(workspace / "fresh") == ["x.log"]
    assert guard.diff(snapshot) == ()


def test_ignored_paths_are_restored_when_they_were_asked_for(guard, workspace):
    (workspace / ".gitignore").write_text("*")
    (workspace / "a.log").write_text("1")
    before = picture(workspace)
    snapshot = guard.snapshot(include_ignored=True)
    (workspace / "a.log").unlink()
    (workspace / "b.log").write_text("2")

    guard.rollback(snapshot)

    assert picture(workspace) == before


def test_an_agent_that_edits_the_ignore_rules_hides_nothing(guard, workspace):
    (workspace / ".gitignore").write_text("*.log\n")
    (workspace / "a").write_text("1")
    before = picture(workspace)
    snapshot = guard.snapshot()
    (workspace / ".gitignore").write_text("*\n")
    (workspace / "a").write_text("2")
    (workspace / "planted").write_text("2")
    (workspace / "deep").mkdir()
    (workspace / "deep" / ".gitignore").write_text("*\n")

    assert [change.path for change in guard.diff(snapshot)] == [
        ".gitignore",
        "a",
        "deep",
        "deep/.gitignore",
        "planted",
    ]
    guard.rollback(snapshot)
    assert picture(workspace) == before


@needs_git
def test_a_tracked_file_is_saved_although_a_pattern_ignores_it(guard, workspace):
    shell(
        workspace,
        "git init -q .; echo '*.log' > .gitignore; echo 1 > kept.log; echo 1 > not.log; git add -f kept.log",
    )
    snapshot = guard.snapshot()
    shell(workspace, "rm .git/index; echo 2 > kept.log; echo 2 > not.log")

    guard.rollback(snapshot)

    assert (workspace / "kept.log").read_text() == "1\n"
    assert (workspace / "not.log").read_text() == "2\n"


@needs_git
def test_an_index_that_cannot_be_read_stops_the_snapshot_rather_than_leave_files_out(guard, workspace):
    shell(workspace, "git init -q .; echo '*.log' > .gitignore; echo 1 > a.log; echo garbage > .git/index")

    with pytest.raises(WorkspaceError, match="include ignored paths"):
        guard.snapshot()
    guard.snapshot(include_ignored=True)


def test_a_change_that_keeps_size_and_times_is_found(guard, workspace):
    path = workspace / "a"
    path.write_text("aaaa")
    time.sleep(0.05)
    snapshot = guard.snapshot()
    times = path.stat().st_atime_ns, path.stat().st_mtime_ns
    path.write_text("bbbb")
    os.utime(path, ns=times)

    assert guard.diff(snapshot) == (FileChange("modified", "a"),)


def test_a_change_in_the_tick_of_the_snapshot_is_found(guard, workspace):
    path = workspace / "a"
    for round_number in range(40):
        path.write_text(f"{round_number:04}a")
        snapshot = guard.snapshot()
        path.write_text(f"{round_number:04}b")

        assert guard.diff(snapshot) == (FileChange("modified", "a"),)


def test_a_link_put_in_the_place_of_a_directory_leads_nowhere(guard, workspace, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "file").write_text("precious")
    (outside / "other").write_text("precious")
    (workspace / "dir").mkdir()
    (workspace / "dir" / "file").write_text("1")
    before, beyond = picture(workspace), picture(outside)
    snapshot = guard.snapshot()
    shutil.rmtree(workspace / "dir")
    (workspace / "dir").symlink_to(outside)

    assert guard.diff(snapshot) == (FileChange("type", "dir"), FileChange("removed", "dir/file"))
    guard.rollback(snapshot)

    assert picture(workspace) == before
    assert picture(outside) == beyond


def test_a_hard_link_to_elsewhere_is_not_written_through(guard, workspace, tmp_path):
    (workspace / "a").write_text("1")
    snapshot = guard.snapshot()
    (tmp_path / "elsewhere").write_text("precious")
    (workspace / "a").unlink()
    os.link(tmp_path / "elsewhere", workspace / "a")

    guard.rollback(snapshot)

    assert (workspace / "a").read_text() == "1"
    assert (tmp_path / "elsewhere").read_text() == "precious"


def test_directories_of_any_depth_are_removed(guard, workspace):
    (workspace / "a").write_text("1")
    before = picture(workspace)
    snapshot = guard.snapshot()
    here = os.open(workspace, os.O_RDONLY)
    for _ in range(400):
        os.mkdir("d" * 50, dir_fd=here)
        inner = os.open("d" * 50, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = inner
    os.close(os.open("bottom", os.O_CREAT, dir_fd=here))
    os.close(here)

    with pytest.raises(WorkspaceError, match="nested too deeply"):
        guard.snapshot()
    guard.rollback(snapshot)

    assert picture(workspace) == before


def test_a_workspace_that_is_gone_comes_back(guard, workspace):
    fill(workspace)
    before = picture(workspace)
    snapshot = guard.snapshot()
    shutil.rmtree(workspace)

    guard.rollback(snapshot)

    assert picture(workspace) == before


def test_a_workspace_replaced_by_a_link_is_refused(guard, workspace, tmp_path):
    (workspace / "a").write_text("1")
    snapshot = guard.snapshot()
    workspace.rename(tmp_path / "moved")
    workspace.symlink_to(tmp_path / "moved")

    for act in (guard.rollback, guard.diff):
        with pytest.raises(WorkspaceError):
            act(snapshot)


def test_what_has_no_content_stays_as_it_is_and_its_loss_is_reported(guard, workspace):
    os.mkfifo(workspace / "pipe")
    snapshot = guard.snapshot()
    assert guard.diff(snapshot) == ()
    (workspace / "pipe").unlink()
    (workspace / "new").write_text("n")

    assert guard.diff(snapshot) == (FileChange("added", "new"), FileChange("removed", "pipe"))
    result = guard.rollback(snapshot)

    assert result.lost == ("pipe",)
    assert result.undone == (FileChange("added", "new"),)
    assert names(workspace) == []


@pytest.mark.parametrize(
    "unknown", ["", "nope", "../../etc/passwd", "0" * 64, "\0", "\ud800", None, 5, b"0" * 64, ["x"], "A" * 64]
)
def test_an_unknown_id_is_refused_and_nothing_happens(guard, workspace, unknown):
    (workspace / "a").write_text("1")
    guard.snapshot()
    (workspace / "a").write_text("2")

    for act in (guard.rollback, guard.diff):
        with pytest.raises(UnknownSnapshot):
            act(unknown)
    assert (workspace / "a").read_text() == "2"


def test_a_damaged_store_is_noticed_before_the_tree_is_touched(guard, workspace):
    for name in "abc":
        (workspace / name).write_text(name * 1000)
    snapshot = guard.snapshot()
    vandalised = {name: f"{name} changed" for name in "abc"}
    for name, text in vandalised.items():
        (workspace / name).write_text(text)
    now = picture(workspace)
    (pack,) = (guard.store / "objects" / "pack").glob("*.pack")
    whole = pack.read_bytes()
    for damage in (
        whole[: len(whole) // 2],
        b"",
        *(_flipped(whole, at) for at in range(12, len(whole) - 32, 7)),
    ):
        pack.write_bytes(damage)
        with pytest.raises(SnapshotDamaged):
            guard.rollback(snapshot)
        assert picture(workspace) == now

    pack.write_bytes(whole)
    guard.rollback(snapshot)
    assert (workspace / "a").read_text() == "a" * 1000


def _flipped(data, at):
    return data[:at] + bytes([data[at] ^ 0xFF]) + data[at + 1 :]


def test_a_lost_cache_or_half_a_catalog_row_costs_only_time(guard, workspace):
    (workspace / "a").write_text("1")
    first = guard.snapshot()
    (guard.store / "stat-cache").write_bytes(b"garbage")
    with (guard.store / "catalog").open("ab") as catalog:
        catalog.write(b"half")
    (workspace / "a").write_text("2")
    second = guard.snapshot()

    guard.rollback(first)
    assert (workspace / "a").read_text() == "1"
    guard.rollback(second)
    assert (workspace / "a").read_text() == "2"


@needs_git
def test_git_can_read_the_store(guard, workspace):
    fill(workspace)
    snapshot = guard.snapshot()
    (pack,) = (guard.store / "objects" / "pack").glob("*.pack")

    shell(guard.store, f"git --git-dir=. index-pack {pack}; git --git-dir=. cat-file -e {snapshot}")
    listing = subprocess.run(
        ["git", "--git-dir=.", "cat-file", "--batch-all-objects", "--batch-check=%(objecttype)"],
        cwd=guard.store,
        env=GIT_ENVIRONMENT,
        check=True,
        capture_output=True,
    ).stdout.split()
    assert listing.count(b"tree") == 5
    assert listing.count(b"blob") == sum(entry[2] is not None for entry in picture(workspace).values()) + 1


def test_a_second_process_waits_and_then_says_so(guard, workspace, monkeypatch):
    guard.snapshot()
    monkeypatch.setattr(store_lock, "LOCK_SECONDS", 0.05)

    with store_lock.lock(guard.store), pytest.raises(WorkspaceBusy):
        guard.snapshot()
    guard.snapshot()


def test_a_rollback_that_is_interrupted_anywhere_is_finished_by_the_next(guard, workspace, monkeypatch):
    fill(workspace)
    before = picture(workspace)
    snapshot = guard.snapshot()
    failures = 0
    for failing in range(1, 60, 3):
        vandalise(workspace)
        with monkeypatch.context() as patch:
            _fail_at(patch, failing)
            try:
                guard.rollback(snapshot)
            except (WorkspaceError, KeyboardInterrupt):
                failures += 1

        guard.rollback(snapshot)
        assert picture(workspace) == before, failing
    assert failures > 10


def _fail_at(patch, failing):
    """The n-th change to the tree is interrupted: half of them by an error, half by the user."""
    calls = []
    for name in ("rename", "mkdir", "symlink", "fchmod", "unlink", "rmdir"):
        real = getattr(os, name)

        def call(*arguments, real=real, **options):
            calls.append(real)
            if len(calls) == failing:
                raise OSError(5, "Input/output error") if failing % 2 else KeyboardInterrupt
            return real(*arguments, **options)

        patch.setattr(restore.os, name, call)


def test_a_tree_that_keeps_changing_is_not_called_restored(guard, workspace, monkeypatch):
    (workspace / "a").write_text("1")
    snapshot = guard.snapshot()
    (workspace / "a").write_text("2")
    real = restore.remove_rooms

    def meddle(beneath):
        real(beneath)
        (workspace / "again").write_text("x")

    monkeypatch.setattr("qwed.guards.workspace.guard.remove_rooms", meddle)

    with pytest.raises(RollbackIncomplete, match="again"):
        guard.rollback(snapshot)


def test_a_file_that_changes_while_it_is_read_is_read_again_and_then_refused(guard, workspace, monkeypatch):
    (workspace / "a").write_text("1")
    real, count = ObjectStore.add_file, iter(range(100))
    endless = False

    def growing(store, file, size, **options):
        result = real(store, file, size, **options)
        if endless or next(count) < 2:
            with (workspace / "a").open("a") as growing_file:
                growing_file.write("x")
        return result

    monkeypatch.setattr(ObjectStore, "add_file", growing)
    snapshot = guard.snapshot()
    assert guard.diff(snapshot) == ()
    assert (workspace / "a").read_text() == "1xx"

    endless = True
    (workspace / "a").write_text("2")
    with pytest.raises(WorkspaceError, match="faster than it can be read"):
        guard.snapshot()


def test_a_large_file_is_stored_once_and_restored(guard, workspace):
    data = os.urandom(3_000_000)
    (workspace / "large").write_bytes(data)
    snapshot = guard.snapshot()
    size = sum(path.stat().st_size for path in guard.store.rglob("*.pack"))
    (workspace / "large").rename(workspace / "renamed")
    guard.snapshot()
    assert sum(path.stat().st_size for path in guard.store.rglob("*.pack")) < size + 10_000

    (workspace / "renamed").write_bytes(b"")
    guard.rollback(snapshot)
    assert (workspace / "large").read_bytes() == data


def test_a_terabyte_that_the_agent_made_is_removed_without_being_read(guard, workspace):
    (workspace / "a").write_text("1")
    before = picture(workspace)
    snapshot = guard.snapshot()
    for name in ("a", "new"):
        with (workspace / name).open("ab") as file:
            file.truncate(10**12)
    read_before = bytes_read()
    guard.rollback(snapshot)

    assert bytes_read() - read_before < 10_000_000
    assert picture(workspace) == before


def bytes_read():
    """By this process, whatever it used to read them."""
    return int(Path("/proc/self/io").read_text().split("rchar:")[1].split()[0])


@pytest.mark.parametrize("path", ["missing", "file", "loop"])
def test_a_path_that_is_no_directory_is_a_value_error(tmp_path, path):
    (tmp_path / "file").write_text("")
    (tmp_path / "loop").symlink_to("loop")

    with pytest.raises(ValueError, match="path"):
        WorkspaceGuard(tmp_path / path)


@pytest.mark.parametrize("path", [None, 5, "a\0b", "\ud800"])
def test_what_is_no_path_at_all_is_a_value_error(tmp_path, path):
    with pytest.raises(ValueError, match="path"):
        WorkspaceGuard(path)
    if path is not None:
        with pytest.raises(ValueError, match="store"):
            WorkspaceGuard(tmp_path, store=path)


def test_a_store_that_cannot_be_written_is_an_error_with_its_name(workspace, tmp_path):
    (tmp_path / "file").write_text("")

    with pytest.raises(WorkspaceError, match="file"):
        WorkspaceGuard(workspace, store=tmp_path / "file").snapshot()


UNPRIVILEGED = """
    import os, sys, pathlib
    from qwed.guards.workspace import WorkspaceError, WorkspaceGuard

    os.setgid(65534), os.setuid(65534)
    workspace = pathlib.Path(sys.argv[1])
    (workspace / "closed").mkdir()
    (workspace / "closed" / "file").write_text("1")
    (workspace / "read-only").mkdir()
    (workspace / "read-only" / "file").write_text("1")
    (workspace / "read-only").chmod(0o555)
    guard = WorkspaceGuard(workspace, store=sys.argv[2])
    snapshot = guard.snapshot()

    (workspace / "closed" / "file").write_text("2")
    (workspace / "closed" / "file").chmod(0)
    (workspace / "closed").chmod(0)
    (workspace / "read-only").chmod(0o755)
    (workspace / "read-only" / "file").unlink()
    (workspace / "read-only" / "new").mkdir()
    (workspace / "read-only" / "new" / "x").write_text("x")
    (workspace / "read-only" / "new").chmod(0)
    (workspace / "read-only").chmod(0o555)
    workspace.chmod(0)
    try:
        guard.snapshot()
    except WorkspaceError:
        print("refused")
    guard.rollback(snapshot)
    print((workspace / "closed" / "file").read_text(), (workspace / "read-only" / "file").read_text())
    print(oct((workspace / "read-only").stat().st_mode), os.listdir(workspace / "read-only"))
    print(guard.diff(snapshot))
"""


@pytest.fixture
def open_to_all():
    """Another user may enter it. pytest closes its own folders to others whenever a run begins."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


@pytest.mark.skipif(os.geteuid() != 0, reason="becomes another user, which only root can")
def test_an_owner_locked_out_by_modes_is_let_in_again(open_to_all):
    workspace = open_to_all / "workspace"
    for path in (workspace, open_to_all / "store"):
        path.mkdir()
        os.chown(path, 65534, 65534)
    source = Path(__file__).parents[3] / "src"
    answer = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(UNPRIVILEGED), str(workspace), str(open_to_all / "store")],
        env={"PYTHONPATH": str(source)},
        capture_output=True,
        text=True,
    )

    assert answer.stderr == ""
    assert answer.stdout.splitlines() == ["refused", "1 1", "0o40555 ['file']", "()"]


def test_what_a_file_held_in_a_snapshot_is_read_without_a_rollback(guard, workspace):
    (workspace / "a.txt").write_bytes(b"before\xff")
    (workspace / "folder").mkdir()
    before = guard.snapshot()
    (workspace / "a.txt").write_bytes(b"after")

    assert guard.read_saved(before, "a.txt") == b"before\xff"
    assert guard.read_saved(before, "folder") is None
    assert guard.read_saved(before, "no-such-file") is None
    assert (workspace / "a.txt").read_bytes() == b"after"
