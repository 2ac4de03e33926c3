"""Google ADK, with a scripted model."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any, Final

from google.adk.agents import LlmAgent
from google.adk.models import BaseLlm, LlmRequest, LlmResponse
from google.adk.runners import InMemoryRunner
from google.genai import types
from tests.frameworks.sdk.drivers.shop import Shop, Way, as_async, gate_options
from tests.support.protected import Protected

from qwed_sdk.google_adk import QWEDPlugin


class Model(BaseLlm):
    """Asks for these tools at once, then says it is done."""

    turns: list[list[types.Part]]

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncIterator[LlmResponse]:
        yield LlmResponse(content=types.Content(role="model", parts=self.turns.pop(0)))


def model(*calls: tuple[str, dict[str, Any]]) -> Model:
    asked = [
        types.Part(function_call=types.FunctionCall(id=f"c{n}", name=name, args=dict(arguments)))
        for n, (name, arguments) in enumerate(calls)
    ]
    return Model(model="scripted", turns=[asked, [types.Part(text="done")]])


def tools_of(shop: Shop) -> list[Any]:
    return [shop.lookup_order, as_async(shop.wipe_disk), shop.publish_page, shop.sums, shop.own_tool]


async def run(agent: LlmAgent, world: Protected, **options: Any) -> list[Any]:
    plugin = QWEDPlugin(world.agent_id, **gate_options(world, **options))
    runner = InMemoryRunner(agent=agent, app_name="app", plugins=[plugin])
    session = await runner.session_service.create_session(app_name="app", user_id="u")
    message = types.Content(role="user", parts=[types.Part(text="go")])
    events = runner.run_async(user_id="u", session_id=session.id, new_message=message)
    return [event async for event in events]


def answers(events: list[Any]) -> list[str]:
    return [str(answer.response) for event in events for answer in event.get_function_responses()]


def play(world: Protected, shop: Shop, *calls: Any) -> list[str]:
    agent = LlmAgent(name="a", model=model(*calls), tools=tools_of(shop))
    events = asyncio.run(run(agent, world))
    assert "done" in str(events[-1].content)
    return answers(events)


WAYS: Final = {"google-adk": Way(play, is_failure_final=True)}
