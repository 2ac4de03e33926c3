"""What is LlamaIndex's own: contexts, partial parameters, retrievers, workflows, ReAct and code agents."""

import asyncio
import json
from typing import Any

from llama_index.core.agent.workflow import AgentWorkflow, CodeActAgent, FunctionAgent, ReActAgent
from llama_index.core.base.llms.types import ChatMessage, TextBlock
from llama_index.core.llms.mock import MockFunctionCallingLLM
from llama_index.core.tools import BaseTool, FunctionTool, ToolMetadata, ToolOutput
from llama_index.core.workflow import Context
from tests.frameworks.sdk.drivers.llamaindex import Said, guarded, tools_of
from tests.frameworks.sdk.drivers.shop import Shop
from tests.support.protected import Protected

from qwed_sdk import tool_run
from qwed_sdk.llamaindex import verified_tools


def test_a_tool_that_needs_the_context_still_gets_it(world: Protected) -> None:
    ran: list[Any] = []

    async def own_tool(ctx: Context, value: str) -> str:
        """Needs the agent's context."""
        seen = await ctx.store.get("seen", default=0)
        await ctx.store.set("seen", seen + 1)
        ran.append((value, seen))
        return value

    async def go() -> None:
        tools = [FunctionTool.from_defaults(async_fn=own_tool)]
        agent = FunctionAgent(tools=tools, llm=Said(("own_tool", {"value": "a"})).model, streaming=False)
        await guarded(world, agent).run("go")

    asyncio.run(go())
    entry = world.client.get_agent_activity(world.agent_id, action_type="own_tool")[0]

    assert ran == [("a", 0)]
    assert entry["action"]["parameters"] == {"value": "a"}


def test_what_a_tool_adds_by_itself_is_shown_to_the_gateway(world: Protected, shop: Shop) -> None:
    def lookup_order(order: int, detail: str = "all") -> str:
        """Look an order up."""
        return shop.lookup_order(order)

    partial = FunctionTool.from_defaults(lookup_order, partial_params={"detail": "some"})
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


def test_retrieved_tools_ask_too(world: Protected, shop: Shop) -> None:
    said = Said(("wipe_disk", {"disk": "a"}), ("lookup_order", {"order": 1}))

    class Retriever:
        async def aretrieve(self, query: Any) -> list[Any]:
            return [
                FunctionTool.from_defaults(shop.lookup_order),
                FunctionTool.from_defaults(shop.wipe_disk),
            ]

    async def go() -> None:
        agent = FunctionAgent(tools=[], llm=said.model, streaming=False)
        agent.tool_retriever = Retriever()
        await guarded(world, agent).run("go")

    asyncio.run(go())

    assert shop.ran == [("lookup_order", 1)]


def test_every_agent_of_a_workflow_asks(world: Protected, shop: Shop) -> None:
    first = Said(("handoff", {"to_agent": "second", "reason": "r"}))
    second = Said(("wipe_disk", {"disk": "a"}), ("lookup_order", {"order": 1}))

    async def go() -> None:
        workflow = AgentWorkflow(
            agents=[
                FunctionAgent(
                    name="first", description="a", tools=tools_of(shop), llm=first.model, streaming=False
                ),
                FunctionAgent(
                    name="second", description="b", tools=tools_of(shop), llm=second.model, streaming=False
                ),
            ],
            root_agent="first",
        )
        await guarded(world, workflow).run("go")

    asyncio.run(go())

    assert shop.ran == [("lookup_order", 1)]


def test_a_react_agent_asks_too(world: Protected, shop: Shop) -> None:
    turns = [
        f"Thought: go\nAction: {name}\nAction Input: {json.dumps(arguments)}"
        for name, arguments in (("wipe_disk", {"disk": "a"}), ("lookup_order", {"order": 1}))
    ]

    def answer(messages: Any, *args: Any, **kwargs: Any) -> ChatMessage:
        text = turns.pop(0) if turns else "Thought: I can answer.\nAnswer: done"
        return ChatMessage(role="assistant", blocks=[TextBlock(text=text)])

    async def go() -> None:
        llm = MockFunctionCallingLLM(response_generator=answer, is_chat_model=True)
        await guarded(world, ReActAgent(tools=tools_of(shop), llm=llm, streaming=False)).run("go")

    asyncio.run(go())

    assert shop.ran == [("lookup_order", 1)]


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
