"""The five answers."""

import enum
from typing import Final


class Decision(enum.StrEnum):
    APPROVED = "APPROVED"
    DENIED = "DENIED"
    CORRECTED = "CORRECTED"
    PENDING = "PENDING"
    BUDGET_EXCEEDED = "BUDGET_EXCEEDED"

    @property
    def lets_act(self) -> bool:
        """Whether the agent may act now: its step is used and its cost is charged."""
        return self in LETS_ACT


#: The same as a set, for where it is asked often.
LETS_ACT: Final = frozenset({Decision.APPROVED, Decision.CORRECTED})
#: Those that let the agent act now, or after an approval: they use a step.
BINDING: Final = LETS_ACT | {Decision.PENDING}
