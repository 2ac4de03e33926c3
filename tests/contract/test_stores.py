"""What every store promises, tested on every store. A new one joins by adding itself to `STORES`."""

import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from pathlib import Path

import msgspec
import pytest
from tests.support.fakes import DAY, HOUR, MINUTE, SECOND, FakeClock
from tests.support.records import (
    CENT,
    UNLIMITED,
    a_key,
    an_activity,
    an_agent,
    an_approval,
    an_attempt,
    an_outcome,
    decided,
    fingerprint_of,
    noted,
)

from qwed.domain.agents import AgentId, AgentStatus, Permissions, PrincipalId
from qwed.domain.approvals import ApprovalStatus
from qwed.domain.budgets import Charge
from qwed.domain.codes import Code, Refusal
from qwed.domain.money import usd_of
from qwed.domain.outcomes import Result
from qwed.domain.policy import (
    DEFAULT_POLICY,
    BudgetLimits,
    Limits,
    Policy,
    PrincipalCeilings,
    Retention,
)
from qwed.domain.webhooks import Webhook
from qwed.gateway.ports import Admission, LeaseLost, Store, StoreUnavailable
from qwed.gateway.records import ActivityQuery, Record, Remembered
from qwed.gateway.waiting import run
from qwed.stores import DatabaseInUse, hot, open_memory, open_sqlite
from qwed.stores.sqlite import verify_ledger

STORES: dict[str, Callable[[Path, Policy, FakeClock], Store]] = {
    "memory": lambda folder, policy, clock: open_memory(policy, clock),
    "sqlite": lambda folder, policy, clock: open_sqlite(folder / "store.db", policy, clock),
}
#: Those that remember across a restart.
DURABLE = ("sqlite",)


class Shelf:
    """An open store, its clock, and short ways to use it."""

    def __init__(self, kind: str, folder: Path, policy: Policy) -> None:
        self._open = lambda: STORES[kind](folder, policy, self.clock)
        self.clock = FakeClock()
        self.store = self._open()

    @property
    def now(self) -> int:
        return self.clock.now_ms()

    def reopen(self) -> None:
        self.store.close()
        self.store = self._open()

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


def test_a_lease_that_runs_out_while_the_commit_is_being_written_frees_nothing(shelf, monkeypatch):
    agent, attempt = shelf.add(an_agent()), an_attempt(1, "slow")
    admission = shelf.admit(agent, attempt)
    tables = shelf.store._access.tables
    write, begun, may_end = tables.write, threading.Event(), threading.Event()

    def slow_write(records):
        begun.set()
        assert may_end.wait(20)
        write(records)

    monkeypatch.setattr(tables, "write", slow_write)
    with ThreadPoolExecutor(1) as pool:
        committing = pool.submit(shelf.commit, decided(agent, attempt, admission), admission)
        assert begun.wait(20)
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


def done(shelf, agent, what="action", conversation="c"):
    attempt = an_attempt(1, what, conversation)
    admission = shelf.admit(agent, attempt)
    record = decided(agent, attempt, admission)
    shelf.commit(record, admission)
    return record.activity


def test_an_outcome_is_taken_once_however_many_report_it(shelf):
    agent = shelf.add(an_agent())
    activity = done(shelf, agent)

    def report(number):
        result = (Result.SUCCESS, Result.FAILURE)[number % 2]
        return shelf.commit(noted(agent, shelf.now, outcome=an_outcome(activity, result)))

    answers = at_once(32, report)

    assert Counter(map(code_of, answers)) == {None: 1, Code.OUTCOME_CONFLICT: 31}
    stored, outcome = run(shelf.store.activity(activity.activity_id))
    assert stored == activity
    assert outcome.result in (Result.SUCCESS, Result.FAILURE)


def test_an_unknown_outcome_blocks_the_same_action_and_is_settled_once(shelf):
    agent = shelf.add(an_agent())
    activity = done(shelf, agent, "risky")
    unknown = an_outcome(activity, Result.UNKNOWN)
    shelf.commit(noted(agent, shelf.now, outcome=unknown))

    blocked = shelf.admit(agent, an_attempt(1, "risky", "elsewhere"))
    assert blocked.details["pattern"] == "unsettled_outcome"
    assert isinstance(shelf.admit(agent, an_attempt(1, "other", "elsewhere")), Admission)
    settled = msgspec.structs.replace(unknown, result=Result.SUCCESS, settled_by="key:k", settled_ms=1)
    answers = at_once(8, lambda _: shelf.commit(noted(agent, shelf.now, outcome=settled)))
    assert Counter(map(code_of, answers)) == {None: 1, Code.OUTCOME_CONFLICT: 7}
    assert isinstance(shelf.admit(agent, an_attempt(1, "risky", "third")), Admission)


def test_an_outcome_settles_the_difference_on_its_own_day(shelf):
    from qwed.domain.times import day_of
    from qwed.gateway.records import Booking

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
    kept = Remembered(agent.agent_id, b"k" * 32, 429, b'{"a":1}', shelf.now + MINUTE)
    shelf.commit(noted(agent, shelf.now, remembered=kept))

    assert run(shelf.store.recall(agent.agent_id, b"k" * 32, shelf.now)) == kept
    assert run(shelf.store.recall(other.agent_id, b"k" * 32, shelf.now)) is None
    assert run(shelf.store.recall(agent.agent_id, b"x" * 32, shelf.now)) is None
    assert run(shelf.store.recall(agent.agent_id, b"k" * 32, shelf.now + MINUTE - 1)) == kept
    assert run(shelf.store.recall(agent.agent_id, b"k" * 32, shelf.now + MINUTE)) is None


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
    shelf.commit(noted(agent, shelf.now, outcome=an_outcome(activity, Result.UNKNOWN)))
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
    shelf.commit(noted(agent, shelf.now, outcome=an_outcome(risky, Result.UNKNOWN)))
    approval = pend(shelf, agent, 0)[1]
    key, dead = a_key(), a_key(b"d" * 32, revoked_ms=3)
    for each in (key, dead):
        shelf.commit(noted(agent, shelf.now, key=each))
    kept = Remembered(agent.agent_id, b"k" * 32, 200, b"{}", shelf.now + MINUTE)
    hook = Webhook("hook_1", None, "https://x.example", ("decision",), "s", 5)
    shelf.commit(noted(agent, shelf.now, remembered=kept, webhook=hook))
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
    assert run(shelf.store.recall(agent.agent_id, b"k" * 32, shelf.now)) == kept
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
    while shelf.page(agent, to_ms=shelf.now).summary and written < 200:
        shelf.commit(Record(an_activity(agent, shelf.now)))
        written += 1

    assert shelf.page(agent, to_ms=shelf.now).entries == ()
    assert len(shelf.page(agent, limit=1000).entries) == written
    assert code_of(shelf.take(agent, an_attempt(2))) is Code.LOOP_REPLAY
    assert verify_ledger(tmp_path / "store.db").seq == 3 + written


@pytest.mark.parametrize("kind", DURABLE)
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

    assert verify_ledger(tmp_path / "store.db").seq == 1 + 16 + 1
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
