"""The rules of section 8, one by one, without a gateway."""

import pytest
from tests.support.fakes import DAY, NOON

from qwed.domain.codes import Code, Refusal
from qwed.domain.conduct import (
    BLOCKED_TOOL,
    Conduct,
    Deed,
    Standing,
    conduct_status,
    deed_of,
    judge,
)
from qwed.domain.decisions import Decision
from qwed.domain.findings import Failure, Finding, Status
from qwed.domain.risk import Risk
from qwed.domain.trust import TrustLevel
from qwed.domain.trust_changes import Cause


class Life:
    """An agent's deeds, one after the other."""

    def __init__(self) -> None:
        self.standing = Standing()
        self.now = NOON
        self.number = 0

    def do(self, deed: Deed, times: int = 1):
        """The penalties of all of them."""
        found = []
        for _ in range(times):
            self.number += 1
            judgement = judge(self.standing, deed, f"act_{self.number}", self.now)
            self.standing = Standing(self.standing.actions + (deed is Deed.ACTION), judgement.conduct)
            found += judgement.penalties
        return found

    def causes(self, deed: Deed, times: int = 1):
        return [penalty.cause for penalty in self.do(deed, times)]


@pytest.fixture
def life():
    return Life()


FAILED = Finding(Status.FAILED, Risk.CRITICAL, "sql", failure=Failure.FORBIDDEN)
WRONG = Finding(Status.FAILED, Risk.CRITICAL, "math", failure=Failure.INCORRECT)
MALFORMED = Finding(Status.FAILED, Risk.CRITICAL, "sql", failure=Failure.MALFORMED)

# ruff: noqa: E501
# fmt: off
ROWS = [
    ("approved", Decision.APPROVED, None, {}, None, None, Deed.ACTION),
    ("corrected", Decision.CORRECTED, None, {}, None, None, Deed.ACTION),
    ("pending", Decision.PENDING, Code.APPROVAL_REQUIRED, {}, None, None, Deed.ACTION),
    ("check 13", Decision.DENIED, Code.LOOP_NO_PROGRESS, {}, None, None, Deed.DENIAL),
    ("check 16", Decision.DENIED, Code.TOOL_NOT_ALLOWED, {}, None, None, Deed.DENIAL),
    ("blocked", Decision.DENIED, Code.TOOL_NOT_ALLOWED, {BLOCKED_TOOL: "x"}, None, None, Deed.BLOCKED_TOOL),
    ("wrong", Decision.DENIED, Code.VERIFICATION_FAILED, {}, WRONG, Risk.CRITICAL, Deed.DENIAL),
    ("malformed", Decision.DENIED, Code.VERIFICATION_FAILED, {}, MALFORMED, Risk.CRITICAL, Deed.DENIAL),
    ("forbidden", Decision.DENIED, Code.VERIFICATION_FAILED, {}, FAILED, Risk.CRITICAL, Deed.FORBIDDEN),
    ("forbidden, high", Decision.DENIED, Code.VERIFICATION_FAILED, {}, FAILED, Risk.HIGH, Deed.DENIAL),
    ("check 18", Decision.DENIED, Code.TRUST_INSUFFICIENT, {}, None, Risk.CRITICAL, Deed.DENIAL),
    ("day's cost", Decision.BUDGET_EXCEEDED, Code.BUDGET_COST, {"scope": "daily_cost"}, None, None, Deed.EXHAUSTED),
    ("hour", Decision.BUDGET_EXCEEDED, Code.BUDGET_REQUESTS, {"scope": "hourly_requests"}, None, None, Deed.EXHAUSTED),
    ("day", Decision.BUDGET_EXCEEDED, Code.BUDGET_REQUESTS, {"scope": "daily_requests"}, None, None, Deed.EXHAUSTED),
    ("tokens", Decision.BUDGET_EXCEEDED, Code.BUDGET_TOKENS, {"scope": "daily_tokens"}, None, None, Deed.EXHAUSTED),
    ("too dear", Decision.BUDGET_EXCEEDED, Code.BUDGET_COST, {"scope": "request_cost"}, None, None, None),
    ("too long", Decision.BUDGET_EXCEEDED, Code.BUDGET_TOKENS, {"scope": "request_tokens"}, None, None, None),
    ("open approvals", Decision.BUDGET_EXCEEDED, Code.BUDGET_REQUESTS, {"scope": "approvals"}, None, None, None),
    ("ceiling", Decision.BUDGET_EXCEEDED, Code.BUDGET_COST, {"scope": "principal_daily_cost"}, None, None, None),
    *((code.value, Decision.DENIED, code, {}, None, None, None) for code in (
        Code.AGENT_SUSPENDED, Code.CONTEXT_MISSING, Code.STEP_INVALID, Code.LOOP_LENGTH, Code.LOOP_REPLAY,
        Code.LOOP_REPEAT, Code.STATE_INCOMPLETE, Code.STATE_HASH, Code.STATE_SOURCE, Code.STATE_PARAMETERS,
        Code.ACTION_UNKNOWN, Code.ATTESTATION_UNSIGNED,
    )),
]
# fmt: on


@pytest.mark.parametrize(
    ("decision", "code", "details", "finding", "risk", "deed"),
    [row[1:] for row in ROWS],
    ids=[row[0] for row in ROWS],
)
def test_what_a_decision_counts_as(decision, code, details, finding, risk, deed):
    refusal = None if code is None else Refusal(code, "no", details)

    assert deed_of(decision, refusal, finding, risk) is deed


def test_five_denials_of_fifty_are_a_tenth_and_cost_nothing(life):
    assert life.causes(Deed.DENIAL, 5) == []
    assert life.causes(Deed.ACTION, 500) == []


def test_the_sixth_denial_among_the_last_fifty_costs_a_level(life):
    life.do(Deed.ACTION, 100)
    assert life.causes(Deed.DENIAL, 5) == []
    (penalty,) = life.do(Deed.DENIAL)

    assert penalty.cause is Cause.REPEATED_DENIALS
    assert penalty.activities == tuple(f"act_{number}" for number in range(101, 107))
    assert penalty.lowers(TrustLevel.TRUSTED) is TrustLevel.AUTONOMOUS


def test_fewer_than_fifty_actions_are_never_weighed(life):
    assert life.causes(Deed.DENIAL, 49) == []
    assert life.causes(Deed.DENIAL) == [Cause.REPEATED_DENIALS]


def test_a_window_that_fills_with_an_allowed_action_is_weighed_too(life):
    life.do(Deed.DENIAL, 6)
    assert life.causes(Deed.ACTION, 43) == []
    assert life.causes(Deed.ACTION) == [Cause.REPEATED_DENIALS]


def test_no_denial_is_charged_twice(life):
    life.do(Deed.ACTION, 44)
    assert life.causes(Deed.DENIAL, 6) == [Cause.REPEATED_DENIALS]
    assert life.causes(Deed.DENIAL, 49) == []
    assert life.causes(Deed.DENIAL) == [Cause.REPEATED_DENIALS]


def test_denials_older_than_fifty_actions_are_forgotten(life):
    life.do(Deed.ACTION, 50)
    life.do(Deed.DENIAL, 5)
    life.do(Deed.ACTION, 45)
    assert life.causes(Deed.DENIAL) == []
    assert len(life.standing.conduct.denials) == 5


def test_the_second_use_of_a_blocked_tool_within_a_day_costs_two_levels(life):
    assert life.causes(Deed.BLOCKED_TOOL) == []
    (penalty,) = life.do(Deed.BLOCKED_TOOL)
    assert (penalty.cause, penalty.activities) == (Cause.SECURITY_VIOLATION, ("act_1", "act_2"))
    assert penalty.lowers(TrustLevel.TRUSTED) is TrustLevel.SUPERVISED
    assert life.causes(Deed.BLOCKED_TOOL) == []
    assert life.causes(Deed.BLOCKED_TOOL) == [Cause.SECURITY_VIOLATION]


def test_the_next_day_it_is_a_first_use_again(life):
    life.do(Deed.BLOCKED_TOOL)
    life.now += DAY
    assert life.causes(Deed.BLOCKED_TOOL) == []


def test_a_clock_that_goes_back_forgives_nothing(life):
    life.do(Deed.BLOCKED_TOOL)
    life.do(Deed.EXHAUSTED, 2)
    life.now -= DAY
    assert life.causes(Deed.BLOCKED_TOOL) == [Cause.SECURITY_VIOLATION]
    assert life.causes(Deed.EXHAUSTED) == [Cause.BUDGET_ABUSE]


@pytest.mark.parametrize("deed", [Deed.FORBIDDEN, Deed.FOREIGN_TOKEN, Deed.FORGERY], ids=lambda d: d.name)
def test_a_violation_costs_two_levels_at_once_each_time(life, deed):
    assert life.causes(deed, 3) == [Cause.SECURITY_VIOLATION] * 3


def test_budget_abuse_is_charged_once_a_day(life):
    assert life.causes(Deed.EXHAUSTED, 2) == []
    assert life.causes(Deed.EXHAUSTED) == [Cause.BUDGET_ABUSE]
    settled = life.standing.conduct
    assert life.causes(Deed.EXHAUSTED, 100) == []
    assert life.standing.conduct is settled
    life.now += DAY
    assert life.causes(Deed.EXHAUSTED, 3) == [Cause.BUDGET_ABUSE]


def test_rules_count_for_themselves_and_the_heaviest_comes_first(life):
    life.do(Deed.ACTION, 45)
    life.do(Deed.DENIAL, 5)
    assert life.causes(Deed.FORBIDDEN) == [Cause.SECURITY_VIOLATION, Cause.REPEATED_DENIALS]


def test_what_is_kept_is_bounded(life):
    for deed in (Deed.DENIAL, Deed.BLOCKED_TOOL, Deed.EXHAUSTED):
        life.do(deed, 200)
    kept = life.standing.conduct

    assert len(kept.denials) <= 50 and len(kept.blocked_uses) <= 2 and len(kept.refusals) <= 3


@pytest.mark.parametrize("level", TrustLevel)
def test_no_level_is_below_zero(life, level):
    (penalty,) = life.do(Deed.FORGERY)
    assert penalty.lowers(level) == max(0, level - 2)


def test_the_status_says_how_near_each_rule_is(life):
    life.do(Deed.ACTION, 10)
    life.do(Deed.DENIAL, 2)
    life.do(Deed.BLOCKED_TOOL)
    life.do(Deed.EXHAUSTED, 2)
    status = conduct_status(life.standing, life.now)

    assert status["window"] == {"actions": 13, "size": 50, "denials": 3, "max_denials": 5}
    assert status["blocked_tools_today"]["uses"] == 1
    assert status["refused_today"]["requests"] == 2
    tomorrow = conduct_status(life.standing, life.now + DAY)
    assert (tomorrow["blocked_tools_today"]["uses"], tomorrow["refused_today"]["requests"]) == (0, 0)


def test_a_new_agent_has_a_clean_sheet():
    assert Standing().conduct == Conduct()
