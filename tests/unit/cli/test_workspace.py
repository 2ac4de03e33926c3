"""`qwed workspace`: what it prints, and its exit codes."""

import json
import os

import pytest
from click.testing import CliRunner

from qwed.cli.workspace import workspace


@pytest.fixture
def run(tmp_path, monkeypatch):
    (tmp_path / "w").mkdir()
    (tmp_path / "w" / "a").write_text("1")
    monkeypatch.chdir(tmp_path / "w")

    def invoke(*arguments):
        return CliRunner().invoke(workspace, [*arguments, "--store", str(tmp_path / "store")])

    return invoke


def test_snapshot_diff_rollback(run, tmp_path):
    taken = run("snapshot")
    snapshot = taken.output.strip()
    assert (taken.exit_code, len(snapshot)) == (0, 64)
    assert run("diff", snapshot).exit_code == 0

    (tmp_path / "w" / "a").write_text("2")
    (tmp_path / "w" / "b\x1b[31m").write_text("2")
    changed = run("diff", snapshot[:8])
    assert changed.exit_code == 1
    assert changed.output.splitlines() == ["modified  a", "added     'b\\x1b[31m'"]

    undone = run("rollback", snapshot[:8])
    assert undone.exit_code == 0
    assert undone.output.splitlines()[-1] == "2 changes undone"
    assert (tmp_path / "w" / "a").read_text() == "1"
    assert run("diff", snapshot).exit_code == 0


def test_json_output_is_for_programs(run, tmp_path):
    snapshot = json.loads(run("snapshot", str(tmp_path / "w"), "--json").output)["snapshot"]
    (tmp_path / "w" / os.fsdecode(b"\xff")).write_text("x")

    changes = [{"kind": "added", "path": "\\xff"}]
    assert json.loads(run("diff", snapshot, "--json").output) == {"changes": changes}
    assert json.loads(run("rollback", snapshot, "--json").output) == {"undone": changes, "lost": []}


def test_what_cannot_be_brought_back_is_said(run, tmp_path):
    (tmp_path / "w" / ".git").mkdir()
    snapshot = run("snapshot").output.strip()
    (tmp_path / "w" / ".git").rmdir()

    answer = run("rollback", snapshot)

    assert answer.exit_code == 1
    assert "lost: .git" in answer.stderr


def test_ignored_paths_and_git_are_saved_when_asked_for(run, tmp_path):
    (tmp_path / "w" / ".gitignore").write_text("a")
    (tmp_path / "w" / ".git").mkdir()
    snapshot = run("snapshot", "--include-ignored", "--include-git").output.strip()
    (tmp_path / "w" / "a").unlink()
    (tmp_path / "w" / ".git").rmdir()

    assert run("rollback", snapshot).exit_code == 0
    assert (tmp_path / "w" / "a").read_text() == "1"
    assert (tmp_path / "w" / ".git").is_dir()


@pytest.mark.parametrize(
    "arguments, sentence",
    [
        (("snapshot", "missing"), "not a directory"),
        (("diff", "0" * 64), "is not the id of a snapshot"),
        (("rollback", ""), "is not the id of a snapshot"),
        (("rollback",), "Missing argument"),
    ],
)
def test_what_cannot_be_carried_out_is_exit_code_2_with_a_sentence(run, arguments, sentence):
    answer = run(*arguments)

    assert answer.exit_code == 2
    assert sentence in answer.output
