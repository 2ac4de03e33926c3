"""Reading requests: who asks is settled before a stranger's megabyte is, and nobody waits for it."""

import asyncio
import contextlib
import json
import threading

import pytest
from starlette.requests import ClientDisconnect, Request
from tests.support.world import OPERATOR_KEY, World

from qwed.domain import json_text
from qwed.domain.policy import Limits
from qwed.gateway.kernel.answers import RequestError
from qwed.http import request_reader
from qwed.http.load_limit import RequestGate

SUM = {"type": "calculate", "query": "2+2"}
CONTEXT = {"conversation_id": "c", "step_number": 1}


@pytest.fixture
def world():
    world = World()
    yield world
    world.close()


@pytest.fixture
def limits():
    return Limits()


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
    reader = request_reader.BodyReader(world.services.policy.limits)
    for size in (10, request_reader.MAX_READ_AT_ONCE + 1):
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


class Sender:
    """A body in pieces; after the last one it is silent, until it is told to hang up."""

    def __init__(self, *pieces):
        self._pieces = list(pieces)
        self.may_leave = asyncio.Event()

    async def __call__(self):
        if not self._pieces:
            await self.may_leave.wait()
            return {"type": "http.disconnect"}
        return {"type": "http.request", "body": self._pieces.pop(0), "more_body": True}


def request_of(sender, *headers):
    return Request({**scope_of("/x", list(headers)), "noted": {}}, sender)


def refused_by(reader, request):
    with pytest.raises(RequestError) as refused:
        asyncio.run(reader.raw(request))
    return refused.value.status


def test_a_body_that_says_it_is_too_large_is_refused_before_it_comes(limits):
    reader, sender = request_reader.BodyReader(limits), Sender()

    assert refused_by(reader, request_of(sender, (b"content-length", b"1048577"))) == 413


def test_a_body_that_is_too_large_is_refused_as_soon_as_it_is(limits):
    pieces = [b"x" * 100_000] * 20

    assert refused_by(request_reader.BodyReader(limits), request_of(Sender(*pieces))) == 413


def test_who_is_still_sending_is_not_at_work(limits):
    gate = RequestGate(1)
    reader, sender = request_reader.BodyReader(limits, gate), Sender(b"{")

    async def send():
        with gate:
            reading_it = asyncio.create_task(reader.raw(request_of(sender)))
            await asyncio.sleep(0.01)
            while_sending = gate.is_full
            sender.may_leave.set()
            with contextlib.suppress(ClientDisconnect):
                await reading_it
            return while_sending, gate.is_full

    assert asyncio.run(send()) == (False, True)


def test_strangers_bodies_on_their_way_take_a_bounded_share_and_leave_the_callers_theirs(limits):
    reader = request_reader.BodyReader(limits)
    senders = [Sender(*[b"x" * 100_000] * 10) for _ in range(40)]

    async def send():
        strangers = [
            asyncio.create_task(reader.raw(request_of(sender), is_known=False)) for sender in senders
        ]
        await asyncio.sleep(0.01)
        refused = [task for task in strangers if task.done()]
        callers = [asyncio.create_task(reader.raw(request_of(Sender(b"x" * 900_000)))) for _ in range(9)]
        await asyncio.sleep(0.01)
        waiting = [task for task in callers if not task.done()]
        for task in (*strangers, *callers):
            task.cancel()
        return {task.exception().status for task in refused}, len(refused), len(waiting)

    statuses, refused, waiting = asyncio.run(send())

    assert statuses == {503}
    # Sixteen megabytes hold sixteen bodies of one.
    assert refused == 40 - request_reader.MAX_STRANGERS_BYTES // 1_000_000
    assert waiting == 9


def test_where_anybody_may_ask_a_large_body_is_refused(world):
    padding = b'{"attestation": "' + b"x" * request_reader.MAX_OPEN_BYTES + b'"}'

    for path in ("/attestations/verify", "/session"):
        assert ask(world, path, padding, [(b"content-type", b"application/json")])[0] == 413, path
