"""Phase 3: where a state may be written, what it replaces, and that failure leaves the former state."""

import errno
import fcntl
import os
import stat
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest

from qwed.guards.agent_state import AgentStateGuard, commit

SCHEMA = {
    "type": "object",
    "properties": {
        "id": {"type": "string"},
        "n": {"type": "integer"},
        "tasks": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["id", "n", "tasks"],
}
RULES = {"immutable_paths": ["$.id"], "monotonic_integer_paths": ["$.n"]}

TRANSITION = "QWED-AGENT-STATE-106"
TARGET = "QWED-AGENT-STATE-107"
WRITE = "QWED-AGENT-STATE-108"


def text(n):
    return f'{{"id": "a", "n": {n}, "tasks": []}}'


def canonical(n):
    return f'{{"id":"a","n":{n},"tasks":[]}}'.encode()


def names(directory):
    return sorted(path.name for path in directory.iterdir())


def guard_of(*roots):
    return AgentStateGuard(SCHEMA, RULES, [str(root) for root in roots])


@pytest.fixture
def root(tmp_path):
    path = tmp_path / "root"
    path.mkdir()
    return path


def put(root, target, before=1, after=2):
    return guard_of(root).verify_transition_and_commit_state(text(before), text(after), str(target))


def test_the_file_is_exactly_the_canonical_bytes_with_mode_0600(root):
    old_umask = os.umask(0o777)
    try:
        result = put(root, root / "a.json")
    finally:
        os.umask(old_umask)

    assert result["verified"]
    assert result["committed_path"] == str(root / "a.json")
    assert result["committed_bytes"] == 27
    assert result["proof_ref"] == "sha256:f7d69cec641158d57159cbdccbd52d112eb23da4bf21967ae86cba5a7ac8700e"
    assert (root / "a.json").read_bytes() == canonical(2)
    assert stat.S_IMODE((root / "a.json").stat().st_mode) == 0o600
    assert names(root) == ["a.json"]


def test_a_commit_continues_from_the_file_it_replaces(root):
    assert put(root, root / "a.json", 1, 2)["verified"]
    assert put(root, root / "a.json", 2, 3)["verified"]
    assert (root / "a.json").read_bytes() == canonical(3)


@pytest.mark.parametrize(
    "present", [canonical(5), text(1).encode(), b"", b"{", canonical(1) + b"\n", b"x" * 10**6]
)
def test_a_file_that_is_not_the_current_state_byte_for_byte_is_stale(root, present):
    (root / "a.json").write_bytes(present)

    result = put(root, root / "a.json")

    assert result["error_code"] == TRANSITION
    assert "current state is stale" in result["message"]
    assert (root / "a.json").read_bytes() == present


def test_nobody_rolls_a_state_back_by_lying_about_the_present(root):
    assert put(root, root / "a.json", 1, 9)["verified"]

    assert put(root, root / "a.json", 1, 2)["error_code"] == TRANSITION
    assert (root / "a.json").read_bytes() == canonical(9)


class Anything:
    pass


@pytest.mark.parametrize(
    "target",
    [
        None,
        7,
        b"/x.json",
        Anything(),
        "",
        "a.json",
        "./a.json",
        "~/a.json",
        "{root}/a.txt",
        "{root}/a.json/",
        "{root}/a.JSON",
        "{root}/.json",
        "{root}/a.json\0",
        "{root}/\0/a.json",
        "{root}/\ud800/a.json",
        "{root}/missing/a.json",
        "{root}/file/a.json",
        "{root}/../a.json",
        "{root}2/a.json",
        "/a.json",
        "/etc/a.json",
        "{root}/link/a.json",
        "{root}/link.json",
        "{root}/dangling.json",
        "{root}/directory.json",
        "{root}/pipe.json",
        "{root}/" + "a" * 300 + ".json",
        "{root}/" + "a/" * 5000 + "a.json",
    ],
    ids=lambda target: repr(target)[:30],
)
def test_a_target_that_is_no_file_below_a_root_is_107_before_anything_is_read(root, tmp_path, target):
    outside = tmp_path / "root2"
    outside.mkdir()
    (outside / "a.json").write_bytes(canonical(1))
    (root / "file").write_text("")
    (root / "link").symlink_to(outside)
    (root / "link.json").symlink_to(outside / "a.json")
    (root / "dangling.json").symlink_to(outside / "new.json")
    (root / "directory.json").mkdir()
    os.mkfifo(root / "pipe.json")
    if isinstance(target, str):
        target = target.replace("{root}", str(root))

    result = guard_of(root).verify_transition_and_commit_state("not json", None, target)

    assert result["error_code"] == TARGET
    assert names(outside) == ["a.json"]
    assert (outside / "a.json").read_bytes() == canonical(1)


def test_without_roots_every_commit_is_107(root):
    for roots in (None, []):
        guard = AgentStateGuard(SCHEMA, RULES, roots)

        result = guard.verify_transition_and_commit_state(text(1), text(2), str(root / "a.json"))

        assert result["error_code"] == TARGET


def test_107_comes_before_104_and_104_before_everything_else(root):
    guard = AgentStateGuard(SCHEMA, None, [str(root)])

    assert guard.verify_transition_and_commit_state("", "", "/x.json")["error_code"] == TARGET
    answer = guard.verify_transition_and_commit_state("", "", str(root / "a.json"))
    assert answer["error_code"] == "QWED-AGENT-STATE-104"


def test_a_refused_transition_writes_nothing(root):
    assert put(root, root / "a.json", 3, 2)["error_code"] == TRANSITION
    assert names(root) == []


def test_paths_with_dots_and_links_that_stay_below_a_root_are_resolved(root):
    (root / "inner").mkdir()
    (root / "link").symlink_to("inner")

    result = put(root, root / "inner" / ".." / "link" / "a.json")

    assert result["committed_path"] == str(root / "inner" / "a.json")
    assert (root / "inner" / "a.json").read_bytes() == canonical(2)


def test_a_root_that_is_a_link_when_the_guard_is_built_stands_for_its_target(root, tmp_path):
    (tmp_path / "alias").symlink_to(root)

    assert put(tmp_path / "alias", tmp_path / "alias" / "a.json")["committed_path"] == str(root / "a.json")


def test_a_root_that_becomes_a_link_later_leads_nowhere(root, tmp_path):
    guard = guard_of(root)
    outside = tmp_path / "outside"
    outside.mkdir()
    root.rmdir()
    root.symlink_to(outside)

    result = guard.verify_transition_and_commit_state(text(1), text(2), str(root / "a.json"))

    assert result["error_code"] == TARGET
    assert names(outside) == []


@pytest.mark.parametrize(
    "roots", ["/tmp", ["relative"], [""], ["~"], [1], [None], [b"/tmp"], {"/tmp"}, ["/a\0b"], 5]
)
def test_a_mistake_in_the_roots_raises_a_value_error_that_names_it(roots):
    with pytest.raises(ValueError, match="allowed_commit_roots"):
        AgentStateGuard(SCHEMA, RULES, roots)


def test_what_a_killed_commit_left_behind_is_cleared_by_the_next_one(root):
    (root / commit.TEMPORARY_NAME).write_bytes(b"half a sta")

    assert put(root, root / "a.json")["verified"]
    assert names(root) == ["a.json"]


def test_a_link_in_the_place_of_the_temporary_file_is_not_followed(root, tmp_path):
    (tmp_path / "victim").write_text("precious")
    (root / commit.TEMPORARY_NAME).symlink_to(tmp_path / "victim")

    assert put(root, root / "a.json")["verified"]
    assert (tmp_path / "victim").read_text() == "precious"


def test_a_directory_that_stays_locked_is_108_and_does_not_hang(root, monkeypatch):
    monkeypatch.setattr(commit, "LOCK_SECONDS", 0.05)
    holder = os.open(root, os.O_RDONLY)
    fcntl.flock(holder, fcntl.LOCK_EX)
    try:
        result = put(root, root / "a.json")
    finally:
        os.close(holder)

    assert result["error_code"] == WRITE
    assert names(root) == []


def test_two_targets_in_one_directory_do_not_disturb_each_other(root):
    assert put(root, root / "a.json", 1, 2)["verified"]
    assert put(root, root / "b.json", 1, 3)["verified"]
    assert (root / "a.json").read_bytes() == canonical(2)


def test_of_many_threads_that_start_from_one_state_exactly_one_wins(root):
    put(root, root / "a.json", 0, 1)
    guard = guard_of(root)
    results = []
    start = threading.Barrier(8)

    def attempt(n):
        start.wait()
        results.append(guard.verify_transition_and_commit_state(text(1), text(n), str(root / "a.json")))

    threads = [threading.Thread(target=attempt, args=(n,)) for n in range(2, 10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    winners = [result for result in results if result["verified"]]
    assert len(winners) == 1
    assert {result.get("error_code") for result in results if not result["verified"]} == {TRANSITION}
    assert (root / "a.json").read_bytes() == canonical(winners[0]["normalized_state"]["n"])
    assert names(root) == ["a.json"]


class InterruptedSystem:
    """`os` and `fcntl` as the commit sees them, where something happens instead of, or before, one call."""

    CALLS = ("open", "close", "read", "write", "fsync", "fchmod", "stat", "unlink", "replace", "flock")
    PATH_CALLS = ("realpath", "sameopenfile")

    def __init__(self, monkeypatch, happening):
        self.calls = []
        self.happening = happening
        path = SimpleNamespace(
            **{name: self._watched(name, getattr(os.path, name)) for name in self.PATH_CALLS}
        )
        monkeypatch.setattr(commit, "os", self._copy_of(os, path=path))
        monkeypatch.setattr(commit, "fcntl", self._copy_of(fcntl))

    def _copy_of(self, module, **changed):
        members = {name: getattr(module, name) for name in dir(module)}
        watched = {name: self._watched(name, members[name]) for name in self.CALLS if name in members}
        return SimpleNamespace(**members | watched | changed)

    def _watched(self, name, call):
        def watched(*arguments, **options):
            self.calls.append(name)
            if name == "close":
                call(*arguments, **options)
            self.happening(len(self.calls))
            return None if name == "close" else call(*arguments, **options)

        return watched


def count_calls(root, monkeypatch):
    with monkeypatch.context() as patch:
        system = InterruptedSystem(patch, lambda _: None)
        assert put(root, root / "a.json")["verified"]
    (root / "a.json").unlink()
    assert {"flock", "replace", "write", "fchmod", "realpath"} <= set(system.calls)
    assert system.calls.count("fsync") == 2
    return len(system.calls)


def open_descriptors():
    return len(names(Path("/proc/self/fd")))


@pytest.mark.parametrize("error", [errno.EIO, errno.ENOSPC, errno.EACCES, errno.EROFS])
@pytest.mark.parametrize("present", [None, canonical(1)], ids=["new file", "existing file"])
def test_whichever_system_call_fails_the_file_is_the_old_or_the_new_one_and_nothing_is_left(
    root, monkeypatch, present, error
):
    target = root / "a.json"
    verdicts = set()
    before = open_descriptors()
    for failing in range(1, count_calls(root, monkeypatch) + 3):
        if present is not None:
            target.write_bytes(present)

        def fail(number, failing=failing):
            if number == failing:
                raise OSError(error, os.strerror(error))

        with monkeypatch.context() as patch:
            InterruptedSystem(patch, fail)
            result = put(root, target)

        verdicts.add(result.get("error_code"))
        expected = canonical(2) if result["verified"] else present
        assert (target.read_bytes() if target.exists() else None) == expected, failing
        assert set(names(root)) <= {"a.json"}, failing
        target.unlink(missing_ok=True)
    assert verdicts == {None, TARGET, WRITE}
    assert open_descriptors() == before


@pytest.mark.parametrize("present", [None, canonical(1)], ids=["new file", "existing file"])
def test_when_the_disk_dies_half_way_the_file_is_whole_and_the_next_commit_clears_up(
    root, monkeypatch, present
):
    target = root / "a.json"
    for failing in range(1, count_calls(root, monkeypatch) + 1):
        if present is not None:
            target.write_bytes(present)

        def die(number, failing=failing):
            if number >= failing:
                raise OSError(errno.EIO, "dead")

        with monkeypatch.context() as patch:
            InterruptedSystem(patch, die)
            put(root, target)

        found = target.read_bytes() if target.exists() else None
        assert found in (present, canonical(2)), failing
        assert put(root, target, 2 if found == canonical(2) else 1, 3)["verified"]
        assert names(root) == ["a.json"]
        target.unlink()


@pytest.mark.parametrize("error", [MemoryError, ValueError, RecursionError])
def test_an_exception_nobody_expects_does_not_leave_the_guard(root, monkeypatch, error):
    for failing in range(1, count_calls(root, monkeypatch) + 1):

        def fail(number, failing=failing):
            if number == failing:
                raise error

        with monkeypatch.context() as patch:
            InterruptedSystem(patch, fail)
            result = put(root, root / "a.json")

        assert result["status"] in ("VERIFIED", "BLOCKED")
        assert not (root / "a.json").exists() or (root / "a.json").read_bytes() == canonical(2)
        assert set(names(root)) <= {"a.json"}
        (root / "a.json").unlink(missing_ok=True)


def test_a_partial_write_is_continued(root, monkeypatch):
    system = SimpleNamespace(**{name: getattr(os, name) for name in dir(os)})
    system.write = lambda file, data: os.write(file, data[:3])
    monkeypatch.setattr(commit, "os", system)

    assert put(root, root / "a.json")["verified"]
    assert (root / "a.json").read_bytes() == canonical(2)


@pytest.mark.parametrize("present", [None, canonical(1)], ids=["new file", "existing file"])
@pytest.mark.parametrize("moved_to", ["root/elsewhere", "outside/elsewhere"])
def test_a_directory_swapped_for_a_link_at_any_instant_does_not_lead_the_write_out(
    tmp_path, root, monkeypatch, present, moved_to
):
    outside, parent = tmp_path / "outside", root / "parent"
    for swapping in range(1, count_calls(root, monkeypatch) + 8):
        for directory in (outside, parent):
            directory.mkdir()
        if present is not None:
            (parent / "a.json").write_bytes(present)
        (outside / "b").mkdir()

        def swap(number, swapping=swapping):
            if number == swapping:
                parent.rename(tmp_path / moved_to)
                parent.symlink_to(outside / "b")

        with monkeypatch.context() as patch:
            InterruptedSystem(patch, swap)
            result = put(root, parent / "a.json")

        assert names(outside / "b") == []
        home = tmp_path / moved_to if parent.is_symlink() else parent
        written = (home / "a.json").read_bytes() if (home / "a.json").exists() else None
        assert written == (canonical(2) if result["verified"] else present), swapping
        assert set(names(home)) <= {"a.json"}
        for path in (home, outside):
            _remove(path)
        if parent.is_symlink():
            parent.unlink()


def _remove(path):
    for inner in path.iterdir():
        if inner.is_dir():
            _remove(inner)
        else:
            inner.unlink()
    path.rmdir()
