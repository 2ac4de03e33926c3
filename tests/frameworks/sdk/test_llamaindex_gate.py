"""LlamaIndex: function agents, ReAct agents and workflows of agents, with its own mock model."""

import asyncio
import json
import threading
from typing import Any

import pytest
from llama_index.core.agent.workflow import AgentWorkflow, CodeActAgent, FunctionAgent, ReActAgent
from llama_index.core.base.llms.types import ChatMessage, TextBlock, ToolCallBlock
from llama_index.core.llms.mock import MockFunctionCallingLLM
from llama_index.core.tools import BaseTool, FunctionTool, ToolMetadata, ToolOutput
from llama_index.core.workflow import Context
from tests.support.protected import Protected

from qwed_sdk import ToolAs, tool_run
from qwed_sdk.llamaindex import protect, verified_tools

TOOL_MAP = {"sums": ToolAs("calculate", query="claim")}


class Tools:
    def __init__(self) -> None:
        self.ran: list[tuple[str, Any]] = []

    @property
    def all(self) -> list[Any]:
        return [
            FunctionTool.from_defaults(self.lookup_order),
            FunctionTool.from_defaults(async_fn=self.wipe_disk),
            FunctionTool.from_defaults(self.publish_page),
            self.sums,
            FunctionTool.from_defaults(async_fn=self.own_tool),
        ]

    def lookup_order(self, order: int, detail: str = "all") -> str:
        """Look an order up."""
        self.ran.append(("lookup_order", order))
        return f"order {order}"

    async def wipe_disk(self, disk: str) -> str:
        """Wipe a disk."""
        self.ran.append(("wipe_disk", disk))
        return "wiped"

    def publish_page(self, title: str) -> str:
        """Publish a page."""
        self.ran.append(("publish_page", title))
        return "published"

    def sums(self, claim: str) -> str:
        """Check a sum."""
        self.ran.append(("sums", claim))
        return claim

    async def own_tool(self, ctx: Context, value: str) -> str:
        """Needs the agent's context."""
        seen = await ctx.store.get("seen", default=0)
        await ctx.store.set("seen", seen + 1)
        self.ran.append(("own_tool", (value, seen)))
        if value == "fail":
            raise ValueError(value)
        return value


@pytest.fixture
def tools() -> Tools:
    return Tools()


class Said:
    """Asks for these tools at once, then says it is done; remembers what it was shown."""

    def __init__(self, *calls: tuple[str, dict[str, Any]]) -> None:
        self.calls = list(calls)
        self.shown: list[str] = []

    def __call__(self, messages: Any, *args: Any, **kwargs: Any) -> ChatMessage:
        self.shown = [str(message) for message in messages]
        if not self.calls:
            return ChatMessage(role="assistant", blocks=[TextBlock(text="done")])
        asked, self.calls = self.calls, []
        blocks = [
            ToolCallBlock(tool_call_id=f"c{n}", tool_name=name, tool_kwargs=arguments)
            for n, (name, arguments) in enumerate(asked)
        ]
        return ChatMessage(role="assistant", blocks=blocks)

    @property
    def model(self) -> MockFunctionCallingLLM:
        return MockFunctionCallingLLM(response_generator=self, is_chat_model=True)


def guarded(world: Protected, agent: Any, **options: Any) -> Any:
    options = {"client": world.client, "tool_map": TOOL_MAP, "wait_seconds": 20, **options}
    return protect(agent, world.agent_id, **options)


def run(
    world: Protected, tools: Tools, *calls: tuple[str, dict[str, Any]], **options: Any
) -> tuple[str, Said]:
    said = Said(*calls)

    async def go() -> str:
        agent = FunctionAgent(tools=tools.all, llm=said.model, streaming=False)
        return str(await guarded(world, agent, **options).run("go"))

    return asyncio.run(go()), said


def test_approved_calls_run_once_and_denied_ones_answer_the_model(world: Protected, tools: Tools) -> None:
    calls = [("lookup_order", {"order": 1}), ("wipe_disk", {"disk": "a"}), ("lookup_order", {"order": 2})]
    answer, said = run(world, tools, *calls)

    assert "done" in answer
    assert sorted(tools.ran) == [("lookup_order", 1), ("lookup_order", 2)]
    assert any("QWED-AGENT-TRUST-001" in message for message in said.shown)
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
        _, said = run(world, tools, ("publish_page", {"title": "x"}))

    assert tools.ran == []
    assert any("too early" in message for message in said.shown)


def test_a_tool_that_needs_the_context_still_gets_it(world: Protected, tools: Tools) -> None:
    run(world, tools, ("own_tool", {"value": "a"}))
    entry = world.client.get_agent_activity(world.agent_id, action_type="own_tool")[0]

    assert tools.ran == [("own_tool", ("a", 0))]
    assert entry["action"]["parameters"] == {"value": "a"}


def test_a_tool_that_fails_is_reported(world: Protected, tools: Tools) -> None:
    run(world, tools, ("own_tool", {"value": "fail"}))

    assert world.record() == [("own_tool", "APPROVED", "failure")]


def test_parallel_calls_share_the_conversation_of_their_run(world: Protected, tools: Tools) -> None:
    for _ in range(2):
        run(world, tools, *[("lookup_order", {"order": n}) for n in range(6)])
    entries = world.client.get_agent_activity(world.agent_id)

    assert len(tools.ran) == 12
    assert len({entry["context"]["conversation_id"] for entry in entries if entry.get("context")}) == 2


def test_what_a_tool_adds_by_itself_is_shown_to_the_gateway(world: Protected, tools: Tools) -> None:
    partial = FunctionTool.from_defaults(tools.lookup_order, partial_params={"detail": "some"})
    tool = verified_tools([partial], world.gate())[0]
    output = tool.call(order=1)
    entry = world.client.get_agent_activity(world.agent_id, action_type="lookup_order")[0]

    assert output.content == "order 1"
    assert entry["action"]["parameters"] == {"order": 1, "detail": "some"}


def test_a_tool_that_is_no_function_asks_too(world: Protected) -> None:
    ran: list[Any] = []

    class Own(BaseTool):
        def __init__(self, name: str) -> None:
            self._name = name

        @property
        def metadata(self) -> ToolMetadata:
            return ToolMetadata(name=self._name, description="own")

        def __call__(self, input: Any) -> ToolOutput:
            ran.append((self._name, input))
            return ToolOutput(content="ok", tool_name=self._name, raw_input={}, raw_output="ok")

    allowed, denied = verified_tools([Own("lookup_order"), Own("wipe_disk")], world.gate())
    with tool_run("direct"):
        answers = [allowed.call("x"), denied.call("x"), asyncio.run(allowed.acall(input="y"))]

    assert ran == [("lookup_order", "x"), ("lookup_order", "y")]
    assert [answer.is_error for answer in answers] == [False, True, False]


def test_retrieved_tools_ask_too(world: Protected, tools: Tools) -> None:
    said = Said(("wipe_disk", {"disk": "a"}), ("lookup_order", {"order": 1}))

    class Retriever:
        async def aretrieve(self, query: Any) -> list[Any]:
            return [
                FunctionTool.from_defaults(tools.lookup_order),
                FunctionTool.from_defaults(tools.wipe_disk),
            ]

    async def go() -> None:
        agent = FunctionAgent(tools=[], llm=said.model, streaming=False)
        agent.tool_retriever = Retriever()
        await guarded(world, agent).run("go")

    asyncio.run(go())

    assert tools.ran == [("lookup_order", 1)]


def test_every_agent_of_a_workflow_asks(world: Protected, tools: Tools) -> None:
    first = Said(("handoff", {"to_agent": "second", "reason": "r"}))
    second = Said(("wipe_disk", {"disk": "a"}), ("lookup_order", {"order": 1}))

    async def go() -> None:
        workflow = AgentWorkflow(
            agents=[
                FunctionAgent(
                    name="first", description="a", tools=tools.all, llm=first.model, streaming=False
                ),
                FunctionAgent(
                    name="second", description="b", tools=tools.all, llm=second.model, streaming=False
                ),
            ],
            root_agent="first",
        )
        await guarded(world, workflow).run("go")

    asyncio.run(go())

    assert tools.ran == [("lookup_order", 1)]


def test_a_react_agent_asks_too(world: Protected, tools: Tools) -> None:
    turns = [
        f"Thought: go\nAction: {name}\nAction Input: {json.dumps(arguments)}"
        for name, arguments in (("wipe_disk", {"disk": "a"}), ("lookup_order", {"order": 1}))
    ]

    def answer(messages: Any, *args: Any, **kwargs: Any) -> ChatMessage:
        text = turns.pop(0) if turns else "Thought: I can answer.\nAnswer: done"
        return ChatMessage(role="assistant", blocks=[TextBlock(text=text)])

    async def go() -> None:
        llm = MockFunctionCallingLLM(response_generator=answer, is_chat_model=True)
        await guarded(world, ReActAgent(tools=tools.all, llm=llm, streaming=False)).run("go")

    asyncio.run(go())

    assert tools.ran == [("lookup_order", 1)]


def test_an_agent_that_runs_its_own_code_asks_about_the_code(world: Protected) -> None:
    ran: list[str] = []
    turns = ["<execute>print(1)</execute>"]

    def execute(code: str) -> str:
        """Run code."""
        ran.append(code)
        return "ok"

    def answer(messages: Any, *args: Any, **kwargs: Any) -> ChatMessage:
        text = turns.pop(0) if turns else "done"
        return ChatMessage(role="assistant", blocks=[TextBlock(text=text)])

    async def go() -> None:
        llm = MockFunctionCallingLLM(response_generator=answer, is_chat_model=True)
        agent = CodeActAgent(code_execute_fn=execute, llm=llm, tools=[], streaming=False)
        await guarded(world, agent).run("go")

    asyncio.run(go())

    assert ran == []
    assert world.record() == [("execute_code", "DENIED", None)]


def test_a_dead_gateway_means_that_nothing_runs(mortal: Protected, tools: Tools) -> None:
    mortal.server.kill()
    _, said = run(mortal, tools, ("lookup_order", {"order": 1}), ("own_tool", {"value": "a"}))

    assert tools.ran == []
    assert sum("no usable answer" in message for message in said.shown) == 2


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
    assert any("no usable answer" in message for message in results[0][1].shown)
