"""Envoy asks whether a request may pass: 200 lets it through, everything else does not."""

from collections.abc import Iterator
from typing import Any

import httpx2
import msgspec
import pytest
from tests.support.world import World

from qwed.domain.policy import DEFAULT_POLICY

RIGHTS = {"allowed_engines": ["tool_control"], "allowed_tools": ["api_call"]}


@pytest.fixture
def world() -> Iterator[World]:
    made = World()
    yield made
    made.close()


def check(
    world: World,
    token: str | None,
    path: str,
    method: str = "GET",
    host: str = "api.example.com",
    **headers: str,
) -> httpx2.Response:
    """As Envoy sends it: the request's own method, host and path below a prefix, and its headers."""
    given = {"Host": "api.example.com", **headers, **({} if token is None else {"X-Agent-Token": token})}
    return world.call(method, f"/ext-authz{path}", key=None, headers=given)


def last_action(world: World) -> dict[str, Any]:
    listed = world.call("GET", "/activity", params={"action_type": "api_call"}).json()["activities"]
    shown = world.call("GET", f"/activity/{listed[0]['activity_id']}").json()["activity"]
    return dict(shown["action"]["parameters"])


def test_what_the_policy_allows_passes_and_is_recorded_as_it_was_asked(world: World):
    agent = world.register(type="trusted", permissions=RIGHTS)

    # The bearer token is for the server behind Envoy, and says nothing here.
    answer = check(world, agent["agent_token"], "/v1/things/a%2Fb?x=1", Authorization="Bearer upstreams-own")
    assert (answer.status_code, answer.headers["QWED-Decision"]) == (200, "APPROVED"), answer.text
    assert last_action(world) == {"url": "https://api.example.com/v1/things/a%2Fb?x=1", "method": "GET"}


def test_what_waits_for_a_person_does_not_pass_and_names_the_approval(world: World):
    agent = world.register(type="supervised", permissions=RIGHTS)

    answer = check(world, agent["agent_token"], "/v1/things", "POST")
    assert (answer.status_code, answer.json()["decision"]) == (403, "PENDING")
    assert answer.json()["approval"]["id"].startswith("apr_")
    assert "permit" not in answer.json()


def test_an_agent_that_may_not_call_does_not_pass(world: World):
    agent = world.register(type="trusted")

    assert check(world, agent["agent_token"], "/v1/things").status_code == 403


@pytest.mark.parametrize("token", [None, "", "qwed_agent_made-up"])
def test_without_an_agents_token_nothing_passes(world: World, token: str | None):
    assert check(world, token, "/v1/things").status_code == 401


def test_a_key_is_no_agent(world: World):
    assert check(world, world.principal_key(), "/v1/things").status_code in (401, 403)


def test_where_the_policy_requires_a_context_nothing_passes():
    world = World(policy=msgspec.structs.replace(DEFAULT_POLICY, tools_require_context=True))
    try:
        agent = world.register(type="trusted", permissions=RIGHTS)
        assert check(world, agent["agent_token"], "/v1/things").status_code == 403
    finally:
        world.close()
