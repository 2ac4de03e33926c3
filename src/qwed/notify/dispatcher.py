"""Carries deliveries out: at least once, many at a time, and no receiver at the cost of another.

A delivery is claimed for a while, tried, and settled. Whoever dies in between leaves a claim that ends;
then it is tried again. So everything arrives at least once, and the event's id tells a repetition.
"""

import asyncio
import random
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Final

from qwed.domain.deliveries import Delivery, DeliveryClaim, DeliveryFailure, settled
from qwed.domain.policy import NotificationRules
from qwed.domain.webhooks import Channel
from qwed.gateway.kernel.ports import Records
from qwed.gateway.kernel.services import Services
from qwed.notify.channels import Carrier

MAX_IN_FLIGHT: Final = 64
PER_WEBHOOK: Final = 4
#: Beyond the time that two tries may take, a claim counts as lost.
CLAIM_MARGIN_SECONDS: Final = 5


class Dispatcher:
    def __init__(
        self,
        services: Services,
        carriers: Mapping[Channel, Carrier],
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._store: Records = services.store
        self._clock = services.clock
        self._services = services
        self._carriers = carriers
        self._chance = chance
        self._in_flight: Counter[str] = Counter()
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def _rules(self) -> NotificationRules:
        return self._services.newest.policy.notifications

    async def start_due(self) -> None:
        """Take on what is due, as far as there is room. Raises `StoreUnavailable`."""
        due_ms = await self._store.next_delivery_ms()
        while due_ms is not None and due_ms <= self._clock.now_ms() and len(self._tasks) < MAX_IN_FLIGHT:
            claimed = await self._store.claim_deliveries(self._claim())
            for delivery in claimed:
                self._start(delivery)
            if not claimed:
                return

    def _claim(self) -> DeliveryClaim:
        now_ms = self._clock.now_ms()
        until_ms = now_ms + int((2 * self._rules.timeout_seconds + CLAIM_MARGIN_SECONDS) * 1000)
        room = MAX_IN_FLIGHT - len(self._tasks)
        return DeliveryClaim(now_ms, until_ms, room, PER_WEBHOOK, dict(self._in_flight))

    def _start(self, delivery: Delivery) -> None:
        self._in_flight[delivery.webhook_id] += 1
        task = asyncio.create_task(self._attempt(delivery))
        self._tasks.add(task)
        task.add_done_callback(lambda done: self._end(done, delivery))

    def _end(self, task: asyncio.Task[None], delivery: Delivery) -> None:
        self._tasks.discard(task)
        self._in_flight[delivery.webhook_id] -= 1
        if not self._in_flight[delivery.webhook_id]:
            del self._in_flight[delivery.webhook_id]
        if not task.cancelled():
            # A store that could not settle it leaves the claim to end by itself.
            task.exception()

    async def _attempt(self, delivery: Delivery) -> None:
        failure = await self._send(delivery)
        now_ms = self._clock.now_ms()
        await self._store.settle_delivery(settled(delivery, failure, now_ms, self._rules, self._chance()))

    async def _send(self, delivery: Delivery) -> DeliveryFailure | None:
        hook = await self._store.webhook(delivery.webhook_id)
        if hook is None:
            return DeliveryFailure("the webhook was removed", is_final=True)
        try:
            async with asyncio.timeout(self._rules.timeout_seconds):
                return await self._carriers[hook.kind].send(hook, delivery)
        except TimeoutError:
            return DeliveryFailure("it did not answer in time")
        # The boundary of the dispatcher: a defect in sending one is a failed try, and costs no other.
        except Exception as defect:  # noqa: BLE001
            return DeliveryFailure(f"the gateway could not send it: {type(defect).__name__}")

    async def finish(self, seconds: float) -> None:
        """Let what is under way end; what takes longer is left to whoever runs next."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=seconds)
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
