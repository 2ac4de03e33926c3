"""What every store promises, tested on every store. A new one joins by adding itself to `STORES`."""

import contextlib
import sqlite3
import threading
import uuid
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from functools import cache
from pathlib import Path

import msgspec
import pytest
from tests.support.fakes import DAY, HOUR, MINUTE, SECOND, FakeClock
from tests.support.ledgers import verified_head
from tests.support.records import (
    CENT,
    RING,
    UNLIMITED,
    a_delivery,
    a_key,
    a_webhook,
    an_activity,
    an_agent,
    an_approval,
    an_attempt,
    an_outcome,
    decided,
    fingerprint_of,
    noted,
)
from tests.support.services import shared

from qwed.domain.agents import AgentId, AgentStatus, Permissions, PrincipalId
from qwed.domain.approvals import ApprovalKind, ApprovalStatus
from qwed.domain.budgets import Charge
from qwed.domain.codes import Code, Refusal
from qwed.domain.conduct import Conduct, Denial, Standing
from qwed.domain.deliveries import DeliveryClaim, DeliveryState
from qwed.domain.money import usd_of
from qwed.domain.nodes import jti_of
from qwed.domain.outcomes import OutcomeResult
from qwed.domain.policy import (
    DEFAULT_POLICY,
    BudgetLimits,
    Limits,
    Policy,
    PrincipalCeilings,
    Retention,
)
from qwed.domain.trust import TrustLevel
from qwed.domain.trust_changes import Cause, TrustChange
from qwed.domain.webhooks import Webhook
from qwed.ect import issue
from qwed.gateway.kernel.coroutines import run
from qwed.gateway.kernel.ports import Admission, AgentChanged, LeaseLost, Store, StoreUnavailable
from qwed.gateway.kernel.records import (
    ActivityQuery,
    ReceivedEct,
    Record,
    Redaction,
    Remembered,
    ReportScope,
    ScoreChange,
    SearchQuery,
    Tombstone,
)
from qwed.ledger.chain import Head
from qwed.stores import DatabaseInUse, hot, open_memory, open_sqlite
from qwed.stores.postgres import open_postgres, snapshot
from qwed.stores.sqlite.deliveries import DUE_DELIVERIES

STORES: dict[str, Callable[[Path, Policy, FakeClock], Store]] = {
    "memory": lambda folder, policy, clock: open_memory(policy, clock, RING),
    "sqlite": lambda folder, policy, clock: open_sqlite(folder / "store.db", policy, clock, RING),
    "postgres": lambda folder, policy, clock: open_postgres(database_of(folder), policy, clock, RING),
}
#: Those that remember across a restart.
DURABLE = ("sqlite", "postgres")
#: Those with one owner, who keeps in memory what decisions need.
OWNED = ("memory", "sqlite")


@cache
def database_of(folder: Path) -> str:
    """A database of PostgreSQL for this test alone."""
    return shared().new_database()


def verified(shelf: "Shelf", folder: Path) -> Head:
    """Follow the whole ledger, from outside."""
    if shelf.kind == "sqlite":
        return verified_head(folder / "store.db", RING)
    with contextlib.suppress(StoreUnavailable):
        # It answers when everything recorded has its place in the ledger.
        run(shelf.store.ledger_state())
    copy = folder / f"snapshot-{uuid.uuid4()}.db"
    return verified_head(copy, RING, snapshot(database_of(folder), copy))


class Shelf:
    """An open store, its clock, and short ways to use it."""

    def __init__(self, kind: str, folder: Path, policy: Policy) -> None:
        self.kind = kind
        self._open = lambda: STORES[kind](folder, policy, self.clock)
        self.clock = FakeClock()
        self.store = self._open()

    @property
    def now(self) -> int:
        return self.clock.now_ms()

    def reopen(self) -> None:
        self.store.close()
        self.store = self._open()

    def claim(self, agent, key=b"k" * 32):
        return run(self.store.claim_key(agent.agent_id, key, self.now))

    def remember(self, agent, status=200, body=b"{}", **more):
        kept = Remembered(agent.agent_id, b"k" * 32, status, body, self.now + MINUTE)
        mine = msgspec.structs.replace(kept, claim=self.claim(agent).token)
        self.commit(noted(agent, self.now, remembered=mine, **more))
        return kept

    def recall(self, agent, key=b"k" * 32, after=0):
        """What is kept under the key; the key is left as it was found."""
        found = run(self.store.claim_key(agent.agent_id, key, self.now + after))
        if isinstance(found, Remembered):
            return found
        run(self.store.give_up_key(found))
        return None

    def add(self, agent):
        run(self.store.commit(noted(agent, self.now, agent=agent)))
        return agent

    def admit(self, agent, attempt):
        return run(self.store.admit(agent, attempt, self.now))

    def commit(self, record, admission=None):
        return run(self.store.commit(record, admission))

    def take(self, agent, attempt, **how):
        """Admit and commit; the refusal where there is one."""
        admission = self.admit(agent, attempt)
        if isinstance(admission, Refusal):
            return admission
        refusal = self.commit(decided(agent, attempt, admission, **how), admission)
        run(self.store.release(admission))
        return refusal

    def spent(self, agent):
        return run(self.store.spending(agent, self.now))

    def page(self, agent, **query):
        return run(self.store.activities(ActivityQuery(agent.agent_id, **query)))


@pytest.fixture(params=STORES)
def kind(request):
    return request.param


@pytest.fixture
def shelve(kind, tmp_path):
    """Opens shelves, and closes them."""
    opened = []

    def shelve(policy: Policy = DEFAULT_POLICY, kind: str = kind) -> Shelf:
        opened.append(Shelf(kind, tmp_path, policy))
        return opened[-1]

    yield shelve
    for shelf in opened:
        shelf.store.close()


@pytest.fixture
def shelf(shelve):
    return shelve()


def code_of(answer) -> Code | None:
    return answer.code if isinstance(answer, Refusal) else None


def at_once(count: int, work: Callable[[int], object]) -> list:
    """`work` on as many threads, let go together."""
    barrier = threading.Barrier(count)

    def start(number: int) -> object:
        barrier.wait()
        return work(number)

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(start, range(count)))


# --- agents and keys -----------------------------------------------------------------------------------


def test_an_agent_is_found_by_id_and_by_token_as_it_was_written(shelf):
    budget = BudgetLimits(Decimal("12.345678901"), None, 7, 8, 9, 10)
    permissions = Permissions(("sql",), ("tööl",), ("x",))
    agent = shelf.add(an_agent(budget=budget, permissions=permissions, description="ü"))

    assert run(shelf.store.agent(agent.agent_id)) == agent
    assert run(shelf.store.agent_by_token(agent.token_hash)) == agent
    assert run(shelf.store.agent(AgentId("agent_none"))) is None
    assert run(shelf.store.agent_by_token(b"\0" * 32)) is None


def test_a_replaced_agent_is_seen_at_once_and_its_old_token_is_nobodys(shelf):
    agent = shelf.add(an_agent())
    run(shelf.store.agent_by_token(agent.token_hash))
    renewed = shelf.add(msgspec.structs.replace(agent, token_hash=b"n" * 32, status=AgentStatus.SUSPENDED))

    assert run(shelf.store.agent(agent.agent_id)) == renewed
    assert run(shelf.store.agent_by_token(agent.token_hash)) is None
    assert run(shelf.store.agent_by_token(b"n" * 32)) == renewed


def test_a_deregistered_agent_is_not_found_and_not_listed(shelf):
    agent = shelf.add(an_agent())
    shelf.add(msgspec.structs.replace(agent, status=AgentStatus.DEREGISTERED))

    assert run(shelf.store.agent(agent.agent_id)) is None
    assert run(shelf.store.agents(None, None, 10)) == []


def test_an_agent_replaced_while_it_is_being_loaded_is_never_the_old_one_afterwards(shelve, kind):
    for attempt in range(10):
        shelf = shelve()
        agent = shelf.add(an_agent(f"agent_{attempt:016x}"))
        if kind in DURABLE:
            shelf.reopen()
        changed = msgspec.structs.replace(agent, description="changed")

        def work(number, shelf=shelf, agent=agent, changed=changed):
            if number == 0:
                shelf.add(changed)
            else:
                run(shelf.store.agent(agent.agent_id))

        at_once(6, work)
        assert run(shelf.store.agent(agent.agent_id)) == changed
        shelf.store.close()


def test_agents_are_listed_in_order_in_pages_and_by_principal(shelf):
    agents = [shelf.add(an_agent(principal="acme" if n % 2 else "rival")) for n in range(6)]
    ids = sorted(agent.agent_id for agent in agents)

    first = run(shelf.store.agents(None, None, 4))
    rest = run(shelf.store.agents(None, first[-1].agent_id, 4))
    assert [agent.agent_id for agent in first + rest] == ids
    rival = run(shelf.store.agents(PrincipalId("rival"), None, 10))
    assert {agent.principal_id for agent in rival} == {"rival"} and len(rival) == 3


def test_a_principals_standing_counts_living_agents_and_remembers_a_violation(shelf):
    acme = PrincipalId("acme")
    assert run(shelf.store.principal_standing(acme)) == (0, False)
    agents = [shelf.add(an_agent()) for _ in range(3)]
    shelf.add(an_agent(principal="rival"))
    shelf.add(msgspec.structs.replace(agents[0], status=AgentStatus.DEREGISTERED))
    assert run(shelf.store.principal_standing(acme)) == (2, False)
    bad = msgspec.structs.replace(agents[1], status=AgentStatus.SUSPENDED, suspended_for_violation=True)
    shelf.add(bad)
    assert run(shelf.store.principal_standing(acme)) == (2, True)

    shelf.add(msgspec.structs.replace(bad, status=AgentStatus.ACTIVE, suspended_for_violation=False))
    assert run(shelf.store.principal_standing(acme)) == (2, False)


def test_a_key_is_found_until_it_is_revoked_and_listed_ever_after(shelf):
    agent, key = an_agent(), a_key()
    shelf.commit(noted(agent, shelf.now, key=key))
    assert run(shelf.store.api_key(key.key_hash)) == key
    revoked = msgspec.structs.replace(key, revoked_ms=shelf.now)
    shelf.commit(noted(agent, shelf.now, key=revoked))

    assert run(shelf.store.api_key(key.key_hash)) is None
    assert run(shelf.store.keys(None)) == [revoked]
    assert run(shelf.store.keys(PrincipalId("acme"))) == [revoked]
    assert run(shelf.store.keys(PrincipalId("rival"))) == []
    assert run(shelf.store.api_key(b"\0" * 32)) is None


def test_webhooks_come_and_go(shelf):
    agent = an_agent()
    hook = Webhook("hook_1", PrincipalId("acme"), "https://x.example", ("decision",), "s", 5)
    shelf.commit(noted(agent, shelf.now, webhook=hook))
    assert run(shelf.store.webhooks(None)) == run(shelf.store.webhooks(PrincipalId("acme"))) == [hook]
    assert run(shelf.store.webhooks(PrincipalId("rival"))) == []
    shelf.commit(noted(agent, shelf.now, dropped_webhook="hook_1"))

    assert run(shelf.store.webhooks(None)) == []


def test_a_store_that_lives_answers_its_ping(shelf):
    run(shelf.store.ping())


# --- reservations --------------------------------------------------------------------------------------


def test_of_64_callers_one_gets_the_step(shelf):
    agent = shelf.add(an_agent())
    answers = at_once(64, lambda n: shelf.admit(agent, an_attempt(1, f"action {n}")))

    assert Counter(type(answer) is Refusal for answer in answers) == {False: 1, True: 63}
    assert {code_of(answer) for answer in answers} == {None, Code.LOOP_REPLAY}


def test_of_64_callers_who_also_commit_one_gets_the_step_for_good(shelf):
    agent = shelf.add(an_agent())
    answers = at_once(64, lambda n: shelf.take(agent, an_attempt(1, f"action {n}")))

    assert Counter(map(code_of, answers)) == {None: 1, Code.LOOP_REPLAY: 63}
    assert shelf.page(agent).summary["APPROVED"][0] == 1


def test_two_steps_of_one_conversation_are_never_in_flight_together(shelf):
    agent = shelf.add(an_agent())
    answers = at_once(32, lambda n: shelf.admit(agent, an_attempt(n + 1)))

    assert sum(not isinstance(answer, Refusal) for answer in answers) == 1


def test_conversations_and_agents_do_not_wait_for_each_other(shelf):
    one, two = shelf.add(an_agent()), shelf.add(an_agent())
    answers = [
        shelf.admit(one, an_attempt(1)),
        shelf.admit(one, an_attempt(1, conversation="other")),
        shelf.admit(two, an_attempt(1)),
    ]

    assert [code_of(answer) for answer in answers] == [None, None, None]


def test_a_released_step_is_free_and_its_hold_returned_but_the_request_stays_counted(shelf):
    agent = shelf.add(an_agent())
    admission = shelf.admit(agent, an_attempt(1, charge=Charge(CENT.cost, 7)))
    assert (shelf.spent(agent).cost, shelf.spent(agent).tokens_all) == (CENT.cost, 7)
    run(shelf.store.release(admission))
    spent = shelf.spent(agent)

    assert (spent.cost, spent.tokens_all, spent.in_flight) == (0, 0, 0)
    assert (spent.requests, spent.hour_total) == (1, 1)
    assert not isinstance(shelf.admit(agent, an_attempt(1)), Refusal)


def test_release_may_be_called_again_and_after_a_commit(shelf):
    agent, attempt = shelf.add(an_agent()), an_attempt(1)
    admission = shelf.admit(agent, attempt)
    shelf.commit(decided(agent, attempt, admission), admission)
    for _ in range(3):
        run(shelf.store.release(admission))
    spent = shelf.spent(agent)
    assert (spent.cost, spent.in_flight) == (CENT.cost, 0)

    other = shelf.admit(agent, an_attempt(2))
    run(shelf.store.release(other))
    taken = shelf.admit(agent, an_attempt(2))
    run(shelf.store.release(other))
    assert code_of(shelf.admit(agent, an_attempt(2))) is Code.LOOP_REPLAY
    assert shelf.spent(agent).cost == CENT.cost * 2
    run(shelf.store.release(taken))


def test_a_lease_that_ran_out_frees_the_step_and_its_late_holder_cannot_commit(shelf):
    agent = shelf.add(an_agent())
    late_attempt, quick_attempt = an_attempt(1, "late"), an_attempt(1, "quick")
    late = shelf.admit(agent, late_attempt)
    shelf.clock.advance(29_999)
    assert code_of(shelf.admit(agent, quick_attempt)) is Code.LOOP_REPLAY
    shelf.clock.advance(1)
    quick = shelf.admit(agent, quick_attempt)
    assert isinstance(quick, Admission)

    with pytest.raises(LeaseLost):
        shelf.commit(decided(agent, late_attempt, late), late)
    run(shelf.store.release(late))
    assert shelf.commit(decided(agent, quick_attempt, quick), quick) is None
    assert shelf.page(agent).summary["APPROVED"][0] == 1
    assert shelf.spent(agent).cost == CENT.cost


def test_a_late_holder_cannot_commit_after_the_step_was_taken_and_used(shelf):
    agent = shelf.add(an_agent())
    late_attempt = an_attempt(1, "late")
    late = shelf.admit(agent, late_attempt)
    shelf.clock.advance(30_000)
    assert shelf.take(agent, an_attempt(1, "quick")) is None

    with pytest.raises(LeaseLost):
        shelf.commit(decided(agent, late_attempt, late), late)


def test_a_holder_nobody_overtook_may_still_commit(shelf):
    agent, attempt = shelf.add(an_agent()), an_attempt(1)
    admission = shelf.admit(agent, attempt)
    shelf.clock.advance(HOUR)

    assert shelf.commit(decided(agent, attempt, admission), admission) is None


@pytest.mark.parametrize("kind", OWNED)
def test_a_lease_that_runs_out_while_the_commit_is_being_written_frees_nothing(shelf, monkeypatch):
    agent, attempt = shelf.add(an_agent()), an_attempt(1, "slow")
    admission = shelf.admit(agent, attempt)
    tables = shelf.store._access.tables
    write, begun, may_end = tables.write, threading.Event(), threading.Event()

    def slow_write(records):
        begun.set()
        assert may_end.wait(60)
        write(records)

    monkeypatch.setattr(tables, "write", slow_write)
    with ThreadPoolExecutor(1) as pool:
        committing = pool.submit(shelf.commit, decided(agent, attempt, admission), admission)
        assert begun.wait(60)
        shelf.clock.advance(HOUR)
        overtaking = shelf.admit(agent, an_attempt(1, "quick"))
        may_end.set()
        committed = committing.result(20)

    assert code_of(overtaking) is Code.LOOP_REPLAY
    assert committed is None
    assert shelf.page(agent).summary["APPROVED"][0] == 1


def test_a_released_holder_cannot_commit(shelf):
    agent, attempt = shelf.add(an_agent()), an_attempt(1)
    admission = shelf.admit(agent, attempt)
    run(shelf.store.release(admission))

    with pytest.raises(LeaseLost):
        shelf.commit(decided(agent, attempt, admission), admission)
    assert shelf.page(agent).summary.get("APPROVED") is None


def test_a_denied_decision_uses_no_step_and_no_money(shelf):
    agent, attempt = shelf.add(an_agent()), an_attempt(1)
    shelf.take(agent, attempt, uses_step=False)

    assert shelf.take(agent, an_attempt(1)) is None
    assert shelf.spent(agent).cost == CENT.cost
    assert shelf.spent(agent).requests == 2


def test_a_write_that_fails_frees_step_and_hold_and_leaves_nothing(shelf):
    agent, attempt = shelf.add(an_agent()), an_attempt(1)
    admission = shelf.admit(agent, attempt)
    record = decided(agent, attempt, admission)
    # Nothing a decision could hold, and nothing a store can write.
    broken = msgspec.structs.replace(record, activity=msgspec.structs.replace(record.activity, payload=7))
    with pytest.raises((StoreUnavailable, TypeError)):
        shelf.commit(broken, admission)
    run(shelf.store.release(admission))

    assert shelf.spent(agent).cost == 0
    assert shelf.page(agent).summary.get("APPROVED") is None
    assert shelf.take(agent, an_attempt(1)) is None
    shelf.reopen()


# --- what pages for people read ------------------------------------------------------------------------


def test_hours_count_decisions_of_one_principal_and_of_everybody(shelf):
    mine, foreign = shelf.add(an_agent(principal="acme")), shelf.add(an_agent(principal="globex"))
    hour = shelf.now // HOUR
    for agent, decision, code in (
        (mine, "APPROVED", None),
        (mine, "APPROVED", None),
        (mine, "DENIED", "QWED-AGENT-005"),
        (foreign, "APPROVED", None),
    ):
        shelf.commit(Record(an_activity(agent, shelf.now, decision, error_code=code, cost_nano=5)))
    shelf.clock.advance(HOUR)
    shelf.commit(Record(an_activity(mine, shelf.now, "PENDING")))

    def counted(principal, from_hour):
        found = run(shelf.store.hours(principal, from_hour))
        return {
            (row.hour - hour, row.decision, row.error_code): (row.entries, row.cost_nano) for row in found
        }

    assert counted(PrincipalId("acme"), hour) == {
        (0, "APPROVED", ""): (2, 10),
        (0, "DENIED", "QWED-AGENT-005"): (1, 5),
        (1, "PENDING", ""): (1, 0),
    }
    assert counted(None, hour)[0, "APPROVED", ""] == (3, 15)
    assert counted(PrincipalId("globex"), hour + 1) == {}


def test_a_search_stays_within_the_walls_and_its_filters(shelf):
    mine, foreign = shelf.add(an_agent(principal="acme")), shelf.add(an_agent(principal="globex"))
    found = an_activity(
        mine,
        shelf.now,
        "DENIED",
        error_code="QWED-AGENT-005",
        conversation_id="c1",
        payload=b'{"q":"needle"}',
    )
    for activity in (found, an_activity(mine, shelf.now), an_activity(foreign, shelf.now, payload=b"needle")):
        shelf.commit(Record(activity))
    acme = PrincipalId("acme")

    def sought(**query):
        page = run(shelf.store.search(SearchQuery(**query)))
        return [entry.activity_id for entry, _ in page.entries]

    for query in (
        {"decision": "DENIED"},
        {"error_code": "QWED-AGENT-005"},
        {"conversation_id": "c1"},
        {"text": b"needle"},
        {"agent_id": mine.agent_id, "decision": "DENIED"},
    ):
        assert sought(principal_id=acme, **query) == [found.activity_id]
    assert sought(principal_id=acme, agent_id=foreign.agent_id) == []
    assert len(sought(principal_id=None, text=b"needle")) == 2
    assert len(sought(principal_id=acme, agent_id=mine.agent_id, decision="NOTED")) == 1


def test_a_search_goes_on_where_its_page_ended(shelf):
    agent = shelf.add(an_agent())
    written = []
    for _ in range(7):
        shelf.clock.advance(MINUTE)
        written.append(an_activity(agent, shelf.now))
        shelf.commit(Record(written[-1]))
    query = SearchQuery(PrincipalId("acme"), decision="APPROVED", limit=3)
    pages, position = [], None
    while not pages or position is not None:
        page = run(shelf.store.search(msgspec.structs.replace(query, before_seq=position)))
        pages.append([entry.activity_id for entry, _ in page.entries])
        position = page.next_seq

    assert [activity for page in pages for activity in page] == [a.activity_id for a in reversed(written)]
    between = SearchQuery(None, from_ms=written[2].at_ms, to_ms=written[5].at_ms)
    assert [entry.activity_id for entry, _ in run(shelf.store.search(between)).entries] == [
        written[4].activity_id,
        written[3].activity_id,
        written[2].activity_id,
    ]


def test_an_entry_is_found_with_what_happened_to_it(shelf):
    agent = shelf.add(an_agent())
    activity = an_activity(agent, shelf.now)
    shelf.commit(Record(activity))
    shelf.commit(
        noted(agent, shelf.now, outcome=an_outcome(activity, OutcomeResult.FAILURE, error="it broke"))
    )

    ((entry, outcome),) = run(shelf.store.search(SearchQuery(None, decision="APPROVED"))).entries

    assert (entry, outcome.error) == (activity, "it broke")


def test_agents_come_suspended_first_and_then_by_what_they_spent(shelf):
    idle, busy = shelf.add(an_agent()), shelf.add(an_agent())
    stopped = shelf.add(an_agent(status=AgentStatus.SUSPENDED))
    shelf.add(an_agent(status=AgentStatus.DEREGISTERED))
    foreign = shelf.add(an_agent(principal="globex"))
    shelf.take(busy, an_attempt())
    day = shelf.now // DAY

    found = run(shelf.store.agents_by_spending(PrincipalId("acme"), day, 10))

    assert [(agent.agent_id, spent) for agent, spent in found] == [
        (stopped.agent_id, 0),
        (busy.agent_id, CENT.cost),
        (idle.agent_id, 0),
    ]
    assert foreign.agent_id in {
        agent.agent_id for agent, _ in run(shelf.store.agents_by_spending(None, day, 9))
    }
    assert len(run(shelf.store.agents_by_spending(None, day, 2))) == 2


def test_what_waits_is_counted_until_it_is_answered_or_over(shelf):
    mine, foreign = shelf.add(an_agent()), shelf.add(an_agent(principal="globex"))
    first = an_approval(mine, shelf.now)
    for approval, agent in (
        (first, mine),
        (an_approval(mine, shelf.now), mine),
        (an_approval(foreign, 1), foreign),
    ):
        shelf.commit(noted(agent, shelf.now, approval=approval))
    shelf.commit(
        noted(
            mine, shelf.now, approval=msgspec.structs.replace(first, status=ApprovalStatus.DENIED, version=1)
        )
    )

    assert run(shelf.store.count_waiting(PrincipalId("acme"), shelf.now)) == 1
    assert run(shelf.store.count_waiting(None, 2)) == 2
    assert run(shelf.store.count_waiting(None, shelf.now + DAY)) == 0


# --- budgets -------------------------------------------------------------------------------------------

EXACT = {
    "requests per hour": (BudgetLimits(None, None, 100, None, None, None), CENT),
    "requests per day": (BudgetLimits(None, None, None, 100, None, None), CENT),
    "cost per day": (BudgetLimits(Decimal("1.00"), None, None, None, None, None), CENT),
    "tokens per day": (BudgetLimits(None, None, None, None, None, 700), Charge(CENT.cost, 7)),
}


@pytest.mark.parametrize("limit", EXACT)
@pytest.mark.parametrize("commits", [True, False], ids=["committed", "held"])
def test_of_200_callers_against_a_limit_of_100_exactly_100_pass(shelf, limit, commits):
    limits, charge = EXACT[limit]
    agent = shelf.add(an_agent(budget=limits))

    def work(number):
        attempt = an_attempt(1, conversation=f"c{number}", charge=charge)
        return shelf.take(agent, attempt) if commits else shelf.admit(agent, attempt)

    answers = at_once(200, work)

    assert sum(not isinstance(answer, Refusal) for answer in answers) == 100
    assert shelf.spent(agent).requests == 100


@pytest.mark.parametrize(
    "ceilings",
    [PrincipalCeilings(max_requests_per_day=100), PrincipalCeilings(max_daily_cost_usd=Decimal("1.00"))],
    ids=["requests", "cost"],
)
def test_a_principals_ceiling_is_exact_over_all_its_agents(shelve, ceilings):
    shelf = shelve(Policy(principals=ceilings))
    agents = [shelf.add(an_agent()) for _ in range(8)]
    outsider = shelf.add(an_agent(principal="rival"))
    answers = at_once(200, lambda n: shelf.take(agents[n % 8], an_attempt(1, conversation=f"c{n}")))

    assert sum(answer is None for answer in answers) == 100
    assert shelf.take(outsider, an_attempt(1)) is None


def test_holds_without_a_conversation_count_the_same(shelf):
    agent = shelf.add(an_agent(budget=BudgetLimits(None, None, 10, None, None, None)))
    answers = at_once(20, lambda n: run(shelf.store.hold(agent, CENT, shelf.now)))
    admissions = [answer for answer in answers if isinstance(answer, Admission)]

    assert len(admissions) == 10
    for admission in admissions:
        run(shelf.store.release(admission))
    assert shelf.spent(agent).cost == 0
    assert isinstance(run(shelf.store.hold(agent, CENT, shelf.now)), Refusal)


def test_a_returned_hold_is_money_again(shelf):
    agent = shelf.add(an_agent(budget=BudgetLimits(Decimal("0.01"), None, None, None, None, None)))
    first = shelf.admit(agent, an_attempt(1))
    assert code_of(shelf.admit(agent, an_attempt(1, conversation="d"))) is Code.BUDGET_COST
    run(shelf.store.release(first))

    assert shelf.take(agent, an_attempt(1, conversation="d")) is None


def test_a_refusal_holds_nothing_and_reserves_nothing(shelf):
    agent = shelf.add(an_agent(budget=BudgetLimits(None, None, 0, None, None, None)))
    for _ in range(3):
        assert code_of(shelf.admit(agent, an_attempt(1))) is Code.BUDGET_REQUESTS
    spent = shelf.spent(agent)

    assert (spent.cost, spent.in_flight, spent.requests) == (0, 0, 0)
    raised = shelf.add(msgspec.structs.replace(agent, budget=UNLIMITED))
    assert shelf.take(raised, an_attempt(1)) is None


def test_a_changed_limit_holds_from_the_next_request(shelf):
    agent = shelf.add(an_agent())
    assert shelf.take(agent, an_attempt(1)) is None
    tight = shelf.add(msgspec.structs.replace(agent, budget=BudgetLimits(None, None, 1, None, None, None)))

    assert code_of(shelf.take(tight, an_attempt(2))) is Code.BUDGET_REQUESTS


def test_the_hour_slides_and_the_day_ends_at_midnight_utc(shelf):
    limits = BudgetLimits(None, None, 2, 3, None, None)
    agent = shelf.add(an_agent(budget=limits))
    assert [shelf.take(agent, an_attempt(n)) for n in (1, 2)] == [None, None]
    shelf.clock.advance(HOUR - SECOND)
    assert code_of(shelf.take(agent, an_attempt(3))) is Code.BUDGET_REQUESTS
    shelf.clock.advance(2 * SECOND)
    assert shelf.take(agent, an_attempt(3)) is None
    shelf.clock.advance(2 * HOUR)
    refused = shelf.take(agent, an_attempt(4))
    assert refused.details["scope"] == "daily_requests"

    shelf.clock.advance(DAY)
    assert shelf.take(agent, an_attempt(4)) is None


def test_a_day_that_ends_while_a_request_is_at_work_is_charged_to_the_day_it_began(shelf):
    agent, attempt = shelf.add(an_agent()), an_attempt(1)
    shelf.clock.advance(12 * HOUR - SECOND)
    admission = shelf.admit(agent, attempt)
    shelf.clock.advance(2 * SECOND)
    shelf.commit(decided(agent, attempt, admission), admission)

    assert shelf.spent(agent).cost == 0


# --- approvals -----------------------------------------------------------------------------------------


def pend(shelf, agent, number, ttl_ms=900_000):
    attempt = an_attempt(1, conversation=f"c{number}")
    admission = shelf.admit(agent, attempt)
    approval = an_approval(agent, shelf.now, ttl_ms)
    record = decided(agent, attempt, admission, approved=False, approval=approval)
    refusal = shelf.commit(record, admission)
    run(shelf.store.release(admission))
    return refusal, approval


def test_an_agent_has_at_most_a_hundred_open_approvals_however_they_arrive(shelf):
    agent = shelf.add(an_agent())
    answers = at_once(110, lambda n: pend(shelf, agent, n)[0])

    assert Counter(map(code_of, answers)) == {None: 100, Code.BUDGET_REQUESTS: 10}
    refused = next(answer for answer in answers if answer is not None)
    assert refused.details["scope"] == "approvals"
    assert len(run(shelf.store.approvals(None, agent.agent_id, "open", shelf.now, None, 1000))) == 100
    assert pend(shelf, shelf.add(an_agent()), 0)[0] is None


def test_expired_approvals_make_room(shelve):
    shelf = shelve(Policy(approvals=msgspec.structs.replace(DEFAULT_POLICY.approvals, max_open=2)))
    agent = shelf.add(an_agent())
    assert [pend(shelf, agent, n, MINUTE)[0] for n in range(2)] == [None, None]
    assert code_of(pend(shelf, agent, 3)[0]) is Code.BUDGET_REQUESTS
    shelf.clock.advance(MINUTE)

    assert pend(shelf, agent, 4)[0] is None


def test_a_review_is_kept_however_many_approvals_are_open(shelve):
    shelf = shelve(Policy(approvals=msgspec.structs.replace(DEFAULT_POLICY.approvals, max_open=1)))
    agent = shelf.add(an_agent())
    _, waiting = pend(shelf, agent, 1)
    review = msgspec.structs.replace(waiting, approval_id="apr_review", kind=ApprovalKind.REVIEW)

    assert shelf.commit(noted(agent, shelf.now, approval=review)) is None
    assert run(shelf.store.approval("apr_review")) == review
    assert code_of(pend(shelf, agent, 2)[0]) is Code.BUDGET_REQUESTS


def test_approvals_are_read_back_listed_newest_first_and_filtered(shelf):
    one, two = shelf.add(an_agent()), shelf.add(an_agent(principal="rival"))
    made = []
    for number, agent in enumerate((one, two, one)):
        shelf.clock.advance(SECOND)
        made.append(pend(shelf, agent, number, MINUTE)[1])
    answered = msgspec.structs.replace(made[0], status=ApprovalStatus.DENIED, version=1)
    shelf.commit(noted(one, shelf.now, approval=answered))

    def listed(principal=None, agent=None, status=None, after=None, limit=10):
        return run(shelf.store.approvals(principal, agent, status, shelf.now, after, limit))

    assert run(shelf.store.approval(made[0].approval_id)) == answered
    assert run(shelf.store.approval("apr_none")) is None
    assert listed() == [made[2], made[1], answered]
    assert listed(limit=2) == [made[2], made[1]]
    assert listed(after=made[1].approval_id) == [answered]
    assert listed(PrincipalId("rival")) == listed(agent=two.agent_id) == [made[1]]
    assert listed(status="open") == [made[2], made[1]]
    assert listed(status="denied") == [answered]
    assert listed(status="expired") == []
    shelf.clock.advance(MINUTE)
    assert listed(status="open") == []
    assert listed(status="expired") == [made[2], made[1]]


# --- outcomes ------------------------------------------------------------------------------------------


def done(shelf, agent, what="action", conversation="c", step=1, **more):
    attempt = an_attempt(step, what, conversation, **more)
    admission = shelf.admit(agent, attempt)
    record = decided(agent, attempt, admission)
    shelf.commit(record, admission)
    return record.activity


def test_an_outcome_is_taken_once_however_many_report_it(shelf):
    agent = shelf.add(an_agent())
    activity = done(shelf, agent)

    def report(number):
        result = (OutcomeResult.SUCCESS, OutcomeResult.FAILURE)[number % 2]
        return shelf.commit(noted(agent, shelf.now, outcome=an_outcome(activity, result)))

    answers = at_once(32, report)

    assert Counter(map(code_of, answers)) == {None: 1, Code.OUTCOME_CONFLICT: 31}
    stored, outcome = run(shelf.store.activity(activity.activity_id))
    assert stored == activity
    assert outcome.result in (OutcomeResult.SUCCESS, OutcomeResult.FAILURE)


def test_an_unknown_outcome_blocks_the_same_action_and_is_settled_once(shelf):
    agent = shelf.add(an_agent())
    activity = done(shelf, agent, "risky")
    unknown = an_outcome(activity, OutcomeResult.UNKNOWN)
    shelf.commit(noted(agent, shelf.now, outcome=unknown))

    blocked = shelf.admit(agent, an_attempt(1, "risky", "elsewhere"))
    assert blocked.details["pattern"] == "unsettled_outcome"
    assert isinstance(shelf.admit(agent, an_attempt(1, "other", "elsewhere")), Admission)
    settled = msgspec.structs.replace(unknown, result=OutcomeResult.SUCCESS, settled_by="key:k", settled_ms=1)
    answers = at_once(8, lambda _: shelf.commit(noted(agent, shelf.now, outcome=settled)))
    assert Counter(map(code_of, answers)) == {None: 1, Code.OUTCOME_CONFLICT: 7}
    assert isinstance(shelf.admit(agent, an_attempt(1, "risky", "third")), Admission)


@pytest.mark.parametrize("state", [None, b"s"], ids=["no state", "same state"])
def test_a_call_that_failed_is_tried_again_and_no_repeat_for_a_while(shelf, state):
    agent = shelf.add(an_agent())
    most = DEFAULT_POLICY.loops.max_failed_repeats

    def fail(step):
        activity = done(shelf, agent, "shaky", step=step, state=state)
        shelf.commit(noted(agent, shelf.now, outcome=an_outcome(activity, OutcomeResult.FAILURE)))

    for step in range(1, most + 1):
        fail(step)
    refused = shelf.admit(agent, an_attempt(most + 1, "shaky", state=state))

    assert (code_of(refused), refused.details["pattern"]) == (Code.LOOP_REPEAT, "repeat")
    done(shelf, agent, "other", step=most + 1)
    done(shelf, agent, "shaky", step=most + 2, state=state)
    fail(most + 3)
    done(shelf, agent, "shaky", step=most + 4, state=state)
    again = shelf.admit(agent, an_attempt(most + 5, "shaky", state=state))
    assert code_of(again) is Code.LOOP_REPEAT


def test_an_outcome_settles_the_difference_on_its_own_day(shelf):
    from qwed.domain.times import day_of
    from qwed.gateway.kernel.records import Booking

    agent = shelf.add(an_agent())
    activity = done(shelf, agent)
    booking = Booking(
        agent.agent_id,
        agent.principal_id,
        day_of(activity.at_ms),
        activity.at_ms // 1000,
        0,
        5 * CENT.cost,
        9,
    )
    shelf.commit(noted(agent, shelf.now, outcome=an_outcome(activity), booking=booking))
    spent = shelf.spent(agent)

    assert (spent.cost, spent.tokens_all, spent.requests) == (6 * CENT.cost, 9, 1)


# --- activity ------------------------------------------------------------------------------------------


def test_activity_is_newest_first_filtered_summed_and_paged_without_gap_or_repeat(shelf):
    agent, other = an_agent(), an_agent()
    rows = []
    for number in range(25):
        shelf.clock.advance(SECOND)
        activity = an_activity(
            agent,
            shelf.now,
            ("APPROVED", "DENIED")[number % 2],
            action_type=("calculate", "execute_sql")[number % 3 == 0],
            conversation_id=f"c{number % 5}",
            cost_nano=number,
        )
        rows.append(activity)
        shelf.commit(Record(activity))
        shelf.commit(Record(an_activity(other, shelf.now)))

    def walk(**query):
        payloads, before = [], None
        while True:
            page = shelf.page(agent, limit=4, before_seq=before, **query)
            payloads += [payload for payload, _ in page.entries]
            if page.next_seq is None:
                return payloads, page.summary
            before = page.next_seq

    def expected(keep):
        return [row.payload for row in reversed(rows) if keep(row)]

    assert walk()[0] == expected(lambda row: True)
    assert walk(decision="DENIED")[0] == expected(lambda row: row.decision == "DENIED")
    assert walk(action_type="execute_sql")[0] == expected(lambda row: row.action_type == "execute_sql")
    assert walk(conversation_id="c3")[0] == expected(lambda row: row.conversation_id == "c3")
    middle = rows[10].at_ms
    assert walk(from_ms=middle)[0] == expected(lambda row: row.at_ms >= middle)
    assert walk(to_ms=middle)[0] == expected(lambda row: row.at_ms < middle)
    assert walk(to_ms=middle, decision="APPROVED", action_type="calculate")[0] == expected(
        lambda row: row.at_ms < middle and row.decision == "APPROVED" and row.action_type == "calculate"
    )
    _, summary = walk()
    assert {name: tuple(pair) for name, pair in summary.items()} == {
        "APPROVED": (13, sum(range(0, 25, 2))),
        "DENIED": (12, sum(range(1, 25, 2))),
    }


def test_a_page_does_not_shift_when_something_new_arrives(shelf):
    agent = an_agent()
    for _ in range(6):
        shelf.commit(Record(an_activity(agent, shelf.now)))
    first = shelf.page(agent, limit=3)
    shelf.commit(Record(an_activity(agent, shelf.now)))
    second = shelf.page(agent, limit=3, before_seq=first.next_seq)

    assert not {payload for payload, _ in first.entries} & {payload for payload, _ in second.entries}
    assert len(second.entries) == 3 and second.next_seq is None


def test_an_activity_nobody_wrote_is_none(shelf):
    assert run(shelf.store.activity("act_none")) is None


# --- idempotency ---------------------------------------------------------------------------------------


def test_an_answer_is_recalled_by_its_agent_until_it_expires(shelf):
    agent, other = shelf.add(an_agent()), shelf.add(an_agent())
    kept = shelf.remember(agent, status=429, body=b'{"a":1}')

    assert shelf.recall(agent) == kept
    assert shelf.recall(other) is None
    assert shelf.recall(agent, b"x" * 32) is None
    assert shelf.recall(agent, after=MINUTE - 1) == kept
    assert shelf.recall(agent, after=MINUTE) is None


# --- forgetting what is not in use ---------------------------------------------------------------------


@pytest.fixture
def tiny_caches(monkeypatch):
    for name in ("MAX_AGENTS", "MAX_CONVERSATIONS", "MAX_KEYS"):
        monkeypatch.setattr(hot, name, 2)


@pytest.mark.usefixtures("tiny_caches")
def test_what_is_pushed_out_of_memory_is_not_lost(shelf):
    agents = [shelf.add(an_agent(budget=BudgetLimits(None, None, 3, None, None, None))) for _ in range(7)]
    for step in (1, 2):
        for agent in agents:
            for conversation in ("a", "b"):
                answer = shelf.take(agent, an_attempt(step, "same", conversation))
                # The third request of an agent's hour is its last.
                assert code_of(answer) == (Code.BUDGET_REQUESTS if (step, conversation) == (2, "b") else None)

    for agent in agents:
        assert code_of(shelf.take(agent, an_attempt(1, "x", "a"))) is Code.LOOP_REPLAY
        assert code_of(shelf.take(agent, an_attempt(3, "same", "a"))) is Code.LOOP_REPEAT
        assert shelf.spent(agent).hour_total == 3
        assert shelf.spent(agent).cost == 3 * CENT.cost


@pytest.mark.usefixtures("tiny_caches")
def test_what_is_in_use_is_never_pushed_out(shelf):
    agent = shelf.add(an_agent(budget=BudgetLimits(Decimal("0.01"), None, None, None, None, None)))
    attempt = an_attempt(1)
    admission = shelf.admit(agent, attempt)
    for _ in range(20):
        shelf.take(shelf.add(an_agent(principal="crowd")), an_attempt(1))

    assert code_of(shelf.admit(agent, an_attempt(1, "other"))) is Code.LOOP_REPLAY
    assert code_of(shelf.admit(agent, an_attempt(1, conversation="d"))) is Code.BUDGET_COST
    assert shelf.commit(decided(agent, attempt, admission), admission) is None


@pytest.mark.usefixtures("tiny_caches")
def test_unsettled_outcomes_approvals_and_keys_survive_being_pushed_out(shelve):
    shelf = shelve(Policy(approvals=msgspec.structs.replace(DEFAULT_POLICY.approvals, max_open=1)))
    agent, key = shelf.add(an_agent()), a_key()
    shelf.commit(noted(agent, shelf.now, key=key))
    activity = done(shelf, agent, "risky")
    shelf.commit(noted(agent, shelf.now, outcome=an_outcome(activity, OutcomeResult.UNKNOWN)))
    pend(shelf, agent, 0)
    shelf.commit(noted(agent, shelf.now, key=msgspec.structs.replace(key, revoked_ms=5)))
    for number in range(10):
        shelf.take(shelf.add(an_agent(principal="crowd")), an_attempt(1))
        run(shelf.store.api_key(bytes([number]) * 32))
        shelf.commit(noted(agent, shelf.now, key=a_key(bytes([number]) * 32)))

    assert shelf.admit(agent, an_attempt(1, "risky", "x")).details["pattern"] == "unsettled_outcome"
    assert code_of(pend(shelf, agent, 1)[0]) is Code.BUDGET_REQUESTS
    assert run(shelf.store.api_key(key.key_hash)) is None


@pytest.mark.usefixtures("tiny_caches")
def test_budgets_stay_exact_while_everything_is_pushed_out_all_the_time(shelf):
    limits = BudgetLimits(None, None, 10, None, None, None)
    agents = [shelf.add(an_agent(budget=limits)) for _ in range(6)]
    answers = at_once(120, lambda n: (n % 6, shelf.take(agents[n % 6], an_attempt(1, conversation=f"c{n}"))))
    passed = Counter(agent for agent, answer in answers if answer is None)

    assert passed == dict.fromkeys(range(6), 10)


# --- restart -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", DURABLE)
def test_a_restart_keeps_everything_that_was_acknowledged(shelve, tmp_path):
    shelf = shelve(Policy(approvals=msgspec.structs.replace(DEFAULT_POLICY.approvals, max_open=1)))
    limits = BudgetLimits(None, None, 8, None, None, 50)
    agent = shelf.add(an_agent(budget=limits))
    shelf.take(agent, an_attempt(1, "same", charge=Charge(CENT.cost, 7)))
    shelf.take(agent, an_attempt(2, "same"))
    risky = done(shelf, agent, "risky", "r")
    shelf.commit(noted(agent, shelf.now, outcome=an_outcome(risky, OutcomeResult.UNKNOWN)))
    approval = pend(shelf, agent, 0)[1]
    key, dead = a_key(), a_key(b"d" * 32, revoked_ms=3)
    for each in (key, dead):
        shelf.commit(noted(agent, shelf.now, key=each))
    hook = Webhook("hook_1", None, "https://x.example", ("decision",), "s", 5)
    kept = shelf.remember(agent, webhook=hook)
    before = shelf.page(agent, limit=100)
    spent = shelf.spent(agent)
    figures = (spent.requests, spent.hour_total, spent.cost, spent.tokens_all)
    shelf.reopen()

    assert run(shelf.store.agent(agent.agent_id)) == agent
    assert run(shelf.store.agent_by_token(agent.token_hash)) == agent
    assert shelf.page(agent, limit=100) == before
    again = shelf.spent(agent)
    assert (
        (again.requests, again.hour_total, again.cost, again.tokens_all)
        == figures
        == (4, 4, 3 * CENT.cost, 7)
    )
    assert code_of(shelf.take(agent, an_attempt(2, "x"))) is Code.LOOP_REPLAY
    assert code_of(shelf.take(agent, an_attempt(3, "same"))) is Code.LOOP_REPEAT
    assert shelf.admit(agent, an_attempt(1, "risky", "z")).details["pattern"] == "unsettled_outcome"
    assert run(shelf.store.approval(approval.approval_id)) == approval
    assert code_of(pend(shelf, agent, 1)[0]) is Code.BUDGET_REQUESTS
    assert run(shelf.store.api_key(key.key_hash)) == key
    assert run(shelf.store.api_key(dead.key_hash)) is None
    assert shelf.recall(agent) == kept
    assert run(shelf.store.webhooks(None)) == [hook]


@pytest.mark.parametrize("kind", DURABLE)
def test_a_restart_frees_what_was_in_flight_and_forgets_its_hold(shelve):
    shelf = shelve()
    agent = shelf.add(an_agent())
    shelf.admit(agent, an_attempt(1))
    shelf.reopen()

    assert shelf.spent(agent).cost == 0
    assert shelf.take(agent, an_attempt(1)) is None


@pytest.mark.parametrize("kind", DURABLE)
def test_a_restart_lets_no_request_leave_the_hour_early(shelve):
    shelf = shelve()
    agent = shelf.add(an_agent(budget=BudgetLimits(None, None, 1, None, None, None)))
    shelf.clock.advance(999)
    shelf.take(agent, an_attempt(1))
    shelf.clock.advance(HOUR - 999)
    shelf.reopen()

    # 3 599.001 seconds have passed, in whole seconds 3 600.
    assert code_of(shelf.take(agent, an_attempt(2))) is Code.BUDGET_REQUESTS
    shelf.clock.advance(1_000)
    assert shelf.take(agent, an_attempt(2)) is None


@pytest.mark.parametrize("kind", DURABLE)
def test_what_is_past_its_retention_goes_and_chain_steps_and_budgets_stay(shelve, tmp_path):
    shelf = shelve(Policy(retention=Retention(activity_days=1)))
    agent = shelf.add(an_agent())
    for step in (1, 2):
        shelf.take(agent, an_attempt(step))
    shelf.clock.advance(2 * DAY)
    # A little is removed now and then, not at every write.
    written = 0
    assert sum(count for count, _ in shelf.page(agent).summary.values()) == 3
    while shelf.page(agent, to_ms=shelf.now).summary and written < 200:
        shelf.commit(Record(an_activity(agent, shelf.now)))
        written += 1

    assert shelf.page(agent, to_ms=shelf.now).entries == ()
    assert sum(count for count, _ in shelf.page(agent).summary.values()) == written
    assert len(shelf.page(agent, limit=1000).entries) == written
    assert code_of(shelf.take(agent, an_attempt(2))) is Code.LOOP_REPLAY
    # The agent's row has an entry of its own.
    assert verified(shelf, tmp_path).seq == 1 + 3 + written


@pytest.mark.parametrize("kind", ["sqlite"])
def test_one_owner_at_a_time(shelve):
    shelf = shelve()
    with pytest.raises(DatabaseInUse, match="in use"):
        shelve()

    shelf.store.close()
    shelve()
    shelf.store.close()


@pytest.mark.parametrize("kind", DURABLE)
def test_every_record_is_chained_and_the_chain_goes_on_after_a_restart(shelve, tmp_path):
    shelf = shelve()
    agent = shelf.add(an_agent())
    at_once(16, lambda n: shelf.take(agent, an_attempt(1, conversation=f"c{n}")))
    shelf.reopen()
    shelf.take(agent, an_attempt(2))
    shelf.store.close()

    assert verified(shelf, tmp_path).seq == 2 + 16 + 1
    shelf.reopen()


@pytest.mark.parametrize("kind", DURABLE)
def test_a_closed_store_refuses_instead_of_hanging(shelve):
    shelf = shelve()
    agent = shelf.add(an_agent())
    shelf.store.close()

    with pytest.raises(StoreUnavailable):
        shelf.add(msgspec.structs.replace(agent, description="late"))
    with pytest.raises(StoreUnavailable):
        run(shelf.store.ping())
    shelf.reopen()


@pytest.mark.parametrize("kind", DURABLE)
def test_closing_finishes_what_was_accepted(shelve):
    shelf = shelve()
    agent = shelf.add(an_agent())
    accepted = []

    def work(number):
        if number == 0:
            shelf.store.close()
            return
        try:
            answer = shelf.take(agent, an_attempt(1, conversation=f"c{number}"))
        except StoreUnavailable:
            return
        if answer is None:
            accepted.append(number)

    at_once(24, work)
    shelf.reopen()

    assert shelf.page(agent, limit=100, decision="APPROVED").summary.get("APPROVED", (0,))[0] == len(accepted)


def test_too_many_waiting_writes_are_refused_and_not_queued_without_end(shelve):
    shelf = shelve(Policy(limits=Limits(write_queue=1)))
    agent = shelf.add(an_agent())

    def work(number):
        try:
            return shelf.take(agent, an_attempt(1, conversation=f"c{number}"))
        except StoreUnavailable as error:
            return error

    answers = at_once(64, work)
    passed = sum(answer is None for answer in answers)

    assert passed >= 1
    assert all(answer is None or isinstance(answer, StoreUnavailable) for answer in answers)
    assert shelf.page(agent, limit=100).summary["APPROVED"][0] == passed
    assert usd_of(shelf.spent(agent).cost) == passed * Decimal("0.01")
    assert shelf.take(agent, an_attempt(1, conversation="afterwards")) is None


def test_the_stores_own_fingerprints_are_bytes_and_never_mixed_up(shelf):
    agent = shelf.add(an_agent())
    shelf.take(agent, an_attempt(1, "a"))
    shelf.take(agent, an_attempt(2, "a"))
    close = fingerprint_of("a")[:-1] + b"\1"

    assert code_of(shelf.take(agent, an_attempt(3, "a"))) is Code.LOOP_REPEAT
    assert shelf.take(agent, an_attempt(3, fingerprint=close)) is None


def test_an_unused_grant_past_its_time_is_listed_as_expired(shelf):
    agent = shelf.add(an_agent())
    asked = pend(shelf, agent, 1, HOUR)[1]
    granted = msgspec.structs.replace(
        asked, status=ApprovalStatus.APPROVED, version=1, grant_expires_ms=shelf.now + MINUTE
    )
    shelf.commit(noted(agent, shelf.now, approval=granted))

    def listed(status):
        return [a.approval_id for a in run(shelf.store.approvals(None, None, status, shelf.now, None, 10))]

    assert (listed("approved"), listed("expired")) == ([asked.approval_id], [])
    shelf.clock.advance(MINUTE)
    assert (listed("approved"), listed("expired")) == ([], [asked.approval_id])


# --- surveys and erasure ---------------------------------------------------------------------------


def payload_of(**facts):
    return msgspec.json.encode({"policy_version": "p", **facts})


def surveyed(shelf, **scope):
    """Every tally of the period, stretch by stretch."""
    where, after = ReportScope(**{"from_ms": 0, "to_ms": shelf.now + DAY, **scope}), 0
    tallies, changes = [], []
    while after is not None:
        survey = run(shelf.store.survey(where, after))
        tallies += survey.tallies
        changes += survey.changes
        after = survey.next_seq
    return tallies, changes


def test_a_survey_counts_what_is_alike_and_adds_up_its_cost(shelf):
    agent, other = an_agent(), an_agent(principal="other")
    proven = payload_of(verification={"status": "VERIFIED", "engine": "math", "risk_level": "low"})
    for owner, cost in ((agent, 2**62), (agent, 2**62), (other, 5)):
        shelf.commit(Record(an_activity(owner, shelf.now, payload=proven, cost_nano=cost, tokens=cost)))
    refused = an_activity(
        agent, shelf.now, "DENIED", error_code="QWED-AGENT-005", payload=payload_of(redacted=True)
    )
    shelf.commit(Record(refused))

    mine, _ = surveyed(shelf, principal_id=agent.principal_id)
    everything, _ = surveyed(shelf)

    assert sum(tally.count for tally in everything) == 4
    assert {(t.decision, t.engine, t.risk, t.count, t.cost_nano, t.tokens) for t in mine} == {
        ("APPROVED", "math", "low", 2, 2**63, 2**63),
        ("DENIED", None, None, 1, 0, 0),
    }
    assert [t.is_redacted for t in mine if t.decision == "DENIED"] == [True]
    assert [t.error_code for t in mine if t.decision == "DENIED"] == ["QWED-AGENT-005"]


def test_a_survey_knows_outcomes_and_hands_out_the_changes_that_are_asked_for(shelf):
    agent = shelf.add(an_agent())
    acted = an_activity(agent, shelf.now, payload=payload_of())
    shelf.commit(Record(acted))
    shelf.commit(
        Record(an_activity(agent, shelf.now, "NOTED", payload=payload_of()), outcome=an_outcome(acted))
    )
    moved = payload_of(action={"type": "change_trust"})
    shelf.commit(Record(an_activity(agent, shelf.now, "NOTED", action_type="change_trust", payload=moved)))

    tallies, changes = surveyed(shelf, agent_id=agent.agent_id, changes=("change_trust",))

    assert [(t.outcome, t.is_self_reported) for t in tallies if t.decision == "APPROVED"] == [
        ("success", True)
    ]
    assert changes == [moved]


def test_a_survey_keeps_to_its_period(shelf):
    agent = an_agent()
    for offset in (-1, 0, 1, 2):
        shelf.commit(Record(an_activity(agent, shelf.now + offset, payload=payload_of())))

    tallies, _ = surveyed(shelf, from_ms=shelf.now, to_ms=shelf.now + 2)

    assert sum(tally.count for tally in tallies) == 2


def test_an_empty_ledger_has_no_head_and_a_survey_of_it_no_tallies(shelf):
    state = run(shelf.store.ledger_state())

    assert (state.entries, state.head, state.first_ms, state.last_ms) == (0, bytes(32), None, None)
    assert surveyed(shelf) == ([], [])


def test_the_ledgers_state_is_its_end(shelf):
    agent = shelf.add(an_agent())
    shelf.clock.advance(5)
    shelf.commit(Record(an_activity(agent, shelf.now)))

    state = run(shelf.store.ledger_state())

    assert (state.entries, state.first_ms, state.last_ms) == (3, shelf.now - 5, shelf.now)
    assert len(state.head) == 32


def test_a_redaction_replaces_texts_and_leaves_entry_and_counters(shelf):
    agent = shelf.add(an_agent())
    attempt = an_attempt(what="for Ada Lovelace", conversation="ada@example.com")
    admission = shelf.admit(agent, attempt)
    record = decided(agent, attempt, admission)
    approval = an_approval(agent, shelf.now, status=ApprovalStatus.DENIED, intent="Ada's")
    shelf.commit(msgspec.structs.replace(record, approval=approval), admission)
    acted = record.activity
    outcome = an_outcome(acted, OutcomeResult.FAILURE, error="Ada was not there")
    shelf.commit(noted(agent, shelf.now, outcome=outcome))
    shelf.remember(agent, body=f'{{"activity_id":"{acted.activity_id}"}}'.encode())
    redaction = Redaction(
        agent.agent_id,
        (Tombstone(acted.activity_id, "calculate", None, b'{"redacted":true}'),),
        (msgspec.structs.replace(approval, intent=None),),
        (msgspec.structs.replace(outcome, error=None, fingerprint=b""),),
        (attempt.conversation_id,),
    )

    shelf.commit(noted(agent, shelf.now, redaction=redaction))

    found, told = run(shelf.store.activity(acted.activity_id))
    assert (found.payload, found.fingerprint, found.conversation_id) == (b'{"redacted":true}', b"", None)
    assert (found.cost_nano, found.decision, found.at_ms) == (acted.cost_nano, acted.decision, acted.at_ms)
    assert told == redaction.outcomes[0]
    assert run(shelf.store.approval(approval.approval_id)).intent is None
    assert shelf.recall(agent) is None
    assert b'{"redacted":true}' in [payload for payload, _ in shelf.page(agent).entries]
    assert shelf.spent(agent).cost == acted.cost_nano


# --- deliveries and what nobody answers ----------------------------------------------------------------


def a_claim(shelf, limit: int = 100, per_webhook: int = 100, **in_flight: int) -> DeliveryClaim:
    return DeliveryClaim(shelf.now, shelf.now + MINUTE, limit, per_webhook, in_flight)


def test_a_delivery_is_written_with_its_record_and_read_back_as_it_was(shelf):
    agent, delivery = shelf.add(an_agent()), a_delivery(shelf.now, body=b'{"\xc3\xbc":1}')
    shelf.commit(noted(agent, shelf.now, deliveries=(delivery,)))

    assert run(shelf.store.delivery(delivery.delivery_id)) == delivery
    assert run(shelf.store.delivery("dlv_none")) is None
    assert run(shelf.store.next_delivery_ms()) == shelf.now


def test_deliveries_are_listed_by_webhook_newest_first_in_pages(shelf):
    agent = shelf.add(an_agent())
    made = [a_delivery(shelf.now + n, "hook_1" if n % 2 else "hook_2") for n in range(8)]
    shelf.commit(noted(agent, shelf.now, deliveries=tuple(made)))

    first = run(shelf.store.deliveries("hook_1", None, 3))
    rest = run(shelf.store.deliveries("hook_1", first[-1].delivery_id, 3))
    assert first + rest == [made[n] for n in (7, 5, 3, 1)]


def test_what_is_due_is_claimed_once_until_its_claim_ends(shelf):
    agent, delivery = shelf.add(an_agent()), a_delivery(shelf.now)
    later = a_delivery(shelf.now, due_ms=shelf.now + HOUR)
    shelf.commit(noted(agent, shelf.now, deliveries=(delivery, later)))
    (first,) = run(shelf.store.claim_deliveries(a_claim(shelf)))
    assert run(shelf.store.claim_deliveries(a_claim(shelf))) == []
    assert (first.delivery_id, first.attempts, first.last_attempt_ms) == (delivery.delivery_id, 1, shelf.now)

    shelf.clock.advance(MINUTE)
    (again,) = run(shelf.store.claim_deliveries(a_claim(shelf)))
    assert (again.delivery_id, again.attempts) == (delivery.delivery_id, 2)


def test_a_webhook_with_many_due_gets_its_share_and_leaves_room_for_others(shelf):
    agent = shelf.add(an_agent())
    flood = tuple(a_delivery(shelf.now - 1, "hook_flood") for _ in range(600))
    shelf.commit(noted(agent, shelf.now, deliveries=(*flood, a_delivery(shelf.now, "hook_quiet"))))

    first = run(shelf.store.claim_deliveries(a_claim(shelf, per_webhook=4)))
    counts = Counter(delivery.webhook_id for delivery in first)
    assert counts["hook_flood"] == 4
    then = run(shelf.store.claim_deliveries(a_claim(shelf, per_webhook=4, **counts)))
    assert Counter(d.webhook_id for d in first + then) == {"hook_flood": 4, "hook_quiet": 1}


def test_of_many_claimers_each_delivery_has_one(shelf):
    agent = shelf.add(an_agent())
    made = tuple(a_delivery(shelf.now, f"hook_{n % 5}") for n in range(60))
    shelf.commit(noted(agent, shelf.now, deliveries=made))

    taken = at_once(8, lambda _: run(shelf.store.claim_deliveries(a_claim(shelf, limit=10))))
    ids = Counter(delivery.delivery_id for batch in taken for delivery in batch)
    assert set(ids.values()) == {1} and len(ids) == 60


def test_what_arrived_is_over_and_what_failed_is_due_again(shelf):
    agent, good, bad = shelf.add(an_agent()), a_delivery(shelf.now), a_delivery(shelf.now)
    shelf.commit(noted(agent, shelf.now, deliveries=(good, bad)))
    by_id = {d.delivery_id: d for d in run(shelf.store.claim_deliveries(a_claim(shelf)))}
    replace = msgspec.structs.replace
    run(shelf.store.settle_delivery(replace(by_id[good.delivery_id], state=DeliveryState.DELIVERED)))
    failed = replace(by_id[bad.delivery_id], due_ms=shelf.now + HOUR, last_error="it answered 500")
    run(shelf.store.settle_delivery(failed))

    assert run(shelf.store.next_delivery_ms()) == shelf.now + HOUR
    assert run(shelf.store.delivery(good.delivery_id)).state is DeliveryState.DELIVERED
    assert run(shelf.store.delivery(bad.delivery_id)) == failed


def test_a_claimer_that_lost_its_claim_settles_only_what_arrived(shelf):
    agent, delivery = shelf.add(an_agent()), a_delivery(shelf.now)
    shelf.commit(noted(agent, shelf.now, deliveries=(delivery,)))
    (first,) = run(shelf.store.claim_deliveries(a_claim(shelf)))
    shelf.clock.advance(MINUTE)
    (second,) = run(shelf.store.claim_deliveries(a_claim(shelf)))

    given_up = msgspec.structs.replace(first, state=DeliveryState.GIVEN_UP)
    run(shelf.store.settle_delivery(given_up))
    assert run(shelf.store.delivery(delivery.delivery_id)) == second
    run(shelf.store.settle_delivery(msgspec.structs.replace(first, state=DeliveryState.DELIVERED)))
    assert run(shelf.store.delivery(delivery.delivery_id)).state is DeliveryState.DELIVERED


@pytest.mark.parametrize("kind", DURABLE)
def test_a_delivery_outlives_a_restart(shelf):
    agent, delivery = shelf.add(an_agent()), a_delivery(shelf.now)
    shelf.commit(noted(agent, shelf.now, deliveries=(delivery,)))
    run(shelf.store.claim_deliveries(a_claim(shelf)))
    shelf.reopen()
    shelf.clock.advance(MINUTE)

    (again,) = run(shelf.store.claim_deliveries(a_claim(shelf)))
    assert (again.delivery_id, again.attempts) == (delivery.delivery_id, 2)


def test_destinations_are_a_principals_and_the_operators_and_change_at_once(shelf):
    agent = shelf.add(an_agent())
    acme = PrincipalId("acme")
    assert run(shelf.store.destinations(acme)) == ()
    hooks = [a_webhook("hook_1"), a_webhook("hook_2", None), a_webhook("hook_3", "rival")]
    for hook in hooks:
        shelf.commit(noted(agent, shelf.now, webhook=hook))
    assert run(shelf.store.destinations(acme)) == tuple(hooks[:2])
    assert run(shelf.store.webhook("hook_3")) == hooks[2]

    shelf.commit(noted(agent, shelf.now, dropped_webhook="hook_2"))
    assert run(shelf.store.destinations(acme)) == (hooks[0],)
    assert run(shelf.store.webhook("hook_2")) is None


def test_what_was_on_its_way_to_a_dropped_webhook_goes_with_it(shelf):
    agent = shelf.add(an_agent())
    shelf.commit(noted(agent, shelf.now, webhook=a_webhook("hook_1")))
    gone, kept = a_delivery(shelf.now, "hook_1"), a_delivery(shelf.now + 1, "hook_2")
    shelf.commit(noted(agent, shelf.now, deliveries=(gone, kept)))
    shelf.commit(noted(agent, shelf.now, dropped_webhook="hook_1"))

    assert run(shelf.store.deliveries("hook_1", None, 10)) == []
    assert run(shelf.store.deliveries("hook_2", None, 10)) == [kept]
    assert [due.delivery_id for due in run(shelf.store.claim_deliveries(a_claim(shelf)))] == []
    assert run(shelf.store.next_delivery_ms()) == kept.due_ms


def test_open_approvals_come_up_when_something_is_to_be_done_about_them(shelf):
    agent, now = shelf.add(an_agent()), shelf.now
    plain = an_approval(agent, now)
    watched = an_approval(agent, now, remind_ms=now + MINUTE, escalate_ms=now + 2 * MINUTE)
    answered = an_approval(agent, now, status=ApprovalStatus.DENIED)
    for approval in (plain, watched, answered):
        shelf.commit(noted(agent, now, approval=approval))

    assert run(shelf.store.approvals_due(now, 10)) == []
    assert run(shelf.store.approvals_due(now + MINUTE, 10)) == [watched]
    reminded = msgspec.structs.replace(watched, reminded_ms=now + MINUTE, version=1)
    shelf.commit(noted(agent, now, approval=reminded))
    assert run(shelf.store.approvals_due(now + MINUTE, 10)) == []
    assert run(shelf.store.approvals_due(now + 2 * MINUTE, 10)) == [reminded]
    assert len(run(shelf.store.approvals_due(now + HOUR, 10))) == 2


def test_an_approval_that_was_noted_as_expired_is_listed_as_expired(shelf):
    agent, approval = shelf.add(an_agent()), an_approval(an_agent(), shelf.now)
    approval = msgspec.structs.replace(approval, agent_id=agent.agent_id)
    shelf.commit(noted(agent, shelf.now, approval=approval))
    shelf.clock.advance(HOUR)
    expired = msgspec.structs.replace(approval, status=ApprovalStatus.EXPIRED, version=1)
    shelf.commit(noted(agent, shelf.now, approval=expired))

    for status, found in (("expired", [expired]), ("open", []), ("denied", [])):
        assert run(shelf.store.approvals(None, None, status, shelf.now, None, 10)) == found
    assert run(shelf.store.approvals_due(shelf.now, 10)) == []


def test_what_is_erased_is_not_told_any_more(shelf):
    agent = shelf.add(an_agent())
    acted = an_activity(agent, shelf.now)
    told = a_delivery(shelf.now, body=f'{{"activity_id":"{acted.activity_id}","about":"Ada"}}'.encode())
    other = a_delivery(shelf.now)
    shelf.commit(Record(acted, deliveries=(told, other)))
    stone = Tombstone(acted.activity_id, "calculate", None, b"{}")
    shelf.commit(noted(agent, shelf.now, redaction=Redaction(agent.agent_id, (stone,), (), (), ())))

    assert run(shelf.store.delivery(told.delivery_id)) is None
    assert run(shelf.store.delivery(other.delivery_id)) == other


# --- conduct and trust ----------------------------------------------------------------------------------


def a_change(agent, at_ms, **changes):
    values = {
        "activity_id": f"act_{at_ms:012x}",
        "agent_id": agent.agent_id,
        "principal_id": agent.principal_id,
        "at_ms": at_ms,
        "cause": Cause.SET,
        "by": "key:k",
        "from_level": TrustLevel.TRUSTED,
        "to_level": TrustLevel.SUPERVISED,
        "status": AgentStatus.ACTIVE,
        "reason": "because",
        "activities": ("act_1", "act_2"),
        "evidence": {"approved": 3},
        **changes,
    }
    return TrustChange(**values)


def test_conduct_and_actions_are_kept_as_they_were_written(shelf, kind):
    agent = shelf.add(an_agent())
    assert run(shelf.store.standing(agent.agent_id)) == Standing()
    for step in range(1, 4):
        attempt = an_attempt(step)
        admission = shelf.admit(agent, attempt)
        record = decided(agent, attempt, admission)
        booking = msgspec.structs.replace(record.booking, actions=1)
        shelf.commit(msgspec.structs.replace(record, booking=booking), admission)
        run(shelf.store.release(admission))
    shelf.clock.advance(DAY)
    conduct = Conduct(2, 1, (Denial(4, "act_x"),), 20_000, ("act_y",), 20_000, ("act_z",))
    shelf.commit(Record(an_activity(agent, shelf.now, "DENIED"), conduct=conduct))

    assert run(shelf.store.standing(agent.agent_id)) == Standing(3, conduct)
    if kind in DURABLE:
        shelf.reopen()
        assert run(shelf.store.standing(agent.agent_id)) == Standing(3, conduct)


@pytest.mark.parametrize("kind", OWNED)
def test_what_was_not_written_weighs_nothing(shelf, monkeypatch):
    agent = shelf.add(an_agent())

    def fail(records):
        raise StoreUnavailable("the disk is gone")

    monkeypatch.setattr(shelf.store._access.tables, "write", fail)
    with pytest.raises(StoreUnavailable):
        shelf.commit(Record(an_activity(agent, shelf.now, "DENIED"), conduct=Conduct(denied=1)))

    assert run(shelf.store.standing(agent.agent_id)) == Standing()


def test_changes_of_trust_come_newest_first_and_page_by_page(shelf):
    agent, other = shelf.add(an_agent()), shelf.add(an_agent())
    changes = [a_change(agent, shelf.now + n) for n in range(5)]
    for change in changes:
        shelf.commit(noted(agent, shelf.now, trust_changes=(change,)))
    shelf.commit(noted(other, shelf.now, trust_changes=(a_change(other, shelf.now),)))
    first = run(shelf.store.trust_changes(agent.agent_id, None, 3))
    rest = run(shelf.store.trust_changes(agent.agent_id, first[-1][0], 3))

    assert [change for _, change in (*first, *rest)] == changes[::-1]


def test_consequences_are_entries_of_the_same_transaction(shelf):
    agent = shelf.add(an_agent())
    cause = an_activity(agent, shelf.now, "DENIED")
    followed = an_activity(agent, shelf.now, "NOTED")
    before = len(shelf.page(agent).entries)
    shelf.commit(Record(cause, consequences=(followed,)))
    entries = shelf.page(agent).entries

    assert [payload for payload, _ in entries[: len(entries) - before]] == [followed.payload, cause.payload]
    assert run(shelf.store.activity(followed.activity_id))[0] == followed


def test_outcomes_are_read_newest_first(shelf):
    agent = shelf.add(an_agent())
    activities = [an_activity(agent, shelf.now + n) for n in range(4)]
    for activity in activities:
        shelf.commit(Record(activity))
        shelf.commit(noted(agent, shelf.now, outcome=an_outcome(activity)))

    found = run(shelf.store.outcomes(agent.agent_id, 3))
    assert [outcome.activity_id for outcome in found] == [a.activity_id for a in activities[:0:-1]]


def test_a_request_is_bound_to_the_trust_it_was_decided_on(shelf):
    """The agent was read, then trusted less, then admitted: the old level decides nothing any more."""
    agent = shelf.add(an_agent(trust_level=TrustLevel.TRUSTED))
    lowered = msgspec.structs.replace(agent, trust_level=TrustLevel.UNTRUSTED)
    shelf.commit(noted(agent, shelf.now, agent=lowered))
    attempt = an_attempt()
    admission = shelf.admit(agent, attempt)

    with pytest.raises(AgentChanged):
        shelf.commit(decided(agent, attempt, admission), admission)
    run(shelf.store.release(admission))


def test_an_erased_entry_takes_the_reasons_of_its_change_of_trust_with_it(shelf):
    agent = shelf.add(an_agent())
    said, asked, ruled = (an_activity(agent, shelf.now, "NOTED") for _ in range(3))
    changes = (
        a_change(agent, shelf.now, activity_id=said.activity_id, activities=()),
        a_change(agent, shelf.now, cause=Cause.GRANTED, activities=(asked.activity_id,)),
        a_change(agent, shelf.now, activities=()),
        a_change(agent, shelf.now, cause=Cause.BUDGET_ABUSE, activities=(ruled.activity_id,)),
    )
    for activity in (said, asked, ruled):
        shelf.commit(Record(activity))
    shelf.commit(noted(agent, shelf.now, trust_changes=changes))
    stones = tuple(Tombstone(a.activity_id, "erased", None, b"{}") for a in (said, asked, ruled))
    shelf.commit(noted(agent, shelf.now, redaction=Redaction(agent.agent_id, stones)))
    kept = [change for _, change in run(shelf.store.trust_changes(agent.agent_id, None, 10))][::-1]

    assert [change.reason for change in kept] == [None, None, "because", "because"]
    assert [dict(change.evidence) for change in kept[:2]] == [{}, {}]
    assert [change.to_level for change in kept] == [change.to_level for change in changes]


def test_an_unknown_outcome_is_known_until_it_is_settled(shelf):
    agent = shelf.add(an_agent())
    activity = an_activity(agent, shelf.now, fingerprint=fingerprint_of("pay"))
    shelf.commit(Record(activity))
    shelf.commit(noted(agent, shelf.now, outcome=an_outcome(activity, OutcomeResult.UNKNOWN)))

    assert run(shelf.store.is_unsettled(agent.agent_id, activity.fingerprint))
    assert not run(shelf.store.is_unsettled(agent.agent_id, fingerprint_of("else")))
    settled = an_outcome(activity, OutcomeResult.FAILURE, settled_by="key:k", settled_ms=shelf.now)
    shelf.commit(noted(agent, shelf.now, outcome=settled))
    assert not run(shelf.store.is_unsettled(agent.agent_id, activity.fingerprint))


def a_score_change(number: int, peer: str = "spiffe://example.com/agent/b", **changes) -> ScoreChange:
    values = {"event": "task_success", "evidence": None, "before": "0.5", "after": "0.51", "at": 1}
    return ScoreChange(peer=peer, number=number, revokes=False, seq=number, **(values | changes))


def test_score_changes_are_kept_once_and_read_newest_first(shelf):
    changes = [a_score_change(number) for number in range(1, 6)]
    run(shelf.store.keep_scores(changes[:3]))
    run(shelf.store.keep_scores([a_score_change(2, after="0.99"), *changes[3:]]))
    peer = changes[0].peer

    assert run(shelf.store.score_changes(peer, None, 10)) == changes[::-1]
    assert run(shelf.store.score_changes(peer, 4, 2)) == changes[2:0:-1]
    assert run(shelf.store.score_changes("nobody", None, 10)) == []


def test_peers_with_scores_are_listed_in_order(shelf):
    run(shelf.store.keep_scores([a_score_change(n, f"urn:{n}") for n in (3, 1, 2)]))

    assert run(shelf.store.list_scored_peers(None, 2)) == ["urn:1", "urn:2"]
    assert run(shelf.store.list_scored_peers("urn:2", 2)) == ["urn:3"]


def a_token(jti: str, *par: str) -> ReceivedEct:
    token = issue(RING, "read", "https://verifier.example", 1_800_000_000, jti=jti, par=par)
    return ReceivedEct(jti, token, 1_000, PrincipalId("acme"))


def test_the_ledger_is_read_with_what_its_entries_stand_for(shelf):
    agent = shelf.add(an_agent())
    size = run(shelf.store.evidence.size())
    token = a_token(str(uuid.UUID(int=1)))
    record = Record(an_activity(agent, shelf.now, par=(token.jti,), wid=str(uuid.UUID(int=9))), ects=(token,))
    shelf.commit(record)
    first, second = run(shelf.store.evidence.stretch(size, 10))

    assert (first.token, first.activity, first.principal_id) == (token.token, None, "acme")
    assert (second.token, second.activity, second.principal_id) == (None, record.activity, "acme")
    assert run(shelf.store.evidence.stretch(size + 1, 10)) == [second]
    assert run(shelf.store.evidence.stretch(size, 1)) == [first]


def test_a_lineage_is_everything_before_a_node_each_once(shelf):
    agent = shelf.add(an_agent())
    names = [str(uuid.UUID(int=number)) for number in range(1, 5)]
    diamond = [
        a_token(names[0]),
        a_token(names[1], names[0]),
        a_token(names[2], names[0]),
        a_token(names[3], names[1], names[2]),
    ]
    activity = an_activity(agent, shelf.now, par=(names[3], str(uuid.UUID(int=77))))
    shelf.commit(Record(activity, ects=tuple(diamond)))
    found = run(shelf.store.evidence.lineage(jti_of(activity.activity_id), 100))

    assert len(found) == 5
    assert {item.token for item in found if item.token} == {token.token for token in diamond}
    assert len(run(shelf.store.evidence.lineage(jti_of(activity.activity_id), 1))) <= 2
    assert run(shelf.store.evidence.lineage(str(uuid.UUID(int=77)), 100)) == []


def test_what_was_edited_behind_the_ledgers_back_is_not_told(shelve, tmp_path):
    shelf = shelve(kind="sqlite")
    agent = shelf.add(an_agent())
    activity = an_activity(agent, shelf.now)
    shelf.commit(Record(activity))
    connection = sqlite3.connect(tmp_path / "store.db")
    connection.execute(
        "UPDATE activities SET decision = 'DENIED' WHERE activity_id = ?", (activity.activity_id,)
    )
    connection.commit()
    connection.close()

    with pytest.raises(StoreUnavailable, match="fails at entry"):
        run(shelf.store.evidence.lineage(jti_of(activity.activity_id), 100))
    with pytest.raises(StoreUnavailable, match="fails at entry"):
        run(shelf.store.evidence.stretch(0, 100))


@pytest.mark.parametrize("kind", ["sqlite"])
def test_what_waits_for_one_webhook_makes_no_claim_of_another_dearer(shelf, tmp_path):
    agent = shelf.add(an_agent())

    def backlog(count):
        made = tuple(a_delivery(shelf.now, "hook_slow") for _ in range(count))
        shelf.commit(noted(agent, shelf.now, deliveries=made))

    def steps():
        """Of SQLite's own machine, for the statement that looks for what is due."""
        claim, counted = a_claim(shelf, per_webhook=4, hook_slow=4), []
        assert run(shelf.store.claim_deliveries(claim)) == []
        with contextlib.closing(sqlite3.connect(tmp_path / "store.db")) as connection:
            connection.set_progress_handler(lambda: counted.append(1), 1)
            connection.execute(DUE_DELIVERIES.format(full="?"), (claim.now_ms, 4, *claim.full)).fetchall()
        return len(counted)

    backlog(100)
    before = steps()
    backlog(1_900)
    assert steps() <= before + 10


def test_what_decisions_share_is_kept_once_under_its_hash(shelf):
    run(shelf.store.keep_shared("digest", b"first"))
    run(shelf.store.keep_shared("digest", b"second"))

    assert run(shelf.store.shared("digest")) == b"first"
    assert run(shelf.store.shared("another")) is None


@pytest.mark.parametrize("kind", DURABLE)
def test_what_decisions_share_is_there_after_a_restart(shelf):
    run(shelf.store.keep_shared("digest", b"first"))
    shelf.reopen()

    assert run(shelf.store.shared("digest")) == b"first"


def test_a_session_that_was_ended_is_ended_and_no_other(shelf):
    run(shelf.store.end_session(b"a" * 16, shelf.now + HOUR))
    run(shelf.store.end_session(b"a" * 16, shelf.now + HOUR))

    assert run(shelf.store.is_session_ended(b"a" * 16))
    assert not run(shelf.store.is_session_ended(b"b" * 16))


@pytest.mark.parametrize("kind", DURABLE)
def test_a_session_that_was_ended_stays_ended_after_a_restart(shelf):
    run(shelf.store.end_session(b"a" * 16, shelf.now + HOUR))
    shelf.reopen()

    assert run(shelf.store.is_session_ended(b"a" * 16))


def test_what_a_persons_session_stands_on_is_the_newest_that_was_kept(shelf):
    run(shelf.store.keep_sign_in(b"a" * 16, b"first", shelf.now + HOUR))
    run(shelf.store.keep_sign_in(b"a" * 16, b"second", shelf.now + HOUR))

    assert run(shelf.store.sign_in(b"a" * 16)) == b"second"
    assert run(shelf.store.sign_in(b"b" * 16)) is None


def test_nothing_is_kept_of_a_persons_session_once_it_was_ended(shelf):
    run(shelf.store.keep_sign_in(b"a" * 16, b"first", shelf.now + HOUR))
    run(shelf.store.end_session(b"a" * 16, shelf.now + HOUR))

    assert run(shelf.store.sign_in(b"a" * 16)) is None
    run(shelf.store.keep_sign_in(b"a" * 16, b"late", shelf.now + HOUR))
    assert run(shelf.store.sign_in(b"a" * 16)) is None
