"""Rows that somebody wrote beside the gateway: refused, said at /ready, logged, counted and told."""

import threading

import msgspec
import pytest
from tests.support.records import a_key
from tests.support.states import SqliteAttacker
from tests.support.world import World

from qwed.domain.agents import AgentStatus
from qwed.domain.credentials import credential_hash
from qwed.gateway.kernel.coroutines import run
from qwed.gateway.kernel.events import Subscription
from qwed.gateway.kernel.integrity import Integrity
from qwed.gateway.kernel.ports import StoreUnavailable
from qwed.ledger.audit import AuditKind
from qwed.ledger.states import StateDifference
from qwed.stores.bodies import encode
from qwed.stores.start_check import check_at_start
from qwed.stores.state_columns import key_columns

FORGED = "qwed_live_made-by-somebody-else"


@pytest.fixture
def database(tmp_path):
    """A gateway's file with one suspended agent, after an attack."""
    path = tmp_path / "qwed.db"
    world = World(database=path)
    registered = world.register()
    agent = world.stored(registered)
    world.close()
    attacker = SqliteAttacker(path)
    forged = a_key(credential_hash(FORGED), None, key_id="key_forged", roles=("operator",))
    attacker.write("keys", key_columns(forged))
    richer = msgspec.structs.replace(agent, status=AgentStatus.ACTIVE, description="trust me")
    attacker.overwrite("agents", agent.agent_id, {"body": encode(richer)})
    return path, registered


@pytest.fixture
def attacked(database):
    path, registered = database
    world = World(database=path)
    yield world, registered
    world.close()


def lines_of(world):
    world._events.flush()
    return [msgspec.json.decode(line) for line in world.log.getvalue().splitlines()]


def test_a_start_finds_them_and_ready_says_so_without_naming_anybody(attacked):
    world, registered = attacked

    answer = world.call("GET", "/ready", key=None)

    assert answer.status_code == 503
    body = answer.json()
    assert body["components"] == ["state"]
    assert "2 rows are not as the ledger says" in body["reason"]
    assert registered["agent_id"] not in answer.text and "key_forged" not in answer.text


def test_the_credential_and_the_agent_are_refused(attacked):
    world, registered = attacked

    assert world.call("GET", "/keys", key=FORGED).status_code == 401
    assert run(world.services.store.agent(registered["agent_id"])) is None
    assert world.call("GET", "/agents").status_code == 200


def test_the_log_and_the_metrics_have_them(attacked):
    world, _ = attacked

    assert "qwed_state_differences 2.0" in world.call("GET", "/metrics").text
    alarms = [line for line in lines_of(world) if line["event"] == "state_differs"]
    assert {(line["level"], line["table"], line["kind"]) for line in alarms} == {
        ("critical", "agents", "edited"),
        ("critical", "keys", "inserted"),
    }


def test_a_row_that_is_found_later_is_told_to_operators_who_listen(tmp_path):
    world = World(database=tmp_path / "qwed.db")
    heard = Subscription(None, None, lambda: None)
    other = Subscription("acme", None, lambda: None)
    world.services.events.subscribe(heard)
    world.services.events.subscribe(other)
    forged = a_key(credential_hash(FORGED), None, key_id="key_forged", roles=("operator",))
    SqliteAttacker(tmp_path / "qwed.db").write("keys", key_columns(forged))

    assert world.call("GET", "/ready", key=None).json()["state"] == "ok"
    assert world.call("GET", "/keys", key=FORGED).status_code == 401
    assert world.call("GET", "/ready", key=None).status_code == 503
    (event,) = heard.take()
    assert (event["type"], event["table"], event["key"]) == ("state_differs", "keys", "key_forged")
    assert other.take() == []
    world.close()


def test_a_gateway_that_nobody_harmed_is_ready(tmp_path):
    for _ in range(2):
        world = World(database=tmp_path / "qwed.db")
        body = world.call("GET", "/ready", key=None).json()
        world.close()

        assert (body["ready"], body["state"]) == (True, "ok")


class SlowStore:
    """One whose rows take until they are let go."""

    def __init__(self, error: Exception | None = None) -> None:
        self.integrity = Integrity()
        self.let_go = threading.Event()
        self._error = error

    async def differences(self, tables):
        self.let_go.wait()
        if self._error is not None:
            raise self._error
        return [StateDifference(AuditKind.EDITED, "agents", "a", 1, "agents a was edited")]


def test_what_takes_longer_goes_on_in_the_background_and_is_said_to():
    store = check_at_start(SlowStore(), seconds=0)
    seen = threading.Event()
    store.integrity.listen(lambda _: seen.set())

    assert store.integrity.is_checking
    assert store.integrity.problem() is None
    store.let_go.set()
    assert seen.wait(10)
    assert store.integrity.refuses_agent("a")


@pytest.mark.parametrize("error", [StoreUnavailable("the disk is gone"), KeyError("agent_id")])
def test_rows_that_can_not_be_compared_are_no_good_news(error):
    store = SlowStore(error)
    store.let_go.set()

    check_at_start(store, seconds=10)

    assert "could not be compared" in store.integrity.problem()
