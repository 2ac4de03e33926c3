"""Tokens that state something about trust or behaviour carry it, and what stands in the way is said."""

from decimal import Decimal
from typing import Any

import msgspec
import pytest
from tests.support.fakes import HOUR
from tests.support.tokens import SigningAgent, jti_in
from tests.support.world import SIGNER, World

from qwed.assurance import ScoreRules, TrustTable
from qwed.domain.findings import Failure, Status
from qwed.domain.nodes import jti_of
from qwed.domain.policy import DEFAULT_POLICY, AssuranceRules, Profile
from qwed.domain.risk import Risk
from qwed.ect.claims import MAX_EXT_BYTES, Claims
from qwed.gateway.decide.execution_context import ECT_TYPE
from qwed.gateway.decide.statements import fit_ext, state_in_token
from qwed.gateway.kernel.scorekeeper import read_received_claims
from qwed.gateway.trust.behaviours import check_periodically

RULES = AssuranceRules(behaviour_verification=True, trust_scoring=True, trust_thresholds=True)


@pytest.fixture
def world():
    opened = World(policy=msgspec.structs.replace(DEFAULT_POLICY, assurance=RULES))
    yield opened
    opened.close()


@pytest.fixture
def agent(world):
    return SigningAgent(world)


def specify(world: World, agent: SigningAgent, version: str = "1.0") -> dict[str, Any]:
    body = {
        "spec_version": version,
        "agent_id": agent.did,
        "allowed_actions": ["read_config"],
        "verification_frequency": "periodic",
    }
    path = f"/agents/{agent.agent['agent_id']}/behavior-spec"
    answer = world.call("PUT", path, json={"spec": body})
    assert answer.status_code == 200, answer.text
    return answer.json()


def entries(world: World, agent: SigningAgent, action_type: str) -> list[dict[str, Any]]:
    """As the agent itself sees them, the oldest first."""
    path = f"/agents/{agent.agent['agent_id']}/activity"
    query = {"action_type": action_type, "limit": 1000}
    found = world.call("GET", path, key=agent.agent["agent_token"], params=query).json()["activities"]
    return found[::-1]


def token_of(world: World, agent: SigningAgent, entry: dict[str, Any]) -> Claims:
    """As somebody outside reads it: the signature first, then what it says."""
    path = f"/ect/{jti_of(entry['activity_id'])}"
    token = world.call("GET", path, key=agent.agent["agent_token"]).json()["token"]
    assert SIGNER.verify(ECT_TYPE, token) is not None
    return read_received_claims(token)[0]


def break_specification(agent: SigningAgent, count: int = 1) -> list[str]:
    tokens = [agent.token("write_config") for _ in range(count)]
    for start in range(0, count, 30):
        agent.submit(*tokens[start : start + 30])
    return [jti_in(token) for token in tokens]


def test_a_compliance_check_says_what_was_found_by_which_specification_and_when(world, agent):
    specify(world, agent, "2.1")
    broken = break_specification(agent)
    world.clock.advance(HOUR)
    world.run(check_periodically(world.services))
    entry = entries(world, agent, "check_compliance")[0]
    claims = token_of(world, agent, entry)

    assert claims.exec_act == "apae:compliance_check"
    assert claims.ext["apae.compliance_status"] == "failing"
    assert claims.ext["apae.spec_version"] == "2.1"
    assert claims.ext["apae.subject"] == agent.did
    assert claims.ext["apae.violations_total"] == 1
    assert [item["jti"] for item in claims.ext["apae.violations"]] == broken
    assert claims.ext["apae.window"] == entry["action"]["parameters"]["apae.window"]


def test_whoever_trusts_the_gateway_learns_the_violations_from_its_token(world, agent):
    specify(world, agent)
    token = agent.token("write_config")
    agent.submit(token)
    world.clock.advance(HOUR)
    world.run(check_periodically(world.services))
    (entry,) = entries(world, agent, "check_compliance")
    outside = TrustTable("spiffe://elsewhere", ScoreRules(), verifiers=[SIGNER.issuer])
    outside.observe(read_received_claims(token)[0], at=1)
    outside.observe(token_of(world, agent, entry), at=2)

    assert outside.score(agent.did, 2) == Decimal("0.32")


def test_many_violations_are_stated_in_tokens_that_stay_within_the_limit(world, agent):
    specify(world, agent)
    broken = break_specification(agent, 90)
    world.clock.advance(HOUR)
    world.run(check_periodically(world.services))
    tokens = [token_of(world, agent, entry) for entry in entries(world, agent, "check_compliance")]

    assert {item["jti"] for claims in tokens for item in claims.ext["apae.violations"]} == set(broken)
    assert {claims.ext["apae.violations_total"] for claims in tokens} == {90}
    assert all(len(msgspec.json.encode(claims.ext)) <= MAX_EXT_BYTES for claims in tokens)


def test_the_token_of_a_changed_specification_has_both_hashes(world, agent):
    first, second = specify(world, agent), specify(world, agent, "1.1")
    claims = token_of(world, agent, entries(world, agent, "update_spec")[-1])

    assert claims.exec_act == "apae:spec_update"
    assert claims.ext["apae.spec_hash"] == second["apae.spec_hash"]
    assert claims.ext["apae.previous_spec_hash"] == first["apae.spec_hash"]
    assert claims.ext["apae.spec_version"] == "1.1"


def revoke(world: World, agent: SigningAgent) -> None:
    world.call("POST", "/trust-score", json={"peer": agent.did, "score": 0.21, "reason": "an incident"})
    world.prover.says(Status.FAILED, Risk.HIGH, failure=Failure.FORBIDDEN)
    agent.verify()
    world.call("GET", "/trust-score", params={"peer": agent.did})


def test_a_revocation_shows_in_the_agents_activity_and_its_token_names_the_subject(world, agent):
    revoke(world, agent)
    (entry,) = entries(world, agent, "trust_revoke")
    claims = token_of(world, agent, entry)

    assert (claims.exec_act, claims.ext["apae.subject"]) == ("apae:trust_revoke", agent.did)
    assert not any("score" in name for name in claims.ext)


def test_the_token_of_a_change_of_level_says_both_levels(world, agent):
    path = f"/agents/{agent.agent['agent_id']}/trust"
    world.call("POST", path, json={"to_level": 1, "reason": "careful"})
    claims = token_of(world, agent, entries(world, agent, "change_trust")[-1])
    assert {name: claims.ext[f"qwed.{name}"] for name in ("from_level", "to_level", "status")} == {
        "from_level": 2,
        "to_level": 1,
        "status": "active",
    }


def test_an_agent_states_nothing_by_the_name_of_its_action(world, agent):
    parameters = {"apae.compliance_status": "passing", "apae.subject": agent.did}
    answer = agent.verify({"type": "check_compliance", "parameters": parameters}).json()
    claims = token_of(world, agent, answer)

    assert not any(name.startswith("apae.") for name in claims.ext)
    assert state_in_token("check_compliance", "DENIED", {"parameters": parameters}) == {}
    assert state_in_token("check_compliance", "NOTED", None) == {}


def test_violations_beyond_the_limit_are_left_out_and_the_total_stays():
    many = [{"rule": "x", "jti": f"{n:036d}", "detail": "d" * 200} for n in range(40)]
    fitted = fit_ext({"qwed.decision": "NOTED", "apae.violations_total": 40, "apae.violations": many})

    assert 5 < len(fitted["apae.violations"]) < 20
    assert fitted["apae.violations_total"] == 40
    assert len(msgspec.json.encode(fitted)) <= MAX_EXT_BYTES


# --- after a revocation ------------------------------------------------------------------------------


def reinstate(world: World, agent: SigningAgent) -> list[str]:
    body = {"peer": agent.did, "reason": "it was repaired"}
    answer = world.call("POST", "/trust-score/reinstate", json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()["still_needed"]


def test_where_the_score_is_below_the_floor_a_reinstatement_says_so(world, agent):
    revoke(world, agent)
    (need,) = reinstate(world, agent)
    assert "0.1344, below the floor of 0.2" in need


def test_where_every_action_asks_for_a_score_a_reinstatement_says_which():
    policy = msgspec.structs.replace(
        DEFAULT_POLICY,
        profile=Profile.RELAXED,
        assurance=msgspec.structs.replace(RULES, min_score=Decimal("0.6")),
    )
    world = World(policy=policy)
    agent = SigningAgent(world)
    revoke(world, agent)
    needs = reinstate(world, agent)
    assert any("every action asks for 0.6" in need for need in needs)

    world.call("POST", "/trust-score", json={"peer": agent.did, "score": 0.7, "reason": "seeded"})
    world.prover.says(Status.VERIFIED, Risk.LOW)
    assert agent.verify({"type": "calculate", "query": "2+2"}, 2).json()["decision"] == "APPROVED"
    world.close()


def test_a_suspension_and_a_lower_level_are_named_beside_the_score(world, agent):
    revoke(world, agent)
    path = f"/agents/{agent.agent['agent_id']}"
    world.call("POST", f"{path}/trust", json={"to_level": 0, "reason": "careful"})
    world.call("POST", f"{path}/suspend", json={"reason": "strange"})
    needs = reinstate(world, agent)

    assert any("suspended (strange)" in need for need in needs)
    assert any("trust level is 0" in need for need in needs)


def test_a_level_that_the_score_does_not_bear_out_is_named():
    rules = msgspec.structs.replace(RULES, level_scores={"2": Decimal("0.6")})
    world = World(policy=msgspec.structs.replace(DEFAULT_POLICY, assurance=rules))
    agent = SigningAgent(world)
    revoke(world, agent)
    assert any("bears out level 1" in need for need in reinstate(world, agent))
    world.close()


def test_an_open_review_is_named(world, agent):
    specify(world, agent)
    break_specification(agent)
    world.clock.advance(HOUR)
    world.run(check_periodically(world.services))
    revoke(world, agent)
    assert any("review of its behaviour waits" in need for need in reinstate(world, agent))


def test_an_agent_that_is_gone_has_to_be_registered_again(world, agent):
    revoke(world, agent)
    world.call("DELETE", f"/agents/{agent.agent['agent_id']}")
    assert any("not registered" in need for need in reinstate(world, agent))
