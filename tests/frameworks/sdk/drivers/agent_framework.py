"""Microsoft Agent Framework, with a scripted chat client."""

import asyncio
from typing import Any, Final

from agent_framework import (
    Agent,
    BaseChatClient,
    ChatMiddlewareLayer,
    ChatResponse,
    Content,
    FunctionInvocationLayer,
    Message,
)
from tests.frameworks.sdk.drivers.shop import Shop, Way, as_async, gate_options
from tests.support.protected import Protected

from qwed_sdk.agent_framework import QWEDFunctionMiddleware, QWEDRunMiddleware


class Model(FunctionInvocationLayer, ChatMiddlewareLayer, BaseChatClient):
    """Asks for these tools at once, then says it is done."""

    def __init__(self, *calls: tuple[str, dict[str, Any]]) -> None:
        super().__init__()
        self.turns = [
            [
                Content.from_function_call(f"c{n}", name, arguments=arguments)
                for n, (name, arguments) in enumerate(calls)
            ],
            [Content.from_text("done")],
        ]

    async def _inner_get_response(self, *, messages: Any, **kwargs: Any) -> ChatResponse[Any]:
        return ChatResponse(messages=[Message("assistant", self.turns.pop(0))])


def play(world: Protected, shop: Shop, *calls: Any) -> list[str]:
    tools = [shop.lookup_order, as_async(shop.wipe_disk), shop.publish_page, shop.sums, shop.own_tool]

    async def go() -> Any:
        gate = QWEDFunctionMiddleware(world.agent_id, **gate_options(world))
        agent = Agent(client=Model(*calls), tools=tools, middleware=[QWEDRunMiddleware(), gate])
        return await agent.run("go")

    result = asyncio.run(go())
    assert "done" in result.text
    contents = [content for message in result.messages for content in message.contents]
    return [str(content.result) for content in contents if content.type == "function_result"]


WAYS: Final = {"agent-framework": Way(play)}
