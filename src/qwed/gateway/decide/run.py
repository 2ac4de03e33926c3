"""Walk the table: the only place where a verdict changes, and it only gets stricter."""

from collections.abc import Awaitable, Callable
from typing import TypeVar, cast

import msgspec

from qwed.domain.decisions import Decision
from qwed.domain.verdicts import APPROVED, Verdict
from qwed.gateway.decide.case import Case, RowAnswer, Ruling, Tightened
from qwed.gateway.decide.facts import Facts
from qwed.gateway.decide.table import TABLE, Row

T = TypeVar("T")


async def decide(
    case: Case, facts: Facts, end: Callable[[Case], Awaitable[T]], rows: tuple[Row, ...] | None = None
) -> T:
    """The rows of the case's door, then `end`. Whatever goes wrong, what was held is given back."""
    try:
        for row in TABLE[case.door] if rows is None else rows:
            if row.needs and not _is_needed(case, row.needs):
                continue
            answer = row.check(case, facts)
            if row.awaits:
                answer = await cast(Awaitable[RowAnswer], answer)
            if answer is case or answer is APPROVED:
                continue
            case, is_over = _take(case, row, cast(RowAnswer, answer))
            if is_over:
                break
        return await end(case)
    finally:
        # After a commit there is nothing left to give back.
        if case.admission is not None:
            await facts.release(case.admission)


def _is_needed(case: Case, needs: tuple[str, ...]) -> bool:
    return any(getattr(case, name) for name in needs)


async def leave_unrecorded(case: Case) -> Case:
    """An end that records nothing."""
    return case


def _take(case: Case, row: Row, answer: RowAnswer) -> tuple[Case, bool]:
    """The case with what the row said, and whether that ends the walk."""
    if isinstance(answer, Case):
        return answer, False
    case, verdict = answer if isinstance(answer, Ruling) else (case, answer)
    if verdict.decision is Decision.APPROVED:
        return case, False
    case = tighten(case, row.name, verdict, row.precedence)
    return case, row.is_gate or verdict.decision is Decision.DENIED


def tighten(case: Case, row: str, verdict: Verdict, precedence: int) -> Case:
    verdict = msgspec.structs.replace(verdict, precedence=precedence)
    account = (*case.tightened, Tightened(row, verdict))
    return case.add(verdict=case.verdict.tighten(verdict), tightened=account)
