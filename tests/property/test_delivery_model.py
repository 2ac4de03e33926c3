"""Nothing is lost and nothing that arrived is sent again, whatever crashes, fails or takes too long."""

from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from tests.support.fakes import FakeClock
from tests.support.records import a_delivery, an_agent, noted
from tests.support.world import SIGNER

from qwed.domain.deliveries import Delivery, DeliveryClaim, DeliveryFailure, DeliveryState, settled
from qwed.domain.policy import DEFAULT_POLICY, NotificationRules
from qwed.gateway.kernel.coroutines import run
from qwed.stores import open_memory, open_sqlite

RULES = NotificationRules(first_retry_seconds=1, max_retry_seconds=8, max_attempts=4)
LEASE_MS = 5_000


class Outbox(RuleBasedStateMachine):
    """`held` are claims that somebody works on; a crash forgets them, as a process would."""

    @initialize(durable=st.booleans())
    def open(self, durable):
        self.folder = TemporaryDirectory()
        self.clock = FakeClock()
        path = Path(self.folder.name) / "store.db"
        self.reopen = (lambda: open_sqlite(path, DEFAULT_POLICY, self.clock, SIGNER)) if durable else None
        self.store = self.reopen() if durable else open_memory(DEFAULT_POLICY, self.clock, SIGNER)
        self.made: set[str] = set()
        self.held: list[Delivery] = []
        self.ended: dict[str, DeliveryState] = {}
        self.tries: dict[str, int] = {}

    @rule(hook=st.sampled_from(["hook_a", "hook_b"]))
    def tell(self, hook):
        delivery = a_delivery(self.clock.now, hook)
        run(self.store.commit(noted(an_agent("agent_x"), self.clock.now, deliveries=(delivery,))))
        self.made.add(delivery.delivery_id)

    @rule(limit=st.integers(1, 3))
    def claim(self, limit):
        now = self.clock.now
        counts: dict[str, int] = {}
        for delivery in self.held:
            counts[delivery.webhook_id] = counts.get(delivery.webhook_id, 0) + 1
        for delivery in run(
            self.store.claim_deliveries(DeliveryClaim(now, now + LEASE_MS, limit, 2, counts))
        ):
            assert delivery.delivery_id not in self.ended
            self.tries[delivery.delivery_id] = self.tries.get(delivery.delivery_id, 0) + 1
            assert delivery.attempts == self.tries[delivery.delivery_id]
            assert all(held.due_ms <= now for held in self.held if held.delivery_id == delivery.delivery_id)
            self.held.append(delivery)

    @rule(arrives=st.booleans())
    def settle(self, arrives):
        if not self.held:
            return
        delivery = self.held.pop(0)
        after = settled(delivery, None if arrives else DeliveryFailure("no"), self.clock.now, RULES, 0.5)
        run(self.store.settle_delivery(after))
        is_newest = delivery.attempts == self.tries[delivery.delivery_id]
        if after.state is not DeliveryState.PENDING and (is_newest or arrives):
            self.ended.setdefault(delivery.delivery_id, after.state)

    @rule()
    def crash(self):
        self.held = []
        if self.reopen is not None:
            self.store.close()
            self.store = self.reopen()

    @rule(seconds=st.integers(1, 10))
    def wait(self, seconds):
        self.clock.advance(seconds * 1000)

    @invariant()
    def everything_is_there_and_as_the_model_says(self):
        for delivery_id in getattr(self, "made", ()):
            stored = run(self.store.delivery(delivery_id))
            assert stored.state is self.ended.get(delivery_id, DeliveryState.PENDING)

    def teardown(self):
        if hasattr(self, "store"):
            self.store.close()
            self.folder.cleanup()


TestOutbox = Outbox.TestCase
TestOutbox.settings = settings(max_examples=40, stateful_step_count=30, deadline=None)
