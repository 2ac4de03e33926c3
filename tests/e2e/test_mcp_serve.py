"""The gateway as an MCP server, to a real client."""

import asyncio
import json
import subprocess
import sys
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from tests.support.mcp_session import said
from tests.support.protected import Protected
from tests.support.server import OPERATOR_KEY, clean_environment

pytestmark = pytest.mark.xdist_group("mcp-serve")


def environment(protected: Protected, **credential: str) -> dict[str, str]:
    return clean_environment(QWED_BASE_URL=protected.server.base_url, **credential)


@asynccontextmanager
async def client(protected: Protected, *options: str, **credential: str) -> AsyncIterator[Client]:
    parameters = StdioServerParameters(
        command=sys.executable,
        args=["-m", "qwed", "mcp", "serve", *options],
        env=environment(protected, **credential),
    )
    with (protected.server.folder / "mcp-stderr").open("w") as stderr:
        async with Client(stdio_client(parameters, errlog=stderr)) as made:
            yield made


def token(protected: Protected) -> str:
    return protected.client._connection.tokens[protected.agent_id]


def test_an_agent_verifies_reports_and_reads_what_it_did(protected: Protected):
    agent_id = protected.new_agent()

    async def scenario() -> list[Any]:
        async with client(protected, "--agent", agent_id, QWED_AGENT_TOKEN=token(protected)) as made:
            tools = [tool.name for tool in (await made.list_tools()).tools]
            approved = await made.call_tool("verify_action", {"action_type": "calculate", "query": "2+2=4"})
            activity_id = approved.structured_content["activity_id"]
            reported = await made.call_tool(
                "report_outcome", {"activity_id": activity_id, "outcome": "success"}
            )
            denied = await made.call_tool("verify_action", {"action_type": "wipe_disk"})
            activity = await made.call_tool("activity", {"limit": 2})
            budget = await made.call_tool("budget", {})
            return [tools, approved, reported, denied, activity, budget]

    tools, approved, reported, denied, activity, budget = asyncio.run(scenario())

    assert tools == [
        "verify_action",
        "report_outcome",
        "list_approvals",
        "get_approval",
        "activity",
        "budget",
    ]
    assert approved.structured_content["decision"] == "APPROVED"
    assert json.loads(said(approved)) == approved.structured_content
    assert not reported.is_error
    assert denied.structured_content["decision"] == "DENIED" and not denied.is_error
    assert len(activity.structured_content["activities"]) == 2
    assert budget.structured_content["cost"]["max_daily_usd"]
    assert ("calculate", "APPROVED", "success") in protected.record()


def test_an_approval_is_found_watched_and_answered_only_where_that_is_allowed(protected: Protected):
    agent_id = protected.new_agent()

    async def scenario() -> tuple[Any, Any, Any, Any]:
        async with (
            client(protected, "--agent", agent_id, QWED_AGENT_TOKEN=token(protected)) as agent,
            client(protected, "--allow-answers", QWED_API_KEY=OPERATOR_KEY) as person,
        ):
            pending = await agent.call_tool("verify_action", {"action_type": "publish_page"})
            approval_id = pending.structured_content["approval"]["id"]
            refused = await agent.call_tool("approve", {"approval_id": approval_id})
            watching = asyncio.ensure_future(
                agent.call_tool("get_approval", {"approval_id": approval_id, "wait_seconds": 20})
            )
            listed = await person.call_tool("list_approvals", {"agent_id": agent_id})
            await person.call_tool("approve", {"approval_id": approval_id, "note": "go on"})
            return pending, refused, listed, await watching

    pending, refused, listed, watched = asyncio.run(scenario())

    assert pending.structured_content["decision"] == "PENDING"
    assert refused.is_error and "no tool" in said(refused)
    assert [entry["agent_id"] for entry in listed.structured_content["approvals"]] == [agent_id]
    assert watched.structured_content["status"] == "approved"


def test_wrong_arguments_and_a_gateway_that_is_gone_are_errors(protected: Protected, tmp_path: Path):
    gone = Protected(tmp_path / "gone")
    gone.start()

    async def scenario() -> list[Any]:
        async with client(gone, QWED_API_KEY=OPERATOR_KEY) as made:
            calls: list[tuple[str, dict[str, Any]]] = [
                ("verify_action", {"query": "2+2"}),
                ("verify_action", {"action_type": "calculate", "made_up": 1}),
                ("budget", {}),
                ("budget", {"agent_id": "../keys"}),
                ("made_up", {}),
            ]
            answers = [await made.call_tool(name, arguments) for name, arguments in calls]
            gone.server.kill()
            return [*answers, await made.call_tool("budget", {"agent_id": gone.agent_id})]

    results = asyncio.run(scenario())
    gone.client.close()
    gone.person.close()

    assert all(result.is_error for result in results)
    assert "action_type" in said(results[0]) and "made_up" in said(results[1])
    assert "speaks for no agent" in said(results[2])
    assert "nothing is approved" in said(results[-1])


def test_it_serves_over_http_as_well(protected: Protected):
    agent_id = protected.new_agent()
    process = subprocess.Popen(
        [sys.executable, "-m", "qwed", "mcp", "serve", "--agent", agent_id, "--listen", "127.0.0.1:0"],
        env=environment(protected, QWED_AGENT_TOKEN=token(protected)),
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    url = process.stderr.readline().split()[-1]
    reading = threading.Thread(target=process.stderr.read)
    reading.start()

    async def scenario() -> str:
        async with Client(url) as made:
            answer = await made.call_tool("verify_action", {"action_type": "calculate", "query": "2+2=5"})
            return str(answer.structured_content["decision"])

    try:
        assert asyncio.run(scenario()) == "CORRECTED"
    finally:
        process.terminate()
        process.wait(60)
        reading.join(60)
        process.stderr.close()


def test_without_a_credential_or_a_server_nothing_starts(protected: Protected):
    def refusal(*arguments: str, **credential: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "qwed", "mcp", *arguments],
            env=environment(protected, **credential),
            input="",
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.returncode != 0
        return done.stderr

    key = {"QWED_API_KEY": OPERATOR_KEY}
    assert "QWED_AGENT_TOKEN" in refusal("serve")
    assert "--agent" in refusal("serve", QWED_AGENT_TOKEN="qwed_agent_0123456789")
    assert "QWED_AGENT_TOKEN" in refusal("proxy", "--agent", "agent_1", "--", "true")
    assert "--url" in refusal("proxy", "--agent", "agent_1", **key)
    assert "--url" in refusal("proxy", "--agent", "agent_1", "--url", "http://x/", "--", "true", **key)
    assert "cannot be started" in refusal("proxy", "--agent", "agent_1", "--", "/no/such/server", **key)
    assert "--map" in refusal("proxy", "--agent", "agent_1", "--map", "x", "--", "true", **key)
    assert "is not set" in refusal(
        "proxy", "--agent", "agent_1", "--url", "http://x/", "--header", "A=NOT_SET", **key
    )
    assert "the server" in refusal("pin", "--", "true")
