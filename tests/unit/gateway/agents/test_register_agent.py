"""Registration: both shapes, the defaults, and who may ask for how much."""

import re

import pytest
from tests.support.world import OPERATOR_KEY, World, code_of

from qwed.domain.policy import Policy, PrincipalCeilings
from qwed.gateway.kernel.coroutines import run

IDENTITY = {"name": "DataAnalyst", "type": "supervised", "principal_id": "user_123"}


def register(world, body, key=OPERATOR_KEY):
    return world.call("POST", "/agents/register", json=body, key=key)


@pytest.mark.parametrize("body", [IDENTITY, {"agent": IDENTITY}], ids=["flat", "nested"])
def test_both_shapes_register_with_the_documents_defaults(world, body):
    response = register(world, body)
    agent = response.json()

    assert response.status_code == 201
    assert re.fullmatch(r"agent_[0-9a-f]{12,}", agent["agent_id"])
    assert agent["agent_token"].startswith("qwed_agent_")
    assert len(agent["agent_token"]) >= len("qwed_agent_") + 22
    assert agent["did"] == f"did:qwed:agent:{agent['agent_id']}"
    assert agent["status"] == "active"
    assert agent["created_at"] == "2026-04-06T12:00:00.000Z"
    assert agent["trust_level"] == 1
    assert agent["permissions"] == {
        "allowed_engines": ["math", "logic"],
        "allowed_tools": [],
        "blocked_tools": [],
    }
    assert agent["budget"] == {
        "max_daily_cost_usd": 100,
        "max_per_request_cost_usd": 1,
        "max_requests_per_hour": 1000,
        "max_requests_per_day": 10000,
        "max_tokens_per_request": 4096,
        "max_daily_tokens": None,
    }


def test_what_is_given_is_kept_and_the_token_is_never_shown_again(world):
    given = {
        **IDENTITY,
        "description": "reads reports",
        "framework": "langchain",
        "model": "m-1",
        "permissions": {
            "allowed_engines": ["sql"],
            "allowed_tools": ["t"],
            "blocked_tools": ["execute_code"],
        },
        "budget": {"max_daily_cost_usd": 12.5, "max_daily_tokens": 10},
    }
    agent = register(world, given).json()
    shown = world.call("GET", f"/agents/{agent['agent_id']}")

    for name in ("name", "type", "principal_id", "description", "framework", "model", "permissions"):
        assert shown.json()[name] == given[name]
    assert shown.json()["budget"]["max_daily_cost_usd"] == 12.5
    assert shown.json()["budget"]["max_requests_per_hour"] == 1000
    assert agent["agent_token"] not in shown.text
    assert "token" not in shown.text.replace("max_tokens_per_request", "").replace("max_daily_tokens", "")


@pytest.mark.parametrize(("kind", "level"), [("supervised", 1), ("autonomous", 2), ("trusted", 3)])
def test_each_type_has_its_default_trust(world, kind, level):
    assert register(world, {**IDENTITY, "type": kind}).json()["trust_level"] == level


@pytest.mark.parametrize(
    ("given", "level"), [(0, 0), ("untrusted", 0), ("AUTONOMOUS", 2), (3, 3), ("trusted", 3)]
)
def test_an_operator_may_set_any_level_by_number_or_name(world, given, level):
    assert register(world, {**IDENTITY, "trust_level": given}).json()["trust_level"] == level


@pytest.mark.parametrize("level", [4, -1, 1.0, True, "boss", "1", [], {}])
def test_a_level_that_is_none_of_these_is_named(world, level):
    response = register(world, {**IDENTITY, "trust_level": level})

    assert response.status_code == 422
    assert response.json()["error"]["details"]["field"] == "trust_level"


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"type": "supervised"}, 201),
        ({"type": "supervised", "trust_level": 0}, 201),
        ({"type": "supervised", "trust_level": 2}, 403),
        ({"type": "autonomous", "trust_level": "autonomous"}, 201),
        ({"type": "autonomous", "trust_level": 3}, 403),
        ({"type": "trusted"}, 403),
        ({"type": "trusted", "trust_level": 1}, 403),
    ],
)
def test_a_principal_cannot_go_above_the_types_default_nor_to_the_top(world, body, status):
    key = world.principal_key("user_123")
    response = register(world, {**IDENTITY, **body}, key)

    assert response.status_code == status
    if status == 403:
        assert code_of(response.json()) == "QWED-AUTH-002"


@pytest.mark.parametrize(
    "body",
    [
        {**IDENTITY, "surprise": 1},
        {"agent": {**IDENTITY, "surprise": 1}},
        {"agent": IDENTITY, "surprise": 1},
        {"agent": IDENTITY, "name": "twice"},
        {**IDENTITY, "permissions": {"surprise": []}},
        {**IDENTITY, "budget": {"surprise": 1}},
    ],
)
def test_a_field_the_shapes_do_not_name_is_named(world, body):
    response = register(world, body)

    assert response.status_code == 422
    assert response.json()["error"]["details"]["field"].rpartition(".")[2] in ("surprise", "name")


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"name": ""}, "name"),
        ({"name": "   "}, "name"),
        ({"name": "x" * 257}, "name"),
        ({"name": 7}, "name"),
        ({"type": "boss"}, "type"),
        ({"principal_id": " "}, "principal_id"),
        ({"principal_id": None}, "principal_id"),
        ({"description": "x" * 4097}, "description"),
        ({"permissions": {"allowed_engines": ["astrology"]}}, "permissions.allowed_engines"),
        ({"permissions": {"allowed_tools": [""]}}, "permissions.allowed_tools"),
        ({"permissions": {"blocked_tools": ["x" * 257]}}, "permissions.blocked_tools"),
        ({"permissions": {"allowed_tools": [f"t{n}" for n in range(1001)]}}, "permissions.allowed_tools"),
    ],
)
def test_a_wrong_field_is_named(world, change, field):
    response = register(world, {**IDENTITY, **change})

    assert response.status_code == 422
    assert response.json()["error"]["details"]["field"] == field


@pytest.mark.parametrize("name", ["name", "type"])
@pytest.mark.parametrize("nested", [False, True])
def test_a_missing_field_is_named(world, name, nested):
    identity = {key: value for key, value in IDENTITY.items() if key != name}
    response = register(world, {"agent": identity} if nested else identity)

    assert response.status_code == 422
    assert response.json()["error"]["details"]["field"] == (f"agent.{name}" if nested else name)


LIMITS = (
    "max_daily_cost_usd",
    "max_per_request_cost_usd",
    "max_requests_per_hour",
    "max_requests_per_day",
    "max_tokens_per_request",
    "max_daily_tokens",
)


@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize(
    "value",
    ["-1", "NaN", "Infinity", "-Infinity", "true", "[]", '"many"', '"5"', '" 5 "', "1e400", "9" * 500],
)
def test_a_limit_that_is_no_plain_amount_is_refused_by_name(world, limit, value):
    body = f'{{"name":"a","type":"supervised","principal_id":"p","budget":{{"{limit}":{value}}}}}'
    response = world.call("POST", "/agents/register", content=body)

    assert response.status_code == 422
    assert response.json()["error"]["details"]["field"] == f"budget.{limit}"


@pytest.mark.parametrize("limit", [name for name in LIMITS if "cost" not in name])
@pytest.mark.parametrize("value", [1.5, 2**53])
def test_a_count_is_a_whole_number_that_json_can_carry(world, limit, value):
    response = register(world, {**IDENTITY, "budget": {limit: value}})

    assert response.status_code == 422
    assert response.json()["error"]["details"]["field"] == f"budget.{limit}"


@pytest.mark.parametrize("limit", LIMITS)
def test_zero_and_none_are_limits_too(world, limit):
    assert register(world, {**IDENTITY, "budget": {limit: 0}}).json()["budget"][limit] == 0
    assert register(world, {**IDENTITY, "budget": {limit: None}}).json()["budget"][limit] is None


def test_money_keeps_its_digits(world):
    body = '{"name":"a","type":"supervised","principal_id":"p","budget":{"max_daily_cost_usd":0.123456789}}'
    response = world.call("POST", "/agents/register", content=body)

    assert '"max_daily_cost_usd":0.123456789' in response.text


# --- whose agents ------------------------------------------------------------------------------------


def test_a_principal_registers_its_own_agents_without_naming_itself(world):
    key = world.principal_key("acme")
    response = register(world, {"name": "a", "type": "supervised"}, key)

    assert response.json()["principal_id"] == "acme"


def test_a_principal_cannot_register_for_another(world):
    key = world.principal_key("acme")

    assert register(world, {**IDENTITY, "principal_id": "rival"}, key).status_code == 403


def test_an_operator_has_to_say_whose_agent_it_is(world):
    response = register(world, {"name": "a", "type": "supervised"})

    assert response.status_code == 422
    assert response.json()["error"]["details"]["field"] == "principal_id"


def test_registering_needs_the_scope_and_an_agent_never_has_it(world):
    reader = world.principal_key("acme", scopes=["read", "verify"])
    agent = world.register()

    assert register(world, IDENTITY, reader).status_code == 403
    assert register(world, IDENTITY, agent["agent_token"]).status_code == 403
    assert register(world, IDENTITY, None).status_code == 401


def test_a_ceiling_on_agents_holds_for_the_principal_until_one_is_deregistered():
    world = World(policy=Policy(principals=PrincipalCeilings(max_agents=2)))
    key = world.principal_key("acme")
    body = {"name": "a", "type": "supervised"}
    first = register(world, body, key).json()
    register(world, body, key)
    refused = register(world, body, key)
    by_operator = register(world, {**body, "principal_id": "rival"})
    world.call("DELETE", f"/agents/{first['agent_id']}", key=key)
    world.call("DELETE", f"/agents/{first['agent_id']}", key=key)
    after = register(world, body, key)
    world.close()

    assert refused.status_code == 403
    assert refused.json()["error"]["details"] == {"limit": 2, "current": 2}
    assert by_operator.status_code == 201
    assert after.status_code == 201


def test_ceilings_of_cost_and_requests_span_a_principals_agents():
    ceilings = PrincipalCeilings(max_requests_per_day=3)
    world = World(policy=Policy(named_principals={"acme": ceilings}))
    agents = [world.register() for _ in range(2)]
    other = world.register(principal_id="rival")
    answers = [world.verify(agents[n % 2], conversation=f"c{n}") for n in range(4)]
    unhurt = [world.verify(other, conversation=f"c{n}")["decision"] for n in range(4)]
    world.close()

    assert [answer["decision"] for answer in answers] == ["APPROVED"] * 3 + ["BUDGET_EXCEEDED"]
    assert answers[3]["error"]["details"]["scope"] == "principal_daily_requests"
    assert unhurt == ["APPROVED"] * 4


def test_a_bad_record_cannot_be_shed_by_a_new_name(world):
    key = world.principal_key("acme", scopes=["verify", "register", "read", "trust"])
    agent = world.register(key=key)
    world.call("POST", f"/agents/{agent['agent_id']}/complaint", key=key, json={"reason": "it lied"})
    body = {"name": "again", "type": "supervised"}

    assert register(world, body, key).status_code == 403
    assert world.call("DELETE", f"/agents/{agent['agent_id']}", key=key).status_code == 403
    assert register(world, {**body, "principal_id": "acme"}).status_code == 201
    assert register(world, body, world.principal_key("rival")).status_code == 201
    world.call("POST", f"/agents/{agent['agent_id']}/reactivate", key=key)
    assert register(world, body, key).status_code == 201


def test_a_suspension_without_a_violation_hinders_nobody(world):
    key = world.principal_key("acme")
    agent = world.register(key=key)
    world.call("POST", f"/agents/{agent['agent_id']}/suspend", key=key, json={"reason": "maintenance"})

    assert register(world, {"name": "b", "type": "supervised"}, key).status_code == 201


def test_lifting_a_suspension_for_a_violation_needs_the_scope_trust(world):
    plain = world.principal_key("acme")
    agent = world.register(key=plain)
    path = f"/agents/{agent['agent_id']}"
    world.call("POST", f"{path}/complaint", key=plain)
    world.call("POST", f"{path}/suspend", key=plain)

    assert world.call("POST", f"{path}/reactivate", key=plain).status_code == 403
    trusted = world.principal_key("acme", scopes=["register", "trust"])
    assert world.call("POST", f"{path}/reactivate", key=trusted).status_code == 200


# --- afterwards --------------------------------------------------------------------------------------


def test_changes_are_kept_and_recorded_one_by_one(world):
    agent = world.register()
    path = f"/agents/{agent['agent_id']}"
    world.call("PATCH", path, json={"budget": {"max_daily_cost_usd": 5}})
    world.call("PATCH", path, json={"description": "new"})
    shown = world.call("GET", path).json()
    notes = [entry["action_type"] for entry in world.activity(agent)["activities"]]

    assert shown["budget"]["max_daily_cost_usd"] == 5
    assert shown["budget"]["max_requests_per_hour"] == 1000
    assert shown["description"] == "new"
    assert shown["permissions"] == agent["permissions"]
    assert notes == ["change_agent", "change_agent", "register_agent"]


@pytest.mark.parametrize(
    "body", [{"trust_level": 3}, {"name": "x"}, {"principal_id": "rival"}, {"status": "active"}]
)
def test_what_a_change_may_not_touch_is_refused_by_name(world, body):
    agent = world.register()
    response = world.call("PATCH", f"/agents/{agent['agent_id']}", json=body)

    assert response.status_code == 422
    assert response.json()["error"]["details"]["field"] == next(iter(body))


def test_a_rotated_token_works_and_the_old_one_does_not(world):
    agent = world.register()
    renewed = world.call("POST", f"/agents/{agent['agent_id']}/rotate-token").json()

    assert world.verify_response(agent, key=agent["agent_token"]).status_code == 401
    assert world.verify(agent, key=renewed["agent_token"])["decision"] == "APPROVED"


def test_a_deregistered_agent_is_gone_for_everybody_and_its_history_stays(world):
    agent = world.register()
    done = world.verify(agent)
    path = f"/agents/{agent['agent_id']}"
    assert world.call("DELETE", path).status_code == 200

    assert world.call("GET", path).status_code == 404
    assert world.verify_response(agent).status_code == 404
    assert world.verify_response(agent, key=agent["agent_token"]).status_code == 401
    assert agent["agent_id"] not in world.call("GET", "/agents").text
    stored = run(world.services.store.activity(done["activity_id"]))
    assert stored is not None and stored[0].decision == "APPROVED"


def test_agents_are_listed_in_pages_within_the_walls(world):
    own = sorted(world.register()["agent_id"] for _ in range(5))
    world.register(principal_id="rival")
    key = world.principal_key("acme")
    seen, after = [], {}
    while True:
        page = world.call("GET", "/agents", key=key, params={"limit": 2, **after}).json()
        seen += [agent["agent_id"] for agent in page["agents"]]
        if "next" not in page:
            break
        after = {"after": page["next"]}

    assert seen == own
    assert len(world.call("GET", "/agents").json()["agents"]) == 6
