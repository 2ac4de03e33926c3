"""A tool that runs another agent: said where the program runs, unless that agent asks too."""

import asyncio
import warnings
from collections.abc import Callable
from typing import Any, Final

import pydantic_ai
import pytest
from agent_framework import Agent as FrameworkAgent
from agents import Agent as OpenAIAgent
from agents import Runner, function_tool
from langchain.agents import create_agent
from langchain_core.tools import StructuredTool
from llama_index.core.agent.workflow import FunctionAgent
from pydantic_ai.messages import ModelResponse, TextPart
from pydantic_ai.models.function import FunctionModel
from tests.frameworks.sdk.drivers import agent_framework, langchain, llamaindex, openai_agents
from tests.frameworks.sdk.drivers import pydantic_ai as pydantic_driver
from tests.frameworks.sdk.drivers.shop import Shop, gate_options
from tests.support.protected import Protected

from qwed_sdk import UnprotectedAgent
from qwed_sdk.agent_framework import QWEDFunctionMiddleware

CALL: Final = ("lookup_order", {"order": 1})


def _pydantic_ai(world: Protected, shop: Shop, is_protected: bool) -> None:
    own = [pydantic_driver.capability(world)]
    helper = pydantic_ai.Agent(
        FunctionModel(lambda messages, info: ModelResponse(parts=[TextPart("done")])),
        name="helper",
        tools=pydantic_driver.tools_of(shop),
        capabilities=own if is_protected else [],
    )

    async def lookup_order(order: int) -> str:
        """Ask a helper."""
        return str((await helper.run("go")).output)

    model = FunctionModel(pydantic_driver.Said(CALL))
    pydantic_ai.Agent(model, tools=[lookup_order], capabilities=own).run_sync("go")


def _agent_framework(world: Protected, shop: Shop, is_protected: bool) -> None:
    gate = QWEDFunctionMiddleware(world.agent_id, **gate_options(world))
    model = agent_framework.Model()
    model.turns = model.turns[1:]
    given = {"middleware": [gate]} if is_protected else {}
    helper = FrameworkAgent(client=model, name="helper", tools=[shop.sums], **given)
    tool = helper.as_tool(name="lookup_order", arg_name="order")
    main = FrameworkAgent(
        client=agent_framework.Model(("lookup_order", {"order": "1"})), tools=[tool], middleware=[gate]
    )
    asyncio.run(_run(main))


async def _run(agent: Any) -> None:
    await agent.run("go")


def _llamaindex(world: Protected, shop: Shop, is_protected: bool) -> None:
    tools = llamaindex.tools_of(shop)
    helper = FunctionAgent(name="helper", tools=tools, llm=llamaindex.Said().model, streaming=False)
    if is_protected:
        llamaindex.guarded(world, helper)

    async def lookup_order(order: int) -> str:
        """Ask a helper."""
        return str(await helper.run("go"))

    main = FunctionAgent(tools=[lookup_order], llm=llamaindex.Said(CALL).model, streaming=False)
    asyncio.run(_run(llamaindex.guarded(world, main)))


def _openai_agents(world: Protected, shop: Shop, is_protected: bool) -> None:
    helper = OpenAIAgent(name="helper", model=openai_agents.model(), tools=openai_agents.tools_of(shop))
    if is_protected:
        openai_agents.guarded(world, helper)

    async def lookup_order(order: int) -> str:
        """Ask a helper."""
        return f"{helper.name} {order}"

    main = OpenAIAgent(name="a", model=openai_agents.model(CALL), tools=[function_tool(lookup_order)])
    Runner.run_sync(openai_agents.guarded(world, main), "go")


def _langchain(world: Protected, shop: Shop, is_protected: bool) -> None:
    own = [langchain.middleware(world)]
    tools = langchain.tools_of(shop)
    helper = create_agent(
        langchain.Model(responses=[langchain.AIMessage("done")]),
        tools,
        name="helper",
        middleware=own if is_protected else [],
    )

    def lookup_order(order: int) -> str:
        """Ask a helper."""
        return str(helper.invoke(langchain.HELLO)["messages"][-1].content)

    tool = StructuredTool.from_function(lookup_order)
    create_agent(langchain.model(CALL), [tool], middleware=own).invoke(langchain.HELLO)


PLAYS: Final[dict[str, Callable[[Protected, Shop, bool], None]]] = {
    "agent-framework": _agent_framework,
    "langchain": _langchain,
    "llamaindex": _llamaindex,
    "openai-agents": _openai_agents,
    "pydantic-ai": _pydantic_ai,
}


@pytest.mark.parametrize("is_protected", [True, False], ids=["protected", "bare"])
@pytest.mark.parametrize("framework", PLAYS)
def test_a_tool_that_runs_an_agent_which_does_not_ask_is_announced(
    world: Protected, shop: Shop, framework: str, is_protected: bool
) -> None:
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        PLAYS[framework](world, shop, is_protected)

    said = [str(each.message) for each in seen if issubclass(each.category, UnprotectedAgent)]
    assert [row[:2] for row in world.record()] == [("lookup_order", "APPROVED")]
    assert len(said) == (0 if is_protected else 1)
    assert is_protected or "'helper'" in said[0]
