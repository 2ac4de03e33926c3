"""OpenAI Agents SDK, with its own scripted model."""

from typing import Any, Final

from agents import Agent, FunctionTool, Runner, function_tool
from agents.testing import ScriptedModel, assistant_message, function_call
from tests.frameworks.sdk.drivers.shop import Shop, Way, as_async, gate_options
from tests.support.protected import Protected

from qwed_sdk.openai_agents import protect


def tools_of(shop: Shop) -> list[FunctionTool]:
    tools = [shop.lookup_order, as_async(shop.wipe_disk), shop.publish_page, shop.sums, shop.own_tool]
    return [function_tool(tool) for tool in tools]


def model(*calls: tuple[str, dict[str, Any]]) -> ScriptedModel:
    asked = [function_call(name, arguments, call_id=f"c{n}") for n, (name, arguments) in enumerate(calls)]
    return ScriptedModel([asked, [assistant_message("done")]])


def guarded(world: Protected, agent: Agent[Any], **options: Any) -> Agent[Any]:
    protect(agent, world.agent_id, **gate_options(world, **options))
    return agent


def outputs(result: Any) -> list[str]:
    return [str(item.output) for item in result.new_items if item.type == "tool_call_output_item"]


def play(world: Protected, shop: Shop, *calls: Any) -> list[str]:
    agent = Agent(name="a", model=model(*calls), tools=tools_of(shop))
    result = Runner.run_sync(guarded(world, agent), "go")
    assert result.final_output == "done"
    return outputs(result)


WAYS: Final = {"openai-agents": Way(play, failure_says="error")}
