"""Permits: in the answer, used once for one action at one place; and findings where one was not kept."""

import base64
import json

import pytest
from tests.support.fakes import MINUTE, SECOND
from tests.support.world import OPERATOR_KEY, SIGNER, World, calculate, code_of

from qwed.domain.actions import Action, action_hash
from qwed.domain.findings import Status
from qwed.domain.permits import PERMIT_TYPE
from qwed.domain.policy import DEFAULT_POLICY, ActionRule, PermitRules, Policy, mark_dangerous
from qwed.domain.risk import Risk
from qwed.gateway.evidence.permits import GRACE_MS, sweep_permits
from qwed.gateway.kernel.ports import SigningFailed
from qwed.policy import load_policy

PERMIT = {"permit": True}


def claims_of(token):
    return SIGNER.verify(PERMIT_TYPE, token)


def permitted(world, agent, step=1, action=None, **more):
    answer = world.verify(agent, action or calculate(), step, options=PERMIT, **more)
    assert answer["decision"] == "APPROVED", answer
    return answer["permit"], claims_of(answer["permit"])


def use(world, claims, key=OPERATOR_KEY, **changed):
    body = {"audience": claims["aud"], "action_hash": claims["act"], **changed}
    return world.call("POST", f"/permits/{claims['jti']}/use", key=key, json=body)


def receipt(world, claims, key=OPERATOR_KEY, **changed):
    body = {"audience": claims["aud"], "action_hash": claims["act"], "outcome": "success", **changed}
    return world.call("POST", f"/permits/{claims['jti']}/receipt", key=key, json=body)


def findings(world, **query):
    return world.call("GET", "/permits/findings", params=query).json()


def test_an_approval_carries_a_permit_for_exactly_its_action(world):
    agent = world.register()
    token, claims = permitted(world, agent)
    header = json.loads(base64.urlsafe_b64decode(token.split(".")[0] + "=="))
    entry = world.decisions(agent)[0]

    assert header["typ"] == "qwed-permit+jwt"
    assert claims["act"] == "sha256:" + action_hash(Action("calculate", query="2+2"))
    assert (claims["sub"], claims["aud"], claims["use"]) == (agent["agent_id"], "calculate", "once")
    assert claims["aid"] == entry["activity_id"]
    assert claims["exp"] - claims["iat"] == 120
    assert entry["permit"]["jti"] == claims["jti"]
    assert token not in json.dumps(entry)


def test_nothing_asked_and_nothing_in_the_policy_is_no_permit(world):
    assert "permit" not in world.verify(world.register())


def test_the_policy_names_the_tools_that_need_one_and_where_it_is_used():
    text = (
        "permits: {seconds: 30}\n"
        "tools: {send_money: {risk: low, group: safe, permit: payments}}\n"
        "actions: {calculate: {permit: numbers}}\n"
    )
    policy = load_policy(text, "policy.yaml")
    world = World(policy=policy)
    agent = world.register(permissions={"allowed_tools": ["send_money"]})
    answer = world.verify(agent)
    tool = world.call(
        "POST", f"/agents/{agent['agent_id']}/tools/send_money", json={"parameters": {"to": "a", "amount": 5}}
    ).json()
    world.close()

    assert claims_of(answer["permit"])["aud"] == "numbers"
    assert claims_of(answer["permit"])["exp"] - claims_of(answer["permit"])["iat"] == 30
    assert claims_of(tool["permit"])["act"] == "sha256:" + action_hash(
        Action("send_money", parameters={"to": "a", "amount": 5})
    )


def test_a_corrected_action_is_what_the_permit_is_for(world):
    corrected = Action("calculate", query="2+2=4")
    world.prover.says(Status.CORRECTED, corrected=corrected)
    answer = world.verify(world.register(), calculate("2+2=5"), options=PERMIT)

    assert answer["decision"] == "CORRECTED"
    assert claims_of(answer["permit"])["act"] == "sha256:" + action_hash(corrected)


@pytest.mark.parametrize("status", [Status.UNCERTAIN, Status.FAILED])
def test_what_may_not_run_has_no_permit(world, status):
    world.prover.says(status)

    assert "permit" not in world.verify(world.register(), options=PERMIT)


def test_a_repeated_question_gets_the_same_permit(world):
    agent = world.register()
    headers = {"Idempotency-Key": "k-1"}
    first = world.verify(agent, options=PERMIT, headers=headers)
    second = world.verify(agent, options=PERMIT, headers=headers)

    assert first["permit"] == second["permit"]


def test_a_grant_is_redeemed_with_a_permit():
    rules = {**DEFAULT_POLICY.actions, "pay": mark_dangerous(ActionRule("tool_control"))}
    world = World(policy=Policy(actions=rules))
    world.prover.says(Status.VERIFIED, Risk.CRITICAL)
    agent = world.register(permissions={"allowed_tools": ["pay"]}, type="trusted")
    action = {"type": "pay", "parameters": {"amount": 3}}
    asked = world.verify(agent, action, options=PERMIT, key=agent["agent_token"])
    assert asked["decision"] == "PENDING"
    assert "permit" not in asked
    approval = asked["approval"]["id"]
    world.call("POST", f"/approvals/{approval}/approve", json={})
    redeemed = world.call(
        "POST", f"/approvals/{approval}/redeem", key=agent["agent_token"], json={"action": action}
    ).json()
    world.close()

    assert redeemed["decision"] == "APPROVED"
    assert claims_of(redeemed["permit"])["act"] == "sha256:" + action_hash(
        Action("pay", parameters={"amount": 3})
    )


def test_a_permit_that_can_not_be_signed_is_a_denial():
    class Mute:
        issuer = SIGNER.issuer

        def sign(self, typ, claims):
            raise SigningFailed("the key is gone")

        def __getattr__(self, name):
            return getattr(SIGNER, name)

    world = World(signer=Mute())
    answer = world.verify(world.register(), options=PERMIT)
    world.close()

    assert (answer["decision"], code_of(answer)) == ("DENIED", "QWED-ATTESTATION-001")
    assert "permit" not in answer


def test_a_permit_is_used_once(world):
    _, claims = permitted(world, world.register())
    first, second = use(world, claims), use(world, claims)

    assert (first.status_code, first.json()["state"]) == (200, "used")
    assert (second.status_code, code_of(second.json())) == (409, "QWED-PERMIT-005")
    assert findings(world)["counts"] == {"call_refused": 1}


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"audience": "elsewhere"}, "QWED-PERMIT-004"),
        ({"action_hash": "sha256:" + "0" * 64}, "QWED-PERMIT-004"),
        ({"action_hash": "0"}, "QWED-REQUEST-001"),
        ({"audience": ""}, "QWED-REQUEST-001"),
        ({"surprise": 1}, "QWED-REQUEST-001"),
    ],
)
def test_another_place_or_action_is_refused_and_uses_nothing(world, changed, code):
    _, claims = permitted(world, world.register())
    refused = use(world, claims, **changed)

    assert code_of(refused.json()) == code
    assert use(world, claims).status_code == 200


def test_an_expired_permit_is_refused(world):
    _, claims = permitted(world, world.register())
    world.clock.advance(2 * MINUTE + 6 * SECOND)

    assert code_of(use(world, claims).json()) == "QWED-PERMIT-003"


def test_the_permit_of_a_suspended_agent_is_of_no_use(world):
    agent = world.register()
    _, claims = permitted(world, agent)
    query = {"agent_id": agent["agent_id"], "audience": claims["aud"], "action_hash": claims["act"]}
    world.call("POST", f"/agents/{agent['agent_id']}/suspend", json={"reason": "odd"})
    refused, unfound = use(world, claims), world.call("GET", "/permits", params=query)
    world.call("POST", f"/agents/{agent['agent_id']}/reactivate")

    assert (refused.status_code, code_of(refused.json())) == (403, "QWED-AGENT-003")
    assert code_of(unfound.json()) == "QWED-AGENT-003"
    assert findings(world)["counts"] == {"call_refused": 1}
    assert use(world, claims).status_code == 200


def test_only_a_key_for_permits_uses_one_and_only_within_its_walls(world):
    agent = world.register()
    _, claims = permitted(world, agent)
    keys = [
        world.principal_key("acme", scopes=["verify", "register", "read"]),
        world.principal_key("other", scopes=["permits"]),
        agent["agent_token"],
    ]
    answers = [use(world, claims, key=key).status_code for key in keys]
    tool = world.principal_key("acme", scopes=["permits"])

    assert answers == [403, 404, 403]
    assert world.verify_response(agent, key=tool, step=2).status_code == 403
    assert use(world, claims, key=tool).status_code == 200


def test_a_receipt_that_matches_finds_nothing(world):
    _, claims = permitted(world, world.register())
    use(world, claims)
    answer = receipt(world, claims, result_hash="a" * 64, duration_ms=12).json()

    assert (answer["state"], answer["finding"]) == ("reported", None)
    assert answer["receipt"]["result_hash"] == "a" * 64
    assert receipt(world, claims).status_code == 409
    assert findings(world)["findings"] == []


def test_what_ran_is_not_what_was_approved(world):
    agent = world.register()
    _, claims = permitted(world, agent)
    use(world, claims)
    answer = receipt(world, claims, action_hash="0" * 64).json()
    found = findings(world, agent_id=agent["agent_id"])

    assert answer["finding"] == "receipt_mismatch"
    assert [row["kind"] for row in found["findings"]] == ["receipt_mismatch"]
    overview = world.call("GET", "/overview").json()
    trust = world.call("GET", f"/agents/{agent['agent_id']}/trust").json()
    metrics = world.call("GET", "/metrics").text
    assert overview["permit_findings"] == {"receipt_mismatch": 1}
    assert trust["conduct"]["permit_findings"] == {"receipt_mismatch": 1}
    assert 'qwed_permit_findings{kind="receipt_mismatch"} 1.0' in metrics


def test_a_receipt_without_a_use_is_an_effect_without_a_permit(world):
    _, claims = permitted(world, world.register())

    assert receipt(world, claims).json()["finding"] == "effect_without_permit"


def test_a_tool_that_keeps_its_own_list_of_uses_says_so(world):
    _, claims = permitted(world, world.register())

    assert receipt(world, claims, replay="redis").json()["finding"] is None
    assert use(world, claims).status_code == 409


def test_an_agent_that_says_it_ran_without_a_use_is_found(world):
    agent = world.register()
    _, claims = permitted(world, agent)
    path = f"/agents/{agent['agent_id']}/activity/{claims['aid']}/outcome"
    world.call("POST", path, key=agent["agent_token"], json={"outcome": "success"})

    assert [row["kind"] for row in findings(world)["findings"]] == ["effect_without_permit"]


def test_a_permit_that_nobody_used_is_stated_once(world):
    agent = world.register()
    _, unused = permitted(world, agent)
    _, used = permitted(world, agent, step=2, action=calculate("3+3"))
    use(world, used)
    world.clock.advance(2 * MINUTE + GRACE_MS + SECOND)
    swept = [world.run(sweep_permits(world.services)) for _ in range(2)]
    found = findings(world)["findings"]

    assert swept == [1, 0]
    assert [(row["kind"], row["jti"]) for row in found] == [("permit_unused", unused["jti"])]
    assert code_of(use(world, unused).json()) == "QWED-PERMIT-005"


def test_a_tool_reports_a_call_without_a_permit(world):
    tool = world.principal_key("acme", scopes=["permits"])
    body = {"kind": "call_refused", "audience": "payments", "message": "no permit", "code": "QWED-PERMIT-001"}
    answer = world.call("POST", "/permits/findings", key=tool, json=body)
    wrong = world.call("POST", "/permits/findings", key=tool, json={**body, "code": "QWED-XYZ"})

    assert (answer.status_code, answer.json()) == (201, {"recorded": True})
    assert wrong.status_code == 422
    assert findings(world)["findings"][0]["code"] == "QWED-PERMIT-001"


def test_a_flood_of_refused_calls_does_not_fill_the_record(world):
    body = {"kind": "call_refused", "audience": "payments", "message": "no permit"}
    answers = [world.call("POST", "/permits/findings", json=body).json()["recorded"] for _ in range(310)]

    assert answers.count(True) == 300
    assert answers[300:] == [False] * 10
    world.call("POST", "/permits/findings", json={**body, "code": "QWED-PERMIT-001", "count": 690})
    world.clock.advance(SECOND)
    world.run(sweep_permits(world.services))
    stated = {found["code"]: found["count"] for found in findings(world)["findings"][:2]}
    assert stated == {None: 10, "QWED-PERMIT-001": 690}
    assert world.run(sweep_permits(world.services)) == 0
    assert findings(world)["counts"] == {"call_refused": 302}


@pytest.mark.parametrize("count", [0, -1, 10**9 + 1, "2", 1.5])
def test_a_count_of_refused_calls_is_a_number(world, count):
    body = {"kind": "call_refused", "audience": "payments", "message": "no permit", "count": count}
    assert world.call("POST", "/permits/findings", json=body).status_code == 422


def test_the_only_unused_permit_of_an_agent_is_found_by_its_action(world):
    agent = world.register()
    _, claims = permitted(world, agent)
    query = {"agent_id": agent["agent_id"], "audience": "calculate", "action_hash": claims["act"]}
    found = world.call("GET", "/permits", params=query).json()["permits"]
    elsewhere = world.call("GET", "/permits", params={**query, "audience": "x"}).json()["permits"]
    use(world, claims)

    assert [permit["jti"] for permit in found] == [claims["jti"]]
    assert elsewhere == []
    assert world.call("GET", "/permits", params=query).json()["permits"] == []


def test_an_erased_decision_leaves_no_hash_of_its_action(world):
    agent = world.register()
    _, claims = permitted(world, agent)
    done = world.call(
        "POST", f"/agents/{agent['agent_id']}/activity/{claims['aid']}/redact", json={"reason": "asked"}
    )

    assert done.status_code == 200, done.text
    assert world.call("GET", f"/permits/{claims['jti']}").status_code == 404


def test_a_permit_lasts_ten_minutes_at_most():
    from qwed.policy import PolicyError

    assert PermitRules().seconds == 120
    with pytest.raises(PolicyError, match="600"):
        load_policy("permits: {seconds: 601}", "p")
