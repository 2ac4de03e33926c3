"""What rules remember, on every store: checked and counted with the record, or not at all."""

import importlib
import uuid
from decimal import Decimal

import msgspec
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test
from tests.contract.test_stores import DURABLE, at_once
from tests.support.records import UNLIMITED, an_activity, an_agent, an_outcome
from tests.support.tiers import scale

from qwed.domain import rule_windows, rules
from qwed.domain.codes import Code
from qwed.domain.outcomes import OutcomeResult
from qwed.domain.rule_windows import (
    DISTINCT_PREFIX,
    Proof,
    TimeForm,
    Window,
    WindowCheck,
    WindowEntry,
    WindowMark,
    WindowsReached,
    join_pairs,
)
from qwed.domain.rules import Measure
from qwed.gateway.kernel.coroutines import run
from qwed.gateway.kernel.records import Record

HOUR = 3_600_000


def a_key() -> bytes:
    return uuid.uuid4().bytes


def a_limit(key: bytes, at_most: int | str, within_ms: int = HOUR, **rest) -> WindowCheck:
    return WindowCheck("a-rule", key, TimeForm.LIMIT, within_ms, Decimal(at_most), **rest)


@pytest.fixture
def agent(shelf):
    return shelf.add(an_agent(budget=UNLIMITED))


@pytest.fixture
def act(shelf, agent):
    """Commit one action with what rules ask of it: None where it is written."""

    def act(*windows: WindowCheck, marks: tuple[WindowMark, ...] = (), at_ms: int | None = None, **parts):
        activity = an_activity(agent, shelf.now if at_ms is None else at_ms, "APPROVED")
        act.activity = activity
        return shelf.commit(Record(activity, windows=windows, marks=marks, **parts))

    return act


def test_the_action_after_the_last_one_allowed_is_refused_and_names_its_rule(act):
    limit = a_limit(a_key(), 2)

    assert [act(limit), act(limit)] == [None, None]
    refused = act(limit)
    assert isinstance(refused, WindowsReached)
    assert (refused.code, refused.reached[0].rule, refused.reached[0].used) == (
        Code.RULE_LIMIT,
        "a-rule",
        "2",
    )


def test_a_refused_record_is_not_written_and_counts_nowhere(shelf, act, agent):
    full, other = a_limit(a_key(), 0), a_limit(a_key(), 1)
    happened = a_key()
    refused = act(full, other, marks=(WindowMark(happened, HOUR),))

    assert isinstance(refused, WindowsReached) and len(refused.reached) == 1
    assert run(shelf.store.activity(act.activity.activity_id)) is None
    assert act(other) is None
    assert act(WindowCheck("r", happened, TimeForm.ABSENT, HOUR)) is None


def test_a_windows_edge_is_exact_to_the_millisecond(shelf, act):
    limit = a_limit(a_key(), 1, 1000)
    start = shelf.now

    assert act(limit, at_ms=start) is None
    assert act(limit, at_ms=start + 999) is not None
    assert act(limit, at_ms=start + 1000) is None
    assert act(limit, at_ms=start + 1999) is not None


def test_a_key_never_goes_back_in_time(shelf, act):
    limit, start = a_limit(a_key(), 2, 1000), shelf.now
    act(limit, at_ms=start + 5000)
    act(limit, at_ms=start)

    assert act(limit, at_ms=start + 5999) is not None
    assert act(limit, at_ms=start + 6000) is None


def test_sums_are_exact_decimals(act):
    key = a_key()
    for _ in range(10):
        assert act(a_limit(key, "1.0", measure=Measure.SUM, value="0.1")) is None

    refused = act(a_limit(key, "1.0", measure=Measure.SUM, value="0.000000000000000001"))
    assert refused is not None and Decimal(refused.reached[0].used) == 1
    assert act(a_limit(key, "1.0", measure=Measure.SUM, value="0")) is None


def test_values_told_apart_count_once_as_long_as_they_come(shelf, act):
    key, start = a_key(), shelf.now

    def use(value: str, at_ms: int):
        told = f"{DISTINCT_PREFIX}{value}"
        return act(a_limit(key, 2, 1000, measure=Measure.DISTINCT, value=told), at_ms=start + at_ms)

    assert [use("a", 0), use("b", 1), use("a", 900)] == [None, None, None]
    assert use("c", 950) is not None
    # The first use of `a` is out of the window by now; it came again since.
    assert use("c", 1000) is not None
    assert use("c", 1001) is None


def test_what_is_not_checked_is_counted_and_what_is_not_counted_is_checked(act):
    key = a_key()
    granted = a_limit(key, 1, is_checked=False)
    waiting = a_limit(key, 1, is_counted=False)

    assert [act(waiting), act(waiting), act(granted), act(granted)] == [None] * 4
    assert act(waiting) is not None


def test_what_must_come_before_and_what_must_not(shelf, act):
    key, start = a_key(), shelf.now
    required = WindowCheck("r", key, TimeForm.PRESENT, 1000)
    forbidden = WindowCheck("n", key, TimeForm.ABSENT, 1000)

    assert act(required, at_ms=start) is not None and act(forbidden, at_ms=start) is None
    assert act(marks=(WindowMark(key, 1000),), at_ms=start) is None
    assert act(required, at_ms=start + 999) is None and act(forbidden, at_ms=start + 999) is not None
    assert act(required, at_ms=start + 1000) is not None and act(forbidden, at_ms=start + 1000) is None


@pytest.mark.parametrize(
    ("result", "reported_by", "proof", "is_proven"),
    [
        (OutcomeResult.SUCCESS, "agent:a", Proof.SUCCESS, True),
        (OutcomeResult.FAILURE, "agent:a", Proof.SUCCESS, False),
        (OutcomeResult.UNKNOWN, "agent:a", Proof.SUCCESS, False),
        (OutcomeResult.SUCCESS, "agent:a", Proof.CONFIRMED, False),
        (OutcomeResult.SUCCESS, "key:k", Proof.CONFIRMED, True),
    ],
)
def test_what_needs_a_proof_counts_from_its_report_on_at_its_own_time(
    shelf, act, agent, result, reported_by, proof, is_proven
):
    key, start = a_key(), shelf.now
    required = WindowCheck("r", key, TimeForm.PRESENT, 1000)
    act(marks=(WindowMark(key, 1000, proof),), at_ms=start)
    proving = act.activity
    assert act(required, at_ms=start + 500) is not None

    reported = an_outcome(proving, result, reported_by=reported_by)
    shelf.commit(Record(an_activity(agent, start + 600, "NOTED"), outcome=reported))

    assert (act(required, at_ms=start + 700) is None) is is_proven
    assert act(required, at_ms=start + 1000) is not None


def test_of_many_at_once_exactly_as_many_pass_as_are_allowed(shelf, agent):
    limit, many = a_limit(a_key(), 10), scale(ci=40, nightly=200, long=200)

    def commit(_: int):
        return shelf.commit(Record(an_activity(agent, shelf.now, "APPROVED"), windows=(limit,)))

    assert at_once(many, commit).count(None) == 10


@pytest.mark.parametrize("kind", DURABLE, indirect=True)
def test_windows_survive_a_restart(shelf, act):
    counted, happened, proven = a_limit(a_key(), 2), a_key(), a_key()
    total = a_limit(a_key(), "1", measure=Measure.SUM, value="0.6")
    act(counted, total, marks=(WindowMark(happened, HOUR), WindowMark(proven, HOUR, Proof.SUCCESS)))
    reported = an_outcome(act.activity)
    act(counted)
    shelf.reopen()

    assert act(counted) is not None and act(total) is not None
    assert act(WindowCheck("n", happened, TimeForm.ABSENT, HOUR)) is not None
    required = WindowCheck("r", proven, TimeForm.PRESENT, HOUR)
    assert act(required) is not None
    assert act(outcome=reported) is None
    assert act(required) is None


@pytest.mark.parametrize("kind", ["sqlite"], indirect=True)
def test_a_file_forgets_what_nobody_can_ask_for_any_more(shelf, agent):
    limit = a_limit(a_key(), 5, 1000)
    shelf.commit(Record(an_activity(agent, shelf.now, "APPROVED"), windows=(limit,)))
    shelf.clock.advance(2000)
    for _ in range(70):
        shelf.commit(Record(an_activity(agent, shelf.now, "NOTED")))

    assert shelf.store._access.tables.window(limit.key, 0) == []


# --- many entries -----------------------------------------------------------------------------------------


def test_joined_entries_keep_their_sum_and_the_later_time():
    entries = [WindowEntry(n, n * 10, str(n)) for n in range(1, 6)]

    assert join_pairs(entries) == [
        WindowEntry(2, 20, "3", True),
        WindowEntry(4, 40, "7", True),
        WindowEntry(5, 50, "5"),
    ]


def test_a_sum_of_more_entries_than_are_kept_is_stricter_and_says_so(monkeypatch):
    monkeypatch.setattr(rule_windows, "MAX_COUNT", 10)
    window = Window(Measure.SUM)
    one = a_limit(b"k", 1000, 100, measure=Measure.SUM, value="1")
    for at_ms in range(40):
        window.add(one, at_ms)

    assert len(list(window)) <= 11 and sum(Decimal(entry.value) for entry in window) == 40
    reached = window.reach(msgspec.structs.replace(one, at_most=Decimal(40)), 40)
    assert reached is not None and reached.is_merged and reached.used == "40"
    # All of it is older than the window.
    assert window.reach(msgspec.structs.replace(one, at_most=Decimal(1)), 140) is None


@pytest.mark.parametrize("kind", DURABLE, indirect=True)
def test_the_file_and_the_database_join_the_oldest_of_a_sum(shelve, kind, monkeypatch):
    module = importlib.import_module(f"qwed.stores.{kind}.rule_windows")
    monkeypatch.setattr(module, "MAX_COUNT", 10)
    monkeypatch.setattr(module, "_JOIN_EVERY" if kind == "sqlite" else "_SLACK", 5)
    shelf = shelve()
    agent = shelf.add(an_agent(budget=UNLIMITED))
    one = a_limit(a_key(), 1000, measure=Measure.SUM, value="1.5")
    for second in range(40):
        shelf.commit(Record(an_activity(agent, shelf.now + second, "APPROVED"), windows=(one,)))
    shelf.reopen()

    full = msgspec.structs.replace(one, at_most=Decimal("61"), is_counted=False)
    assert shelf.commit(Record(an_activity(agent, shelf.now + 50, "APPROVED"), windows=(full,))) is not None
    free = msgspec.structs.replace(full, at_most=Decimal("61.5"))
    assert shelf.commit(Record(an_activity(agent, shelf.now + 50, "APPROVED"), windows=(free,))) is None
    refused = shelf.commit(Record(an_activity(agent, shelf.now + 50, "APPROVED"), windows=(full,)))
    assert refused.reached[0].is_merged and Decimal(refused.reached[0].used) == 60


# --- against a model that looks through everything that ever happened -----------------------------------

_WITHIN = 1000
_MEASURES = (Measure.COUNT, Measure.SUM, Measure.DISTINCT)


class History:
    """Every counted action of one key, scanned from the beginning each time."""

    def __init__(self) -> None:
        self.entries: list[tuple[int, str]] = []

    def now(self, at_ms: int) -> int:
        return max([at_ms, *(entry_ms for entry_ms, _ in self.entries)])

    def within(self, at_ms: int) -> list[str]:
        return [value for entry_ms, value in self.entries if self.now(at_ms) - entry_ms < _WITHIN]

    def allows(self, check: WindowCheck, at_ms: int) -> bool:
        values = [*self.within(at_ms), check.value]
        match check.measure:
            case Measure.COUNT:
                used = Decimal(len(values))
            case Measure.DISTINCT:
                used = Decimal(len(set(values)))
            case Measure.SUM:
                used = sum(map(Decimal, values), Decimal(0))
        return used <= check.at_most


class WindowMachine(RuleBasedStateMachine):
    shelf = None
    agent = None

    @initialize()
    def start(self) -> None:
        self.base = self.shelf.now
        self.at_ms = self.base
        self.limits = {measure: (a_key(), History()) for measure in _MEASURES}
        self.mark, self.happened = a_key(), []
        self.waiting: list[tuple[object, int]] = []

    def commit(self, **parts):
        self.activity = an_activity(self.agent, self.at_ms, "APPROVED")
        return self.shelf.commit(Record(self.activity, **parts))

    @rule(ms=st.sampled_from([-300, 1, 250, 499, 500, 999, 1000]))
    def time_passes(self, ms: int) -> None:
        self.at_ms = max(self.base, self.at_ms + ms)

    @rule(
        measure=st.sampled_from(_MEASURES),
        at_most=st.integers(0, 3),
        value=st.sampled_from(["0.1", "0.7", "1"]),
        is_checked=st.booleans(),
        is_counted=st.booleans(),
    )
    def limit(self, measure, at_most, value, is_checked, is_counted) -> None:
        key, history = self.limits[measure]
        kept = {Measure.COUNT: "", Measure.SUM: value, Measure.DISTINCT: f"={value}"}[measure]
        check = a_limit(
            key,
            at_most,
            _WITHIN,
            measure=measure,
            value=kept,
            is_checked=is_checked,
            is_counted=is_counted,
        )
        is_allowed = not is_checked or history.allows(check, self.at_ms)

        assert (self.commit(windows=(check,)) is None) is is_allowed
        if is_allowed and is_counted:
            history.entries.append((history.now(self.at_ms), kept))

    @rule(proof=st.sampled_from([Proof.NONE, Proof.SUCCESS]))
    def it_happens(self, proof: Proof) -> None:
        assert self.commit(marks=(WindowMark(self.mark, _WITHIN, proof),)) is None
        if proof is Proof.NONE:
            self.happened.append(self.at_ms)
        else:
            self.waiting.append((self.activity, self.at_ms))

    @rule(result=st.sampled_from([OutcomeResult.SUCCESS, OutcomeResult.FAILURE]))
    def it_is_reported(self, result: OutcomeResult) -> None:
        if self.waiting:
            activity, at_ms = self.waiting.pop()
            self.commit(outcome=an_outcome(activity, result))
            if result is OutcomeResult.SUCCESS:
                self.happened.append(at_ms)

    @rule(form=st.sampled_from([TimeForm.PRESENT, TimeForm.ABSENT]))
    def ask(self, form: TimeForm) -> None:
        is_recent = any(max(self.at_ms, ms) - ms < _WITHIN for ms in self.happened)
        answer = self.commit(windows=(WindowCheck("r", self.mark, form, _WITHIN),))

        assert (answer is None) is (is_recent is (form is TimeForm.PRESENT))

    @rule()
    def restart(self) -> None:
        if self.shelf.kind == "sqlite":
            self.shelf.reopen()


def test_every_store_answers_as_one_that_looks_through_its_whole_history(shelf, agent):
    class Machine(WindowMachine):
        pass

    Machine.shelf, Machine.agent = shelf, agent
    run_state_machine_as_test(
        Machine,
        settings=settings(
            max_examples=scale(ci=12, nightly=200, long=2000),
            stateful_step_count=20,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )


def test_a_window_bounds_what_it_keeps(monkeypatch):
    monkeypatch.setattr(rule_windows, "MAX_COUNT", 3)
    window = Window(Measure.COUNT)
    for at_ms in range(10):
        window.add(a_limit(b"k", 3), at_ms)

    assert len(list(window)) == 4 and rules.MAX_COUNT == 10_000
