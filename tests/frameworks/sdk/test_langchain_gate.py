"""What is LangChain's own: interrupts that resume, tool nodes, and the callback in a new agent."""

import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.types import Command
from tests.frameworks.sdk.drivers.langchain import (
    HELLO,
    INVOKES,
    Model,
    callback,
    messages,
    middleware,
    model,
    tools_of,
)
from tests.frameworks.sdk.drivers.shop import Shop
from tests.support.protected import Protected

from qwed_sdk.langchain import ToolRefused


@pytest.fixture(params=INVOKES)
def invoke(request: pytest.FixtureRequest) -> Any:
    return INVOKES[request.param]


# --- the middleware ----------------------------------------------------------------------------


def test_a_refusal_is_an_error_to_the_model_and_nothing_else_is(
    world: Protected, shop: Shop, invoke: Any
) -> None:
    calls = [("lookup_order", {"order": 1}), ("wipe_disk", {"disk": "a"}), ("lookup_order", {"order": 2})]
    agent = create_agent(model(*calls), tools_of(shop), middleware=[middleware(world)])
    result = invoke(agent, HELLO)

    assert [message.status for message in messages(result)] == ["success", "error", "success"]


def test_a_tool_nobody_registered_with_the_agent_does_not_run(
    world: Protected, shop: Shop, invoke: Any
) -> None:
    agent = create_agent(model(("mystery", {})), tools_of(shop), middleware=[middleware(world)])
    result = invoke(agent, HELLO)

    assert shop.ran == []
    assert messages(result)[0].status == "error"


def test_a_pending_call_interrupts_and_a_new_agent_object_resumes_it(
    world: Protected, shop: Shop, invoke: Any
) -> None:
    saver, config = InMemorySaver(), {"configurable": {"thread_id": f"t-{world.agent_id}"}}
    calls = [("publish_page", {"title": "x"}), ("lookup_order", {"order": 1})]

    def agent(*asked: tuple[str, dict[str, Any]]) -> Any:
        fresh = Model(responses=[AIMessage("done")]) if not asked else model(*asked)
        return create_agent(fresh, tools_of(shop), middleware=[middleware(world)], checkpointer=saver)

    paused = invoke(agent(*calls), HELLO, config)
    question = paused["__interrupt__"][0].value
    before = list(shop.ran)
    too_early = invoke(agent(), Command(resume=True), config)
    world.person.approve(question["approval"]["id"])
    result = invoke(agent(), Command(resume=True), config)

    assert question["tool"] == "publish_page"
    assert before == [("lookup_order", 1)]
    assert too_early["__interrupt__"]
    assert shop.ran == [("lookup_order", 1), ("publish_page", "x")]
    assert result["messages"][-1].content == "done"
    assert [row for row in world.record() if row[0] == "publish_page"] == [
        ("publish_page", "PENDING", None),
        ("publish_page", "APPROVED", "success"),
    ]


def test_a_resumed_call_that_a_person_denied_does_not_run(world: Protected, shop: Shop, invoke: Any) -> None:
    config = {"configurable": {"thread_id": "denied"}}
    asked = Model(responses=[*model(("publish_page", {"title": "x"})).responses])
    agent = create_agent(asked, tools_of(shop), middleware=[middleware(world)], checkpointer=InMemorySaver())
    paused = invoke(agent, HELLO, config)
    world.person.deny(paused["__interrupt__"][0].value["approval"]["id"])
    result = invoke(agent, Command(resume=True), config)

    assert shop.ran == []
    assert "denied" in messages(result)[0].content


def test_several_calls_can_wait_and_be_answered_apart(world: Protected, shop: Shop, invoke: Any) -> None:
    config = {"configurable": {"thread_id": "several"}}
    asked = model(("publish_page", {"title": "x"}), ("publish_page", {"title": "y"}))
    agent = create_agent(asked, tools_of(shop), middleware=[middleware(world)], checkpointer=InMemorySaver())
    paused = invoke(agent, HELLO, config)
    waiting = {
        pause.value["arguments"]["title"]: pause.value["approval"]["id"] for pause in paused["__interrupt__"]
    }
    world.person.approve(waiting["y"])
    again = invoke(agent, Command(resume={pause.id: True for pause in paused["__interrupt__"]}), config)
    first = list(shop.ran)
    world.person.approve(waiting["x"])
    result = invoke(agent, Command(resume={pause.id: True for pause in again["__interrupt__"]}), config)

    assert first == [("publish_page", "y")]
    assert shop.ran == [("publish_page", "y"), ("publish_page", "x")]
    assert result["messages"][-1].content == "done"


def test_saying_yes_to_the_graph_is_not_an_approval(world: Protected, shop: Shop) -> None:
    config = {"configurable": {"thread_id": "yes"}}
    asked = model(("publish_page", {"title": "x"}))
    agent = create_agent(asked, tools_of(shop), middleware=[middleware(world)], checkpointer=InMemorySaver())
    agent.invoke(HELLO, config)
    for answer in (True, "approve", {"decision": "APPROVED"}):
        again = agent.invoke(Command(resume=answer), config)

        assert again["__interrupt__"]
    assert shop.ran == []


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
    world: Protected, shop: Shop, invoke: Any
) -> None:
    """LangGraph runs such a node again as a whole; an approval that was used is not used again."""
    gate = middleware(world)
    node = ToolNode(tools_of(shop), wrap_tool_call=gate.wrap_tool_call, awrap_tool_call=gate.awrap_tool_call)
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

    assert [name for name, _ in shop.ran].count("publish_page") == 1
    assert len(approved) == len(shop.ran)


def test_each_run_is_a_conversation_of_its_own(world: Protected, shop: Shop, invoke: Any) -> None:
    gate = middleware(world)
    for _ in range(4):
        agent = create_agent(model(("lookup_order", {"order": 1})), tools_of(shop), middleware=[gate])
        invoke(agent, HELLO)
    entries = world.client.get_agent_activity(world.agent_id)

    assert len(shop.ran) == 4
    assert len({entry["context"]["conversation_id"] for entry in entries if entry.get("context")}) == 4


# --- the callback ------------------------------------------------------------------------------


def test_in_a_new_agent_the_callback_hears_the_tools_alone(world: Protected, shop: Shop, invoke: Any) -> None:
    config = {"callbacks": [callback(world)]}
    agent = create_agent(model(("lookup_order", {"order": 1})), tools_of(shop))
    invoke(agent, HELLO, config)
    with pytest.raises(ToolRefused, match="corrected arguments"):
        invoke(create_agent(model(("sums", {"claim": "2+2=5"})), tools_of(shop)), HELLO, config)
    with pytest.raises(ToolRefused, match="TRUST-001"):
        invoke(create_agent(model(("wipe_disk", {"disk": "a"})), tools_of(shop)), HELLO, config)

    assert shop.ran == [("lookup_order", 1)]
    assert world.record() == [
        ("lookup_order", "APPROVED", "success"),
        ("calculate", "CORRECTED", "failure"),
        ("wipe_disk", "DENIED", None),
    ]


def test_what_is_verified_is_what_the_tool_gets_after_coercion(world: Protected) -> None:
    from langchain_core.tools import tool

    ran: list[Any] = []

    @tool
    def lookup_order(order: int, detail: str = "all") -> str:
        """Look an order up."""
        ran.append((order, detail))
        return "ok"

    calls = model(("lookup_order", {"order": "7"}))
    create_agent(calls, [lookup_order], middleware=[middleware(world)]).invoke(HELLO)
    entries = world.client.get_agent_activity(world.agent_id)
    looked = [entry for entry in entries if entry["action_type"] == "lookup_order"]

    assert ran == [(7, "all")]
    assert looked[0]["action"]["parameters"] == {"order": 7, "detail": "all"}
