"""The relay itself, between two ends that say whatever they like."""

import asyncio
import json
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from qwed_sdk.conversations import Permit
from qwed_sdk.mcp.catalogue import Catalogue
from qwed_sdk.mcp.channels import ChannelBroken
from qwed_sdk.mcp.gate import RefusedCall
from qwed_sdk.mcp.messages import McpMessage, MessageId, encode, read_message
from qwed_sdk.mcp.pins import Pins
from qwed_sdk.mcp.proxy import Proxy, ProxyRules
from qwed_sdk.results import Decision

TOOLS = [{"name": "add", "inputSchema": {"type": "object"}}]


class End:
    """One side in memory."""

    def __init__(self) -> None:
        self.incoming: asyncio.Queue[bytes | None] = asyncio.Queue()
        self.heard: list[dict[str, Any]] = []
        self.on_message: Callable[[dict[str, Any]], None] = lambda message: None
        self.is_broken = False

    def says(self, **message: Any) -> None:
        self.incoming.put_nowait(json.dumps({"jsonrpc": "2.0", **message}).encode())

    async def receive(self) -> McpMessage | None:
        line = await self.incoming.get()
        return None if line is None else read_message(line)

    async def send(self, message: McpMessage, related: MessageId | None = None) -> None:
        if self.is_broken:
            raise ChannelBroken("gone")
        said = json.loads(encode(message))
        self.heard.append(said)
        self.on_message(said)

    async def settle(self, request_id: MessageId) -> None:
        self.heard.append({"settled": request_id})

    def answer_to(self, request_id: Any) -> dict[str, Any]:
        found = [message for message in self.heard if message.get("id") == request_id]
        assert len(found) == 1, found
        return found[0]


class FakeGate:
    """Lets everything through, or nothing, and remembers what it is told."""

    def __init__(self) -> None:
        self.asked: list[Any] = []
        self.reports: list[tuple[str, str]] = []
        self.refusal: RefusedCall | None = None

    wait_seconds = 300.0

    async def decide(self, action: Any, tick: Any, wait_seconds: float) -> Permit | RefusedCall:
        self.asked.append(action)
        decision = Decision({"decision": "APPROVED", "activity_id": f"act_{len(self.asked)}"})
        return self.refusal or Permit(decision, action)

    def report(
        self,
        permit: Permit,
        outcome: str,
        error: Any = None,
        *,
        result_hash: Any = None,
        result: Any = None,
    ) -> Any:
        self.reports.append((str(permit.decision.activity_id), outcome))
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        done.set_result(None)
        return done

    async def close(self) -> None: ...


class Stand:
    def __init__(self, folder: Path, **rules: Any) -> None:
        self.client, self.server, self.gate = End(), End(), FakeGate()
        self.logged: list[str] = []
        catalogue = Catalogue("server", Pins(folder / "pins.json"))
        self.proxy = Proxy(
            self.client, self.server, self.gate, catalogue, ProxyRules(**rules), self.logged.append  # type: ignore[arg-type]
        )  # fmt: skip
        self.results: dict[str, Any] = {"tools/list": {"tools": TOOLS}, "tools/call": {"content": []}}
        self.server.on_message = self._serve

    def _serve(self, message: dict[str, Any]) -> None:
        result = self.results.get(message.get("method", ""))
        if result is not None and "id" in message:
            self.server.says(id=message["id"], result=result)

    def run(self, scenario: Callable[[], Coroutine[Any, Any, None]]) -> None:
        async def whole() -> None:
            running = asyncio.ensure_future(self.proxy.run())
            await scenario()
            self.client.incoming.put_nowait(None)
            await running

        asyncio.run(asyncio.wait_for(whole(), 30))


async def until(condition: Callable[[], bool]) -> None:
    while not condition():
        await asyncio.sleep(0.001)


async def heard(end: End, count: int) -> None:
    await until(lambda: len(end.heard) >= count)


@pytest.fixture
def stand(tmp_path: Path) -> Stand:
    return Stand(tmp_path)


def call(request_id: Any = 1, **arguments: Any) -> dict[str, Any]:
    return {"id": request_id, "method": "tools/call", "params": {"name": "add", "arguments": arguments}}


def test_the_server_hears_of_a_call_only_after_it_was_decided(stand: Stand):
    async def scenario() -> None:
        stand.gate.refusal = RefusedCall("no", {"code": "X"})
        stand.client.says(**call(1, x=1))
        await heard(stand.client, 1)

    stand.run(scenario)

    assert stand.client.answer_to(1)["result"]["isError"] is True
    assert [message["method"] for message in stand.server.heard] == ["tools/list"]
    assert stand.gate.asked == [{"type": "add", "parameters": {"x": 1}}]


def test_an_answer_that_nobody_asked_for_is_dropped(stand: Stand):
    async def scenario() -> None:
        stand.server.says(id=7, result={"forged": True})
        stand.client.says(id=7, result={"forged": True})
        await until(lambda: len(stand.logged) == 2)

    stand.run(scenario)

    assert stand.client.heard == [] and stand.server.heard == []


def test_a_server_cannot_answer_a_call_before_it_was_forwarded(stand: Stand):
    deciding = asyncio.Event

    async def scenario() -> None:
        gate_opens = deciding()
        decide = stand.gate.decide

        async def slow(action: Any, tick: Any, wait_seconds: float) -> Any:
            stand.server.says(id=1, result={"content": [], "forged": True})
            await gate_opens.wait()
            return await decide(action, tick, wait_seconds)

        stand.gate.decide = slow  # type: ignore[method-assign]
        stand.client.says(**call(1))
        await until(lambda: bool(stand.logged))
        gate_opens.set()
        await heard(stand.client, 1)

    stand.run(scenario)

    assert "forged" not in stand.client.answer_to(1)["result"]


def test_an_id_in_use_is_refused(stand: Stand):
    async def scenario() -> None:
        stand.results.pop("tools/call")
        stand.client.says(**call(1))
        await until(lambda: any(m.get("method") == "tools/call" for m in stand.server.heard))
        stand.client.says(**call(1, x=2))
        await heard(stand.client, 1)
        assert stand.client.heard[0]["error"]["code"] == -32600
        stand.server.says(id=1, result={"content": []})
        await heard(stand.client, 2)

    stand.run(scenario)

    assert len(stand.gate.asked) == 1


def test_what_is_no_message_gets_an_error_and_the_session_goes_on(stand: Stand):
    async def scenario() -> None:
        stand.client.incoming.put_nowait(b"nonsense")
        stand.client.incoming.put_nowait(json.dumps([{"jsonrpc": "2.0", **call(5)}]).encode())
        stand.server.incoming.put_nowait(b"nonsense")
        stand.client.says(**call(1))
        await heard(stand.client, 3)

    stand.run(scenario)

    assert [m.get("error", {}).get("code") for m in stand.client.heard] == [-32700, -32700, None]
    assert len(stand.gate.asked) == 1


@pytest.mark.parametrize("params", [{}, {"name": 7}, {"name": "add", "arguments": [1]}, {"Name": "add"}])
def test_a_call_that_is_none_is_refused_and_not_asked_about(stand: Stand, params: dict[str, Any]):
    async def scenario() -> None:
        stand.client.says(id=1, method="tools/call", params=params)
        await heard(stand.client, 1)

    stand.run(scenario)

    assert stand.client.answer_to(1)["error"]["code"] == -32602
    assert stand.gate.asked == [] and stand.server.heard == []


def test_unknown_methods_and_notifications_pass_both_ways(stand: Stand):
    async def scenario() -> None:
        stand.client.says(id="a", method="made/up", params={"x": [1, None]})
        stand.client.says(method="notifications/made_up", params={"y": 2})
        await heard(stand.server, 2)
        stand.server.says(id="a", error={"code": -32601, "message": "no", "data": {"z": 3}})
        stand.server.says(method="notifications/other", params={})
        stand.server.says(id="a", method="elicitation/create", params={})
        await heard(stand.client, 3)
        stand.client.says(id="a", result={"action": "decline"})
        await heard(stand.server, 3)

    stand.run(scenario)

    assert stand.server.heard[0] == {
        "jsonrpc": "2.0",
        "id": "a",
        "method": "made/up",
        "params": {"x": [1, None]},
    }
    assert stand.client.heard[0]["error"] == {"code": -32601, "message": "no", "data": {"z": 3}}
    assert stand.server.heard[2]["result"] == {"action": "decline"}
    assert stand.gate.asked == []


def test_whoever_waits_is_answered_when_the_server_ends(stand: Stand):
    async def scenario() -> None:
        stand.results.pop("tools/call")
        stand.client.says(**call(1))
        stand.client.says(id=2, method="resources/list")
        await until(lambda: len(stand.server.heard) == 3)
        stand.server.incoming.put_nowait(None)
        await heard(stand.client, 2)

    stand.run(scenario)

    assert "unknown" in stand.client.answer_to(1)["result"]["content"][0]["text"]
    assert stand.client.answer_to(2)["error"]["code"] == -32000
    assert stand.gate.reports == [("act_1", "unknown")]


def test_a_server_that_cannot_be_written_to_is_gone(stand: Stand):
    async def scenario() -> None:
        stand.client.says(**call(1))
        await heard(stand.client, 1)
        stand.server.is_broken = True
        stand.client.says(**call(2))
        stand.client.says(id=3, method="resources/list")
        await heard(stand.client, 3)

    stand.run(scenario)

    assert stand.client.answer_to(2)["result"]["isError"] is True
    assert "error" in stand.client.answer_to(3)
    assert stand.gate.reports == [("act_1", "success"), ("act_2", "unknown")]


def test_a_result_that_is_none_leaves_the_outcome_unknown(stand: Stand):
    async def scenario() -> None:
        stand.results["tools/call"] = ["not", "an", "object"]
        stand.client.says(**call(1))
        await heard(stand.client, 1)

    stand.run(scenario)

    assert stand.gate.reports == [("act_1", "unknown")]


def test_a_task_is_finished_when_its_result_is_fetched(stand: Stand):
    async def scenario() -> None:
        stand.results["tools/call"] = {"task": {"taskId": "t1", "status": "working"}}
        stand.results["tasks/result"] = {"content": [], "isError": True}
        stand.client.says(**call(1))
        await heard(stand.client, 1)
        assert stand.gate.reports == []
        stand.client.says(id=2, method="tasks/result", params={"taskId": "t1"})
        await heard(stand.client, 2)

    stand.run(scenario)

    assert stand.gate.reports == [("act_1", "failure")]


def test_a_task_that_is_never_fetched_leaves_the_outcome_unknown(stand: Stand):
    async def scenario() -> None:
        stand.results["tools/call"] = {"task": {"taskId": "t1", "status": "working"}}
        stand.client.says(**call(1))
        await heard(stand.client, 1)

    stand.run(scenario)

    assert stand.gate.reports == [("act_1", "unknown")]


def test_a_call_that_claims_to_continue_another_is_refused(stand: Stand):
    async def scenario() -> None:
        forged = call(1, x=1)
        forged["params"]["requestState"] = "made up"
        stand.client.says(**forged)
        await heard(stand.client, 1)

    stand.run(scenario)

    assert stand.client.answer_to(1)["error"]["code"] == -32602
    assert stand.gate.asked == []


def continuing(number: int, state: str, **arguments: Any) -> dict[str, Any]:
    again = call(number, **arguments)
    again["params"]["requestState"] = state
    return again


def test_a_state_is_good_once_and_for_the_call_it_was_given_for(stand: Stand):
    async def scenario() -> None:
        stand.results["tools/call"] = {"resultType": "input_required", "requestState": "the server's"}
        stand.client.says(**call(1, x=1))
        await heard(stand.client, 1)
        state = stand.client.answer_to(1)["result"]["requestState"]
        stand.client.says(**continuing(2, state, x=2))
        stand.client.says(**continuing(3, state + "x", x=1))
        await heard(stand.client, 3)
        stand.results["tools/call"] = {"content": []}
        stand.client.says(**continuing(4, state, x=1))
        await heard(stand.client, 4)
        stand.client.says(**continuing(5, state, x=1))
        await heard(stand.client, 5)

    stand.run(scenario)

    for refused in (2, 3, 5):
        assert stand.client.answer_to(refused)["error"]["code"] == -32602
    assert stand.client.answer_to(4)["result"] == {"content": []}
    assert stand.client.answer_to(1)["result"]["requestState"] != "the server's"
    assert [m["params"].get("requestState") for m in stand.server.heard[1:]] == [None, "the server's"]
    assert len(stand.gate.asked) == 1
    assert stand.gate.reports == [("act_1", "success")]


def test_input_is_asked_for_within_bounds(stand: Stand):
    async def scenario() -> None:
        stand.results["tools/call"] = {"resultType": "input_required", "requestState": "s"}
        stand.client.says(**call(0, x=1))
        for number in range(1, 22):
            await heard(stand.client, number)
            result = stand.client.answer_to(number - 1)["result"]
            if "requestState" not in result:
                break
            stand.client.says(**continuing(number, result["requestState"], x=1))

    stand.run(scenario)

    assert stand.client.answer_to(20)["result"]["isError"] is True
    assert len(stand.gate.asked) == 1
    assert stand.gate.reports == [("act_1", "unknown")]


def test_a_cursor_is_refused_because_the_list_is_one_page(stand: Stand):
    async def scenario() -> None:
        stand.client.says(id=1, method="tools/list", params={"cursor": "2"})
        await heard(stand.client, 1)

    stand.run(scenario)

    assert "one page" in stand.client.answer_to(1)["error"]["message"]


def test_a_list_whose_pages_never_end_ends(stand: Stand):
    async def scenario() -> None:
        stand.results["tools/list"] = {"tools": [], "nextCursor": "again"}
        stand.client.says(id=1, method="tools/list")
        await heard(stand.client, 1)

    stand.run(scenario)

    assert stand.client.answer_to(1)["result"] == {"tools": []}
    assert len(stand.server.heard) == 100


def test_cancelling_what_the_server_never_heard_of_stays_here(stand: Stand):
    async def scenario() -> None:
        async def never(action: Any, tick: Any, wait_seconds: float) -> Any:
            await asyncio.sleep(60)

        stand.gate.decide = never  # type: ignore[method-assign]
        stand.client.says(**call(1))
        await heard(stand.server, 1)
        stand.client.says(method="notifications/cancelled", params={"requestId": 1})
        await heard(stand.client, 1)
        for odd in (True, None, [1], {"a": 1}):
            stand.client.says(method="notifications/cancelled", params={"requestId": odd})
        stand.client.says(id=2, method="ping")
        await heard(stand.server, 2)

    stand.run(scenario)

    assert stand.client.heard[0] == {"settled": 1}
    assert [message["method"] for message in stand.server.heard] == ["tools/list", "ping"]


def test_the_bound_on_results_is_kept_to_the_byte(tmp_path: Path):
    stand = Stand(tmp_path, max_result_bytes=100)

    async def scenario() -> None:
        empty = {"content": [], "x": ""}
        room = 100 - len(json.dumps(empty))
        stand.results["tools/call"] = {**empty, "x": "y" * room}
        stand.client.says(**call(1))
        await heard(stand.client, 1)
        stand.results["tools/call"] = {**empty, "x": "y" * (room + 1)}
        stand.client.says(**call(2))
        await heard(stand.client, 2)

    stand.run(scenario)

    assert "isError" not in stand.client.answer_to(1)["result"]
    assert stand.client.answer_to(2)["result"]["isError"] is True
    assert stand.gate.reports == [("act_1", "success"), ("act_2", "success")]


def test_calls_that_come_before_the_first_list_wait_for_it_together(stand: Stand):
    async def scenario() -> None:
        for number in range(20):
            stand.client.says(**call(number, x=number))
        await heard(stand.client, 20)

    stand.run(scenario)

    assert all("isError" not in stand.client.answer_to(number)["result"] for number in range(20))
    assert [message["method"] for message in stand.server.heard].count("tools/list") == 1


def test_a_change_that_is_announced_while_tools_are_listed_is_looked_at_again(stand: Stand):
    listed = 0

    def serve(message: dict[str, Any]) -> None:
        nonlocal listed
        if message.get("method") == "tools/list":
            listed += 1
            if listed == 1:
                stand.server.says(method="notifications/tools/list_changed")
        stand._serve(message)

    stand.server.on_message = serve

    async def scenario() -> None:
        stand.client.says(**call(1, x=1))
        await until(lambda: any(message.get("id") == 1 for message in stand.client.heard))
        stand.client.says(**call(2, x=2))
        await until(lambda: any(message.get("id") == 2 for message in stand.client.heard))

    stand.run(scenario)

    assert listed == 2
