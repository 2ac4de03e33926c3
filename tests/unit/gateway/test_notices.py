"""What is told, to whom, and what of it: bounded, masked, and only where somebody listens."""

import msgspec
import pytest
from tests.support.records import a_webhook
from tests.support.world import OPERATOR_KEY, World, calculate

from qwed.domain.findings import Failure, Status
from qwed.domain.risk import Risk
from qwed.gateway.kernel.changes import noted
from qwed.gateway.kernel.coroutines import run
from qwed.gateway.kernel.notifications import MAX_BODY
from qwed.gateway.kernel.records import Record


def listen(world: World, name: str = "hook_1", principal: str | None = None, **more) -> None:
    hook = a_webhook(name, principal, **more)
    run(world.services.store.commit(Record(noted(world.services, None, "create_webhook", {}), webhook=hook)))


def told(world: World, name: str = "hook_1") -> list[dict]:
    found = run(world.services.store.deliveries(name, None, 1000))
    return [msgspec.json.decode(delivery.body) for delivery in reversed(found)]


def fail(world: World) -> None:
    world.prover.says(Status.FAILED, Risk.LOW, failure=Failure.INCORRECT)


def test_where_nobody_listens_nothing_is_made(world):
    fail(world)
    world.verify(world.register())

    assert run(world.services.store.next_delivery_ms()) is None


@pytest.mark.parametrize("status", [Status.VERIFIED, Status.CORRECTED, Status.UNCERTAIN])
def test_of_findings_only_a_failed_one_is_told(world, status):
    listen(world, events=("decision",))
    world.prover.says(status, Risk.LOW)
    agent = world.register()
    world.verify(agent)
    assert told(world) == []

    fail(world)
    world.verify(agent, step=2)
    (event,) = told(world)
    assert event["type"] == "decision.failed"
    assert event["data"]["decision"]["verification"]["status"] == "FAILED"


def test_a_failed_tool_call_is_told_too(world):
    listen(world)
    world.prover.says(Status.FAILED, Risk.LOW, failure=Failure.INCORRECT)
    agent = world.register()
    body = {"parameters": {}, "context": {"conversation_id": "c", "step_number": 1}}
    world.call("POST", f"/agents/{agent['agent_id']}/tools/get_weather", json=body)

    assert [event["type"] for event in told(world)] == ["decision.failed"]


def test_secrets_are_masked_in_what_is_told(world):
    listen(world)
    fail(world)
    secret = "AKIAIOSFODNN7EXAMPLE"
    world.verify(world.register(), calculate(f"key {secret}", parameters={"password": "hunter2hunter2"}))

    text = str(told(world))
    assert secret not in text and "hunter2" not in text


def test_a_long_event_is_told_without_its_long_members(world):
    listen(world)
    fail(world)
    world.verify(world.register(), calculate("x" * 10, parameters={f"p{n}": "y" * 15_000 for n in range(20)}))
    (delivery,) = run(world.services.store.deliveries("hook_1", None, 10))

    assert len(delivery.body) <= MAX_BODY
    (event,) = told(world)
    assert event["data"]["decision"]["left_out"] == ["action"]
    assert event["data"]["decision"]["verification"]["status"] == "FAILED"


def test_an_event_has_one_id_and_each_webhook_a_delivery(world):
    for name in ("hook_1", "hook_2"):
        listen(world, name)
    fail(world)
    world.verify(world.register())
    first, second = told(world, "hook_1"), told(world, "hook_2")
    assert first == second != []

    one = run(world.services.store.deliveries("hook_1", None, 1))[0]
    other = run(world.services.store.deliveries("hook_2", None, 1))[0]
    assert one.event_id == other.event_id == first[0]["id"]
    assert one.delivery_id != other.delivery_id


def test_a_decision_that_was_not_recorded_is_not_told(world):
    """Beyond the limit of open approvals the request is refused, and nothing waits for anybody."""
    listen(world, events=("approval",))
    world.prover.says(Status.UNCERTAIN, Risk.LOW)
    agent = world.register()
    limit = world.services.policy.approvals.max_open
    for number in range(limit + 1):
        world.verify(agent, calculate(f"{number}"), conversation=f"c{number}")

    assert len(told(world)) == limit


def test_every_answer_is_told_with_who_gave_it(world):
    listen(world, events=("approval",))
    world.prover.says(Status.UNCERTAIN, Risk.LOW)
    agent = world.register()
    for step, verb in ((1, "approve"), (2, "deny")):
        answer = world.verify(agent, calculate(f"{step}"), step=step, key=agent["agent_token"])
        world.clock.advance(1)
        world.call("POST", f"/approvals/{answer['approval']['id']}/{verb}", json={"note": verb})
        world.clock.advance(1)

    events = told(world)
    assert [event["type"] for event in events] == [
        "approval.requested", "approval.approved", "approval.requested", "approval.denied",
    ]  # fmt: skip
    assert events[1]["data"]["approval"]["votes"][0]["note"] == "approve"


def test_a_retry_and_a_test_are_part_of_the_record_and_show_no_secret(world):
    made = world.call("POST", "/webhooks", json={"url": "https://x.example/a?key=querysecret"}).json()
    sent = world.call("POST", f"/webhooks/{made['id']}/test").json()
    again = world.call("POST", f"/webhooks/{made['id']}/deliveries/{sent['id']}/retry")
    listed = world.call("GET", f"/webhooks/{made['id']}/deliveries")

    assert again.status_code == 202
    assert [d["id"] for d in listed.json()["deliveries"]] == [sent["id"]]
    for text in (listed.text, again.text, world.call("GET", "/webhooks").text):
        assert made["secret"] not in text and "querysecret" not in text


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"kind": "pigeon"}, "kind"),
        ({"role": " "}, "role"),
        ({"kind": "email"}, "url"),
        ({"kind": "email", "url": "mailto:a@example.com"}, "url"),
    ],
    ids=["kind", "role", "no-mail", "no-server"],
)
def test_a_wrong_destination_is_named(world, body, field):
    response = world.call("POST", "/webhooks", json={"url": "https://x.example/", **body})

    assert response.status_code == 422
    assert response.json()["error"]["details"]["field"] == field


def test_deliveries_come_in_pages_and_only_to_those_who_may_read(world):
    made = world.call("POST", "/webhooks", json={"url": "https://x.example/"}).json()
    path = f"/webhooks/{made['id']}"
    sent = [world.call("POST", f"{path}/test").json()["id"] for _ in range(5)]
    first = world.call("GET", f"{path}/deliveries", params={"limit": 3}).json()
    rest = world.call("GET", f"{path}/deliveries", params={"limit": 3, "after": first["next"]}).json()

    assert {d["id"] for d in first["deliveries"] + rest["deliveries"]} == set(sent)
    assert "next" not in rest
    agent, writer = world.register(), world.principal_key("acme", scopes=["verify"])
    for key, status in ((agent["agent_token"], 403), (writer, 403), (None, 401), (OPERATOR_KEY, 200)):
        assert world.call("GET", f"{path}/deliveries", key=key).status_code == status
        assert world.call("POST", f"{path}/test", key=key).status_code == (202 if status == 200 else status)
