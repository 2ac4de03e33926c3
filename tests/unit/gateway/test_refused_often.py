"""Refusals count: beyond a number in an hour they are counted and stated, not recorded one by one."""

import json

import pytest
from tests.support.fakes import HOUR, MINUTE
from tests.support.world import World, calculate, code_of
from tests.unit.gateway.decide.test_execution_context import Pen

from qwed.domain.findings import Failure, Status
from qwed.domain.policy import Limits, Policy
from qwed.domain.risk import Risk
from qwed.ect import KeyRing, generate
from qwed.gateway.decide.refused_often import state_refusals
from qwed.gateway.kernel.coroutines import run
from qwed.gateway.kernel.masks import MAX_REFUSED

LIMIT = 3


@pytest.fixture
def world():
    world = World(policy=Policy(limits=Limits(refusals_per_hour=LIMIT)))
    yield world
    world.close()


def refuse(world, agent, count=1, **named):
    return [world.verify_response(agent, context={"x": 1}, **named) for _ in range(count)]


def stated(world, agent):
    entries = world.activity(agent, limit=1000)["activities"]
    return [e["action"]["parameters"] for e in entries if e["action_type"] == "count_refusals"]


def test_beyond_the_limit_a_refusal_has_no_decision_and_no_entry_and_says_when_to_come_again(world):
    agent = world.register()
    *recorded, counted = refuse(world, agent, LIMIT + 1)
    assert [code_of(answer.json()) for answer in recorded] == ["QWED-AGENT-CTX-001"] * LIMIT
    assert counted.status_code == 429
    body = counted.json()
    assert code_of(body) == "QWED-RATE-001"
    assert body.keys() == {"error"}
    assert body["error"]["details"]["refused_by"] == "QWED-AGENT-CTX-001"
    assert 0 < int(counted.headers["Retry-After"]) <= 3600
    assert len(world.decisions(agent)) == LIMIT


def test_a_request_that_is_in_order_still_passes(world):
    agent = world.register()
    refuse(world, agent, LIMIT + 2)
    assert world.verify(agent)["decision"] == "APPROVED"
    assert refuse(world, agent)[0].status_code == 429


def test_another_agent_of_the_same_principal_is_not_concerned(world):
    agent, other = world.register(), world.register()
    refuse(world, agent, LIMIT + 1)
    assert code_of(refuse(world, other)[0].json()) == "QWED-AGENT-CTX-001"


def test_after_the_hour_refusals_are_recorded_again(world):
    agent = world.register()
    refuse(world, agent, LIMIT + 1)
    world.clock.advance(HOUR)
    assert code_of(refuse(world, agent)[0].json()) == "QWED-AGENT-CTX-001"


def test_both_doors_and_every_early_check_count_together(world):
    agent = world.register()
    path = f"/agents/{agent['agent_id']}/tools/get_weather"
    world.call("POST", path, json={"parameters": {}, "context": {"conversation_id": " "}})
    world.verify(agent, step=0)
    world.verify(agent, step=51)
    answer = world.call("POST", path, json={"parameters": {}, "context": {"conversation_id": "c"}})
    assert (answer.status_code, code_of(answer.json())) == (429, "QWED-RATE-001")


def test_a_suspended_agent_cannot_fill_the_record(world):
    agent = world.register()
    world.call("POST", f"/agents/{agent['agent_id']}/suspend", json={"reason": "test"})
    answers = [world.verify_response(agent).status_code for _ in range(LIMIT + 1)]
    assert answers == [403] * LIMIT + [429]


def test_one_entry_a_minute_states_count_codes_first_and_last(world):
    agent = world.register()
    refuse(world, agent, LIMIT + 2)
    world.verify_response(agent, step=0)
    world.clock.advance(2 * MINUTE)
    run(state_refusals(world.services))
    run(state_refusals(world.services))
    (entry,) = stated(world, agent)
    assert entry["count"] == 3
    assert entry["codes"] == {"QWED-AGENT-CTX-001": 2, "QWED-AGENT-CTX-002": 1}
    assert entry["first"] <= entry["last"]
    proof = world.call("GET", "/ledger/entries", params={"limit": 1000}).json()
    ids = [e["activity_id"] for e in world.activity(agent, limit=1000)["activities"]]
    assert {e["subject"] for e in proof["entries"]} >= set(ids)


def test_without_a_sweeper_the_next_refusal_states_the_minute_before(world):
    agent = world.register()
    refuse(world, agent, LIMIT + 2)
    world.clock.advance(2 * MINUTE)
    refuse(world, agent)
    assert [entry["count"] for entry in stated(world, agent)] == [2]


def test_what_an_engine_or_a_later_check_refuses_is_always_recorded(world):
    agent = world.register()
    refuse(world, agent, LIMIT + 1)
    world.prover.says(Status.FAILED, Risk.CRITICAL, failure=Failure.INCORRECT)
    before = len(world.decisions(agent))
    for step in range(1, LIMIT + 3):
        answer = world.verify(agent, calculate(f"{step}+1"), step=step, conversation=f"d{step}")
        assert code_of(answer) == "QWED-AGENT-005"
    assert code_of(world.verify(agent, {"type": "no_such_type"}, conversation="e")) == "QWED-AGENT-ACTION-001"
    assert len(world.decisions(agent)) == before + LIMIT + 3


def test_checks_13_16_and_18_are_always_recorded(world):
    agent = world.register(permissions={"blocked_tools": ["get_weather"]})
    refuse(world, agent, LIMIT + 1)
    before = len(world.decisions(agent))
    state = {"pre_action_state_hash": "a" * 64, "state_source": "custom"}
    for step, query in enumerate(("1", "2", "1", "3", "1", "4", "1", "5"), start=1):
        context = {"conversation_id": "p", "step_number": step, **state}
        last = world.verify(agent, calculate(query), context=context)
        if code_of(last) is not None:
            break
    assert code_of(last) == "QWED-AGENT-LOOP-004"
    world.prover.says(Status.VERIFIED, Risk.CRITICAL)
    for number in range(LIMIT + 1):
        answer = world.verify(agent, {"type": "get_weather"}, conversation=f"b{number}")
        assert code_of(answer) == "QWED-AGENT-004"
        answer = world.verify(agent, calculate(f"{number}"), conversation=f"t{number}")
        assert code_of(answer) in ("QWED-AGENT-TRUST-001", "QWED-AGENT-TRUST-002")
    assert len(world.decisions(agent)) == before + step + 2 * (LIMIT + 1)


def test_a_forged_token_is_always_recorded(world):
    pen = Pen(world)
    refuse(world, pen.agent, LIMIT + 1)
    before = len(world.decisions(pen.agent))
    genuine = pen.ring
    pen.ring = KeyRing(pen.did, generate())
    forged = pen.token()
    # Signed by another key under the name of the registered one.
    pen.ring = genuine
    head, body, _ = pen.token().split(".")
    answer = pen.verify(f"{head}.{body}.{forged.rsplit('.', 1)[1]}")
    assert answer.status_code == 403
    assert code_of(answer.json()) == "QWED-ECT-001"
    assert len(world.decisions(pen.agent)) == before + 1


def test_a_request_under_an_idempotency_key_is_not_remembered_as_refused_too_often(world):
    agent = world.register()
    refuse(world, agent, LIMIT)
    headers = {"Idempotency-Key": "k"}
    assert refuse(world, agent, headers=headers)[0].status_code == 429
    world.clock.advance(HOUR)
    assert refuse(world, agent, headers=headers)[0].status_code == 200


def entry_of(world, agent):
    return world.decisions(agent)[0]


@pytest.mark.parametrize("filler", ["x", '"', "\\", "é", "\n"])
def test_a_refusal_keeps_two_kilobytes_of_the_action_and_its_hash(world, filler):
    agent = world.register()
    action = calculate(filler * 30_000, parameters={"note": filler * 30_000})
    world.verify(agent, action, context={"step_number": 1, "more": filler * 30_000})
    entry = entry_of(world, agent)
    for kept in (entry["action"], entry["context"]):
        assert len(json.dumps(kept, ensure_ascii=False, separators=(",", ":")).encode()) <= MAX_REFUSED
        assert len(kept["sha256"]) == 64
        assert kept["bytes"] > 16_000
    assert entry["action"]["type"] == "calculate"
    assert len(entry["action_hash"]) == 64
    assert len(json.dumps(entry, ensure_ascii=False).encode()) < 6_000


def test_a_short_action_is_kept_as_it_is_when_it_is_refused(world):
    agent = world.register()
    world.verify(agent, calculate("2+2", parameters={"unit": "m"}), step=0)
    assert entry_of(world, agent)["action"] == calculate("2+2", parameters={"unit": "m"})


def test_what_an_engine_looked_at_is_kept_whole(world):
    agent = world.register()
    world.prover.says(Status.FAILED, Risk.LOW, failure=Failure.INCORRECT)
    world.verify(agent, calculate("1+" * 5_000 + "1"))
    assert entry_of(world, agent)["action"]["query"] == "1+" * 5_000 + "1"


def test_a_secret_that_would_be_cut_in_two_is_not_kept_in_part(world):
    agent = world.register()
    secret = "ghp_" + "a1B2c3D4e5" * 4
    for room in range(1_600, 2_050, 10):
        world.verify(agent, calculate("y" * room + " " + secret), step=0)
        assert secret[:12] not in json.dumps(world.decisions(agent)[:1])
        world.clock.advance(HOUR)
