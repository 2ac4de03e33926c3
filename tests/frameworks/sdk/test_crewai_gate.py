"""CrewAI crews and single agents, whole loops against a real gateway, with native calls and with text."""

import json
import threading
from typing import Any

import pytest
from crewai import BaseLLM, Crew, Task
from crewai.hooks import clear_all_hooks
from crewai.tools import BaseTool, tool
from pydantic import Field
from tests.support.protected import Protected

from qwed_sdk import ToolAs
from qwed_sdk.crewai import QWEDVerifiedAgent

TOOL_MAP = {"sums": ToolAs("calculate", query="claim")}


class Model(BaseLLM):
    """CrewAI's own base class for models; asks for these tools at once, then says it is done."""

    calls: list[Any] = Field(default_factory=list)
    native: bool = True
    seen: list[Any] = Field(default_factory=list)
    turns: int = 0

    def supports_function_calling(self) -> bool:
        return self.native

    def call(self, messages: Any, tools: Any = None, **kwargs: Any) -> Any:
        self.turns += 1
        self.seen.append(json.dumps(messages, default=str))
        if self.native:
            if self.turns > 1:
                return "done"
            return [
                {
                    "id": f"call_{n}",
                    "type": "function",
                    "function": {"name": name, "arguments": json.dumps(arguments)},
                }
                for n, (name, arguments) in enumerate(self.calls)
            ]
        if self.turns <= len(self.calls):
            name, arguments = self.calls[self.turns - 1]
            return f"Thought: go\nAction: {name}\nAction Input: {json.dumps(arguments)}"
        return "Thought: I know\nFinal Answer: done"


class Tools:
    def __init__(self) -> None:
        self.ran: list[tuple[str, Any]] = []
        ran = self.ran

        class LookupOrder(BaseTool):
            name: str = "lookup_order"
            description: str = "Look an order up."

            def _run(self, order: int) -> str:
                ran.append(("lookup_order", order))
                return f"order {order}"

        class AsyncTool(BaseTool):
            name: str = "own_tool"
            description: str = "Fails."

            async def _run(self, value: str) -> str:
                ran.append(("own_tool", value))
                raise ValueError(value)

        @tool("wipe_disk")
        def wipe_disk(disk: str) -> str:
            """Wipe a disk."""
            ran.append(("wipe_disk", disk))
            return "wiped"

        @tool("publish_page")
        def publish_page(title: str) -> str:
            """Publish a page."""
            ran.append(("publish_page", title))
            return "published"

        @tool("sums")
        def sums(claim: str) -> str:
            """Check a sum."""
            ran.append(("sums", claim))
            return claim

        self.all = [LookupOrder(), AsyncTool(), wipe_disk, publish_page, sums]


@pytest.fixture
def tools() -> Tools:
    return Tools()


@pytest.fixture(params=["native", "text"])
def native(request: pytest.FixtureRequest) -> bool:
    return request.param == "native"


def make(world: Protected, tools: Tools, native: bool, *calls: Any) -> tuple[QWEDVerifiedAgent, Model]:
    model = Model(model="fake", calls=list(calls), native=native)
    agent = QWEDVerifiedAgent(
        role="Analyst",
        goal="Analyze data",
        agent_id=world.agent_id,
        client=world.client,
        tool_map=TOOL_MAP,
        wait_seconds=20,
        llm=model,
        tools=tools.all,
    )
    return agent, model


@pytest.fixture(params=["crew", "kickoff"])
def way(request: pytest.FixtureRequest) -> str:
    return request.param


def go(way: str, agent: QWEDVerifiedAgent) -> str:
    if way == "kickoff":
        return str(agent.kickoff("go").raw)
    task = Task(description="go", expected_output="something", agent=agent)
    return str(Crew(agents=[agent], tasks=[task], memory=False).kickoff().raw)


def test_approved_calls_run_once_and_denied_ones_answer_the_model(
    world: Protected, tools: Tools, native: bool, way: str
) -> None:
    calls = [("lookup_order", {"order": 1}), ("wipe_disk", {"disk": "a"}), ("lookup_order", {"order": 2})]
    agent, model = make(world, tools, native, *calls)

    assert go(way, agent) == "done"
    assert sorted(tools.ran) == [("lookup_order", 1), ("lookup_order", 2)]
    assert "QWED-AGENT-TRUST-001" in model.seen[-1]
    assert sorted(world.record(), key=str) == [
        ("lookup_order", "APPROVED", "success"),
        ("lookup_order", "APPROVED", "success"),
        ("wipe_disk", "DENIED", None),
    ]


def test_a_corrected_call_runs_corrected(world: Protected, tools: Tools, native: bool, way: str) -> None:
    go(way, make(world, tools, native, ("sums", {"claim": "2+2=5"}))[0])

    assert tools.ran == [("sums", "2+2=4")]


def test_a_pending_call_runs_only_after_a_person_approved(
    world: Protected, tools: Tools, native: bool, way: str
) -> None:
    agent, _ = make(world, tools, native, ("publish_page", {"title": "x"}))
    with world.person_answers() as waiting:
        go(way, agent)

    assert waiting[0]["action"]["parameters"] == {"title": "x"}
    assert tools.ran == [("publish_page", "x")]


def test_a_pending_call_that_a_person_denies_does_not_run(
    world: Protected, tools: Tools, native: bool
) -> None:
    agent, model = make(world, tools, native, ("publish_page", {"title": "x"}))
    with world.person_answers("deny", note="too early"):
        go("crew", agent)

    assert tools.ran == []
    assert "too early" in model.seen[-1]


def test_parallel_calls_are_all_verified(world: Protected, tools: Tools, way: str) -> None:
    go(way, make(world, tools, True, *[("lookup_order", {"order": n}) for n in range(6)])[0])

    assert sorted(tools.ran) == [("lookup_order", n) for n in range(6)]
    assert world.record() == [("lookup_order", "APPROVED", "success")] * 6


def test_clearing_crewais_hooks_changes_nothing(world: Protected, tools: Tools, native: bool) -> None:
    agent, _ = make(world, tools, native, ("wipe_disk", {"disk": "a"}))
    clear_all_hooks()
    go("crew", agent)

    assert tools.ran == []


def test_a_copied_agent_asks_too(world: Protected, tools: Tools, native: bool) -> None:
    agent, _ = make(world, tools, native, ("wipe_disk", {"disk": "a"}), ("lookup_order", {"order": 1}))
    copy = agent.copy()
    go("kickoff", copy)

    assert tools.ran == [("lookup_order", 1)]
    assert len(world.record()) == 2


def test_a_tool_that_fails_is_reported(world: Protected, tools: Tools) -> None:
    agent, model = make(world, tools, True, ("own_tool", {"value": "v"}))
    go("crew", agent)

    assert "Error executing tool" in model.seen[-1]
    assert world.record()[0] == ("own_tool", "APPROVED", "failure")


def test_a_refusal_is_not_kept_in_crewais_cache(world: Protected, tools: Tools) -> None:
    agent, _ = make(world, tools, True, ("publish_page", {"title": "x"}))
    with world.person_answers("deny"):
        go("crew", agent)
    agent.llm.turns = 0
    with world.person_answers("approve"):
        go("crew", agent)

    assert tools.ran == [("publish_page", "x")]


def test_a_tool_that_would_not_ask_stops_the_run(world: Protected, tools: Tools) -> None:
    """As it would be, should another version of CrewAI collect its tools elsewhere."""
    from crewai import Agent

    from qwed_sdk import ToolRefused

    agent, _ = make(world, tools, True, ("lookup_order", {"order": 1}))
    object.__setattr__(agent, "_add_skill_loader_tool", lambda tools, task=None: tools)
    assert hasattr(Agent, "_add_skill_loader_tool")

    with pytest.raises(ToolRefused, match="without asking"):
        go("kickoff", agent)
    assert tools.ran == []


def test_a_dead_gateway_means_that_nothing_runs(
    mortal: Protected, tools: Tools, native: bool, way: str
) -> None:
    agent, model = make(mortal, tools, native, ("lookup_order", {"order": 1}))
    mortal.server.kill()
    go(way, agent)

    assert tools.ran == []
    assert "no usable answer" in model.seen[-1]


def test_a_gateway_killed_while_a_call_waits_means_that_it_does_not_run(
    mortal: Protected, tools: Tools, native: bool
) -> None:
    agent, model = make(mortal, tools, native, ("publish_page", {"title": "x"}))
    thread = threading.Thread(target=go, args=("crew", agent))
    thread.start()
    mortal.open_approval()
    mortal.server.kill()
    thread.join(60)

    assert not thread.is_alive()
    assert tools.ran == []
    assert "no usable answer" in model.seen[-1]


def test_the_guides_snippet_makes_an_agent_that_asks(
    world: Protected, tools: Tools, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("QWED_API_KEY", world.key)
    monkeypatch.setenv("QWED_BASE_URL", world.server.base_url)
    monkeypatch.setenv("OPENAI_API_KEY", "none")

    analyst = QWEDVerifiedAgent(role="Analyst", goal="Analyze data", agent_id=world.agent_id)
    analyst.llm = Model(model="fake", calls=[("wipe_disk", {"disk": "a"}), ("lookup_order", {"order": 1})])
    analyst.tools = tools.all
    go("crew", analyst)

    assert tools.ran == [("lookup_order", 1)]
