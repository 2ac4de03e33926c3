"""What one framework has that the others have not: interrupts, sub-agents, code, callbacks."""

import asyncio
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.tools.agent_tool import AgentTool
from tests.frameworks.sdk.drivers import google_adk, smolagents, strands
from tests.frameworks.sdk.drivers.shop import Shop
from tests.support.protected import Protected

PUBLISH = ("publish_page", {"title": "x"})


@pytest.mark.parametrize("answered", [True, False])
def test_strands_stops_and_goes_on(world: Protected, shop: Shop, answered: bool) -> None:
    agent = strands.agent_with(world, shop, PUBLISH, pending="interrupt")
    first = agent("go")
    ran = list(shop.ran)
    if answered:
        world.person.approve(world.open_approval()["id"])
    responses = [
        {"interruptResponse": {"interruptId": interrupt.id, "response": "go on"}}
        for interrupt in first.interrupts
    ]
    last = agent(responses)

    assert (first.stop_reason, ran) == ("interrupt", [])
    assert "done" in str(last)
    assert shop.ran == ([("publish_page", "x")] if answered else [])
    assert [row[1] for row in world.record()] == (["PENDING", "APPROVED"] if answered else ["PENDING"])


@pytest.mark.parametrize("kind", ["sub-agent", "agent-tool"])
def test_the_plugin_is_before_the_tools_of_other_agents_too(world: Protected, shop: Shop, kind: str) -> None:
    helper = LlmAgent(
        name="helper",
        description="helps",
        model=google_adk.model(("wipe_disk", {"disk": "a"})),
        tools=google_adk.tools_of(shop),
    )
    if kind == "sub-agent":
        call = ("transfer_to_agent", {"agent_name": "helper"})
        agent = LlmAgent(name="a", model=google_adk.model(call), sub_agents=[helper])
    else:
        call = ("helper", {"request": "x"})
        agent = LlmAgent(name="a", model=google_adk.model(call), tools=[AgentTool(helper)])
    asyncio.run(google_adk.run(agent, world, tool_map={call[0]: "lookup_order"}))

    assert shop.ran == []
    assert [row[:2] for row in world.record()] == [("lookup_order", "APPROVED"), ("wipe_disk", "DENIED")]


def test_a_callback_that_comes_after_the_plugin_is_not_trusted(world: Protected, shop: Shop) -> None:
    def change(tool: Any, args: dict[str, Any], tool_context: Any) -> None:
        args["order"] = 2

    agent = LlmAgent(
        name="a",
        model=google_adk.model(("lookup_order", {"order": 1})),
        tools=google_adk.tools_of(shop),
        before_tool_callback=change,
    )
    answers = google_adk.answers(asyncio.run(google_adk.run(agent, world)))

    assert shop.ran == []
    assert "before_tool_callback" in answers[0]


def test_the_code_of_a_code_agent_is_asked_about(world: Protected, shop: Shop) -> None:
    agent = smolagents.code_agent(world, shop, "lookup_order(order=1)")
    agent.run("go")

    # The agent of these tests may not use the engine for code.
    assert {row[:2] for row in world.record()} == {("execute_code", "DENIED")}
    assert shop.ran == []


def test_a_tool_that_is_added_later_asks_too(world: Protected, shop: Shop) -> None:
    from smolagents import ToolCallingAgent

    from qwed_sdk.smolagents import protect

    model = smolagents.Scripted([("wipe_disk", {"disk": "a"})])
    agent = ToolCallingAgent(tools=[], model=model, verbosity_level=0)
    protect(agent, world.agent_id, client=world.client)
    for tool in smolagents.tools_of(shop):
        agent.tools[tool.name] = tool
    agent.run("go")

    assert shop.ran == []
