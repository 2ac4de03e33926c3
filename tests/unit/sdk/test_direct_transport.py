"""A transport that speaks only what the gateway speaks, and takes everything else for no answer."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import httpx2
import pytest

from qwed_sdk import AsyncQWEDClient, GatewayUnavailable
from qwed_sdk.direct_transport import DirectTransport
from qwed_sdk.questions import answer_name

DECISION = b'{"decision":"APPROVED","activity_id":"act_1"}'
ACTION = {"type": "calculate", "query": "2+2=4"}


def answer(body: bytes = DECISION, head: bytes = b"HTTP/1.1 200 OK", *headers: bytes) -> bytes:
    lines = [head, b"content-type: application/json", b"content-length: %d" % len(body), *headers]
    return b"\r\n".join(lines) + b"\r\n\r\n" + body


def _named(said: bytes, asked: bytes) -> bytes:
    """With the question's name in its head, where it has one."""
    first, end, body = said.partition(b"\r\n\r\n")
    status = first.split(b" ")[1:2]
    if not end or not status or not status[0].isdigit():
        return said
    key = asked.partition(b"Idempotency-Key: ")[2].partition(b"\r\n")[0].decode()
    name = answer_name(key, int(status[0]), body)
    return first + b"\r\nqwed-answer: " + name.encode() + end + body


class Gateway:
    """Answers each request with the next of these bytes; None is silence."""

    def __init__(self, *answers: bytes | None, closes: bool = False) -> None:
        self.answers = list(answers)
        self.closes = closes
        self.requests: list[bytes] = []
        self.connections = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while self.answers:
                head = await reader.readuntil(b"\r\n\r\n")
                length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0] or 0)
                self.requests.append(head + await reader.readexactly(length))
                said = self.answers.pop(0)
                if said is None:
                    await asyncio.sleep(30)
                    return
                writer.write(_named(said, head))
                await writer.drain()
                if self.closes:
                    return
            await reader.read()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    def run(self, scenario: Callable[[AsyncQWEDClient], Awaitable[Any]], **options: Any) -> Any:
        async def whole() -> Any:
            server = await asyncio.start_server(self.serve, "127.0.0.1")
            port = server.sockets[0].getsockname()[1]
            given = {"timeout": 25.0, "max_tries": 1, **options}
            async with AsyncQWEDClient(
                "key", f"http://127.0.0.1:{port}", transport=DirectTransport(), **given
            ) as client:
                try:
                    return await scenario(client)
                finally:
                    server.close()

        return asyncio.run(asyncio.wait_for(whole(), 60))


async def ask(client: AsyncQWEDClient) -> Any:
    return await client.verify_action("agent_1", ACTION, {"conversation_id": "c", "step_number": 1})


def test_a_request_arrives_whole_and_its_answer_is_read():
    gateway = Gateway(answer())

    assert gateway.run(ask).may_act
    assert gateway.requests[0].startswith(b"POST /agents/agent_1/verify HTTP/1.1\r\n")
    assert b"authorization: bearer key" in gateway.requests[0].lower()
    assert gateway.requests[0].endswith(b'"step_number":1}}')


def test_a_connection_is_used_again_and_one_that_was_closed_is_not():
    async def twice(client: AsyncQWEDClient) -> None:
        await ask(client)
        await asyncio.sleep(0.05)
        await ask(client)

    kept, closed = Gateway(answer(), answer()), Gateway(answer(), answer(), closes=True)
    kept.run(twice)
    closed.run(twice)

    assert (kept.connections, closed.connections) == (1, 2)


def test_requests_at_the_same_time_each_get_their_own_answer():
    async def many(client: AsyncQWEDClient) -> Any:
        return await asyncio.gather(*(ask(client) for _ in range(20)))

    gateway = Gateway(*[answer() for _ in range(20)])

    assert all(decision.may_act for decision in gateway.run(many))


@pytest.mark.parametrize(
    "said",
    [
        b"",
        b"nonsense\r\n\r\n",
        b"HTTP/2 200\r\n\r\n",
        b"HTTP/1.1 abc\r\n\r\n",
        b"HTTP/1.1 100 Continue\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n\r\n" + DECISION,
        b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nshort",
        b"HTTP/1.1 200 OK\r\ncontent-length: x\r\n\r\n" + DECISION,
        b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 45\r\n\r\n" + DECISION,
        b"HTTP/1.1 200 OK\r\ncontent-length: 99999999999\r\n\r\n" + DECISION,
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nno header\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nname : x\r\ncontent-length: 2\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\nx: " + b"y" * 100_000,
        answer(b"not json"),
        answer(head=b"HTTP/1.1 500 Broken"),
        answer(head=b"HTTP/1.1 302 Found"),
    ],
    ids=range(17),
)
def test_anything_else_is_no_answer(said: bytes):
    async def refused(client: AsyncQWEDClient) -> None:
        with pytest.raises(GatewayUnavailable):
            await ask(client)

    Gateway(said, closes=True).run(refused)


def test_silence_ends_and_the_connection_is_not_used_again():
    async def silent(client: AsyncQWEDClient) -> None:
        with pytest.raises(GatewayUnavailable):
            await ask(client)
        assert (await ask(client)).may_act

    gateway = Gateway(None, answer())
    gateway.run(silent, timeout=2)

    assert gateway.connections == 2


def test_a_request_that_was_cancelled_leaves_no_answer_for_the_next():
    async def cancelled(client: AsyncQWEDClient) -> None:
        first = asyncio.ensure_future(ask(client))
        while not gateway.requests:
            await asyncio.sleep(0.01)
        first.cancel()
        assert (await ask(client)).may_act

    gateway = Gateway(None, answer())
    gateway.run(cancelled)

    assert gateway.connections == 2


def test_nobody_there_and_other_schemes_are_refused():
    async def scenario() -> None:
        async with AsyncQWEDClient(
            "key", "http://127.0.0.1:9", transport=DirectTransport(), max_tries=1
        ) as client:
            with pytest.raises(GatewayUnavailable):
                await ask(client)
        with pytest.raises(httpx2.UnsupportedProtocol):
            await DirectTransport().handle_async_request(httpx2.Request("GET", "https://example.com/"))

    asyncio.run(scenario())


def test_an_address_with_a_path_is_kept_before_the_call():
    async def scenario() -> list[bytes]:
        gateway = Gateway(answer())
        server = await asyncio.start_server(gateway.serve, "127.0.0.1")
        port = server.sockets[0].getsockname()[1]
        async with AsyncQWEDClient(
            "key", f"http://127.0.0.1:{port}/inside/", transport=DirectTransport(), max_tries=1
        ) as client:
            assert (await ask(client)).may_act
        server.close()
        return gateway.requests

    (request,) = asyncio.run(scenario())

    assert request.startswith(b"POST /inside/agents/agent_1/verify HTTP/1.1\r\nhost: 127.0.0.1:")
    assert request.lower().count(b"content-length") == 1


def test_a_credential_cannot_add_a_line_to_the_request():
    async def scenario(client: AsyncQWEDClient) -> None:
        token = "qwed_agent_x\r\nX-Api-Key: another"
        await client.verify_action("agent_1", ACTION, {}, agent_token=token)

    gateway = Gateway(answer())
    with pytest.raises(GatewayUnavailable):
        gateway.run(scenario)

    assert gateway.requests == []


def test_an_answer_that_names_two_types_is_none():
    two = answer(DECISION, b"HTTP/1.1 200 OK", b"content-type: text/html")

    with pytest.raises(GatewayUnavailable):
        Gateway(two).run(ask)


def test_a_call_with_a_query_arrives_too():
    async def scenario(client: AsyncQWEDClient) -> Any:
        return await client.get_agent_activity("agent_1", limit=5)

    gateway = Gateway(answer(b'{"activities":[]}'))

    assert gateway.run(scenario) == []
    assert gateway.requests[0].startswith(b"GET /agents/agent_1/activity?limit=5 HTTP/1.1\r\n")
