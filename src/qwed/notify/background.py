"""What the gateway does when nobody asks: deliver, remind, escalate, expire. One thread, one loop.

Whatever it does is found in the store, so it may end at any moment and go on anywhere.
"""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from typing import Final

from qwed.gateway.approvals.sweep_approvals import BATCH, sweep_approvals
from qwed.gateway.decide.refused_often import state_refusals
from qwed.gateway.evidence.permits import sweep_permits
from qwed.gateway.kernel.answers import RequestError
from qwed.gateway.kernel.live_policy import catch_up
from qwed.gateway.kernel.ports import GatewayError
from qwed.gateway.kernel.services import Services
from qwed.gateway.policy.change_policy import reload_file
from qwed.gateway.trust.behaviours import check_periodically
from qwed.notify.dispatcher import Dispatcher

LOOK_SECONDS: Final = 0.5
FINISH_SECONDS: Final = 3.0

Report = Callable[[str, str], None]


class Background:
    """`start` once, `stop` once. `report(event, reason)` hears of what cannot be done now."""

    def __init__(self, services: Services, dispatcher: Dispatcher, report: Report) -> None:
        self._first = services
        self._dispatcher = dispatcher
        self._report = report
        self._stopping = threading.Event()
        #: Set by whoever wants the policy file of this host to be put in force.
        self.must_reload = threading.Event()
        self._thread = threading.Thread(target=self._main, name="qwed-background", daemon=True)

    @property
    def _services(self) -> Services:
        return self._first.newest

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join(2 * FINISH_SECONDS)

    def _main(self) -> None:
        asyncio.run(self._run())

    async def _run(self) -> None:
        while not self._stopping.is_set():
            await self._tend("policy_not_followed", self._follow)
            await self._tend("approvals_not_swept", self._sweep)
            await self._tend("permits_not_swept", self._sweep_permits)
            await self._tend("compliance_not_checked", self._check)
            await self._tend("refusals_not_stated", self._state)
            await self._tend("deliveries_not_sent", self._dispatcher.start_due)
            await asyncio.sleep(LOOK_SECONDS)
        await self._dispatcher.finish(FINISH_SECONDS)

    async def _sweep_permits(self) -> None:
        await sweep_permits(self._services)

    async def _follow(self) -> None:
        """Who decides finds out at the next commit; here also who has nothing to decide."""
        await catch_up(self._services)
        if self.must_reload.is_set():
            self.must_reload.clear()
            await reload_file(self._services, None, {"reason": "SIGHUP"})

    async def _check(self) -> None:
        await check_periodically(self._services)

    async def _state(self) -> None:
        await state_refusals(self._services)

    async def _sweep(self) -> None:
        while await sweep_approvals(self._services) == BATCH and not self._stopping.is_set():
            # There may be more; but deliveries wait, too.
            await self._dispatcher.start_due()

    async def _tend(self, trouble: str, work: Callable[[], Awaitable[None]]) -> None:
        try:
            await work()
        except (GatewayError, RequestError) as error:
            self._report(trouble, str(error))
        # Nobody restarts this thread: a defect must not end it, and is told to the log.
        except Exception as defect:  # noqa: BLE001
            self._report(trouble, type(defect).__name__)
