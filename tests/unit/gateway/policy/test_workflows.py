"""Policy tokens at the gateway: an agent acts at its node, after its predecessors, as people allow."""

import pytest
from tests.support.fakes import FakeClock
from tests.support.world import SIGNER, World
from tests.unit.gateway.decide.test_execution_context import Pen, claims

from qwed.domain.findings import Status
from qwed.domain.policy import DEFAULT_POLICY
from qwed.domain.risk import Risk
from qwed.ect import KeyRing, generate
from qwed.ect.policy_tokens import issue_policy
from qwed.stores import open_sqlite


@pytest.fixture(params=["memory", "sqlite"])
def world(request, tmp_path):
    clock = FakeClock()
    store = None
    if request.param == "sqlite":
        store = open_sqlite(tmp_path / "qwed.db", DEFAULT_POLICY, clock, SIGNER)
    world = World(store=store, clock=clock)
    yield world
    world.close()


class Team:
    """Two agents, of which the second may act only when the first is done."""

    def __init__(self, world, hitl=None, *, is_named_by_id=False, **second):
        self.world = world
        self.first, self.second = Pen(world), Pen(world)
        first = self.first.agent["agent_id"] if is_named_by_id else self.first.did
        nodes = [
            {"id": "gather", "agent": first, "action": "calculate"},
            {"id": "report", "agent": self.second.did, **second},
        ]
        dag = {"nodes": nodes, "edges": [{"from": "gather", "to": "report"}]}
        answer = world.call("POST", "/workflows", json={"dag": dag, "hitl": hitl or {}})
        assert answer.status_code == 201, answer.text
        self.workflow_id = answer.json()["workflow_id"]

    def act(self, pen, node, *, conversation="c", step=1, tokens=(), **action):
        body = {
            "action": {"type": "calculate", "query": "2+2=4", **action},
            "context": {
                "conversation_id": f"{conversation}-{node}",
                "step_number": step,
                "workflow_id": self.workflow_id,
                "node_id": node,
            },
        }
        headers = {"Execution-Context": ", ".join(tokens)} if tokens else {}
        path = f"/agents/{pen.agent['agent_id']}/verify"
        return self.world.call("POST", path, key=pen.agent["agent_token"], json=body, headers=headers)

    def report(self, pen, answer, outcome="success"):
        path = f"/agents/{pen.agent['agent_id']}/activity/{answer.json()['activity_id']}/outcome"
        done = self.world.call("POST", path, key=pen.agent["agent_token"], json={"outcome": outcome})
        assert done.status_code == 200, done.text

    def states(self):
        shown = self.world.call("GET", f"/workflows/{self.workflow_id}").json()
        return {node["id"]: node["state"] for node in shown["nodes"]}


def refused(answer):
    return answer.json()["decision"], answer.json().get("error", {}).get("code")


def test_a_node_waits_for_the_one_before_it(world):
    team = Team(world)

    early = team.act(team.second, "report")
    first = team.act(team.first, "gather")
    between = team.act(team.second, "report")
    team.report(team.first, first)
    late = team.act(team.second, "report")

    assert refused(early) == refused(between) == ("DENIED", "QWED-ECT-003")
    assert early.status_code == 403
    assert first.json()["decision"] == late.json()["decision"] == "APPROVED"


def test_the_states_of_the_nodes_are_shown(world):
    team = Team(world)
    before = team.states()
    team.report(team.first, team.act(team.first, "gather"))

    assert before == {"gather": "ready", "report": "waiting"}
    assert team.states() == {"gather": "completed", "report": "ready"}


@pytest.mark.parametrize("outcome", ["failure", "partial", "unknown"])
def test_only_success_completes_a_node(world, outcome):
    team = Team(world)
    team.report(team.first, team.act(team.first, "gather"), outcome)

    assert refused(team.act(team.second, "report")) == ("DENIED", "QWED-ECT-003")


def test_an_agent_acts_at_no_node_of_another(world):
    team = Team(world)

    assert refused(team.act(team.second, "gather")) == ("DENIED", "QWED-ECT-003")


def test_a_node_is_for_its_action_only(world):
    team = Team(world)

    assert refused(team.act(team.first, "gather", type="verify_logic")) == ("DENIED", "QWED-ECT-003")


@pytest.mark.parametrize(
    "place",
    [
        {"workflow_id": "11111111-2222-4333-8444-555555555555", "node_id": "gather"},
        {"workflow_id": None, "node_id": "gather"},
        {"node_id": "gather"},
        {"workflow_id": 5, "node_id": ["x"]},
        {"workflow_id": "x" * 300, "node_id": "gather"},
    ],
)
def test_a_place_that_cannot_be_found_is_refused(world, place):
    pen = Pen(world)

    answer = world.call(
        "POST",
        f"/agents/{pen.agent['agent_id']}/verify",
        json={
            "action": {"type": "calculate", "query": "2+2"},
            "context": {"conversation_id": "c", "step_number": 1, **place},
        },
    )

    assert refused(answer) == ("DENIED", "QWED-ECT-003")


def test_a_workflow_that_has_expired_lets_nobody_act(world):
    team = Team(world)
    world.clock.advance(86_401_000)

    assert refused(team.act(team.first, "gather")) == ("DENIED", "QWED-ECT-003")


def test_a_decision_at_a_node_belongs_to_the_workflow(world):
    team = Team(world)
    token = team.first.token(wid=team.workflow_id)

    answer = team.act(team.first, "gather", tokens=[token])

    assert claims(answer.headers["Execution-Context"])["wid"] == team.workflow_id


@pytest.mark.parametrize("is_named_by_id", [False, True])
def test_a_predecessors_token_completes_its_node(world, is_named_by_id):
    team = Team(world, is_named_by_id=is_named_by_id)
    done = team.first.token("calculate", wid=team.workflow_id, ext={"acp.node": "gather"})

    answer = team.act(team.second, "report", tokens=[done])

    assert answer.json()["decision"] == "APPROVED"
    assert team.states()["gather"] == "completed"


def test_nobody_completes_the_node_of_another(world):
    team = Team(world)
    forged = team.second.token("calculate", wid=team.workflow_id, ext={"acp.node": "gather"})

    answer = team.act(team.second, "report", tokens=[forged])

    assert refused(answer) == ("DENIED", "QWED-ECT-003")
    assert team.states()["gather"] == "ready"


def test_another_principal_does_not_see_the_workflow(world):
    team = Team(world)
    stranger = world.principal_key("other", scopes=["read"])

    assert world.call("GET", f"/workflows/{team.workflow_id}", key=stranger).status_code == 404


def test_a_policy_of_an_unknown_issuer_is_refused(world):
    ring = KeyRing("did:example:stranger", generate())
    dag = {"nodes": [{"id": "n", "agent": "a"}]}
    token = issue_policy(ring, SIGNER.issuer, dag, {}, world.clock.now_ms() // 1000)

    assert world.call("POST", "/workflows", json={"policy_token": token}).status_code == 422


def test_only_an_operator_has_the_gateway_sign_a_policy(world):
    key = world.principal_key(scopes=["register"])
    dag = {"nodes": [{"id": "n", "agent": "a"}]}

    assert world.call("POST", "/workflows", key=key, json={"dag": dag}).status_code == 403


@pytest.mark.parametrize(
    "dag",
    [
        {"nodes": []},
        {"nodes": [{"id": "a", "agent": "x"}, {"id": "a", "agent": "y"}]},
        {"nodes": [{"id": "a", "agent": "x"}], "edges": [{"from": "a", "to": "b"}]},
        {"nodes": [{"id": "a", "agent": "x"}], "edges": [{"from": "a", "to": "a"}]},
        "nonsense",
        None,
    ],
)
def test_a_policy_that_cannot_be_followed_is_refused(world, dag):
    assert world.call("POST", "/workflows", json={"dag": dag}).status_code == 422


# --- rules for people ------------------------------------------------------------------------------


def rule(**changes):
    return {
        "id": "costly",
        "trigger": {"kind": "amount_above", "op": "gt", "value": 100, "input_ref": "parameters.amount"},
        "required_role": "treasurer",
        "action": "pause",
        "allow_override": True,
        **changes,
    }


def first_at_once(team):
    team.report(team.first, team.act(team.first, "gather", parameters={"amount": 1}))
    return team


def test_a_rule_puts_the_request_before_a_person_with_exactly_that_role(world):
    team = first_at_once(Team(world, {"rules": [rule()]}))
    someone = world.principal_key(scopes=["approve", "read"])
    treasurer = world.principal_key(scopes=["approve", "read"], roles=["treasurer"])

    free = team.act(team.second, "report", parameters={"amount": 50})
    asked = team.act(team.second, "report", step=2, parameters={"amount": 500})

    assert free.json()["decision"] == "APPROVED"
    assert asked.json()["decision"] == "PENDING"
    path = f"/approvals/{asked.json()['approval']['id']}"
    shown = world.call("GET", path, key=someone).json()
    assert shown["required_role"] == "treasurer"
    assert shown["evidence"]["rules"] == ["costly"]
    assert world.call("POST", f"{path}/approve", key=someone, json={}).status_code == 403
    assert world.call("POST", f"{path}/approve", key=treasurer, json={}).status_code == 200


def test_what_a_person_let_pass_completes_its_node(world):
    team = first_at_once(Team(world, {"rules": [rule()]}))
    treasurer = world.principal_key(scopes=["approve", "read"], roles=["treasurer"])
    action = {"type": "calculate", "query": "2+2=4", "parameters": {"amount": 500}}
    asked = team.act(team.second, "report", parameters={"amount": 500})
    path = f"/approvals/{asked.json()['approval']['id']}"
    world.call("POST", f"{path}/approve", key=treasurer, json={})

    redeemed = world.call(
        "POST", f"{path}/redeem", key=team.second.agent["agent_token"], json={"action": action}
    )
    team.report(team.second, redeemed)

    assert redeemed.json()["decision"] == "APPROVED"
    assert team.states()["report"] == "completed"


@pytest.mark.parametrize(
    "changes",
    [
        {"action": "abort"},
        {"allow_override": False},
        {"action": "launch"},
        {"override_action": "abort"},
    ],
)
def test_a_rule_that_nobody_may_lift_denies(world, changes):
    team = first_at_once(Team(world, {"rules": [rule(**changes)]}))

    answer = team.act(team.second, "report", parameters={"amount": 500})

    assert refused(answer) == ("DENIED", "QWED-ECT-003")


def test_a_rule_of_an_unknown_kind_triggers(world):
    unheard = {"kind": "odd", "op": "gt", "value": 1, "input_ref": "risk"}
    team = Team(world, {"rules": [rule(trigger=unheard, allow_override=False)]})

    assert refused(team.act(team.first, "gather")) == ("DENIED", "QWED-ECT-003")


def test_an_input_that_is_missing_or_of_another_type_triggers(world):
    team = first_at_once(Team(world, {"rules": [rule()]}))

    missing = team.act(team.second, "report")
    mistyped = team.act(team.second, "report", step=2, parameters={"amount": "50"})

    assert missing.json()["decision"] == mistyped.json()["decision"] == "PENDING"


def test_rules_of_two_roles_at_once_deny(world):
    both = [rule(), rule(id="also", required_role="auditor")]
    team = first_at_once(Team(world, {"rules": both}))

    assert refused(team.act(team.second, "report", parameters={"amount": 500})) == ("DENIED", "QWED-ECT-003")


def test_a_constraint_that_nobody_can_check_counts_as_triggered(world):
    team = first_at_once(Team(world, constraints={"apae.unheard_of": 1}))

    assert refused(team.act(team.second, "report")) == ("DENIED", "QWED-ECT-003")


def test_a_rule_never_loosens(world):
    team = first_at_once(Team(world, {"rules": [rule()]}))
    world.prover.says(Status.UNCERTAIN, Risk.LOW)
    pending = team.act(team.second, "report", parameters={"amount": 5})
    world.prover.says(Status.VERIFIED, Risk.CRITICAL)
    denied = team.act(team.second, "report", step=2, parameters={"amount": 500})

    assert pending.json()["decision"] == "PENDING"
    assert refused(denied) == ("DENIED", "QWED-AGENT-TRUST-001")


def test_the_rules_time_is_the_approvals(world):
    team = first_at_once(Team(world, {"rules": [rule()], "timeout_s": 60}))
    asked = team.act(team.second, "report", parameters={"amount": 500}).json()
    world.clock.advance(61_000)

    shown = world.call("GET", f"/approvals/{asked['approval']['id']}").json()

    assert shown["status"] == "expired"
