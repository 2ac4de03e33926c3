"""The configurations of MCP clients, read and taken over."""

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from qwed.cli.mcp import mcp
from qwed_sdk.mcp.client_files import ServerEntry, UnreadableConfig, open_file, put_proxy_before

URL = "https://mcp.example.com/mcp"
CLAUDE = {
    "globalShortcut": "Ctrl+Space",
    "mcpServers": {
        "files": {"command": "npx", "args": ["-y", "files-server", "/data"], "env": {"MODE": "read"}},
        "remote": {"url": URL, "headers": {"Authorization": "Bearer abc"}},
    },
}
VSCODE = """{
  // servers of this workspace
  "inputs": [{"type": "promptString", "id": "key"}],
  "servers": {
    "shop": {"type": "stdio", "command": "python", "args": ["shop.py", "a // b", "/* c */"],},
    "web": {"type": "http", "url": "https://mcp.example.com/mcp"}, /* the last */
  },
}"""
CODEX = """model = "some-model" # kept
[mcp_servers.shop]
command = "python"
args = [
  "shop.py",
]
startup_timeout_sec = 20

[mcp_servers.shop.env]
KEY = "a\\"b"

[tools]
web_search = true
"""


def written(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def taken_over(path: Path) -> dict[str, Any]:
    text = open_file(path).rewritten(
        lambda entry: put_proxy_before(entry, ("qwed",), ("--agent", "a"), {"QWED_X": "1"})
    )
    return tomllib.loads(text) if path.suffix == ".toml" else json.loads(text)


def test_a_configuration_of_claude_or_cursor_is_taken_over(tmp_path: Path):
    content = taken_over(written(tmp_path, "claude_desktop_config.json", json.dumps(CLAUDE)))

    before = ["mcp", "proxy", "--agent", "a", "--name"]
    assert content["globalShortcut"] == "Ctrl+Space"
    assert content["mcpServers"]["files"] == {
        "command": "qwed",
        "args": [*before, "files", "--", "npx", "-y", "files-server", "/data"],
        "env": {"MODE": "read", "QWED_X": "1"},
    }
    assert content["mcpServers"]["remote"] == {
        "command": "qwed",
        "args": [*before, "remote", "--url", URL, "--header", "Authorization=MCP_HEADER_1"],
        "env": {"MCP_HEADER_1": "Bearer abc", "QWED_X": "1"},
    }


def test_one_of_vs_code_may_hold_comments(tmp_path: Path):
    content = taken_over(written(tmp_path, "mcp.json", VSCODE))

    assert content["inputs"] == [{"type": "promptString", "id": "key"}]
    assert content["servers"]["shop"]["args"][-4:] == ["python", "shop.py", "a // b", "/* c */"]
    assert content["servers"]["web"]["type"] == "stdio"


def test_one_of_codex_keeps_everything_else(tmp_path: Path):
    path = written(tmp_path, "config.toml", CODEX)
    content = taken_over(path)

    assert content["model"] == "some-model" and content["tools"] == {"web_search": True}
    assert content["mcp_servers"]["shop"]["args"][-3:] == ["--", "python", "shop.py"]
    assert content["mcp_servers"]["shop"]["env"] == {"KEY": 'a"b', "QWED_X": "1"}
    assert content["mcp_servers"]["shop"]["startup_timeout_sec"] == 20
    assert "# kept" in open_file(path).rewritten(lambda entry: None)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.json", "[]"),
        ("a.json", "{"),
        ("a.json", '{"mcpServers": {"x": {}}}'),
        ("a.json", '{"mcpServers": {"x": {"command": 7}}}'),
        ("a.json", '{"servers": []}'),
        ("a.toml", "x = "),
        ("a.toml", "x = 1"),
    ],
)
def test_what_is_no_configuration_is_refused(tmp_path: Path, name: str, text: str):
    with pytest.raises(UnreadableConfig):
        open_file(written(tmp_path, name, text)).entries()


def test_toml_that_cannot_be_changed_safely_is_left_alone(tmp_path: Path):
    odd = 'mcp_servers = { shop = { command = "python" } }\n'

    with pytest.raises(UnreadableConfig, match="by hand"):
        taken_over(written(tmp_path, "config.toml", odd))


def test_what_is_behind_the_proxy_already_stays(tmp_path: Path):
    assert put_proxy_before(ServerEntry("x", ("qwed", "mcp", "proxy", "--", "y")), ("qwed",), (), {}) is None


def test_the_difference_is_shown_first_then_written_then_given_back(tmp_path: Path):
    path = written(tmp_path, "mcp.json", json.dumps(CLAUDE, indent=2))
    before = path.read_bytes()
    run = CliRunner(env={"QWED_AGENT_TOKEN": "qwed_agent_a_token_of_the_agent_0123456789"}).invoke

    shown = run(mcp, ["import", "--file", str(path), "--agent", "agent_1"])
    assert shown.exit_code == 0 and "+" in shown.output and path.read_bytes() == before
    assert "0123456789" not in shown.output

    assert run(mcp, ["import", "--file", str(path), "--agent", "agent_1", "--write"]).exit_code == 0
    assert all(entry.is_proxied for entry in open_file(path).entries())
    assert path.stat().st_mode & 0o077 == 0
    assert "already" in run(mcp, ["import", "--file", str(path), "--agent", "agent_1", "--write"]).output

    assert run(mcp, ["import", "--file", str(path), "--undo"]).exit_code == 0
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_what_a_person_changed_since_is_not_thrown_away(tmp_path: Path):
    path = written(tmp_path, "mcp.json", json.dumps(CLAUDE))
    run = CliRunner().invoke
    run(mcp, ["import", "--file", str(path), "--agent", "agent_1", "--write"])
    path.write_text(path.read_text() + "\n")

    refused = run(mcp, ["import", "--file", str(path), "--undo"])

    assert refused.exit_code == 1 and "changed since" in refused.output
