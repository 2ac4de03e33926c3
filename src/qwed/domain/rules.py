"""What an operator says that this action may do, here and now. Rules only tighten.

A rule matches where its expression (CEL) is true. Then it denies, asks a person or notes, at once, or only
where one of the forms of time says so. Nothing is read or evaluated here.
"""

import enum
import re
from decimal import Decimal
from typing import Final

import msgspec

MAX_RULES: Final = 500
MAX_TEAMS: Final = 50
MAX_TEAM_RULES: Final = 5_000
MAX_EXPRESSION_BYTES: Final = 4 * 1024
MAX_MESSAGE: Final = 256
#: Of a count or a number of distinct values. A key keeps that many entries, also of a sum.
MAX_COUNT: Final = 10_000
MIN_WITHIN_MS: Final = 1
MAX_WITHIN_MS: Final = 366 * 86_400_000

_UNITS: Final = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_DURATION: Final = re.compile(r"([1-9][0-9]{0,11})(ms|s|m|h|d)")


def duration_ms(text: str) -> int | None:
    """`90s`, `15m`, `24h`, `7d`; None for anything else, and beyond the bounds."""
    found = _DURATION.fullmatch(text)
    if found is None:
        return None
    ms = int(found[1]) * _UNITS[found[2]]
    return ms if MIN_WITHIN_MS <= ms <= MAX_WITHIN_MS else None


def show_duration(ms: int) -> str:
    """In the largest unit that is exact."""
    unit = next(unit for unit in ("d", "h", "m", "s", "ms") if ms % _UNITS[unit] == 0)
    return f"{ms // _UNITS[unit]}{unit}"


class Then(enum.StrEnum):
    """What a rule does where it matches."""

    DENY = "deny"
    ASK = "ask"
    NOTE = "note"


class Mode(enum.StrEnum):
    ENFORCE = "enforce"
    #: Decided, recorded and counted under a state of its own; the verdict stays as it is.
    OBSERVE = "observe"


class Per(enum.StrEnum):
    """Whose actions a form of time looks at together."""

    AGENT = "agent"
    PRINCIPAL = "principal"
    CONVERSATION = "conversation"
    TEAM = "team"
    EVERYTHING = "everything"


class Measure(enum.StrEnum):
    COUNT = "count"
    SUM = "sum"
    DISTINCT = "distinct"


class Limit(msgspec.Struct, frozen=True):
    """At most so many actions, so large a sum or so many different values in a window that slides.

    `path` names what is added up or told apart, `by` what keeps windows apart (a currency).
    """

    at_most: Decimal
    within_ms: int
    measure: Measure = Measure.COUNT
    path: str | None = None
    by: str | None = None
    per: Per = Per.AGENT


class Requires(msgspec.Struct, frozen=True):
    """An action that matches `before` must have been taken, at most so long ago.

    With `succeeded` it counts once its success is reported; with `confirmed` only the word of somebody else
    than the agent counts.
    """

    before: str
    within_ms: int
    succeeded: bool = False
    confirmed: bool = False
    same: Per = Per.AGENT


class NeverAfter(msgspec.Struct, frozen=True):
    """No action that matches `after` may have been taken so long ago or less."""

    after: str
    within_ms: int
    same: Per = Per.AGENT


class Cooldown(msgspec.Struct, frozen=True):
    """So long must pass between two actions that match."""

    within_ms: int
    per: Per = Per.AGENT


class PolicyRule(msgspec.Struct, frozen=True, kw_only=True):
    """At most one of the forms of time. `role` and `approvers` say who is asked, where `then` is ask."""

    id: str
    when: str
    then: Then
    message: str = ""
    role: str | None = None
    approvers: int = 1
    mode: Mode = Mode.ENFORCE
    limit: Limit | None = None
    requires: Requires | None = None
    never_after: NeverAfter | None = None
    cooldown: Cooldown | None = None
    #: Where in its file it stands; not part of what it means.
    line: int = 0

    @property
    def is_timed(self) -> bool:
        return (self.limit or self.requires or self.never_after or self.cooldown) is not None

    @property
    def trigger(self) -> str | None:
        """The expression for the earlier action that a rule is about."""
        if self.requires is not None:
            return self.requires.before
        return None if self.never_after is None else self.never_after.after


class Team(msgspec.Struct, frozen=True):
    """What holds for the agents of some principals, besides what holds for everybody. It can only tighten:
    its rules are asked beside the deployment's, and all that match are joined."""

    principals: tuple[str, ...]
    rules: tuple[PolicyRule, ...] = ()
