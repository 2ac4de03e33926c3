"""OpenAI Agents SDK: function tools, custom tools, handoffs, agents as tools and MCP servers."""

import asyncio
import threading
from typing import Any

import pytest
from agents import Agent, CustomTool, FunctionTool, Runner, WebSearchTool, function_tool, handoff
from agents.mcp import MCPServer
from agents.testing import ScriptedModel, assistant_message, function_call
from mcp.types import CallToolResult, TextContent, Tool
from tests.support.protected import Protected

from qwed_sdk import ToolAs
from qwed_sdk.openai_agents import protect

TOOL_MAP = {"sums": ToolAs("calculate", query="claim")}


class Tools:
    def __init__(self) -> None:
        self.ran: list[tuple[str, Any]] = []

    @property
    def all(self) -> list[FunctionTool]:
        ran = self.ran

        @function_tool
        def lookup_order(order: int) -> str:
            """Look an order up."""
            ran.append(("lookup_order", order))
            return f"order {order}"

        @function_tool
        async def wipe_disk(disk: str) -> str:
            """Wipe a disk."""
            ran.append(("wipe_disk", disk))
            return "wiped"

        @function_tool
        def publish_page(title: str) -> str:
            """Publish a page."""
            ran.append(("publish_page", title))
            return "published"

        @function_tool
        def sums(claim: str) -> str:
            """Check a sum."""
            ran.append(("sums", claim))
            return claim

        @function_tool
        def own_tool(value: str) -> str:
            """Fail."""
            ran.append(("own_tool", value))
            raise ValueError(value)

        return [lookup_order, wipe_disk, publish_page, sums, own_tool]


@pytest.fixture
def tools() -> Tools:
    return Tools()


def model(*calls: tuple[str, dict[str, Any]]) -> ScriptedModel:
    asked = [function_call(name, arguments, call_id=f"c{n}") for n, (name, arguments) in enumerate(calls)]
    return ScriptedModel([asked, [assistant_message("done")]])


def guarded(world: Protected, agent: Agent[Any], **options: Any) -> Agent[Any]:
    options = {"client": world.client, "tool_map": TOOL_MAP, "wait_seconds": 20, **options}
    protect(agent, world.agent_id, **options)
    return agent


def outputs(result: Any) -> list[str]:
    return [str(item.output) for item in result.new_items if item.type == "tool_call_output_item"]


def run(world: Protected, tools: Tools, *calls: tuple[str, dict[str, Any]], **options: Any) -> Any:
    agent = Agent(name="a", model=model(*calls), tools=tools.all)
    return Runner.run_sync(guarded(world, agent, **options), "go")


def test_approved_calls_run_once_and_denied_ones_answer_the_model(world: Protected, tools: Tools) -> None:
    calls = [("lookup_order", {"order": 1}), ("wipe_disk", {"disk": "a"}), ("lookup_order", {"order": 2})]
    result = run(world, tools, *calls)

    assert sorted(tools.ran) == [("lookup_order", 1), ("lookup_order", 2)]
    assert "QWED-AGENT-TRUST-001" in outputs(result)[1]
    assert result.final_output == "done"
    assert sorted(world.record(), key=str) == [
        ("lookup_order", "APPROVED", "success"),
        ("lookup_order", "APPROVED", "success"),
        ("wipe_disk", "DENIED", None),
    ]


def test_a_corrected_call_runs_corrected(world: Protected, tools: Tools) -> None:
    run(world, tools, ("sums", {"claim": "2+2=5"}))

    assert tools.ran == [("sums", "2+2=4")]


def test_a_pending_call_runs_only_after_a_person_approved(world: Protected, tools: Tools) -> None:
    with world.person_answers() as waiting:
        run(world, tools, ("publish_page", {"title": "x"}))

    assert waiting[0]["action"]["parameters"] == {"title": "x"}
    assert tools.ran == [("publish_page", "x")]


def test_a_pending_call_that_a_person_denies_does_not_run(world: Protected, tools: Tools) -> None:
    with world.person_answers("deny", note="too early"):
        result = run(world, tools, ("publish_page", {"title": "x"}))

    assert tools.ran == []
    assert "too early" in outputs(result)[0]


def test_a_tool_that_fails_is_reported_although_the_model_gets_text(world: Protected, tools: Tools) -> None:
    result = run(world, tools, ("own_tool", {"value": "v"}))

    assert "error" in outputs(result)[0].lower()
    assert world.record() == [("own_tool", "APPROVED", "failure")]


def test_parallel_calls_are_all_verified_in_one_conversation_per_run(world: Protected, tools: Tools) -> None:
    for _ in range(2):
        run(world, tools, *[("lookup_order", {"order": n}) for n in range(6)])
    entries = world.client.get_agent_activity(world.agent_id)
    conversations = {entry["context"]["conversation_id"] for entry in entries if entry.get("context")}

    assert len(tools.ran) == 12
    assert len(conversations) == 2


def test_an_async_client_serves_as_well(world: Protected, tools: Tools) -> None:
    async def scenario() -> None:
        client = world.async_client()
        calls = [("lookup_order", {"order": 1}), ("wipe_disk", {"disk": "a"})]
        agent = Agent(name="a", model=model(*calls), tools=tools.all)
        await Runner.run(guarded(world, agent, client=client), "go")
        await client.aclose()

    asyncio.run(scenario())

    assert tools.ran == [("lookup_order", 1)]


def test_arguments_that_are_no_json_do_not_run(world: Protected, tools: Tools) -> None:
    broken = function_call("lookup_order", {}, call_id="c1")
    broken.arguments = '{"order": 1'
    agent = Agent(name="a", model=ScriptedModel([[broken], [assistant_message("done")]]), tools=tools.all)
    result = Runner.run_sync(guarded(world, agent), "go")

    assert tools.ran == []
    assert "not JSON" in outputs(result)[0]


@pytest.mark.parametrize("as_object", [True, False], ids=["handoff", "agent"])
def test_agents_reached_by_handoff_ask_too(world: Protected, tools: Tools, as_object: bool) -> None:
    writer = Agent(name="writer", model=model(("wipe_disk", {"disk": "a"})), tools=tools.all)
    first = ScriptedModel([[function_call("transfer_to_writer", {}, call_id="h1")]])
    agent = Agent(name="a", model=first, handoffs=[handoff(writer) if as_object else writer])
    writer.handoffs.append(agent)
    result = Runner.run_sync(guarded(world, agent), "go")

    assert result.last_agent.name == "writer"
    assert tools.ran == []


def test_an_agent_used_as_a_tool_asks_and_so_do_its_tools(world: Protected, tools: Tools) -> None:
    inner = Agent(name="inner", model=model(("wipe_disk", {"disk": "a"})), tools=tools.all)
    as_tool = inner.as_tool("lookup_order", "Looks orders up.")
    agent = Agent(name="a", model=model(("lookup_order", {"input": "hello"})), tools=[as_tool])
    Runner.run_sync(guarded(world, agent), "go")

    assert tools.ran == []
    assert sorted(world.record()) == [
        ("lookup_order", "APPROVED", "success"),
        ("wipe_disk", "DENIED", None),
    ]


def test_a_clone_of_a_protected_agent_asks_too(world: Protected, tools: Tools) -> None:
    agent = guarded(world, Agent(name="a", model=model(("wipe_disk", {"disk": "a"})), tools=tools.all))
    Runner.run_sync(agent.clone(name="b"), "go")

    assert tools.ran == []


def test_protecting_twice_asks_once(world: Protected, tools: Tools) -> None:
    agent = Agent(name="a", model=model(("lookup_order", {"order": 1})), tools=tools.all)
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


def test_a_dead_gateway_means_that_nothing_runs(mortal: Protected, tools: Tools) -> None:
    server = Server()
    calls = [("lookup_order", {"order": 1}), ("sums", {"claim": "1+1"})]
    agent = Agent(name="a", model=model(*calls), tools=tools.all[:1], mcp_servers=[server])
    guarded(mortal, agent)
    server.list_tools = lambda *a, **k: _only_sums()  # type: ignore[method-assign]
    mortal.server.kill()
    result = Runner.run_sync(agent, "go")

    assert tools.ran == []
    assert server.ran == []
    assert ["no usable answer" in output for output in outputs(result)] == [True, True]


async def _only_sums() -> list[Tool]:
    return [Tool(name="sums", input_schema={"type": "object", "properties": {}})]


def test_a_gateway_killed_while_a_call_waits_means_that_it_does_not_run(
    mortal: Protected, tools: Tools
) -> None:
    results: list[Any] = []
    thread = threading.Thread(
        target=lambda: results.append(run(mortal, tools, ("publish_page", {"title": "x"})))
    )
    thread.start()
    mortal.open_approval()
    mortal.server.kill()
    thread.join(30)

    assert tools.ran == []
    assert "no usable answer" in outputs(results[0])[0]
