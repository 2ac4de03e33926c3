"""Which paths are ignored: the documented rules, and the same answers as git on random ones."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.corpora.hostile import IGNORED
from tests.support.calls import counted_calls

from qwed.guards.workspace.beneath import Beneath
from qwed.guards.workspace.ignore_files import PresentIgnoreFiles
from qwed.guards.workspace.ignore_rules import IgnoreRules, is_ignored
from qwed.guards.workspace.scan import Scanner, SnapshotScope
from qwed.guards.workspace.tracked import TrackedPaths

GIT_ENVIRONMENT = {
    "PATH": os.environ["PATH"],
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "HOME": os.devnull,
}


def verdict(patterns, path, *, directory=False, base=b""):
    return is_ignored([IgnoreRules(base, patterns)], path, path.rpartition(b"/")[2], directory)


@pytest.mark.parametrize(
    "patterns, path, expected",
    [
        (b"a", b"a", True),
        (b"a", b"x/a", True),
        (b"/a", b"x/a", False),
        (b"/a", b"a", True),
        (b"x/a", b"x/a", True),
        (b"x/a", b"y/x/a", False),
        (b"*.log", b"x/y.log", True),
        (b"*.log\n!keep.log", b"keep.log", False),
        (b"!keep.log\n*.log", b"keep.log", True),
        (b"a/", b"a", False),
        (b"#a", b"#a", False),
        (b"\\#a", b"#a", True),
        (b"\\!a", b"!a", True),
        (b"a ", b"a", True),
        (b"a\\ ", b"a ", True),
        (b"a\\ ", b"a", False),
        (b"a\r\nb", b"a", True),
        (b"\xef\xbb\xbfa", b"a", True),
        (b"a?c", b"abc", True),
        (b"a?c", b"a/c", False),
        (b"[a-c]x", b"bx", True),
        (b"[!a-c]x", b"bx", False),
        (b"[^a-c]x", b"dx", True),
        (b"[]x]", b"]", True),
        (b"[[:digit:]]", b"7", True),
        (b"[[:nonsense:]]", b"n", False),
        (b"[a", b"[a", False),
        (b"a\\", b"a\\", False),
        (b"**/a", b"a", True),
        (b"**/a", b"x/y/a", True),
        (b"a/**", b"a/b/c", True),
        (b"a/**", b"a", False),
        (b"a/**/b", b"a/b", True),
        (b"a/**/b", b"a/x/y/b", True),
        (b"a/**/b/**/c", b"a/x/b/y/b/c", True),
        (b"a/**/b", b"x/a/b", False),
        (b"**", b"x/y", True),
        (b"***/a", b"a", True),
        (b"a\\/b", b"a/b", True),
        (b"[a/]b", b"ab", True),
        (b"a**b", b"axxb", True),
        (b"*a*b*", b"xxaxxbxx", True),
        (b"*ab*ab", b"xabab", True),
        (b"", b"a", False),
        (b"/", b"a", False),
        (b"\xff*", b"\xff\xfe", True),
    ],
)
def test_a_pattern_means_what_git_documents(patterns, path, expected):
    assert verdict(patterns, path) is expected


def test_a_pattern_with_a_slash_at_its_end_is_for_directories():
    assert verdict(b"a/", b"a", directory=True)
    assert verdict(b"a/", b"x/a", directory=True)


def test_the_innermost_file_that_speaks_decides():
    outer, inner = IgnoreRules(b"", b"*.log\n/x/only"), IgnoreRules(b"x", b"!a.log\n/b")

    assert not is_ignored([outer, inner], b"x/a.log", b"a.log", False)
    assert is_ignored([outer, inner], b"x/b.log", b"b.log", False)
    assert is_ignored([outer, inner], b"x/b", b"b", False)
    assert not is_ignored([outer, inner], b"x/y/b", b"b", False)
    assert is_ignored([outer, inner], b"x/only", b"only", False)


@pytest.mark.parametrize(("pattern", "path"), IGNORED)
def test_no_pattern_is_tried_at_every_place(pattern, path):
    with counted_calls() as work:
        assert not verdict(pattern, path)

    assert work.calls < 100_000


def files_seen(root):
    with Beneath(os.fsencode(root)) as beneath:
        tracked = TrackedPaths(os.fsencode(root))
        scanner = Scanner(
            os.fsencode(root),
            SnapshotScope(),
            PresentIgnoreFiles(os.fsencode(root), beneath),
            tracked,
            outside=(),
        )
        scan = scanner.scan(on_repository=tracked.add_repository)
    return {path for path in scan.entries if path and not (root / os.fsdecode(path)).is_dir()}


def git(root, *arguments):
    return subprocess.run(
        ["git", *arguments], cwd=root, env=GIT_ENVIRONMENT, capture_output=True, check=True
    ).stdout


NAMES = st.sampled_from(["a", "b", "ab", "a.log", "b.log", "x", "[", "a b", "é"])
PATHS = st.lists(NAMES, min_size=1, max_size=4).map("/".join)
PARTS = st.lists(
    st.sampled_from(["*", "**", "?", "a", "b", "x", ".log", "[ab]", "[!a]", "[a-", "\\a", " ", "é"]),
    min_size=1,
    max_size=3,
).map("".join)
PATTERNS = st.builds(
    lambda negative, rooted, parts, closed: negative + rooted + "/".join(parts) + closed,
    st.sampled_from(["", "", "!"]),
    st.sampled_from(["", "", "/"]),
    st.lists(PARTS, min_size=1, max_size=3),
    st.sampled_from(["", "", "/", " ", "\r"]),
)


@pytest.mark.skipif(shutil.which("git") is None, reason="git, to compare with, is not installed")
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(PATHS, min_size=1, max_size=8),
    st.dictionaries(
        st.sampled_from(["", "a", "x", "a/b"]), st.lists(PATTERNS, min_size=1, max_size=4), min_size=1
    ),
    st.lists(PATTERNS, max_size=2),
    st.integers(0, 2),
)
def test_the_files_that_are_not_ignored_are_those_git_finds(tmp_path, paths, ignore_files, excludes, tracked):
    root = tmp_path / "workspace"
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir()
    git(root, "init", "-q")
    for path in paths:
        _write(root / path, "content")
    for directory, patterns in ignore_files.items():
        _write(root / directory / ".gitignore", "\n".join(patterns) + "\n")
    (root / ".git" / "info" / "exclude").write_text("\n".join(excludes))
    for path in paths[:tracked]:
        if (root / path).is_file():
            git(root, "add", "-f", "--", ":(literal)" + path)

    expected = git(root, "ls-files", "-z", "--cached", "--others", "--exclude-standard").split(b"\0")

    assert files_seen(root) == set(expected) - {b""}


def _write(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    except (FileExistsError, NotADirectoryError, IsADirectoryError):
        pass


@pytest.mark.skipif(shutil.which("git") is None, reason="git, to compare with, is not installed")
@pytest.mark.parametrize("version", ["2", "4"])
@pytest.mark.parametrize("object_format", ["sha1", "sha256"])
@pytest.mark.parametrize("split", [False, True])
def test_every_form_of_the_index_tells_what_is_tracked(tmp_path, version, object_format, split):
    git(tmp_path, "init", "-q", f"--object-format={object_format}")
    (tmp_path / ".gitignore").write_text("*.log\nbuild/\n")
    names = ["kept.log", "build/inner/kept.txt", "a" * 200 + ".log", "kept2.log", "é.log"]
    for name in [*names, "gone.log", "build/gone.txt"]:
        _write(tmp_path / name, name)
    git(tmp_path, "update-index", "--index-version", version)
    git(tmp_path, "add", "-f", *names)
    if split:
        git(tmp_path, "update-index", "--split-index")
        _write(tmp_path / "late.log", "late")
        git(tmp_path, "add", "-f", "late.log")
        names.append("late.log")

    assert files_seen(tmp_path) == {os.fsencode(name) for name in [*names, ".gitignore"]}
