"""What is Pydantic AI's own: validated arguments, deferred calls, other capabilities, toolsets."""

import asyncio
from typing import Any

import pydantic
from pydantic_ai import Agent, DeferredToolRequests, DeferredToolResults, FunctionToolset, RunContext
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.models.function import FunctionModel
from tests.frameworks.sdk.drivers.pydantic_ai import Said, capability, tools_of
from tests.frameworks.sdk.drivers.shop import Shop
from tests.support.protected import Protected


class Order(pydantic.BaseModel):
    number: int
    note: str = "none"


def test_a_refusal_is_an_answer_that_failed_and_no_other_is(world: Protected, shop: Shop) -> None:
    said = Said(("lookup_order", {"order": 1}), ("wipe_disk", {"disk": "a"}), ("lookup_order", {"order": 2}))
    Agent(FunctionModel(said), tools=tools_of(shop), capabilities=[capability(world)]).run_sync("go")

    assert [answer.outcome for answer in said.answers] == ["success", "failed", "success"]


def test_the_gateway_sees_the_arguments_as_they_were_validated(world: Protected) -> None:
    ran: list[Order] = []

    def own_tool(ctx: RunContext[Any], order: Order) -> str:
        """Takes a model."""
        ran.append(order)
        return "ok"

    said = Said(("own_tool", {"order": {"number": "7"}}))
    Agent(FunctionModel(said), tools=[own_tool], capabilities=[capability(world)]).run_sync("go")
    entry = world.client.get_agent_activity(world.agent_id, action_type="own_tool")[0]

    assert ran == [Order(number=7)]
    assert entry["action"]["parameters"] == {"order": {"number": 7, "note": "none"}}


def test_a_deferred_call_goes_on_in_another_run_once_a_person_approved(world: Protected, shop: Shop) -> None:
    def agent() -> Any:
        return Agent(
            FunctionModel(Said(("publish_page", {"title": "x"}))),
            tools=tools_of(shop),
            output_type=[str, DeferredToolRequests],
            capabilities=[capability(world, pending="defer")],
        )

    first = agent().run_sync("go")

    def again(result: Any) -> Any:
        requests = result.output
        answers = DeferredToolResults(
            approvals={call.tool_call_id: True for call in requests.approvals}, metadata=requests.metadata
        )
        return agent().run_sync(message_history=result.all_messages(), deferred_tool_results=answers)

    too_early = again(first)
    before = list(shop.ran)
    world.person.approve(first.output.metadata["c0"]["approval"]["id"])
    last = again(too_early)

    assert isinstance(too_early.output, DeferredToolRequests)
    assert before == []
    assert last.output == "done"
    assert shop.ran == [("publish_page", "x")]
    assert world.record()[-1] == ("publish_page", "APPROVED", "success")


def test_saying_yes_without_the_gateways_word_is_not_an_approval(world: Protected, shop: Shop) -> None:
    agent = Agent(
        FunctionModel(Said(("publish_page", {"title": "x"}))),
        tools=tools_of(shop),
        output_type=[str, DeferredToolRequests],
        capabilities=[capability(world, pending="defer")],
    )
    first = agent.run_sync("go")
    yes = DeferredToolResults(approvals={"c0": True})
    second = agent.run_sync(message_history=first.all_messages(), deferred_tool_results=yes)

    assert isinstance(second.output, DeferredToolRequests)
    assert shop.ran == []


def test_arguments_that_another_capability_changes_are_verified_as_changed(
    world: Protected, shop: Shop
) -> None:
    class Changing(AbstractCapability[Any]):
        async def before_tool_execute(self, ctx: Any, *, call: Any, tool_def: Any, args: Any) -> Any:
            return {**args, "order": 99}

    agent = Agent(
        FunctionModel(Said(("lookup_order", {"order": 1}))),
        tools=tools_of(shop),
        capabilities=[capability(world), Changing()],
    )
    agent.run_sync("go")
    entry = world.client.get_agent_activity(world.agent_id, action_type="lookup_order")[0]

    assert shop.ran == [("lookup_order", 99)]
    assert entry["action"]["parameters"] == {"order": 99}


def test_the_tools_of_every_toolset_ask(world: Protected, shop: Shop) -> None:
    agent = Agent(
        FunctionModel(Said(("wipe_disk", {"disk": "a"}), ("lookup_order", {"order": 1}))),
        toolsets=[FunctionToolset([shop.wipe_disk])],
        capabilities=[capability(world)],
    )
    agent.run_sync("go", toolsets=[FunctionToolset([shop.lookup_order])])

    assert shop.ran == [("lookup_order", 1)]


def test_an_async_client_serves_as_well(world: Protected, shop: Shop) -> None:
    async def scenario() -> None:
        client = world.async_client()
        said = Said(("lookup_order", {"order": 1}), ("wipe_disk", {"disk": "a"}))
        agent = Agent(
            FunctionModel(said), tools=tools_of(shop), capabilities=[capability(world, client=client)]
        )
        await agent.run("go")
        await client.aclose()

    asyncio.run(scenario())

    assert shop.ran == [("lookup_order", 1)]
