"""Walk the table: the only place where a verdict changes, and it only gets stricter."""

import functools
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar, cast

import msgspec

from qwed.domain.decisions import LETS_ACT, Decision
from qwed.domain.verdicts import APPROVED, Verdict
from qwed.gateway.decide.case import Case, RowAnswer, Ruling, Tightened
from qwed.gateway.decide.facts import Facts
from qwed.gateway.decide.table import ACTIVE, PERMITTED, TABLE, TRUSTED, Row

F = TypeVar("F", bound=Facts)
T = TypeVar("T")


async def decide(case: Case, facts: F, end: Callable[[Case, F], Awaitable[T]], rows: tuple[Row, ...]) -> T:
    """The rows, in their order, then `end`. Whatever goes wrong, what was held is given back."""
    try:
        for row in rows:
            if row.needs and not _is_needed(case, row.needs):
                continue
            # A row says itself whether it may wait; to cast would be a call for every row.
            answer: Any = row.check(case, facts)
            if row.awaits and type(answer) is not Case:
                answer = await answer
            if type(answer) is Case:
                case = answer
            elif answer is not APPROVED:
                case, is_over = _take(case, row, answer)
                if is_over:
                    break
        # What it records holds nothing any more.
        return await end(case, facts)
    except BaseException:
        if case.admission is not None:
            await facts.release(case.admission)
        raise


def ask_about_agent(case: Case, facts: Facts) -> Case:
    """Rows 3, 16 and 18 once more, as far as the case came before. What they say replaces what they said of
    the agent of before, where it is no looser; what a refused walk would not reach is left out."""
    asked = ((ACTIVE, True), (PERMITTED, case.rule is not None), (TRUSTED, case.examined is not None))
    for row, is_due in asked:
        if not is_due or row not in TABLE[case.door]:
            continue
        answer = cast(RowAnswer, row.check(case, facts))
        if isinstance(answer, Case) or answer is APPROVED:
            continue
        case, is_over = _take_again(case, row, answer)
        if is_over:
            break
    # What is not approved any more uses no grant.
    return case if case.verdict.decision in LETS_ACT else case.add(redeemed=None)


def _take_again(case: Case, row: Row, answer: Verdict | Ruling) -> tuple[Case, bool]:
    alone, is_over = _take(case.add(verdict=APPROVED, tightened=()), row, answer)
    if any(alone.verdict.is_milder_than(said.verdict) for said in case.tightened if said.row == row.name):
        return case, False
    places = {each.name: place for place, each in enumerate(TABLE[case.door])}
    others = [said for said in case.tightened if said.row != row.name]
    if is_over:
        others = [said for said in others if places.get(said.row, len(places)) < places[row.name]]
    account = sorted((*others, *alone.tightened), key=lambda said: places.get(said.row, len(places)))
    verdict = functools.reduce(lambda so_far, said: so_far.tighten(said.verdict), account, APPROVED)
    return alone.add(verdict=verdict, tightened=tuple(account)), is_over


def _is_needed(case: Case, needs: tuple[str, ...]) -> bool:
    return any(getattr(case, name) for name in needs)


async def leave_unrecorded(case: Case, facts: Facts) -> Case:
    """An end that records nothing, and so holds nothing."""
    if case.admission is not None:
        await facts.release(case.admission)
    return case


def _take(case: Case, row: Row, answer: Verdict | Ruling) -> tuple[Case, bool]:
    """The case with what the row said, and whether that ends the walk."""
    case, verdict = answer if isinstance(answer, Ruling) else (case, answer)
    if verdict.decision is Decision.APPROVED:
        return case, False
    case = tighten(case, row.name, verdict, row.precedence)
    return case, row.is_gate or verdict.decision is Decision.DENIED


def tighten(case: Case, row: str, verdict: Verdict, precedence: int) -> Case:
    verdict = msgspec.structs.replace(verdict, precedence=precedence)
    account = (*case.tightened, Tightened(row, verdict))
    return case.add(verdict=case.verdict.tighten(verdict), tightened=account)
