"""A key that may change the policy and nothing else; and keys that may do everything else, and not that."""

import pytest
from tests.support.world import World

CHANGES = [
    ("GET", "/policy", None),
    ("GET", "/policy/history", None),
    ("PUT", "/policy", {"text": "profile: standard\n", "reason": "tighter"}),
    ("POST", "/stop", {"scope": "tool", "name": "send_email", "reason": "incident"}),
]


@pytest.fixture
def world():
    made = World()
    yield made
    made.close()


def key_with(world: World, *scopes: str) -> str:
    return world.call("POST", "/keys", json={"principal_id": "platform", "scopes": list(scopes)}).json()[
        "api_key"
    ]


@pytest.mark.parametrize(("method", "path", "body"), CHANGES)
def test_the_scope_policy_is_enough_and_every_other_one_is_not(world, method, path, body):
    others = ("verify", "register", "read", "approve", "trust", "permits", "metrics", "audit")
    refused = world.call(method, path, json=body, key=key_with(world, *others))
    taken = world.call(method, path, json=body, key=key_with(world, "policy"))

    assert refused.status_code == 403 and "'policy'" in refused.json()["error"]["message"]
    assert taken.status_code < 300, taken.text


@pytest.mark.parametrize("path", ["/agents", "/keys", "/activity", "/ledger/entries"])
def test_whoever_changes_the_policy_sees_nothing_else(world, path):
    assert world.call("GET", path, key=key_with(world, "policy")).status_code == 403


def test_a_key_can_t_give_itself_the_scope(world):
    own = key_with(world, "register", "read")

    made = world.call("POST", "/keys", json={"principal_id": "platform", "scopes": ["policy"]}, key=own)

    assert made.status_code == 403
