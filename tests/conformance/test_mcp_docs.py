"""The page about protecting an MCP server, followed from top to bottom."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.server import OPERATOR_KEY, Server, clean_environment

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "protect-an-mcp-server.md"

pytestmark = pytest.mark.xdist_group("mcp-docs")


def blocks() -> list[tuple[str, str]]:
    return re.findall(r"^```(\w+)\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.S | re.M)


def test_the_page_can_be_followed_and_prints_what_it_says(tmp_path: Path):
    for kind, text in blocks():
        if kind == "yaml":
            (tmp_path / "qwed.yaml").write_text(text, encoding="utf-8")
        elif kind == "python":
            (tmp_path / text.split()[1]).write_text(text, encoding="utf-8")
    configuration = next(text for kind, text in blocks() if kind == "json")
    commands = [text for kind, text in blocks() if kind == "sh"]
    printed = [text for kind, text in blocks() if kind == "text"][-1]

    with Server(tmp_path, "--config", "qwed.yaml") as server:
        environment = clean_environment(
            PATH=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            HOME=str(tmp_path),
            QWED_BASE_URL=server.base_url,
            QWED_API_KEY=OPERATOR_KEY,
        )

        def run(*command: str) -> str:
            done = subprocess.run(
                command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120
            )
            assert done.returncode == 0, done.stderr
            return done.stdout

        outputs = [run("bash", "-ec", command) for command in commands]
        agent = json.loads((tmp_path / "agent.json").read_text())
        (tmp_path / "mcp.json").write_text(
            configuration.replace("AGENT_ID", agent["agent_id"])
            .replace('"AGENT_TOKEN"', json.dumps(agent["agent_token"]))
            .replace("http://127.0.0.1:8000", server.base_url)
        )

        assert {tool["standing"] for tool in json.loads(outputs[1])["tools"]} == {"pinned"}
        assert run(sys.executable, "client.py") == printed
