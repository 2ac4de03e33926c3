"""Streamable HTTP on either side of the proxy."""

import asyncio
import os
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import mcp_types as types
import pytest
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client
from tests.support.mcp_session import Stage, said
from tests.support.protected import Protected

pytestmark = pytest.mark.xdist_group("mcp-http")


@pytest.fixture
def stage(tmp_path: Path, protected: Protected) -> Stage:
    return Stage(tmp_path / "stage", protected)


@contextmanager
def listening(stage: Stage, *options: str, url: str | None = None, **environ: str) -> Iterator[str]:
    """`qwed mcp proxy --listen`, until it is told to stop."""
    process = subprocess.Popen(
        stage.command("--listen", "127.0.0.1:0", *options, url=url),
        env={**stage.environment, **environ},
        cwd=stage.folder,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    line = process.stderr.readline()
    assert "listening on" in line, line
    # Whatever else it says must not fill the pipe.
    reading = threading.Thread(target=process.stderr.read)
    reading.start()
    try:
        yield line.split()[-1]
    finally:
        process.terminate()
        assert process.wait(60) is not None
        reading.join(60)
        process.stderr.close()


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_a_server_at_an_address_is_protected_as_one_that_was_started(stage: Stage, mode: str):
    heard: list[float] = []

    async def note(progress: float, total: float | None, message: str | None) -> None:
        heard.append(progress)

    async def scenario(url: str) -> list[Any]:
        async with stage.client("--show-all", mode=mode, url=url) as client:
            names = [tool.name for tool in (await client.list_tools()).tools]
            done = await client.call_tool("lookup_order", {"do": "progress"}, progress_callback=note)
            denied = await client.call_tool("wipe_disk", {})
            large = await client.call_tool("lookup_order", {"do": "large", "order": "3000000"})
            return [len(names), said(done), denied.is_error, len(said(large))]

    with stage.http_server() as url:
        assert asyncio.run(scenario(url)) == [6, "done", True, 3_000_000]

    assert heard == [1, 2, 3]
    assert [call[0] for call in stage.ran()] == ["lookup_order", "lookup_order"]


def test_a_server_at_an_address_that_dies_gives_errors_and_an_unknown_outcome(stage: Stage):
    async def scenario(url: str) -> Any:
        async with stage.client(url=url) as client:
            await client.list_tools()
            return await client.call_tool("lookup_order", {"do": "crash"})

    with stage.http_server() as url:
        result = asyncio.run(asyncio.wait_for(scenario(url), 60))

    assert result.is_error and "unknown" in said(result)
    assert stage.record() == [("lookup_order", "APPROVED", "unknown")]


def test_an_address_where_nobody_answers_is_an_error(stage: Stage):
    async def scenario() -> None:
        async with stage.client(url="http://127.0.0.1:9/mcp"):
            pass

    with pytest.raises((MCPError, ExceptionGroup)):
        asyncio.run(asyncio.wait_for(scenario(), 60))


def test_cancelling_reaches_a_server_at_an_address(stage: Stage):
    async def scenario(url: str) -> None:
        async with stage.client(url=url) as client:
            call = asyncio.ensure_future(client.call_tool("lookup_order", {"do": "sleep"}))
            while not stage.ran():
                await asyncio.sleep(0.02)
            call.cancel()
            while not (stage.folder / "cancelled").exists():
                await asyncio.sleep(0.02)

    with stage.http_server() as url:
        asyncio.run(asyncio.wait_for(scenario(url), 60))

    assert stage.record() == [("lookup_order", "APPROVED", "unknown")]


def test_clients_over_http_get_a_session_and_a_server_each(stage: Stage):
    heard: list[float] = []

    async def note(progress: float, total: float | None, message: str | None) -> None:
        heard.append(progress)

    async def elicit(context: Any, params: Any) -> Any:
        return types.ElicitResult(action="accept", content={"size": "large"})

    async def scenario(url: str) -> list[Any]:
        async with (
            Client(url, mode="legacy", elicitation_callback=elicit) as one,
            Client(url, mode="legacy") as other,
        ):
            first = await one.call_tool("lookup_order", {"do": "progress"}, progress_callback=note)
            asked = await one.call_tool("lookup_order", {"do": "elicit"})
            second = await other.call_tool("lookup_order", {"order": "B"})
            crashed = await other.call_tool("lookup_order", {"do": "crash"})
            still = await one.call_tool("lookup_order", {"order": "C"})
            return [said(first), said(asked), said(second), crashed.is_error, said(still)]

    with listening(stage) as url:
        answers = asyncio.run(asyncio.wait_for(scenario(url), 90))

    assert answers == ["done", "the user said large", "done B", True, "done C"]
    assert heard == [1, 2, 3]
    conversations = {
        entry["context"]["conversation_id"]
        for entry in stage.protected.client.get_agent_activity(stage.agent_id)
        if entry["decision"] != "NOTED"
    }
    assert len(conversations) == 2


def test_cancelling_over_http_reaches_the_server(stage: Stage):
    async def scenario(url: str) -> None:
        async with Client(url, mode="legacy") as client:
            call = asyncio.ensure_future(client.call_tool("lookup_order", {"do": "sleep"}))
            while not stage.ran():
                await asyncio.sleep(0.02)
            call.cancel()
            while not (stage.folder / "cancelled").exists():
                await asyncio.sleep(0.02)

    with listening(stage) as url:
        asyncio.run(asyncio.wait_for(scenario(url), 60))

    assert stage.record() == [("lookup_order", "APPROVED", "unknown")]


def test_only_who_knows_the_token_is_heard_and_no_web_page_is(stage: Stage):
    token = "let-my-client-in-0123456789"

    async def scenario(url: str) -> str:
        headers = {"Authorization": f"Bearer {token}"}
        async with (
            httpx2.AsyncClient(headers=headers, timeout=60) as http,
            Client(streamable_http_client(url, http_client=http), mode="legacy") as client,
        ):
            return said(await client.call_tool("lookup_order", {"order": "A"}))

    hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}}
    accept = {"Accept": "application/json, text/event-stream", "Authorization": f"Bearer {token}"}
    with listening(stage, QWED_MCP_LISTEN_TOKEN=token) as url:
        assert httpx2.post(url, json=hello).status_code == 401
        rebound = httpx2.post(url, json=hello, headers={**accept, "Host": "evil.example"})
        foreign = httpx2.post(url, json=hello, headers={**accept, "Origin": "https://evil.example"})
        lost = httpx2.post(url, json=hello, headers={**accept, "Mcp-Session-Id": "made-up"})
        assert asyncio.run(scenario(url)) == "done A"

    assert [rebound.status_code, foreign.status_code, lost.status_code] == [421, 403, 404]


def test_the_proxy_listens_on_loopback_only(stage: Stage):
    refused = subprocess.run(
        stage.command("--listen", "0.0.0.0:0"),
        env=stage.environment,
        cwd=stage.folder,
        capture_output=True,
        text=True,
        timeout=60,
    )

    assert refused.returncode == 2
    assert "loopback" in refused.stderr


STUBBORN = (
    "import os, signal, time\n"
    "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
    "open('seen', 'w').write(repr(sorted(k for k in os.environ if k.startswith('QWED_'))))\n"
    "open('pid', 'w').write(str(os.getpid()))\n"
    "time.sleep(600)\n"
)


@pytest.mark.parametrize("how", ["client_leaves", "terminated"])
def test_the_server_ends_with_its_session_and_sees_no_secret_of_ours(stage: Stage, how: str):
    command = stage.command()[: -len(("python", "-m", "server", "folder"))]
    process = subprocess.Popen(
        [*command, command[0], "-c", STUBBORN],
        env=stage.environment,
        cwd=stage.folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    pid_file = stage.folder / "pid"
    end = time.monotonic() + 60
    while not (pid_file.exists() and pid_file.read_text()) and time.monotonic() < end:
        time.sleep(0.05)
    assert process.stdin is not None and process.stdout is not None
    if how == "terminated":
        process.terminate()
    else:
        process.stdin.close()
    code = process.wait(60)
    process.stdin.close()
    process.stdout.close()

    assert code == (0 if how == "client_leaves" else 143)
    assert (stage.folder / "seen").read_text() == "[]"
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid_file.read_text()), 0)


@pytest.mark.parametrize("source", ["empty", os.devnull])
def test_without_pipes_it_says_so_in_one_line(stage: Stage, source: str):
    (stage.folder / "empty").touch()
    with (stage.folder / source).open() as stdin:
        refused = subprocess.run(
            stage.command(),
            env=stage.environment,
            cwd=stage.folder,
            stdin=stdin,
            capture_output=True,
            text=True,
            timeout=60,
        )

    assert refused.returncode == 1
    assert "over pipes" in refused.stderr
    assert len(refused.stderr.splitlines()) == 1
