"""Haystack's agent, with a scripted chat generator."""

import asyncio
import uuid
from typing import Any, Final

from haystack import component
from haystack.components.agents import Agent
from haystack.dataclasses import ChatMessage, ToolCall
from haystack.tools import Tool
from tests.frameworks.sdk.drivers.shop import Play, Shop, Way, as_async, gate_options
from tests.support.protected import Protected

from qwed_sdk import tool_run
from qwed_sdk.haystack import verified_tools


@component
class Generator:
    """Asks for these tools at once, then says it is done."""

    def __init__(self, *calls: tuple[str, dict[str, Any]]) -> None:
        asked = [
            ToolCall(tool_name=name, arguments=dict(arguments), id=f"c{n}")
            for n, (name, arguments) in enumerate(calls)
        ]
        self.turns = [ChatMessage.from_assistant(tool_calls=asked), ChatMessage.from_assistant("done")]

    @component.output_types(replies=list[ChatMessage])
    def run(self, messages: list[ChatMessage], tools: Any = None, **kwargs: Any) -> dict[str, Any]:
        return {"replies": [self.turns.pop(0)]}

    @component.output_types(replies=list[ChatMessage])
    async def run_async(
        self, messages: list[ChatMessage], tools: Any = None, **kwargs: Any
    ) -> dict[str, Any]:
        return self.run(messages)


def _tool(function: Any, argument: str, kind: str, *, is_async: bool = False) -> Tool:
    schema = {"type": "object", "properties": {argument: {"type": kind}}, "required": [argument]}
    given = {"async_function": as_async(function)} if is_async else {}
    name = function.__name__
    return Tool(name=name, description=name, parameters=schema, function=function, **given)


def tools_of(shop: Shop) -> list[Tool]:
    return [
        _tool(shop.lookup_order, "order", "integer"),
        _tool(shop.wipe_disk, "disk", "string", is_async=True),
        _tool(shop.publish_page, "title", "string", is_async=True),
        _tool(shop.sums, "claim", "string"),
        _tool(shop.own_tool, "value", "string"),
    ]


def _playing(is_async: bool) -> Play:
    def play(world: Protected, shop: Shop, *calls: Any) -> list[str]:
        tools = verified_tools(tools_of(shop), world.agent_id, **gate_options(world))
        agent = Agent(chat_generator=Generator(*calls), tools=tools)
        hello = [ChatMessage.from_user("go")]
        with tool_run(str(uuid.uuid4())):
            result = asyncio.run(agent.run_async(messages=hello)) if is_async else agent.run(messages=hello)
        assert result["messages"][-1].text == "done"
        answers = [message.tool_call_results for message in result["messages"]]
        return [str(answer.result) for found in answers for answer in found]

    return play


WAYS: Final = {"haystack": Way(_playing(False)), "haystack-async": Way(_playing(True))}
