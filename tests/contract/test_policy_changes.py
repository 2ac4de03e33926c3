"""What is in force is a row of the store: every decision carries its number, and an older one is refused."""

import threading
from concurrent.futures import ThreadPoolExecutor

import msgspec
import pytest
from tests.contract.test_stores import DURABLE
from tests.support.records import an_agent, an_attempt, decided, noted
from tests.support.tiers import scale

from qwed.domain.policy import DEFAULT_POLICY, ApprovalRules
from qwed.domain.policy_changes import ChangeKind, PolicyChange, Stop, StopScope
from qwed.gateway.kernel.coroutines import run
from qwed.gateway.kernel.ports import PolicyMoved


def a_change(number: int, at_ms: int, **changes) -> PolicyChange:
    values = {
        "number": number,
        "kind": ChangeKind.APPLY,
        "at_ms": at_ms,
        "by": "key_1",
        "reason": f"reason {number}",
        "policy_at": number,
        "version": DEFAULT_POLICY.version,
        "source": "store",
        "text": "profile: standard\n",
        "policy": DEFAULT_POLICY.to_wire(),
        **changes,
    }
    return PolicyChange(**values)


def put(shelf, agent, number, **changes):
    change = a_change(number, shelf.now, **changes)
    shelf.commit(noted(agent, shelf.now, policy_change=change))
    return change


def take_under(shelf, agent, attempt, number):
    admission = shelf.admit(agent, attempt)
    record = msgspec.structs.replace(decided(agent, attempt, admission), policy_number=number)
    try:
        return shelf.commit(record, admission)
    finally:
        run(shelf.store.release(admission))


def test_a_store_begins_without_a_change(shelf):
    assert run(shelf.store.policy_change()) is None
    assert run(shelf.store.policy_changes(None, 10)) == []


def test_the_newest_change_is_in_force_and_all_are_kept(shelf):
    agent = shelf.add(an_agent())
    stop = Stop(StopScope.TOOL, "send_email", "a leak", "key_2", shelf.now)
    first = put(shelf, agent, 1)
    second = put(shelf, agent, 2, kind=ChangeKind.STOP, policy=None, text=None, policy_at=1, stops=(stop,))

    assert run(shelf.store.policy_change()) == second
    assert run(shelf.store.policy_change(1)) == first
    assert run(shelf.store.policy_change(3)) is None
    assert run(shelf.store.policy_changes(None, 10)) == [second, first]
    assert run(shelf.store.policy_changes(2, 10)) == [first]
    assert run(shelf.store.policy_changes(None, 1)) == [second]


@pytest.mark.parametrize("kind", DURABLE)
def test_what_is_in_force_survives_a_restart(shelf):
    agent = shelf.add(an_agent())
    change = put(shelf, agent, 1)
    shelf.reopen()

    assert run(shelf.store.policy_change()) == change
    with pytest.raises(PolicyMoved):
        take_under(shelf, agent, an_attempt(), 0)


def test_a_decision_under_another_change_is_refused_and_holds_nothing(shelf):
    agent = shelf.add(an_agent())
    assert take_under(shelf, agent, an_attempt(1), 0) is None
    put(shelf, agent, 1)
    for number in (0, 2):
        with pytest.raises(PolicyMoved):
            take_under(shelf, agent, an_attempt(2), number)

    assert take_under(shelf, agent, an_attempt(2), 1) is None
    assert shelf.spent(agent).in_flight == 0
    assert not run(shelf.store.differences(["policy_changes"]))


def test_a_refused_decision_with_an_approval_leaves_nothing_behind(shelf):
    from tests.support.records import an_approval

    agent = shelf.add(an_agent())
    put(shelf, agent, 1)
    attempt = an_attempt(1)
    admission = shelf.admit(agent, attempt)
    approval = an_approval(agent, shelf.now)
    record = decided(agent, attempt, admission, approved=False, approval=approval)
    with pytest.raises(PolicyMoved):
        shelf.commit(msgspec.structs.replace(record, policy_number=0), admission)
    run(shelf.store.release(admission))

    assert run(shelf.store.approval(approval.approval_id)) is None
    assert take_under(shelf, agent, attempt, 1) is None


def test_what_no_policy_decides_is_written_whatever_is_in_force(shelf):
    agent = shelf.add(an_agent())
    put(shelf, agent, 1)

    assert shelf.commit(noted(agent, shelf.now)) is None


def test_of_two_changes_from_the_same_state_one_is_taken(shelf):
    agent = shelf.add(an_agent())
    put(shelf, agent, 1)
    for number in (1, 3):
        with pytest.raises(PolicyMoved):
            put(shelf, agent, number)

    assert [change.number for change in run(shelf.store.policy_changes(None, 10))] == [1]


def test_the_limits_of_another_policy_hold_at_once(shelf):
    agent = shelf.add(an_agent())
    from tests.support.records import an_approval

    tight = msgspec.structs.replace(DEFAULT_POLICY, approvals=ApprovalRules(max_open=1))
    shelf.store.use_policy(tight)
    first = shelf.take(agent, an_attempt(1), approved=False, approval=an_approval(agent, shelf.now))
    second = shelf.take(agent, an_attempt(2), approved=False, approval=an_approval(agent, shelf.now))

    assert first is None
    assert second is not None and second.details["scope"] == "approvals"


def test_no_decision_under_an_older_change_follows_a_change_in_the_ledger(shelf):
    """Many decide while somebody changes what is in force, again and again."""
    agents = [shelf.add(an_agent()) for _ in range(4)]
    changes, over = scale(ci=8, nightly=50, long=200), threading.Event()
    known = [0]

    def decide(agent) -> list[tuple[str, int]]:
        done, step = [], 0
        while not over.is_set():
            step += 1
            number, attempt = known[0], an_attempt(1, conversation=f"c{step}")
            admission = shelf.admit(agent, attempt)
            record = msgspec.structs.replace(decided(agent, attempt, admission), policy_number=number)
            try:
                shelf.commit(record, admission)
                done.append((record.activity.activity_id, number))
            except PolicyMoved:
                pass
            finally:
                run(shelf.store.release(admission))
        return done

    with ThreadPoolExecutor(len(agents)) as pool:
        running = [pool.submit(decide, agent) for agent in agents]
        changed = []
        for number in range(1, changes + 1):
            record = noted(agents[0], shelf.now, policy_change=a_change(number, shelf.now))
            shelf.commit(record)
            changed.append(record.activity.activity_id)
            known[0] = number
        over.set()
        decisions = [pair for future in running for pair in future.result()]
    run(shelf.store.ledger_state())
    position = {number: place(shelf, name) for number, name in enumerate(changed, start=1)}

    assert list(position.values()) == sorted(position.values())
    for activity_id, number in decisions:
        at = place(shelf, activity_id)
        assert position.get(number, 0) < at < position.get(number + 1, 2**62)


def place(shelf, subject) -> int:
    found = run(shelf.store.evidence.position(subject))
    assert found is not None
    return found
