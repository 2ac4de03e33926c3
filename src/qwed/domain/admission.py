"""Checks 6 to 14 in their order, as one step that a store makes atomic: admit, or say why not.

What can be known from the request alone (checks 7 and 10 to 12) comes in as findings already made,
so that the order of the table holds whatever fails first.
"""

from collections.abc import Container
from typing import Final

import msgspec

from qwed.domain.budgets import Charge, Spending, budget_refusal, ceiling_refusal
from qwed.domain.codes import Code, Refusal
from qwed.domain.contexts import NEXT_STEP
from qwed.domain.conversations import (
    Conversation,
    length_refusal,
    order_refusal,
    progress_refusal,
    repeat_refusal,
)
from qwed.domain.fingerprints import HASH_BYTES
from qwed.domain.policy import DEFAULT_POLICY, BudgetLimits, LoopLimits, PrincipalCeilings

UNLIMITED: Final = DEFAULT_POLICY.principals
UNSETTLED: Final = Refusal(
    Code.LOOP_REPEAT,
    "the outcome of this very action is still unknown; a person must settle it first",
    {"pattern": "unsettled_outcome"},
)


class Attempt(msgspec.Struct, frozen=True):
    """One proposed step, as far as admission is concerned."""

    conversation_id: str
    step: int
    fingerprint: bytes
    charge: Charge
    state: bytes | None = None
    parameters_problem: Refusal | None = None
    state_problem: Refusal | None = None
    #: The fingerprint under the version before, for what was written under it.
    older: bytes = b""

    def number_in(self, conversation: Conversation) -> "Attempt":
        """With the next number of its conversation, where the store is to give it."""
        if self.step != NEXT_STEP:
            return self
        return msgspec.structs.replace(self, step=conversation.last_step + 1)

    def beside(self, conversation: Conversation) -> bytes:
        """The fingerprint to compare with what the conversation has."""
        history = conversation.history
        return self.older if history and len(history[-1].fingerprint) == HASH_BYTES else self.fingerprint


class Account(msgspec.Struct):
    """What admission reads of one agent beside its conversation."""

    limits: BudgetLimits
    ceilings: PrincipalCeilings
    spending: Spending
    principal_spending: Spending
    #: Fingerprints whose last outcome is `unknown`: nobody knows whether they happened.
    unsettled: Container[bytes]
    #: In how many conversations an action above LOW risk was committed lately (where that is limited).
    crossings: int = 0


def loop_refusal(
    conversation: Conversation, account: Account, attempt: Attempt, limits: LoopLimits, now_ms: int
) -> Refusal | None:
    """Checks 6 to 13."""
    fingerprint = attempt.beside(conversation)
    return (
        length_refusal(conversation, attempt.step, limits)
        or attempt.parameters_problem
        or order_refusal(conversation, attempt.step, now_ms)
        or repeat_refusal(conversation, fingerprint, attempt.state, limits)
        or _agent_wide_repeat(account, attempt, limits)
        or attempt.state_problem
        or progress_refusal(conversation, fingerprint, attempt.state, limits)
    )


def _agent_wide_repeat(account: Account, attempt: Attempt, limits: LoopLimits) -> Refusal | None:
    """Check 9, the part that looks beyond the conversation."""
    if attempt.fingerprint in account.unsettled or attempt.older in account.unsettled:
        return UNSETTLED
    if limits.cross_conversation is not None and account.crossings >= limits.cross_conversation:
        return Refusal(
            Code.LOOP_REPEAT,
            f"the same action was taken in {account.crossings} other conversations",
            {"pattern": "cross_conversation"},
        )
    return None


def spending_refusal(account: Account, charge: Charge, now_ms: int) -> Refusal | None:
    """Check 14."""
    account.spending.roll(now_ms)
    account.principal_spending.roll(now_ms)
    refusal = budget_refusal(account.limits, account.spending, charge, now_ms)
    if refusal is None and account.ceilings is not UNLIMITED:
        refusal = ceiling_refusal(account.ceilings, account.principal_spending, charge, now_ms)
    return refusal
