"""The SDK against a real gateway: the guide's conversation, word for word."""

import asyncio
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pytest

from qwed_sdk import ActionDenied, AsyncQWEDClient, GatewayUnavailable, QWEDClient

KEY = "qwed_live_sdk_test_operator_key_0123456789"

pytestmark = pytest.mark.xdist_group("sdk")


@pytest.fixture(scope="module")
def base_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder: Path = tmp_path_factory.mktemp("sdk")
    environ = {**os.environ, "QWED_OPERATOR_KEY": KEY, "QWED_DATABASE": str(folder / "qwed.db")}
    server = subprocess.Popen(
        [sys.executable, "-m", "qwed", "serve", "--port", "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environ,
        cwd=folder,
        text=True,
    )
    assert server.stdout is not None
    address = server.stdout.readline().split()[-1]
    yield address
    server.terminate()
    assert server.wait(60) == 0
    server.stdout.close()


@pytest.fixture
def client(base_url: str) -> Iterator[QWEDClient]:
    with QWEDClient(api_key=KEY, base_url=base_url) as made:
        yield made


def register(client: QWEDClient) -> str:
    agent = client.register_agent(
        name="DataAnalyst",
        type="supervised",
        principal_id="user_123",
        permissions={"allowed_engines": ["math", "logic", "sql"], "blocked_tools": ["execute_code"]},
        budget={"max_daily_cost_usd": 100, "max_requests_per_hour": 500},
    )
    return str(agent["agent_id"])


def test_parameters_that_are_no_numbers_are_refused_by_the_gateway(client: QWEDClient) -> None:
    agent_id = register(client)
    action = {"type": "calculate", "query": "2+2", "parameters": {"rate": float("nan")}}

    result = client.verify_action(agent_id, action, {"conversation_id": "conv_nan", "step_number": 1})

    assert (result["decision"], result.code) == ("DENIED", "QWED-AGENT-STATE-004")


def test_money_may_be_a_decimal(client: QWEDClient) -> None:
    agent = client.register_agent("a", principal_id="p", budget={"max_daily_cost_usd": Decimal("1.50")})

    assert agent["budget"]["max_daily_cost_usd"] == 1.5


def test_the_guides_conversation_gives_the_guides_answers(client: QWEDClient) -> None:
    agent_id = register(client)

    def ask(step: int, **action: str) -> tuple[str, str | None]:
        context = {"conversation_id": "conv_1", "step_number": step}
        result = client.verify_action(agent_id=agent_id, action=action, context=context)
        return result["decision"], result.code

    assert ask(1, type="calculate", query="2+2") == ("APPROVED", None)
    assert ask(1, type="calculate", query="2+2") == ("DENIED", "QWED-AGENT-LOOP-002")
    assert ask(2, type="calculate", query="2+2") == ("APPROVED", None)
    assert ask(3, type="calculate", query="2+2") == ("DENIED", "QWED-AGENT-LOOP-003")
    assert ask(3, type="verify_logic", query="x > 1") == ("APPROVED", None)
    assert ask(4, type="do_arbitrary_thing", query="...") == ("DENIED", "QWED-AGENT-ACTION-001")


def test_budget_and_activity_read_as_in_the_guide(client: QWEDClient) -> None:
    agent_id = register(client)
    client.verify_action(
        agent_id, {"type": "calculate", "query": "2+2"}, {"conversation_id": "c", "step_number": 1}
    )

    budget = client.get_agent_budget(agent_id)
    activity = client.get_agent_activity(agent_id, limit=10)

    assert budget["cost"] == {"max_daily_usd": 100, "max_per_request_usd": 1, "current_daily_usd": 0.01}
    assert budget["requests"]["max_per_hour"] == 500
    assert (activity[0]["action_type"], activity[0]["decision"]) == ("calculate", "APPROVED")


def test_iterating_activity_reaches_every_page(client: QWEDClient) -> None:
    agent_id = register(client)
    for number in range(7):
        context = {"conversation_id": f"c{number}", "step_number": 1}
        client.verify_action(agent_id, {"type": "calculate", "query": f"{number}+1"}, context)

    found = list(client.iterate_agent_activity(agent_id, limit=3, action_type="calculate"))

    assert [entry["action"]["query"] for entry in found] == [f"{n}+1" for n in range(6, -1, -1)]


def test_a_conversation_numbers_its_steps_and_reports_outcomes(client: QWEDClient) -> None:
    agent_id = register(client)
    conversation = client.conversation(agent_id)

    with conversation.action({"type": "calculate", "query": "2+2=5"}) as permit:
        assert permit.action["query"] == "2+2=4"
    with (
        pytest.raises(ActionDenied, match="QWED-AGENT-TRUST-001"),
        conversation.action({"type": "execute_sql", "query": "DROP TABLE users"}),
    ):
        pytest.fail("a denied action ran")
    with pytest.raises(ZeroDivisionError), conversation.action({"type": "calculate", "query": "1+1"}):
        1 / 0
    entries = client.get_agent_activity(agent_id, conversation_id=conversation.conversation_id)

    steps = [
        (e["context"]["step_number"], e["decision"], e.get("execution", {}).get("outcome")) for e in entries
    ]
    assert steps == [(2, "APPROVED", "failure"), (2, "DENIED", None), (1, "CORRECTED", "success")]


def test_events_arrive_while_they_happen(client: QWEDClient) -> None:
    agent_id = register(client)
    heard: list[str] = []
    listening = threading.Event()

    def listen() -> None:
        for event in client.events():
            heard.append(f"{event.type}:{event.get('agent_id')}:{event.get('decision')}")
            listening.set()
            return

    thread = threading.Thread(target=listen, daemon=True)
    thread.start()
    for number in range(50):
        context = {"conversation_id": f"events-{number}", "step_number": 1}
        client.verify_action(agent_id, {"type": "calculate", "query": f"{number}"}, context)
        if listening.wait(0.1):
            break

    assert heard == [f"decision:{agent_id}:APPROVED"]


def test_the_async_client_gives_the_same_answers(base_url: str) -> None:
    async def scenario() -> list[str]:
        async with AsyncQWEDClient(api_key=KEY, base_url=base_url) as client:
            agent = await client.register_agent("async", principal_id="user_123")
            agent_id = agent.agent_id
            answers = [
                client.verify_action(
                    agent_id,
                    {"type": "calculate", "query": "1+1"},
                    {"conversation_id": "same", "step_number": 1},
                )
                for _ in range(16)
            ]
            return sorted(answer["decision"] for answer in await asyncio.gather(*answers))

    assert asyncio.run(scenario()) == ["APPROVED"] + ["DENIED"] * 15


def test_a_gateway_that_is_not_there_is_unavailable() -> None:
    client = QWEDClient(api_key=KEY, base_url="http://127.0.0.1:9", max_tries=1)

    with client, pytest.raises(GatewayUnavailable):
        client.get_agent("agent_1")


def test_the_history_of_trust_says_what_changed_and_why(client: QWEDClient, base_url: str) -> None:
    agent_id = register(client)
    client.set_trust(agent_id, "autonomous", "a good month")
    client.suspend(agent_id, "maintenance")
    found = client.trust_history(agent_id, limit=2)
    older = client.trust_history(agent_id, cursor=found["next"])

    assert (found["trust_level"], found["status"]) == (2, "suspended")
    changes = [*found["changes"], *older["changes"]]
    assert [change["cause"] for change in changes] == ["suspended", "set", "registered"]
    assert (changes[1]["from_level"], changes[1]["to_level"], changes[1]["reason"]) == (1, 2, "a good month")

    async def ask() -> int:
        async with AsyncQWEDClient(api_key=KEY, base_url=base_url) as other:
            await other.set_trust(agent_id, 0, "an accident")
            return int((await other.trust_history(agent_id))["trust_level"])

    assert asyncio.run(ask()) == 0
