"""Who is calling: every way to say it, and the same answer to every wrong one."""

import pytest
from tests.support.world import OPERATOR_KEY, calculate, code_of

BODY = {"action": calculate(), "context": {"conversation_id": "c", "step_number": 1}}


def verify(world, agent, headers=None, **body):
    path = f"/agents/{agent['agent_id']}/verify"
    return world.call("POST", path, key=None, headers=headers or {}, json={**BODY, **body})


@pytest.mark.parametrize(
    "header",
    [
        {"Authorization": "Bearer {token}"},
        {"Authorization": "bearer {token}"},
        {"Authorization": "BEARER  {token} "},
        {"X-Agent-Token": "{token}"},
        {"X-API-Key": "{token}"},
    ],
)
def test_an_agent_may_present_its_token_in_any_header(world, header):
    agent = world.register()
    headers = {name: value.format(token=agent["agent_token"]) for name, value in header.items()}

    assert verify(world, agent, headers).json()["decision"] == "APPROVED"


@pytest.mark.parametrize("header", ["Authorization", "X-API-Key"])
@pytest.mark.parametrize("kind", ["operator", "principal"])
def test_a_key_may_come_as_bearer_or_as_api_key(world, header, kind):
    agent = world.register()
    key = OPERATOR_KEY if kind == "operator" else world.principal_key("acme")
    value = f"Bearer {key}" if header == "Authorization" else key

    assert verify(world, agent, {header: value}).json()["decision"] == "APPROVED"


def test_the_verify_body_may_carry_the_token(world):
    agent = world.register()

    assert verify(world, agent, agent_token=agent["agent_token"]).json()["decision"] == "APPROVED"
    path = f"/agents/{agent['agent_id']}/tools/get_weather"
    tool = world.call("POST", path, key=None, json={"agent_token": agent["agent_token"]})
    assert tool.json()["approved"] is True


def test_a_token_in_the_body_is_never_recorded(world):
    agent = world.register()
    verify(world, agent, agent_token=agent["agent_token"])

    assert agent["agent_token"] not in str(world.activity(agent))


WRONG = [
    {},
    {"Authorization": ""},
    {"Authorization": "Bearer"},
    {"Authorization": "Bearer "},
    {"Authorization": "Basic abc"},
    {"Authorization": "Bearer qwed_agent_wrong"},
    {"Authorization": "Bearer qwed_live_wrong"},
    {"Authorization": "Bearer " + "x" * 300},
    {"X-API-Key": ""},
    {"X-API-Key": "nonsense"},
    {"X-Agent-Token": ""},
    {"X-Agent-Token": "qwed_agent_"},
    {"X-API-Key": b"qwed_agent_\xe9\xff"},
    {"Authorization": b"Bearer \xd7\x90"},
]


@pytest.mark.parametrize("headers", WRONG, ids=str)
def test_every_wrong_credential_gets_the_same_401(world, headers):
    agent = world.register()
    denied = verify(world, agent, headers)
    reading = world.call("GET", f"/agents/{agent['agent_id']}", key=None, headers=headers)

    assert (denied.status_code, denied.json()["decision"]) == (401, "DENIED")
    assert denied.json()["error"]["code"] == "QWED-AGENT-002"
    assert (reading.status_code, code_of(reading.json())) == (401, "QWED-AUTH-001")
    assert reading.headers["WWW-Authenticate"].startswith("Bearer")


@pytest.mark.parametrize("headers", WRONG[:8], ids=str)
def test_without_a_credential_nobody_learns_whether_an_agent_exists(world, headers):
    agent = world.register()
    real = verify(world, agent, headers)
    imagined = verify(world, {"agent_id": "agent_0123456789ab"}, headers)

    assert real.status_code == imagined.status_code == 401
    assert real.content == imagined.content


@pytest.mark.parametrize("token", ["é" * 20, "qwed_agent_é", "\u0661", "qwed_agent_" + "x" * 1000, "", "\n"])
def test_an_odd_token_in_the_body_is_a_wrong_token_and_no_crash(world, token):
    agent = world.register()

    assert verify(world, agent, agent_token=token).status_code == 401


@pytest.mark.parametrize("token", [7, None, ["qwed_agent_x"], {}])
def test_a_token_that_is_no_text_authenticates_nobody(world, token):
    agent = world.register()

    assert verify(world, agent, agent_token=token).status_code == 401


def test_a_token_of_another_agent_is_refused_and_harms_its_owner_alone(world):
    agent, other = world.register(), world.register()
    response = verify(world, agent, {"X-Agent-Token": other["agent_token"]})

    assert (response.status_code, code_of(response.json())) == (401, "QWED-AGENT-002")
    assert world.decisions(agent) == []
    assert [entry["error_code"] for entry in world.decisions(other)] == ["QWED-AGENT-002"]


# --- two credentials ---------------------------------------------------------------------------------


def test_two_credentials_that_agree_act_as_the_agent(world):
    agent = world.register()
    for key in (OPERATOR_KEY, world.principal_key("acme")):
        headers = {"X-API-Key": key, "X-Agent-Token": agent["agent_token"]}
        conversation = {"conversation_id": key, "step_number": 1}
        assert verify(world, agent, headers, context=conversation).json()["decision"] == "APPROVED"

    callers = {entry["requested_by"] for entry in world.decisions(agent)}
    assert callers == {f"agent:{agent['agent_id']}"}


def test_the_same_credential_twice_is_one_credential(world):
    agent = world.register()
    token = agent["agent_token"]
    headers = {"X-Agent-Token": token, "Authorization": f"Bearer {token}"}

    assert verify(world, agent, headers, agent_token=token).json()["decision"] == "APPROVED"


def test_two_credentials_that_disagree_are_none(world):
    agent, other = world.register(), world.register()
    token = agent["agent_token"]
    rival = world.principal_key("rival")
    one, two = world.principal_key("acme"), world.principal_key("acme")
    disagreeing = [
        {"X-Agent-Token": token, "Authorization": f"Bearer {other['agent_token']}"},
        {"X-Agent-Token": token, "X-API-Key": rival},
        {"X-API-Key": one, "Authorization": f"Bearer {two}"},
        {"X-API-Key": OPERATOR_KEY, "Authorization": f"Bearer {one}"},
        {"X-Agent-Token": token, "X-API-Key": "qwed_live_wrong"},
        {"X-Agent-Token": "qwed_agent_wrong", "X-API-Key": OPERATOR_KEY},
    ]

    assert [verify(world, agent, headers).status_code for headers in disagreeing] == [401] * 6


def test_a_body_agent_id_that_differs_from_the_path_is_refused(world):
    agent, other = world.register(), world.register()
    headers = {"X-Agent-Token": agent["agent_token"]}

    assert verify(world, agent, headers, agent_id=agent["agent_id"]).status_code == 200
    refused = verify(world, agent, headers, agent_id=other["agent_id"])
    assert refused.status_code == 422
    assert refused.json()["error"]["details"]["field"] == "agent_id"


# --- walls and scopes --------------------------------------------------------------------------------

ON_AN_AGENT = [
    ("GET", "", None),
    ("PATCH", "", {"description": "x"}),
    ("DELETE", "", None),
    ("GET", "/budget", None),
    ("GET", "/activity", None),
    ("POST", "/verify", BODY),
    ("POST", "/tools/get_weather", {}),
    ("POST", "/suspend", {}),
    ("POST", "/reactivate", None),
    ("POST", "/rotate-token", None),
    ("POST", "/complaint", {}),
    ("POST", "/activity/act_x/outcome", {"outcome": "success"}),
    ("POST", "/activity/act_x/outcome/settle", {"outcome": "success"}),
]


@pytest.mark.parametrize(("method", "path", "body"), ON_AN_AGENT, ids=lambda value: str(value)[:30])
def test_a_foreign_agent_answers_exactly_like_no_agent(world, method, path, body):
    foreign = world.register(principal_id="rival")["agent_id"]
    key = world.principal_key("acme", scopes=["verify", "register", "read", "approve", "trust"])
    imagined = "agent_" + "0" * 16
    answers = [
        world.call(method, f"/agents/{agent_id}{path}", key=key, json=body)
        for agent_id in (foreign, imagined)
    ]

    assert [answer.status_code for answer in answers] == [404, 404]
    assert answers[0].text.replace(foreign, imagined) == answers[1].text
    assert code_of(answers[0].json()) == "QWED-AGENT-001"


SCOPES = {
    ("GET", ""): "read",
    ("GET", "/budget"): "read",
    ("GET", "/activity"): "read",
    ("POST", "/verify"): "verify",
    ("POST", "/tools/get_weather"): "verify",
    ("PATCH", ""): "register",
    ("POST", "/suspend"): "register",
    ("POST", "/complaint"): "register",
    ("POST", "/rotate-token"): "register",
    ("POST", "/activity/act_x/outcome"): "verify",
    ("POST", "/activity/act_x/outcome/settle"): "approve",
}


@pytest.mark.parametrize(("method", "path", "body"), [row for row in ON_AN_AGENT if row[:2] in SCOPES])
def test_each_door_needs_its_scope(world, method, path, body):
    agent = world.register()
    needed = SCOPES[method, path]
    others = [scope for scope in ("verify", "register", "read", "approve", "trust") if scope != needed]
    without = world.principal_key("acme", scopes=others)
    alone = world.principal_key("acme", scopes=[needed])
    url = f"/agents/{agent['agent_id']}{path}"

    refused = world.call(method, url, key=without, json=body)
    assert (refused.status_code, code_of(refused.json())) == (403, "QWED-AUTH-002")
    assert needed in refused.json()["error"]["message"]
    assert world.call(method, url, key=alone, json=body).status_code not in (401, 403)


FOR_THE_AGENT_ITSELF = {("GET", ""), ("GET", "/budget"), ("GET", "/activity"), ("POST", "/verify")} | {
    ("POST", "/tools/get_weather"),
    ("POST", "/activity/act_x/outcome"),
}


@pytest.mark.parametrize(("method", "path", "body"), ON_AN_AGENT, ids=lambda value: str(value)[:30])
def test_an_agents_token_opens_only_its_own_few_doors(world, method, path, body):
    agent = world.register()
    url = f"/agents/{agent['agent_id']}{path}"
    status = world.call(method, url, key=agent["agent_token"], json=body).status_code

    if (method, path) in FOR_THE_AGENT_ITSELF:
        assert status in (200, 404)
    else:
        assert status == 403
    assert world.call("GET", f"/agents/{agent['agent_id']}").json()["status"] == "active"


@pytest.mark.parametrize("path", ["/agents", "/keys", "/webhooks"])
def test_an_agent_lists_nothing_of_its_principal(world, path):
    agent = world.register()

    assert world.call("GET", path, key=agent["agent_token"]).status_code == 403


def test_an_agent_sees_its_own_approvals_and_a_principal_those_of_its_agents(world):
    from qwed.domain.findings import Status

    world.prover.says(Status.UNCERTAIN)
    agent, sibling, foreign = world.register(), world.register(), world.register(principal_id="rival")
    for each in (agent, sibling, foreign):
        world.verify(each)

    def seen(key, **query):
        found = world.call("GET", "/approvals", key=key, params=query).json()["approvals"]
        return {approval["agent_id"] for approval in found}

    ids = {name: each["agent_id"] for name, each in (("a", agent), ("s", sibling), ("f", foreign))}
    assert seen(agent["agent_token"]) == {ids["a"]}
    assert seen(agent["agent_token"], agent_id=ids["s"]) == {ids["a"]}
    assert seen(world.principal_key("acme")) == {ids["a"], ids["s"]}
    assert seen(world.principal_key("acme"), agent_id=ids["f"]) == set()
    assert seen(OPERATOR_KEY) == set(ids.values())


def test_a_foreign_approval_answers_like_none(world):
    from qwed.domain.findings import Status

    world.prover.says(Status.UNCERTAIN)
    foreign = world.verify(world.register(principal_id="rival"))["approval"]["id"]
    key = world.principal_key("acme")
    answers = [world.call("GET", f"/approvals/{each}", key=key) for each in (foreign, "apr_none")]

    assert [answer.status_code for answer in answers] == [404, 404]
    assert answers[0].text.replace(foreign, "apr_none") == answers[1].text


# --- failures are slowed by address, and by nothing else ---------------------------------------------


def test_failures_are_limited_by_address_and_a_valid_credential_beside_them_is_not(world):
    agent = world.register()
    path = f"/agents/{agent['agent_id']}"
    wrong = [world.call("GET", path, key="qwed_live_wrong", address="10.0.0.9") for _ in range(25)]

    assert [answer.status_code for answer in wrong] == [401] * 20 + [429] * 5
    assert int(wrong[-1].headers["Retry-After"]) >= 1
    assert world.call("GET", path, address="10.0.0.9").status_code == 200
    assert world.call("GET", path, key="qwed_live_wrong", address="10.0.0.10").status_code == 401
    world.clock.advance(10_000)
    assert world.call("GET", path, key="qwed_live_wrong", address="10.0.0.9").status_code == 401


def test_a_limited_address_learns_nothing_at_the_verify_door_either(world):
    agent = world.register()
    statuses = [verify(world, agent, {"X-Agent-Token": "qwed_agent_wrong"}).status_code for _ in range(22)]

    assert statuses == [401] * 20 + [429] * 2
    assert world.decisions(agent) == []
