"""`Gateway` in the caller's own process: the decisions of HTTP, from any thread, beside any loop."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from tests.support.server import Server
from tests.support.services import shared

from qwed import Gateway, RequestError
from qwed.stores import DatabaseInUse

pytestmark = pytest.mark.xdist_group("embedded")


@pytest.fixture(params=[":memory:", "file"])
def gateway(request, tmp_path):
    with Gateway.open(request.param if request.param == ":memory:" else tmp_path / "qwed.db") as gateway:
        yield gateway


def register(gateway, **more):
    permissions = {"allowed_engines": ["math", "logic", "sql", "code", "fact"]}
    return gateway.register_agent(
        **{"name": "a", "type": "autonomous", "principal_id": "acme", "permissions": permissions, **more}
    )


def verify(gateway, agent, query, step=1, conversation="c"):
    context = {"conversation_id": conversation, "step_number": step}
    return gateway.verify_action(agent["agent_id"], {"type": "calculate", "query": query}, context)


def at_once(count, work):
    barrier = threading.Barrier(count)

    def start(number):
        barrier.wait()
        return work(number)

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(start, range(count)))


def test_of_64_threads_for_one_step_one_is_approved(gateway):
    for attempt in range(5):
        agent = register(gateway)
        answers = at_once(64, lambda n, a=agent: verify(gateway, a, f"{n}+1"))
        codes = {answer.get("error", {}).get("code") for answer in answers}

        assert sum(answer["decision"] == "APPROVED" for answer in answers) == 1, attempt
        assert codes == {None, "QWED-AGENT-LOOP-002"}


def test_of_200_threads_against_100_an_hour_100_pass(gateway):
    agent = register(gateway, budget={"max_requests_per_hour": 100})
    answers = at_once(200, lambda n: verify(gateway, agent, "1+1", conversation=f"c{n}"))

    assert sum(answer["decision"] == "APPROVED" for answer in answers) == 100
    assert gateway.get_agent_budget(agent["agent_id"])["cost"]["current_daily_usd"] == 1
    assert gateway.get_agent_activity(agent["agent_id"])["summary"]["budget_exceeded"] == 100


ACTIONS = [
    {"type": "calculate", "query": "15% of 200 = 30"},
    {"type": "calculate", "query": "2+2=5"},
    {"type": "verify_logic", "query": "x > 1"},
    {"type": "execute_sql", "query": "SELECT * FROM users"},
    {"type": "execute_sql", "query": "DELETE FROM users WHERE id = 1"},
    {"type": "execute_sql", "query": "DROP TABLE users"},
    {"type": "send_email", "parameters": {"to": "a@example.com", "body": "hello"}},
    {"type": "file_read", "target": "../../etc/passwd"},
    {"type": "api_call", "target": "http://169.254.169.254/latest/meta-data"},
    {"type": "nonsense"},
    {"type": "calculate", "query": "1+1", "parameters": [1]},
]
ALIKE = ("decision", "error", "verification", "corrected_action", "policy_version", "budget_remaining")


def test_the_same_requests_get_the_same_answers_in_process_and_over_http(gateway, tmp_path):
    folder = tmp_path / "server"
    folder.mkdir()
    with Server(folder) as server, server.client() as http:
        remote, local = server.register(), register(gateway)
        for step, action in enumerate(ACTIONS, start=1):
            context = {"conversation_id": "same", "step_number": step}
            body = {"action": action, "context": context}
            there = http.post(f"/agents/{remote['agent_id']}/verify", json=body).json()
            here = gateway.verify_action(local["agent_id"], action, context)

            assert {name: here.get(name) for name in ALIKE} == {name: there.get(name) for name in ALIKE}


def test_it_works_inside_a_running_event_loop_and_leaves_it_alone(gateway):
    agent = register(gateway)

    async def inside():
        answer = verify(gateway, agent, "1+1")
        await asyncio.sleep(0)
        return answer, asyncio.get_running_loop().is_running()

    answer, is_running = asyncio.run(inside())
    assert answer["decision"] == "APPROVED"
    assert is_running


def test_mistakes_are_raised_with_their_field(gateway):
    with pytest.raises(RequestError, match="principal_id"):
        gateway.register_agent(name="a", type="supervised")
    with pytest.raises(RequestError) as unknown:
        gateway.get_agent("agent_none")

    assert unknown.value.status == 404
    assert unknown.value.refusal.code == "QWED-AGENT-001"


def test_tools_outcomes_approvals_and_changes_work_in_process(gateway):
    agent_id = register(gateway)["agent_id"]

    assert gateway.verify_tool(agent_id, "get_weather", {"city": "Bern"})["approved"] is True
    assert gateway.verify_tool(agent_id, "my_custom_tool")["blocked_reason"].startswith("Unknown tool")
    done = verify(gateway, {"agent_id": agent_id}, "1+1")
    told = gateway.report_outcome(agent_id, done["activity_id"], "unknown")
    assert told["outcome"] == "unknown"
    assert gateway.settle_outcome(agent_id, done["activity_id"], "success")["outcome"] == "success"
    waiting = gateway.verify_action(
        agent_id, {"type": "file_write", "target": "a.txt"}, {"conversation_id": "w", "step_number": 1}
    )
    assert gateway.approvals()["approvals"][0]["id"] == waiting["approval"]["id"]
    assert gateway.get_approval(waiting["approval"]["id"])["status"] == "open"
    assert gateway.change_agent(agent_id, description="new")["description"] == "new"
    assert gateway.suspend(agent_id, "why not")["status"] == "suspended"
    assert gateway.reactivate(agent_id)["status"] == "active"
    assert gateway.rotate_token(agent_id)["agent_token"].startswith("qwed_agent_")
    assert gateway.deregister(agent_id)["status"] == "deregistered"
    assert gateway.agents()["agents"] == []


def test_a_file_has_one_owner_and_is_free_after_closing(tmp_path):
    path = tmp_path / "qwed.db"
    with Gateway.open(path) as gateway:
        agent = register(gateway)
        with pytest.raises(DatabaseInUse):
            Gateway.open(path)
    with Gateway.open(str(path)) as again:
        assert again.get_agent(agent["agent_id"])["name"] == "a"


def test_a_memory_gateway_leaves_no_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with Gateway.open(":memory:") as gateway:
        verify(gateway, register(gateway), "1+1")

    assert list(tmp_path.iterdir()) == []


def test_in_process_on_a_database_server_the_record_is_shared(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    url = shared().new_database()
    with Gateway.open(url) as one, Gateway.open(url) as two:
        agent = one.register_agent(name="a", type="autonomous", principal_id="acme")["agent_id"]
        action, context = {"type": "calculate", "query": "2+2"}, {"conversation_id": "c", "step_number": 1}
        assert one.verify_action(agent, action, context)["decision"] == "APPROVED"
        assert two.verify_action(agent, action, context)["error"]["code"] == "QWED-AGENT-LOOP-002"
