"""Recorded concurrent histories of reservations, budgets and approvals on several stores at once are ones
that a single caller could have seen: for each there is an order that the reference model explains."""

import random
import threading
import time

import pytest
from tests.support.fakes import FakeClock
from tests.support.linearity import Operation, is_linearisable
from tests.support.records import CENT, RING, an_agent, an_approval, an_attempt, decided, noted
from tests.support.services import shared
from tests.support.tiers import scale

from qwed.domain.approvals import ApprovalStatus
from qwed.domain.codes import Refusal
from qwed.domain.policy import DEFAULT_POLICY, BudgetLimits
from qwed.gateway.kernel.coroutines import run
from qwed.gateway.kernel.ports import LeaseLost
from qwed.stores.postgres import open_postgres

LIMIT = 6
STEPS = 4


def test_the_checker_knows_a_history_that_nobody_could_have_seen():
    def register(state, what):
        return (what[1], None) if what[0] == "write" else (state, state)

    fine = [Operation(0, 3, ("write", 1), None), Operation(1, 2, ("read",), 0)]
    stale = [Operation(0, 1, ("write", 1), None), Operation(2, 3, ("read",), 0)]

    assert is_linearisable(fine, 0, register)
    assert not is_linearisable(stale, 0, register)


def reference(state, what):
    """One agent with a limit of requests, one conversation, one grant: the protocol in a few lines.

    `state` is (requests counted, last committed step, step in flight or 0, grant used)."""
    counted, last, flying, used = state
    match what:
        case ("admit", step):
            if step <= last or flying:
                return state, "LOOP"
            if counted >= LIMIT:
                return state, "BUDGET"
            return (counted + 1, last, step, used), "held"
        case ("commit", step):
            return (counted, step, 0, used), "done"
        case ("release", _):
            return (counted, last, 0, used), "done"
        case ("redeem",):
            return (counted, last, flying, True), "refused" if used else "done"
    raise AssertionError(what)


class Caller:
    """Works on one of the stores, and writes down what it asked, when, and what it was told."""

    def __init__(self, store, agent, approval, history, seed):
        self.store, self.agent, self.approval, self.history = store, agent, approval, history
        self.random = random.Random(seed)
        self.clock = FakeClock()

    def note(self, what, work):
        began = time.monotonic()
        answer = work()
        self.history.append(Operation(began, time.monotonic(), what, answer))
        return answer

    def work(self):
        for _ in range(4):
            if self.random.random() < 0.25:
                self.redeem()
            else:
                self.act(self.random.randint(1, STEPS))

    def redeem(self):
        used = an_approval(
            self.agent,
            self.approval.created_ms,
            approval_id=self.approval.approval_id,
            status=ApprovalStatus.REDEEMED,
            version=2,
        )

        def commit():
            refusal = run(self.store.commit(noted(self.agent, self.clock.now_ms(), approval=used)))
            return "done" if refusal is None else "refused"

        self.note(("redeem",), commit)

    def act(self, step):
        attempt = an_attempt(step, f"action {self.random.random()}", "c", charge=CENT)
        held = []

        def admit():
            answer = run(self.store.admit(self.agent, attempt, self.clock.now_ms()))
            if isinstance(answer, Refusal):
                return "LOOP" if "LOOP" in answer.code.value else "BUDGET"
            held.append(answer)
            return "held"

        if self.note(("admit", step), admit) != "held":
            return
        if self.random.random() < 0.3:
            self.note(("release", step), lambda: run(self.store.release(held[0])) or "done")
            return

        def commit():
            try:
                run(self.store.commit(decided(self.agent, attempt, held[0]), held[0]))
            except LeaseLost:
                return "lost"
            return "done"

        self.note(("commit", step), commit)


@pytest.mark.parametrize("seed", range(scale(ci=6, nightly=50, long=300)))
def test_a_concurrent_history_on_three_stores_is_linearisable(seed):
    url = shared().new_database()
    stores = [open_postgres(url, DEFAULT_POLICY, FakeClock(), RING) for _ in range(3)]
    try:
        history: list[Operation] = []
        agent = an_agent(budget=BudgetLimits(None, None, LIMIT, None, None, None))
        approval = an_approval(agent, FakeClock().now_ms())
        run(stores[0].commit(noted(agent, FakeClock().now_ms(), agent=agent)))
        run(stores[0].commit(noted(agent, FakeClock().now_ms(), approval=approval)))
        callers = [Caller(stores[n % 3], agent, approval, history, seed * 100 + n) for n in range(6)]
        threads = [threading.Thread(target=caller.work) for caller in callers]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
    finally:
        for store in stores:
            store.close()

    assert len(history) >= 20
    assert is_linearisable(history, (0, 0, 0, False), reference), sorted(history)
