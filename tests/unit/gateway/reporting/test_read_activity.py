"""Who may read which record: it outlives its agent, and the gateway has one of its own."""

from tests.support.world import code_of


def entries(world, agent_id, key):
    return world.call("GET", f"/agents/{agent_id}/activity", key=key)


def test_the_record_of_a_deregistered_agent_is_read_by_its_principal_and_by_operators(world):
    own, rival = world.principal_key("acme"), world.principal_key("rival")
    agent = world.register()
    world.verify(agent)
    world.call("DELETE", f"/agents/{agent['agent_id']}", key=own)

    read = entries(world, agent["agent_id"], own)
    assert read.status_code == 200
    kinds = [entry["action_type"] for entry in read.json()["activities"]]
    assert kinds == ["deregister_agent", "calculate", "register_agent"]
    assert (
        entries(world, agent["agent_id"], world.principal_key("acme", scopes=["verify"])).status_code == 403
    )
    assert world.activity(agent)["summary"] == read.json()["summary"]
    for key in (rival, world.register()["agent_token"]):
        refused = entries(world, agent["agent_id"], key)
        assert refused.status_code == 404
        assert refused.text == entries(world, agent["agent_id"], key).text
        assert code_of(refused.json()) == code_of(entries(world, "agent_nobody", key).json())
    assert entries(world, agent["agent_id"], agent["agent_token"]).status_code == 401


def test_the_gateways_own_record_is_for_operators(world):
    own = world.principal_key("acme")
    agent = world.register()

    read = world.activity({"agent_id": "gateway"})
    assert {entry["action_type"] for entry in read["activities"]} == {"create_key"}
    for key in (own, agent["agent_token"]):
        assert entries(world, "gateway", key).status_code == 404


def test_nobody_has_no_record(world):
    assert entries(world, "agent_nobody", world.principal_key("acme")).status_code == 404
    assert world.call("GET", "/agents/agent_nobody/activity").status_code == 404


def test_a_parameter_that_is_given_twice_is_refused(world):
    agent = world.register()
    for path in (f"/agents/{agent['agent_id']}/activity", "/compliance-report", "/agents", "/approvals"):
        refused = world.call("GET", f"{path}?from=2026-01-01&from=2026-02-01&limit=1")

        assert refused.status_code == 422
        assert refused.json()["error"]["details"]["field"] == "from"


def test_a_decision_that_is_none_is_refused_with_those_there_are(world):
    agent = world.register()

    refused = world.call("GET", f"/agents/{agent['agent_id']}/activity", params={"decision": "approved"})

    assert refused.status_code == 422
    assert refused.json()["error"]["message"].endswith("BUDGET_EXCEEDED, NOTED")


def test_every_entry_has_the_fields_of_an_entry(world):
    agent = world.register(budget={"max_requests_per_hour": 2})
    approved = world.verify(agent)
    world.verify(agent, {"type": "nonesuch"}, 2)
    world.verify(agent, step=3)
    outcome = f"/agents/{agent['agent_id']}/activity/{approved['activity_id']}/outcome"
    world.call("POST", outcome, json={"outcome": "success", "usage": {"cost_usd": 0.25, "tokens": 3}})
    found = world.activity(agent)["activities"]
    costs = {(entry["action_type"], entry["decision"]): entry["cost"] for entry in found}

    assert {entry["decision"] for entry in found} == {"APPROVED", "DENIED", "BUDGET_EXCEEDED", "NOTED"}
    assert all({"agent_id", "timestamp", "action", "context", "cost"} <= entry.keys() for entry in found)
    assert costs["register_agent", "NOTED"] == {"usd": 0, "tokens": 0}
    assert costs["report_outcome", "NOTED"] == {"usd": 0.25, "tokens": 3}
