"""One answer under one key: the first writer's, whichever process that is and whatever becomes of it."""

import asyncio
import subprocess
import sys
import threading
from contextlib import contextmanager

import asyncpg
import msgspec
import pytest
from tests.contract.test_stores import STORES, Shelf, at_once
from tests.support import dying_gateway
from tests.support.fakes import FakeClock
from tests.support.records import an_agent, an_attempt, decided, noted
from tests.support.services import shared

from qwed import bootstrap
from qwed.domain.agents import Permissions
from qwed.domain.codes import Code, Refusal
from qwed.domain.policy import DEFAULT_POLICY
from qwed.gateway.decide import doors
from qwed.gateway.kernel.answers import RequestError
from qwed.gateway.kernel.coroutines import run
from qwed.gateway.kernel.ports import Admission, KeyClaim, KeyInFlight, KeyTaken, LeaseLost, StoreUnavailable
from qwed.gateway.kernel.records import Remembered
from qwed.gateway.kernel.wire import encode_json

KEY = b"k" * 32
LEASE_MS = int(DEFAULT_POLICY.limits.lease_seconds * 1000)


def answer(agent, shelf, claim: KeyClaim, body: bytes) -> Remembered:
    return Remembered(agent.agent_id, KEY, 200, body, shelf.now + 60_000, None, claim.token)


def approve(shelf: Shelf, agent, claim: KeyClaim, admission: Admission, attempt, body: bytes) -> None:
    record = decided(agent, attempt, admission)
    kept = answer(agent, shelf, claim, body)
    shelf.commit(msgspec.structs.replace(record, remembered=kept), admission)


def test_of_many_who_ask_at_once_one_claims_the_key(shelf):
    agent = shelf.add(an_agent())
    answers = at_once(16, lambda n: shelf.claim(agent))
    assert sum(isinstance(a, KeyClaim) for a in answers) == 1
    assert sum(isinstance(a, KeyInFlight) for a in answers) == 15


def test_a_key_that_was_given_up_is_free_and_nothing_is_remembered(shelf):
    agent = shelf.add(an_agent())
    run(shelf.store.give_up_key(shelf.claim(agent)))
    assert isinstance(shelf.claim(agent), KeyClaim)


def test_the_first_answer_is_kept_and_the_loser_writes_nothing(shelf):
    agent, attempt = shelf.add(an_agent()), an_attempt(1)
    first = shelf.claim(agent)
    held = run(shelf.store.admit(agent, attempt, shelf.now, first))
    shelf.clock.advance(LEASE_MS)
    second = shelf.claim(agent)
    assert isinstance(second, KeyClaim)
    again = run(shelf.store.admit(agent, attempt, shelf.now, second))
    assert isinstance(again, Admission), "what the first held is taken over with the key"
    approve(shelf, agent, second, again, attempt, b'{"by":"second"}')

    with pytest.raises(KeyTaken):
        approve(shelf, agent, first, held, attempt, b'{"by":"first"}')
    run(shelf.store.release(held))
    with pytest.raises(KeyTaken):
        shelf.commit(noted(agent, shelf.now, remembered=answer(agent, shelf, first, b'{"by":"late"}')))
    assert shelf.claim(agent).body == b'{"by":"second"}'
    assert shelf.page(agent).summary["APPROVED"][0] == 1


def test_a_holder_whose_key_was_taken_over_lost_its_step_too(shelf):
    agent, attempt = shelf.add(an_agent()), an_attempt(1)
    held = run(shelf.store.admit(agent, attempt, shelf.now, shelf.claim(agent)))
    shelf.clock.advance(LEASE_MS)
    shelf.claim(agent)
    with pytest.raises(LeaseLost):
        shelf.commit(decided(agent, attempt, held), held)


def test_a_lease_that_has_not_ended_is_waited_for(shelf):
    agent = shelf.add(an_agent())
    shelf.claim(agent)
    shelf.clock.advance(LEASE_MS - 1)
    assert shelf.claim(agent) == KeyInFlight(shelf.now + 1)


def test_a_late_end_of_the_first_does_not_free_the_key_of_the_second(shelf):
    agent = shelf.add(an_agent())
    first = shelf.claim(agent)
    shelf.clock.advance(LEASE_MS)
    shelf.claim(agent)
    run(shelf.store.give_up_key(first))
    assert isinstance(shelf.claim(agent), KeyInFlight)


def test_equal_keys_of_two_agents_are_two_keys(shelf):
    one, two = shelf.add(an_agent()), shelf.add(an_agent())
    assert isinstance(shelf.claim(one), KeyClaim)
    assert isinstance(shelf.claim(two), KeyClaim)


def test_a_hold_without_a_conversation_goes_with_the_key_too(shelf):
    agent = shelf.add(an_agent())
    charge = an_attempt(1).charge
    held = run(shelf.store.hold(agent, charge, shelf.now, shelf.claim(agent)))
    shelf.clock.advance(LEASE_MS)
    shelf.claim(agent)
    kept = run(shelf.store.spending(agent, shelf.now))
    assert kept.in_flight == 0
    run(shelf.store.release(held))
    assert run(shelf.store.spending(agent, shelf.now)).in_flight == 0


@pytest.mark.parametrize("round_", range(10))
def test_two_gateways_that_get_the_same_request_at_once_end_with_one_answer(tmp_path, round_):
    """Two stores on one database, as two hosts have them."""
    clock = FakeClock()
    shelf = Shelf("postgres", tmp_path, DEFAULT_POLICY)
    other = STORES["postgres"](tmp_path, DEFAULT_POLICY, clock)
    try:
        agent, attempt = shelf.add(an_agent()), an_attempt(1)
        start, results = threading.Barrier(2), []

        def ask(store) -> None:
            start.wait()
            results.append(_answer_once(store, shelf, agent, attempt))

        threads = [threading.Thread(target=ask, args=(store,)) for store in (shelf.store, other)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(set(results)) == 1
        assert shelf.page(agent).summary["APPROVED"][0] == 1
    finally:
        other.close()
        shelf.store.close()


def _answer_once(store, shelf, agent, attempt) -> bytes:
    while True:
        found = run(store.claim_key(agent.agent_id, KEY, shelf.now))
        if isinstance(found, Remembered):
            return found.body
        if isinstance(found, KeyInFlight):
            continue
        held = run(store.admit(agent, attempt, shelf.now, found))
        assert not isinstance(held, Refusal), held
        record = decided(agent, attempt, held)
        kept = answer(agent, shelf, found, str(found.token).encode())
        assert run(store.commit(msgspec.structs.replace(record, remembered=kept), held)) is None
        return kept.body


# --- two processes -------------------------------------------------------------------------------------


@pytest.fixture
def host(tmp_path):
    services = dying_gateway.build(shared().new_database(), tmp_path / "key.pem")
    yield services
    bootstrap.close(services)
    services.store.close()


@contextmanager
def another_host(host, tmp_path, agent):
    """A second process, in the middle of the same request; it is killed at the end."""
    key = tmp_path / "key.pem"
    command = [sys.executable, "-m", "tests.support.dying_gateway", host.store._url, key, agent.agent_id, "k"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "at work\n"
            yield
        finally:
            process.kill()


def test_a_retry_takes_over_from_a_host_that_died_and_every_later_one_gets_its_answer(host, tmp_path):
    agent = an_agent()
    run(host.store.commit(noted(agent, host.clock.now_ms(), agent=agent)))
    with another_host(host, tmp_path, agent):
        pass

    answer = dying_gateway.ask(host, agent, b"k")
    again = dying_gateway.ask(host, agent, b"k")

    assert answer.body["decision"] == "APPROVED"
    assert isinstance(again, Remembered)
    assert msgspec.json.decode(again.body)["activity_id"] == answer.body["activity_id"]


def test_a_retry_beside_a_host_that_lives_is_told_to_wait_and_is_not_remembered(host, tmp_path, monkeypatch):
    monkeypatch.setattr(doors, "MAX_WAIT_SECONDS", 0.2)
    agent = an_agent()
    run(host.store.commit(noted(agent, host.clock.now_ms(), agent=agent)))
    with another_host(host, tmp_path, agent), pytest.raises(RequestError) as refused:
        dying_gateway.ask(host, agent, b"k")
    assert (refused.value.status, refused.value.retry_after) == (409, 1)
    assert refused.value.refusal.code is Code.KEY_IN_FLIGHT
    monkeypatch.setattr(doors, "MAX_WAIT_SECONDS", 30)
    assert dying_gateway.ask(host, agent, b"k").body["decision"] == "APPROVED"


# --- somebody else who writes to the database -------------------------------------------------------------


def edit(url: str, sql: str, *values: object) -> None:
    async def go() -> None:
        connection = await asyncpg.connect(url)
        try:
            assert (await connection.execute(sql, *values)) == "UPDATE 1"
        finally:
            await connection.close()

    asyncio.run(go())


@pytest.mark.parametrize(
    "change",
    [
        "body = convert_to(replace(convert_from(body, 'UTF8'), 'DENIED', 'APPROVED'), 'UTF8')",
        'body = \'{"decision":"APPROVED"}\'',
        "body = ''",
        "status = 201",
        "retry_after = 7",
        "expires_ms = expires_ms + 1",
    ],
)
def test_an_answer_that_somebody_else_wrote_is_given_to_nobody(host, tmp_path, change):
    agent = an_agent(permissions=Permissions(allowed_engines=()))
    run(host.store.commit(noted(agent, host.clock.now_ms(), agent=agent)))
    first = dying_gateway.ask(host, agent, b"k")
    assert first.body["decision"] == "DENIED"
    assert dying_gateway.ask(host, agent, b"k").body == encode_json(first.body)

    edit(host.store._url, f"UPDATE remembered SET {change}")
    with pytest.raises(StoreUnavailable, match="not written by this deployment"):
        dying_gateway.ask(host, agent, b"k")


def test_an_answer_under_another_key_or_of_another_agent_answers_neither(host, tmp_path):
    allowed, other = an_agent(), an_agent()
    for agent in (allowed, other):
        run(host.store.commit(noted(agent, host.clock.now_ms(), agent=agent)))
    assert dying_gateway.ask(host, allowed, b"k").body["decision"] == "APPROVED"

    edit(host.store._url, "UPDATE remembered SET key_hash = $1", b"another")
    with pytest.raises(StoreUnavailable):
        dying_gateway.ask(host, allowed, b"another")
    edit(host.store._url, "UPDATE remembered SET agent_id = $1", other.agent_id)
    with pytest.raises(StoreUnavailable):
        dying_gateway.ask(host, other, b"another")
