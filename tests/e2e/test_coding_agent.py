"""A developer installs the hook, runs an agent in the sandbox, and takes the hook away again."""

import json
import shutil
import subprocess
import sys
from importlib import resources

import pytest
from tests.support.server import COMMAND, OPERATOR_KEY, Server, clean_environment

from qwed.coding import confined, partial

SETTINGS = b'{"model":   "opus",\n\t"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "true"}]}]}}'
#: What an agent does: it asks its hook, runs what it was allowed, and reports. Then it writes without asking.
AGENT = """
import json, os, subprocess, sys, time

settings = json.load(open(os.path.expanduser("~/.claude/settings.json")))
hook = settings["hooks"]["PreToolUse"][-1]["hooks"][0]["command"]

def ask(event, number, command=None, **given):
    body = {"session_id": "one", "tool_use_id": f"call-{number}", "hook_event_name": event,
            "cwd": os.getcwd(), "tool_name": "Bash" if command else "Write",
            "tool_input": given or {"command": command}, "tool_response": {}}
    done = subprocess.run(hook, shell=True, input=json.dumps(body), capture_output=True, text=True)
    return done.returncode == 0 and '"allow"' in done.stdout

for number, command in enumerate(("echo x > decided.txt", "rm -rf /nowhere-at-all; echo x > denied.txt")):
    if ask("PreToolUse", number, command):
        subprocess.run(command, shell=True)
        ask("PostToolUse", number, command)
time.sleep(0.2)
open("sneaked.txt", "w").write("x")
for number, name in ((7, "written.txt"), (8, "otherwise.txt")):
    given = {"file_path": os.path.abspath(name), "content": "approved"}
    assert ask("PreToolUse", number, **given)
    open(name, "w").write("approved" if number == 7 else "approved, and more")
    ask("PostToolUse", number, **given)
"""
CHANGED = ["decided.txt", "otherwise.txt", "sneaked.txt", "written.txt"]


@pytest.fixture(scope="module")
def gateway(tmp_path_factory):
    folder = tmp_path_factory.mktemp("gateway")
    policy = resources.files("qwed.policy.starters").joinpath("coding.yaml").read_text(encoding="utf-8")
    (folder / "coding.yaml").write_text(policy)
    with Server(folder, environment={"QWED_CONFIG": str(folder / "coding.yaml")}) as server:
        yield server


class Developer:
    def __init__(self, folder, gateway):
        self.home, self.project = folder / "home", folder / "home" / "project"
        self.project.mkdir(parents=True)
        (self.project / "pyproject.toml").write_text("")
        self.settings = self.home / ".claude" / "settings.json"
        self.settings.parent.mkdir()
        self.settings.write_bytes(SETTINGS)
        self.environment = clean_environment(
            HOME=str(self.home), QWED_BASE_URL=gateway.base_url, QWED_API_KEY=OPERATOR_KEY, USER="dev"
        )

    def qwed(self, *words, **variables):
        environment = {**self.environment, **variables}
        return subprocess.run(
            [*COMMAND, *words], cwd=self.project, env=environment, capture_output=True, text=True,
            timeout=120, check=False,
        )  # fmt: skip


@pytest.fixture
def developer(tmp_path, gateway):
    return Developer(tmp_path, gateway)


def test_the_hook_is_installed_listed_and_taken_away_byte_for_byte(developer):
    done = developer.qwed("hook", "install", "claude-code", "--yes")
    assert done.returncode == 0, done.stderr
    listed = json.loads(developer.qwed("hook", "status", "--json").stdout)["hooks"]
    state = {(row["agent"], row["scope"]): row["state"] for row in listed}
    assert state["claude-code", "user"] == "installed"
    assert state["codex", "user"] == "not installed"

    assert developer.qwed("hook", "uninstall", "claude-code", "--yes").returncode == 0
    assert developer.settings.read_bytes() == SETTINGS
    assert sorted(path.name for path in developer.settings.parent.iterdir()) == ["settings.json"]


@pytest.mark.skipif(shutil.which("bwrap") is None, reason="scripts/install-bubblewrap installs it")
def test_what_changed_without_a_decision_is_named_after_a_run(developer):
    developer.qwed("hook", "install", "claude-code", "--yes")
    (developer.project / "agent.py").write_text(AGENT)

    done = developer.qwed("run", "--json", "--", sys.executable, "agent.py")

    told = json.loads(done.stdout)
    assert done.returncode == 0, done.stderr
    assert sorted(told["changed"]) == CHANGED, done.stderr
    assert told["undecided"] == ["otherwise.txt", "sneaked.txt"], done.stderr


@pytest.mark.skipif(shutil.which("bwrap") is None, reason="scripts/install-bubblewrap installs it")
def test_without_a_record_that_can_be_read_nothing_counts_as_decided(developer):
    (developer.project / "agent.py").write_text('open("a.txt", "w").write("x")')

    done = developer.qwed("run", "--", sys.executable, "agent.py")

    assert "effect without a decision: a.txt" in done.stderr
    assert developer.qwed("run", "--rollback").returncode == 0
    assert not (developer.project / "a.txt").exists()


@pytest.fixture
def almost_nothing(tmp_path):
    (tmp_path / "programs").mkdir()
    (tmp_path / "programs" / "sh").symlink_to("/bin/sh")
    return str(tmp_path / "programs")


def test_without_the_full_sandbox_nothing_is_started_unless_the_lesser_one_is_asked_for(
    developer, almost_nothing
):
    done = developer.qwed("run", "--", sys.executable, "-c", "open('a.txt', 'w')", PATH=almost_nothing)

    assert done.returncode != 0
    assert "bubblewrap is not installed: apt-get install bubblewrap" in done.stderr
    assert not (developer.project / "a.txt").exists()


@pytest.mark.skipif(
    confined.landlock_version() < confined.FIRST_VERSION, reason="the kernel of this machine has no Landlock"
)
def test_the_lesser_sandbox_says_first_what_it_does_not_cover(developer, almost_nothing):
    (developer.home / "secret.txt").write_text("SECRET")
    developer.qwed("hook", "install", "claude-code", "--yes")
    (developer.project / "agent.py").write_text(AGENT + "print(open(sys.argv[1]).read())")

    done = developer.qwed(
        "run",
        "--partial",
        "--json",
        "--",
        sys.executable,
        "agent.py",
        f"{developer.home}/secret.txt",
        PATH=almost_nothing,
    )

    told = json.loads(done.stdout)
    assert all(f"not covered: {way}" in done.stderr for way in partial.NOT_COVERED)
    assert sorted(told["changed"]) == CHANGED, done.stderr
    assert told["undecided"] == ["otherwise.txt", "sneaked.txt"]
    assert told["exit_code"] == 1
    assert "SECRET" not in done.stdout
