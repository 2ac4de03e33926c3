"""LangChain 1.x agents and classic executors, whole loops against a real gateway."""

import asyncio
import subprocess
import sys
import textwrap
import threading
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_classic.agents import AgentExecutor, create_tool_calling_agent
from langchain_core.language_models.fake_chat_models import FakeMessagesListChatModel
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.tools import StructuredTool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.types import Command
from tests.support.protected import Protected

from qwed_sdk import ToolAs
from qwed_sdk.langchain import QWEDMiddleware, QWEDVerificationCallback, ToolRefused

ROOT = Path(__file__).parents[3]
TOOL_MAP = {"sums": ToolAs("calculate", query="claim")}


class Model(FakeMessagesListChatModel):
    """LangChain's own fake; it asks for these tools, then says it is done."""

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        return self


def model(*calls: tuple[str, dict[str, Any]]) -> Model:
    asked = [{"name": name, "args": args, "id": f"call_{n}"} for n, (name, args) in enumerate(calls)]
    return Model(responses=[AIMessage("", tool_calls=asked), AIMessage("done")])


class Tools:
    def __init__(self) -> None:
        self.ran: list[tuple[str, Any]] = []
        self.during: Any = None

    def all(self) -> list[StructuredTool]:
        return [
            StructuredTool.from_function(self.lookup_order),
            StructuredTool.from_function(self.wipe_disk),
            StructuredTool.from_function(self.publish_page),
            StructuredTool.from_function(self.sums),
            StructuredTool.from_function(self.own_tool),
        ]

    def lookup_order(self, order: int) -> str:
        """Look an order up."""
        if self.during is not None:
            self.during()
        self.ran.append(("lookup_order", order))
        return f"order {order}"

    def wipe_disk(self, disk: str) -> str:
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


def middleware(world: Protected, **options: Any) -> QWEDMiddleware:
    options = {"client": world.client, "tool_map": TOOL_MAP, "wait_seconds": 20, **options}
    return QWEDMiddleware(world.agent_id, **options)


HELLO = {"messages": [{"role": "user", "content": "go"}]}


def messages(result: dict[str, Any]) -> list[ToolMessage]:
    return [message for message in result["messages"] if isinstance(message, ToolMessage)]


@pytest.fixture(params=["sync", "async"])
def invoke(request: pytest.FixtureRequest) -> Any:
    if request.param == "sync":
        return lambda agent, *args, **kwargs: agent.invoke(*args, **kwargs)
    return lambda agent, *args, **kwargs: asyncio.run(agent.ainvoke(*args, **kwargs))


# --- the middleware ----------------------------------------------------------------------------


def test_approved_calls_run_once_and_denied_ones_answer_the_model(
    world: Protected, tools: Tools, invoke: Any
) -> None:
    calls = [("lookup_order", {"order": 1}), ("wipe_disk", {"disk": "a"}), ("lookup_order", {"order": 2})]
    agent = create_agent(model(*calls), tools.all(), middleware=[middleware(world)])
    result = invoke(agent, HELLO)

    assert sorted(tools.ran) == [("lookup_order", 1), ("lookup_order", 2)]
    assert [message.status for message in messages(result)] == ["success", "error", "success"]
    assert "QWED-AGENT-TRUST-001" in messages(result)[1].content
    assert result["messages"][-1].content == "done"
    assert sorted(world.record(), key=str) == [
        ("lookup_order", "APPROVED", "success"),
        ("lookup_order", "APPROVED", "success"),
        ("wipe_disk", "DENIED", None),
    ]


def test_a_corrected_call_runs_corrected(world: Protected, tools: Tools, invoke: Any) -> None:
    agent = create_agent(model(("sums", {"claim": "2+2=5"})), tools.all(), middleware=[middleware(world)])
    invoke(agent, HELLO)

    assert tools.ran == [("sums", "2+2=4")]


def test_a_tool_nobody_registered_with_the_agent_does_not_run(
    world: Protected, tools: Tools, invoke: Any
) -> None:
    agent = create_agent(model(("mystery", {})), tools.all(), middleware=[middleware(world)])
    result = invoke(agent, HELLO)

    assert tools.ran == []
    assert messages(result)[0].status == "error"


def test_without_a_checkpointer_a_pending_call_waits(world: Protected, tools: Tools, invoke: Any) -> None:
    agent = create_agent(model(("publish_page", {"title": "x"})), tools.all(), middleware=[middleware(world)])
    with world.person_answers() as waiting:
        invoke(agent, HELLO)

    assert waiting[0]["action"]["parameters"] == {"title": "x"}
    assert tools.ran == [("publish_page", "x")]


def test_a_pending_call_that_a_person_denies_does_not_run(world: Protected, tools: Tools) -> None:
    agent = create_agent(model(("publish_page", {"title": "x"})), tools.all(), middleware=[middleware(world)])
    with world.person_answers("deny", note="too early"):
        result = agent.invoke(HELLO)

    assert tools.ran == []
    assert "too early" in messages(result)[0].content


def test_a_pending_call_interrupts_and_a_new_agent_object_resumes_it(
    world: Protected, tools: Tools, invoke: Any
) -> None:
    saver, config = InMemorySaver(), {"configurable": {"thread_id": f"t-{world.agent_id}"}}
    calls = [("publish_page", {"title": "x"}), ("lookup_order", {"order": 1})]

    def agent(*asked: tuple[str, dict[str, Any]]) -> Any:
        fresh = Model(responses=[AIMessage("done")]) if not asked else model(*asked)
        return create_agent(fresh, tools.all(), middleware=[middleware(world)], checkpointer=saver)

    paused = invoke(agent(*calls), HELLO, config)
    question = paused["__interrupt__"][0].value
    before = list(tools.ran)
    too_early = invoke(agent(), Command(resume=True), config)
    world.person.approve(question["approval"]["id"])
    result = invoke(agent(), Command(resume=True), config)

    assert question["tool"] == "publish_page"
    assert before == [("lookup_order", 1)]
    assert too_early["__interrupt__"]
    assert tools.ran == [("lookup_order", 1), ("publish_page", "x")]
    assert result["messages"][-1].content == "done"
    assert [row for row in world.record() if row[0] == "publish_page"] == [
        ("publish_page", "PENDING", None),
        ("publish_page", "APPROVED", "success"),
    ]


def test_a_resumed_call_that_a_person_denied_does_not_run(
    world: Protected, tools: Tools, invoke: Any
) -> None:
    config = {"configurable": {"thread_id": "denied"}}
    asked = Model(responses=[*model(("publish_page", {"title": "x"})).responses])
    agent = create_agent(asked, tools.all(), middleware=[middleware(world)], checkpointer=InMemorySaver())
    paused = invoke(agent, HELLO, config)
    world.person.deny(paused["__interrupt__"][0].value["approval"]["id"])
    result = invoke(agent, Command(resume=True), config)

    assert tools.ran == []
    assert "denied" in messages(result)[0].content


def test_several_calls_can_wait_and_be_answered_apart(world: Protected, tools: Tools, invoke: Any) -> None:
    config = {"configurable": {"thread_id": "several"}}
    asked = model(("publish_page", {"title": "x"}), ("publish_page", {"title": "y"}))
    agent = create_agent(asked, tools.all(), middleware=[middleware(world)], checkpointer=InMemorySaver())
    paused = invoke(agent, HELLO, config)
    waiting = {
        pause.value["arguments"]["title"]: pause.value["approval"]["id"] for pause in paused["__interrupt__"]
    }
    world.person.approve(waiting["y"])
    again = invoke(agent, Command(resume={pause.id: True for pause in paused["__interrupt__"]}), config)
    first = list(tools.ran)
    world.person.approve(waiting["x"])
    result = invoke(agent, Command(resume={pause.id: True for pause in again["__interrupt__"]}), config)

    assert first == [("publish_page", "y")]
    assert tools.ran == [("publish_page", "y"), ("publish_page", "x")]
    assert result["messages"][-1].content == "done"


def test_saying_yes_to_the_graph_is_not_an_approval(world: Protected, tools: Tools) -> None:
    config = {"configurable": {"thread_id": "yes"}}
    asked = model(("publish_page", {"title": "x"}))
    agent = create_agent(asked, tools.all(), middleware=[middleware(world)], checkpointer=InMemorySaver())
    agent.invoke(HELLO, config)
    for answer in (True, "approve", {"decision": "APPROVED"}):
        again = agent.invoke(Command(resume=answer), config)

        assert again["__interrupt__"]
    assert tools.ran == []


RESUMING = """
    import sys
    from langchain.agents import create_agent
    from langchain_core.language_models.fake_chat_models import FakeMessagesListChatModel
    from langchain_core.messages import AIMessage
    from langgraph.checkpoint.sqlite import SqliteSaver
    from langgraph.types import Command
    from qwed_sdk import QWEDClient
    from qwed_sdk.langchain import QWEDMiddleware

    stage, agent_id, key, base_url, database, ran = sys.argv[1:]

    class Model(FakeMessagesListChatModel):
        def bind_tools(self, tools, **kwargs):
            return self

    def publish_page(title: str) -> str:
        "Publish a page."
        with open(ran, "a") as file:
            file.write(title)
        return "published"

    call = {"name": "publish_page", "args": {"title": "x"}, "id": "c1"}
    said = [AIMessage("", tool_calls=[call])] if stage == "first" else [AIMessage("done")]
    client = QWEDClient(key, base_url)
    with SqliteSaver.from_conn_string(database) as saver:
        agent = create_agent(
            Model(responses=said),
            [publish_page],
            middleware=[QWEDMiddleware(agent_id, client=client)],
            checkpointer=saver,
        )
        config = {"configurable": {"thread_id": "one"}}
        given = {"messages": [("user", "go")]} if stage == "first" else Command(resume=True)
        result = agent.invoke(given, config)
    if stage == "first":
        print(result["__interrupt__"][0].value["approval"]["id"])
    else:
        print(result["messages"][-1].content)
"""


def test_a_pending_call_survives_the_end_of_its_process(world: Protected, tmp_path: Path) -> None:
    script, ran = tmp_path / "agent.py", tmp_path / "ran.txt"
    script.write_text(textwrap.dedent(RESUMING), encoding="utf-8")

    def process(stage: str) -> str:
        arguments = [stage, world.agent_id, world.key, world.server.base_url]
        command = [sys.executable, str(script), *arguments, str(tmp_path / "graph.db"), str(ran)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=90)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    approval_id = process("first")
    existed = ran.exists()
    world.person.approve(approval_id)

    assert not existed
    assert process("second") == "done"
    assert ran.read_text(encoding="utf-8") == "x"


def test_in_a_tool_node_that_runs_calls_together_each_run_is_verified(
    world: Protected, tools: Tools, invoke: Any
) -> None:
    """LangGraph runs such a node again as a whole; an approval that was used is not used again."""
    gate = middleware(world)
    node = ToolNode(tools.all(), wrap_tool_call=gate.wrap_tool_call, awrap_tool_call=gate.awrap_tool_call)
    graph = StateGraph(MessagesState)
    graph.add_node("tools", node)
    graph.add_edge(START, "tools")
    compiled = graph.compile(checkpointer=InMemorySaver())
    config = {"configurable": {"thread_id": f"node-{world.agent_id}"}}
    asked = model(("lookup_order", {"order": 1}), ("publish_page", {"title": "x"})).responses[0]

    paused = invoke(compiled, {"messages": [asked]}, config)
    world.person.approve(paused["__interrupt__"][0].value["approval"]["id"])
    invoke(compiled, Command(resume=True), config)
    approved = [row for row in world.record() if row[1] == "APPROVED"]

    assert [name for name, _ in tools.ran].count("publish_page") == 1
    assert len(approved) == len(tools.ran)


def test_many_parallel_calls_all_get_their_answer(world: Protected, tools: Tools, invoke: Any) -> None:
    calls = [("lookup_order", {"order": n}) for n in range(12)]
    agent = create_agent(model(*calls), tools.all(), middleware=[middleware(world)])
    invoke(agent, HELLO)

    assert sorted(tools.ran) == [("lookup_order", n) for n in range(12)]


def test_each_run_is_a_conversation_of_its_own(world: Protected, tools: Tools, invoke: Any) -> None:
    gate = middleware(world)
    for _ in range(4):
        agent = create_agent(model(("lookup_order", {"order": 1})), tools.all(), middleware=[gate])
        invoke(agent, HELLO)
    entries = world.client.get_agent_activity(world.agent_id)

    assert len(tools.ran) == 4
    assert len({entry["context"]["conversation_id"] for entry in entries if entry.get("context")}) == 4


def test_a_tool_that_fails_is_reported(world: Protected, tools: Tools, invoke: Any) -> None:
    agent = create_agent(model(("own_tool", {"value": "v"})), tools.all(), middleware=[middleware(world)])
    with pytest.raises(ValueError, match="v"):
        invoke(agent, HELLO)

    assert world.record() == [("own_tool", "APPROVED", "failure")]


def test_a_dead_gateway_means_that_nothing_runs(mortal: Protected, tools: Tools, invoke: Any) -> None:
    calls = [("lookup_order", {"order": 1}), ("publish_page", {"title": "x"})]
    agent = create_agent(model(*calls), tools.all(), middleware=[middleware(mortal)])
    mortal.server.kill()
    result = invoke(agent, HELLO)

    assert tools.ran == []
    assert ["no usable answer" in message.content for message in messages(result)] == [True, True]


def test_a_gateway_killed_while_a_call_waits_means_that_it_does_not_run(
    mortal: Protected, tools: Tools
) -> None:
    agent = create_agent(
        model(("publish_page", {"title": "x"})), tools.all(), middleware=[middleware(mortal)]
    )
    results: list[Any] = []
    thread = threading.Thread(target=lambda: results.append(agent.invoke(HELLO)))
    thread.start()
    mortal.open_approval()
    mortal.server.kill()
    thread.join(30)

    assert tools.ran == []
    assert "no usable answer" in messages(results[0])[0].content


# --- the callback ------------------------------------------------------------------------------


def executor(tools: Tools, *calls: tuple[str, dict[str, Any]], callbacks: Any = None) -> AgentExecutor:
    prompt = ChatPromptTemplate.from_messages([("user", "{input}"), ("placeholder", "{agent_scratchpad}")])
    agent = create_tool_calling_agent(model(*calls), tools.all(), prompt)
    return AgentExecutor(agent=agent, tools=tools.all(), callbacks=callbacks)


def callback(world: Protected, **options: Any) -> QWEDVerificationCallback:
    options = {"client": world.client, "tool_map": TOOL_MAP, "wait_seconds": 20, **options}
    return QWEDVerificationCallback(agent_id=world.agent_id, **options)


@pytest.fixture(params=["constructor", "invoke"])
def execute(request: pytest.FixtureRequest, invoke: Any) -> Any:
    """The two places where an executor takes callbacks."""

    def run(world: Protected, tools: Tools, *calls: tuple[str, dict[str, Any]], **options: Any) -> Any:
        handler = callback(world, **options)
        if request.param == "constructor":
            return invoke(executor(tools, *calls, callbacks=[handler]), {"input": "go"})
        return invoke(executor(tools, *calls), {"input": "go"}, config={"callbacks": [handler]})

    return run


def test_an_executors_approved_call_runs_once_verified_once(
    world: Protected, tools: Tools, execute: Any
) -> None:
    result = execute(world, tools, ("lookup_order", {"order": 1}))

    assert result["output"] == "done"
    assert tools.ran == [("lookup_order", 1)]
    assert world.record() == [("lookup_order", "APPROVED", "success")]


def test_an_executors_denied_call_ends_the_run_before_the_tool(
    world: Protected, tools: Tools, execute: Any
) -> None:
    with pytest.raises(ToolRefused, match="QWED-AGENT-TRUST-001"):
        execute(world, tools, ("wipe_disk", {"disk": "a"}))

    assert tools.ran == []


def test_an_executors_corrected_call_runs_corrected(world: Protected, tools: Tools, execute: Any) -> None:
    execute(world, tools, ("sums", {"claim": "2+2=5"}))

    assert tools.ran == [("sums", "2+2=4")]
    assert world.record() == [("calculate", "CORRECTED", "success")]


def test_an_executors_pending_call_runs_only_after_a_person_approved(
    world: Protected, tools: Tools, execute: Any
) -> None:
    with world.person_answers() as waiting:
        execute(world, tools, ("publish_page", {"title": "x"}))

    assert waiting
    assert tools.ran == [("publish_page", "x")]


def test_an_executors_parallel_calls_are_all_verified(world: Protected, tools: Tools, execute: Any) -> None:
    execute(world, tools, *[("lookup_order", {"order": n}) for n in range(5)])

    assert sorted(tools.ran) == [("lookup_order", n) for n in range(5)]
    assert world.record() == [("lookup_order", "APPROVED", "success")] * 5


def test_an_executor_with_a_dead_gateway_runs_nothing(mortal: Protected, tools: Tools, execute: Any) -> None:
    mortal.server.kill()
    with pytest.raises(ToolRefused, match="no usable answer"):
        execute(mortal, tools, ("lookup_order", {"order": 1}))

    assert tools.ran == []


def test_an_executors_failing_tool_is_reported(world: Protected, tools: Tools, invoke: Any) -> None:
    config = {"callbacks": [callback(world)]}
    with pytest.raises(ValueError, match="v"):
        invoke(executor(tools, ("own_tool", {"value": "v"})), {"input": "go"}, config=config)

    assert world.record() == [("own_tool", "APPROVED", "failure")]


def test_in_a_new_agent_the_callback_hears_the_tools_alone(
    world: Protected, tools: Tools, invoke: Any
) -> None:
    config = {"callbacks": [callback(world)]}
    agent = create_agent(model(("lookup_order", {"order": 1})), tools.all())
    invoke(agent, HELLO, config)
    with pytest.raises(ToolRefused, match="corrected arguments"):
        invoke(create_agent(model(("sums", {"claim": "2+2=5"})), tools.all()), HELLO, config)
    with pytest.raises(ToolRefused, match="TRUST-001"):
        invoke(create_agent(model(("wipe_disk", {"disk": "a"})), tools.all()), HELLO, config)

    assert tools.ran == [("lookup_order", 1)]
    assert world.record() == [
        ("lookup_order", "APPROVED", "success"),
        ("calculate", "CORRECTED", "failure"),
        ("wipe_disk", "DENIED", None),
    ]
