"""The policy changes while the gateway runs: recorded, for everybody at once, and undone as easily."""

import asyncio
from pathlib import Path

import msgspec
import pytest
from tests.support.records import an_activity
from tests.support.world import World, calculate, code_of

from qwed import bootstrap
from qwed.domain.credentials import OPERATOR_ROLE
from qwed.domain.findings import Status
from qwed.domain.policy import DEFAULT_POLICY
from qwed.domain.policy_changes import ChangeKind, PolicyChange
from qwed.domain.risk import Risk
from qwed.gateway.decide.replay import replay
from qwed.gateway.kernel.coroutines import run
from qwed.gateway.kernel.records import Record

STRICT = "actions: {calculate: {enabled: false}}\n"
LOOSE = "budgets: {max_requests_per_hour: 5000}\n"


@pytest.fixture
def world():
    built = World()
    yield built
    built.close()


def put(world, text=STRICT, reason="numbers are dangerous", **more):
    return world.call("PUT", "/policy", json={"text": text, "reason": reason, **more})


def test_a_policy_is_in_force_with_the_next_decision(world):
    agent = world.register()
    before = world.verify(agent)
    answer = put(world)
    after = world.verify(agent, step=2)

    assert before["decision"] == "APPROVED"
    assert answer.status_code == 200 and answer.json()["version"] == 1
    assert code_of(after) == "QWED-AGENT-ACTION-001"
    assert after["policy_version"] == answer.json()["policy_version"] != before["policy_version"]


def test_who_changed_what_and_why_is_in_the_record(world):
    put(world, reason="because")
    shown = world.call("GET", "/policy/versions/1").json()
    change = world.call("GET", "/policy/history").json()["changes"][0]
    entry = next(
        e for e in world.call("GET", "/activity").json()["activities"] if e["action_type"] == "apply_policy"
    )

    assert shown["text"] == STRICT and shown["reason"] == "because" and shown["by"] == change["by"]
    assert entry["action"]["parameters"]["text"] == STRICT
    assert entry["requested_by"] == change["by"]
    assert run(world.services.store.differences(["policy_changes"])) == []


def test_mistakes_are_named_with_their_lines_and_nothing_changes(world):
    answer = put(world, "actions:\n  calculate: {enabld: false}\n")

    assert answer.status_code == 422 and code_of(answer.json()) == "QWED-POLICY-001"
    assert answer.json()["error"]["details"]["mistakes"][0]["line"] == 2
    assert world.call("GET", "/policy").json()["version"] == 0


@pytest.mark.parametrize("reason", ["", "   ", "x" * 100_000])
def test_a_change_says_why(world, reason):
    assert put(world, reason=reason).status_code == 422


def test_a_profile_that_the_deployment_cannot_give_is_refused(world):
    answer = put(world, "profile: regulated\n")

    assert answer.status_code == 422
    assert world.call("GET", "/policy").json()["version"] == 0


def test_of_two_authors_who_looked_at_the_same_version_one_is_told(world):
    put(world, version=0)
    answer = put(world, LOOSE, version=0)

    assert answer.status_code == 409 and code_of(answer.json()) == "QWED-POLICY-003"


def test_a_rollback_brings_the_old_policy_as_a_new_version(world):
    agent = world.register()
    first = put(world, LOOSE).json()
    put(world, STRICT)
    answer = world.call("POST", "/policy/rollback", json={"version": 1, "reason": "too strict"}).json()

    assert (answer["version"], answer["kind"], answer["rolled_back_to"]) == (3, "rollback", 1)
    assert answer["policy_version"] == first["policy_version"]
    assert world.verify(agent)["decision"] == "APPROVED"
    assert world.call("POST", "/policy/rollback", json={"version": 9, "reason": "x"}).status_code == 404


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("PUT", "/policy", {"text": STRICT, "reason": "r"}),
        ("POST", "/policy/rollback", {"version": 1, "reason": "r"}),
        ("POST", "/stop", {"scope": "all", "reason": "r"}),
        ("GET", "/policy", None),
        ("GET", "/policy/history", None),
    ],
)
def test_only_an_operator_reads_and_changes_the_policy(world, method, path, body):
    agent = world.register()
    keys = (world.principal_key(), agent["agent_token"])

    for key in keys:
        assert world.call(method, path, key=key, json=body).status_code == 403


def test_a_decision_under_the_old_policy_is_made_again(world):
    """The policy changes while the engine works."""
    agent = world.register()

    def change(engine, action):
        world.prover.find = plain
        run(world.services.store.commit(Record(noted_activity(world, agent), policy_change=a_change(1))))
        return plain(engine, action)

    plain = world.prover.find
    world.prover.find = change
    answer = world.verify(agent)

    assert code_of(answer) == "QWED-AGENT-ACTION-001"
    assert [entry["decision"] for entry in world.decisions(agent)] == ["DENIED"]
    assert world.services.newest.policy_number == 1


def test_a_policy_that_changes_twice_meanwhile_is_said_and_nothing_is_decided(world):
    agent, numbers = world.register(), iter(range(1, 9))
    plain = world.prover.find

    def change(engine, action):
        changed = a_change(next(numbers), LOOSE)
        run(world.services.store.commit(Record(noted_activity(world, agent), policy_change=changed)))
        return plain(engine, action)

    world.prover.find = change
    answer = world.verify_response(agent)
    world.prover.find = plain

    assert answer.status_code == 503
    assert world.decisions(agent) == []
    assert world.verify(agent)["decision"] == "APPROVED"


def test_a_version_that_this_gateway_cannot_read_closes_it(world):
    agent = world.register()
    broken = msgspec.structs.replace(a_change(1), policy={"actions": {"calculate": 7}}, version="sha256:x")
    run(world.services.store.commit(Record(noted_activity(world, agent), policy_change=broken)))
    answer = world.verify_response(agent)

    assert answer.status_code == 503
    assert answer.json()["error"]["details"] == {"component": "policy"}


def noted_activity(world, agent):
    return an_activity(world.stored(agent), world.clock.now_ms(), "NOTED", payload=b'{"decision":"NOTED"}')


def a_change(number, text=STRICT):
    policy = bootstrap._read_text(text)
    return PolicyChange(
        number, ChangeKind.APPLY, 0, "key", "why", number, policy.version, "store", text, policy.to_wire()
    )


# --- from a file --------------------------------------------------------------------------------------


def test_where_the_policy_comes_from_a_file_that_file_is_named(world, tmp_path):
    world.services.live.file = str(tmp_path / "qwed.yaml")
    answers = [put(world), world.call("POST", "/policy/rollback", json={"version": 1, "reason": "r"})]

    for answer in answers:
        assert answer.status_code == 409 and code_of(answer.json()) == "QWED-POLICY-002"
        assert str(tmp_path / "qwed.yaml") in answer.json()["error"]["message"]


def test_the_file_becomes_the_version_when_somebody_says_so(world, tmp_path):
    file = tmp_path / "qwed.yaml"
    file.write_text(STRICT)
    world.services.live.file, world.services.live.file_version = str(file), DEFAULT_POLICY.version
    first = world.call("POST", "/policy/reload", json={"reason": "edited"}).json()
    second = world.call("POST", "/policy/reload", json={"reason": "edited"}).json()
    file.write_text("nonsense: [")
    broken = world.call("POST", "/policy/reload", json={"reason": "edited"})
    ready = world.call("GET", "/ready").json()

    assert first["version"] == 1 and second["unchanged"]
    assert broken.status_code == 422
    assert ready["version"] == 1 and "policy" not in ready


def test_a_host_whose_file_differs_takes_over_what_is_in_force_and_says_so(world, tmp_path):
    file = Path(tmp_path / "qwed.yaml")
    put(world)
    world.services.live.file, world.services.live.file_version = str(file), DEFAULT_POLICY.version
    ready = world.call("GET", "/ready").json()

    assert ready["policy"].startswith("differs")
    assert ready["policy_version"] == bootstrap._read_text(STRICT).version


# --- a second person ----------------------------------------------------------------------------------

TWO = "policy: {change: {approvers: 2}}\n"


def test_a_looser_policy_waits_for_a_second_person(world):
    put(world, TWO)
    asked = put(world, TWO + LOOSE)
    approval_id = asked.json()["approval_id"]
    own = world.call("POST", f"/approvals/{approval_id}/approve", json={})
    other = world.call("POST", "/keys", json={"roles": [OPERATOR_ROLE], "scopes": ["approve", "read"]}).json()
    before = world.call("GET", "/policy").json()["version"]
    agreed = world.call("POST", f"/approvals/{approval_id}/approve", key=other["api_key"], json={})
    change = world.call("GET", "/policy/history").json()["changes"][0]

    assert asked.status_code == 202 and own.status_code == 403 and before == 1
    assert agreed.status_code == 200, agreed.text
    assert change["version"] == 2 and change["approved_by"] is not None


def test_a_second_person_who_says_no_keeps_the_policy(world):
    put(world, TWO)
    approval_id = put(world, TWO + LOOSE).json()["approval_id"]
    other = world.call("POST", "/keys", json={"roles": [OPERATOR_ROLE], "scopes": ["approve", "read"]}).json()
    world.call("POST", f"/approvals/{approval_id}/deny", key=other["api_key"], json={})

    assert world.call("GET", "/policy").json()["version"] == 1


def test_what_a_second_person_agrees_to_follows_the_version_it_was_made_for(world):
    put(world, TWO)
    approval_id = put(world, TWO + LOOSE).json()["approval_id"]
    world.call("POST", "/stop", json={"scope": "all", "reason": "fire"})
    other = world.call("POST", "/keys", json={"roles": [OPERATOR_ROLE], "scopes": ["approve", "read"]}).json()
    answer = world.call("POST", f"/approvals/{approval_id}/approve", key=other["api_key"], json={})

    assert answer.status_code == 409 and code_of(answer.json()) == "QWED-POLICY-003"


# --- stop and resume ----------------------------------------------------------------------------------


def stop(world, scope="all", name=None, path="/stop"):
    return world.call("POST", path, json={"scope": scope, "name": name, "reason": "a leak"})


@pytest.mark.parametrize(
    ("scope", "name", "is_meant"),
    [
        ("all", None, True),
        ("tool", "calculate", True),
        ("tool", "Calculate", True),
        ("tool", "send_email", False),
        ("team", "acme", True),
        ("team", "others", False),
    ],
)
def test_what_is_stopped_is_denied_until_it_is_resumed(world, scope, name, is_meant):
    agent = world.register()
    assert stop(world, scope, name).status_code == 200
    stopped = world.verify(agent)
    entry = world.decisions(agent)[0]
    resumed = stop(world, scope, name, "/resume")
    after = world.verify(agent, step=2)

    assert (code_of(stopped) == "QWED-AGENT-STOP-001") is is_meant
    assert (stopped["decision"] == "DENIED") is is_meant
    assert not is_meant or "a leak" in stopped["error"]["message"]
    assert resumed.status_code == 200 and resumed.json()["stops"] == []
    assert after["decision"] == "APPROVED"
    shared = world.services.store.shared
    assert run(replay(entry, shared)).is_same


def test_a_stop_survives_another_policy_and_an_unknown_one_is_not_resumed(world):
    agent = world.register()
    stop(world)
    put(world, LOOSE)

    assert code_of(world.verify(agent)) == "QWED-AGENT-STOP-001"
    assert world.call("GET", "/ready").json()["stopped"][0]["scope"] == "all"
    assert stop(world, "tool", "calculate", "/resume").status_code == 404


@pytest.mark.parametrize(
    "body",
    [
        {"scope": "all", "name": "x", "reason": "r"},
        {"scope": "tool", "reason": "r"},
        {"scope": "some", "reason": "r"},
        {"scope": "all"},
    ],
)
def test_a_stop_says_what_it_means(world, body):
    assert world.call("POST", "/stop", json=body).status_code == 422


# --- grants -------------------------------------------------------------------------------------------


def test_a_grant_given_under_another_policy_is_decided_again(world):
    agent = world.register()
    action = calculate()
    world.prover.says(Status.VERIFIED, Risk.HIGH)
    asked = world.verify(agent, action)
    assert asked["decision"] == "PENDING", asked
    approver = world.principal_key(scopes=["approve", "read"])
    approval_id = asked["approval"]["id"]
    assert world.call("POST", f"/approvals/{approval_id}/approve", key=approver, json={}).status_code == 200
    put(world, "approvals: {approvers: 2}\n")
    void = world.call("POST", f"/approvals/{approval_id}/redeem", json={"action": action})
    put(world, LOOSE)
    good = world.call("POST", f"/approvals/{approval_id}/redeem", json={"action": action})

    assert void.status_code == 409 and "2 people" in void.json()["error"]["message"]
    assert good.status_code == 200 and good.json()["decision"] == "APPROVED"


def test_nobody_asks_the_store_more_often_because_of_versions(world):
    """The check is part of the commit."""
    agent, asked = world.register(), []
    store = world.services.store
    before = store.policy_change

    async def counted(number=None):
        asked.append(number)
        return await before(number)

    store.policy_change = counted
    try:
        world.verify(agent)
    finally:
        del store.policy_change

    assert asked == []


def test_many_who_are_refused_at_once_load_the_new_policy_once(world):
    agent = world.register()
    run(world.services.store.commit(Record(noted_activity(world, agent), policy_change=a_change(1))))

    async def all_at_once():
        async with world.client() as client:
            body = [
                client.post(
                    f"/agents/{agent['agent_id']}/verify",
                    headers={"Authorization": f"Bearer {agent['agent_token']}"},
                    json={
                        "action": calculate(),
                        "context": {"conversation_id": f"c{n}", "step_number": 1},
                    },
                )
                for n in range(20)
            ]
            return await asyncio.gather(*body)

    answers = world.run(all_at_once())

    assert {code_of(answer.json()) for answer in answers} == {"QWED-AGENT-ACTION-001"}
