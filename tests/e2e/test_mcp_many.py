"""Many servers behind one proxy, and requests without a session."""

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.stdio import stdio_client
from tests.e2e.test_mcp_http import listening
from tests.support.mcp_session import SERVER, Stage, said
from tests.support.protected import Protected

pytestmark = pytest.mark.xdist_group("mcp-many")

VERSION = "2026-07-28"
ACCEPT = "application/json, text/event-stream"


@pytest.fixture
def stage(tmp_path: Path, protected: Protected) -> Stage:
    return Stage(tmp_path / "stage", protected)


def servers(stage: Stage, *names: str) -> Path:
    """A client's configuration: a server in a folder of its own for each name, and one that is not there."""
    entries: dict[str, Any] = {"lost": {"command": str(stage.folder / "nothing-here")}}
    for name in names:
        (stage.folder / name).mkdir()
        entries[name] = {"command": SERVER[0], "args": [*SERVER[1:], str(stage.folder / name)]}
    path = stage.folder / "mcp.json"
    path.write_text(json.dumps({"mcpServers": entries}), encoding="utf-8")
    return path


def test_servers_behind_one_proxy_keep_their_names_apart_and_one_that_ends_ends_alone(stage: Stage):
    async def scenario(file: Path) -> list[Any]:
        options = ["--agent", stage.agent_id, "--servers", str(file), "--show-all"]
        mapped = ["--map", "one__lookup_order=lookup_order", "--map", "two__lookup_order=wipe_disk"]
        command = [sys.executable, "-m", "qwed", "mcp", "proxy", *options, *mapped]
        command += ["--map", "two__own_tool=own_tool"]
        parameters = StdioServerParameters(
            command=command[0], args=command[1:], env=stage.environment, cwd=stage.folder
        )
        async with Client(stdio_client(parameters), mode="legacy") as client:
            names = {tool.name for tool in (await client.list_tools()).tools}
            read = await client.list_resources()
            content = await client.read_resource("memo://one")
            prompt = await client.get_prompt("two__greet", {"who": "Ada"})
            first = await client.call_tool("one__lookup_order", {"order": "A"})
            denied = await client.call_tool("two__lookup_order", {"order": "A"})
            with pytest.raises(MCPError, match="no server here offers"):
                await client.call_tool("lookup_order", {})
            crashed = await client.call_tool("two__own_tool", {"do": "crash"})
            still = await client.call_tool("one__lookup_order", {"order": "B"})
            return [names, len(read.resources), content, prompt, first, denied, crashed, still]

    names, resources, content, prompt, first, denied, crashed, still = asyncio.run(
        asyncio.wait_for(scenario(servers(stage, "one", "two")), 120)
    )

    assert {"one__lookup_order", "two__lookup_order"} <= names and len(names) == 12
    assert resources == 1 and content.contents[0].text == "memo one"
    assert prompt.messages[0].content.text == "greet Ada"
    assert said(first) == "done A" and denied.is_error
    assert crashed.is_error and "unknown" in said(crashed)
    assert said(still) == "done B"
    assert (stage.folder / "one" / "ran.jsonl").read_text().splitlines() == [
        '["lookup_order", {"order": "A"}]',
        '["lookup_order", {"order": "B"}]',
    ]


def request(method: str, **params: Any) -> dict[str, Any]:
    meta = {
        "io.modelcontextprotocol/protocolVersion": VERSION,
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": meta}}


def headers(method: str, name: str | None = None, **more: str) -> dict[str, str]:
    named = {} if name is None else {"Mcp-Name": name}
    return {"Accept": ACCEPT, "MCP-Protocol-Version": VERSION, "Mcp-Method": method, **named, **more}


def test_requests_without_a_session_are_served_and_headers_agree_with_the_body_or_nothing_starts(
    stage: Stage,
):
    call = request("tools/call", name="lookup_order", arguments={"order": "A"})
    heard: list[float] = []

    async def note(progress: float, total: float | None, message: str | None) -> None:
        heard.append(progress)

    async def clients(url: str) -> list[str]:
        async with Client(url) as one, Client(url) as two:
            calls = (
                client.call_tool("lookup_order", {"do": "progress", "order": name}, progress_callback=note)
                for client, name in ((one, "x"), (two, "y"))
            )
            return [said(result) for result in await asyncio.gather(*calls)]

    def post(url: str, body: Any, **given: str) -> tuple[int, Any]:
        answer = httpx2.post(url, json=body, headers=given, timeout=60)
        is_json = answer.headers.get("content-type", "").startswith("application/json")
        return answer.status_code, answer.json().get("error", {}).get("code") if is_json else None

    with listening(stage) as url:
        refused = [
            post(url, call, **headers("tools/list", "lookup_order")),
            post(url, call, **headers("tools/call", "wipe_disk")),
            post(url, call, **headers("tools/call")),
            post(url, call, **headers("tools/call", "lookup_order") | {"MCP-Protocol-Version": "2099-01-01"}),
            post(url, {**call, "params": {"name": "lookup_order"}}, **headers("tools/call", "lookup_order")),
            post(url, call, **headers("tools/call", "lookup_order", Origin="https://evil.example")),
            post(url, call, **headers("tools/call", "lookup_order", Host="evil.example")),
            post(url, {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}, Accept=ACCEPT),
        ]  # fmt: skip
        started = len(children(url))
        ran = post(url, call, **headers("tools/call", "lookup_order"))
        denied = httpx2.post(
            url, json=request("tools/call", name="wipe_disk"), headers=headers("tools/call", "wipe_disk")
        )
        answers = asyncio.run(clients(url))

    assert [status for status, _ in refused] == [400, 400, 400, 400, 400, 403, 421, 400]
    assert [code for _, code in refused[:5]] == [-32020, -32020, -32020, -32020, -32602]
    assert started == 0 and ran == (200, None)
    assert denied.json()["result"]["isError"] is True
    assert answers == ["done", "done"] and sorted(heard) == [1, 1, 2, 2, 3, 3]


def children(url: str) -> list[str]:
    """What the process that listens there has started."""
    pids = subprocess.run(
        ["pgrep", "-f", "tests.support.mcp_server"], capture_output=True, text=True
    ).stdout.split()
    mine = subprocess.run(
        ["pgrep", "-f", "mcp proxy.*--listen 127.0.0.1:0"], capture_output=True, text=True
    ).stdout.split()
    return [pid for pid in pids if pid not in mine and parent(pid) in mine]


def parent(pid: str) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1]
    except OSError:
        return ""


def test_a_client_that_lost_its_connection_gets_what_it_missed(stage: Stage):
    accept = {"Accept": ACCEPT}
    about = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}

    def events(answer: Any, most: int) -> list[tuple[str, str]]:
        found, last = [], ""
        for line in answer.iter_lines():
            if line.startswith("id:"):
                last = line.partition(":")[2].strip()
            elif line.startswith("data:"):
                found += [(last, text)] if (text := line.partition(":")[2].strip()) or most == 1 else []
            if len(found) == most:
                break
        return found

    with listening(stage) as url, httpx2.Client(timeout=60) as http:
        body = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": about}
        opened = http.post(url, json=body, headers=accept)
        session = {
            "Mcp-Session-Id": opened.headers["mcp-session-id"],
            "MCP-Protocol-Version": "2025-11-25",
            **accept,
        }
        http.post(url, json={"jsonrpc": "2.0", "method": "notifications/initialized"}, headers=session)
        params = {"name": "lookup_order", "arguments": {"do": "progress"}, "_meta": {"progressToken": 7}}
        call = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params}
        with http.stream("POST", url, json=call, headers=session) as stream:
            first = events(stream, 1)
        with http.stream("GET", url, headers={**session, "Last-Event-ID": first[0][0]}) as resumed:
            missed = [json.loads(text) for _, text in events(resumed, 4)]

    assert [message.get("method", "answer") for message in missed] == ["notifications/progress"] * 3 + [
        "answer"
    ]
    assert missed[-1]["result"]["content"][0]["text"] == "done"
