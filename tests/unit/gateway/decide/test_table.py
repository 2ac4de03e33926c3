"""Section 3's table, row by row: its code, its status, its order, and what happens to the step."""

import itertools
from decimal import Decimal

import pytest
from tests.support.fakes import DAY, HOUR, MINUTE, SECOND, BrokenSigner
from tests.support.faults import EXCLUSIVE, FAULTS, STATE, Plan, disproved_and_too_risky
from tests.support.world import World, calculate, code_of

from qwed.domain.findings import Failure, Finding, Status
from qwed.domain.policy import Limits, LoopLimits, Policy, RateLimit
from qwed.domain.risk import Risk

STATUS = {"QWED-AGENT-001": 404, "QWED-AGENT-002": 401, "QWED-AGENT-003": 403}


def planned(world, *rows):
    plan = Plan(world)
    for row in sorted(rows, reverse=True):
        FAULTS[row][0](plan)
    return plan, plan.send()


# --- each row, and their order ---------------------------------------------------------------------


def test_without_a_fault_the_request_is_approved(world):
    _, response = planned(world)

    assert response.status_code == 200
    assert response.json()["decision"] == "APPROVED"


@pytest.mark.parametrize("row", FAULTS)
def test_each_check_refuses_with_its_own_code_and_status(world, row):
    _, response = planned(world, row)
    answer, code = response.json(), FAULTS[row][1]

    assert code_of(answer) == code
    assert response.status_code == (429 if "BUDGET" in code else STATUS.get(code, 200))
    assert answer["decision"] == ("BUDGET_EXCEEDED" if "BUDGET" in code else "DENIED")
    assert ("verification" in answer) == (row > 16)
    assert ("activity_id" in answer) == (row > 2)


PAIRS = [pair for pair in itertools.combinations(FAULTS, 2) if pair not in EXCLUSIVE and pair != (17, 18)]


@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_of_two_faults_the_earlier_row_answers(world, first, second):
    _, response = planned(world, first, second)

    assert code_of(response.json()) == FAULTS[first][1]


def test_a_disproof_is_said_before_a_lack_of_trust(world):
    plan = Plan(world)
    disproved_and_too_risky(plan)

    assert code_of(plan.send().json()) == "QWED-AGENT-005"


@pytest.mark.parametrize("row", [row for row in FAULTS if row > 2])
def test_every_authenticated_attempt_is_recorded_with_its_code(world, row):
    plan, response = planned(world, row)
    newest = world.decisions(plan.agent)[0]

    assert newest["activity_id"] == response.json()["activity_id"]
    assert newest["error_code"] == FAULTS[row][1]
    assert newest["decision"] == response.json()["decision"]


@pytest.mark.parametrize("row", [1, 2])
def test_an_attempt_without_the_right_to_it_leaves_no_trace_on_the_agent(world, row):
    plan, _ = planned(world, row)

    assert world.decisions(plan.agent) == []
    assert world.budget(plan.agent)["requests"]["current_hour"] == 0


# --- what happens to the step ----------------------------------------------------------------------


@pytest.mark.parametrize("row", [row for row in FAULTS if row not in (1, 2, 3, 8)])
def test_a_refused_step_can_be_used_again_and_nothing_stays_held(world, row):
    plan, _ = planned(world, row)
    spent = Decimal(str(world.budget(plan.agent)["cost"]["current_daily_usd"]))
    world.prover.says(Status.VERIFIED)
    permissions = {"allowed_engines": ["math"], "blocked_tools": []}
    world.call(
        "PATCH",
        f"/agents/{plan.agent['agent_id']}",
        json={"permissions": permissions, "budget": {"max_requests_per_hour": 1000}},
    )
    again = world.verify(plan.agent, calculate("7*7"), 10)

    assert spent == Decimal("0.01") * len(plan.history)
    assert again["decision"] == "APPROVED"


@pytest.mark.parametrize("row", [row for row in FAULTS if row > 2])
def test_a_request_is_counted_from_the_budget_check_on_and_its_hold_returned(world, row):
    plan, _ = planned(world, row)
    budget = world.budget(plan.agent)

    counted = len(plan.history) + (row == 8) + (row > 14)
    assert budget["requests"]["current_hour"] == budget["requests"]["current_day"] == counted
    assert Decimal(str(budget["cost"]["current_daily_usd"])) == Decimal("0.01") * len(plan.history)


@pytest.mark.parametrize("status", [Status.VERIFIED, Status.UNCERTAIN])
def test_an_approved_or_pending_step_is_used_up(world, status):
    agent = world.register()
    world.prover.says(status)
    world.verify(agent, calculate("1"), 5)
    world.prover.says(Status.VERIFIED)

    for step in (1, 4, 5):
        replay = world.verify(agent, calculate("2"), step)
        assert code_of(replay) == "QWED-AGENT-LOOP-002"
        assert replay["error"]["details"]["last_step"] == 5
    assert world.verify(agent, calculate("2"), 6)["decision"] == "APPROVED"


def test_a_corrected_step_is_used_up_because_the_corrected_action_runs(world):
    agent = world.register()
    correct(world)

    assert world.verify(agent, calculate("2+2=5"), 1)["decision"] == "CORRECTED"
    assert code_of(world.verify(agent, calculate("3+3=7"), 1)) == "QWED-AGENT-LOOP-002"


def test_a_request_that_lost_its_step_while_it_was_at_work_is_denied_and_charged_nothing(world):
    agent = world.register()
    overtaking = []

    def slow(engine, action):
        if not overtaking:
            overtaking.append(None)
            world.clock.advance(30_000)
            context = {"conversation_id": "c", "step_number": 1}
            overtaking[0] = world.gateway.verify_action(agent["agent_id"], calculate("quick"), context)
        return Finding(Status.VERIFIED, Risk.LOW, engine)

    world.prover.find = slow
    late = world.verify(agent, calculate("slow"), 1)

    assert overtaking[0]["decision"] == "APPROVED"
    assert (late["decision"], code_of(late)) == ("DENIED", "QWED-AGENT-LOOP-002")
    assert "attestation" not in late
    assert world.budget(agent)["cost"]["current_daily_usd"] == 0.01
    assert [entry["decision"] for entry in world.decisions(agent)] == ["DENIED", "APPROVED"]


# --- checks 4 and 5: the context ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "context",
    [
        "null",
        "{}",
        "[]",
        '"c"',
        "7",
        '{"conversation_id":"c"}',
        '{"step_number":1}',
        '{"conversation_id":"c","step_number":null}',
        '{"conversation_id":"","step_number":1}',
        '{"conversation_id":" \\t\\n","step_number":1}',
        '{"conversation_id":7,"step_number":1}',
        '{"conversation_id":["c"],"step_number":1}',
        '{"conversation_id":"\\ud800","step_number":1}',
        f'{{"conversation_id":"{"x" * 257}","step_number":1}}',
    ],
)
def test_a_context_without_both_names_is_incomplete(world, context):
    agent = world.register()
    body = f'{{"action":{{"type":"calculate","query":"1"}},"context":{context}}}'
    answer = world.call("POST", f"/agents/{agent['agent_id']}/verify", content=body).json()

    assert code_of(answer) == "QWED-AGENT-CTX-001"


def test_a_request_without_any_context_is_incomplete(world):
    agent = world.register()
    answer = world.call("POST", f"/agents/{agent['agent_id']}/verify", json={"action": calculate()}).json()

    assert code_of(answer) == "QWED-AGENT-CTX-001"


def test_a_conversation_id_may_have_256_characters_of_any_script(world):
    agent = world.register()

    assert world.verify(agent, conversation="語" * 256)["decision"] == "APPROVED"


@pytest.mark.parametrize(
    "step",
    ["0", "-1", "true", "false", "1.0", "1e0", "1.5", '"1"', "NaN", "Infinity", "[1]", "{}", "9" * 500],
)
def test_only_a_true_integer_from_one_is_a_step(world, step):
    agent = world.register()
    body = (
        '{"action":{"type":"calculate","query":"1"},'
        f'"context":{{"conversation_id":"c","step_number":{step}}}}}'
    )
    answer = world.call("POST", f"/agents/{agent['agent_id']}/verify", content=body).json()

    assert code_of(answer) == "QWED-AGENT-CTX-002"


# --- check 6: the length -----------------------------------------------------------------------------


def test_fifty_steps_and_no_more(world):
    agent = world.register()
    for step in range(1, 51):
        assert world.verify(agent, calculate(str(step)), step)["decision"] == "APPROVED"

    for step in (51, 52, 10**15, 10**40):
        assert code_of(world.verify(agent, calculate("x"), step)) == "QWED-AGENT-LOOP-001"


def test_steps_may_leave_gaps_but_never_pass_fifty(world):
    agent = world.register()

    assert world.verify(agent, step=50)["decision"] == "APPROVED"
    assert code_of(world.verify(agent, step=51)) == "QWED-AGENT-LOOP-001"
    assert code_of(world.verify(agent, step=50)) == "QWED-AGENT-LOOP-002"


# --- check 7: the parameters -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "parameters",
    [
        '{"a":NaN}',
        '{"a":[1,{"b":-Infinity}]}',
        "[1]",
        '"text"',
        "7",
        "true",
        "[]",
        '""',
        "0",
        "false",
        f'{{"a":{"9" * 401}}}',
        '{"a":1e9999}',
        '{"a":1e999}',
        '{"a":[{"b":-1e309}]}',
        f'{{"a":{"9" * 309}}}',
    ],
)
def test_parameters_that_are_no_deterministic_json_object_are_refused(world, parameters):
    agent = world.register()
    body = (
        f'{{"action":{{"type":"calculate","query":"1","parameters":{parameters}}},'
        '"context":{"conversation_id":"c","step_number":1}}'
    )
    response = world.call("POST", f"/agents/{agent['agent_id']}/verify", content=body)

    assert response.status_code == 200
    assert code_of(response.json()) == "QWED-AGENT-STATE-004"
    assert response.json()["error"]["details"]["path"].startswith("parameters")


def test_a_lone_surrogate_in_parameters_is_not_deterministic(world):
    agent = world.register()
    body = (
        '{"action":{"type":"calculate","query":"1","parameters":{"a":"\\udc00"}},'
        '"context":{"conversation_id":"c","step_number":1}}'
    )
    answer = world.call("POST", f"/agents/{agent['agent_id']}/verify", content=body).json()

    assert code_of(answer) == "QWED-AGENT-STATE-004"


@pytest.mark.parametrize(
    "parameters",
    [
        {"a": float("nan")},
        {"a": float("inf")},
        {1: "a"},
        {"a": {2: 3}},
        {"a": {1, 2}},
        {"a": b"x"},
        {"a": object()},
    ],
)
def test_in_process_callers_meet_the_same_refusal(world, parameters):
    agent = world.register()
    action = {"type": "calculate", "query": "1", "parameters": parameters}
    context = {"conversation_id": "c", "step_number": 1}

    assert code_of(world.gateway.verify_action(agent["agent_id"], action, context)) == "QWED-AGENT-STATE-004"


def test_in_process_parameters_nested_without_end_are_refused(world):
    agent = world.register()
    endless: list = []
    endless.append(endless)
    action = {"type": "calculate", "query": "1", "parameters": {"a": endless}}
    answer = world.gateway.verify_action(
        agent["agent_id"], action, {"conversation_id": "c", "step_number": 1}
    )

    assert code_of(answer) == "QWED-AGENT-STATE-004"


# --- check 9: repeats and cycles ---------------------------------------------------------------------


def test_the_seed_guides_conversation_repeats_twice_and_is_stopped_at_the_third(world):
    agent = world.register()

    assert world.verify(agent, step=1)["decision"] == "APPROVED"
    assert world.verify(agent, step=2)["decision"] == "APPROVED"
    third = world.verify(agent, step=3)
    assert (third["decision"], code_of(third)) == ("DENIED", "QWED-AGENT-LOOP-003")
    assert third["error"]["details"]["pattern"] == "repeat"
    other = world.verify(agent, {"type": "verify_logic", "query": "x > 1"}, 3)
    assert other["decision"] == "APPROVED"


def test_blank_ends_do_not_make_a_new_action(world):
    agent = world.register()
    world.verify(agent, calculate("2+2"), 1)
    world.verify(agent, calculate(" 2+2\n"), 2)

    assert code_of(world.verify(agent, calculate("2+2\t"), 3)) == "QWED-AGENT-LOOP-003"


def test_a_denied_action_in_between_does_not_break_a_run_of_repeats(world):
    agent = world.register()
    world.verify(agent, step=1)
    world.verify(agent, step=2)
    assert code_of(world.verify(agent, {"type": "nonsense"}, 3)) == "QWED-AGENT-ACTION-001"

    assert code_of(world.verify(agent, step=3)) == "QWED-AGENT-LOOP-003"


def test_a_pending_action_counts_as_a_repeat(world):
    agent = world.register()
    world.prover.says(Status.UNCERTAIN)
    assert [world.verify(agent, step=step)["decision"] for step in (1, 2)] == ["PENDING", "PENDING"]

    assert code_of(world.verify(agent, step=3)) == "QWED-AGENT-LOOP-003"


@pytest.mark.parametrize("period", [2, 3, 4, 5])
def test_a_cycle_without_hashes_is_stopped_after_five_rounds(world, period):
    agent = world.register()
    answers = [
        world.verify(agent, calculate(str((step - 1) % period)), step) for step in range(1, 5 * period + 2)
    ]

    assert [code_of(answer) for answer in answers[:-1]] == [None] * (5 * period)
    assert code_of(answers[-1]) == "QWED-AGENT-LOOP-003"
    assert answers[-1]["error"]["details"] == {"pattern": "cycle", "period": period}


@pytest.mark.parametrize("period", [2, 3, 4, 5])
def test_a_cycle_on_an_unchanged_state_is_stopped_after_three_rounds(period):
    world = World(policy=Policy(loops=LoopLimits(no_progress=100)))
    agent = world.register()
    answers = []
    for step in range(1, 3 * period + 2):
        context = {"conversation_id": "c", "step_number": step, **STATE}
        answers.append(world.verify(agent, calculate(str((step - 1) % period)), context=context))
    world.close()

    assert [code_of(answer) for answer in answers[:-1]] == [None] * (3 * period)
    assert code_of(answers[-1]) == "QWED-AGENT-LOOP-003"
    assert answers[-1]["error"]["details"] == {"pattern": "cycle", "period": period}


def test_a_cycle_over_changing_states_is_work_and_passes(world):
    agent = world.register()
    for step in range(1, 31):
        context = {
            "conversation_id": "c",
            "step_number": step,
            "pre_action_state_hash": f"{step:064x}",
            "state_source": "custom",
        }
        assert world.verify(agent, calculate(str(step % 2)), context=context)["decision"] == "APPROVED"


def test_the_same_action_in_fresh_conversations_passes_unless_the_policy_limits_it():
    limited = Policy(loops=LoopLimits(cross_conversation=2))
    for policy, expected in ((Policy(), None), (limited, "QWED-AGENT-LOOP-003")):
        world = World(policy=policy)
        agent = world.register()
        world.prover.says(Status.VERIFIED, Risk.MEDIUM)
        codes = [code_of(world.verify(agent, conversation=f"c{number}")) for number in range(3)]
        world.prover.says(Status.VERIFIED, Risk.LOW)
        low = [code_of(world.verify(agent, calculate("9"), conversation=f"l{number}")) for number in range(5)]
        world.close()

        assert codes == [None, None, expected]
        assert low == [None] * 5


def test_an_unknown_outcome_blocks_the_identical_action_everywhere_until_it_is_settled(world):
    agent = world.register()
    done = world.verify(agent, step=1)
    path = f"/agents/{agent['agent_id']}/activity/{done['activity_id']}/outcome"
    world.call("POST", path, json={"outcome": "unknown"})

    for conversation in ("c", "another"):
        again = world.verify(agent, step=2, conversation=conversation)
        assert code_of(again) == "QWED-AGENT-LOOP-003"
        assert again["error"]["details"]["pattern"] == "unsettled_outcome"
    assert world.verify(agent, calculate("3+3"), 2)["decision"] == "APPROVED"
    assert world.call("POST", f"{path}/settle", json={"outcome": "failure"}).status_code == 200
    assert world.verify(agent, step=3)["decision"] == "APPROVED"


# --- checks 10 to 13: the state ----------------------------------------------------------------------

HASH = "0123456789abcdef" * 4


@pytest.mark.parametrize(
    ("state", "code"),
    [
        ({"pre_action_state_hash": HASH}, "QWED-AGENT-STATE-001"),
        ({"state_source": "git_tree"}, "QWED-AGENT-STATE-001"),
        ({"pre_action_state_hash": HASH, "state_source": ""}, "QWED-AGENT-STATE-001"),
        ({"pre_action_state_hash": "", "state_source": "git_tree"}, "QWED-AGENT-STATE-001"),
        ({"pre_action_state_hash": "", "state_source": ""}, None),
        ({"pre_action_state_hash": None, "state_source": None}, None),
        ({"pre_action_state_hash": HASH.upper(), "state_source": "custom"}, "QWED-AGENT-STATE-002"),
        ({"pre_action_state_hash": HASH + "\n", "state_source": "custom"}, "QWED-AGENT-STATE-002"),
        ({"pre_action_state_hash": HASH[:-1], "state_source": "custom"}, "QWED-AGENT-STATE-002"),
        ({"pre_action_state_hash": f"{HASH}0", "state_source": "custom"}, "QWED-AGENT-STATE-002"),
        ({"pre_action_state_hash": "٠" * 64, "state_source": "custom"}, "QWED-AGENT-STATE-002"),
        ({"pre_action_state_hash": 7, "state_source": "custom"}, "QWED-AGENT-STATE-002"),
        ({"pre_action_state_hash": HASH, "state_source": "Git_Tree"}, "QWED-AGENT-STATE-003"),
        ({"pre_action_state_hash": HASH, "state_source": ["custom"]}, "QWED-AGENT-STATE-003"),
        *(
            ({"pre_action_state_hash": HASH, "state_source": source}, None)
            for source in ("file_tree", "db_snapshot", "conversation_digest", "git_tree", "custom")
        ),
    ],
)
def test_state_fields_are_both_there_and_well_formed_or_both_absent(world, state, code):
    agent = world.register()
    context = {"conversation_id": "c", "step_number": 1, **state}

    assert code_of(world.verify(agent, context=context)) == code


@pytest.mark.parametrize("state", [{}, {"pre_action_state_hash": "", "state_source": ""}])
def test_where_the_guard_is_required_absent_state_fields_are_refused(state):
    world = World(state_required=True)
    agent = world.register()
    without = world.verify(agent, context={"conversation_id": "c", "step_number": 1, **state})
    given = world.verify(agent, context={"conversation_id": "c", "step_number": 1, **STATE})
    world.close()

    assert code_of(without) == "QWED-AGENT-STATE-001"
    assert given["decision"] == "APPROVED"


def interleaved(world, agent, *, pending=()):
    """The same action on the same state at odd steps, other actions between; the codes of the odd ones."""
    codes = []
    for step in range(1, 8):
        world.prover.says(Status.UNCERTAIN if step in pending else Status.VERIFIED)
        query = "same" if step % 2 else f"other {step}"
        context = {"conversation_id": "c", "step_number": step, **STATE}
        answer = world.verify(agent, calculate(query), context=context)
        if step % 2:
            codes.append(code_of(answer))
    return codes


def test_the_third_same_action_on_the_same_state_makes_no_progress(world):
    codes = interleaved(world, world.register())

    assert codes == [None, None, "QWED-AGENT-LOOP-004", "QWED-AGENT-LOOP-004"]


def test_pending_actions_leave_no_fingerprint_for_the_progress_check(world):
    codes = interleaved(world, world.register(), pending=(1, 3))

    assert codes == ["QWED-AGENT-TRUST-002", "QWED-AGENT-TRUST-002", None, None]


def test_the_same_action_on_a_changed_state_is_progress(world):
    agent = world.register()
    for step in range(1, 8):
        state = {"pre_action_state_hash": f"{step:064x}", "state_source": "custom"}
        context = {"conversation_id": "c", "step_number": step, **state}
        query = "same" if step % 2 else f"other {step}"
        assert world.verify(agent, calculate(query), context=context)["decision"] == "APPROVED"


def test_fingerprints_older_than_the_window_of_twenty_are_forgotten(world):
    agent = world.register()

    def propose(step, query):
        context = {"conversation_id": "c", "step_number": step, **STATE}
        return code_of(world.verify(agent, calculate(query), context=context))

    assert propose(1, "same") is None
    assert propose(2, "filler 0") is None
    assert propose(3, "same") is None
    for step in range(4, 22):
        assert propose(step, f"filler {step}") is None

    # Twenty entries back stands the second "same"; the first has left the window.
    assert propose(22, "same") is None
    assert propose(23, "same") == "QWED-AGENT-LOOP-004"


# --- check 14: the budget ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("budget", "usage", "code", "scope"),
    [
        ({"max_daily_cost_usd": 0.005}, {}, "QWED-AGENT-BUDGET-001", "daily_cost"),
        ({"max_per_request_cost_usd": 0.005}, {}, "QWED-AGENT-BUDGET-001", "request_cost"),
        ({}, {"cost_usd": 1}, "QWED-AGENT-BUDGET-001", "request_cost"),
        ({"max_requests_per_hour": 0}, {}, "QWED-AGENT-BUDGET-002", "hourly_requests"),
        ({"max_requests_per_day": 0}, {}, "QWED-AGENT-BUDGET-002", "daily_requests"),
        ({"max_tokens_per_request": 10}, {"tokens": 11}, "QWED-AGENT-BUDGET-003", "request_tokens"),
        ({"max_daily_tokens": 10}, {"tokens": 11}, "QWED-AGENT-BUDGET-003", "daily_tokens"),
        ({}, {"tokens": 4097}, "QWED-AGENT-BUDGET-003", "request_tokens"),
        (
            {"max_daily_cost_usd": 0, "max_requests_per_hour": 0, "max_daily_tokens": 0},
            {"tokens": 1},
            "QWED-AGENT-BUDGET-001",
            "daily_cost",
        ),
        (
            {"max_requests_per_hour": 0, "max_daily_tokens": 0},
            {"tokens": 1},
            "QWED-AGENT-BUDGET-002",
            "hourly_requests",
        ),
    ],
)
def test_each_limit_refuses_with_its_code_and_names_its_scope(world, budget, usage, code, scope):
    agent = world.register(budget=budget)
    response = world.verify_response(agent, usage=usage)
    details = response.json()["error"]["details"]

    assert (response.status_code, code_of(response.json())) == (429, code)
    assert details["scope"] == scope
    assert {"limit", "current", "reset_at", "scope"} <= details.keys()
    assert int(response.headers["Retry-After"]) >= 0


def test_a_limit_is_reached_exactly_and_not_passed(world):
    agent = world.register(budget={"max_daily_cost_usd": 0.03, "max_requests_per_hour": 1000})
    decisions = [world.verify(agent, calculate(str(n)), n)["decision"] for n in range(1, 5)]

    assert decisions == ["APPROVED"] * 3 + ["BUDGET_EXCEEDED"]
    assert world.budget(agent)["cost"]["current_daily_usd"] == 0.03


def test_hours_slide_and_retry_after_says_when(world):
    agent = world.register(budget={"max_requests_per_hour": 2})
    world.verify(agent, calculate("1"), 1)
    world.clock.advance(30 * MINUTE)
    world.verify(agent, calculate("2"), 2)
    world.clock.advance(SECOND)
    refused = world.verify_response(agent, calculate("3"), 3)
    wait = int(refused.headers["Retry-After"])

    assert 29 * 60 <= wait <= 30 * 60 + 1
    world.clock.advance((wait - 2) * SECOND)
    assert world.verify(agent, calculate("3"), 3)["decision"] == "BUDGET_EXCEEDED"
    world.clock.advance(2 * SECOND)
    assert world.verify(agent, calculate("3"), 3)["decision"] == "APPROVED"
    assert world.verify(agent, calculate("4"), 4)["decision"] == "BUDGET_EXCEEDED"


def test_days_are_utc_calendar_days(world):
    agent = world.register(budget={"max_daily_cost_usd": 0.01})
    world.verify(agent, calculate("1"), 1)
    refused = world.verify(agent, calculate("2"), 2)
    assert refused["error"]["details"]["reset_at"] == "2026-04-07T00:00:00.000Z"
    world.clock.advance(12 * HOUR - SECOND)
    assert world.verify(agent, calculate("2"), 2)["decision"] == "BUDGET_EXCEEDED"

    world.clock.advance(SECOND)
    assert world.verify(agent, calculate("2"), 2)["decision"] == "APPROVED"


def test_a_budget_refusal_never_uses_the_step(world):
    agent = world.register(budget={"max_daily_cost_usd": 0.01})
    world.verify(agent, calculate("1"), 1)
    for _ in range(3):
        assert world.verify(agent, calculate("2"), 2)["decision"] == "BUDGET_EXCEEDED"
    world.clock.advance(DAY)

    assert world.verify(agent, calculate("2"), 2)["decision"] == "APPROVED"


def test_usage_is_added_to_the_price_and_pending_is_free_until_redeemed(world):
    agent = world.register()
    world.verify(agent, calculate("1"), 1, usage={"cost_usd": 0.25, "tokens": 100})
    world.prover.says(Status.UNCERTAIN)
    world.verify(agent, calculate("2"), 2, usage={"cost_usd": 0.5, "tokens": 200})
    budget = world.budget(agent)

    assert budget["cost"]["current_daily_usd"] == 0.26
    assert budget["tokens"]["current_daily"] == 100
    assert budget["requests"]["current_day"] == 2


def test_the_answer_says_what_remains(world):
    agent = world.register(budget={"max_daily_cost_usd": 1, "max_daily_tokens": 1000})
    answer = world.verify(agent, usage={"tokens": 300})

    assert answer["budget_remaining"] == {
        "daily_cost_usd": 0.99,
        "hourly_requests": 999,
        "daily_requests": 9999,
        "daily_tokens": 700,
    }


# --- checks 15 to 20: deciding -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["do_arbitrary_thing", "transfer_funds_internal_v2", "Calculate", "security", ""]
)
def test_an_unregistered_type_is_refused_in_the_documents_words_and_never_proven(world, name):
    agent = world.register()
    answer = world.verify(agent, {"type": name, "query": "..."})

    assert answer["decision"] == "DENIED"
    assert answer["error"] == {
        "code": "QWED-AGENT-ACTION-001",
        "message": f"Unknown action_type '{name}' cannot be verified without explicit registered semantics",
    }
    assert "verification" not in answer
    assert world.prover.asked == []


def test_an_engine_outside_the_agents_permissions_is_never_asked(world):
    agent = world.register(permissions={"allowed_engines": ["math"]})
    answer = world.verify(agent, {"type": "execute_sql", "query": "SELECT 1"})

    assert code_of(answer) == "QWED-AGENT-004"
    assert answer["error"]["details"]["engine"] == "sql"
    assert world.prover.asked == []


@pytest.mark.parametrize(
    "blocked", ["send_email", "SEND_EMAIL", "ｓend_email", "send\u200b_email", "sеnd_email"]
)
def test_a_blocked_type_is_refused_however_its_block_is_written(world, blocked):
    agent = world.register(type="trusted", permissions={"blocked_tools": [blocked]})

    assert code_of(world.verify(agent, {"type": "send_email"})) == "QWED-AGENT-004"


def test_an_agents_own_tool_is_an_action_of_medium_risk(world):
    agent = world.register(type="supervised", permissions={"allowed_tools": ["fetch_report"]})
    answer = world.verify(agent, {"type": "fetch_report"})

    assert answer["decision"] == "PENDING"
    assert answer["verification"]["engine"] == "tool_control"
    assert answer["verification"]["risk_level"] == "medium"


MATRIX = {
    0: ("PENDING", "DENIED", "DENIED", "DENIED"),
    1: ("APPROVED", "PENDING", "DENIED", "DENIED"),
    2: ("APPROVED", "APPROVED", "PENDING", "DENIED"),
    3: ("APPROVED", "APPROVED", "APPROVED", "APPROVED"),
}


@pytest.mark.parametrize("trust", MATRIX)
@pytest.mark.parametrize("risk", Risk)
def test_the_matrix_of_trust_and_risk_decides_what_was_verified(world, trust, risk):
    agent = world.register(type="trusted", trust_level=trust)
    world.prover.says(Status.VERIFIED, risk)
    answer = world.verify(agent)

    assert answer["decision"] == MATRIX[trust][risk]
    expected = {"PENDING": "QWED-AGENT-TRUST-002", "DENIED": "QWED-AGENT-TRUST-001"}
    assert code_of(answer) == expected.get(answer["decision"])
    assert ("approval" in answer) == (answer["decision"] == "PENDING")
    assert ("attestation" in answer) == (answer["decision"] == "APPROVED" and risk >= Risk.HIGH)


def test_the_types_own_risk_is_a_floor_under_what_the_engine_says(world):
    agent = world.register()
    world.prover.says(Status.VERIFIED, Risk.LOW)
    answer = world.verify(agent, {"type": "file_write", "target": "a.txt"})

    assert (answer["decision"], answer["verification"]["risk_level"]) == ("PENDING", "high")


def test_a_failed_action_is_denied_at_every_trust_and_says_which_kind_it_is(world):
    agent = world.register(type="trusted")
    world.prover.says(Status.FAILED, Risk.LOW, failure=Failure.FORBIDDEN, reason="it would do harm")
    answer = world.verify(agent)

    assert (answer["decision"], code_of(answer)) == ("DENIED", "QWED-AGENT-005")
    assert answer["verification"]["failure"] == "forbidden"
    assert answer["error"]["message"] == "it would do harm"


def test_the_principal_hears_of_a_failed_action(world):
    from qwed.gateway.kernel.events import Subscription

    heard = Subscription("acme", None, lambda: None)
    world.services.events.subscribe(heard)
    agent = world.register()
    world.prover.says(Status.FAILED, failure=Failure.INCORRECT)
    world.verify(agent)

    decisions = [event for event in heard.take() if event["type"] == "decision"]
    assert [(event["decision"], event["failed"]) for event in decisions] == [("DENIED", True)]


@pytest.mark.parametrize("trust", [0, 1, 2, 3])
def test_what_could_not_be_proven_waits_for_a_person_at_every_trust(world, trust):
    agent = world.register(type="trusted", trust_level=trust)
    world.prover.says(Status.UNCERTAIN)

    assert world.verify(agent)["decision"] == "PENDING"


def correct(world, risk=Risk.LOW):
    from qwed.domain.actions import Action

    world.prover.says(Status.CORRECTED, risk, corrected=Action("calculate", "2+2=4"))


def test_a_correction_at_low_risk_is_answered_with_the_corrected_action(world):
    agent = world.register()
    correct(world)
    answer = world.verify(agent, calculate("2+2=5"))

    assert answer["decision"] == "CORRECTED"
    assert answer["corrected_action"] == {"type": "calculate", "query": "2+2=4"}
    assert "error" not in answer


@pytest.mark.parametrize(
    ("trust", "risk"), [(0, Risk.LOW), (2, Risk.MEDIUM), (3, Risk.MEDIUM), (3, Risk.CRITICAL)]
)
def test_any_other_correction_waits_on_the_corrected_action(world, trust, risk):
    agent = world.register(type="trusted", trust_level=trust)
    correct(world, risk)
    answer = world.verify(agent, calculate("2+2=5"))

    assert answer["decision"] == "PENDING"
    assert answer["corrected_action"] == {"type": "calculate", "query": "2+2=4"}
    approval = world.call("GET", answer["approval"]["url"]).json()
    assert approval["action"] == {"type": "calculate", "query": "2+2=4"}


@pytest.mark.parametrize(
    ("threshold", "risk", "decision"),
    [
        ("low", Risk.MEDIUM, "PENDING"),
        ("low", Risk.LOW, "APPROVED"),
        ("medium", Risk.HIGH, "PENDING"),
        ("high", Risk.CRITICAL, "PENDING"),
        ("critical", Risk.CRITICAL, "APPROVED"),
    ],
)
def test_a_threshold_turns_what_is_above_it_into_pending(world, threshold, risk, decision):
    agent = world.register(type="trusted")
    world.prover.says(Status.VERIFIED, risk)

    assert world.verify(agent, options={"risk_threshold": threshold})["decision"] == decision


def test_a_threshold_never_loosens(world):
    agent = world.register(type="supervised")
    world.prover.says(Status.VERIFIED, Risk.HIGH)

    assert world.verify(agent, options={"risk_threshold": "critical"})["decision"] == "DENIED"


def test_denied_cells_may_wait_for_a_person_where_the_policy_says_so():
    from qwed.domain.policy import DeniedCells

    world = World(policy=Policy(denied_cells=DeniedCells.PENDING))
    agent = world.register(type="supervised")
    world.prover.says(Status.VERIFIED, Risk.CRITICAL)
    answer = world.verify(agent)
    world.close()

    assert answer["decision"] == "PENDING"


# --- attestations ------------------------------------------------------------------------------------


def test_an_attestation_is_bound_to_action_agent_and_activity(world):
    agent = world.register(type="trusted")
    world.prover.says(Status.VERIFIED, Risk.HIGH)
    answer = world.verify(agent, step=3)
    checked = world.call(
        "POST", "/attestations/verify", key=None, json={"attestation": answer["attestation"]}
    )
    claims = checked.json()["claims"]

    assert checked.status_code == 200
    assert claims["sub"].startswith("sha256:") and len(claims["sub"]) == 71
    assert claims["jti"].startswith("att_")
    assert claims["iss"] == "did:qwed:node:test"
    assert claims["qwed"]["agent"] == {
        "did": agent["did"],
        "decision": "APPROVED",
        "conversation_id": "c",
        "step_number": 3,
        "activity_id": answer["activity_id"],
    }
    entry = world.decisions(agent)[0]
    assert entry["attestation_id"] == claims["jti"]


@pytest.mark.parametrize("option", [True, False])
def test_below_high_risk_an_attestation_comes_when_asked_for(world, option):
    agent = world.register()
    answer = world.verify(agent, options={"require_attestation": option})

    assert ("attestation" in answer) == option


def test_a_pending_action_has_no_attestation_even_when_asked_for(world):
    agent = world.register()
    world.prover.says(Status.UNCERTAIN)

    assert "attestation" not in world.verify(agent, options={"require_attestation": True})


def test_what_cannot_be_attested_is_denied_and_uses_no_step():
    world = World(signer=BrokenSigner())
    agent = world.register(type="trusted")
    response = world.verify_response(agent, options={"require_attestation": True})
    answer = response.json()
    spent = world.budget(agent)["cost"]["current_daily_usd"]
    plain = world.verify(agent)
    world.close()

    assert (response.status_code, answer["decision"]) == (200, "DENIED")
    assert code_of(answer) == "QWED-ATTESTATION-001"
    assert "attestation" not in answer
    assert spent == 0
    assert plain["decision"] == "APPROVED"


# --- Idempotency-Key ---------------------------------------------------------------------------------


def test_a_request_repeated_under_its_key_gets_the_recorded_answer(world):
    agent = world.register()
    first = world.verify_response(agent, headers={"Idempotency-Key": "k1"})
    again = world.verify_response(agent, headers={"Idempotency-Key": "k1"})

    assert again.json() == first.json()
    assert again.headers["Idempotency-Replayed"] == "true"
    assert len(world.decisions(agent)) == 1
    assert world.budget(agent)["requests"]["current_day"] == 1


def test_another_key_another_body_or_no_key_is_a_new_request(world):
    agent = world.register()
    world.verify(agent, headers={"Idempotency-Key": "k1"})

    assert code_of(world.verify(agent, headers={"Idempotency-Key": "k2"})) == "QWED-AGENT-LOOP-002"
    assert code_of(world.verify(agent)) == "QWED-AGENT-LOOP-002"
    other = world.verify(agent, calculate("9"), 2, headers={"Idempotency-Key": "k1"})
    assert other["decision"] == "APPROVED"


def test_a_key_is_the_agents_own(world):
    one, other = world.register(), world.register()
    world.verify(one, headers={"Idempotency-Key": "k"})
    second = world.verify_response(other, headers={"Idempotency-Key": "k"})

    assert "Idempotency-Replayed" not in second.headers
    assert second.json()["decision"] == "APPROVED"


def test_an_answer_is_kept_for_sixty_seconds(world):
    agent = world.register()
    first = world.verify(agent, headers={"Idempotency-Key": "k"})
    world.clock.advance(59_999)
    assert world.verify(agent, headers={"Idempotency-Key": "k"}) == first

    world.clock.advance(1)
    late = world.verify(agent, headers={"Idempotency-Key": "k"})
    assert code_of(late) == "QWED-AGENT-LOOP-002"


def test_a_refusal_is_recorded_under_its_key_too(world):
    agent = world.register(budget={"max_requests_per_hour": 0})
    first = world.verify_response(agent, headers={"Idempotency-Key": "k"})
    again = world.verify_response(agent, headers={"Idempotency-Key": "k"})

    assert first.status_code == again.status_code == 429
    assert again.json() == first.json()


def test_a_suspended_agent_gets_no_recorded_approval(world):
    agent = world.register()
    world.verify(agent, headers={"Idempotency-Key": "k"})
    world.call("POST", f"/agents/{agent['agent_id']}/suspend", json={})

    assert code_of(world.verify(agent, headers={"Idempotency-Key": "k"})) == "QWED-AGENT-003"


@pytest.mark.parametrize("key", ["", "x" * 257])
def test_an_empty_or_endless_key_is_named(world, key):
    agent = world.register()
    response = world.verify_response(agent, headers={"Idempotency-Key": key})

    assert response.status_code == 422
    assert response.json()["error"]["details"]["field"] == "Idempotency-Key"


# --- shapes ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "action"),
        ({"action": None}, "action"),
        ({"action": {}}, "action.type"),
        ({"action": {"type": 7}}, "action.type"),
        ({"action": {"type": "a", "action_type": "b"}}, "action.action_type"),
        ({"action": {"type": "x" * 257}}, "action.type"),
        ({"action": {"type": "calculate", "query": 7}}, "action.query"),
        ({"action": {"type": "calculate", "code": []}}, "action.code"),
        ({"action": {"type": "calculate", "target": {}}}, "action.target"),
        ({"action": calculate(), "options": {"risk_threshold": "HIGH"}}, "options.risk_threshold"),
        ({"action": calculate(), "options": {"require_attestation": 1}}, "options.require_attestation"),
        ({"action": calculate(), "usage": {"cost_usd": -1}}, "usage.cost_usd"),
        ({"action": calculate(), "usage": {"tokens": -1}}, "usage.tokens"),
        ({"action": calculate(), "usage": {"tokens": 1.5}}, "usage.tokens"),
        ({"action": calculate(), "usage": {"cost_usd": "NaN"}}, "usage.cost_usd"),
        ({"action": calculate(), "usage": {"cost_usd": 1e10}}, "usage.cost_usd"),
        ({"action": calculate(), "agent_id": "agent_other"}, "agent_id"),
        ({"action": calculate(), "context": {"user_intent": 7}}, "context.user_intent"),
    ],
)
def test_any_other_wrong_shape_is_a_422_that_names_the_field(world, body, field):
    agent = world.register()
    response = world.call("POST", f"/agents/{agent['agent_id']}/verify", json=body)
    error = response.json()["error"]

    assert response.status_code == 422
    assert error["code"] == "QWED-REQUEST-001"
    assert error["details"]["field"] == field


@pytest.mark.parametrize(
    "body",
    [
        {"action": calculate(), "surprise": 1},
        {"action": calculate(surprise=1)},
        {"action": calculate(), "options": {"surprise": 1}},
        {"action": calculate(), "usage": {"surprise": 1}},
    ],
)
def test_a_field_the_shapes_do_not_name_is_named(world, body):
    agent = world.register()
    response = world.call("POST", f"/agents/{agent['agent_id']}/verify", json=body)

    assert response.status_code == 422
    assert response.json()["error"]["details"]["field"].rpartition(".")[2] == "surprise"


def test_the_type_may_be_called_action_type(world):
    agent = world.register()

    assert world.verify(agent, {"action_type": "calculate", "query": "1"})["decision"] == "APPROVED"


def test_a_rate_for_each_credential_is_kept_where_the_policy_sets_one():
    world = World(policy=Policy(limits=Limits(requests_per_credential=RateLimit(5, 10.0))))
    agent = world.register()
    responses = [world.verify_response(agent, calculate(str(n)), n) for n in range(1, 7)]
    token = world.verify_response(agent, calculate("token"), 9, key=agent["agent_token"])
    world.close()

    assert [response.status_code for response in responses] == [200] * 4 + [429] * 2
    assert code_of(responses[-1].json()) == "QWED-RATE-001"
    assert token.status_code == 200
