"""The numbered checks of the agent protocol (section 3), and how far a recorded decision came."""

import enum
from collections.abc import Mapping
from typing import Final

import msgspec

from qwed.domain.codes import Code
from qwed.domain.decisions import Decision


class CheckRow(msgspec.Struct, frozen=True):
    number: int
    title: str
    codes: tuple[Code, ...] = ()


CHECKS: Final = (
    CheckRow(1, "The credential is valid"),
    CheckRow(2, "The agent is registered and the caller's"),
    CheckRow(3, "The agent is not suspended", (Code.AGENT_SUSPENDED,)),
    CheckRow(4, "Conversation and step are named", (Code.CONTEXT_MISSING,)),
    CheckRow(5, "The step is an integer of at least 1", (Code.STEP_INVALID,)),
    CheckRow(6, "The conversation is not too long", (Code.LOOP_LENGTH,)),
    CheckRow(7, "The parameters are deterministic JSON", (Code.STATE_PARAMETERS,)),
    CheckRow(8, "The step is new and in order", (Code.LOOP_REPLAY,)),
    CheckRow(9, "The action does not repeat itself", (Code.LOOP_REPEAT,)),
    CheckRow(10, "The state fields are complete", (Code.STATE_INCOMPLETE,)),
    CheckRow(11, "The state hash is well formed", (Code.STATE_HASH,)),
    CheckRow(12, "The state comes from a known source", (Code.STATE_SOURCE,)),
    CheckRow(13, "Action and state make progress", (Code.LOOP_NO_PROGRESS,)),
    CheckRow(14, "The budget allows it", (Code.BUDGET_COST, Code.BUDGET_REQUESTS, Code.BUDGET_TOKENS)),
    CheckRow(15, "The action type is registered", (Code.ACTION_UNKNOWN,)),
    CheckRow(16, "The agent may use the engine or tool", (Code.TOOL_NOT_ALLOWED,)),
    CheckRow(17, "The engine's verification", (Code.VERIFICATION_FAILED,)),
    CheckRow(18, "Trust reaches the risk", (Code.TRUST_INSUFFICIENT,)),
    CheckRow(19, "A person is asked", (Code.APPROVAL_REQUIRED,)),
    CheckRow(20, "Recorded, and attested where due", (Code.ATTESTATION_UNSIGNED,)),
)
_BY_CODE: Final[Mapping[str, int]] = {code: row.number for row in CHECKS for code in row.codes}
#: What only a conversation has; a tool call may come without one.
_OF_A_CONVERSATION: Final = frozenset({4, 5, 6, 8, 9, 10, 11, 12, 13})
#: What is looked at again when a grant is used: nothing else can have changed since it was given.
_OF_A_GRANT: Final = frozenset({1, 2, 3, 14, 20})
ENGINE_CHECK: Final = 17


class CheckState(enum.StrEnum):
    PASSED = "passed"
    #: Here the decision was made.
    DECIDED = "decided"
    NOT_REACHED = "not_reached"
    NOT_APPLICABLE = "not_applicable"


class Ran(msgspec.Struct, frozen=True):
    """What a record says of its decision, as far as the checks are concerned."""

    decision: str
    error_code: str | None
    has_conversation: bool
    was_examined: bool
    used_a_grant: bool = False


def checks_of(ran: Ran) -> list[tuple[CheckRow, CheckState]]:
    """Every check with how it went; none for an entry that is no decision."""
    if ran.decision not in tuple(Decision):
        return []
    decided = _deciding_number(ran)
    return [(row, _state(row.number, decided, ran)) for row in CHECKS]


def _deciding_number(ran: Ran) -> int:
    if ran.decision in (Decision.APPROVED, Decision.CORRECTED):
        return 20
    if ran.decision == Decision.PENDING:
        return 19
    number = _BY_CODE.get(ran.error_code or "", 20)
    if ran.was_examined and not ran.used_a_grant and number < ENGINE_CHECK:
        # An earlier check that was looked at once more while recording: another took the step, the agent
        # was suspended meanwhile, too many approvals are open.
        return 20
    return number


def _state(number: int, decided: int, ran: Ran) -> CheckState:
    if number == decided:
        return CheckState.DECIDED
    if number > decided:
        return CheckState.NOT_REACHED
    if ran.used_a_grant and number not in _OF_A_GRANT:
        return CheckState.NOT_APPLICABLE
    if number == 19 or (number in _OF_A_CONVERSATION and not ran.has_conversation):
        return CheckState.NOT_APPLICABLE
    return CheckState.PASSED
