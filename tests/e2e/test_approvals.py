"""Approvals on a real gateway: two people at once, a restart between any two steps, a changed argument."""

import json
from concurrent.futures import ThreadPoolExecutor

import pytest
from tests.support.receivers import wait_for
from tests.support.server import Server

EMAIL = {"type": "send_email", "parameters": {"to": "a@example.com", "subject": "s", "body": "hello"}}
CHANGED = {"type": "send_email", "parameters": {**EMAIL["parameters"], "to": "b@example.com"}}


def pending(server: Server, agent: dict, step: int = 1) -> str:
    answer = server.call(
        "POST",
        f"/agents/{agent['agent_id']}/verify",
        key=agent["agent_token"],
        json={"action": EMAIL, "context": {"conversation_id": "c", "step_number": step}},
    ).json()
    assert answer["decision"] == "PENDING", answer
    return answer["approval"]["id"]


def redeem(server: Server, agent: dict, approval_id: str, action: dict = EMAIL) -> dict:
    path = f"/approvals/{approval_id}/redeem"
    return server.call("POST", path, key=agent["agent_token"], json={"action": action}).json()


def status(server: Server, approval_id: str) -> str:
    return server.call("GET", f"/approvals/{approval_id}").json()["status"]


def code(answer: dict) -> str | None:
    return answer.get("error", {}).get("code")


def test_of_people_who_answer_at_once_one_wins_and_the_others_are_told(tmp_path):
    with Server(tmp_path) as server:
        keys = [server.principal_key("acme", scopes=["approve", "read"]) for _ in range(6)]
        for _ in range(5):
            agent = server.register(type="supervised")
            approval_id = pending(server, agent)
            verbs = ("approve", "deny") * 3
            with ThreadPoolExecutor(len(keys)) as people:
                answers = list(
                    people.map(
                        lambda pair, wanted=approval_id: server.call(
                            "POST", f"/approvals/{wanted}/{pair[1]}", key=pair[0], json={}
                        ),
                        zip(keys, verbs, strict=True),
                    )
                )

            won = [answer for answer in answers if answer.status_code == 200]
            lost = [answer.json() for answer in answers if answer.status_code != 200]
            assert len(won) == 1
            assert {code(answer) for answer in lost} == {"QWED-APPROVAL-002"}
            assert status(server, approval_id) == won[0].json()["status"]


def test_an_approval_survives_a_restart_between_any_two_steps(tmp_path):
    """Killed each time: what was answered is on disk, and nothing else is needed."""

    def restarted(server: Server) -> Server:
        server.kill()
        return Server(tmp_path, "--config", str(tmp_path / "qwed.yaml")).start()

    (tmp_path / "qwed.yaml").write_text(json.dumps({"approvals": {"approvers": 2}}), encoding="utf-8")
    server = Server(tmp_path, "--config", str(tmp_path / "qwed.yaml")).start()
    try:
        agent = server.register(type="supervised")
        first, second = (server.principal_key("acme", scopes=["approve"]) for _ in range(2))
        approval_id = pending(server, agent)
        server = restarted(server)
        assert status(server, approval_id) == "open"
        assert server.call("POST", f"/approvals/{approval_id}/approve", key=first).status_code == 200
        server = restarted(server)
        assert code(server.call("POST", f"/approvals/{approval_id}/approve", key=first).json()) == (
            "QWED-APPROVAL-002"
        )
        granted = server.call("POST", f"/approvals/{approval_id}/approve", key=second).json()
        assert granted["status"] == "approved"
        server = restarted(server)
        assert code(server.call("POST", f"/approvals/{approval_id}/deny", key=second).json()) == (
            "QWED-APPROVAL-002"
        )
        assert redeem(server, agent, approval_id)["decision"] == "APPROVED"
        server = restarted(server)
        assert code(redeem(server, agent, approval_id)) == "QWED-APPROVAL-005"
        assert status(server, approval_id) == "redeemed"
    finally:
        server.kill()


def test_a_changed_argument_is_refused_after_the_approval_and_the_grant_stays(tmp_path):
    with Server(tmp_path) as server:
        agent = server.register(type="supervised")
        approval_id = pending(server, agent)
        server.call("POST", f"/approvals/{approval_id}/approve")

        assert code(redeem(server, agent, approval_id, CHANGED)) == "QWED-APPROVAL-004"
        assert redeem(server, agent, approval_id)["decision"] == "APPROVED"


@pytest.mark.parametrize("is_down", [False, True], ids=["running", "down"])
def test_silence_is_recorded_as_a_denial_once_whether_or_not_the_gateway_was_up(tmp_path, is_down):
    (tmp_path / "qwed.yaml").write_text(json.dumps({"approvals": {"ttl_seconds": 2}}), encoding="utf-8")

    def served() -> Server:
        return Server(tmp_path, "--config", str(tmp_path / "qwed.yaml"))

    def expiries(server: Server) -> list:
        activities = server.call("GET", f"/agents/{agent['agent_id']}/activity").json()["activities"]
        return [entry for entry in activities if entry["action_type"] == "approval_expired"]

    server = served().start()
    try:
        agent = server.register(type="supervised")
        approval_id = pending(server, agent)
        if is_down:
            server.kill()
            server = served().start()
        answer = server.call("GET", f"/approvals/{approval_id}?wait=20", key=agent["agent_token"]).json()
        wait_for(lambda: expiries(server), "recorded time-out")
        server.kill()
        server = served().start()

        assert answer["status"] == "expired"
        assert len(expiries(server)) == 1
        assert code(server.call("POST", f"/approvals/{approval_id}/approve").json()) == "QWED-APPROVAL-003"
    finally:
        server.kill()
