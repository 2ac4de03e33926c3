"""AG2's agent, with its own scripted model."""

import asyncio
import json
from typing import Any, Final

from ag2 import Agent, tool
from ag2.events import ToolCallEvent, ToolResultEvent
from ag2.testing import TestConfig
from tests.frameworks.sdk.drivers.shop import Shop, Way, as_async, gate_options
from tests.support.protected import Protected

from qwed_sdk.ag2 import protect

__all__ = ["Agent", "ask", "model", "protect", "tool", "tools_of"]


def model(*calls: tuple[str, dict[str, Any]]) -> TestConfig:
    asked = [ToolCallEvent(name, arguments=json.dumps(arguments)) for name, arguments in calls]
    return TestConfig(asked, "done", raise_tool_errors=False)


def tools_of(shop: Shop) -> list[Any]:
    return [shop.lookup_order, as_async(shop.wipe_disk), shop.publish_page, shop.sums, shop.own_tool]


async def ask(agent: Agent, **options: Any) -> list[str]:
    reply = await agent.ask("go", **options)
    assert reply.body == "done"
    events = await reply.context.stream.history.get_events()
    results = [found for event in events for found in getattr(event, "results", ())]
    told = [found.result.parts for found in results if isinstance(found, ToolResultEvent)]
    return [" ".join(str(part.content) for part in parts) for parts in told]


def play(world: Protected, shop: Shop, *calls: Any) -> list[str]:
    agent = Agent("a", config=model(*calls), tools=tools_of(shop))
    protect(agent, world.agent_id, **gate_options(world))
    return asyncio.run(ask(agent))


WAYS: Final = {"ag2": Way(play)}
