"""Reading requests: who asks is settled before a stranger's megabyte is, and nobody waits for it."""

import asyncio
import json
import threading

import pytest
from tests.support.world import OPERATOR_KEY, World

from qwed.domain import json_text
from qwed.http import reading

SUM = {"type": "calculate", "query": "2+2"}
CONTEXT = {"conversation_id": "c", "step_number": 1}


@pytest.fixture
def world():
    world = World()
    yield world
    world.close()


def scope_of(path, headers):
    return {
        "type": "http",
        "method": "POST",
        "path": path,
        "query_string": b"",
        "headers": headers,
        "client": ("127.0.0.1", 1),
        "server": ("gateway", 80),
        "scheme": "http",
    }


def ask(world, path, body, headers):
    """The answer's status and body, and how often the gateway asked for the request's body."""
    asked, sent = [], []

    async def receive():
        asked.append(1)
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message):
        sent.append(message)

    world.run(world._app(scope_of(path, headers), receive, send))
    return sent[0]["status"], json.loads(sent[1]["body"]), len(asked)


@pytest.mark.parametrize("door", ["verify", "tools/get_weather"])
def test_a_wrong_credential_is_refused_before_its_body_is_read(world, door):
    agent = world.register()
    headers = [(b"authorization", b"Bearer qwed_agent_wrong")]

    status, body, asked = ask(world, f"/agents/{agent['agent_id']}/{door}", b"[" * 1_000_000, headers)

    assert (status, body["decision"], body["error"]["code"]) == (401, "DENIED", "QWED-AGENT-002")
    assert asked == 0


@pytest.mark.parametrize("body", [b"{", b"[" * 100, b'{"a":1,"a":2}', b"", b"[1]"])
def test_without_any_credential_an_unreadable_body_is_unauthenticated(world, body):
    agent = world.register()

    status, _, _ = ask(world, f"/agents/{agent['agent_id']}/verify", body, [])

    assert status == 401


def test_the_body_may_carry_the_token_where_the_headers_carry_none(world):
    agent = world.register()
    body = json.dumps({"action": SUM, "context": CONTEXT, "agent_token": agent["agent_token"]}).encode()
    # Another scheme is no credential of ours.
    headers = [(b"authorization", b"Basic Zm9vOmJhcg==")]

    status, answer, _ = ask(world, f"/agents/{agent['agent_id']}/verify", body, headers)

    assert (status, answer["decision"]) == (200, "APPROVED")


@pytest.mark.parametrize(
    ("header", "token", "status"),
    [
        (OPERATOR_KEY, None, 200),
        (OPERATOR_KEY, "own", 200),
        (OPERATOR_KEY, "wrong", 401),
        (OPERATOR_KEY, "other", 401),
        ("own", "own", 200),
        ("own", "other", 401),
    ],
)
def test_a_credential_in_the_headers_and_one_in_the_body_must_agree(world, header, token, status):
    own, other = world.register(), world.register()
    tokens = {"own": own["agent_token"], "other": other["agent_token"], "wrong": "qwed_agent_wrong"}
    body = {"action": SUM, "context": CONTEXT}
    if token is not None:
        body["agent_token"] = tokens[token]

    answer = world.call(
        "POST", f"/agents/{own['agent_id']}/verify", key=tokens.get(header, header), json=body
    )

    assert answer.status_code == status, answer.text


def test_a_large_body_is_read_beside_the_event_loop_and_a_small_one_on_it(world, monkeypatch):
    threads = []
    loads = json_text.loads

    def noting(raw, **options):
        threads.append(threading.current_thread())
        return loads(raw, **options)

    monkeypatch.setattr(json_text, "loads", noting)
    reader = reading.BodyReader(world.services.policy.limits)
    for size in (10, reading.MAX_READ_AT_ONCE + 1):
        text = b'"' + b"x" * (size - 2) + b'"'
        assert asyncio.run(reader.parsed(text)) == "x" * (size - 2)

    assert threads[0] is threading.current_thread()
    assert threads[1] is not threading.current_thread()


def test_a_large_body_without_a_valid_token_is_refused_unread(world, monkeypatch):
    agent = world.register()
    read = []
    monkeypatch.setattr(json_text, "loads", lambda raw, **options: read.append(raw))
    padding = b"[" + b"[]," * 20_000 + b"[]]"

    for text in (padding, b'{"agent_token": "qwed_agent_wrong", "x": ' + padding + b"}"):
        status, _, _ = ask(world, f"/agents/{agent['agent_id']}/verify", text, [])
        assert status == 401
    assert read == []


@pytest.mark.parametrize("wrong", ["", '"context": {"agent_token": "qwed_agent_wrong"}, '])
def test_a_large_body_may_carry_its_token(world, wrong):
    agent = world.register()
    action = json.dumps({**SUM, "parameters": {"text": "x" * 100_000}})
    context = wrong or f'"context": {json.dumps(CONTEXT)}, '
    body = f'{{"action": {action}, {context}"agent_token" :\n "{agent["agent_token"]}"}}'.encode()

    status, answer, _ = ask(world, f"/agents/{agent['agent_id']}/verify", body, [])

    assert (status, answer["decision"]) == (200, "DENIED" if wrong else "APPROVED")


def test_a_valid_token_that_stands_elsewhere_in_a_large_body_is_none(world):
    agent = world.register()
    action = {**SUM, "parameters": {"text": "x" * 100_000, "agent_token": agent["agent_token"]}}
    body = json.dumps({"action": action, "context": CONTEXT}).encode()

    status, _, _ = ask(world, f"/agents/{agent['agent_id']}/verify", body, [])

    assert status == 401


def test_a_body_that_does_not_arrive_is_not_waited_for(world, monkeypatch):
    monkeypatch.setattr(reading, "MAX_SENDING_SECONDS", 0.05)
    sent = []

    async def receive():
        await asyncio.sleep(60)

    async def send(message):
        sent.append(message)

    headers = [(b"authorization", f"Bearer {OPERATOR_KEY}".encode())]
    world.run(world._app(scope_of("/agents/register", headers), receive, send))

    assert sent[0]["status"] == 408
    assert (b"connection", b"close") in sent[0]["headers"]
