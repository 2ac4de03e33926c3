"""Engines behind the `Prover` port."""

import threading
from concurrent.futures import Future

from qwed.domain.actions import Action
from qwed.domain.findings import Finding
from qwed.engines.facade import Engines
from qwed.engines.fair_queue import Client
from qwed.gateway.kernel.coroutines import Ticket, wake


class EngineProver:
    """Quick proofs are made here and now; the rest in the engines' own worker processes."""

    def __init__(self, engines: Engines) -> None:
        self._engines = engines

    async def prove(self, engine: str, action: Action, client: Client) -> Finding:
        pending = self._engines.start(action, engine=engine, client=client)
        if isinstance(pending, Finding):
            return pending
        ticket: Ticket[Finding] = Ticket()

        def arrived(done: "Future[Finding]") -> None:
            ticket.bring(done.result())
            wake((ticket,))

        pending.add_done_callback(arrived)
        return await ticket

    def warm(self) -> None:
        self._engines.warm()

    def retire(self) -> None:
        threading.Thread(target=self.close, name="qwed-retire", daemon=True).start()

    def close(self) -> None:
        self._engines.close()
