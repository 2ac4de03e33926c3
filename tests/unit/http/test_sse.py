"""Event streams: they end with the credential that opened them, and a caller has only so many."""

import asyncio
import contextlib

import pytest
from tests.support.streams import Stream, until
from tests.support.world import OPERATOR_KEY, World, calculate

from qwed.domain.credentials import Caller
from qwed.http import sse


@pytest.fixture
def world(monkeypatch):
    monkeypatch.setattr(sse, "LOOK_SECONDS", 0.02)
    world = World()
    yield world
    world.close()


async def call(world, method, path, key=OPERATOR_KEY, **request):
    async with world.client() as client:
        headers = {"Authorization": f"Bearer {key}"}
        return await client.request(method, path, headers=headers, **request)


async def verify(world, agent, conversation):
    body = {"action": calculate(), "context": {"conversation_id": conversation, "step_number": 1}}
    await call(world, "POST", f"/agents/{agent['agent_id']}/verify", json=body)


def test_a_stream_hears_nothing_after_its_key_was_revoked(world):
    agent = world.register()
    made = world.call("POST", "/keys", json={"principal_id": "acme"}).json()

    async def listen():
        stream = Stream(world, authorization="Bearer " + made["api_key"])
        await until(lambda: stream.sent)
        await verify(world, agent, "before")
        await until(lambda: "event: decision" in stream.text)
        heard = stream.text.count("event: decision")
        await call(world, "DELETE", f"/keys/{made['key_id']}")
        await verify(world, agent, "after")
        await asyncio.wait_for(stream.task, 60)
        return heard, stream.text.count("event: decision")

    assert world.run(listen()) == (1, 1)


def test_a_stream_ends_with_its_agents_token(world):
    agent = world.register()

    async def listen():
        stream = Stream(world, authorization="Bearer " + agent["agent_token"])
        await until(lambda: stream.sent)
        assert stream.status == 200 and not stream.task.done()
        await call(world, "POST", f"/agents/{agent['agent_id']}/rotate-token")
        await asyncio.wait_for(stream.task, 60)

    world.run(listen())


def test_a_caller_has_only_so_many_streams_and_may_open_another_when_one_ends(world):
    async def listen():
        open_ones = [Stream(world, authorization="Bearer " + OPERATOR_KEY) for _ in range(sse.MAX_STREAMS)]
        await until(lambda: all(stream.sent for stream in open_ones))
        refused = await call(world, "GET", "/events")
        other = Stream(world, authorization="Bearer " + agent["agent_token"])
        await until(lambda: other.sent)
        await open_ones.pop().leave()
        again = Stream(world, authorization="Bearer " + OPERATOR_KEY)
        await until(lambda: again.sent)
        still_open = not again.task.done()
        for stream in (*open_ones, other, again):
            await stream.leave()
        return refused, other.status, still_open

    agent = world.register()
    refused, other, still_open = world.run(listen())

    assert refused.status_code == 429
    assert int(refused.headers["Retry-After"]) > 0
    assert other == 200
    assert still_open


def test_many_streams_at_the_same_moment_do_not_pass_the_limit(world):
    async def listen():
        streams = [Stream(world, authorization="Bearer " + OPERATOR_KEY) for _ in range(3 * sse.MAX_STREAMS)]
        await until(lambda: sum(stream.task.done() for stream in streams) >= 2 * sse.MAX_STREAMS)
        still_open = sum(not stream.task.done() for stream in streams)
        for stream in streams:
            await stream.leave()
        return still_open

    assert world.run(listen()) == sse.MAX_STREAMS


def test_who_waits_for_an_approval_with_a_revoked_key_is_not_told(world):
    made = world.call("POST", "/keys", json={"principal_id": "acme"}).json()
    agent = world.register(type="supervised")
    tool = world.call("POST", f"/agents/{agent['agent_id']}/tools/send_email", json={"context": {}})
    assert tool.status_code == 200
    pending = world.call(
        "POST",
        f"/agents/{agent['agent_id']}/tools/send_email",
        json={"context": {"conversation_id": "c", "step_number": 1}},
    ).json()

    async def wait():
        waiting = asyncio.create_task(
            call(world, "GET", f"/approvals/{pending['approval']['id']}?wait=3", made["api_key"])
        )
        await asyncio.sleep(0.1)
        await call(world, "DELETE", f"/keys/{made['key_id']}")
        return await waiting

    assert world.run(wait()).status_code == 401


def of(principal, agent=None):
    return Caller(key=None, principal_id=principal, agent_id=agent)


def test_listeners_have_a_share_in_all_and_a_principal_has_a_part_of_it():
    listeners = sse.Listeners(8)

    with contextlib.ExitStack() as open_ones:
        for number in range(2):
            assert not listeners.is_full(of("greedy", f"agent_{number}"))
            open_ones.enter_context(listeners.one_more(of("greedy", f"agent_{number}")))
        # Another agent of the same principal is no other principal.
        assert listeners.is_full(of("greedy", "agent_9"))
        assert not listeners.is_full(of("modest", "agent_5"))
        for number in range(6):
            open_ones.enter_context(listeners.one_more_stream(of(f"p{number}", f"a{number}")))
        assert listeners.is_full(of("modest", "agent_5"))

    assert not listeners.is_full(of("greedy", "agent_9"))
    assert not listeners._waiting and not listeners._streams


def test_a_long_poll_beyond_the_share_is_answered_at_once(world, monkeypatch):
    agent = world.register(type="supervised")
    pending = world.call(
        "POST",
        f"/agents/{agent['agent_id']}/tools/send_email",
        json={"context": {"conversation_id": "c", "step_number": 1}},
    ).json()
    waited = []
    monkeypatch.setattr(sse.Arrivals, "approval", lambda *arguments: waited.append(arguments))
    monkeypatch.setattr(sse.Listeners, "is_full", lambda *_: True)

    answer = world.call("GET", f"/approvals/{pending['approval']['id']}?wait=60")

    assert answer.json()["status"] == "open" and not waited
