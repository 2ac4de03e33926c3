"""The gate in front of tools, against a real gateway: what runs, with what, and what is recorded."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from tests.support.protected import Protected

from qwed_sdk import ToolAs, ToolGate, ToolRefused, tool_run, verified

pytestmark = pytest.mark.xdist_group("sdk")


class Tool:
    """Remembers how it was called."""

    def __init__(self, error: BaseException | None = None) -> None:
        self.calls: list[dict[str, Any]] = []
        self.error = error

    def __call__(self, arguments: dict[str, Any]) -> str:
        self.calls.append(arguments)
        if self.error is not None:
            raise self.error
        return "done"

    async def arun(self, arguments: dict[str, Any]) -> str:
        return self(arguments)


def test_an_approved_call_runs_once_and_its_outcome_is_recorded(world: Protected) -> None:
    tool = Tool()

    assert world.gate().run("lookup_order", {"order": 7}, tool) == "done"
    assert tool.calls == [{"order": 7}]
    assert world.record() == [("lookup_order", "APPROVED", "success")]


def test_a_denied_call_does_not_run_and_says_why(world: Protected) -> None:
    tool = Tool()

    with pytest.raises(ToolRefused, match="QWED-AGENT-TRUST-001") as refused:
        world.gate().run("wipe_disk", {"disk": "a"}, tool)

    assert tool.calls == []
    assert refused.value.decision is not None
    assert world.record() == [("wipe_disk", "DENIED", None)]


def test_an_unknown_tool_does_not_run(world: Protected) -> None:
    tool = Tool()

    with pytest.raises(ToolRefused, match="QWED-AGENT-ACTION-001"):
        world.gate().run("never_heard_of", {}, tool)

    assert tool.calls == []


def test_a_corrected_call_runs_corrected(world: Protected) -> None:
    tool = Tool()
    gate = world.gate(tool_map={"sums": ToolAs("calculate", query="claim")})

    gate.run("sums", {"claim": "2+2=5"}, tool)
    gate.run("execute_sql", {"query": "SELECT name FROM users"}, tool)

    assert tool.calls == [{"claim": "2+2=4"}, {"query": "SELECT name FROM users LIMIT 100"}]
    assert [decision for _, decision, _ in world.record()] == ["CORRECTED", "CORRECTED"]


def test_a_pending_call_runs_only_after_a_person_approved(world: Protected) -> None:
    tool = Tool()
    gate = world.gate()
    with world.person_answers() as waiting:
        gate.run("publish_page", {"title": "hello"}, tool)

    assert waiting[0]["action"]["parameters"] == {"title": "hello"}
    assert tool.calls == [{"title": "hello"}]
    assert world.record() == [
        ("publish_page", "PENDING", None),
        ("publish_page", "APPROVED", "success"),
    ]


def test_a_call_that_a_person_denies_does_not_run_and_carries_their_word(world: Protected) -> None:
    tool = Tool()
    with world.person_answers("deny", note="not today"), pytest.raises(ToolRefused, match="not today"):
        world.gate().run("publish_page", {"title": "hello"}, tool)

    assert tool.calls == []


def test_a_call_that_a_person_edits_runs_as_they_wrote_it(world: Protected) -> None:
    tool = Tool()
    edited = {"type": "publish_page", "parameters": {"title": "Hello"}}
    with world.person_answers("approve", action=edited):
        world.gate().run("publish_page", {"title": "hello"}, tool)

    assert tool.calls == [{"title": "Hello"}]


def test_a_call_that_waits_too_long_does_not_run(world: Protected) -> None:
    tool = Tool()

    with pytest.raises(ToolRefused, match="nobody has answered"):
        world.gate(wait_seconds=0.3).run("publish_page", {"title": "hello"}, tool)

    assert tool.calls == []


def test_a_secret_in_an_approved_call_is_used_as_it_is(world: Protected) -> None:
    """People see it masked; what runs is what was proposed."""
    tool = Tool()
    secret = "Correct-Horse-9-Battery"
    with world.person_answers() as waiting:
        world.gate().run("publish_page", {"title": "x", "password": secret}, tool)

    assert secret not in str(waiting)
    assert tool.calls == [{"title": "x", "password": secret}]


@pytest.mark.parametrize(
    ("error", "outcome"),
    [(ValueError("broken"), "failure"), (TimeoutError("slow"), "unknown")],
    ids=["error", "timeout"],
)
def test_a_tool_that_fails_is_reported_and_its_error_passed_on(
    world: Protected, error: Exception, outcome: str
) -> None:
    with pytest.raises(type(error)):
        world.gate().run("lookup_order", {"order": 1}, Tool(error))

    assert world.record() == [("lookup_order", "APPROVED", outcome)]


def test_parallel_calls_of_one_conversation_take_turns(world: Protected) -> None:
    tool, gate = Tool(), world.gate()
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda n: gate.run("lookup_order", {"order": n}, tool), range(16)))

    assert sorted(call["order"] for call in tool.calls) == list(range(16))
    assert [decision for _, decision, _ in world.record()] == ["APPROVED"] * 16


def test_a_call_that_waits_does_not_hold_up_the_others(world: Protected) -> None:
    tool, gate = Tool(), world.gate()
    waits = threading.Thread(target=lambda: gate.run("publish_page", {"title": "x"}, tool))
    waits.start()
    approval = world.open_approval()
    gate.run("lookup_order", {"order": 1}, tool)
    before = list(tool.calls)
    world.person.approve(approval["id"])
    waits.join(60)

    assert before == [{"order": 1}]
    assert tool.calls == [{"order": 1}, {"title": "x"}]


def test_a_gate_that_starts_again_goes_on_counting(world: Protected) -> None:
    tool = Tool()
    for number in range(3):
        world.gate().run("lookup_order", {"order": number}, tool, conversation_id="one-thread")

    assert len(tool.calls) == 3


def test_repeated_calls_are_stopped_within_one_conversation(world: Protected) -> None:
    tool, gate = Tool(), world.gate()

    def repeat() -> None:
        gate.run("lookup_order", {"order": 1}, tool)

    with tool_run("a"):
        repeat()
        repeat()
        with pytest.raises(ToolRefused, match="QWED-AGENT-LOOP-003"):
            repeat()
    with tool_run("b"):
        repeat()

    assert len(tool.calls) == 3


def test_a_call_that_failed_may_be_tried_again_until_it_works(world: Protected) -> None:
    tool, gate = Tool(ValueError("the network is down")), world.gate()
    for _ in range(4):
        with pytest.raises(ValueError, match="network"):
            gate.run("lookup_order", {"order": 1}, tool)
    tool.error = None
    gate.run("lookup_order", {"order": 1}, tool)
    gate.run("lookup_order", {"order": 1}, tool)
    with pytest.raises(ToolRefused, match="QWED-AGENT-LOOP-003"):
        gate.run("lookup_order", {"order": 1}, tool)

    assert len(tool.calls) == 6


def test_a_run_with_a_very_long_name_is_a_conversation_too(world: Protected) -> None:
    tool, gate = Tool(), world.gate()
    for number in range(2):
        gate.run("lookup_order", {"order": number}, tool, conversation_id="run" * 200)

    assert len(tool.calls) == 2


def test_an_error_that_is_no_text_is_reported_all_the_same(world: Protected) -> None:
    with pytest.raises(ValueError, match="\ud800"):
        world.gate().run("lookup_order", {"order": 1}, Tool(ValueError("\ud800")))

    assert world.record() == [("lookup_order", "APPROVED", "failure")]


def test_arguments_that_cannot_be_shown_do_not_run(world: Protected) -> None:
    tool = Tool()

    with pytest.raises(ToolRefused, match="JSON form"):
        world.gate().run("lookup_order", {"order": object()}, tool)

    assert tool.calls == []
    assert world.record() == []


@pytest.mark.parametrize("kind", ["async", "threads"])
def test_under_asyncio_the_same_holds(world: Protected, kind: str) -> None:
    tool = Tool()

    async def scenario() -> list[Any]:
        client = world.async_client() if kind == "async" else world.client
        gate = world.gate(client=client)
        calls = [
            gate.arun("lookup_order", {"order": 1}, tool.arun),
            gate.arun("execute_sql", {"query": "SELECT a FROM b"}, tool.arun),
            gate.arun("wipe_disk", {}, tool.arun),
            gate.arun("publish_page", {"title": "x"}, tool.arun),
        ]
        with world.person_answers():
            results = await asyncio.gather(*calls, return_exceptions=True)
        if kind == "async":
            await client.aclose()
        return [type(result).__name__ for result in results]

    assert asyncio.run(scenario()) == ["str", "str", "ToolRefused", "str"]
    assert {"query": "SELECT a FROM b LIMIT 100"} in tool.calls
    assert len(tool.calls) == 3


def test_a_cancelled_tool_has_an_unknown_outcome(world: Protected) -> None:
    async def scenario() -> None:
        started = asyncio.Event()

        async def endless(_: dict[str, Any]) -> None:
            started.set()
            await asyncio.sleep(60)

        task = asyncio.create_task(world.gate().arun("lookup_order", {"order": 1}, endless))
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(scenario())

    assert world.record() == [("lookup_order", "APPROVED", "unknown")]


def test_a_decorated_function_runs_only_when_it_may(world: Protected) -> None:
    ran: list[Any] = []
    gate = world.gate()

    @verified(gate, action_type="lookup_order")
    def look(order: int, detail: str = "all", *more: int, **others: Any) -> str:
        ran.append((order, detail, more, others))
        return f"order {order}"

    @verified(gate, action_type="calculate", query="claim")
    async def check(claim: str) -> str:
        return claim

    @verified(gate)
    def wipe_disk(disk: str) -> None:
        ran.append(disk)

    assert look(1, "all", 2, 3, tone="kind") == "order 1"
    assert asyncio.run(check("2+2=5")) == "2+2=4"
    with pytest.raises(ToolRefused):
        wipe_disk("a")
    assert ran == [(1, "all", (2, 3), {"tone": "kind"})]


def test_a_decorator_finds_the_only_agent_of_its_client(world: Protected) -> None:
    from qwed_sdk import QWEDClient

    with QWEDClient(world.key, world.server.base_url) as client:

        @verified(client, action_type="lookup_order")
        def look(order: int) -> int:
            return order

        with pytest.raises(ValueError, match="agent_id="):
            look(1)
        client.register_agent("only", "autonomous", "acme")

        assert look(1) == 1


def test_a_dead_gateway_means_that_nothing_runs(tmp_path: Any) -> None:
    tool = Tool()
    protected = Protected(tmp_path)
    protected.start()
    gate = protected.gate()
    gate.run("lookup_order", {"order": 1}, tool)
    protected.server.kill()

    with pytest.raises(ToolRefused, match="no usable answer"):
        gate.run("lookup_order", {"order": 2}, tool)
    with pytest.raises(ToolRefused, match="no usable answer"):
        asyncio.run(gate.arun("lookup_order", {"order": 3}, tool.arun))
    assert tool.calls == [{"order": 1}]
    protected.stop()


def test_a_gateway_killed_while_a_call_waits_means_that_it_does_not_run(tmp_path: Any) -> None:
    tool = Tool()
    protected = Protected(tmp_path)
    protected.start()
    refusals: list[str] = []

    def call() -> None:
        try:
            protected.gate().run("publish_page", {"title": "x"}, tool)
        except ToolRefused as refused:
            refusals.append(refused.reason)

    thread = threading.Thread(target=call)
    thread.start()
    protected.open_approval()
    protected.server.kill()
    thread.join(60)

    assert refusals == ["the gateway gave no usable answer"]
    assert tool.calls == []
    protected.stop()


def test_a_gateway_that_dies_while_a_tool_runs_does_not_fail_the_tool(tmp_path: Any) -> None:
    protected = Protected(tmp_path)
    protected.start()

    def kill(_: dict[str, Any]) -> str:
        protected.server.kill()
        return "done"

    assert protected.gate().run("lookup_order", {"order": 1}, kill) == "done"
    protected.stop()


def test_a_gate_with_the_wrong_kind_of_client_refuses(world: Protected) -> None:
    tool = Tool()
    client = world.async_client()
    gate = ToolGate(world.agent_id, client=client)

    with pytest.raises(ToolRefused, match="TypeError"):
        gate.run("lookup_order", {"order": 1}, tool)

    assert tool.calls == []
    asyncio.run(client.aclose())


def test_an_argument_is_shown_whatever_it_is_called(world: Protected) -> None:
    gate = world.gate()

    @verified(gate, action_type="lookup_order")
    def look(self: str, cls: int = 3) -> tuple[str, int]:
        return self, cls

    class Desk:
        @verified(gate, action_type="lookup_order")
        def find(this, order: int) -> int:
            return order

        @classmethod
        @verified(gate, action_type="lookup_order")
        def found(cls, order: int) -> int:
            return order

        @staticmethod
        @verified(gate, action_type="lookup_order")
        def seek(self: int) -> int:
            return self

    assert look("me") == ("me", 3)
    assert (Desk().find(1), Desk.found(2), Desk.seek(3)) == (1, 2, 3)
    entries = world.client.get_agent_activity(world.agent_id)
    looked = [entry for entry in reversed(entries) if entry["action_type"] == "lookup_order"]
    assert [entry["action"]["parameters"] for entry in looked] == [
        {"self": "me", "cls": 3},
        {"order": 1},
        {"order": 2},
        {"self": 3},
    ]
