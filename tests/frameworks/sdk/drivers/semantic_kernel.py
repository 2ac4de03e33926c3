"""Semantic Kernel, with a scripted chat service whose calls the kernel invokes by itself."""

import asyncio
import uuid
from typing import Any, Final

from semantic_kernel import Kernel
from semantic_kernel.connectors.ai.chat_completion_client_base import ChatCompletionClientBase
from semantic_kernel.connectors.ai.function_choice_behavior import FunctionChoiceBehavior
from semantic_kernel.connectors.ai.prompt_execution_settings import PromptExecutionSettings
from semantic_kernel.contents import ChatHistory, ChatMessageContent, FunctionCallContent
from semantic_kernel.functions import kernel_function
from tests.frameworks.sdk.drivers.shop import TOOL_MAP, Shop, Way, as_async, gate_options
from tests.support.protected import Protected

from qwed_sdk import tool_run
from qwed_sdk.semantic_kernel import protect

NAMES: Final = ("lookup_order", "wipe_disk", "publish_page", "own_tool")
MAP: Final = {**{f"shop-{name}": name for name in NAMES}, "shop-sums": TOOL_MAP["sums"]}


class Service(ChatCompletionClientBase):
    """Asks for these functions at once, then says it is done."""

    SUPPORTS_FUNCTION_CALLING = True
    turns: list[list[FunctionCallContent]]

    async def _inner_get_chat_message_contents(self, chat_history: Any, settings: Any) -> Any:
        calls = self.turns.pop(0)
        if not calls:
            return [ChatMessageContent(role="assistant", content="done")]
        return [ChatMessageContent(role="assistant", items=calls)]

    def _verify_function_choice_settings(self, settings: Any) -> None: ...

    def _update_function_choice_settings_callback(self) -> Any:
        return lambda *args, **kwargs: None

    def _reset_function_choice_settings(self, settings: Any) -> None: ...


def kernel_with(shop: Shop) -> Kernel:
    kernel = Kernel()
    tools = [shop.lookup_order, as_async(shop.wipe_disk), shop.publish_page, shop.sums, shop.own_tool]
    for tool in tools:
        kernel.add_function("shop", kernel_function(_plain(tool), name=tool.__name__))
    return kernel


def _plain(tool: Any) -> Any:
    """A function of its own, which the decorator may mark."""
    if asyncio.iscoroutinefunction(tool):
        return tool
    namespace: dict[str, Any] = {}
    argument, kind = next((name, kind) for name, kind in tool.__annotations__.items() if name != "return")
    source = f"def call({argument}: {getattr(kind, '__name__', kind)}) -> str:\n    return tool({argument})\n"
    exec(source, {"tool": tool}, namespace)
    return namespace["call"]


def play(world: Protected, shop: Shop, *calls: Any) -> list[str]:
    asked = [
        FunctionCallContent(id=f"c{n}", name=f"shop-{name}", arguments=dict(arguments))
        for n, (name, arguments) in enumerate(calls)
    ]
    service = Service(ai_model_id="scripted", turns=[asked, []])
    kernel = protect(kernel_with(shop), world.agent_id, **gate_options(world, tool_map=MAP))
    settings = PromptExecutionSettings(function_choice_behavior=FunctionChoiceBehavior.Auto())
    history = ChatHistory()
    history.add_user_message("go")

    async def go() -> Any:
        with tool_run(str(uuid.uuid4())):
            return await service.get_chat_message_contents(history, settings, kernel=kernel)

    assert "done" in str(asyncio.run(go())[0])
    return [
        str(item.result) for message in history.messages for item in message.items if hasattr(item, "result")
    ]


WAYS: Final = {"semantic-kernel": Way(play)}
