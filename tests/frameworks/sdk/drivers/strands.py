"""Strands Agents, with a scripted model."""

import json
from collections.abc import AsyncIterator
from typing import Any, Final

from strands import Agent, tool
from strands.models import Model as StrandsModel
from tests.frameworks.sdk.drivers.shop import Shop, Way, as_async, gate_options
from tests.support.protected import Protected

from qwed_sdk.strands import QWEDHooks


class Model(StrandsModel):
    """Asks for these tools at once, then says it is done."""

    def __init__(self, *calls: tuple[str, dict[str, Any]]) -> None:
        self.turns = [list(calls), []]

    def update_config(self, **config: Any) -> None: ...

    def get_config(self) -> Any:
        return {}

    async def structured_output(self, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        raise NotImplementedError
        yield

    async def stream(self, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        calls = self.turns.pop(0)
        yield {"messageStart": {"role": "assistant"}}
        for number, (name, arguments) in enumerate(calls):
            yield {"contentBlockStart": {"start": {"toolUse": {"name": name, "toolUseId": f"c{number}"}}}}
            yield {"contentBlockDelta": {"delta": {"toolUse": {"input": json.dumps(arguments)}}}}
            yield {"contentBlockStop": {}}
        if not calls:
            yield {"contentBlockStart": {"start": {}}}
            yield {"contentBlockDelta": {"delta": {"text": "done"}}}
            yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "tool_use" if calls else "end_turn"}}


def tools_of(shop: Shop) -> list[Any]:
    tools = [shop.lookup_order, as_async(shop.wipe_disk), shop.publish_page, shop.sums, shop.own_tool]
    return [tool(each) for each in tools]


def agent_with(world: Protected, shop: Shop, *calls: Any, **options: Any) -> Agent:
    hooks = QWEDHooks(world.agent_id, **gate_options(world, **options))
    return Agent(model=Model(*calls), tools=tools_of(shop), hooks=[hooks], callback_handler=None)


def answers(agent: Agent) -> list[str]:
    blocks = [block for message in agent.messages for block in message["content"]]
    return [str(block["toolResult"]["content"]) for block in blocks if "toolResult" in block]


def play(world: Protected, shop: Shop, *calls: Any) -> list[str]:
    agent = agent_with(world, shop, *calls)
    assert "done" in str(agent("go"))
    return answers(agent)


WAYS: Final = {"strands": Way(play)}
