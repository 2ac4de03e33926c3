"""Microsoft Agent Framework: whole runs with a scripted chat client."""

import asyncio
import threading
from typing import Any

import pytest
from agent_framework import (
    Agent,
    BaseChatClient,
    ChatMiddlewareLayer,
    ChatResponse,
    Content,
    FunctionInvocationLayer,
    Message,
)
from tests.support.protected import Protected

from qwed_sdk import ToolAs
from qwed_sdk.agent_framework import QWEDFunctionMiddleware, QWEDRunMiddleware

TOOL_MAP = {"sums": ToolAs("calculate", query="claim")}


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

    def own_tool(self, value: str) -> str:
        """Fail."""
        self.ran.append(("own_tool", value))
        raise ValueError(value)


@pytest.fixture
def tools() -> Tools:
    return Tools()


def run(world: Protected, tools: Tools, *calls: tuple[str, dict[str, Any]], **options: Any) -> list[str]:
    """What the tools answered."""
    options = {"client": world.client, "tool_map": TOOL_MAP, "wait_seconds": 20, **options}

    async def go() -> Any:
        gate = QWEDFunctionMiddleware(world.agent_id, **options)
        agent = Agent(client=Model(*calls), tools=tools.all, middleware=[QWEDRunMiddleware(), gate])
        return await agent.run("go")

    result = asyncio.run(go())
    assert "done" in result.text
    contents = [content for message in result.messages for content in message.contents]
    return [str(content.result) for content in contents if content.type == "function_result"]


def test_approved_calls_run_once_and_denied_ones_answer_the_model(world: Protected, tools: Tools) -> None:
    calls = [("lookup_order", {"order": 1}), ("wipe_disk", {"disk": "a"}), ("lookup_order", {"order": 2})]
    answers = run(world, tools, *calls)

    assert sorted(tools.ran) == [("lookup_order", 1), ("lookup_order", 2)]
    assert "QWED-AGENT-TRUST-001" in answers[1]
    assert sorted(world.record(), key=str) == [
        ("lookup_order", "APPROVED", "success"),
        ("lookup_order", "APPROVED", "success"),
        ("wipe_disk", "DENIED", None),
    ]


def test_a_corrected_call_runs_corrected(world: Protected, tools: Tools) -> None:
    run(world, tools, ("sums", {"claim": "2+2=5"}))

    assert tools.ran == [("sums", "2+2=4")]


def test_a_pending_call_runs_only_after_a_person_approved(world: Protected, tools: Tools) -> None:
    with world.person_answers() as waiting:
        run(world, tools, ("publish_page", {"title": "x"}))

    assert waiting[0]["action"]["parameters"] == {"title": "x"}
    assert tools.ran == [("publish_page", "x")]


def test_a_pending_call_that_a_person_denies_does_not_run(world: Protected, tools: Tools) -> None:
    with world.person_answers("deny", note="too early"):
        answers = run(world, tools, ("publish_page", {"title": "x"}))

    assert tools.ran == []
    assert "too early" in answers[0]


def test_a_tool_that_fails_is_reported(world: Protected, tools: Tools) -> None:
    run(world, tools, ("own_tool", {"value": "v"}))

    assert world.record() == [("own_tool", "APPROVED", "failure")]


def test_parallel_calls_share_the_conversation_of_their_run(world: Protected, tools: Tools) -> None:
    for _ in range(2):
        run(world, tools, *[("lookup_order", {"order": n}) for n in range(6)])
    entries = world.client.get_agent_activity(world.agent_id)

    assert len(tools.ran) == 12
    assert len({entry["context"]["conversation_id"] for entry in entries if entry.get("context")}) == 2


def test_a_dead_gateway_means_that_nothing_runs(mortal: Protected, tools: Tools) -> None:
    mortal.server.kill()
    answers = run(mortal, tools, ("lookup_order", {"order": 1}), ("publish_page", {"title": "x"}))

    assert tools.ran == []
    assert ["no usable answer" in answer for answer in answers] == [True, True]


def test_a_gateway_killed_while_a_call_waits_means_that_it_does_not_run(
    mortal: Protected, tools: Tools
) -> None:
    results: list[list[str]] = []
    thread = threading.Thread(
        target=lambda: results.append(run(mortal, tools, ("publish_page", {"title": "x"})))
    )
    thread.start()
    mortal.open_approval()
    mortal.server.kill()
    thread.join(30)

    assert tools.ran == []
    assert "no usable answer" in results[0][0]
