"""A browser's session: opened with a key, ended with it, and of no use to another site's page."""

import contextlib

import pytest
from tests.support.fakes import HOUR
from tests.support.world import OPERATOR_KEY, World

from qwed.ect.keys import NodeSigner, generate
from qwed.gateway.kernel.ports import StoreUnavailable
from qwed.http.sessions import LIFETIME_SECONDS


@pytest.fixture
def world():
    with contextlib.closing(World()) as built:
        yield built


def sign_in(world, key=OPERATOR_KEY, **headers):
    return world.call("POST", "/session", key=None, json={"api_key": key}, headers=headers)


def cookie_of(response):
    return response.headers["Set-Cookie"].split(";")[0]


def signed_in(world, key=OPERATOR_KEY):
    """Headers of a page of ours, after signing in."""
    response = sign_in(world, key)
    assert response.status_code == 200, response.text
    return {"Cookie": cookie_of(response), "X-CSRF-Token": response.json()["csrf_token"]}


def test_a_key_opens_a_session_that_reads(world):
    agent = world.register()
    response = sign_in(world)

    answer = world.call("GET", "/agents", key=None, headers={"Cookie": cookie_of(response)})

    assert [found["agent_id"] for found in answer.json()["agents"]] == [agent["agent_id"]]
    assert response.json()["is_operator"] is True


def test_the_cookie_is_kept_from_scripts_other_sites_and_longer_lives(world):
    attributes = sign_in(world).headers["Set-Cookie"].lower()

    assert "httponly" in attributes
    assert "samesite=strict" in attributes
    assert f"max-age={LIFETIME_SECONDS}" in attributes
    assert "secure" not in attributes
    assert OPERATOR_KEY.lower() not in attributes


def test_over_tls_the_cookie_is_bound_to_this_host(world):
    async def send():
        async with world.client() as client:
            client.base_url = "https://gateway"
            return await client.post("/session", json={"api_key": OPERATOR_KEY})

    cookie = world.run(send()).headers["Set-Cookie"]

    assert cookie.startswith("__Host-qwed_session=")
    assert "secure" in cookie.lower()


@pytest.mark.parametrize(
    "key", ["qwed_live_wrong", "", "ключ", "x" * 1000], ids=["wrong", "empty", "odd", "long"]
)
def test_a_wrong_key_opens_nothing(world, key):
    response = sign_in(world, key)

    assert response.status_code == 401
    assert "Set-Cookie" not in response.headers


def test_an_agents_token_is_no_way_in(world):
    agent = world.register()

    assert sign_in(world, agent["agent_token"]).status_code == 403


def test_a_key_that_may_not_read_is_told_so(world):
    key = world.principal_key("acme", scopes=["verify"])

    assert sign_in(world, key).status_code == 403


def test_failed_sign_ins_are_limited(world):
    statuses = [sign_in(world, f"qwed_live_{number}").status_code for number in range(25)]

    assert statuses[0] == 401
    assert statuses[-1] == 429
    assert sign_in(world).status_code == 200


def test_nobody_signed_in_is_no_error(world):
    assert world.call("GET", "/session", key=None).json() == {"signed_in": False}


@pytest.mark.parametrize("token", [None, "", "0" * 64, "жжж"], ids=["none", "empty", "wrong", "odd"])
def test_a_change_without_the_pages_token_is_refused(world, token):
    agent = world.register()
    headers = signed_in(world)
    if token is None:
        del headers["X-CSRF-Token"]
    else:
        headers["X-CSRF-Token"] = token.encode("latin-1", "replace").decode("latin-1")

    response = world.call("POST", f"/agents/{agent['agent_id']}/suspend", key=None, headers=headers)

    assert response.status_code == 403
    assert world.stored(agent).status == "active"


def test_a_change_from_a_page_of_ours_is_made(world):
    agent = world.register()

    response = world.call("POST", f"/agents/{agent['agent_id']}/suspend", key=None, headers=signed_in(world))

    assert response.status_code == 200
    assert world.stored(agent).status == "suspended"


def test_another_sites_page_changes_nothing_even_with_the_token(world):
    agent = world.register()
    headers = {**signed_in(world), "Sec-Fetch-Site": "cross-site"}

    response = world.call("POST", f"/agents/{agent['agent_id']}/suspend", key=None, headers=headers)

    assert response.status_code == 403
    assert sign_in(world, **{"Sec-Fetch-Site": "same-site"}).status_code == 403


def test_one_sessions_token_is_no_use_in_another(world):
    agent = world.register()
    first, second = signed_in(world), signed_in(world)
    mixed = {"Cookie": first["Cookie"], "X-CSRF-Token": second["X-CSRF-Token"]}

    assert (
        world.call("POST", f"/agents/{agent['agent_id']}/suspend", key=None, headers=mixed).status_code == 403
    )


def test_a_key_in_the_header_needs_no_token_and_wins_over_the_cookie(world):
    agent = world.register(principal_id="other")
    foreign = signed_in(world, world.principal_key("acme"))

    response = world.call(
        "POST", f"/agents/{agent['agent_id']}/suspend", headers={"Cookie": foreign["Cookie"]}
    )

    assert response.status_code == 200


def test_a_revoked_key_ends_its_sessions(world):
    created = world.call("POST", "/keys", json={"principal_id": "acme"}).json()
    headers = signed_in(world, created["api_key"])
    assert world.call("GET", "/agents", key=None, headers=headers).status_code == 200

    world.call("DELETE", f"/keys/{created['key_id']}")

    assert world.call("GET", "/agents", key=None, headers=headers).status_code == 401
    assert world.call("GET", "/session", key=None, headers=headers).json() == {"signed_in": False}


def test_a_session_ends_by_itself(world):
    headers = signed_in(world)
    world.clock.advance(12 * HOUR - 1)
    assert world.call("GET", "/agents", key=None, headers=headers).status_code == 200

    world.clock.advance(1)

    assert world.call("GET", "/agents", key=None, headers=headers).status_code == 401


def test_signing_out_ends_the_session_and_every_copy_of_its_cookie(world):
    headers = signed_in(world)

    response = world.call("DELETE", "/session", key=None, headers=headers)

    assert "max-age=0" in response.headers["Set-Cookie"].lower()
    assert world.call("GET", "/agents", key=None, headers=headers).status_code == 401


def test_another_site_cannot_sign_anybody_out(world):
    headers = signed_in(world)

    assert (
        world.call("DELETE", "/session", key=None, headers={"Cookie": headers["Cookie"]}).status_code == 403
    )
    assert world.call("GET", "/agents", key=None, headers=headers).status_code == 200


def test_who_cannot_be_signed_out_for_good_is_told_so(world, monkeypatch):
    headers = signed_in(world)

    async def away(*values):
        raise StoreUnavailable("away")

    monkeypatch.setattr(world.services.store, "end_session", away)
    response = world.call("DELETE", "/session", key=None, headers=headers)

    assert response.status_code == 503
    assert "Set-Cookie" not in response.headers


def test_a_cookie_that_was_touched_is_no_session(world):
    name, _, value = signed_in(world)["Cookie"].partition("=")
    touched = [
        value[:i] + ("A" if value[i] != "A" else "B") + value[i + 1 :] for i in range(0, len(value), 7)
    ]
    for forged in [*touched, value[:-1], value + "A", "", "é" * 112, "=" * 112]:
        headers = {"Cookie": f"{name}={forged}".encode("latin-1")}
        assert world.call("GET", "/session", key=None, headers=headers).json() == {"signed_in": False}, forged


def test_any_worker_with_the_key_opens_the_cookie_and_no_other_does():
    signer = NodeSigner(generate(), "test")
    with contextlib.closing(World(signer=signer)) as one:
        store = one.services.store
        headers = signed_in(one)
        with contextlib.closing(World(signer=signer, store=store, clock=one.clock)) as second:
            assert second.call("GET", "/session", key=None, headers=headers).json()["signed_in"]
        other = NodeSigner(generate(), "test")
        with contextlib.closing(World(signer=other, store=store, clock=one.clock)) as third:
            assert not third.call("GET", "/session", key=None, headers=headers).json()["signed_in"]


def test_a_session_decides_nothing_for_an_agent(world):
    """`verify` asks for the credential of whoever acts; a page is for looking and answering."""
    agent = world.register()

    response = world.verify_response(agent, key=None, headers=signed_in(world))

    assert response.status_code == 401


def test_the_key_that_asked_does_not_answer_through_a_session_either(world):
    from qwed.domain.findings import Status
    from qwed.domain.risk import Risk

    key = world.principal_key("acme", scopes=["verify", "read", "approve"])
    agent = world.register()
    world.prover.says(Status.VERIFIED, Risk.HIGH)
    approval = world.verify(agent, key=key)["approval"]["id"]

    response = world.call("POST", f"/approvals/{approval}/approve", key=None, headers=signed_in(world, key))

    assert response.status_code == 403
    assert response.json()["error"]["code"] == "QWED-APPROVAL-006"
