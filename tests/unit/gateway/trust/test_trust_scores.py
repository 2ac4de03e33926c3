"""The gateway as an observer of trust: what moves a score, who is told, and that it can be proven."""

from decimal import Decimal

import msgspec
import pytest
from tests.support.fakes import DAY, SECOND
from tests.support.tokens import SigningAgent, jti_in
from tests.support.world import SIGNER, World

from qwed.assurance import ScoreRules, TrustTable
from qwed.assurance.trust_memory import InProcess, TrustMemoryLost
from qwed.domain.findings import Failure, Status
from qwed.domain.nodes import jti_of
from qwed.domain.policy import DEFAULT_POLICY, AssuranceRules, Limits
from qwed.domain.risk import Risk
from qwed.gateway.decide.execution_context import ECT_TYPE
from qwed.gateway.kernel.coroutines import run
from qwed.gateway.kernel.ports import StoreUnavailable
from qwed.gateway.kernel.records import ScoreChange
from qwed.gateway.kernel.scorekeeper import Scorekeeper, read_received_claims, replay

SCORING = msgspec.structs.replace(DEFAULT_POLICY, assurance=AssuranceRules(trust_scoring=True))


@pytest.fixture
def world():
    opened = World(policy=SCORING)
    yield opened
    opened.close()


@pytest.fixture
def agent(world):
    return SigningAgent(world)


def score(world, agent, key=None):
    path = f"/agents/{agent.agent['agent_id']}/trust-score"
    return world.call("GET", path, key=key or agent.agent["agent_token"])


def value(world, agent):
    return Decimal(score(world, agent).json()["score"])


def report(world, agent, activity_id, outcome, key):
    path = f"/agents/{agent.agent['agent_id']}/activity/{activity_id}/outcome"
    response = world.call("POST", path, key=key, json={"outcome": outcome})
    assert response.status_code == 200, response.text


def settle(world):
    world.clock.advance(600 * SECOND)


def test_an_answer_to_an_approved_action_settles_as_a_success(world, agent):
    decided = agent.verify().json()
    agent.submit(agent.token("calculate", jti_of(decided["activity_id"])))
    assert value(world, agent) == Decimal("0.5")
    settle(world)

    assert value(world, agent) == Decimal("0.51")


def test_a_denied_action_cannot_be_answered(world, agent):
    world.prover.says(Status.FAILED, failure=Failure.INCORRECT)
    decided = agent.verify().json()
    assert decided["decision"] == "DENIED"
    agent.submit(agent.token("calculate", jti_of(decided["activity_id"])))
    settle(world)

    assert value(world, agent) == Decimal("0.5")


def test_another_agents_approval_cannot_be_answered(world, agent):
    other = SigningAgent(world, name="other")
    decided = agent.verify().json()
    other.submit(other.token("calculate", jti_of(decided["activity_id"])))
    settle(world)

    assert value(world, other) == Decimal("0.5")


def test_a_success_that_the_agent_itself_reports_raises_nothing(world, agent):
    decided = agent.verify().json()
    report(world, agent, decided["activity_id"], "success", agent.agent["agent_token"])
    settle(world)

    assert value(world, agent) == Decimal("0.5")


@pytest.mark.parametrize(
    ("outcome", "expected"),
    [("success", "0.51"), ("partial", "0.505"), ("failure", "0.4"), ("unknown", "0.5")],
)
def test_an_outcome_that_the_principal_reports_counts(world, agent, outcome, expected):
    decided = agent.verify().json()
    report(world, agent, decided["activity_id"], outcome, world.principal_key(scopes=["verify"]))
    settle(world)

    assert value(world, agent) == Decimal(expected)


def test_a_failure_that_the_agent_itself_reports_counts(world, agent):
    decided = agent.verify().json()
    report(world, agent, decided["activity_id"], "failure", agent.agent["agent_token"])

    assert value(world, agent) == Decimal("0.4")


def test_a_failure_takes_the_success_of_the_same_action_back(world, agent):
    decided = agent.verify().json()
    agent.submit(agent.token("calculate", jti_of(decided["activity_id"])))
    report(world, agent, decided["activity_id"], "failure", agent.agent["agent_token"])
    settle(world)

    assert value(world, agent) == Decimal("0.4")


def test_what_is_forbidden_is_a_policy_violation(world, agent):
    world.prover.says(Status.FAILED, Risk.HIGH, failure=Failure.FORBIDDEN)
    agent.verify()

    assert value(world, agent) == Decimal("0.32")
    change = score(world, agent).json()["changes"][0]
    assert (change["event"], change["before"], change["after"]) == ("policy_violation", "0.5", "0.32")


def test_an_action_that_calls_itself_like_an_operators_change_seeds_nothing(world, agent):
    parameters = {"peer": agent.did, "score": "1", "activity_id": "x", "outcome": "success"}
    for step, name in enumerate(("seed_trust", "reinstate_trust", "report_outcome"), start=1):
        agent.verify({"type": name, "parameters": parameters}, step)

    assert value(world, agent) == Decimal("0.5")


def test_below_the_floor_trust_is_revoked_and_said_once(world, agent):
    world.prover.says(Status.FAILED, Risk.HIGH, failure=Failure.FORBIDDEN)
    for step in range(1, 6):
        agent.verify({"type": "calculate", "query": f"1+{step}"}, step)
        score(world, agent)
    told = score(world, agent).json()

    assert told["revoked"] is True
    assert [change["revokes"] for change in told["changes"]] == [False, False, True, False, False]
    entries = world.call("GET", "/activity", params={"action_type": "trust_revoke"}).json()["activities"]
    assert len(entries) == 1
    assert entries[0]["action"]["parameters"]["apae.subject"] == agent.did


def test_an_operator_reinstates_and_the_score_stays(world, agent):
    world.call("POST", "/trust-score", json={"peer": agent.did, "score": 0.21, "reason": "an incident"})
    world.prover.says(Status.FAILED, Risk.HIGH, failure=Failure.FORBIDDEN)
    agent.verify()
    body = {"peer": agent.did, "reason": "it was repaired"}
    told = world.call("POST", "/trust-score/reinstate", json=body).json()

    assert (told["revoked"], told["score"]) == (False, "0.1344")
    assert world.call("POST", "/trust-score/reinstate", json=body).status_code == 404


@pytest.mark.parametrize("wrong", [{"score": 2}, {"score": "much"}, {"reason": " "}, {"peer": ""}], ids=str)
def test_a_seed_that_means_nothing_is_refused(world, agent, wrong):
    body = {"peer": agent.did, "score": 0.9, "reason": "known from elsewhere"}

    assert world.call("POST", "/trust-score", json=body | wrong).status_code == 422


def test_a_score_decays_when_it_is_read(world, agent):
    world.call("POST", "/trust-score", json={"peer": agent.did, "score": 0.82, "reason": "as in the seed"})
    world.clock.advance(8 * DAY)

    assert value(world, agent) == Decimal("0.81")


def test_a_score_is_told_to_the_agent_and_to_operators_and_to_nobody_else(world, agent):
    other = SigningAgent(world, name="other")
    principal = world.principal_key(scopes=["read", "verify", "register", "trust", "approve"])
    operator = world.call("GET", "/trust-score", params={"peer": agent.did})

    assert score(world, agent).json()["peer"] == agent.did
    assert operator.json()["score"] == "0.5"
    assert score(world, agent, other.agent["agent_token"]).status_code == 404
    assert score(world, agent, principal).status_code == 403
    assert world.call("GET", "/trust-score", params={"peer": agent.did}, key=principal).status_code == 403
    assert world.call("GET", "/trust-score").status_code == 422
    for path in ("/trust-score", "/trust-score/reinstate"):
        body = {"peer": agent.did, "score": 1, "reason": "mine"}
        assert world.call("POST", path, key=agent.agent["agent_token"], json=body).status_code == 403


def test_no_log_line_and_no_metric_tells_a_score(world, agent):
    world.call(
        "POST", "/trust-score", json={"peer": agent.did, "score": 0.7331, "reason": "a number to find"}
    )
    score(world, agent)
    metrics = world.call("GET", "/metrics").text

    assert b"0.7331" not in world.log.getvalue()
    assert "0.7331" not in metrics


def test_where_scoring_is_off_there_is_nothing_to_tell():
    world = World()
    try:
        agent = SigningAgent(world)
        assert score(world, agent).status_code == 404
    finally:
        world.close()


def proof(world):
    return run(replay(world.services.store, world.services.assurance.keeper, ()))


def busy(world, agent):
    for step in range(1, 8):
        decided = agent.verify({"type": "calculate", "query": f"{step}+1"}, step).json()
        if step % 3:
            agent.submit(agent.token("calculate", jti_of(decided["activity_id"])))
        else:
            report(world, agent, decided["activity_id"], "failure", agent.agent["agent_token"])
        world.clock.advance(200 * SECOND)
    score(world, agent)


def test_stored_scores_follow_from_the_ledger_digit_by_digit(world, agent):
    busy(world, agent)
    found = proof(world)

    assert found.holds, found.differences
    assert (found.peers, found.changes, found.erased) == (1, 5, 0)


def test_a_stored_score_that_was_touched_is_found(world, agent):
    busy(world, agent)
    forged = ScoreChange(agent.did, 99, "task_success", None, "0.5", "1", 1, False, 1)
    run(world.services.store.keep_scores([forged]))
    table = world.services.store._tables._scores[agent.did]
    table[1] = msgspec.structs.replace(table[1], after="0.99")
    del table[2]

    assert [text.partition(": ")[2] for text in proof(world).differences] == [
        "change 1 is stored as 0.99, computed 0.4",
        "change 2 is not stored",
        "change 99 does not follow from the ledger",
    ]


def test_once_its_memory_is_lost_a_keeper_tells_nothing_more(world, agent):
    keeper = Scorekeeper(world.services.signer.issuer, ScoreRules(), new_memory=Forgetful)
    for _ in range(2):
        with pytest.raises(StoreUnavailable, match="trust can't be computed"):
            run(keeper.catch_up(world.services.store))


class Forgetful(InProcess):
    def __init__(self):
        super().__init__()
        self.see = self._fail

    def _fail(self, jti, seen):
        raise TrustMemoryLost("the disk is full")


def test_an_error_counts_if_the_counterpart_says_it_and_nobody_else(world, agent):
    counterpart, stranger = SigningAgent(world, name="counterpart"), SigningAgent(world, name="stranger")
    asked = counterpart.token("please", to=[agent.did])
    answer = agent.token("answer", jti_in(asked))
    counterpart.submit(asked)
    agent.submit(answer)
    stranger.submit(stranger.token("atd:error", jti_in(answer)))
    assert value(world, agent) == Decimal("0.5")
    counterpart.submit(counterpart.token("atd:error", jti_in(answer)))

    assert value(world, agent) == Decimal("0.4")


def verifies(world, agent, token, key):
    return agent.verify(ects=[token], key=key)


def calls_a_tool(world, agent, token, key):
    path = f"/agents/{agent.agent['agent_id']}/tools/get_weather"
    body = {"context": {"conversation_id": "c", "step_number": 1}}
    return world.call("POST", path, key=key, headers={"Execution-Context": token}, json=body)


def submits(world, agent, token, key):
    return world.call("POST", "/ect", key=key, json={"ects": [token]})


def submits_alone(world, agent, token, key):
    headers = {"Content-Type": "application/exec+jwt"}
    return world.call("POST", "/ect", key=key, content=token.encode(), headers=headers)


DOORS = [verifies, calls_a_tool, submits, submits_alone]


def forged_by(signer):
    head, body, signature = signer.token("read").split(".")
    return f"{head}.{body}.{signature[:-8]}AAAAAAAA"


def refusals(world, agent):
    entries = world.activity(agent.agent, limit=100)["activities"]
    return [entry for entry in entries if entry.get("error_code") == "QWED-ECT-001"]


@pytest.mark.parametrize("door", DOORS)
def test_a_token_with_a_wrong_signature_is_charged_to_who_delivered_it(world, agent, door):
    victim = SigningAgent(world, name="victim")
    answer = door(world, agent, forged_by(victim), agent.agent["agent_token"])

    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "QWED-ECT-001")
    assert [(e["decision"], e["attestation_invalid"]) for e in refusals(world, agent)] == [("DENIED", True)]
    assert value(world, agent) == Decimal("0.32")
    assert value(world, victim) == Decimal("0.5")
    assert refusals(world, victim) == []


@pytest.mark.parametrize("door", DOORS)
def test_a_wrong_signature_that_a_principal_delivers_is_charged_to_no_agent(world, agent, door):
    key = world.principal_key(scopes=["verify", "read"])
    assert door(world, agent, forged_by(agent), key).status_code == 403

    assert value(world, agent) == Decimal("0.5")
    entries = world.call("GET", "/activity").json()["activities"]
    assert [e["error_code"] for e in entries if e["decision"] == "DENIED"] == ["QWED-ECT-001"]


@pytest.mark.parametrize("door", DOORS)
def test_a_token_that_is_refused_for_another_reason_is_on_record_and_costs_nothing(world, agent, door):
    unknown = agent.token("read", "11111111-2222-4333-8444-555555555555")
    assert door(world, agent, unknown, agent.agent["agent_token"]).status_code == 403

    assert [e.get("attestation_invalid") for e in refusals(world, agent)] == [None]
    assert value(world, agent) == Decimal("0.5")


def test_an_attestation_that_an_agent_forged_for_itself_reaches_its_score(world, agent):
    claims = {"iss": SIGNER.issuer, "exp": 10**11, "jti": "att_x", "qwed": {"agent": {"did": agent.did}}}
    head, body, signature = SIGNER.sign("qwed-attestation+jwt", claims).split(".")
    forged = f"{head}.{body}.{signature[:-8]}AAAAAAAA"
    world.call("POST", "/attestations/verify", key=agent.agent["agent_token"], json={"attestation": forged})

    assert value(world, agent) == Decimal("0.32")


def test_tokens_that_are_refused_beyond_the_limit_are_counted_as_at_every_door():
    limited = World(policy=msgspec.structs.replace(SCORING, limits=Limits(refusals_per_hour=2)))
    sender = SigningAgent(limited)
    unknown = sender.token("read", "11111111-2222-4333-8444-555555555555")
    codes = [submits(limited, sender, unknown, sender.agent["agent_token"]).status_code for _ in range(4)]
    forged = submits(limited, sender, forged_by(sender), sender.agent["agent_token"]).status_code

    assert (codes, forged) == ([403, 403, 429, 429], 403)
    assert len(refusals(limited, sender)) == 3
    limited.close()


# --- a score for a level ----------------------------------------------------------------------------

LEVELS = {"2": Decimal("0.6"), "3": Decimal("0.8")}


@pytest.fixture
def strict():
    rules = AssuranceRules(level_scores=LEVELS)
    opened = World(policy=msgspec.structs.replace(DEFAULT_POLICY, assurance=rules))
    yield opened
    opened.close()


def seeded(world, amount, **registration):
    found = SigningAgent(world, **registration)
    body = {"peer": found.did, "score": amount, "reason": "for this test"}
    assert world.call("POST", "/trust-score", json=body).status_code == 200
    return found


@pytest.mark.parametrize(
    ("given", "amount", "high", "critical"),
    [
        (3, "0.8", "APPROVED", "APPROVED"),
        (3, "0.79", "PENDING", "DENIED"),
        (3, "0.59", "DENIED", "DENIED"),
        (2, "1", "PENDING", "DENIED"),
        (2, "0.1", "DENIED", "DENIED"),
        (1, "1", "DENIED", "DENIED"),
    ],
)
def test_a_level_holds_only_with_its_score_and_no_score_raises_one(strict, given, amount, high, critical):
    agent = seeded(strict, amount, type="trusted", trust_level=given)
    found = []
    for step, risk in enumerate((Risk.HIGH, Risk.CRITICAL), start=1):
        strict.prover.says(Status.VERIFIED, risk)
        found.append(agent.verify({"type": "calculate", "query": f"1+{step}"}, step).json()["decision"])

    assert found == [high, critical]


def test_a_level_that_idle_weeks_no_longer_bear_out_does_not_hold(strict):
    agent = seeded(strict, "0.8", type="trusted", trust_level=3)
    strict.prover.says(Status.VERIFIED, Risk.HIGH)
    assert agent.verify().json()["decision"] == "APPROVED"
    strict.clock.advance(30 * DAY)

    assert agent.verify({"type": "calculate", "query": "1+2"}, 2).json()["decision"] == "DENIED"


@pytest.mark.parametrize("amount", ["0.5987", "0.1234"])
def test_what_is_said_of_a_level_that_does_not_hold_tells_no_score(strict, amount):
    agent = seeded(strict, amount, type="trusted", trust_level=3)
    strict.prover.says(Status.VERIFIED, Risk.CRITICAL)
    answer = agent.verify()

    assert answer.json()["decision"] == "DENIED"
    assert answer.json()["error"]["message"] == "its trust level asks for more trust than it meets here"
    assert amount not in answer.text
    principal = strict.principal_key(scopes=["read"])
    shown = strict.call("GET", f"/agents/{agent.agent['agent_id']}/activity", key=principal)
    assert shown.status_code == 200
    assert amount not in shown.text
    assert amount.encode() not in strict.log.getvalue()


def test_the_tool_door_holds_levels_to_their_scores_too(strict):
    agent = seeded(strict, "0.7", type="trusted", trust_level=3)
    strict.prover.says(Status.VERIFIED, Risk.CRITICAL)
    path = f"/agents/{agent.agent['agent_id']}/tools/get_weather"
    answer = strict.call("POST", path, key=agent.agent["agent_token"], json={"parameters": {}}).json()

    assert answer["approved"] is False
    assert answer["blocked_reason"] == "its trust level asks for more trust than it meets here"


# --- the gateway's own word -------------------------------------------------------------------------


def ask_for_word(world, agent, key, **more):
    body = {"agent": agent.agent["agent_id"], **more}
    return world.call("POST", "/trust-score/assertion", key=key, json=body)


def experienced(world):
    agent = SigningAgent(world, name="experienced")
    report(world, agent, agent.verify().json()["activity_id"], "failure", agent.agent["agent_token"])
    return agent


def test_the_gateway_signs_its_own_word_about_an_agent_and_records_it(world):
    agent = experienced(world)
    partner = "spiffe://example.com/gateway"
    answer = ask_for_word(world, agent, agent.agent["agent_token"], audience=[partner])
    assert answer.status_code == 200, answer.text
    token = answer.json()["assertion"]
    verified = world.services.signer.verify(ECT_TYPE, token)

    assert verified["exec_act"] == "apae:trust_assertion"
    assert verified["iss"] == world.services.signer.issuer
    assert partner in verified["aud"]
    ext = verified["ext"]
    assert Decimal(str(ext["apae.trust_score"])) == Decimal("0.4")
    assert (ext["apae.subject"], ext["apae.interactions"]) == (agent.did, 1)
    assert (ext["apae.confidence"], ext["apae.hops"]) == ("low", 0)
    assert world.call("GET", f"/ect/{jti_in(token)}").json()["token"] == token
    assert value(world, agent) == Decimal("0.4")


def test_another_observer_believes_the_gateways_word_as_far_as_it_trusts_the_gateway(world):
    agent = experienced(world)
    token = ask_for_word(world, agent, agent.agent["agent_token"]).json()["assertion"]
    claims, level = read_received_claims(token)
    other = TrustTable("spiffe://example.com/other", clock=lambda: claims.iat)
    other.observe(claims, at=claims.iat, level=level)

    assert other.explain(agent.did).word.worth == Decimal("0.4") * Decimal("0.5") * Decimal("0.5")


def test_nobody_but_the_agent_and_operators_get_the_gateways_word(world):
    agent, other = experienced(world), SigningAgent(world, name="other")
    principal = world.principal_key(scopes=["read", "verify", "register"])
    assert ask_for_word(world, agent, principal).status_code == 403
    assert ask_for_word(world, agent, other.agent["agent_token"]).status_code in (403, 404)
    token = ask_for_word(world, agent, agent.agent["agent_token"]).json()["assertion"]

    assert world.call("GET", f"/ect/{jti_in(token)}", key=principal).status_code == 404
    shown = world.call("GET", f"/agents/{agent.agent['agent_id']}/activity", key=principal)
    assert "assert_trust" not in shown.text
    assert token.encode() not in world.log.getvalue()


def test_without_experience_the_gateway_says_nothing(world, agent):
    assert ask_for_word(world, agent, agent.agent["agent_token"]).status_code == 404


@pytest.mark.parametrize(
    "audience", [["no uri"], ["spiffe://x/y"] * 9, "spiffe://x/y"], ids=["text", "many", "one"]
)
def test_an_audience_is_a_few_uris(world, audience):
    agent = experienced(world)
    assert ask_for_word(world, agent, agent.agent["agent_token"], audience=audience).status_code == 422
