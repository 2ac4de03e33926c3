"""What only Claude Code was driven to do: sub-agents, sessions that go on, and work in the sandbox."""

import json
import subprocess

from tests.support.server import COMMAND, OPERATOR_KEY

from qwed.coding import partial, sandbox
from qwed.coding.drives import DRIVES
from qwed.coding.models import find_model
from qwed.coding.sandbox import Box
from qwed.coding.scripted_model import ScriptedModel


def test_a_sub_agent_asks_too(claude):
    task = {"description": "go", "prompt": "go", "subagent_type": "general-purpose"}
    call = [{"name": "Bash", "input": {"command": "echo x > out.txt; rm -rf /nowhere-at-all"}}]

    claude.run([{"name": "Task", "input": task}], call, more=("--allowedTools", "Task"))

    assert not (claude.project / "out.txt").exists()
    assert "DENIED" in claude.decisions()


def test_a_session_that_goes_on_is_asked_about_too(claude):
    claude.run("echo one > one.txt")
    claude.run("echo two > two.txt; rm -rf /nowhere-at-all", more=("--continue",))

    assert (claude.project / "one.txt").exists()
    assert not (claude.project / "two.txt").exists()


def test_in_the_sandbox_it_reaches_its_model_and_what_it_does_without_its_hook_is_named(claude):
    (claude.home / "secret.txt").write_text("SECRET")
    (claude.project / ".git").mkdir()

    def silence_hook():
        """From outside: Claude Code goes on with the hooks that it started with."""
        claude.place.script.write_text("")
        return f"echo x > sneaked.txt; cat {claude.home}/secret.txt; echo x > {claude.home}/out.txt"

    drive = DRIVES["claude-code"]
    turns = ["echo x > allowed.txt", "echo x > denied.txt; rm -rf /nowhere-at-all", silence_hook]
    with ScriptedModel(drive, turns) as model:
        inherited = drive.environment(model.port, claude.folder)
        environment = {
            **{name: value for name, value in inherited.items() if not name.startswith("QWED_")},
            "HOME": str(claude.home), "QWED_BASE_URL": claude.gateway.base_url, "QWED_API_KEY": OPERATOR_KEY,
        }  # fmt: skip
        command = [*COMMAND, "run", "--json", "--", *drive.command(claude.program, model.port)]
        done = subprocess.run(
            command, env=environment, cwd=claude.project, capture_output=True, text=True, timeout=180,
            stdin=subprocess.DEVNULL, check=False,
        )  # fmt: skip
    assert model.is_over, done.stderr + done.stdout
    told = json.loads(done.stdout[done.stdout.index("{") :])

    assert f"127.0.0.1:{model.port}" in done.stderr
    assert (claude.project / "allowed.txt").exists()
    assert not (claude.project / "denied.txt").exists()
    assert "SECRET" not in " ".join(model.results)
    assert not (claude.home / "out.txt").exists()
    assert (claude.project / "sneaked.txt").exists(), model.results
    assert told["undecided"] == ["sneaked.txt"]


def test_in_the_partial_sandbox_it_reaches_its_model_by_a_socket(claude, monkeypatch):
    (claude.home / "secret.txt").write_text("SECRET")
    sneaking = f"cat {claude.home}/secret.txt; (exec 3<>/dev/tcp/127.0.0.1/1); echo x > allowed.txt"
    (claude.project / "work.sh").write_text(sneaking)
    drive = DRIVES["claude-code"]
    with ScriptedModel(drive, ["echo x > denied.txt; rm -rf /nowhere-at-all", "bash work.sh"]) as model:
        way = find_model("claude", drive.environment(model.port, claude.folder), claude.home)
        monkeypatch.setenv("HOME", str(claude.home))
        box = Box(claude.project, claude.gateway.base_url, environment=way.environment)
        with sandbox.way_out(box.gateway, model=way.addresses[0]) as sockets:
            line, environment = partial.prepare(box, sockets, drive.command(claude.program, model.port))
            given = {way.socket: str(sockets / "model.sock")}
            done = subprocess.run(
                line, env={**environment, **given}, cwd=claude.project, capture_output=True, text=True,
                timeout=180, stdin=subprocess.DEVNULL, check=False,
            )  # fmt: skip
    assert model.is_over, done.stderr + done.stdout
    assert (claude.project / "allowed.txt").exists(), model.results
    assert not (claude.project / "denied.txt").exists()
    assert "Operation not permitted" in " ".join(model.results)
    assert "SECRET" not in " ".join(model.results)
