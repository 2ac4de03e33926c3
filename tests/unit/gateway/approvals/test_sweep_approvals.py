"""Approvals that nobody answers: a reminder, a second role, and in the end a recorded no."""

import threading

import pytest
from tests.support.fakes import SECOND, FakeClock
from tests.support.records import a_webhook
from tests.support.world import SIGNER, World, code_of

from qwed.domain.findings import Status
from qwed.domain.policy import ApprovalRules, Policy
from qwed.domain.risk import Risk
from qwed.gateway.approvals.sweep_approvals import sweep_approvals
from qwed.gateway.kernel.changes import GATEWAY, noted
from qwed.gateway.kernel.coroutines import run
from qwed.gateway.kernel.events import Subscription
from qwed.gateway.kernel.records import Record
from qwed.stores import open_sqlite

RULES = ApprovalRules(
    ttl_seconds=900,
    role="security",
    remind_after_seconds=300,
    escalate_after_seconds=600,
    escalate_to_role="chief",
)
EMAIL = {"type": "send_email", "parameters": {"to": "a@example.com"}}


@pytest.fixture
def waiting():
    """A world where approvals are watched, and everybody hears of everything."""
    world = World(policy=Policy(approvals=RULES))
    tell(world, a_webhook("hook_all", None))
    tell(world, a_webhook("hook_chief", None, role="chief"))
    yield world
    world.close()


def tell(world, hook):
    run(world.services.store.commit(Record(noted(world.services, None, "create_webhook", {}), webhook=hook)))


def ask(world, **more):
    agent = world.register(type="supervised", **more)
    world.prover.says(Status.VERIFIED, Risk.MEDIUM)
    answer = world.verify(agent, EMAIL, key=agent["agent_token"])
    assert answer["decision"] == "PENDING", answer
    return agent, answer["approval"]["id"]


def after(world, seconds):
    world.clock.advance(seconds * SECOND)
    return run(sweep_approvals(world.services))


def told(world, hook="hook_all"):
    found = run(world.services.store.deliveries(hook, None, 100))
    return [delivery.event.value for delivery in reversed(found)]


def noted_of(world, agent):
    entries = world.activity(agent, limit=1000)["activities"]
    return [e["action_type"] for e in reversed(entries) if e["action_type"].startswith("approval_")]


def show(world, approval_id):
    return world.call("GET", f"/approvals/{approval_id}").json()


def test_nothing_happens_before_its_time(waiting):
    ask(waiting)

    assert after(waiting, 299) == 0
    assert told(waiting) == ["approval.requested"]


def test_silence_is_reminded_escalated_and_in_the_end_denied_each_once(waiting):
    agent, approval_id = ask(waiting)
    steps = [
        after(waiting, 300),
        after(waiting, 1),
        after(waiting, 299),
        after(waiting, 1),
        after(waiting, 299),
    ]
    again = [after(waiting, 1), after(waiting, 5000)]

    assert steps == [1, 0, 1, 0, 1] and again == [0, 0]
    assert noted_of(waiting, agent) == ["approval_reminded", "approval_escalated", "approval_expired"]
    assert told(waiting) == [
        "approval.requested", "approval.reminded", "approval.escalated", "approval.expired",
    ]  # fmt: skip
    # The second role hears of it from the moment it may answer.
    assert told(waiting, "hook_chief") == ["approval.escalated", "approval.expired"]
    shown = show(waiting, approval_id)
    assert (shown["status"], shown["escalated_to"], shown["votes"]) == ("expired", "chief", [])


def test_the_time_out_is_in_the_record_as_a_denial_of_the_gateways(waiting):
    agent, approval_id = ask(waiting)
    after(waiting, 900)
    (entry,) = [e for e in waiting.activity(agent)["activities"] if e["action_type"] == "approval_expired"]
    (asked,) = [e for e in waiting.activity(agent)["activities"] if e["decision"] == "PENDING"]

    assert entry["requested_by"] == GATEWAY
    assert entry["ect_par"] == [asked["ect_jti"]]
    assert entry["action"]["parameters"]["approval_id"] == approval_id
    assert entry["action"]["parameters"]["means"] == "denied"


def test_what_was_answered_is_left_alone(waiting):
    agent, approval_id = ask(waiting)
    key = waiting.principal_key(scopes=["approve"], roles=["security"])
    waiting.call("POST", f"/approvals/{approval_id}/deny", key=key, json={})

    assert after(waiting, 5000) == 0
    assert noted_of(waiting, agent) == []


def test_the_second_role_may_answer_only_after_the_escalation(waiting):
    _, approval_id = ask(waiting)
    chief = waiting.principal_key(scopes=["approve"], roles=["chief"])
    approve = f"/approvals/{approval_id}/approve"
    early = waiting.call("POST", approve, key=chief, json={})
    after(waiting, 600)
    late = waiting.call("POST", approve, key=chief, json={})

    assert code_of(early.json()) == "QWED-APPROVAL-006"
    assert late.json()["status"] == "approved"


def test_the_first_role_may_still_answer_after_it(waiting):
    _, approval_id = ask(waiting)
    security = waiting.principal_key(scopes=["approve"], roles=["security"])
    after(waiting, 600)
    answer = waiting.call("POST", f"/approvals/{approval_id}/approve", key=security, json={})

    assert answer.json()["status"] == "approved"


def test_an_escalation_never_reaches_whoever_asked_nor_another_principal(waiting):
    asker = waiting.principal_key(scopes=["verify", "approve"], roles=["chief"])
    stranger = waiting.principal_key("rival", scopes=["approve"], roles=["chief"])
    agent = waiting.register(type="supervised")
    waiting.prover.says(Status.VERIFIED, Risk.MEDIUM)
    approval_id = waiting.verify(agent, EMAIL, key=asker)["approval"]["id"]
    after(waiting, 600)
    approve = f"/approvals/{approval_id}/approve"

    assert code_of(waiting.call("POST", approve, key=asker, json={}).json()) == "QWED-APPROVAL-006"
    assert code_of(waiting.call("POST", approve, key=stranger, json={}).json()) == "QWED-APPROVAL-001"


def test_the_highest_trust_is_granted_by_no_second_role(waiting):
    agent = waiting.register()
    request = {"request": "trust_elevation", "from_level": 2, "to_level": 3, "justification": "j"}
    asked = waiting.call("POST", f"/agents/{agent['agent_id']}/trust", key=agent["agent_token"], json=request)
    approval_id = asked.json()["approval"]["id"]
    chief = waiting.principal_key(scopes=["approve", "trust"], roles=["chief"])
    after(waiting, 700)
    answer = waiting.call("POST", f"/approvals/{approval_id}/approve", key=chief, json={})

    assert code_of(answer.json()) == "QWED-APPROVAL-006"
    assert show(waiting, approval_id)["escalated_to"] is None


def test_an_approval_of_a_deregistered_agent_expires_too(waiting):
    agent, approval_id = ask(waiting)
    waiting.call("DELETE", f"/agents/{agent['agent_id']}")

    assert after(waiting, 900) == 1
    assert show(waiting, approval_id)["status"] == "expired"


def test_an_expired_approval_makes_room_and_wakes_whoever_waits(waiting):
    _, approval_id = ask(waiting)
    heard = Subscription(None, None, lambda: None)
    waiting.services.events.subscribe(heard)
    after(waiting, 900)

    (event,) = [event for event in heard.take() if event["type"] == "approval"]
    assert (event["approval"]["id"], event["approval"]["status"]) == (approval_id, "expired")


def test_many_expire_in_one_sweep_after_the_other(waiting):
    for number in range(105):
        ask(waiting, name=f"a{number}")
    waiting.clock.advance(900 * SECOND)
    done = [run(sweep_approvals(waiting.services)) for _ in range(3)]

    assert done == [100, 5, 0]


def test_of_a_vote_and_a_time_out_at_the_same_moment_one_wins(tmp_path):
    for attempt in range(5):
        clock, policy = FakeClock(), Policy(approvals=RULES)
        world = World(
            policy=policy, clock=clock, store=open_sqlite(tmp_path / f"{attempt}.db", policy, clock, SIGNER)
        )
        agent, approval_id = ask(world)
        key = world.principal_key(scopes=["approve"], roles=["security"])
        clock.advance(900 * SECOND - 1)
        statuses = []

        def vote(world=world, approval_id=approval_id, key=key, statuses=statuses):
            statuses.append(world.call("POST", f"/approvals/{approval_id}/approve", key=key, json={}))

        thread = threading.Thread(target=vote)
        thread.start()
        clock.advance(1)
        run(sweep_approvals(world.services))
        thread.join()

        shown = show(world, approval_id)
        won = statuses[0].status_code == 200
        assert shown["status"] == ("approved" if won else "expired")
        assert noted_of(world, agent) == ([] if won else ["approval_expired"])
        world.close()
