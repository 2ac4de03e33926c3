"""What was written under the first version of the fingerprint is compared under it, in every store."""

import pytest
from tests.support.records import (
    an_activity,
    an_agent,
    an_attempt,
    an_outcome,
    decided,
    fingerprint_of,
    noted,
)

from qwed.domain.codes import Code, Refusal
from qwed.domain.fingerprints import is_older
from qwed.domain.outcomes import OutcomeResult
from qwed.domain.policy import LoopLimits, Policy
from qwed.gateway.kernel.coroutines import run
from qwed.gateway.kernel.records import Crossing


def older_of(what):
    return fingerprint_of(what)[1:]


def attempt(step, what, conversation="c"):
    return an_attempt(step, what, conversation, older=older_of(what))


@pytest.fixture
def agent(shelf):
    agent = an_agent()
    run(shelf.store.commit(noted(agent, shelf.now, agent=agent)))
    return agent


def admit(shelf, agent, asked):
    return run(shelf.store.admit(agent, asked, shelf.now))


def act(shelf, agent, asked, fingerprint=None):
    """Admitted and committed, in the version of its conversation unless another is given."""
    admission = admit(shelf, agent, asked)
    assert not isinstance(admission, Refusal), admission
    previous = admission.previous
    before = previous.fingerprint if previous is not None else b""
    written = an_attempt(
        asked.step,
        conversation=asked.conversation_id,
        fingerprint=fingerprint or (asked.older if is_older(before) else asked.fingerprint),
    )
    run(shelf.store.commit(decided(agent, written, admission), admission))
    return written.fingerprint


def pattern_of(answer):
    assert isinstance(answer, Refusal)
    return answer.code, (answer.details or {}).get("pattern")


def test_a_conversation_of_the_first_version_still_sees_its_repeats_and_goes_on_in_it(shelf, agent):
    act(shelf, agent, attempt(1, "x"), older_of("x"))
    assert is_older(act(shelf, agent, attempt(2, "x")))
    assert pattern_of(admit(shelf, agent, attempt(3, "x"))) == (Code.LOOP_REPEAT, "repeat")
    assert is_older(act(shelf, agent, attempt(3, "y")))


def test_a_conversation_of_the_second_version_is_written_in_it(shelf, agent):
    assert not is_older(act(shelf, agent, attempt(1, "x")))
    assert not is_older(act(shelf, agent, attempt(2, "x")))
    assert pattern_of(admit(shelf, agent, attempt(3, "x"))) == (Code.LOOP_REPEAT, "repeat")


def test_a_cycle_that_began_under_the_first_version_is_noticed(shelf, agent):
    for step in range(1, 11):
        what = "ab"[step % 2]
        act(shelf, agent, attempt(step, what), older_of(what) if step == 1 else None)
    assert pattern_of(admit(shelf, agent, attempt(11, "b"))) == (Code.LOOP_REPEAT, "cycle")


@pytest.mark.parametrize("version", [older_of, fingerprint_of])
def test_an_unknown_outcome_blocks_the_action_under_the_version_it_was_written_in(shelf, agent, version):
    activity = an_activity(agent, shelf.now, fingerprint=version("x"))
    run(shelf.store.commit(noted(agent, shelf.now, outcome=an_outcome(activity, OutcomeResult.UNKNOWN))))
    assert pattern_of(admit(shelf, agent, attempt(1, "x", "new"))) == (Code.LOOP_REPEAT, "unsettled_outcome")
    assert not isinstance(admit(shelf, agent, attempt(1, "y", "other")), Refusal)


def test_crossings_of_both_versions_count_together(shelve):
    shelf = shelve(Policy(loops=LoopLimits(cross_conversation=2)))
    agent = an_agent()
    run(shelf.store.commit(noted(agent, shelf.now, agent=agent)))
    for number, fingerprint in enumerate((older_of("x"), fingerprint_of("x"))):
        asked = attempt(1, "x", f"c{number}")
        admission = admit(shelf, agent, asked)
        crossing = Crossing(agent.agent_id, fingerprint, asked.conversation_id, shelf.now)
        written = an_attempt(1, conversation=asked.conversation_id, fingerprint=fingerprint)
        record = decided(agent, written, admission, crossing=crossing)
        run(shelf.store.commit(record, admission))
    assert pattern_of(admit(shelf, agent, attempt(1, "x", "c9"))) == (Code.LOOP_REPEAT, "cross_conversation")
