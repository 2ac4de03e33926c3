"""What is asked again after its answer was lost happened once."""

import asyncio
from typing import Any

import httpx2
import pytest
from tests.support.protected import Protected

from qwed_sdk import ActionDenied, GatewayUnavailable, QWEDClient, ToolRefused

pytestmark = pytest.mark.xdist_group("sdk")

PUBLISH = {"type": "publish_page", "parameters": {"title": "x"}}


class Losing(httpx2.HTTPTransport):
    """Sends requests and loses the first answers of those whose path ends so."""

    def __init__(self, ending: str, losses: int) -> None:
        super().__init__()
        self.ending = ending
        self.losses = losses
        self.sent = 0

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        response = super().handle_request(request)
        if request.url.path.endswith(self.ending):
            self.sent += 1
            if self.losses > 0:
                self.losses -= 1
                response.close()
                raise httpx2.ReadError("lost", request=request)
        return response


def losing(world: Protected, ending: str, losses: int, tries: int = 3) -> tuple[QWEDClient, Losing]:
    transport = Losing(ending, losses)
    client = QWEDClient(world.key, world.server.base_url, transport=transport, max_tries=tries)
    client.use_agent_token(world.agent_id, world.client._connection.tokens[world.agent_id])
    return client, transport


def test_a_registration_whose_answer_was_lost_makes_one_agent(world: Protected) -> None:
    before = len(world.person.send(_agents())["agents"])
    client, transport = losing(world, "/register", 2)
    with client:
        agent = client.register_agent("once", "autonomous", "acme")
        decision = client.conversation(agent.agent_id).verify({"type": "lookup_order"})

    assert transport.sent == 3
    assert decision.may_act
    assert len(world.person.send(_agents())["agents"]) == before + 1


def _agents() -> Any:
    from qwed_sdk import calls
    from qwed_sdk.calls import Call

    return Call("GET", "/agents", calls.expect_list("agents"), query={"limit": 500})


def test_two_registrations_are_two_agents(world: Protected) -> None:
    made = {world.client.register_agent("twin", "autonomous", "acme").agent_id for _ in range(2)}

    assert len(made) == 2


def test_a_grant_whose_answer_was_lost_is_used_once_and_runs_once(world: Protected) -> None:
    client, transport = losing(world, "/redeem", 2)
    ran = []
    with client, world.person_answers():
        conversation = client.conversation(world.agent_id)
        with conversation.action(PUBLISH, wait_seconds=30):
            ran.append(1)

    assert (transport.sent, ran) == (3, [1])
    assert world.record() == [("publish_page", "PENDING", None), ("publish_page", "APPROVED", "success")]


def test_a_used_grant_is_not_used_again_under_another_key(world: Protected) -> None:
    decision = world.client.conversation(world.agent_id).verify(PUBLISH)
    assert decision.approval_id is not None
    world.person.approve(decision.approval_id)
    world.client.redeem(decision.approval_id, world.agent_id, PUBLISH)

    with pytest.raises(Exception, match="QWED-APPROVAL-005"):
        world.client.redeem(decision.approval_id, world.agent_id, PUBLISH)


def test_an_outcome_that_could_not_be_sent_is_kept_and_sent_with_the_next(world: Protected) -> None:
    client, _ = losing(world, "/outcome", 0, tries=1)

    class Deaf(Losing):
        def handle_request(self, request: httpx2.Request) -> httpx2.Response:
            if self.losses and request.url.path.endswith(self.ending):
                self.losses -= 1
                raise httpx2.ConnectError("gone", request=request)
            return super().handle_request(request)

    with client:
        # The report of the first call, the same before the second call is judged, the report of the second.
        client = QWEDClient(world.key, world.server.base_url, transport=Deaf("/outcome", 3), max_tries=1)
        gate = world.gate(client=client)
        for order in range(2):
            gate.run("lookup_order", {"order": order}, lambda arguments: "done")
        unheard, waiting = [row[2] for row in world.record()], len(client.unsent)
        gate.run("lookup_order", {"order": 2}, lambda arguments: "done")
        client.close()

    assert (unheard, waiting) == ([None, None], 2)
    assert [row[2] for row in world.record()] == ["success"] * 3


def test_closing_the_client_sends_what_is_left(world: Protected) -> None:
    client, transport = losing(world, "/outcome", 1, tries=1)
    world.gate(client=client).run("lookup_order", {"order": 1}, lambda arguments: "done")
    left = len(client.unsent)
    client.close()

    assert (left, len(client.unsent), transport.sent) == (1, 0, 2)


def test_a_report_that_is_cancelled_twice_is_sent_all_the_same(world: Protected) -> None:
    async def scenario() -> None:
        client = world.async_client()
        conversation = client.conversation(world.agent_id)
        started = asyncio.Event()

        async def act() -> None:
            async with conversation.action({"type": "lookup_order", "parameters": {"order": 1}}):
                started.set()
                await asyncio.sleep(60)

        task = asyncio.create_task(act())
        await started.wait()
        task.cancel()
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        # What goes on without its task, or was kept, is sent at the latest now.
        while len(asyncio.all_tasks()) > 1:
            await asyncio.sleep(0.01)
        await client.aclose()

    asyncio.run(scenario())

    assert world.record() == [("lookup_order", "APPROVED", "unknown")]


@pytest.mark.parametrize("seconds", [0, 0.2])
def test_a_late_yes_counts(world: Protected, caplog: pytest.LogCaptureFixture, seconds: float) -> None:
    ran: list[dict[str, Any]] = []
    gate = world.gate(wait_seconds=seconds)

    def publish(title: str = "x") -> None:
        gate.run("publish_page", {"title": title}, ran.append)

    for _ in range(4):
        with pytest.raises(ToolRefused, match="PENDING"):
            publish()
    approval = world.open_approval()
    world.person.approve(approval["id"])
    publish()

    assert ran == [{"title": "x"}]
    assert [row[1] for row in world.record()] == ["PENDING", "APPROVED"]
    assert "/dashboard/inbox" in caplog.text
    assert approval["id"] in caplog.text
    # It was used: the next one is asked about anew.
    with pytest.raises(ToolRefused, match="PENDING"):
        publish()
    assert [row[1] for row in world.record()] == ["PENDING", "APPROVED", "PENDING"]


def test_a_late_no_is_told_once_and_the_next_call_is_asked_about_anew(world: Protected) -> None:
    gate = world.gate(wait_seconds=0.2)

    def publish(saying: str) -> None:
        with pytest.raises(ToolRefused, match=saying):
            gate.run("publish_page", {"title": "x"}, dict)

    publish("nobody has answered")
    world.person.deny(world.open_approval()["id"], note="not like this")
    publish("not like this")
    publish("nobody has answered")

    assert [row[1] for row in world.record()] == ["PENDING", "PENDING"]


def test_two_equal_calls_at_once_wait_for_an_approval_each(world: Protected) -> None:
    async def scenario() -> list[str]:
        gate = world.gate(wait_seconds=30)

        async def tool(_: dict[str, Any]) -> str:
            return "ran"

        calls = [asyncio.create_task(gate.arun("publish_page", {"title": "x"}, tool)) for _ in range(2)]
        answered: set[str] = set()
        while len(answered) < 2:
            for approval in world.person.approvals(agent_id=world.agent_id, status="open"):
                world.person.approve(approval["id"])
                answered.add(approval["id"])
            await asyncio.sleep(0.02)
        return await asyncio.gather(*calls)

    assert asyncio.run(scenario()) == ["ran", "ran"]


def test_errors_survive_the_way_between_processes(world: Protected) -> None:
    import pickle

    with pytest.raises(ToolRefused) as refused:
        world.gate().run("wipe_disk", {"disk": "a"}, dict)
    with (
        pytest.raises(ActionDenied) as denied,
        world.client.conversation(world.agent_id).action({"type": "wipe_disk"}),
    ):
        pass
    unavailable = GatewayUnavailable("gone", may_pass=True, retry_after=3.0)
    for error in (refused.value, denied.value, unavailable):
        again = pickle.loads(pickle.dumps(error))
        assert (type(again), str(again), again.__dict__) == (type(error), str(error), error.__dict__)
