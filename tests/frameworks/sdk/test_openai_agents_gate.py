"""What is the OpenAI Agents SDK's own: custom tools, handoffs, agents as tools, clones and MCP servers."""

import asyncio
from typing import Any

import pytest
from agents import Agent, CustomTool, Runner, WebSearchTool, handoff
from agents.mcp import MCPServer
from agents.testing import ScriptedModel, assistant_message, function_call
from mcp.types import CallToolResult, TextContent, Tool
from tests.frameworks.sdk.drivers.openai_agents import guarded, model, outputs, tools_of
from tests.frameworks.sdk.drivers.shop import Shop
from tests.support.protected import Protected


def test_an_async_client_serves_as_well(world: Protected, shop: Shop) -> None:
    async def scenario() -> None:
        client = world.async_client()
        calls = [("lookup_order", {"order": 1}), ("wipe_disk", {"disk": "a"})]
        agent = Agent(name="a", model=model(*calls), tools=tools_of(shop))
        await Runner.run(guarded(world, agent, client=client), "go")
        await client.aclose()

    asyncio.run(scenario())

    assert shop.ran == [("lookup_order", 1)]


def test_arguments_that_are_no_json_do_not_run(world: Protected, shop: Shop) -> None:
    broken = function_call("lookup_order", {}, call_id="c1")
    broken.arguments = '{"order": 1'
    agent = Agent(
        name="a", model=ScriptedModel([[broken], [assistant_message("done")]]), tools=tools_of(shop)
    )
    result = Runner.run_sync(guarded(world, agent), "go")

    assert shop.ran == []
    assert "not JSON" in outputs(result)[0]


@pytest.mark.parametrize("as_object", [True, False], ids=["handoff", "agent"])
def test_agents_reached_by_handoff_ask_too(world: Protected, shop: Shop, as_object: bool) -> None:
    writer = Agent(name="writer", model=model(("wipe_disk", {"disk": "a"})), tools=tools_of(shop))
    first = ScriptedModel([[function_call("transfer_to_writer", {}, call_id="h1")]])
    agent = Agent(name="a", model=first, handoffs=[handoff(writer) if as_object else writer])
    writer.handoffs.append(agent)
    result = Runner.run_sync(guarded(world, agent), "go")

    assert result.last_agent.name == "writer"
    assert shop.ran == []


def test_an_agent_used_as_a_tool_asks_and_so_do_its_tools(world: Protected, shop: Shop) -> None:
    inner = Agent(name="inner", model=model(("wipe_disk", {"disk": "a"})), tools=tools_of(shop))
    as_tool = inner.as_tool("lookup_order", "Looks orders up.")
    agent = Agent(name="a", model=model(("lookup_order", {"input": "hello"})), tools=[as_tool])
    Runner.run_sync(guarded(world, agent), "go")

    assert shop.ran == []
    assert sorted(world.record()) == [
        ("lookup_order", "APPROVED", "success"),
        ("wipe_disk", "DENIED", None),
    ]


def test_a_clone_of_a_protected_agent_asks_too(world: Protected, shop: Shop) -> None:
    agent = guarded(world, Agent(name="a", model=model(("wipe_disk", {"disk": "a"})), tools=tools_of(shop)))
    Runner.run_sync(agent.clone(name="b"), "go")

    assert shop.ran == []


def test_protecting_twice_asks_once(world: Protected, shop: Shop) -> None:
    agent = Agent(name="a", model=model(("lookup_order", {"order": 1})), tools=tools_of(shop))
    Runner.run_sync(guarded(world, guarded(world, agent)), "go")

    assert world.record() == [("lookup_order", "APPROVED", "success")]


def test_a_tool_that_the_provider_runs_must_be_allowed_by_name(world: Protected) -> None:
    with pytest.raises(ValueError, match="web_search"):
        guarded(world, Agent(name="a", tools=[WebSearchTool()]))

    guarded(world, Agent(name="a", tools=[WebSearchTool()]), allow_unverified=["web_search"])


def test_a_custom_tool_asks_too(world: Protected) -> None:
    ran: list[str] = []

    async def invoke(context: Any, text: str) -> str:
        ran.append(text)
        return "ok"

    agent = Agent(
        name="a",
        tools=[
            CustomTool(name="lookup_order", description="", on_invoke_tool=invoke),
            CustomTool(name="wipe_disk", description="", on_invoke_tool=invoke),
        ],
    )
    guarded(world, agent)
    answers = [asyncio.run(tool.on_invoke_tool(None, "x")) for tool in agent.tools]

    assert ran == ["x"]
    assert answers[0] == "ok"
    assert "TRUST-001" in answers[1]


class Server(MCPServer):
    """An MCP server in this process."""

    def __init__(self) -> None:
        super().__init__()
        self.ran: list[tuple[str, Any]] = []

    @property
    def name(self) -> str:
        return "local"

    async def connect(self) -> None: ...
    async def cleanup(self) -> None: ...

    async def list_tools(self, *args: Any, **kwargs: Any) -> list[Tool]:
        schema = {"type": "object", "properties": {"title": {"type": "string"}}}
        return [Tool(name=name, input_schema=schema) for name in ("lookup_order", "wipe_disk", "sums")]

    async def call_tool(self, tool_name: str, arguments: Any, meta: Any = None) -> CallToolResult:
        self.ran.append((tool_name, arguments))
        return CallToolResult(content=[TextContent(type="text", text="ok")])

    async def list_prompts(self) -> Any: ...
    async def get_prompt(self, name: str, arguments: Any = None) -> Any: ...


def test_the_tools_of_an_mcp_server_ask_too(world: Protected) -> None:
    server = Server()
    calls = [("lookup_order", {"title": "x"}), ("wipe_disk", {"title": "y"}), ("sums", {"claim": "2+2=5"})]
    agent = guarded(world, Agent(name="a", model=model(*calls), mcp_servers=[server]))
    result = Runner.run_sync(agent, "go")
    entries = world.client.get_agent_activity(world.agent_id)

    assert sorted(server.ran, key=str) == [("lookup_order", {"title": "x"}), ("sums", {"claim": "2+2=4"})]
    assert "TRUST-001" in outputs(result)[1]
    assert len({entry["context"]["conversation_id"] for entry in entries if entry.get("context")}) == 1


def test_a_dead_gateway_means_that_nothing_of_an_mcp_server_runs_either(
    mortal: Protected, shop: Shop
) -> None:
    server = Server()
    calls = [("lookup_order", {"order": 1}), ("sums", {"claim": "1+1"})]
    agent = Agent(name="a", model=model(*calls), tools=tools_of(shop)[:1], mcp_servers=[server])
    guarded(mortal, agent)
    server.list_tools = lambda *a, **k: _only_sums()  # type: ignore[method-assign]
    mortal.server.kill()
    result = Runner.run_sync(agent, "go")

    assert shop.ran == []
    assert server.ran == []
    assert ["no usable answer" in output for output in outputs(result)] == [True, True]


async def _only_sums() -> list[Tool]:
    return [Tool(name="sums", input_schema={"type": "object", "properties": {}})]
