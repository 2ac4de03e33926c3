"""What the walk did, row by row: written with the decision, and told from there."""

import enum
import itertools
import operator
from collections.abc import Mapping
from typing import Any, Final

from qwed.domain.checks import CHECKS
from qwed.domain.codes import Code
from qwed.domain.decisions import Decision
from qwed.gateway.decide.answer import Show, show_as_is
from qwed.gateway.decide.case import Case, Door
from qwed.gateway.decide.table import CEDAR, RECORDED, RULES, SIGNED, TABLE, Row
from qwed.gateway.kernel.masks import is_long

Json = Mapping[str, Any]

VERSION: Final = 1
#: The entry does not show all of what was asked.
MASKED: Final = "masked"
#: Members of a case that say which rows had something to look at.
_FACTS: Final = (
    "stops",
    "presented",
    "names_place",
    "place",
    "assured",
    "is_scored",
    "is_limited",
    "is_advisory",
    "has_rules",
    "has_cedar",
    "takes_next_step",
)
_facts_of: Final = operator.attrgetter(*_FACTS)
#: What only a conversation has; a tool call may come without one.
_OF_A_CONVERSATION: Final = frozenset({4, 5, 6, 8, 9, 10, 11, 12, 13})


class RowState(enum.StrEnum):
    PASSED = "passed"
    #: It made the verdict stricter, and another row speaks.
    TIGHTENED = "tightened"
    #: Its verdict is the decision.
    DECIDED = "decided"
    NOT_REACHED = "not_reached"
    #: It had nothing to look at.
    NOT_APPLICABLE = "not_applicable"


def write_account(case: Case, show: Show) -> dict[str, Any]:
    """Only what is not plain: rows that said nothing are known from the table."""
    account: dict[str, Any] = {"version": VERSION, "door": case.door.value, "agent": case.agent_digest}
    facts = list(itertools.compress(_FACTS, _facts_of(case)))
    if show is not show_as_is or (case.examined is None and _is_cut(case)):
        facts.append(MASKED)
    if case.threshold is not None:
        account["threshold"] = case.threshold.wire
    if facts:
        account["facts"] = facts
    if case.tightened:
        account["rows"] = [
            {"row": said.row, "decision": said.verdict.decision.value, **_wording(case, said.verdict, show)}
            for said in case.tightened
        ]
    return account


def _is_cut(case: Case) -> bool:
    """Whether the entry keeps only the beginning of what was asked."""
    return is_long(case.action.to_wire()) or is_long(case.context)


def _wording(case: Case, verdict: Any, show: Show) -> dict[str, Any]:
    """What the row that speaks says stands in the entry already."""
    refusal = verdict.refusal
    if refusal is None or refusal is case.verdict.refusal:
        return {}
    return {"code": refusal.code.value, "message": show(refusal.message)}


def tell_account(entry: Json) -> list[dict[str, Any]]:
    """Every check with how it went; none for an entry that is no decision, or older than accounts."""
    account = entry.get("account")
    if not isinstance(account, Mapping) or account.get("version") != VERSION:
        return []
    facts = frozenset(account.get("facts", ()))
    said = {row["row"]: row for row in account.get("rows", ())}
    rows = TABLE[Door(account["door"])]
    told = [_tell_check(1, RowState.PASSED), _tell_check(2, RowState.PASSED)]
    is_over = False
    for row in rows:
        # A policy without rules has no such row, as none had before there were rules; nor one without Cedar.
        if row in (RULES, CEDAR) and not facts.issuperset(row.needs):
            continue
        told.extend(_tell_row(row, said.get(row.name), entry, facts, is_over=is_over))
        is_over = is_over or _ends(row, said.get(row.name))
    for number, name in ((19, SIGNED), (20, RECORDED)):
        state = RowState.DECIDED if name in said else RowState.PASSED
        told.append(_tell_check(number, state, said.get(name), entry))
    return told


def _ends(row: Row, said: Json | None) -> bool:
    return said is not None and (row.is_gate or said["decision"] == Decision.DENIED)


def _tell_row(
    row: Row,
    said: Json | None,
    entry: Json,
    facts: frozenset[str],
    *,
    is_over: bool,
) -> list[dict[str, Any]]:
    if said is not None:
        return _tell_said(row, said, entry, facts)
    if is_over:
        state = RowState.NOT_REACHED
    else:
        is_idle = bool(row.needs) and facts.isdisjoint(row.needs)
        state = RowState.NOT_APPLICABLE if is_idle else RowState.PASSED
    if not row.numbers:
        return [_tell(None, row.question, state)]
    return [_tell_check(number, _in_conversation(number, state, facts)) for number in row.numbers]


def _tell_said(row: Row, said: Json, entry: Json, facts: frozenset[str]) -> list[dict[str, Any]]:
    """Of a row with several checks, the code tells which one spoke."""
    speaks = "code" not in said and said["decision"] == entry["decision"]
    state = RowState.DECIDED if speaks else RowState.TIGHTENED
    if not row.numbers:
        return [_tell(None, row.question, state, said, entry)]
    spoke = _number_of(row, str(said.get("code") or entry.get("error_code") or ""))
    return [
        _tell_check(number, state, said, entry)
        if number == spoke
        else _tell_check(
            number,
            _in_conversation(number, RowState.PASSED if number < spoke else RowState.NOT_REACHED, facts),
        )
        for number in row.numbers
    ]


def _number_of(row: Row, code: str) -> int:
    named = (number for number in row.numbers if code in tuple(map(Code, CHECKS[number].codes)))
    return next(named, row.numbers[-1])


def _in_conversation(number: int, state: RowState, facts: frozenset[str]) -> RowState:
    is_idle = "is_advisory" in facts and number in _OF_A_CONVERSATION and state is RowState.PASSED
    return RowState.NOT_APPLICABLE if is_idle else state


def _tell_check(
    number: int,
    state: RowState,
    said: Json | None = None,
    entry: Json | None = None,
) -> dict[str, Any]:
    return _tell(number, CHECKS[number].question, state, said, entry)


def _tell(
    number: int | None,
    question: str,
    state: RowState,
    said: Json | None = None,
    entry: Json | None = None,
) -> dict[str, Any]:
    """The refusal stands beside the check that made it."""
    told: dict[str, Any] = {"number": number, "check": question, "state": state}
    if said is None:
        return told
    told["decision"] = said["decision"]
    error = (entry or {}).get("error")
    if "code" in said:
        return {**told, "code": said["code"], "message": said["message"]}
    if state is RowState.DECIDED and isinstance(error, Mapping):
        return {**told, "code": error.get("code"), "message": error.get("message")}
    return told
