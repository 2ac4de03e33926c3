"""The decision: every check, once, in its order. The four doors are tuples of the same rows.

A gate adds a fact or refuses, which ends the walk. A judge may make the verdict stricter; the walk goes on
unless it is DENIED. Of two equally strict verdicts, that of the lower precedence gives code and message.
"""

import inspect
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

import msgspec

from qwed.domain.verdicts import LAST
from qwed.gateway.decide import cedar_row, gates, judges, rule_row
from qwed.gateway.decide.case import Case, Door, RowAnswer
from qwed.gateway.decide.facts import Facts

RowCheck = Callable[[Case, Facts], RowAnswer | Awaitable[RowAnswer]]


class Row(msgspec.Struct, frozen=True):
    """`numbers` are those of the specification; other rows say their `question` themselves. `needs` names
    members of the case: where all of them are empty the row has nothing to look at, and is not asked. `adds`
    names those that it fills; `fixed_by`, those that its answer hangs on beside agent, action type and policy
    (none: it hangs on more, and is asked every time)."""

    name: str
    check: RowCheck
    numbers: tuple[int, ...] = ()
    question: str = ""
    needs: tuple[str, ...] = ()
    adds: tuple[str, ...] = ()
    fixed_by: tuple[str, ...] | None = None
    precedence: int = LAST
    is_gate: bool = True
    awaits: bool = False
    #: Its answer comes from outside the case; a record holds it.
    reads_world: bool = False


#: What is stopped, what the tokens ask for, and what a person granted, is known from outside too. Cedar's
#: answer hangs on the agent's name and principal, which a record does not show the rows.
_READ_WORLD: Final = (
    gates.is_not_stopped,
    gates.find_profile,
    gates.use_grant,
    cedar_row.is_allowed_by_cedar,
)
#: What answers most cases at once, and of others something to wait for.
_MAY_WAIT: Final = (judges.have_origins,)
#: What a plan (`plan.py`) may ask once for many actions.
_FIXED: Final[Mapping[RowCheck, tuple[str, ...]]] = {
    gates.is_active: (),
    gates.find_profile: ("execution", "place", "approval"),
    gates.find_rule: (),
    gates.is_permitted: ("rule",),
    judges.is_no_danger: ("rule",),
}


def _gate(check: RowCheck, *numbers: int, asks: str = "", needs: str = "", adds: str = "") -> Row:
    awaits, reads = inspect.iscoroutinefunction(check) or check in _MAY_WAIT, check in _READ_WORLD
    return Row(
        check.__name__,
        check,
        numbers,
        asks,
        needs=tuple(needs.split()),
        adds=tuple(adds.split()),
        fixed_by=_FIXED.get(check),
        awaits=awaits,
        reads_world=awaits or reads,
    )


def _judge(
    check: RowCheck, precedence: int, *numbers: int, asks: str = "", needs: str = "", adds: str = ""
) -> Row:
    row = _gate(check, *numbers, asks=asks, needs=needs, adds=adds)
    return msgspec.structs.replace(row, precedence=precedence, is_gate=False)


# 1 and 2 are answered before there is a case: by whom it is asked, and whose agent it is.
ACTIVE: Final = _gate(gates.is_active, 3)
NOT_STOPPED: Final = _gate(gates.is_not_stopped, asks="Has no operator stopped this?", needs="stops")
TOKENS: Final = _gate(
    gates.accept_tokens,
    asks="Are the tokens accepted that came along?",
    needs="presented",
    adds="execution is_forged log",
)
PLACE: Final = _gate(
    gates.find_place,
    asks="May the agent act at its node of the workflow now?",
    needs="names_place",
    adds="place",
)
PROFILE: Final = _gate(gates.find_profile, asks="Do the tokens suit the assurance profile?", adds="assured")
STEP: Final = _gate(gates.read_step, 4, 5, adds="step")
ADMITTED: Final = _gate(gates.admit, 6, 7, 8, 9, 10, 11, 12, 13, 14, adds="admission")
NOT_BLOCKED: Final = _gate(gates.is_not_blocked, asks="Is the tool open to this agent?")
KNOWN_TOOL: Final = _gate(
    gates.is_known_tool, 15, asks="Is the tool registered, and no look-alike?", adds="rule"
)
KNOWN_ACTION: Final = _gate(gates.find_rule, 15, adds="rule")
GRANTED_ACTION: Final = _gate(
    gates.find_granted_rule, asks="What is the action registered as now?", adds="rule"
)
PERMITTED: Final = _gate(gates.is_permitted, 16)
PROVEN: Final = _gate(gates.prove, 17, adds="examined")
SETTLED: Final = _gate(gates.is_settled, asks="Is the outcome of this very action known?")
HELD: Final = _gate(gates.admit, 14, adds="admission")
GRANT: Final = _gate(gates.use_grant, asks="What did a person grant?", adds="examined step redeemed")

ORIGINS: Final = _judge(
    judges.have_origins, 7, asks="Whose words are the values of the action?", adds="origins coverage"
)
TRUSTED: Final = _judge(judges.is_trusted, 1, 18)
SCORE: Final = _judge(judges.has_score, 3, asks="Does conduct bear the trust level out?", needs="is_scored")
DANGER: Final = _judge(judges.is_no_danger, 4, asks="Is it a tool for which nobody has to be asked?")
RULES: Final = _judge(rule_row.follows_rules, 7, asks="Do the policy's rules allow it?", needs="has_rules")
CEDAR: Final = _judge(
    cedar_row.is_allowed_by_cedar, 7, asks="Do the Cedar policies allow it?", needs="has_cedar"
)
SUITS_PROFILE: Final = _judge(
    judges.suits_profile, 5, asks="Is the assurance profile content?", needs="assured"
)
SUITS_WORKFLOW: Final = _judge(
    judges.suits_workflow, 0, asks="Are the workflow's rules content?", needs="place"
)
THRESHOLDS: Final = _judge(
    judges.meets_thresholds, 6, asks="Does the trust score meet the thresholds?", needs="assured place"
)
REQUESTED: Final = _judge(
    judges.is_below_threshold, 2, asks="Is the risk within what the request allows?", needs="is_limited"
)

_ENTRY: Final = (ACTIVE, NOT_STOPPED, TOKENS, PLACE, PROFILE)
_JUDGES: Final = (
    *(ORIGINS, TRUSTED, SCORE, DANGER, RULES, CEDAR),
    *(SUITS_PROFILE, SUITS_WORKFLOW, THRESHOLDS, REQUESTED),
)
#: Every row once, in the order in which a page shows them.
ROWS: Final = (
    *(*_ENTRY, STEP, ADMITTED, NOT_BLOCKED, KNOWN_TOOL, KNOWN_ACTION, GRANTED_ACTION, PERMITTED, PROVEN),
    *(SETTLED, HELD, GRANT, *_JUDGES),
)

TABLE: Final[Mapping[Door, tuple[Row, ...]]] = {
    Door.ACTION: (*_ENTRY, STEP, ADMITTED, KNOWN_ACTION, PERMITTED, PROVEN, *_JUDGES),
    Door.TOOL: (*_ENTRY, STEP, ADMITTED, NOT_BLOCKED, KNOWN_TOOL, PERMITTED, PROVEN, *_JUDGES),
    Door.GRANT: (ACTIVE, NOT_STOPPED, GRANTED_ACTION, PERMITTED, SETTLED, HELD, GRANT, ORIGINS, RULES, CEDAR),
    # Tokens, step and budget are those of the action that it replaces.
    Door.EDIT: (ACTIVE, NOT_STOPPED, PLACE, PROFILE, KNOWN_ACTION, PERMITTED, PROVEN, *_JUDGES),
}
#: 19 and 20, after every walk that is recorded; what the store refuses is said before everything else.
SIGNED: Final = "sign"
RECORDED: Final = "record"
RECORDED_PRECEDENCE: Final = -1
