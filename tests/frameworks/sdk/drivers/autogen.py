"""AutoGen's assistant agent, with its own replaying model."""

import asyncio
import json
import uuid
from typing import Any, Final

from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.messages import ToolCallExecutionEvent
from autogen_core import FunctionCall
from autogen_core.models import CreateResult, ModelFamily, RequestUsage
from autogen_core.tools import FunctionTool
from autogen_ext.models.replay import ReplayChatCompletionClient
from tests.frameworks.sdk.drivers.shop import Shop, Way, as_async, gate_options
from tests.support.protected import Protected

from qwed_sdk import tool_run
from qwed_sdk.autogen import QWEDWorkbench

_INFO: Final = {
    "vision": False,
    "function_calling": True,
    "json_output": False,
    "structured_output": False,
    "family": ModelFamily.UNKNOWN,
}


def model(*calls: tuple[str, dict[str, Any]]) -> ReplayChatCompletionClient:
    asked = [
        FunctionCall(id=f"c{n}", name=name, arguments=json.dumps(arguments))
        for n, (name, arguments) in enumerate(calls)
    ]
    usage = RequestUsage(prompt_tokens=0, completion_tokens=0)
    turn = CreateResult(finish_reason="function_calls", content=asked, usage=usage, cached=False)
    return ReplayChatCompletionClient([turn, "done"], model_info=_INFO)


def tools_of(shop: Shop) -> list[FunctionTool]:
    tools = [shop.lookup_order, as_async(shop.wipe_disk), shop.publish_page, shop.sums, shop.own_tool]
    return [FunctionTool(tool, description=str(tool.__doc__)) for tool in tools]


def play(world: Protected, shop: Shop, *calls: Any) -> list[str]:
    async def go() -> Any:
        workbench = QWEDWorkbench(tools_of(shop), world.agent_id, **gate_options(world))
        agent = AssistantAgent("a", model(*calls), workbench=workbench, reflect_on_tool_use=True)
        with tool_run(str(uuid.uuid4())):
            return await agent.run(task="go")

    messages = asyncio.run(go()).messages
    assert messages[-1].content == "done"
    events = [message for message in messages if isinstance(message, ToolCallExecutionEvent)]
    return [answer.content for event in events for answer in event.content]


WAYS: Final = {"autogen": Way(play)}
