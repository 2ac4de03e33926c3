"""Conversations and budgets against a small model: random steps, clocks, refusals, restarts, on every store.

The model is lists and sums, written from the protocol's sentences. It keeps every request and every
committed step, and works each answer out afresh.
"""

import tempfile
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from tests.support.fakes import FakeClock
from tests.support.records import RING, an_agent, an_attempt, decided, fingerprint_of, noted
from tests.support.services import shared

from qwed.domain.agents import Agent
from qwed.domain.budgets import Charge
from qwed.domain.codes import Code, Refusal
from qwed.domain.money import NanoUsd, nano_of
from qwed.domain.policy import BudgetLimits, Limits, LoopLimits, Policy, PrincipalCeilings
from qwed.gateway.kernel.coroutines import run
from qwed.gateway.kernel.ports import Admission, LeaseLost
from qwed.stores import open_memory, open_sqlite
from qwed.stores.postgres import open_postgres

MAX_STEPS, WINDOW, LEASE_MS = 16, 5, 30_000
DAILY_COST, REQUEST_COST, DAILY_TOKENS, REQUEST_TOKENS = 60, 9, 90, 20
HOURLY, DAILY = 25, 40
PRINCIPAL_COST, PRINCIPAL_REQUESTS = 100, 60

POLICY = Policy(
    loops=LoopLimits(max_steps=MAX_STEPS, window=WINDOW, cycle_max_period=3),
    limits=Limits(lease_seconds=LEASE_MS / 1000),
    principals=PrincipalCeilings(
        max_daily_cost_usd=Decimal(PRINCIPAL_COST) / 100, max_requests_per_day=PRINCIPAL_REQUESTS
    ),
)
BUDGET = BudgetLimits(
    Decimal(DAILY_COST) / 100,
    Decimal(REQUEST_COST) / 100,
    HOURLY,
    DAILY,
    REQUEST_TOKENS,
    DAILY_TOKENS,
)
AGENTS = ("agent_one", "agent_two")
DAY_MS = 86_400_000


def cents(amount: int) -> NanoUsd:
    return nano_of(Decimal(amount) / 100)


@dataclass(eq=False)
class Request:
    """One admitted request: what it holds until it ends, what it has settled since."""

    agent: str
    conversation: str
    step: int
    action: str
    state: str | None
    cost: int
    tokens: int
    at_ms: int
    admission: Admission
    attempt: object
    ended: bool = False
    recorded: bool = False
    approved: bool = False


@dataclass
class Model:
    requests: list[Request] = field(default_factory=list)
    #: (agent, conversation) → committed steps, as (number, action, state, approved).
    history: dict[tuple[str, str], list[tuple[int, str, str | None, bool]]] = field(default_factory=dict)
    holder: dict[tuple[str, str], Request] = field(default_factory=dict)
    #: Whether the principal's own ceilings count.
    is_capped: bool = True

    def refusal(self, key, step, action, state, cost, tokens, now) -> Code | None:
        return self.loop(key, step, action, state, now) or self.budget(key[0], cost, tokens, now)

    def loop(self, key, step, action, state, now) -> Code | None:
        steps = self.history.get(key, [])
        if step > MAX_STEPS or len(steps) >= MAX_STEPS:
            return Code.LOOP_LENGTH
        if steps and step <= steps[-1][0]:
            return Code.LOOP_REPLAY
        holder = self.holder.get(key)
        if holder is not None and not holder.ended and now < holder.at_ms + LEASE_MS:
            return Code.LOOP_REPLAY
        if [entry[1] for entry in steps[-2:]] == [action, action]:
            return Code.LOOP_REPEAT
        if any(self.cycles(steps, action, state, period) for period in (2, 3)):
            return Code.LOOP_REPEAT
        if state is not None:
            window = [entry for entry in steps if entry[3] and entry[2] is not None][-WINDOW:]
            if sum(entry[1:3] == (action, state) for entry in window) >= 2:
                return Code.LOOP_NO_PROGRESS
        return None

    @staticmethod
    def cycles(steps, action, state, period) -> bool:
        def ran(rounds):
            recent = steps[-period * rounds :]
            if len(recent) < period * rounds:
                return None
            names = [entry[1] for entry in recent]
            goes_on = names == names[:period] * rounds and names[0] == action
            return recent if goes_on else None

        three, five = ran(3), ran(5)
        if three and state is not None and {entry[2] for entry in three} == {state}:
            return True
        return five is not None and len({entry[2] for entry in five} | {state} - {None}) <= 1 + (
            None in {entry[2] for entry in five}
        )

    def budget(self, agent, cost, tokens, now) -> Code | None:
        if cost > REQUEST_COST or self.cost(now, agent) + cost > DAILY_COST:
            return Code.BUDGET_COST
        if self.hour(now, agent) >= HOURLY or self.day(now, agent) >= DAILY:
            return Code.BUDGET_REQUESTS
        if tokens > REQUEST_TOKENS or self.tokens(now, agent) + tokens > DAILY_TOKENS:
            return Code.BUDGET_TOKENS
        if self.is_capped and self.cost(now) + cost > PRINCIPAL_COST:
            return Code.BUDGET_COST
        if self.is_capped and self.day(now) >= PRINCIPAL_REQUESTS:
            return Code.BUDGET_REQUESTS
        return None

    def of(self, agent):
        return [request for request in self.requests if agent in (None, request.agent)]

    def spent(self, now, agent, what) -> int:
        """What is held by those at work, and what was approved today."""
        return sum(
            getattr(request, what)
            for request in self.of(agent)
            if not request.ended or (request.approved and request.at_ms // DAY_MS == now // DAY_MS)
        )

    def cost(self, now, agent=None) -> int:
        return self.spent(now, agent, "cost")

    def tokens(self, now, agent=None) -> int:
        return self.spent(now, agent, "tokens")

    def hour(self, now, agent=None) -> int:
        """Counted by whole seconds: none leaves the hour early, each within a second of its end."""
        return sum(now // 1000 - request.at_ms // 1000 <= 3600 for request in self.of(agent))

    def day(self, now, agent=None) -> int:
        return sum(request.at_ms // DAY_MS == now // DAY_MS for request in self.of(agent))


actions = st.sampled_from(["a", "b", "c"])
states = st.sampled_from([None, None, "s", "t"])
conversations = st.sampled_from(["x", "y"])
jumps = st.sampled_from([1_000, 29_999, 30_000, 10 * 60_000, 3_600_000 - 1_000, 3_600_000, 7 * 3_600_000])


class StoreMachine(RuleBasedStateMachine):
    kind = "memory"

    def __init__(self) -> None:
        super().__init__()
        self.clock = FakeClock()
        self.folder = tempfile.TemporaryDirectory()
        self.model = Model()
        self.agents: dict[str, Agent] = {}
        self.store = self.open()

    def open(self):
        if self.kind == "memory":
            return open_memory(POLICY, self.clock, RING)
        if self.kind == "postgres":
            return open_postgres(shared().new_database(), self.policy, self.clock, RING)
        return open_sqlite(Path(self.folder.name) / "store.db", POLICY, self.clock, RING)

    def teardown(self) -> None:
        self.store.close()
        self.folder.cleanup()

    @initialize()
    def register(self) -> None:
        for name in AGENTS:
            agent = an_agent(name, budget=BUDGET)
            run(self.store.commit(noted(agent, self.clock.now, agent=agent)))
            self.agents[name] = agent

    def admit(self, name, conversation, step, action, state, cost, tokens) -> Request | None:
        attempt = an_attempt(
            step,
            action,
            conversation,
            state=None if state is None else fingerprint_of(state),
            charge=Charge(cents(cost), tokens),
        )
        expected = self.model.refusal((name, conversation), step, action, state, cost, tokens, self.clock.now)
        answer = run(self.store.admit(self.agents[name], attempt, self.clock.now))

        assert (answer.code if isinstance(answer, Refusal) else None) == expected
        if isinstance(answer, Refusal):
            return None
        request = Request(
            name, conversation, step, action, state, cost, tokens, self.clock.now, answer, attempt
        )
        self.model.requests.append(request)
        self.model.holder[name, conversation] = request
        return request

    def finish(self, request: Request, how: str) -> None:
        key = (request.agent, request.conversation)
        holds = self.model.holder.get(key) is request
        lost = how in ("approved", "pending") and not holds
        if how != "released":
            record = decided(
                self.agents[request.agent],
                request.attempt,
                request.admission,
                approved=how == "approved",
                uses_step=how != "denied",
            )
            if lost:
                with pytest.raises(LeaseLost):
                    run(self.store.commit(record, request.admission))
            else:
                assert run(self.store.commit(record, request.admission)) is None
                request.recorded = True
        run(self.store.release(request.admission))
        request.ended = True
        request.approved = how == "approved" and not lost
        if holds:
            del self.model.holder[key]
            if how in ("approved", "pending"):
                entry = (request.step, request.action, request.state, how == "approved")
                self.model.history.setdefault(key, []).append(entry)

    @rule(
        name=st.sampled_from(AGENTS),
        conversation=conversations,
        offset=st.integers(-1, 3),
        action=actions,
        state=states,
        cost=st.integers(0, 10),
        tokens=st.integers(0, 22),
    )
    def propose(self, name, conversation, offset, action, state, cost, tokens) -> None:
        step = max(1, self.next_step(name, conversation) + offset)
        self.admit(name, conversation, step, action, state, cost, tokens)

    def next_step(self, name, conversation) -> int:
        steps = self.model.history.get((name, conversation), [])
        return steps[-1][0] + 1 if steps else 1

    @rule(
        name=st.sampled_from(AGENTS),
        conversation=conversations,
        pattern=st.lists(actions, min_size=1, max_size=3),
        length=st.integers(2, 16),
        state=states,
        pending=st.integers(0, 5),
    )
    def walk(self, name, conversation, pattern, length, state, pending) -> None:
        """A stretch of a conversation that goes in circles, all the way to its refusal."""
        for number in range(length):
            step = self.next_step(name, conversation)
            request = self.admit(name, conversation, step, pattern[number % len(pattern)], state, 1, 1)
            if request is None:
                return
            self.finish(request, "pending" if number == pending else "approved")

    @precondition(lambda self: any(not request.ended for request in self.model.requests))
    @rule(
        which=st.integers(0, 10),
        how=st.sampled_from(["approved", "approved", "pending", "denied", "released"]),
    )
    def end(self, which, how) -> None:
        at_work = [request for request in self.model.requests if not request.ended]
        self.finish(at_work[which % len(at_work)], how)

    @rule(milliseconds=jumps)
    def wait(self, milliseconds) -> None:
        self.clock.advance(milliseconds)

    @precondition(lambda self: self.kind == "sqlite")
    @rule()
    def restart(self) -> None:
        """What was not recorded is forgotten: requests at work, and those that ended without a record."""
        self.store.close()
        self.store = self.open()
        self.model.requests = [request for request in self.model.requests if request.recorded]
        self.model.holder.clear()

    @invariant()
    def counters_agree(self) -> None:
        now = self.clock.now
        for name, agent in self.agents.items():
            spent = run(self.store.spending(agent, now))
            assert spent.requests == self.model.day(now, name)
            assert spent.hour_total == self.model.hour(now, name)
            assert spent.cost == cents(self.model.cost(now, name))
            assert spent.tokens_all == self.model.tokens(now, name)


class SqliteMachine(StoreMachine):
    kind = "sqlite"


class PostgresMachine(StoreMachine):
    """As one store sees it; what several do at once is looked at in `test_linearity`."""

    kind = "postgres"
    policy = POLICY

    @rule(milliseconds=jumps)
    def wait(self, milliseconds) -> None:
        # A hold that is overtaken is gone here, and its request counted when its holder records a refusal.
        for request in [request for request in self.model.requests if not request.ended]:
            self.finish(request, "approved")
        self.clock.advance(milliseconds)


class UncappedPostgresMachine(PostgresMachine):
    """Without ceilings, most requests take the short way."""

    policy = msgspec.structs.replace(POLICY, principals=PrincipalCeilings())

    def __init__(self) -> None:
        super().__init__()
        self.model.is_capped = False


LIMITS = settings(
    deadline=None, stateful_step_count=30, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
TestMemoryStore = StoreMachine.TestCase
TestMemoryStore.settings = settings(LIMITS, max_examples=100)
TestSqliteStore = SqliteMachine.TestCase
TestSqliteStore.settings = settings(LIMITS, max_examples=25)
TestPostgresStore = PostgresMachine.TestCase
TestPostgresStore.settings = settings(LIMITS, max_examples=4)
TestUncappedPostgresStore = UncappedPostgresMachine.TestCase
TestUncappedPostgresStore.settings = settings(LIMITS, max_examples=12)
