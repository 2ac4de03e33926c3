"""The examples of the guards' pages run as printed, and their tables name every code and kind."""

import re
from pathlib import Path

from qwed.guards.agent_state import StateCode
from qwed.guards.workspace import FileChangeKind, WorkspaceError

DOCS = Path(__file__).parents[2] / "docs"


def examples(page):
    return re.findall(r"^```python\n(.*?)^```", (DOCS / page).read_text(), re.DOTALL | re.MULTILINE)


def test_the_example_of_the_agent_state_guard_runs(tmp_path):
    (example,) = examples("agent-state-guard.md")

    exec(compile(example, "agent-state-guard.md", "exec"), {"STATE_DIRECTORY": str(tmp_path)})

    assert (tmp_path / "a1.json").stat().st_size == 85


def test_the_example_of_the_workspace_guard_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    (example,) = examples("workspace-guard.md")
    names = {
        "WORKSPACE": workspace,
        "let_the_agent_work": lambda path: (path / "planted").write_text("x"),
    }

    exec(compile(example, "workspace-guard.md", "exec"), names)

    assert capsys.readouterr().out == "added planted\n"
    assert not (workspace / "planted").exists()


def test_every_code_kind_and_error_is_documented():
    states, workspaces = (DOCS / name for name in ("agent-state-guard.md", "workspace-guard.md"))

    assert all(f"`{code}`" in states.read_text() for code in StateCode)
    assert all(f"`{kind}`" in workspaces.read_text() for kind in FileChangeKind)
    assert all(f"`{error.__name__}`" in workspaces.read_text() for error in WorkspaceError.__subclasses__())
