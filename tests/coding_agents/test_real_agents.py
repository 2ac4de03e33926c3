"""The real agents behind their hooks: what is allowed runs once, and whatever goes wrong, nothing runs.

An agent takes seconds to start. One session of each does everything that can be done in one session; the
scripted model breaks and mends the hook between two of its turns.
"""

import json
import re
import socket
import sys
from pathlib import Path

import pytest
from tests.coding_agents.conftest import QUERY_TOOLS, RealAgent
from tests.support.receivers import Receiver

from qwed.coding.hook_doctor import SeenCall, examine
from qwed.coding.hook_settings import AGENTS

DENIED = "echo one > denied.txt; rm -rf /nowhere-at-all"
ASKED = "echo one > asked.txt; git push"


class WorkedSession:
    """A session in which a call is allowed, denied, asked about, granted, and six are made at once."""

    def __init__(self, agent):
        self.agent = agent
        self.ran_unasked = False
        at_once = [agent.shell(f"echo x > at-once-{n}.txt") for n in range(6)]
        self.said = agent.run("echo one >> allowed.txt", DENIED, ASKED, self.grant, at_once)

    def grant(self):
        self.ran_unasked = self.has("asked.txt")
        agent_id = self.agent.agent["agent_id"]
        [waiting] = self.agent.call("GET", f"/approvals?agent_id={agent_id}")["approvals"]
        self.agent.call("POST", f"/approvals/{waiting['id']}/approve", json={})
        return ASKED

    def has(self, name):
        return (self.agent.project / name).exists()


@pytest.fixture(scope="session")
def kept():
    """Sessions by agent: a fixture would be made again, and the agent started, whenever the agent changes."""
    return {}


@pytest.fixture
def session(agent_name, tmp_path_factory, gateway, kept):
    if ("worked", agent_name) not in kept:
        agent = RealAgent(agent_name, tmp_path_factory.mktemp("worked"), gateway)
        kept["worked", agent_name] = WorkedSession(agent)
    return kept["worked", agent_name]


def test_what_is_allowed_runs_once(session):
    assert (session.agent.project / "allowed.txt").read_text() == "one\n"


def test_what_is_denied_does_not_run_and_the_model_is_told_why(session):
    assert not session.has("denied.txt")
    assert "destructive-command" in session.said


def test_what_is_asked_runs_only_after_a_yes(session):
    assert not session.ran_unasked
    assert session.has("asked.txt")


def test_calls_at_the_same_time_all_run(session):
    found = sorted(path.name for path in session.agent.project.glob("at-once-*"))

    assert found == [f"at-once-{n}.txt" for n in range(6)]


def test_every_call_has_one_decision_on_record(session):
    decisions = session.agent.decisions()

    assert decisions.count("DENIED") == 1
    assert decisions.count("PENDING") == 1
    assert decisions.count("APPROVED") in (7, 8), decisions


def test_codex_does_not_leave_the_project_by_naming_a_folder(tmp_path, gateway):
    agent = RealAgent("codex", tmp_path, gateway)
    (agent.folder / "outside").mkdir()
    folders = (str(agent.folder / "outside"), "../outside")

    agent.run(
        *([{"name": "exec_command", "input": {"cmd": "echo x > a.txt", "workdir": each}}] for each in folders)
    )

    assert not list(agent.folder.rglob("a.txt"))
    assert agent.decisions() == ["PENDING", "PENDING"]


def _with_server(agent, script, ran):
    """The MCP server `shop` in the agent's own settings; what it is started with besides."""
    server = {"command": sys.executable, "args": [str(script), str(ran)]}
    if agent.name == "claude-code":
        config = json.dumps({"mcpServers": {"shop": server}})
        return ("--mcp-config", config, "--strict-mcp-config", "--allowedTools", "mcp__shop__query")
    if agent.name == "codex":
        words = json.dumps(server["args"])
        return (
            *("-c", f'mcp_servers.shop.command="{sys.executable}"'),
            *("-c", f"mcp_servers.shop.args={words}"),
        )
    if agent.name == "copilot":
        whole = {"shop": {"type": "local", "tools": ["*"], **server}}
        return ("--additional-mcp-config", json.dumps({"mcpServers": whole}))
    settings = json.loads(agent.place.file.read_text())
    agent.place.file.write_text(json.dumps({**settings, "mcpServers": {"shop": {**server, "trust": True}}}))
    return ()


def test_what_is_corrected_runs_corrected(agent):
    ran = agent.folder / "ran.txt"
    more = _with_server(agent, Path(__file__).with_name("query_server.py"), ran)
    call = {"name": QUERY_TOOLS[agent.name], "input": {"query": "SELECT name FROM users"}}
    if agent.name == "codex":
        call |= {"name": "query", "namespace": "mcp__shop"}

    said = agent.run([call], more=more)

    assert ran.exists(), said
    assert ran.read_text() == "SELECT name FROM users LIMIT 100\n"
    assert agent.decisions() == ["CORRECTED"]


RESUMES = {
    "claude-code": {"more": ("--continue",)},
    "codex": {"instead": {"exec": ("exec", "resume", "--last")}},
    "gemini": {"more": ("--resume", "latest")},
    "copilot": {"more": ("--continue",)},
}


def test_a_session_that_goes_on_is_asked_about_too(agent):
    agent.run("echo one > one.txt")
    agent.run("echo two > two.txt; rm -rf /nowhere-at-all", "echo three > three.txt", **RESUMES[agent.name])

    assert sorted(path.name for path in agent.project.glob("*.txt")) == ["one.txt", "three.txt"]
    assert agent.decisions().count("DENIED") == 1


#: How each starts a sub-agent, and what says that it did.
SUB_AGENTS = {
    "claude-code": (
        {"name": "Task", "input": {"description": "go", "prompt": "go", "subagent_type": "general-purpose"}},
        "agentId",
    ),
    "codex": (
        {"name": "spawn_agent", "namespace": "multi_agent_v1", "input": {"message": "go"}},
        "nickname",
    ),
    "gemini": (
        {"name": "invoke_agent", "input": {"agent_name": "generalist", "prompt": "go"}},
        "Subagent 'generalist' finished",
    ),
    "copilot": (
        {"name": "task", "input": {"description": "go", "prompt": "go", "agent_type": "task", "name": "go"}},
        '"done"',
    ),
}


def test_a_sub_agent_asks_too(agent):
    """Which of the two comes for a call first, the agent or its sub-agent, is not said: both are refused."""
    denied = [[agent.shell(f"echo x > {name}.txt; rm -rf /nowhere-at-all")] for name in ("one", "two")]
    call, sign = SUB_AGENTS[agent.name]

    said = agent.run([call], *denied)

    assert sign in said
    assert not list(agent.project.glob("*.txt"))
    assert agent.decisions() == ["DENIED", "DENIED"], said


class BrokenSession:
    """A session in which the hook breaks in one way after the other, and is whole at the end."""

    WAYS = (
        "the gateway is not there",
        "the gateway does not answer",
        "the token is not valid",
        "the hook crashes",
        "the hook is killed",
        "the hook's script is gone",
        "the hook ends with another code",
        "the hook ends without a word",
        "the hook prints an empty object",
        "the hook prints nonsense",
        "another server answers in the gateway's place",
    )
    _SCRIPTS = {  # noqa: RUF012
        "the hook crashes": "raise RuntimeError",
        "the hook is killed": "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)",
        "the hook ends with another code": "raise SystemExit(3)",
        "the hook ends without a word": "",
        "the hook prints an empty object": "print('{}')",
        "the hook prints nonsense": "print('well, yes')",
    }

    def __init__(self, agent, silent_port, other_port):
        self.agent, self.silent_port, self.other_port = agent, silent_port, other_port
        self._whole = {path: path.read_bytes() for path in (agent.place.script, agent.place.settings)}
        turns = [self._turn(way, f"echo one > broken-{n}.txt") for n, way in enumerate(self.WAYS)]
        agent.run(*turns, self._turn(None, "echo one > whole.txt"))

    def _turn(self, way, command):
        def turn():
            for path, content in self._whole.items():
                path.write_bytes(content)
            self._break(way)
            return command

        return turn

    def _break(self, way):
        script = self.agent.place.script
        if way == "the gateway is not there":
            self.agent.set("port", 1)
        elif way == "the gateway does not answer":
            self.agent.set("port", self.silent_port)
            self.agent.set("seconds", 1)
        elif way == "another server answers in the gateway's place":
            self.agent.set("port", self.other_port)
        elif way == "the token is not valid":
            self.agent.set("token", "wrong")
        elif way == "the hook's script is gone":
            script.unlink()
        elif way is not None:
            script.write_text(self._SCRIPTS[way])

    def ran(self, way):
        return (self.agent.project / f"broken-{self.WAYS.index(way)}.txt").exists()


@pytest.fixture
def broken(agent_name, tmp_path_factory, gateway, kept):
    if ("broken", agent_name) not in kept:
        agent = RealAgent(agent_name, tmp_path_factory.mktemp("broken"), gateway)
        with (
            socket.create_server(("127.0.0.1", 0)) as silent,
            Receiver(lambda number, received: 200) as other,
        ):
            kept["broken", agent_name] = BrokenSession(agent, silent.getsockname()[1], other.port)
    return kept["broken", agent_name]


@pytest.mark.parametrize("way", BrokenSession.WAYS)
def test_whatever_fails_nothing_runs(broken, way, write_row):
    write_row(broken.agent.name, way, "open" if broken.ran(way) else "hook")

    assert not broken.ran(way)


def test_a_hook_that_is_mended_lets_the_work_go_on(broken):
    assert (broken.agent.project / "whole.txt").exists()


def test_a_hook_that_outlives_the_agents_patience_leaves_the_way_open(agent, write_row):
    """Named, not closed: the agent's time-out is its own. Ours is shorter, and the sandbox stands behind."""
    patience = re.sub(r'("timeout(?:Sec)?": )20', r"\g<1>1", agent.place.file.read_text())
    agent.place.file.write_text(patience)
    agent.place.script.write_text("import time\ntime.sleep(4)")

    agent.run("echo one > out.txt")

    ran = (agent.project / "out.txt").exists()
    write_row(agent.name, "the hook outlives the agent's own time-out", "sandbox" if ran else "hook")


def test_a_hook_that_is_removed_is_noticed_by_the_doctor(agent, write_row, monkeypatch):
    monkeypatch.setenv("HOME", str(agent.home))
    before = examine(AGENTS[agent.name], agent.program, agent.project)
    agent.place.file.write_text("{}")
    after = examine(AGENTS[agent.name], agent.program, agent.project)

    write_row(agent.name, "the hook is removed from the settings", "sandbox")
    # Codex leaves out what nobody trusted by hand, and the doctor does not say that it did.
    assert before.result == (SeenCall.RAN if agent.name == "codex" else SeenCall.DENIED), before
    assert after.result == SeenCall.RAN, after
