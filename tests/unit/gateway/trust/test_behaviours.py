"""Behaviour specifications at the gateway: recorded, then in force; checked on append and every hour."""

from decimal import Decimal

import msgspec
import pytest
from tests.support.fakes import DAY, HOUR
from tests.support.tokens import SigningAgent, jti_in
from tests.support.world import World

from qwed.assurance.specs import read_spec, sign_spec
from qwed.domain.policy import DEFAULT_POLICY, AssuranceRules
from qwed.gateway.approvals.sweep_approvals import sweep_approvals
from qwed.gateway.trust.behaviours import check_periodically

RULES = AssuranceRules(behaviour_verification=True, trust_scoring=True)
WATCHING = msgspec.structs.replace(DEFAULT_POLICY, assurance=RULES)


@pytest.fixture
def world():
    opened = World(policy=WATCHING)
    yield opened
    opened.close()


@pytest.fixture
def agent(world):
    return SigningAgent(world)


def document(agent, **changes):
    return {
        "spec_version": "1.0",
        "agent_id": agent.did,
        "allowed_actions": ["read_config"],
        "constraints": {"forbidden_targets": ["core-*"]},
        **changes,
    }


def put(world, agent, body, key=None):
    path = f"/agents/{agent.agent['agent_id']}/behavior-spec"
    return world.call("PUT", path, json=body, **({"key": key} if key else {}))


def checks(world):
    found = world.call("GET", "/activity", params={"action_type": "check_compliance"}).json()["activities"]
    return [entry["action"]["parameters"] for entry in reversed(found)]


def score(world, agent):
    return Decimal(world.call("GET", "/trust-score", params={"peer": agent.did}).json()["score"])


def test_a_specification_is_recorded_and_then_in_force(world, agent):
    answer = put(world, agent, {"spec": document(agent)})

    assert answer.status_code == 200, answer.text
    assert "not signed" in answer.json()["warning"]
    shown = world.call("GET", f"/agents/{agent.agent['agent_id']}/behavior-spec").json()
    assert shown["spec"]["allowed_actions"] == ["read_config"]
    recorded = world.call("GET", "/activity", params={"action_type": "update_spec"}).json()["activities"]
    assert recorded[0]["action"]["parameters"]["apae.spec_hash"] == shown["apae.spec_hash"]


def test_a_signed_specification_names_its_signer(world, agent):
    signed = sign_spec(world.services.signer, read_spec(document(agent)), world.clock.now_ms() // 1000)
    answer = put(world, agent, {"signed": signed}).json()

    assert answer["signer"] == world.services.signer.issuer
    assert "warning" not in answer
    assert put(world, agent, {"signed": signed[:-4] + "AAAA"}).status_code == 422


def test_a_change_names_what_it_replaces_and_a_version_means_one_thing(world, agent):
    first = put(world, agent, {"spec": document(agent)}).json()
    second = put(world, agent, {"spec": document(agent, spec_version="1.1", allowed_actions=[])}).json()

    assert second["apae.previous_spec_hash"] == first["apae.spec_hash"]
    assert put(world, agent, {"spec": document(agent, spec_version="1.1")}).status_code == 422


@pytest.mark.parametrize(
    "body", [{}, {"spec": {}, "signed": "x"}, {"spec": {"agent_id": "x"}}, {"spec": None}], ids=str
)
def test_what_is_no_specification_is_refused(world, agent, body):
    assert put(world, agent, body).status_code == 422


def test_a_specification_is_about_the_agent_itself_and_set_by_whoever_registers(world, agent):
    other = SigningAgent(world, name="other")

    assert put(world, agent, {"spec": document(other)}).status_code == 422
    assert put(world, agent, {"spec": document(agent)}, agent.agent["agent_token"]).status_code == 403


@pytest.mark.parametrize("strict_checkpoints", [False, True])
def test_in_strict_mode_a_checkpoint_counts_only_for_what_descends_from_it(strict_checkpoints):
    rules = AssuranceRules(
        trust_scoring=True, behaviour_verification=True, strict_checkpoints=strict_checkpoints
    )
    world = World(policy=msgspec.structs.replace(DEFAULT_POLICY, assurance=rules))
    try:
        agent = SigningAgent(world)
        gated = {"require_checkpoint_before": ["read_config"]}
        put(world, agent, {"spec": document(agent, constraints=gated)})
        checkpoint = agent.token("atd:checkpoint")
        between = agent.token("atd:error", jti_in(checkpoint))
        agent.submit(checkpoint, between, agent.token("read_config", jti_in(between)))
        assert checks(world) == []
        agent.submit(agent.token("atd:checkpoint"), agent.token("read_config"))

        assert len(checks(world)) == strict_checkpoints
    finally:
        world.close()


def test_a_token_that_breaks_it_is_found_on_append_and_costs_once(world, agent):
    put(world, agent, {"spec": document(agent)})
    good, bad = agent.token("read_config"), agent.token("delete_everything", ext={"target": "core-1"})
    agent.submit(good)
    assert checks(world) == []
    agent.submit(bad)
    agent.submit(bad)
    (check,) = checks(world)

    assert check["apae.compliance_status"] == "failing"
    assert {item["rule"] for item in check["apae.violations"]} == {"allowed_actions", "forbidden_targets"}
    assert {item["jti"] for item in check["apae.violations"]} == {jti_in(bad)}
    assert score(world, agent) == Decimal("0.32")


def test_every_hour_says_what_was_seen(world, agent):
    put(world, agent, {"spec": document(agent, verification_frequency="periodic")})
    agent.submit(agent.token("other"))
    assert checks(world) == []
    for _ in range(3):
        world.clock.advance(HOUR)
        world.run(check_periodically(world.services))
        world.run(check_periodically(world.services))

    assert [check["apae.compliance_status"] for check in checks(world)] == ["failing", "unknown", "unknown"]
    assert score(world, agent) == Decimal("0.32")


def test_whoever_reads_the_ledger_again_finds_the_same_and_writes_nothing_twice(world, agent):
    put(world, agent, {"spec": document(agent)})
    agent.submit(agent.token("other"))
    before = len(checks(world))
    keeper = world.services.assurance.keeper
    fresh = type(keeper)(keeper.observer, keeper.table.rules)
    assurance = msgspec.structs.replace(world.services.assurance, keeper=fresh)
    services = msgspec.structs.replace(world.services, assurance=assurance)
    world.run(check_periodically(services))

    assert before == 1
    assert [check["apae.compliance_status"] for check in checks(world)][:1] == ["failing"]
    assert sum(check["apae.compliance_status"] == "failing" for check in checks(world)) == 1
    assert fresh.table.score(agent.did, world.clock.now_ms() // 1000) == score(world, agent)


def test_where_it_is_off_nothing_can_be_set():
    world = World()
    try:
        agent = SigningAgent(world)
        assert put(world, agent, {"spec": document(agent)}).status_code == 404
    finally:
        world.close()


def reviews(world, **params):
    found = world.call("GET", "/approvals", params=params).json()["approvals"]
    return [approval for approval in found if approval["kind"] == "review"]


def answer(world, approval, how):
    key = world.principal_key(scopes=["approve", "read"])
    return world.call("POST", f"/approvals/{approval['id']}/{how}", key=key, json={"note": "seen"})


def status(world, agent):
    return world.call("GET", f"/agents/{agent.agent['agent_id']}").json()["status"]


def test_a_violation_waits_for_a_person_once_per_agent_and_version(world, agent):
    put(world, agent, {"spec": document(agent)})
    bad = agent.token("other")
    agent.submit(bad)
    agent.submit(agent.token("another"))
    (review,) = reviews(world)

    assert review["status"] == "open"
    assert review["agent_id"] == agent.agent["agent_id"]
    assert [item["jti"] for item in review["evidence"]["apae.violations"]] == [jti_in(bad)]
    put(world, agent, {"spec": document(agent, spec_version="1.1", allowed_actions=[])})
    agent.submit(agent.token("other"))
    versions = {found["action"]["parameters"]["apae.spec_version"] for found in reviews(world)}
    assert versions == {"1.0", "1.1"}


def test_a_report_without_violations_asks_nobody(world, agent):
    put(world, agent, {"spec": document(agent, verification_frequency="periodic")})
    agent.submit(agent.token("read_config"))
    world.clock.advance(HOUR)
    world.run(check_periodically(world.services))

    assert [check["apae.compliance_status"] for check in checks(world)] == ["passing"]
    assert reviews(world) == []


def test_a_denied_review_suspends_for_the_violation_and_says_why(world, agent):
    put(world, agent, {"spec": document(agent)})
    agent.submit(agent.token("other"))
    (review,) = reviews(world)

    assert answer(world, review, "deny").json()["status"] == "denied"
    assert agent.verify().json()["error"]["code"] == "QWED-AGENT-003"
    history = world.call("GET", f"/agents/{agent.agent['agent_id']}/trust").json()
    (change,) = [item for item in history["changes"] if item["cause"] == "suspended"]
    assert change["evidence"]["approval_id"] == review["id"]
    assert change["activities"][0] == review["activity_id"]
    path = f"/agents/{agent.agent['agent_id']}/reactivate"
    assert world.call("POST", path, key=world.principal_key(scopes=["register"])).status_code == 403


def test_an_acknowledged_review_leaves_the_agent_alone_and_the_next_violation_asks_again(world, agent):
    put(world, agent, {"spec": document(agent)})
    agent.submit(agent.token("other"))
    (review,) = reviews(world)

    assert answer(world, review, "approve").json()["status"] == "approved"
    assert status(world, agent) == "active"
    agent.submit(agent.token("another"))
    (again,) = reviews(world, status="open")
    assert again["id"] != review["id"]


def test_a_review_is_neither_edited_nor_answered_by_its_agent_nor_used_as_a_grant(world, agent):
    put(world, agent, {"spec": document(agent)})
    agent.submit(agent.token("other"))
    (review,) = reviews(world)
    path, token = f"/approvals/{review['id']}", agent.agent["agent_token"]
    action = {"type": "calculate", "query": "1+1"}

    assert world.call("POST", f"{path}/deny", key=token, json={}).status_code == 403
    key = world.principal_key(scopes=["approve", "read"])
    assert world.call("POST", f"{path}/approve", key=key, json={"action": action}).status_code == 422
    assert answer(world, review, "approve").status_code == 200
    redeemed = world.call("POST", f"{path}/redeem", key=token, json={"action": review["action"]})
    assert redeemed.status_code >= 400


def test_a_review_that_nobody_answers_suspends_nobody(world, agent):
    put(world, agent, {"spec": document(agent)})
    agent.submit(agent.token("other"))
    world.clock.advance(2 * DAY)
    world.run(sweep_approvals(world.services))

    assert [review["status"] for review in reviews(world)] == ["expired"]
    assert status(world, agent) == "active"
    (entry,) = world.call("GET", "/activity", params={"action_type": "approval_expired"}).json()["activities"]
    assert entry["action"]["parameters"]["means"] is None


def test_open_requests_of_the_agents_own_keep_no_review_away():
    approvals = msgspec.structs.replace(WATCHING.approvals, max_open=0)
    world = World(policy=msgspec.structs.replace(WATCHING, approvals=approvals))
    try:
        agent = SigningAgent(world)
        put(world, agent, {"spec": document(agent)})
        agent.submit(agent.token("other"))
        assert len(reviews(world)) == 1
    finally:
        world.close()
