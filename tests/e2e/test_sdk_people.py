"""The side of people in the SDK: approvals, trust, suspension; with both clients."""

import asyncio
import inspect
import threading

import pytest
from tests.support.protected import Protected
from tests.support.server import OPERATOR_KEY

from qwed_sdk import ActionDenied, AsyncQWEDClient, QWEDClient, RequestRefused

pytestmark = pytest.mark.xdist_group("sdk")

PUBLISH = {"type": "publish_page", "parameters": {"title": "x"}}


def test_both_clients_offer_the_same() -> None:
    def offered(client: type) -> set[str]:
        return {name for name, _ in inspect.getmembers(client) if not name.startswith("_")}

    asked_for = {
        "register_agent",
        "verify_action",
        "verify_tool",
        "get_agent",
        "get_agent_budget",
        "get_agent_activity",
        "iterate_agent_activity",
        "report_outcome",
        "request_trust",
        "wait_for_approval",
        "approvals",
        "approve",
        "deny",
        "suspend",
        "events",
        "conversation",
    }

    assert offered(QWEDClient) - {"close"} == offered(AsyncQWEDClient) - {"aclose"}
    assert asked_for <= offered(QWEDClient)


def test_an_approval_is_waited_for_answered_and_used_once(world: Protected) -> None:
    decision = world.client.conversation(world.agent_id).verify(PUBLISH)
    approval_id = decision.approval_id
    assert approval_id is not None
    threading.Timer(0.3, world.person.approve, [approval_id], {"note": "fine"}).start()
    answered = world.client.wait_for_approval(approval_id, 20, agent_id=world.agent_id)
    redeemed = world.client.redeem(approval_id, world.agent_id, PUBLISH)

    assert (answered.status, answered["votes"][0]["note"]) == ("approved", "fine")
    assert redeemed["decision"] == "APPROVED"
    with pytest.raises(RequestRefused, match="QWED-APPROVAL-005"):
        world.client.redeem(approval_id, world.agent_id, PUBLISH)


def test_waiting_for_nobody_ends_and_says_so(world: Protected) -> None:
    decision = world.client.conversation(world.agent_id).verify(PUBLISH)
    assert decision.approval_id is not None

    assert world.client.wait_for_approval(decision.approval_id, 0.2).status == "open"
    world.person.deny(decision.approval_id)
    assert world.client.wait_for_approval(decision.approval_id, 5).status == "denied"


def test_a_conversation_waits_for_a_person_if_it_is_told_to(world: Protected) -> None:
    conversation = world.client.conversation(world.agent_id)
    ran = []
    with pytest.raises(ActionDenied, match="QWED-AGENT-TRUST-002"), conversation.action(PUBLISH):
        ran.append("at once")
    world.person.deny(world.open_approval()["id"])
    with world.person_answers(), conversation.action(PUBLISH, wait_seconds=60) as permit:
        ran.append(permit.action["type"])

    assert ran == ["publish_page"]


def test_a_suspended_agent_is_denied_and_trust_is_asked_for(world: Protected) -> None:
    asked = world.client.request_trust(world.agent_id, 2, 3, "long record")
    world.person.suspend(world.agent_id, "holiday")
    denied = world.client.conversation(world.agent_id).verify({"type": "lookup_order"})
    world.person.reactivate(world.agent_id)

    assert asked["approval"]["status"] == "open"
    assert denied.code == "QWED-AGENT-003"
    assert world.client.conversation(world.agent_id).verify({"type": "lookup_order"}).may_act


def test_the_async_client_has_the_same_people(world: Protected) -> None:
    async def scenario() -> list[str]:
        client = world.async_client()
        async with client, AsyncQWEDClient(OPERATOR_KEY, world.server.base_url) as person:
            conversation = client.conversation(world.agent_id)

            async def answer() -> None:
                while not (waiting := await person.approvals(agent_id=world.agent_id, status="open")):
                    await asyncio.sleep(0.05)
                await person.approve(waiting[0]["id"])

            answering = asyncio.create_task(answer())
            async with conversation.action(PUBLISH, wait_seconds=60) as permit:
                await answering
            entries = [entry async for entry in client.iterate_agent_activity(world.agent_id, limit=2)]
            return [permit.decision["decision"], *sorted({entry["decision"] for entry in entries})]

    assert asyncio.run(scenario()) == ["APPROVED", "APPROVED", "NOTED", "PENDING"]
