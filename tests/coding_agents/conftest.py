"""The real agents, driven by a scripted model, behind a real gateway: `make test-coding-agents`."""

import json
import os
import subprocess
from importlib import resources
from pathlib import Path

import httpx2
import pytest
from tests.support.server import OPERATOR_KEY, Server

from qwed.coding import hook_install
from qwed.coding.drives import DRIVES
from qwed.coding.hook_settings import AGENTS
from qwed.coding.scripted_model import ScriptedModel

PROGRAMS = Path(os.environ.get("QWED_CODING_AGENTS", "")) / "node_modules" / ".bin"
RESULTS = Path(os.environ.get("QWED_CODING_RESULTS", os.devnull))
AGENT_SECONDS = 120
#: Two workers, about as much work for each.
GROUPS = {"claude-code": "one", "codex": "one", "gemini": "two", "copilot": "two"}
#: What each calls the tool `query` of an MCP server `shop`.
QUERY_TOOLS = {
    "claude-code": "mcp__shop__query",
    "codex": "mcp__shop__query",
    "gemini": "mcp_shop_query",
    "copilot": "shop-query",
}
REGISTRATION = {
    "name": "claude",
    "type": "autonomous",
    "principal_id": "dev",
    "permissions": {"allowed_engines": ["workspace", "sql"], "allowed_tools": ["file_edit"]},
}


def pytest_collection_modifyitems(items):
    """One worker for each agent, which starts it no more often than it must."""
    for item in (item for item in items if Path(__file__).parent in item.path.parents):
        name = item.callspec.params.get("agent_name", "") if hasattr(item, "callspec") else "claude-code"
        item.add_marker(pytest.mark.xdist_group(GROUPS.get(name, name)))
        if "QWED_CODING_AGENTS" not in os.environ:
            item.add_marker(
                pytest.mark.skip(reason="scripts/test-coding-agents installs the agents and runs it")
            )


@pytest.fixture(scope="session")
def gateway(tmp_path_factory):
    folder = tmp_path_factory.mktemp("gateway")
    policy = resources.files("qwed.policy.starters").joinpath("coding.yaml").read_text(encoding="utf-8")
    queries = "".join(f"  {name}: {{engine: sql}}\n" for name in sorted({*QUERY_TOOLS.values()}))
    policy = policy.replace("actions:\n", f"actions:\n{queries}") + "\nsql: {correct_missing_limit: 100}\n"
    (folder / "coding.yaml").write_text(policy)
    with Server(folder, environment={"QWED_CONFIG": str(folder / "coding.yaml")}) as server:
        yield server


class RealAgent:
    """One home, one project, one registered agent."""

    #: Codex leaves out a hook that nobody trusted by hand; the tests say that they did.
    more = {"codex": ("--dangerously-bypass-hook-trust",)}  # noqa: RUF012

    def __init__(self, name, folder, gateway):
        self.name, self.folder = name, folder
        self.home, self.project = folder / "home", folder / "project"
        self.home.mkdir(parents=True)
        self.project.mkdir()
        self.gateway = gateway
        self.program = str(PROGRAMS / AGENTS[name].program)
        if not Path(self.program).exists():
            missing = f"{name} is not installed: npm could not fetch it"
            pytest.fail(missing) if os.environ.get("CI") else pytest.skip(missing)
        self.agent = self.call("POST", "/agents/register", json={**REGISTRATION, "name": name})
        self.place = hook_install.place_of(self.name, "user", self.home, self.project)
        self.install(gateway.base_url)

    def install(self, url):
        plan = hook_install.plan_install(self.place)
        hook_install.install(plan, url, self.agent["agent_token"], self.agent["agent_id"])

    def set(self, name, value):
        lines = self.place.settings.read_text().splitlines()
        kept = [line for line in lines if not line.startswith(f"{name}=")]
        self.place.settings.write_text("\n".join([*kept, f"{name}={value}", ""]))

    def run(self, *turns, more=None, instead=None):
        """Raises where the agent did not come for every turn: what was not tried proves nothing.

        `more` are words of the command line; `instead` are words that take the place of others.
        """
        drive = DRIVES[self.name]
        with ScriptedModel(drive, turns) as model:
            environment = {**drive.environment(model.port, self.folder), "HOME": str(self.home)}
            command = [*drive.command(self.program, model.port), *self.more.get(self.name, ())]
            command = [word for each in command for word in (instead or {}).get(each, (each,))]
            done = subprocess.run(
                [*command, *(more or ())], env=environment, cwd=self.project, capture_output=True, text=True,
                stdin=subprocess.DEVNULL, timeout=AGENT_SECONDS, check=False,
            )  # fmt: skip
        assert model.is_over, done.stderr[-2000:] + done.stdout[-2000:]
        return " ".join(model.results)

    def shell(self, command):
        return DRIVES[self.name].shell(command)

    def call(self, method, path, **request):
        headers = {"Authorization": f"Bearer {OPERATOR_KEY}"}
        return httpx2.request(method, f"{self.gateway.base_url}{path}", headers=headers, **request).json()

    def decisions(self):
        entries = self.call("GET", f"/agents/{self.agent['agent_id']}/activity")["activities"]
        return [entry["decision"] for entry in entries if entry["decision"] != "NOTED"]


@pytest.fixture(scope="session", params=sorted(DRIVES))
def agent_name(request):
    return request.param


@pytest.fixture
def agent(agent_name, tmp_path, gateway):
    return RealAgent(agent_name, tmp_path, gateway)


@pytest.fixture
def claude(tmp_path, gateway):
    return RealAgent("claude-code", tmp_path, gateway)


@pytest.fixture
def write_row():
    """A row of the table: agent, way to fail, what closes it."""

    def write(agent, way, closed_by):
        with RESULTS.open("a", encoding="utf-8") as results:
            results.write(json.dumps([agent, way, closed_by]) + "\n")

    return write
