"""LlamaIndex function agents, with its own mock model."""

import asyncio
from typing import Any, Final

from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.base.llms.types import ChatMessage, TextBlock, ToolCallBlock
from llama_index.core.llms.mock import MockFunctionCallingLLM
from llama_index.core.tools import FunctionTool
from tests.frameworks.sdk.drivers.shop import Shop, Way, as_async, gate_options
from tests.support.protected import Protected

from qwed_sdk.llamaindex import protect


class Said:
    """Asks for these tools at once, then says it is done; remembers what it was shown."""

    def __init__(self, *calls: tuple[str, dict[str, Any]]) -> None:
        self.calls = list(calls)
        self.shown: list[Any] = []

    def __call__(self, messages: Any, *args: Any, **kwargs: Any) -> ChatMessage:
        self.shown = list(messages)
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


def tools_of(shop: Shop) -> list[Any]:
    """With functions and coroutines, as tools and bare."""
    return [
        FunctionTool.from_defaults(shop.lookup_order),
        FunctionTool.from_defaults(async_fn=as_async(shop.wipe_disk)),
        FunctionTool.from_defaults(shop.publish_page),
        shop.sums,
        FunctionTool.from_defaults(async_fn=as_async(shop.own_tool)),
    ]


def guarded(world: Protected, agent: Any, **options: Any) -> Any:
    return protect(agent, world.agent_id, **gate_options(world, **options))


def play(world: Protected, shop: Shop, *calls: Any) -> list[str]:
    said = Said(*calls)

    async def go() -> str:
        agent = FunctionAgent(tools=tools_of(shop), llm=said.model, streaming=False)
        return str(await guarded(world, agent).run("go"))

    assert "done" in asyncio.run(go())
    return [str(message) for message in said.shown if message.role == "tool"]


WAYS: Final = {"llamaindex": Way(play)}
