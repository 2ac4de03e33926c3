"""While a key in an HSM or a cloud takes its time, others are answered; one that hangs has a deadline."""

import asyncio
from collections.abc import Iterator

import pytest
from tests.support.slow_key import SlowKey
from tests.support.world import OPERATOR_KEY, World

from qwed.domain.nodes import jti_of
from qwed.ect import signing_keys
from qwed.ect.keys import KeyRing
from qwed.ect.signing_keys import SigningKey

SUM = {"type": "calculate", "query": "2+2"}


@pytest.fixture
def key() -> Iterator[SlowKey]:
    key = SlowKey()
    yield key
    key.may_sign.set()


def world_of(key: SlowKey) -> World:
    return World(signer=KeyRing("did:qwed:node:slow", SigningKey(key)))


async def verify(world: World, agent: str) -> dict:
    body = {
        "action": SUM,
        "context": {"conversation_id": "c", "step_number": 1},
        "options": {"require_attestation": True},
    }
    async with world.client() as client:
        headers = {"X-API-Key": OPERATOR_KEY}
        return (await client.post(f"/agents/{agent}/verify", json=body, headers=headers)).json()


def test_others_are_answered_while_a_signature_takes_its_time(key: SlowKey):
    world = world_of(key)
    agent = world.register()["agent_id"]

    async def ask() -> tuple[int, bool, dict]:
        async with world.client() as client:
            decided = asyncio.create_task(verify(world, agent))
            await asyncio.to_thread(key.asked.wait, 60)
            health = await client.get("/health")
            was_waiting = not decided.done()
            key.may_sign.set()
            return health.status_code, was_waiting, await decided

    try:
        status, was_waiting, answer = world.run(ask())
    finally:
        world.close()
    assert (status, was_waiting, answer["decision"]) == (200, True, "APPROVED")
    assert answer["attestation"]


def test_what_a_key_that_hangs_does_not_sign_is_denied(key: SlowKey, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(signing_keys, "REMOTE_SECONDS", 0.05)
    world = world_of(key)
    try:
        answer = world.run(verify(world, world.register()["agent_id"]))
    finally:
        world.close()

    assert (answer["decision"], answer["error"]["code"]) == ("DENIED", "QWED-ATTESTATION-001")
    assert "did not sign within" in answer["error"]["message"]


def test_a_token_that_a_hanging_key_does_not_sign_is_asked_for_again_later(
    key: SlowKey, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(signing_keys, "REMOTE_SECONDS", 0.05)
    world = world_of(key)
    try:
        agent = world.register()
        decided = world.verify(agent, SUM)
        answer = world.call("GET", f"/ect/{jti_of(decided['activity_id'])}")
    finally:
        world.close()

    assert (decided["decision"], answer.status_code) == ("APPROVED", 503), answer.text
    assert "Signing key" in answer.json()["error"]["message"]
