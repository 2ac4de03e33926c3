"""Refuses a stated result that is not the result."""

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any, Final

import msgspec

from qwed.domain.json_types import Json
from qwed_open_responses.calculations import CalculationClaim, claims_in, number, shown
from qwed_open_responses.guards.base import BaseGuard, Context, viewed
from qwed_open_responses.outputs import Output
from qwed_open_responses.results import GuardResult
from qwed_open_responses.written_claims import EngineBudget, JudgedCalculation, judge_by_engine, judge_text

FLOAT_TOLERANCE: Final = Fraction(1, 10**9)
MAX_CLAIMS: Final = 2_000
_MAX_PROBLEMS: Final = 50
_EXPRESSION_KEYS: Final = ("expression", "formula", "equation")
_EXPRESSIONS: Final = frozenset(_EXPRESSION_KEYS)
_RESULT_KEYS: Final = ("result", "answer", "output", "value")


class Wrong(msgspec.Struct, frozen=True):
    path: str
    message: str


class MathGuard(BaseGuard):
    """Checks operation fields, totals, percentages, and the calculations of a text.

    Results are exact. `tolerance` is relative: 0 unless a float took part, and then 1e-9. A result written
    with two or more decimals may be rounded to them. What states no calculation is not checked, and the
    message says so.
    """

    def __init__(self, tolerance: float | None = None) -> None:
        if tolerance is not None and not 0 <= tolerance < 1:
            raise ValueError(f"tolerance is relative, at least 0 and less than 1, not {tolerance!r}")
        self._tolerance = None if tolerance is None else Fraction(str(tolerance))

    def check(self, response: Any, context: Context | None = None) -> GuardResult:
        view = viewed(response)
        checked, wrong = 0, []
        for outcome in self._outcomes(view):
            checked += 1
            if checked > MAX_CLAIMS:
                return self.fail_result(f"more than {MAX_CLAIMS} calculations, too many to check")
            if outcome is not None:
                wrong.append(outcome)
                if len(wrong) == _MAX_PROBLEMS:
                    break
        if wrong:
            details = {"problems": [{"path": each.path, "message": each.message} for each in wrong]}
            return self.fail_result("; ".join(each.message for each in wrong[:3]), details)
        return self.pass_result(
            f"{checked} calculations hold" if checked else "not checked: no calculation found"
        )

    def _outcomes(self, view: Output) -> Iterator[Wrong | None]:
        """One for each calculation: nothing where it holds."""
        budget = EngineBudget()
        for path, value in view.objects:
            for claim in claims_in(value):
                yield None if self._holds(claim) else Wrong(path, _say(claim))
            if not _EXPRESSIONS.isdisjoint(value):
                yield from _outcomes(path, _expression(value, budget))
        for text in view.texts:
            yield from _outcomes(text.path, judge_text(text.value, self._holds, budget))

    def _holds(self, claim: CalculationClaim) -> bool:
        return any(self._agree(result, claim) for result in claim.results)

    def _agree(self, result: Fraction | int, claim: CalculationClaim) -> bool:
        if result == claim.stated.value:
            return True
        difference = abs(Fraction(result) - Fraction(claim.stated.value))
        tolerance = self._tolerance
        if tolerance is None:
            tolerance = FLOAT_TOLERANCE if claim.has_floats else Fraction(0)
        if difference <= tolerance * abs(Fraction(result)):
            return True
        # 8.249175 stated as 8.25: rounded to the decimals it is written with.
        return claim.stated.decimals >= 2 and difference * 2 * 10**claim.stated.decimals <= 1


def _outcomes(path: str, judged: Iterator[JudgedCalculation]) -> Iterator[Wrong | None]:
    for each in judged:
        yield Wrong(path, each.wrong) if each.wrong else None


def _say(claim: CalculationClaim) -> str:
    if not claim.results:
        return f"{claim.formula} has no result, not {shown(claim.stated.value)}"
    return f"{claim.formula} = {shown(claim.results[0])}, not {shown(claim.stated.value)}"


def _expression(value: Mapping[str, Json], budget: EngineBudget) -> Iterator[JudgedCalculation]:
    """`{"expression": "2 + 2", "result": 5}`."""
    expression = next((value[key] for key in _EXPRESSION_KEYS if isinstance(value.get(key), str)), None)
    stated = next((value[key] for key in _RESULT_KEYS if number(value.get(key)) is not None), None)
    if expression is None or stated is None or "=" in expression or not any(map(str.isdigit, expression)):
        return
    yield from judge_by_engine(f"{expression} = {stated}", budget)
