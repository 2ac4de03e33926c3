"""The real agents behind their hooks: what is allowed runs once, and whatever goes wrong, nothing runs.

An agent takes seconds to start. One session of each does everything that can be done in one session; the
scripted model breaks and mends the hook between two of its turns.
"""

import re
import socket

import pytest
from tests.coding_agents.conftest import RealAgent

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


class BrokenSession:
    """A session in which the hook breaks in one way after the other, and is whole at the end."""

    WAYS = (
        "the gateway is not there",
        "the gateway does not answer",
        "the token is not valid",
        "the hook crashes",
        "the hook is killed",
        "the hook's script is gone",
        "the hook says nothing that it understands",
    )
    _SCRIPTS = {  # noqa: RUF012
        "the hook crashes": "raise RuntimeError",
        "the hook is killed": "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)",
        "the hook says nothing that it understands": "raise SystemExit(3)",
    }

    def __init__(self, agent, silent_port):
        self.agent, self.silent_port = agent, silent_port
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
        with socket.create_server(("127.0.0.1", 0)) as silent:
            kept["broken", agent_name] = BrokenSession(agent, silent.getsockname()[1])
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
