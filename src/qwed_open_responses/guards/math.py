"""Refuses a stated result that is not the result."""

import functools
import importlib
import re
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Any, Final

import msgspec

from qwed.domain.actions import Action
from qwed.domain.findings import Status
from qwed.domain.lazy_pattern import lazy_pattern
from qwed_open_responses.calculations import Claim, claims_in, number, shown
from qwed_open_responses.guards.base import BaseGuard, Context, viewed
from qwed_open_responses.outputs import Output
from qwed_open_responses.results import GuardResult

FLOAT_TOLERANCE: Final = Fraction(1, 10**9)
MAX_CLAIMS: Final = 2_000
MAX_ENGINE_CLAIMS: Final = 50
MAX_EXPRESSION: Final = 400
_MAX_PROBLEMS: Final = 50
_EXPRESSION_KEYS: Final = ("expression", "formula", "equation")
_EXPRESSIONS: Final = frozenset(_EXPRESSION_KEYS)
_RESULT_KEYS: Final = ("result", "answer", "output", "value")

_AMOUNT = r"(?:[$€£]\s?)?(?:[0-9]{1,3}(?:,[0-9]{3})+|[0-9]+)(?:\.[0-9]+)?"
_UNITS = (
    r"(?:kg|g|mg|km|m|cm|mm|l|ml|lbs?|oz|mi|ft|hrs?|h|min|s|ms|USD|EUR|GBP|dollars|euros|cents|hours?"
    r"|minutes|seconds|"
    r"days?|weeks?|months?|years?|items?|units?|pieces?)"
)
# Everything that a calculation is written with, in one stretch. Possessive: no part of it is tried twice.
_STRETCH = lazy_pattern(
    rf"(?:[$€£]?[0-9][0-9.,]*+%?(?: ?{_UNITS}\b)?|[-+*/×÷^()−·%= \t$€£]|\b(?:of|times|plus|minus|percent|x"
    rf"|equals|is)\b)++"
)
# a op b = c with plain numbers, which is most of what is written, is decided here; the rest by the engine.
_PLAIN = lazy_pattern(rf"({_AMOUNT})\s*([-+*/×÷x−])\s*({_AMOUNT})\s*=\s*(-?{_AMOUNT})$")
_RELATION = lazy_pattern(r"=|\bequals\b|\bis\b")
_OPERATION = lazy_pattern(
    r"[0-9)a-zA-Z]\s*[+*/×÷^−·]|[0-9)]\s*-|[a-zA-Z]\s-\s|%|\b(?:of|times|plus|minus|percent)\b|[0-9]\s?x\s"
)
# Beside a word, a hyphen joins a range or a date.
_CLEAR_OPERATION = lazy_pattern(r"[+*/×÷^·%]|\s[-−]\s|\b(?:of|times|plus|minus|percent)\b|[0-9]\s?x\s")
_MAY_HOLD_A_CLAIM = lazy_pattern(
    rf"[0-9)%](?:\s?{_UNITS})?\s*=\s*[-$€£(0-9]|[0-9]\s+(?:equals|is)\s+[-$€£0-9]"
)
_APPLY: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "+": lambda left, right: left + right,
    "-": lambda left, right: left - right,
    "*": lambda left, right: left * right,
    "/": lambda left, right: left / right if right else None,
}  # fmt: skip
_SIGNS: Final = str.maketrans("×÷x−", "*/*-")
_PUNCTUATION: Final = str.maketrans("", "", ",$€£ ")


class Wrong(msgspec.Struct, frozen=True):
    path: str
    message: str


class MathGuard(BaseGuard):
    """Checks operation fields, totals, percentages, and `a op b = c` in text.

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
        budget = _Budget()
        for path, value in view.objects:
            for claim in claims_in(value):
                yield None if self._holds(claim) else Wrong(path, _said(claim))
            if not _EXPRESSIONS.isdisjoint(value):
                yield from _expression(path, value, budget)
        for text in view.texts:
            if _speaks_of_results(text.value) and _MAY_HOLD_A_CLAIM.search(text.value):
                yield from self._text_outcomes(text.path, text.value, budget)

    def _text_outcomes(self, path: str, text: str, budget: "_Budget") -> Iterator[Wrong | None]:
        for match in _STRETCH.finditer(text):
            fragment = _fragment(match.group())
            if fragment is None:
                continue
            plain = _PLAIN.match(fragment)
            if plain is not None and _holds_exactly(*plain.groups()):
                yield None
            elif plain is not None and (claim := _plain_claim(plain)) is not None:
                yield None if self._holds(claim) else Wrong(path, _said(claim))
            else:
                yield from _by_engine(path, fragment, budget)

    def _holds(self, claim: Claim) -> bool:
        return any(self._agree(result, claim) for result in claim.results)

    def _agree(self, result: Fraction | int, claim: Claim) -> bool:
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


def _speaks_of_results(text: str) -> bool:
    return "=" in text or " is " in text or "equals" in text


def _fragment(stretch: str) -> str | None:
    """The claim that a stretch of signs and numbers is, or None."""
    fragment = stretch.strip(" \t=+*/×÷^·-−.,")
    fragment = fragment.removeprefix("is ").removeprefix("equals ").removesuffix(" is").strip()
    relation = _RELATION.search(fragment)
    if relation is None:
        return None
    operation = _OPERATION if "=" in fragment else _CLEAR_OPERATION
    return fragment if operation.search(fragment) else None


def _said(claim: Claim) -> str:
    if not claim.results:
        return f"{claim.formula} has no result, not {shown(claim.stated.value)}"
    return f"{claim.formula} = {shown(claim.results[0])}, not {shown(claim.stated.value)}"


def _holds_exactly(left: str, sign: str, right: str, stated: str) -> bool:
    """The quick answer for short numbers, whose sums and products a Decimal holds exactly."""
    if len(left) + len(right) + len(stated) > 26:
        return False
    try:
        first, second, third = (Decimal(text.translate(_PUNCTUATION)) for text in (left, right, stated))
    except InvalidOperation:
        return False
    if sign in "/÷":
        return second != 0 and third * second == first
    return bool(_APPLY[sign.translate(_SIGNS)](first, second) == third)


def _plain_claim(match: re.Match[str]) -> Claim | None:
    left, sign, right, stated = match.groups()
    numbers = [number(each.replace(" ", "")) for each in (left, right, stated.replace("−", "-"))]
    if any(each is None for each in numbers):
        return None
    first, second, third = (each for each in numbers if each is not None)
    result = _APPLY[sign.translate(_SIGNS)](Fraction(first.value), second.value)
    formula = f"{left} {sign} {right}"
    return Claim(formula, () if result is None else (result,), third, False)


class _Budget:
    """How many claims the engine may still be asked about in this output."""

    def __init__(self) -> None:
        self._left = MAX_ENGINE_CLAIMS

    def take(self) -> bool:
        self._left -= 1
        return self._left >= 0


def _expression(path: str, value: Mapping[str, Any], budget: _Budget) -> Iterator[Wrong | None]:
    """`{"expression": "2 + 2", "result": 5}`."""
    expression = next((value[key] for key in _EXPRESSION_KEYS if isinstance(value.get(key), str)), None)
    stated = next((value[key] for key in _RESULT_KEYS if number(value.get(key)) is not None), None)
    if expression is None or stated is None or "=" in expression or not any(map(str.isdigit, expression)):
        return
    yield from _by_engine(path, f"{expression} = {stated}", budget)


def _by_engine(path: str, fragment: str, budget: _Budget) -> Iterator[Wrong | None]:
    if len(fragment) > MAX_EXPRESSION:
        return
    if not budget.take():
        yield Wrong(path, f"more than {MAX_ENGINE_CLAIMS} calculations, too many to check")
        return
    engine = _engine()
    action = Action("verify_math", query=fragment)
    finding = engine.verify(action) if engine.is_light(action) else None
    if finding is None or finding.status is Status.UNCERTAIN:
        return
    if finding.status is Status.VERIFIED:
        yield None
    elif finding.corrected is not None and finding.corrected.query is not None:
        yield Wrong(path, f"{finding.corrected.query}, not {_RELATION.split(fragment)[-1].strip()}")
    else:
        yield Wrong(path, f"{fragment}: {finding.reason}")


@functools.cache
def _engine() -> Any:
    return importlib.import_module("qwed.engines.math").MathEngine()
