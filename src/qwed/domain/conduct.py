"""What an agent's conduct costs it: the automatic rules of section 8.

Each rule counts for itself. A security violation costs two levels. More than a tenth denied among the last
50 actions costs one, and the count begins anew, so that no denial is charged twice. The third refused request
that arrived after the agent was told that the limit is reached costs one, once a UTC day: what was on its way
before is no abuse. Level 0 is the lowest there is.

An attempt that reached no verdict (a replay, a broken context, an unknown type) is no action here: it is
neither a denial nor does it dilute the denials. An action that waits for a person counts when it is
proposed, and not again when its grant is used.
"""

import enum
from typing import Final

import msgspec

from qwed.domain.codes import Code, Refusal
from qwed.domain.decisions import Decision
from qwed.domain.findings import Failure, Finding
from qwed.domain.risk import Risk
from qwed.domain.times import day_of, parse_iso
from qwed.domain.trust import TrustLevel
from qwed.domain.trust_changes import Cause

WINDOW: Final = 50
#: One in ten may be denied.
MAX_DENIALS: Final = WINDOW // 10
BLOCKED_USES: Final = 2
REFUSALS: Final = 3

#: How many levels each rule takes.
PENALTIES: Final = {Cause.SECURITY_VIOLATION: 2, Cause.REPEATED_DENIALS: 1, Cause.BUDGET_ABUSE: 1}

#: Checks 13, 16, 17 and 18.
_DENIALS: Final = frozenset(
    {Code.LOOP_NO_PROGRESS, Code.TOOL_NOT_ALLOWED, Code.VERIFICATION_FAILED, Code.TRUST_INSUFFICIENT}
)
#: Limits of the agent's own that are used up. A request that is too large exhausts nothing, and what is
#: left under a principal's ceiling is no doing of this agent's alone.
_EXHAUSTED: Final = frozenset({"daily_cost", "hourly_requests", "daily_requests", "daily_tokens"})
#: The member of a refusal's details that names a tool this agent may never use.
BLOCKED_TOOL: Final = "blocked_tool"


class Deed(enum.Enum):
    """What one recorded attempt counts as."""

    ACTION = "an action that was not denied"
    DENIAL = "a denial by check 13, 16, 17 or 18"
    BLOCKED_TOOL = "the use of a blocked tool"
    FORBIDDEN = "a forbidden action at critical risk"
    EXHAUSTED = "a request after the budget's exhaustion"
    FOREIGN_TOKEN = "its token used for another agent"  # noqa: S105
    FORGERY = "a forged attestation or grant"


_ARE_DENIALS: Final = frozenset({Deed.DENIAL, Deed.BLOCKED_TOOL, Deed.FORBIDDEN})
_ARE_VIOLATIONS: Final = frozenset({Deed.FORBIDDEN, Deed.FOREIGN_TOKEN, Deed.FORGERY})


def deed_of(
    decision: Decision, refusal: Refusal | None, finding: Finding | None, risk: Risk | None
) -> Deed | None:
    """What a decision counts as; None where it reached no verdict on the action."""
    if decision in (Decision.APPROVED, Decision.CORRECTED, Decision.PENDING):
        return Deed.ACTION
    if refusal is None:
        return None
    details = refusal.details or {}
    if decision is Decision.BUDGET_EXCEEDED:
        return Deed.EXHAUSTED if details.get("scope") in _EXHAUSTED else None
    if refusal.code not in _DENIALS:
        return None
    if finding is not None and finding.failure is Failure.FORBIDDEN and risk is Risk.CRITICAL:
        return Deed.FORBIDDEN
    return Deed.BLOCKED_TOOL if BLOCKED_TOOL in details else Deed.DENIAL


class Denial(msgspec.Struct, frozen=True):
    """`number` is the action's place among all of its agent's."""

    number: int
    activity_id: str


class Exhausted(msgspec.Struct, frozen=True):
    """A limit of the agent's own that is used up: until when, and from when on the agent knows."""

    limit: str
    until_ms: int
    told_ms: int


def find_exhausted(refusal: Refusal | None, told_ms: int) -> Exhausted | None:
    details = (refusal.details if refusal is not None else None) or {}
    limit, until = details.get("scope"), details.get("reset_at")
    if limit not in _EXHAUSTED or not isinstance(until, str):
        return None
    return Exhausted(str(limit), parse_iso(until), told_ms)


class Conduct(msgspec.Struct, frozen=True):
    """The misdeeds that weigh on an agent. Bounded: what no rule can see any more is left out."""

    denied: int = 0
    #: The number of the last action that the window leaves out.
    window_start: int = 0
    denials: tuple[Denial, ...] = ()
    blocked_day: int = 0
    blocked_uses: tuple[str, ...] = ()
    refused_day: int = 0
    refusals: tuple[str, ...] = ()
    #: The limits that the agent was told of, as long as they last.
    told: tuple[Exhausted, ...] = ()


class Standing(msgspec.Struct, frozen=True):
    """An agent's conduct, and how many actions of it were not denied."""

    actions: int = 0
    conduct: Conduct = Conduct()

    @property
    def has_many_denials(self) -> bool:
        """Whether one more action, though not denied, can fill a window that is bad already."""
        return len(self.conduct.denials) > MAX_DENIALS


class Penalty(msgspec.Struct, frozen=True):
    cause: Cause
    activities: tuple[str, ...]
    reason: str

    def lowers(self, level: TrustLevel) -> TrustLevel:
        return TrustLevel(max(0, level - PENALTIES[self.cause]))


class Judgement(msgspec.Struct, frozen=True):
    conduct: Conduct
    penalties: tuple[Penalty, ...] = ()


def judge(
    standing: Standing, deed: Deed, activity_id: str, now_ms: int, exhausted: Exhausted | None = None
) -> Judgement:
    """The conduct after one more deed, and what it costs; the heaviest rule comes first."""
    conduct, penalties = standing.conduct, []
    if deed is Deed.BLOCKED_TOOL:
        conduct, penalty = _after_blocked_use(conduct, activity_id, day_of(now_ms))
        penalties.append(penalty)
    elif deed in _ARE_VIOLATIONS:
        penalties.append(Penalty(Cause.SECURITY_VIOLATION, (activity_id,), deed.value))
    elif deed is Deed.EXHAUSTED:
        conduct, penalty = _after_refusal(conduct, activity_id, now_ms, exhausted)
        penalties.append(penalty)
    if deed is Deed.ACTION or deed in _ARE_DENIALS:
        denied = deed is not Deed.ACTION
        conduct, penalty = _after_action(conduct, standing.actions, activity_id, denied=denied)
        penalties.append(penalty)
    return Judgement(conduct, tuple(penalty for penalty in penalties if penalty is not None))


def _after_blocked_use(conduct: Conduct, activity_id: str, day: int) -> tuple[Conduct, Penalty | None]:
    uses = (*(conduct.blocked_uses if day <= conduct.blocked_day else ()), activity_id)
    penalty = None
    if len(uses) == BLOCKED_USES:
        reason = f"blocked tools were used {BLOCKED_USES} times within a day"
        penalty, uses = Penalty(Cause.SECURITY_VIOLATION, uses, reason), ()
    return msgspec.structs.replace(conduct, blocked_day=day, blocked_uses=uses), penalty


def _after_refusal(
    conduct: Conduct, activity_id: str, arrived_ms: int, exhausted: Exhausted | None
) -> tuple[Conduct, Penalty | None]:
    """Those after the third change nothing until the day is over; nor does what arrived before the agent was
    told."""
    day = day_of(arrived_ms)
    if exhausted is not None:
        told = next((told for told in conduct.told if told.limit == exhausted.limit), None)
        if told is None or told.until_ms <= arrived_ms:
            others = tuple(one for one in conduct.told if one.limit != exhausted.limit)
            return msgspec.structs.replace(conduct, told=(*others, exhausted)), None
        if arrived_ms <= told.told_ms:
            return conduct, None
    known = conduct.refusals if day <= conduct.refused_day else ()
    if len(known) == REFUSALS:
        return conduct, None
    refusals = (*known, activity_id)
    penalty = None
    if len(refusals) == REFUSALS:
        reason = f"{REFUSALS} requests were refused within a day after the budget was exhausted"
        penalty = Penalty(Cause.BUDGET_ABUSE, refusals, reason)
    return msgspec.structs.replace(conduct, refused_day=day, refusals=refusals), penalty


def _after_action(
    conduct: Conduct, actions: int, activity_id: str, *, denied: bool
) -> tuple[Conduct, Penalty | None]:
    number = actions + conduct.denied + 1
    known = conduct.denials if not denied else (*conduct.denials, Denial(number, activity_id))
    recent = tuple(denial for denial in known if denial.number > number - WINDOW)
    start, penalty = conduct.window_start, None
    if number - start >= WINDOW and len(recent) > MAX_DENIALS:
        reason = f"{len(recent)} of the last {WINDOW} actions were denied"
        charged = tuple(denial.activity_id for denial in recent)
        penalty, recent, start = Penalty(Cause.REPEATED_DENIALS, charged, reason), (), number
    changed = msgspec.structs.replace(
        conduct, denied=conduct.denied + denied, denials=recent, window_start=start
    )
    return changed, penalty


def conduct_status(standing: Standing, now_ms: int) -> dict[str, dict[str, int]]:
    """How far each rule is from being applied, in figures."""
    conduct, day = standing.conduct, day_of(now_ms)
    number = standing.actions + conduct.denied
    return {
        "window": {
            "actions": min(WINDOW, number - conduct.window_start),
            "size": WINDOW,
            "denials": sum(denial.number > number - WINDOW for denial in conduct.denials),
            "max_denials": MAX_DENIALS,
        },
        "blocked_tools_today": {
            "uses": len(conduct.blocked_uses) if day <= conduct.blocked_day else 0,
            "violation_at": BLOCKED_USES,
        },
        "refused_today": {
            "requests": len(conduct.refusals) if day <= conduct.refused_day else 0,
            "abuse_at": REFUSALS,
        },
    }
