"""The thread beside the gateway: bounded, patient with the store, and ended by nobody's defect."""

import asyncio
from collections import Counter

import msgspec
import pytest
from tests.support.fakes import MINUTE
from tests.support.receivers import wait_for
from tests.support.records import a_delivery, a_webhook
from tests.support.world import World

from qwed.domain.deliveries import DeliveryFailure, DeliveryState
from qwed.domain.policy import NotificationRules, Policy
from qwed.domain.refusal_counts import CountedRefusal
from qwed.domain.webhooks import Channel
from qwed.gateway.kernel.changes import noted
from qwed.gateway.kernel.coroutines import run
from qwed.gateway.kernel.ports import StoreUnavailable
from qwed.gateway.kernel.records import Record
from qwed.notify.background import Background
from qwed.notify.dispatcher import MAX_IN_FLIGHT, PER_WEBHOOK, Dispatcher


class Carrier:
    """Carries as it is told, and counts."""

    def __init__(self, send=None):
        self.sent = Counter()
        self.now = Counter()
        self.most, self.most_of_one = 0, 0
        self._send = send

    async def send(self, hook, delivery):
        self.now[hook.webhook_id] += 1
        self.most = max(self.most, self.now.total())
        self.most_of_one = max(self.most_of_one, self.now[hook.webhook_id])
        try:
            await asyncio.sleep(0.01)
            self.sent[delivery.delivery_id] += 1
            return await self._send(hook, delivery) if self._send else None
        finally:
            self.now[hook.webhook_id] -= 1


@pytest.fixture
def world():
    rules = NotificationRules(timeout_seconds=1, first_retry_seconds=0.01, max_retry_seconds=0.01)
    world = World(policy=Policy(notifications=rules))
    yield world
    world.close()


def put(world, count, hooks):
    made = []
    for number in range(hooks):
        entry = noted(world.services, None, "create_webhook", {})
        run(world.services.store.commit(Record(entry, webhook=a_webhook(f"hook_{number}", None))))
    for number in range(count):
        made.append(a_delivery(world.clock.now, f"hook_{number % hooks}"))
    run(world.services.store.commit(Record(noted(world.services, None, "test", {}), deliveries=tuple(made))))
    return [delivery.delivery_id for delivery in made]


def states(world, ids):
    return Counter(run(world.services.store.delivery(each)).state for each in ids)


class Running:
    def __init__(self, services, carrier):
        self.troubles = []
        self._background = Background(
            services,
            Dispatcher(services, dict.fromkeys(Channel, carrier)),
            lambda *told: self.troubles.append(told),
        )

    def __enter__(self):
        self._background.start()
        return self

    def __exit__(self, *_):
        self._background.stop()


def test_many_are_carried_at_once_within_bounds_and_each_once(world):
    ids, carrier = put(world, 400, 40), Carrier()
    with Running(world.services, carrier):
        wait_for(lambda: states(world, ids) == {DeliveryState.DELIVERED: 400}, "400 deliveries")

    assert carrier.most <= MAX_IN_FLIGHT and carrier.most_of_one <= PER_WEBHOOK
    assert set(carrier.sent.values()) == {1}


def test_one_that_breaks_the_carrier_is_a_failed_try_and_costs_no_other(world):
    ids = put(world, 4, 2)

    async def send(hook, delivery):
        if delivery.delivery_id == ids[0]:
            raise KeyError("a defect")

    with Running(world.services, Carrier(send)):
        wait_for(lambda: states(world, ids)[DeliveryState.DELIVERED] == 3, "three deliveries")
        wait_for(lambda: run(world.services.store.delivery(ids[0])).last_error, "reason")

    assert run(world.services.store.delivery(ids[0])).last_error == (
        "the gateway could not send it: KeyError"
    )


def test_a_store_that_is_away_for_a_while_ends_nothing(world):
    ids, store = put(world, 1, 1), world.services.store

    class Shaky:
        failures = 3

        def __getattr__(self, name):
            if name == "next_delivery_ms" and self.failures:
                self.failures -= 1
                raise StoreUnavailable("the disk is away")
            return getattr(store, name)

    services = msgspec.structs.replace(world.services, store=Shaky())
    with Running(services, Carrier()) as running:
        wait_for(lambda: states(world, ids) == {DeliveryState.DELIVERED: 1}, "delivery")

    assert ("deliveries_not_sent", "the disk is away") in running.troubles


def test_a_stop_waits_for_no_receiver_and_loses_nothing(world):
    ids = put(world, 1, 1)

    async def hang(hook, delivery):
        await asyncio.sleep(3600)

    # Who waited for the receiver would wait past the test's time-out.
    patient = Policy(notifications=NotificationRules(timeout_seconds=3600))
    services = msgspec.structs.replace(world.services, policy=patient)
    carrier = Carrier(hang)
    with Running(services, carrier):
        wait_for(lambda: carrier.sent[ids[0]], "try")

    stored = run(world.services.store.delivery(ids[0]))
    assert (stored.state, stored.attempts) == (DeliveryState.PENDING, 1)


def test_what_is_never_taken_is_given_up_in_the_end(world):
    ids = put(world, 1, 1)
    impatient = Policy(notifications=NotificationRules(max_attempts=3))
    services = msgspec.structs.replace(world.services, policy=impatient)

    async def refuse(hook, delivery):
        return DeliveryFailure("it answered 500")

    def is_over():
        world.clock.advance(60_000)
        return states(world, ids) == {DeliveryState.GIVEN_UP: 1}

    with Running(services, Carrier(refuse)):
        wait_for(is_over, "end")

    stored = run(world.services.store.delivery(ids[0]))
    assert (stored.attempts, stored.last_error) == (3, "it answered 500")


def test_refusals_that_were_only_counted_are_stated_without_being_asked(world):
    agent = world.register()
    refused = CountedRefusal(agent["agent_id"], "acme", "QWED-AGENT-CTX-001", world.clock.now)
    for _ in range(world.services.policy.limits.refusals_per_hour + 2):
        run(world.services.store.count_refusal(refused))
    world.clock.advance(2 * MINUTE)

    def stated():
        entries = world.activity(agent)["activities"]
        return [e["action"]["parameters"]["count"] for e in entries if e["action_type"] == "count_refusals"]

    with Running(world.services, Carrier()):
        wait_for(lambda: stated() == [2], "the entry of the minute")
