"""A run that stops for a person and goes on when the gateway knows the answer, as each framework does it."""

import asyncio
from typing import Any

import pytest
from agent_framework import Agent as FrameworkAgent
from agents import Agent, Runner, RunState
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.workflow import HumanResponseEvent, InputRequiredEvent
from tests.frameworks.sdk.drivers import agent_framework as af
from tests.frameworks.sdk.drivers import llamaindex as li
from tests.frameworks.sdk.drivers import openai_agents as oa
from tests.frameworks.sdk.drivers.shop import Shop, gate_options
from tests.support.protected import Protected

from qwed_sdk.agent_framework import QWEDFunctionMiddleware, QWEDRunMiddleware

PUBLISH = ("publish_page", {"title": "x"})
RECORD = [("publish_page", "PENDING", None), ("publish_page", "APPROVED", "success")]


@pytest.mark.parametrize("elsewhere", [False, True], ids=["here", "another-process"])
def test_openai_agents_stops_and_goes_on(world: Protected, shop: Shop, elsewhere: bool) -> None:
    def made(*calls: Any) -> Agent[Any]:
        agent = Agent(name="a", model=oa.model(*calls), tools=oa.tools_of(shop))
        return oa.guarded(world, agent, pending="interrupt")

    agent = made(PUBLISH, ("lookup_order", {"order": 1}))
    first = Runner.run_sync(agent, "go")
    waiting = len(first.interruptions)
    world.person.approve(world.open_approval()["id"])

    async def resume() -> Any:
        again, state = agent, first.to_state()
        if elsewhere:
            # The model of the new process goes on after what the first one asked for.
            again = made()
            again.model = oa.ScriptedModel([[oa.assistant_message("done")]])
            state = await RunState.from_json(again, state.to_json())
        for item in state.get_interruptions():
            state.approve(item)
        return await Runner.run(again, state)

    result = asyncio.run(resume())

    assert (waiting, result.final_output) == (1, "done")
    assert sorted(shop.ran) == [("lookup_order", 1), ("publish_page", "x")]
    assert [row for row in world.record() if row[0] == "publish_page"] == RECORD


def test_openai_agents_does_not_run_what_only_the_state_approves(world: Protected, shop: Shop) -> None:
    agent = Agent(name="a", model=oa.model(PUBLISH), tools=oa.tools_of(shop))
    oa.guarded(world, agent, pending="interrupt")
    state = Runner.run_sync(agent, "go").to_state()
    state.approve(state.get_interruptions()[0])
    result = Runner.run_sync(agent, state)

    assert shop.ran == []
    assert "nobody has answered" in oa.outputs(result)[-1]


def test_openai_agents_protects_what_is_added_later(world: Protected, shop: Shop) -> None:
    agent = Agent(name="a", model=oa.model(("wipe_disk", {"disk": "a"})), tools=[])
    oa.guarded(world, agent)
    agent.tools = oa.tools_of(shop)
    result = Runner.run_sync(agent, "go")

    assert shop.ran == []
    assert "TRUST-001" in oa.outputs(result)[-1]


def test_agent_framework_stops_and_goes_on(world: Protected, shop: Shop) -> None:
    async def scenario() -> Any:
        gate = QWEDFunctionMiddleware(world.agent_id, **gate_options(world, pending="interrupt"))
        model = af.Model(PUBLISH)
        agent = FrameworkAgent(
            client=model, tools=[shop.publish_page], middleware=[QWEDRunMiddleware(), gate]
        )
        session = agent.create_session()
        first = await agent.run("go", session=session)
        asked = list(first.user_input_requests)
        ran = list(shop.ran)
        await asyncio.to_thread(lambda: world.person.approve(world.open_approval()["id"]))
        answer = af.Message("user", [asked[0].to_function_approval_response(True)])
        return asked, ran, await agent.run(answer, session=session)

    asked, ran, result = asyncio.run(scenario())

    assert (len(asked), ran) == (1, [])
    assert shop.ran == [("publish_page", "x")]
    assert "done" in result.text
    assert world.record() == RECORD


@pytest.mark.parametrize("answered", [True, False])
def test_llamaindex_stops_and_goes_on(world: Protected, shop: Shop, answered: bool) -> None:
    said = li.Said(PUBLISH)

    async def scenario() -> list[Any]:
        agent = FunctionAgent(tools=li.tools_of(shop), llm=said.model, streaming=False)
        handler = li.guarded(world, agent, pending="interrupt").run("go")
        questions = []
        async for event in handler.stream_events():
            if isinstance(event, InputRequiredEvent):
                questions.append((event.qwed_approval, list(shop.ran)))
                if answered:
                    await asyncio.to_thread(world.person.approve, event.qwed_approval)
                handler.ctx.send_event(HumanResponseEvent(response="go on"))
        await handler
        return questions

    questions = asyncio.run(scenario())

    assert len(questions) == 1
    assert questions[0][1] == []
    assert shop.ran == ([("publish_page", "x")] if answered else [])
    assert world.record() == (RECORD if answered else RECORD[:1])
