"""One observer's trust: what tokens do to it, who is believed, and what is said to others."""

import itertools
import uuid
from decimal import Decimal

import pytest

from qwed.assurance import Confidence, InvalidScore, ScoreEvent, ScoreRules, Thresholds, TrustTable
from qwed.assurance.assertions import body_of
from qwed.assurance.trust_table import MAX_ASSERTIONS
from qwed.ect.claims import Claims
from qwed.ect.tokens import Level

ME = "spiffe://example.com/agent/me"
A = "spiffe://example.com/agent/a"
B = "spiffe://example.com/agent/b"
C = "spiffe://example.com/agent/c"
VERIFIER = "spiffe://example.com/verifier"
NOW = 1_800_000_000
DAY = 86_400
HALF = Decimal("0.5")
_numbers = itertools.count(1)


def token(iss, act="read_config", *par, aud=(ME,), exp=NOW + 600, iat=NOW, **ext):
    jti = str(uuid.UUID(int=next(_numbers)))
    named = tuple(item.jti if isinstance(item, Claims) else item for item in par)
    keys = {name.replace("__", "."): value for name, value in ext.items()}
    return Claims(iss, aud, iat, exp, jti, act, named, ext=keys)


def request(*peers, iss=ME):
    return token(iss, "please", aud=peers)


def error(iss, *par, act="atd:error", **ext):
    return token(iss, act, *par, **ext)


def assertion(asserter, subject, score, interactions=147, hops=0, par=(), **more):
    made = token(asserter, "apae:trust_assertion", *par, **more)
    ext = body_of(subject, Decimal(score), interactions, hops)
    return Claims(made.iss, made.aud, made.iat, made.exp, made.jti, made.exec_act, made.par, ext=ext)


class World:
    def __init__(self, initial="0.5", **more):
        self.table = TrustTable(ME, ScoreRules(initial=Decimal(initial)), clock=lambda: self.now, **more)
        self.now = NOW

    def sees(self, *tokens, level=Level.L2):
        return [change for item in tokens for change in self.table.observe(item, at=self.now, level=level)]

    def waits(self, seconds):
        self.now += seconds

    def score(self, peer=B):
        return self.table.score(peer)


@pytest.fixture
def world():
    return World(verifiers=[VERIFIER])


def test_a_peer_nobody_knows_has_the_initial_score(world):
    assert world.score() == HALF
    assert World("0.1").score() == Decimal("0.1")
    assert world.table.explain(B).changes == ()


def test_an_event_of_the_observers_own_counts_at_once(world):
    world.table.seed(B, Decimal("0.82"))
    change = world.table.apply(B, "task_failure", evidence="e1")

    assert world.score() == Decimal("0.656")
    assert (change.event, change.evidence) == (ScoreEvent.TASK_FAILURE, "e1")
    assert (change.before, change.after, change.at) == (Decimal("0.82"), Decimal("0.656"), NOW)


def test_evidence_counts_once_and_an_event_of_a_task_once(world):
    first = world.table.apply(B, "task_failure", evidence="e1", task="t1")
    again = world.table.apply(B, "task_failure", evidence="e1", task="t2")
    other = world.table.apply(B, "task_failure", evidence="e2", task="t1")
    worse = world.table.apply(B, "policy_violation", evidence="e3", task="t1")

    assert (first is None, again, other, worse is None) == (False, None, None, False)
    assert world.score() == HALF * Decimal("0.8") ** 3


def test_a_word_that_is_no_event_is_refused(world):
    with pytest.raises(ValueError, match="task_triumph"):
        world.table.apply(B, "task_triumph")
    with pytest.raises(InvalidScore):
        world.table.seed(B, 2)


def test_a_success_settles_after_ten_minutes(world):
    asked = request(B)
    assert world.sees(asked, token(B, "answer", asked)) == []
    assert world.table.explain(B).pending == 1

    world.waits(599)
    assert world.score() == HALF
    world.waits(1)
    assert world.score() == Decimal("0.51")
    (change,) = world.table.settle()
    assert (change.event, change.at) == (ScoreEvent.TASK_SUCCESS, NOW + 600)
    assert world.table.settle() == ()


def test_a_partial_result_is_worth_half(world):
    asked = request(B)
    world.sees(asked, token(B, "answer", asked, apae__result="partial"))
    world.waits(600)

    assert world.score() == Decimal("0.505")


@pytest.mark.parametrize("result", ["failure", "excellent", 1, None, ["success"]], ids=str)
def test_a_result_nobody_knows_is_no_success(world, result):
    asked = request(B)
    world.sees(asked, token(B, "answer", asked, apae__result=result))
    world.waits(600)

    assert world.score() == HALF


def test_with_no_window_a_success_counts_at_once():
    table = TrustTable(ME, ScoreRules(settle_seconds=0))
    asked = request(B)
    table.observe(asked, at=NOW)
    (change,) = table.observe(token(B, "answer", asked), at=NOW)

    assert change.after == Decimal("0.51")


def test_one_task_is_one_success_however_often_it_is_answered(world):
    asked = request(B)
    world.sees(asked, *(token(B, "answer", asked) for _ in range(9)))
    world.waits(600)

    assert world.score() == Decimal("0.51")


def test_one_answer_is_one_success_however_many_tasks_it_names(world):
    asked = [request(B) for _ in range(5)]
    world.sees(*asked, token(B, "answer", *asked))
    world.waits(600)

    assert world.score() == Decimal("0.51")


def test_unsolicited_tokens_move_nothing(world):
    to_another, by_another = request(C), request(B, iss=C)
    world.sees(to_another, by_another)
    world.sees(token(B), token(B, "answer", to_another), token(B, "answer", by_another))
    world.sees(token(B, "atd:checkpoint", request(B)))
    world.waits(600)

    assert world.score() == HALF


def test_a_token_about_work_is_no_answer(world):
    asked = request(B)
    world.sees(asked, token(B, "atd:checkpoint", asked), token(B, "hitl:decision", asked))
    world.waits(600)

    assert world.score() == HALF


def test_unsigned_tokens_move_nothing(world):
    asked = request(B)
    world.sees(asked)
    world.sees(token(B, "answer", asked), error(ME, atd__target_agent=B), level=Level.L1)
    world.waits(600)

    assert world.score() == HALF


def test_an_error_within_the_window_takes_the_success_back(world):
    asked, answer = request(B), token(B, "answer")
    answer = token(B, "answer", asked)
    world.sees(asked, answer)
    world.waits(599)
    (change,) = world.sees(error(ME, answer))
    world.waits(600)

    assert change.event is ScoreEvent.TASK_FAILURE
    assert world.score() == Decimal("0.4")


def test_an_error_after_the_window_comes_on_top(world):
    asked = request(B)
    answer = token(B, "answer", asked)
    world.sees(asked, answer)
    world.waits(600)
    settled, failed = world.sees(error(ME, answer))

    assert (settled.event, failed.event) == (ScoreEvent.TASK_SUCCESS, ScoreEvent.TASK_FAILURE)
    assert world.score() == Decimal("0.51") * Decimal("0.8")


def test_what_was_found_wanting_before_it_was_answered_is_no_success(world):
    asked = request(B)
    world.sees(asked, error(ME, asked), token(B, "answer", asked))
    world.waits(600)

    assert world.score() == Decimal("0.4")


def test_the_most_specific_row_wins_and_not_both(world):
    asked = request(B)
    answer = token(B, "answer", asked)
    world.sees(asked, answer)
    changes = world.sees(error(ME, answer, atd__error_type="constraint_violation"))

    assert [change.event for change in changes] == [ScoreEvent.POLICY_VIOLATION]
    assert world.score() == Decimal("0.32")


def test_a_request_to_roll_back_is_an_event_of_its_own(world):
    asked = request(B)
    answer = token(B, "answer", asked)
    (change,) = world.sees(asked, answer, error(ME, answer, act="atd:rollback_request"))

    assert change.event is ScoreEvent.ROLLBACK_TRIGGERED


def test_an_error_may_name_the_agent_alone(world):
    (change,) = world.sees(error(ME, atd__target_agent=B))

    assert change.peer == B


def test_an_error_that_names_an_agent_is_about_that_agent_only(world):
    asked = request(B, C)
    (change,) = world.sees(asked, error(ME, asked, atd__target_agent=C))

    assert change.peer == C
    assert world.sees(error(ME, asked, atd__target_agent=["b"])) == []


def test_a_time_out_needs_five_minutes_without_an_answer(world):
    asked = request(B)
    world.sees(asked)
    world.waits(299)
    assert world.sees(error(ME, asked, atd__error_type="timeout")) == []
    world.waits(1)
    (change,) = world.sees(error(ME, asked, atd__error_type="timeout"))

    assert change.event is ScoreEvent.TASK_TIMEOUT


def test_no_time_out_for_what_was_answered(world):
    asked = request(B)
    world.sees(asked, token(B, "answer", asked))
    world.waits(400)

    assert world.sees(error(ME, asked, atd__error_type="timeout")) == []


def test_the_counterpart_who_requested_the_very_task_is_believed(world):
    asked = request(B, iss=C)
    answer = token(B, "answer", asked)
    (change,) = world.sees(asked, answer, error(C, answer))

    assert (change.peer, change.event) == (B, ScoreEvent.TASK_FAILURE)


def test_the_word_time_out_of_anybody_but_the_observer_is_a_failure(world):
    asked = request(B, iss=C)
    answer = token(B, "answer", asked)
    (change,) = world.sees(asked, answer, error(C, answer, atd__error_type="timeout"))

    assert change.event is ScoreEvent.TASK_FAILURE


def test_a_listed_verifier_is_believed(world):
    work = token(B)
    changes = world.sees(work, error(VERIFIER, work), error(VERIFIER, atd__target_agent=B))

    assert [change.peer for change in changes] == [B, B]


def test_nobody_else_is_believed(world):
    work, to_me = token(B), request(B)
    answer = token(B, "answer", to_me)
    unanswered = request(B, iss=C)
    addressed_to_others = request(A, iss=C)
    answers_others = token(B, "answer", addressed_to_others)
    follows = token(C, "continue", work)
    world.sees(work, to_me, answer, unanswered, addressed_to_others, answers_others, follows)

    assert world.sees(error(C, work)) == []
    assert world.sees(error(C, answer)) == []
    assert world.sees(error(C, atd__target_agent=B)) == []
    assert world.sees(error(C, unanswered, atd__target_agent=B)) == []
    assert world.sees(error(C, answers_others)) == []
    assert [change.peer for change in world.sees(error(C, work, follows))] == [C]
    assert world.sees(error(C, str(uuid.UUID(int=0)))) == []


def test_self_reported_failures_count(world):
    asked = request(B)
    answer = token(B, "answer", asked)
    (change,) = world.sees(asked, answer, error(B, answer))
    (other,) = world.sees(error(B, atd__target_agent=B))

    assert (change.peer, other.peer) == (B, B)


def test_nobody_scores_themselves(world):
    mine = token(ME, "read")
    asked = request(ME, iss=B)
    answer = token(ME, "answer", asked)

    assert world.sees(mine, asked, answer, error(B, answer), error(ME, answer)) == []
    assert world.score(ME) == HALF


def test_an_error_with_two_tasks_of_one_agent_counts_once(world):
    asked = [request(B), request(B)]
    answers = [token(B, "answer", one) for one in asked]
    changes = world.sees(*asked, *answers, error(ME, *answers))

    assert len(changes) == 1


def test_a_token_that_comes_again_counts_once(world):
    asked = request(B)
    answer = token(B, "answer", asked)
    wrong = error(ME, answer)
    world.sees(asked, answer, wrong)

    assert world.sees(wrong, asked, answer) == []
    assert world.score() == Decimal("0.4")


def test_a_wrong_signature_is_charged_to_whoever_delivered_it(world):
    change = world.table.observe_invalid(B, "hash", at=NOW)

    assert change.event is ScoreEvent.ATTESTATION_INVALID
    assert world.score() == Decimal("0.32")
    assert world.table.observe_invalid(B, "hash", at=NOW) is None
    assert world.table.observe_invalid(None, "other", at=NOW) is None
    assert world.table.observe_invalid(ME, "other", at=NOW) is None


def check(iss, *offenders):
    violations = [{"rule": "action", "jti": item.jti, "detail": ""} for item in offenders]
    return token(iss, "apae:compliance_check", apae__violations=violations)


def test_each_offending_token_costs_once_however_many_checks_report_it(world):
    one, two = token(B), token(B)
    world.sees(one, two)
    changes = world.sees(check(VERIFIER, one), check(VERIFIER, one, two), check(ME, two))

    assert [change.event for change in changes] == [ScoreEvent.POLICY_VIOLATION] * 2
    assert world.score() == HALF * Decimal("0.64") ** 2


def test_a_compliance_check_by_anybody_else_costs_nothing(world):
    work = token(B)
    world.sees(work)

    assert world.sees(check(C, work), check(B, work)) == []
    assert world.sees(token(VERIFIER, "apae:compliance_check", apae__violations="all")) == []
    assert world.sees(token(VERIFIER, "apae:compliance_check", apae__violations=[1, {"jti": 2}])) == []


def test_a_score_decays_on_reading_and_the_next_event_starts_from_there(world):
    world.table.seed(B, "0.82")
    world.waits(8 * DAY)
    assert world.score() == Decimal("0.81")
    change = world.table.apply(B, "task_success")

    assert (change.before, change.after) == (Decimal("0.81"), Decimal("0.82"))
    world.waits(60 * DAY)
    assert world.score() == HALF


def test_what_was_lost_does_not_come_back_by_waiting(world):
    world.table.seed(B, "0.2")
    world.waits(30 * DAY)

    assert world.score() == Decimal("0.2")


def test_an_assertion_is_worth_its_score_times_trust_times_a_half():
    world = World("0.1")
    world.table.seed(A, "0.9")
    world.sees(assertion(A, B, "0.82"))

    assert world.score() == Decimal("0.369")
    word = world.table.explain(B).to_wire()["assertion"]
    assert (word["by"], word["worth"]) == (A, "0.369")


def test_an_assertion_never_lowers_and_ends_with_the_first_own_experience():
    world = World("0.1")
    world.table.seed(A, "0.9")
    world.sees(assertion(A, B, "0.01"))
    assert world.score() == Decimal("0.1")
    world.sees(assertion(A, C, "0.82"))
    world.table.apply(C, "task_failure")

    assert world.score(C) == Decimal("0.08")


def test_an_assertion_ends_when_it_expires_or_its_asserter_is_revoked():
    world = World("0.1")
    world.table.seed(A, "0.9")
    world.sees(assertion(A, B, "0.82"))
    world.waits(600)
    assert world.score() == Decimal("0.1")
    world.sees(assertion(A, B, "0.82", exp=world.now + 600))
    assert world.score() == Decimal("0.369")
    for _ in range(8):
        world.table.apply(A, "task_failure")

    assert world.table.is_revoked(A)
    assert world.score() == Decimal("0.1")


def test_an_expired_assertion_says_nothing_when_it_is_replayed():
    world = World("0.1")
    world.table.seed(A, "0.9")
    old = assertion(A, B, "0.82")
    world.waits(601)
    world.sees(old, old)

    assert world.score() == Decimal("0.1")


def test_the_latest_word_of_an_asserter_holds():
    world = World("0.1")
    world.table.seed(A, 1)
    later, earlier = assertion(A, B, "0.4", iat=NOW + 1), assertion(A, B, "0.9")
    world.sees(earlier, later)
    assert world.score() == Decimal("0.2")
    world.sees(assertion(A, B, "0.9", iat=NOW))

    assert world.score() == Decimal("0.2")


@pytest.mark.parametrize(
    "wrong",
    [
        {"apae.confidence": "medium"},
        {"apae.confidence": None},
        {"apae.interactions": 5},
        {"apae.interactions": -1},
        {"apae.interactions": True},
        {"apae.trust_score": "much"},
        {"apae.trust_score": 2},
        {"apae.trust_score": None},
        {"apae.hops": 1},
        {"apae.hops": 2},
        {"apae.hops": -1},
        {"apae.hops": True},
        {"apae.subject": A},
        {"apae.subject": [B]},
        {"apae.subject": ""},
    ],
    ids=lambda wrong: "-".join(f"{name}={value}" for name, value in wrong.items()),
)
def test_an_assertion_that_breaks_a_rule_says_nothing(wrong):
    world = World("0.1")
    world.table.seed(A, 1)
    good = assertion(A, B, "0.82")
    bad = Claims(good.iss, good.aud, NOW, NOW + 600, good.jti, good.exec_act, (), ext={**good.ext, **wrong})
    world.sees(bad)

    assert world.score() == Decimal("0.1")
    assert world.score(A) == 1


def test_assertions_have_to_be_signed_and_their_people_in_the_directory():
    world = World("0.1", directory={A, B}.__contains__)
    world.table.seed(A, 1)
    world.table.seed(C, 1)
    world.sees(assertion(A, B, "0.82"), level=Level.L1)
    world.sees(assertion(C, B, "0.82"))
    assert world.score() == Decimal("0.1")
    world.sees(assertion(A, C, "0.82"))
    world.sees(assertion(A, B, "0.82"))

    assert world.score() == Decimal("0.41")
    assert world.score(C) == 1


def test_we_say_what_we_experienced_and_pass_on_what_we_heard_one_hop():
    world = World("0.1")
    world.table.seed(A, 1)
    world.table.apply(C, "task_success")
    heard = assertion(A, B, "0.82")
    world.sees(heard)
    own, relayed = world.table.assertion(C), world.table.assertion(B)

    assert own.ext == body_of(C, Decimal("0.11"), 1)
    assert (own.par, own.ext["apae.hops"], own.ext["apae.confidence"]) == ((), 0, "low")
    assert (relayed.par, relayed.until) == ((heard.jti,), heard.exp)
    assert (relayed.ext["apae.hops"], relayed.ext["apae.trust_score"]) == (1, Decimal("0.41"))
    assert world.table.assertion("spiffe://example.com/nobody") is None


def test_a_relay_is_not_relayed_further():
    world = World("0.1")
    world.table.seed(C, 1)
    heard = assertion(A, B, "0.82")
    world.sees(heard, assertion(C, B, "0.8", hops=1, par=[heard]))

    assert world.score() == Decimal("0.4")
    assert world.table.assertion(B) is None


def test_our_own_assertions_and_those_about_us_say_nothing_to_us():
    world = World("0.1")
    world.table.seed(A, 1)
    world.sees(assertion(A, ME, "1"), assertion(ME, B, "1"))

    assert (world.score(ME), world.score(B)) == (Decimal("0.1"), Decimal("0.1"))


def test_a_crowd_of_asserters_is_not_kept_and_the_trusted_ones_stay():
    world = World("0.1")
    world.table.seed(A, "0.9")
    world.sees(assertion(A, B, "0.82"))
    world.sees(*(assertion(f"spiffe://sybil.example/{n}", B, "1") for n in range(3 * MAX_ASSERTIONS)))

    assert world.score() == Decimal("0.369")
    assert len(world.table._assertions[B]) == MAX_ASSERTIONS == len(world.table._heard)


@pytest.mark.parametrize(
    ("score", "count", "min_trust", "min_confidence", "is_met"),
    [
        ("0.7", 10, "0.7", "medium", True),
        ("0.69", 10, "0.7", "medium", False),
        ("0.9", 9, "0.7", "medium", False),
        ("0.9", 100, "0.7", "high", True),
        ("0.1", 0, None, None, True),
        ("0.1", 0, None, "low", True),
    ],
)
def test_both_thresholds_have_to_hold(world, score, count, min_trust, min_confidence, is_met):
    for number in range(count):
        world.table.apply(B, "task_success", evidence=str(number))
    world.table.seed(B, score)
    wanted = Thresholds(
        None if min_trust is None else Decimal(min_trust),
        None if min_confidence is None else Confidence[min_confidence.upper()],
    )

    assert world.table.meets(B, wanted) is is_met


def test_thresholds_look_at_the_decayed_score(world):
    world.table.seed(B, "0.7")
    wanted = Thresholds(Decimal("0.7"))
    assert world.table.meets(B, wanted)
    world.waits(8 * DAY)

    assert not world.table.meets(B, wanted)


def test_below_the_floor_trust_is_revoked_once_until_an_operator_reinstates(world):
    changes = [world.table.apply(B, "task_failure") for _ in range(7)]
    assert [change.revokes for change in changes] == [False] * 4 + [True] + [False] * 2
    world.table.seed(B, "0.9")
    assert world.table.is_revoked(B)

    assert world.table.reinstate(B)
    assert not world.table.reinstate(B)
    assert not world.table.is_revoked(B)
    world.table.seed(B, "0.21")
    assert world.table.apply(B, "task_failure").revokes


def test_decay_alone_and_a_low_beginning_revoke_nobody():
    world = World("0.1")
    world.table.seed(B, "0.15")
    assert world.table.apply(B, "task_success").revokes is False

    assert not world.table.is_revoked(B)


def test_the_journal_hears_every_change_in_order():
    heard = []
    table = TrustTable(ME, journal=heard.append)
    asked = request(B)
    table.observe(asked, at=NOW)
    table.observe(token(B, "answer", asked), at=NOW)
    table.apply(C, "task_failure", at=NOW + 600)
    table.settle(NOW + 600)

    assert [(change.peer, change.event.value) for change in heard] == [
        (C, "task_failure"),
        (B, "task_success"),
    ]


def test_an_explanation_is_about_one_pair(world):
    world.table.apply(B, "task_failure", evidence="e1")
    world.table.apply(C, "task_failure", evidence="e2")
    told = world.table.explain(B).to_wire()

    assert (told["observer"], told["peer"], told["score"], told["confidence"]) == (ME, B, "0.4", "low")
    assert [change["evidence"] for change in told["changes"]] == ["e1"]
    assert C not in str(told)


def test_a_clock_that_is_set_back_turns_nothing_back(world):
    asked = request(B)
    world.sees(asked, token(B, "answer", asked))
    world.waits(600)
    world.sees(request(B))
    world.now -= 10_000
    world.sees(request(B))
    world.table.apply(B, "task_failure")

    assert world.table.explain(B, NOW + 600).score == Decimal("0.51") * Decimal("0.8")
