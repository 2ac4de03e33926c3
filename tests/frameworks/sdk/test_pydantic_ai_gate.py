"""Pydantic AI: whole runs with its own function model."""

import asyncio
import threading
from typing import Any

import pydantic
import pytest
from pydantic_ai import Agent, DeferredToolRequests, DeferredToolResults, FunctionToolset, RunContext
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from tests.support.protected import Protected

from qwed_sdk import ToolAs
from qwed_sdk.pydantic_ai import QWEDCapability

TOOL_MAP = {"sums": ToolAs("calculate", query="claim")}


class Order(pydantic.BaseModel):
    number: int
    note: str = "none"


class Tools:
    def __init__(self) -> None:
        self.ran: list[tuple[str, Any]] = []

    @property
    def all(self) -> list[Any]:
        return [self.lookup_order, self.wipe_disk, self.publish_page, self.sums, self.own_tool]

    def lookup_order(self, order: int) -> str:
        """Look an order up."""
        self.ran.append(("lookup_order", order))
        return f"order {order}"

    async def wipe_disk(self, disk: str) -> str:
        """Wipe a disk."""
        self.ran.append(("wipe_disk", disk))
        return "wiped"

    def publish_page(self, title: str) -> str:
        """Publish a page."""
        self.ran.append(("publish_page", title))
        return "published"

    def sums(self, claim: str) -> str:
        """Check a sum."""
        self.ran.append(("sums", claim))
        return claim

    def own_tool(self, ctx: RunContext[Any], order: Order) -> str:
        """Takes a model."""
        self.ran.append(("own_tool", order))
        if order.number < 0:
            raise ValueError("negative")
        return "ok"


@pytest.fixture
def tools() -> Tools:
    return Tools()


class Said:
    """Asks for these tools at once, then says it is done; remembers what the tools answered."""

    def __init__(self, *calls: tuple[str, dict[str, Any]]) -> None:
        self.calls = calls
        self.answers: list[ToolReturnPart] = []

    def __call__(self, messages: Any, info: AgentInfo) -> ModelResponse:
        self.answers = [
            part for message in messages for part in message.parts if isinstance(part, ToolReturnPart)
        ]
        if self.answers:
            return ModelResponse(parts=[TextPart("done")])
        parts = [ToolCallPart(name, arguments, f"c{n}") for n, (name, arguments) in enumerate(self.calls)]
        return ModelResponse(parts=parts)


def capability(world: Protected, **options: Any) -> QWEDCapability:
    options = {"client": world.client, "tool_map": TOOL_MAP, "wait_seconds": 20, **options}
    return QWEDCapability(world.agent_id, **options)


def run(world: Protected, tools: Tools, *calls: tuple[str, dict[str, Any]], **options: Any) -> Said:
    said = Said(*calls)
    agent = Agent(FunctionModel(said), tools=tools.all, capabilities=[capability(world, **options)])
    assert agent.run_sync("go").output == "done"
    return said


def test_approved_calls_run_once_and_denied_ones_answer_the_model(world: Protected, tools: Tools) -> None:
    calls = [("lookup_order", {"order": 1}), ("wipe_disk", {"disk": "a"}), ("lookup_order", {"order": 2})]
    said = run(world, tools, *calls)

    assert sorted(tools.ran) == [("lookup_order", 1), ("lookup_order", 2)]
    assert [answer.outcome for answer in said.answers] == ["success", "failed", "success"]
    assert "QWED-AGENT-TRUST-001" in str(said.answers[1].content)
    assert sorted(world.record(), key=str) == [
        ("lookup_order", "APPROVED", "success"),
        ("lookup_order", "APPROVED", "success"),
        ("wipe_disk", "DENIED", None),
    ]


def test_a_corrected_call_runs_corrected(world: Protected, tools: Tools) -> None:
    run(world, tools, ("sums", {"claim": "2+2=5"}))

    assert tools.ran == [("sums", "2+2=4")]


def test_the_gateway_sees_the_arguments_as_they_were_validated(world: Protected, tools: Tools) -> None:
    run(world, tools, ("own_tool", {"order": {"number": "7"}}))
    entry = world.client.get_agent_activity(world.agent_id, action_type="own_tool")[0]

    assert tools.ran == [("own_tool", Order(number=7))]
    assert entry["action"]["parameters"] == {"order": {"number": 7, "note": "none"}}


def test_a_pending_call_runs_only_after_a_person_approved(world: Protected, tools: Tools) -> None:
    with world.person_answers() as waiting:
        run(world, tools, ("publish_page", {"title": "x"}))

    assert waiting[0]["action"]["parameters"] == {"title": "x"}
    assert tools.ran == [("publish_page", "x")]


def test_a_pending_call_that_a_person_denies_does_not_run(world: Protected, tools: Tools) -> None:
    with world.person_answers("deny", note="too early"):
        said = run(world, tools, ("publish_page", {"title": "x"}))

    assert tools.ran == []
    assert "too early" in str(said.answers[0].content)


def test_a_deferred_call_goes_on_in_another_run_once_a_person_approved(
    world: Protected, tools: Tools
) -> None:
    def agent() -> Any:
        return Agent(
            FunctionModel(Said(("publish_page", {"title": "x"}))),
            tools=tools.all,
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
    before = list(tools.ran)
    world.person.approve(first.output.metadata["c0"]["approval"]["id"])
    last = again(too_early)

    assert isinstance(too_early.output, DeferredToolRequests)
    assert before == []
    assert last.output == "done"
    assert tools.ran == [("publish_page", "x")]
    assert world.record()[-1] == ("publish_page", "APPROVED", "success")


def test_saying_yes_without_the_gateways_word_is_not_an_approval(world: Protected, tools: Tools) -> None:
    agent = Agent(
        FunctionModel(Said(("publish_page", {"title": "x"}))),
        tools=tools.all,
        output_type=[str, DeferredToolRequests],
        capabilities=[capability(world, pending="defer")],
    )
    first = agent.run_sync("go")
    yes = DeferredToolResults(approvals={"c0": True})
    second = agent.run_sync(message_history=first.all_messages(), deferred_tool_results=yes)

    assert isinstance(second.output, DeferredToolRequests)
    assert tools.ran == []


def test_arguments_that_another_capability_changes_are_verified_as_changed(
    world: Protected, tools: Tools
) -> None:
    class Changing(AbstractCapability[Any]):
        async def before_tool_execute(self, ctx: Any, *, call: Any, tool_def: Any, args: Any) -> Any:
            return {**args, "order": 99}

    agent = Agent(
        FunctionModel(Said(("lookup_order", {"order": 1}))),
        tools=tools.all,
        capabilities=[capability(world), Changing()],
    )
    agent.run_sync("go")
    entry = world.client.get_agent_activity(world.agent_id, action_type="lookup_order")[0]

    assert tools.ran == [("lookup_order", 99)]
    assert entry["action"]["parameters"] == {"order": 99}


def test_the_tools_of_every_toolset_ask(world: Protected, tools: Tools) -> None:
    agent = Agent(
        FunctionModel(Said(("wipe_disk", {"disk": "a"}), ("lookup_order", {"order": 1}))),
        toolsets=[FunctionToolset([tools.wipe_disk])],
        capabilities=[capability(world)],
    )
    agent.run_sync("go", toolsets=[FunctionToolset([tools.lookup_order])])

    assert tools.ran == [("lookup_order", 1)]


def test_a_tool_that_fails_is_reported(world: Protected, tools: Tools) -> None:
    with pytest.raises(ValueError, match="negative"):
        run(world, tools, ("own_tool", {"order": {"number": -1}}))

    assert world.record() == [("own_tool", "APPROVED", "failure")]


def test_parallel_calls_share_the_conversation_of_their_run(world: Protected, tools: Tools) -> None:
    for _ in range(2):
        run(world, tools, *[("lookup_order", {"order": n}) for n in range(6)])
    entries = world.client.get_agent_activity(world.agent_id)

    assert len(tools.ran) == 12
    assert len({entry["context"]["conversation_id"] for entry in entries if entry.get("context")}) == 2


def test_an_async_client_serves_as_well(world: Protected, tools: Tools) -> None:
    async def scenario() -> None:
        client = world.async_client()
        said = Said(("lookup_order", {"order": 1}), ("wipe_disk", {"disk": "a"}))
        agent = Agent(FunctionModel(said), tools=tools.all, capabilities=[capability(world, client=client)])
        await agent.run("go")
        await client.aclose()

    asyncio.run(scenario())

    assert tools.ran == [("lookup_order", 1)]


def test_a_dead_gateway_means_that_nothing_runs(mortal: Protected, tools: Tools) -> None:
    mortal.server.kill()
    said = run(mortal, tools, ("lookup_order", {"order": 1}), ("publish_page", {"title": "x"}))

    assert tools.ran == []
    assert ["no usable answer" in str(answer.content) for answer in said.answers] == [True, True]


def test_a_gateway_killed_while_a_call_waits_means_that_it_does_not_run(
    mortal: Protected, tools: Tools
) -> None:
    results: list[Said] = []
    thread = threading.Thread(
        target=lambda: results.append(run(mortal, tools, ("publish_page", {"title": "x"})))
    )
    thread.start()
    mortal.open_approval()
    mortal.server.kill()
    thread.join(30)

    assert tools.ran == []
    assert "no usable answer" in str(results[0].answers[0].content)
