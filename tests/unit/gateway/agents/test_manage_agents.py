"""What a principal changes of an agent after registering it."""

import pytest

PERMISSIONS = {"allowed_engines": ["math"], "allowed_tools": ["fetch"], "blocked_tools": ["send_email"]}


def change(world, agent, **changes):
    return world.call("PATCH", f"/agents/{agent['agent_id']}", json=changes)


@pytest.mark.parametrize("field", sorted(PERMISSIONS))
def test_a_permission_that_is_not_named_stays_as_it_is(world, field):
    agent = world.register(permissions=PERMISSIONS)
    changed = change(world, agent, permissions={field: []}).json()["permissions"]

    assert changed == {**PERMISSIONS, field: []}


def test_a_budget_limit_that_is_not_named_stays_as_it_is(world):
    agent = world.register(budget={"max_daily_cost_usd": 5, "max_requests_per_hour": 7})
    changed = change(world, agent, budget={"max_requests_per_hour": None}).json()["budget"]

    assert (changed["max_daily_cost_usd"], changed["max_requests_per_hour"]) == (5, None)


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"permissions": {"allowed_engines": ["magic"]}}, "permissions.allowed_engines"),
        ({"permissions": {"blocked_tools": None}}, "permissions.blocked_tools"),
        ({"permissions": {"tools": []}}, "permissions.tools"),
        ({"budget": {"max_daily_cost_usd": "5"}}, "budget.max_daily_cost_usd"),
        ({"trust_level": 3}, "trust_level"),
    ],
)
def test_a_change_that_makes_no_sense_is_refused_by_name(world, changes, field):
    agent = world.register(permissions=PERMISSIONS)
    refused = change(world, agent, **changes)

    assert (refused.status_code, refused.json()["error"]["details"]["field"]) == (422, field)
