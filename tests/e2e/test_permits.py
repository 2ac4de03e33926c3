"""From the agent's question to the tool that runs: permits with a real gateway, and processes that race."""

import json
import multiprocessing
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import anyio
import pytest
from tests.support.receivers import wait_for
from tests.support.server import Server
from tests.support.tiers import scale

from qwed_sdk import QWEDClient, ToolGate, ToolRefused
from qwed_sdk.permits import PermitRefused, PermitVerifier, current_permit
from qwed_sdk.permits.tokens import jti_of

pytestmark = pytest.mark.xdist_group("permits")

POLICY = """
tools:
  ship_order: {risk: low, group: safe, permit: payments}
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("gateway")
    (folder / "policy.yaml").write_text(POLICY)
    with Server(folder, "--config", str(folder / "policy.yaml")) as server:
        body = {"principal_id": "acme", "scopes": ["permits"]}
        server.tool_key = server.call("POST", "/keys", json=body).json()["api_key"]
        yield server


@pytest.fixture
def gate(server):
    agent = server.register()
    client = QWEDClient(agent["agent_token"], server.base_url)
    yield ToolGate(agent["agent_id"], client=client, agent_token=agent["agent_token"], wait_seconds=0)
    client.close()


def verifier(base_url, key):
    return PermitVerifier(f"{base_url}/.well-known/jwks.json", "payments", api_key=key)


@pytest.fixture(scope="module")
def permits(server):
    return verifier(server.base_url, server.tool_key)


def findings(server):
    return server.call("GET", "/permits/findings").json()["counts"]


def refused(server):
    """Every refused call, also those of which the record has only the number."""
    found, after = [], None
    while True:
        page = server.call("GET", "/permits/findings" + (f"?after={after}" if after else "")).json()
        found += [row["count"] for row in page["findings"] if row["kind"] == "call_refused"]
        if (after := page.get("next")) is None:
            return sum(found)


def test_a_tool_behind_the_gate_runs_with_its_permit_and_leaves_a_receipt(server, gate, permits):
    sent = []

    @permits.required(action_type="ship_order")
    def ship_order(to, amount):
        sent.append((to, amount))
        return "sent"

    tokens = []

    def call(arguments):
        tokens.append(current_permit())
        return ship_order(**arguments)

    assert gate.run("ship_order", {"to": "bob", "amount": 12.5}, call) == "sent"
    permit = server.call("GET", f"/permits/{jti_of(tokens[0])}").json()
    assert sent == [("bob", 12.5)]
    assert permit["state"] == "reported"
    assert permit["receipt"]["action_hash"] == permit["action_hash"]
    assert permit["receipt"]["result_hash"] is not None
    assert current_permit() is None


def test_another_call_than_the_approved_one_does_not_run_and_is_reported(server, gate, permits):
    sent = []

    @permits.required(action_type="ship_order")
    def ship_order(to, amount):
        sent.append((to, amount))

    before = findings(server).get("call_refused", 0)
    for number, changed in enumerate(({"to": "mallory"}, {"amount": 13}, {"amount": "12"})):
        with pytest.raises(PermitRefused):
            gate.run(
                "ship_order",
                {"to": f"bob {number}", "amount": 12},
                lambda allowed, c=changed: ship_order(**{**allowed, **c}),
            )
    with pytest.raises(PermitRefused, match="no permit"):
        ship_order("bob", 12)
    permits.flush()

    assert sent == []
    assert findings(server)["call_refused"] == before + 4


def test_of_a_flood_of_other_calls_none_runs_and_every_refusal_is_counted(server, gate, permits):
    sent, tries = [], scale(ci=1_500, nightly=4_000, long=10_000)

    @permits.required(action_type="ship_order")
    def ship_order(to, amount):
        sent.append((to, amount))

    def try_others(allowed):
        for number in range(tries):
            with pytest.raises(PermitRefused):
                ship_order(allowed["to"], allowed["amount"] + number + 1, qwed_permit=current_permit())

    before = refused(server)
    gate.run("ship_order", {"to": "flood", "amount": 12}, try_others)
    permits.flush()
    wait_for(lambda: refused(server) >= before + tries, "the count of refused calls")

    assert sent == []
    assert refused(server) == before + tries


def test_a_denied_call_has_no_permit_to_run_with(gate):
    with pytest.raises(ToolRefused):
        gate.run("never_heard_of", {}, lambda _: None)

    assert current_permit() is None


def race(base_url, key, token, action, start, answers):
    permits = verifier(base_url, key)
    permits.check(token, [action])

    def use(_):
        start.wait(60)
        try:
            permits._verify(token, [action])
        except PermitRefused as refusal:
            return refusal.code.value
        return "ran"

    with ThreadPoolExecutor(32) as pool:
        answers.put(list(pool.map(use, range(32))))


def test_of_64_uses_in_two_processes_one_wins(server, gate):
    permit = gate.permit("ship_order", {"to": "bob", "amount": 3})
    claims = json.loads(_payload(permit.token))
    context = multiprocessing.get_context("spawn")
    start, answers = context.Event(), context.Queue()
    arguments = (server.base_url, server.tool_key, permit.token, claims["act"][7:], start, answers)
    workers = [context.Process(target=race, args=arguments) for _ in range(2)]
    for worker in workers:
        worker.start()
    time.sleep(1)
    start.set()
    found = Counter(answers.get(timeout=120) + answers.get(timeout=120))
    for worker in workers:
        worker.join(60)

    assert found == {"ran": 1, "QWED-PERMIT-005": 63}


def _payload(token):
    import base64

    part = token.split(".")[1]
    return base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))


def test_a_conversation_hands_its_permit_on(server, permits):
    agent = server.register()
    sent = []

    @permits.required(action_type="ship_order")
    def ship_order(to):
        sent.append(to)

    action = {"type": "ship_order", "parameters": {"to": "carol"}}
    with (
        QWEDClient(agent["agent_token"], server.base_url) as client,
        client.conversation(agent["agent_id"]).action(action) as permit,
    ):
        assert permit.token == current_permit()
        ship_order("carol")

    assert sent == ["carol"]
    assert current_permit() is None


def test_an_mcp_server_runs_a_tool_only_with_its_permit(gate, permits):
    from mcp import Client
    from mcp.server import MCPServer

    sent = []
    server = MCPServer("payments", middleware=[permits.mcp(open_tools=["ping"])])

    @server.tool()
    def ship_order(to: str) -> str:
        sent.append(to)
        return "sent"

    @server.tool()
    def ping() -> str:
        return "pong"

    permit = gate.permit("ship_order", {"to": "bob"})

    async def call():
        async with Client(server) as client:
            said = []
            for name, arguments, meta in [
                ("ping", {}, None),
                ("ship_order", {"to": "bob"}, None),
                ("ship_order", {"to": "mallory"}, {"qwed/permit": permit.token}),
                ("ship_order", {"to": "bob"}, {"qwed/permit": permit.token}),
                ("ship_order", {"to": "bob"}, {"qwed/permit": permit.token}),
            ]:
                result = await client.call_tool(name, arguments, meta=meta)
                said.append(bool(result.is_error))
            return said

    assert anyio.run(call) == [False, True, True, False, True]
    assert sent == ["bob"]
