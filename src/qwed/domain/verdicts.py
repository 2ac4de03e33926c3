"""What is made of an action, and the one way in which that gets stricter."""

from collections.abc import Mapping
from typing import Final

import msgspec

from qwed.domain.codes import Code, Refusal
from qwed.domain.decisions import Decision

_RANKS: Final[Mapping[Decision, int]] = {
    Decision.APPROVED: 0,
    Decision.CORRECTED: 1,
    Decision.PENDING: 2,
    Decision.BUDGET_EXCEEDED: 3,
    Decision.DENIED: 4,
}
#: Of a verdict that no row of the table gave.
LAST: Final = 99


class Asked(msgspec.Struct, frozen=True):
    """Who has to be asked, and how long they have, where more than the policy says so."""

    roles: frozenset[str] = frozenset()
    seconds: int | None = None
    #: The workflow's rules that ask, by their names.
    rules: tuple[str, ...] = ()
    #: What the policy's rules ask for: these roles, of each person; so many people; and which rules they are.
    also_roles: frozenset[str] = frozenset()
    approvers: int = 1
    policy_rules: frozenset[str] = frozenset()

    def join(self, other: "Asked") -> "Asked":
        given = [seconds for seconds in (self.seconds, other.seconds) if seconds is not None]
        return Asked(
            self.roles | other.roles,
            min(given, default=None),
            _join_names(self.rules, other.rules),
            self.also_roles | other.also_roles,
            max(self.approvers, other.approvers),
            self.policy_rules | other.policy_rules,
        )


def _join_names(names: tuple[str, ...], others: tuple[str, ...]) -> tuple[str, ...]:
    """In the order of the one that has any; in the order of the letters where both have."""
    if not others or names == others:
        return names
    return tuple(sorted({*names, *others})) if names else others


NOBODY: Final = Asked()


class Verdict(msgspec.Struct, frozen=True):
    """Of two verdicts the stricter decision speaks, and of two equal ones that of the lower precedence."""

    decision: Decision
    refusal: Refusal | None = None
    precedence: int = LAST
    asked: Asked = NOBODY

    def tighten(self, other: "Verdict") -> "Verdict":
        """Both together: never less strict than either, in whatever order they are joined."""
        if other is APPROVED:
            return self
        strict, mild = (self, other) if self._weight >= other._weight else (other, self)
        if strict.asked == mild.asked:
            return strict
        return msgspec.structs.replace(strict, asked=strict.asked.join(mild.asked))

    def is_milder_than(self, other: "Verdict") -> bool:
        return _RANKS[self.decision] < _RANKS[other.decision]

    @property
    def _weight(self) -> tuple[int, int, str, str]:
        """The code and the message only settle which of two equal ones speaks."""
        code, message = ("", "") if self.refusal is None else (self.refusal.code.value, self.refusal.message)
        return _RANKS[self.decision], -self.precedence, code, message


APPROVED: Final = Verdict(Decision.APPROVED)
CORRECTED: Final = Verdict(Decision.CORRECTED)


def deny(code: Code, message: str) -> Verdict:
    return Verdict(Decision.DENIED, Refusal(code, message))


def ask(message: str, asked: Asked = NOBODY) -> Verdict:
    """A person decides."""
    return Verdict(Decision.PENDING, Refusal(Code.APPROVAL_REQUIRED, message), asked=asked)


_BUDGETS: Final = (Code.BUDGET_COST, Code.BUDGET_REQUESTS, Code.BUDGET_TOKENS)


def refuse_with(refusal: Refusal) -> Verdict:
    """What a refusal means: the budget is used up, or no."""
    is_budget = refusal.code in _BUDGETS
    return Verdict(Decision.BUDGET_EXCEEDED if is_budget else Decision.DENIED, refusal)
