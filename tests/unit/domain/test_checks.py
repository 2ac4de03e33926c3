"""Which of the numbered checks decided, read from the record."""

import pytest

from qwed.domain.checks import CHECKS, CheckState, Ran, checks_of
from qwed.domain.codes import Code
from qwed.domain.decisions import Decision


def states(decision, code=None, *, conversation=True, examined=False, grant=False):
    ran = Ran(decision, code, conversation, examined, grant)
    return {row.number: state for row, state in checks_of(ran)}


def test_the_checks_are_those_of_the_protocol_in_its_order():
    assert [row.number for row in CHECKS] == list(range(1, 21))


@pytest.mark.parametrize(
    ("code", "number", "examined"),
    [
        (Code.AGENT_SUSPENDED, 3, False),
        (Code.CONTEXT_MISSING, 4, False),
        (Code.LOOP_REPEAT, 9, False),
        (Code.BUDGET_TOKENS, 14, False),
        (Code.ACTION_UNKNOWN, 15, False),
        (Code.VERIFICATION_FAILED, 17, True),
        (Code.TRUST_INSUFFICIENT, 18, True),
    ],
    ids=lambda value: str(value)[-9:],
)
def test_a_refusal_is_decided_by_its_check_and_nothing_after_it_ran(code, number, examined):
    found = states(Decision.DENIED, code, examined=examined)

    assert found[number] is CheckState.DECIDED
    assert {found[n] for n in range(1, number)} == {CheckState.PASSED}
    assert {found[n] for n in range(number + 1, 21)} == {CheckState.NOT_REACHED}


def test_an_approval_passes_every_check_but_the_question():
    found = states(Decision.APPROVED, examined=True)

    assert found[20] is CheckState.DECIDED
    assert found[19] is CheckState.NOT_APPLICABLE
    assert all(found[n] is CheckState.PASSED for n in range(1, 19))


def test_what_waits_is_decided_by_the_question():
    assert states(Decision.PENDING, Code.APPROVAL_REQUIRED, examined=True)[19] is CheckState.DECIDED


def test_a_tool_call_without_a_conversation_skips_what_only_a_conversation_has():
    found = states(Decision.APPROVED, conversation=False, examined=True)

    assert {n for n, state in found.items() if state is CheckState.NOT_APPLICABLE} == {
        4, 5, 6, 8, 9, 10, 11, 12, 13, 19,
    }  # fmt: skip


def test_a_grant_looks_at_suspension_and_budget_again():
    found = states(Decision.APPROVED, examined=True, grant=True)

    assert {n for n, state in found.items() if state is CheckState.PASSED} == {1, 2, 3, 14}


@pytest.mark.parametrize("code", [Code.AGENT_SUSPENDED, Code.LOOP_REPLAY, Code.BUDGET_REQUESTS], ids=str)
def test_what_changed_while_it_was_recorded_is_decided_last(code):
    """The engine had been asked already, so the early check had passed once."""
    found = states(Decision.DENIED, code, examined=True)

    assert found[20] is CheckState.DECIDED
    assert found[17] is CheckState.PASSED


def test_a_code_of_another_kind_is_shown_at_the_end():
    assert states(Decision.DENIED, "QWED-UNHEARD-OF")[20] is CheckState.DECIDED


def test_a_change_by_a_person_went_through_no_checks():
    assert states("NOTED") == {}
