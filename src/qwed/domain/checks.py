"""The numbered checks of the agent protocol (section 3): what each asks, and the codes of its refusals."""

from collections.abc import Mapping
from typing import Final

import msgspec

from qwed.domain.codes import Code


class Check(msgspec.Struct, frozen=True):
    number: int
    question: str
    codes: tuple[Code, ...] = ()


_ALL: Final = (
    Check(1, "Is the credential valid?", (Code.AGENT_TOKEN,)),
    Check(2, "Is the agent registered, and the caller's?", (Code.AGENT_UNKNOWN,)),
    Check(3, "Is the agent active?", (Code.AGENT_SUSPENDED,)),
    Check(4, "Are conversation and step named?", (Code.CONTEXT_MISSING,)),
    Check(5, "Is the step an integer of at least 1?", (Code.STEP_INVALID,)),
    Check(6, "Is the conversation short enough?", (Code.LOOP_LENGTH,)),
    Check(7, "Are the parameters deterministic JSON?", (Code.STATE_PARAMETERS,)),
    Check(8, "Is the step new and in order?", (Code.LOOP_REPLAY,)),
    Check(9, "Is the action no repetition?", (Code.LOOP_REPEAT,)),
    Check(10, "Are the state fields complete?", (Code.STATE_INCOMPLETE,)),
    Check(11, "Is the state hash well formed?", (Code.STATE_HASH,)),
    Check(12, "Is the state from a known source?", (Code.STATE_SOURCE,)),
    Check(13, "Do action and state make progress?", (Code.LOOP_NO_PROGRESS,)),
    Check(14, "Does the budget allow it?", (Code.BUDGET_COST, Code.BUDGET_REQUESTS, Code.BUDGET_TOKENS)),
    Check(15, "Is the action type registered?", (Code.ACTION_UNKNOWN,)),
    Check(16, "May the agent use the engine or tool?", (Code.TOOL_NOT_ALLOWED,)),
    Check(17, "Does the engine's proof stand?", (Code.VERIFICATION_FAILED,)),
    Check(18, "Does trust reach the risk?", (Code.TRUST_INSUFFICIENT, Code.APPROVAL_REQUIRED)),
    Check(19, "Is it signed where that is due?", (Code.ATTESTATION_UNSIGNED,)),
    Check(20, "Is it recorded?"),
)
CHECKS: Final[Mapping[int, Check]] = {check.number: check for check in _ALL}
