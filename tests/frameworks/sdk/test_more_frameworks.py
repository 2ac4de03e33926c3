"""What one framework has that the others have not: interrupts, sub-agents, code, callbacks."""

import asyncio
import warnings
from typing import Any

import pytest
from autogen_agentchat.tools import AgentTool
from claude_agent_sdk import AgentDefinition, ClaudeAgentOptions, HookMatcher, PermissionResultAllow
from google.adk.agents import LlmAgent
from google.adk.tools.agent_tool import AgentTool as AdkAgentTool
from haystack.tools import ComponentTool
from haystack.tools.errors import ToolInvocationError
from tests.frameworks.sdk.drivers import (
    ag2,
    autogen,
    claude_agent_sdk,
    google_adk,
    haystack,
    smolagents,
    strands,
)
from tests.frameworks.sdk.drivers.shop import Shop
from tests.support.protected import Protected

from qwed_sdk import UnprotectedAgent

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
        agent = LlmAgent(name="a", model=google_adk.model(call), tools=[AdkAgentTool(helper)])
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


def test_ag2_protects_the_agent_behind_a_tool_and_tools_that_come_later(world: Protected, shop: Shop) -> None:
    helper = ag2.Agent("helper", config=ag2.model(("wipe_disk", {"disk": "a"})), tools=ag2.tools_of(shop))
    calls = [("task_helper", {"objective": "x"}), ("lookup_order", {"order": 1})]
    agent = ag2.Agent("a", config=ag2.model(*calls), tools=[helper.as_tool(description="helps")])
    tool_map = {"task_helper": "lookup_order"}
    ag2.protect(agent, world.agent_id, client=world.client, tool_map=tool_map)
    agent.add_tool(shop.lookup_order)
    asyncio.run(ag2.ask(agent))

    assert shop.ran == [("lookup_order", 1)]
    assert sorted(row[:2] for row in world.record()) == [
        ("lookup_order", "APPROVED"),
        ("lookup_order", "APPROVED"),
        ("wipe_disk", "DENIED"),
    ]


def test_ag2_verifies_what_a_tools_own_middleware_made_of_the_call(world: Protected, shop: Shop) -> None:
    async def change(call_next: Any, event: Any, context: Any) -> Any:
        event.serialized_arguments = {"order": 2}
        return await call_next(event, context)

    tool = ag2.tool(shop.lookup_order, middleware=[change])
    agent = ag2.Agent("a", config=ag2.model(("lookup_order", {"order": 1})), tools=[tool])
    ag2.protect(agent, world.agent_id, client=world.client)
    asyncio.run(ag2.ask(agent))
    entries = world.client.get_agent_activity(world.agent_id)
    judged = [entry["action"]["parameters"] for entry in entries if entry["decision"] != "NOTED"]

    assert shop.ran == [("lookup_order", 2)]
    assert judged == [{"order": 2}]


def test_a_claude_sub_agent_asks_too(world: Protected, shop: Shop) -> None:
    helper = AgentDefinition(description="helps", prompt="help")
    task = {"description": "go", "prompt": "go", "subagent_type": "helper"}
    turns = [[{"name": "Task", "input": task}], claude_agent_sdk.asked(("wipe_disk", {"disk": "a"}))]

    def make(options: Any) -> Any:
        chosen = claude_agent_sdk.options_of(world)
        chosen["tool_map"] |= {"Task": "lookup_order", "Agent": "lookup_order"}
        return claude_agent_sdk.protect(options, world.agent_id, **chosen)

    claude_agent_sdk.run(make, shop, *turns, agents={"helper": helper})

    assert shop.ran == []
    assert [row[:2] for row in world.record()] == [("lookup_order", "APPROVED"), ("wipe_disk", "DENIED")]


@pytest.mark.parametrize("order", [1, 2])
def test_a_claude_permission_comes_after_the_gateway_and_changes_nothing(
    world: Protected, shop: Shop, order: int
) -> None:
    async def allow(name: str, arguments: Any, context: Any) -> Any:
        return PermissionResultAllow(updated_input={"order": order})

    answers = claude_agent_sdk.run(
        lambda options: claude_agent_sdk.protect(
            options, world.agent_id, **claude_agent_sdk.options_of(world)
        ),
        shop,
        claude_agent_sdk.asked(("lookup_order", {"order": 1})),
        can_use_tool=allow,
    )

    assert shop.ran == ([("lookup_order", 1)] if order == 1 else [])
    assert order == 1 or "changed its arguments" in answers[0]


def test_can_use_tool_alone_asks_about_what_no_rule_allows(world: Protected, shop: Shop) -> None:
    calls = [("lookup_order", {"order": 1}), ("wipe_disk", {"disk": "a"}), ("sums", {"claim": "2+2=5"})]
    answers = claude_agent_sdk.run(
        lambda options: options,
        shop,
        claude_agent_sdk.asked(*calls),
        can_use_tool=claude_agent_sdk.permission(world),
    )

    assert sorted(shop.ran) == [("lookup_order", 1), ("sums", "2+2=4")]
    assert sum("QWED-AGENT-TRUST-001" in answer for answer in answers) == 1


def test_another_pre_tool_use_hook_beside_the_gateway_is_a_mistake(world: Protected) -> None:
    options = ClaudeAgentOptions(hooks={"PreToolUse": [HookMatcher()]})

    with pytest.raises(ValueError, match="PreToolUse hook of their own"):
        claude_agent_sdk.protect(options, world.agent_id, client=world.client)


def test_claudes_own_shell_is_proven_as_code(world: Protected, shop: Shop) -> None:
    claude_agent_sdk.run(
        lambda options: claude_agent_sdk.protect(options, world.agent_id, client=world.client),
        shop,
        [{"name": "Bash", "input": {"command": "echo 1", "description": "x"}}],
    )

    # The agent of these tests may not use the engine for code.
    assert [row[:2] for row in world.record()] == [("execute_code", "DENIED")]


@pytest.mark.parametrize("is_protected", [True, False])
@pytest.mark.parametrize("framework", ["strands", "haystack", "autogen"])
def test_an_agent_that_is_a_tool_and_does_not_ask_is_announced(
    world: Protected, shop: Shop, framework: str, is_protected: bool
) -> None:
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        SUB_AGENTS[framework](world, shop, is_protected)

    said = [str(each.message) for each in seen if issubclass(each.category, UnprotectedAgent)]
    assert len(said) == (0 if is_protected else 1)
    assert is_protected or "'helper'" in said[0]


def _strands_sub_agent(world: Protected, shop: Shop, is_protected: bool) -> None:
    hooks = [strands.QWEDHooks(world.agent_id, client=world.client)] if is_protected else []
    tools = strands.tools_of(shop)
    helper = strands.Agent(name="helper", model=strands.Model(), tools=tools, hooks=hooks)
    own = [strands.QWEDHooks(world.agent_id, client=world.client)]
    agent = strands.Agent(model=strands.Model(), tools=[helper.as_tool(name="helper")], hooks=own)
    agent("go")


def _haystack_sub_agent(world: Protected, shop: Shop, is_protected: bool) -> None:
    given = {"agent_id": world.agent_id, "client": world.client}
    tools = haystack.tools_of(shop)
    own = haystack.verified_tools(tools, **given) if is_protected else tools
    helper = haystack.Agent(chat_generator=haystack.Generator(), tools=own)
    haystack.verified_tools([ComponentTool(component=helper, name="helper", description="helps")], **given)


def test_an_agent_that_is_a_tool_in_haystack_is_asked_about(world: Protected, shop: Shop) -> None:
    helper = haystack.Agent(chat_generator=haystack.Generator(), tools=[])
    tool = ComponentTool(component=helper, name="wipe_disk", description="helps")
    (verified,) = haystack.verified_tools([tool], world.agent_id, client=world.client)

    with pytest.raises(ToolInvocationError, match="QWED-AGENT-TRUST-001"):
        verified.invoke(messages=["go"])


def _autogen_sub_agent(world: Protected, shop: Shop, is_protected: bool) -> None:
    given = {"agent_id": world.agent_id, "client": world.client}
    tools = autogen.tools_of(shop)
    own = {"workbench": autogen.QWEDWorkbench(tools, **given)} if is_protected else {"tools": tools}
    helper = autogen.AssistantAgent("helper", autogen.model(), description="helps", **own)
    autogen.QWEDWorkbench([AgentTool(helper)], **given)


SUB_AGENTS = {
    "strands": _strands_sub_agent,
    "haystack": _haystack_sub_agent,
    "autogen": _autogen_sub_agent,
}
