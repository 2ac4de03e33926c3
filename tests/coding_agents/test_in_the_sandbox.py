"""The real agents in the sandbox, and Claude Code in the partial one."""

import json
import subprocess

from tests.support.server import COMMAND, OPERATOR_KEY

from qwed.coding import partial, sandbox
from qwed.coding.drives import DRIVES
from qwed.coding.models import find_model
from qwed.coding.sandbox import Box
from qwed.coding.scripted_model import ScriptedModel


def test_in_the_sandbox_it_reaches_its_model_and_what_it_does_without_its_hook_is_named(agent):
    (agent.home / "secret.txt").write_text("SECRET")
    (agent.project / ".git").mkdir()

    def silence_hook():
        """From outside: they go on with the hooks that they started with, so the script is made to allow."""
        agent.place.script.write_text("print('QWED {}')")
        return f"echo x > sneaked.txt; cat {agent.home}/secret.txt; echo x > {agent.home}/out.txt"

    drive = DRIVES[agent.name]
    turns = ["echo x > allowed.txt", "echo x > denied.txt; rm -rf /nowhere-at-all", silence_hook]
    with ScriptedModel(drive, turns) as model:
        inherited = drive.environment(model.port, agent.folder)
        environment = {
            **{name: value for name, value in inherited.items() if not name.startswith("QWED_")},
            "HOME": str(agent.home), "QWED_BASE_URL": agent.gateway.base_url, "QWED_API_KEY": OPERATOR_KEY,
        }  # fmt: skip
        # Gemini's own settings, which its drive wrote.
        read = [word for file in agent.folder.glob("*.json") for word in ("--read", str(file))]
        started = [*drive.command(agent.program, model.port), *agent.more.get(agent.name, ())]
        command = [*COMMAND, "run", "--json", *read, "--", *started]
        done = subprocess.run(
            command, env=environment, cwd=agent.project, capture_output=True, text=True, timeout=180,
            stdin=subprocess.DEVNULL, check=False,
        )  # fmt: skip
    assert model.is_over, done.stderr + done.stdout
    told = json.loads(done.stdout[done.stdout.index('{"') :])

    assert f"127.0.0.1:{model.port}" in done.stderr
    assert (agent.project / "allowed.txt").exists()
    assert not (agent.project / "denied.txt").exists()
    assert "SECRET" not in " ".join(model.results)
    assert not (agent.home / "out.txt").exists()
    assert (agent.project / "sneaked.txt").exists(), model.results
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
