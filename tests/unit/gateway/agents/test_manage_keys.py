"""API keys and webhooks: shown once, stored as a hash, revoked at once, never the last one."""

import pytest
from tests.support.world import OPERATOR_KEY, code_of

from qwed.gateway.kernel.coroutines import run

ACME = {"principal_id": "acme"}


def create(world, key=OPERATOR_KEY, **body):
    return world.call("POST", "/keys", key=key, json=body)


def test_a_key_verifies_registers_and_reads_unless_asked_for_more(world):
    made = create(world, **ACME).json()

    assert made["scopes"] == ["verify", "register", "read"]
    assert made["api_key"].startswith("qwed_live_")
    assert len(made["api_key"]) >= len("qwed_live_") + 22
    assert made["revoked_at"] is None


def test_a_secret_is_shown_once_and_stored_as_a_hash(world):
    made = create(world, **ACME, label="ci").json()
    listed = world.call("GET", "/keys")
    stored = run(world.services.store.keys(None))

    assert made["key_id"] in listed.text
    assert made["api_key"] not in listed.text
    assert made["api_key"] not in repr(stored)
    assert all(len(key.key_hash) == 32 for key in stored)


def test_two_keys_are_never_alike(world):
    made = [create(world, **ACME).json() for _ in range(20)]

    assert len({key["api_key"] for key in made}) == len({key["key_id"] for key in made}) == 20


def test_only_an_operator_makes_keys(world):
    everything = ["verify", "register", "read", "approve", "trust"]
    principal = world.principal_key("acme", scopes=everything)
    agent = world.register()

    for key, status in ((principal, 403), (agent["agent_token"], 403), (None, 401), ("qwed_live_x", 401)):
        assert create(world, key, **ACME).status_code == status


def test_a_role_that_resembles_the_operators_is_not_the_operators(world):
    key = world.principal_key("acme", roles=["operator:security", "Operator", " operator"])

    assert create(world, key, **ACME).status_code == 403


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "principal_id"),
        ({"principal_id": ""}, "principal_id"),
        ({"principal_id": "  "}, "principal_id"),
        ({"principal_id": "x" * 257}, "principal_id"),
        ({"principal_id": 7}, "principal_id"),
        ({"principal_id": "acme", "roles": ["operator"]}, "principal_id"),
        ({"principal_id": "acme", "roles": [""]}, "roles"),
        ({"principal_id": "acme", "roles": ["r"] * 21}, "roles"),
        ({"principal_id": "acme", "label": "x" * 257}, "label"),
        ({"principal_id": "acme", "surprise": 1}, "surprise"),
    ],
)
def test_a_wrong_request_is_named(world, body, field):
    response = create(world, **body)

    assert response.status_code == 422
    assert response.json()["error"]["details"]["field"] == field


@pytest.mark.parametrize("scopes", [["everything"], ["READ"], "read", [7]])
def test_an_unknown_scope_is_refused(world, scopes):
    response = create(world, **ACME, scopes=scopes)

    assert response.status_code == 422
    assert response.json()["error"]["details"]["field"].startswith("scopes")


def test_a_revoked_key_stops_working_at_once(world):
    made = create(world, **ACME).json()
    assert world.call("GET", "/agents", key=made["api_key"]).status_code == 200
    revoked = world.call("DELETE", f"/keys/{made['key_id']}")

    assert revoked.json()["revoked_at"] is not None
    assert world.call("GET", "/agents", key=made["api_key"]).status_code == 401


def test_the_last_operator_key_cannot_be_revoked(world):
    (first,) = [key for key in world.call("GET", "/keys").json()["keys"] if "operator" in key["roles"]]
    refused = world.call("DELETE", f"/keys/{first['key_id']}")
    assert (refused.status_code, code_of(refused.json())) == (403, "QWED-AUTH-002")

    second = create(world, roles=["operator"]).json()
    assert world.call("DELETE", f"/keys/{first['key_id']}", key=second["api_key"]).status_code == 200
    assert world.call("GET", "/keys").status_code == 401
    assert world.call("DELETE", f"/keys/{second['key_id']}", key=second["api_key"]).status_code == 403


def test_a_principal_sees_and_revokes_its_own_keys_only(world):
    own, foreign = world.principal_key("acme"), create(world, principal_id="rival").json()
    listed = world.call("GET", "/keys", key=own).json()["keys"]

    assert {key["principal_id"] for key in listed} == {"acme"}
    answers = [world.call("DELETE", f"/keys/{each}", key=own) for each in (foreign["key_id"], "key_none")]
    assert [answer.status_code for answer in answers] == [404, 404]
    assert answers[0].text.replace(foreign["key_id"], "key_none") == answers[1].text
    assert world.call("GET", "/agents", key=foreign["api_key"]).status_code == 200


def test_keys_are_part_of_the_record(world):
    made = create(world, **ACME).json()
    world.call("DELETE", f"/keys/{made['key_id']}")
    from qwed.gateway.kernel.changes import GATEWAY
    from qwed.gateway.kernel.records import ActivityQuery

    page = run(world.services.store.activities(ActivityQuery(GATEWAY)))
    text = b"".join(payload for payload, _ in page.entries).decode()

    assert text.count("create_key") >= 2 and "revoke_key" in text
    assert made["key_id"] in text
    assert made["api_key"] not in text


# --- webhooks ----------------------------------------------------------------------------------------


def hook(world, key=OPERATOR_KEY, **body):
    return world.call("POST", "/webhooks", key=key, json={"url": "https://example.com/hook", **body})


def test_a_webhooks_secret_is_shown_once(world):
    made = hook(world, **ACME)
    listed = world.call("GET", "/webhooks")

    assert made.status_code == 201
    assert made.json()["secret"].startswith("whsec_")
    assert made.json()["id"] in listed.text
    assert made.json()["secret"] not in listed.text


def test_an_address_the_gateway_would_not_call_is_refused(world):
    response = hook(world, url="http://169.254.169.254/latest")

    assert response.status_code == 422
    assert response.json()["error"]["details"]["field"] == "url"


@pytest.mark.parametrize(
    "body",
    [
        {"events": ["gossip"]},
        {"url": "https://x/" + "y" * 2048},
        {"surprise": 1},
        {"principal_id": " "},
        {"principal_id": "p" * 257},
    ],
)
def test_a_wrong_webhook_is_named(world, body):
    response = hook(world, **body)

    assert response.status_code == 422
    assert response.json()["error"]["details"]["field"] in body


def test_webhooks_keep_to_the_walls_and_to_their_number(world):
    own, rival = world.principal_key("acme"), world.principal_key("rival")
    made = hook(world, own).json()

    assert made["principal_id"] == "acme"
    assert hook(world, own, principal_id="rival").status_code == 403
    assert world.call("GET", "/webhooks", key=rival).json()["webhooks"] == []
    assert world.call("DELETE", f"/webhooks/{made['id']}", key=rival).status_code == 404
    assert world.call("DELETE", f"/webhooks/{made['id']}", key=own).status_code == 200
    statuses = [hook(world, own).status_code for _ in range(21)]
    assert statuses == [201] * 20 + [403]


def test_what_is_named_twice_is_kept_once(world):
    key = create(world, **ACME, scopes=["read", "read", "verify"]).json()

    assert key["scopes"] == ["read", "verify"]
    assert hook(world, events=["trust"] * 1000).json()["events"] == ["trust"]
