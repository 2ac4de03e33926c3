"""Keys that expire, and keys that may only collect metrics."""

import contextlib

import pytest
from tests.support.world import OPERATOR_KEY, World

DAY_SECONDS = 86_400
FAR_AWAY = "203.0.113.9"


@pytest.fixture
def world():
    with contextlib.closing(World()) as made:
        yield made


def create(world, **body):
    answer = world.call("POST", "/keys", json={"principal_id": "acme", **body})
    assert answer.status_code == 201, answer.text
    return answer.json()


def test_a_key_counts_until_its_end_and_not_at_it(world):
    key = create(world, scopes=["read"], expires_in_seconds=DAY_SECONDS)
    world.clock.advance(DAY_SECONDS * 1000 - 1)
    before = world.call("GET", "/agents", key=key["api_key"])
    world.clock.advance(1)
    at_its_end = world.call("GET", "/agents", key=key["api_key"])

    assert before.status_code == 200
    assert at_its_end.status_code == 401
    assert at_its_end.json()["error"]["code"].startswith("QWED-AUTH-")
    listed = {each["key_id"]: each for each in world.call("GET", "/keys").json()["keys"]}
    assert listed[key["key_id"]]["expires_at"] == key["expires_at"] is not None
    assert listed[key["key_id"]]["revoked_at"] is None


@pytest.mark.parametrize("lifetime", [0, -1, 10 * 365 * DAY_SECONDS + 1, "soon", 1.5, True])
def test_a_lifetime_that_is_none_is_refused(world, lifetime):
    body = {"principal_id": "acme", "expires_in_seconds": lifetime}
    assert world.call("POST", "/keys", json=body).status_code == 422


def test_an_operator_s_key_that_expires_does_not_let_the_last_lasting_one_be_revoked(world):
    passing = world.call("POST", "/keys", json={"roles": ["operator"], "expires_in_seconds": 60}).json()
    keys = world.call("GET", "/keys").json()["keys"]
    lasting = next(key["key_id"] for key in keys if key["expires_at"] is None)
    refused = world.call("DELETE", f"/keys/{lasting}", key=passing["api_key"])

    assert refused.status_code == 403
    assert world.call("GET", "/keys", key=OPERATOR_KEY).status_code == 200


def test_a_key_for_metrics_reads_metrics_and_nothing_else(world):
    agent = world.register()
    key = create(world, scopes=["metrics"])["api_key"]
    metrics = world.call("GET", "/metrics", key=key, address=FAR_AWAY)

    assert metrics.status_code == 200 and "qwed_" in metrics.text
    for method, path in (
        ("GET", "/agents"),
        ("GET", f"/agents/{agent['agent_id']}/activity"),
        ("GET", "/keys"),
        ("GET", "/approvals"),
        ("POST", "/keys"),
    ):
        assert world.call(method, path, key=key, address=FAR_AWAY).status_code == 403, path
    action = {"action": {"type": "calculate", "query": "1+1"}, "context": None}
    asked = world.call("POST", f"/agents/{agent['agent_id']}/verify", key=key, address=FAR_AWAY, json=action)
    assert asked.status_code == 403


@pytest.mark.parametrize("scope", ["verify", "register", "read", "approve", "trust", "permits"])
def test_no_other_scope_reads_metrics_from_elsewhere(world, scope):
    key = create(world, scopes=[scope])["api_key"]
    assert world.call("GET", "/metrics", key=key, address=FAR_AWAY).status_code == 403


def test_metrics_need_a_key_from_elsewhere_and_one_that_has_not_expired(world):
    key = create(world, scopes=["metrics"], expires_in_seconds=60)["api_key"]
    world.clock.advance(60_000)

    assert world.call("GET", "/metrics", key=None, address=FAR_AWAY).status_code == 401
    assert world.call("GET", "/metrics", key=key, address=FAR_AWAY).status_code == 401
