"""Calculations in text: the plain ones are decided here, the lines with others are read by the math engine.

A line is one that the engine reads whole, so that a number keeps its unit, its currency and its words. What
the engine leaves open was not checked, and is not called wrong.
"""

import functools
import importlib
import re
from collections.abc import Callable, Iterator
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from itertools import pairwise
from typing import Any, Final

import msgspec

from qwed.domain.findings import Failure, Finding, Status
from qwed.domain.lazy_pattern import lazy_pattern
from qwed_open_responses.calculations import CalculationClaim, number

MAX_ENGINE_CLAIMS: Final = 100
MAX_LINE: Final = 400
# What the engine reads of one output; a line that is wrong is read again to be put right.
_MAX_ENGINE_CHARACTERS: Final = 5_000
_READ_AGAIN: Final = 5
_MAX_SIGNS: Final = 10_000
_BEFORE: Final = 80
_AFTER: Final = 24

_AMOUNT = r"(?:[$€£]\s?)?(?:[0-9]{1,3}(?:,[0-9]{3})+|[0-9]+)(?:\.[0-9]+)?"
# a op b = c with nothing beside it that could belong to it.
_PLAIN = lazy_pattern(
    rf"(?:^|(?<=[A-Za-z:;,('\"“])|(?<=[.:;,]\s)|(?<=[A-Za-z]\s))(?<![0-9]x)(?<!of\s)({_AMOUNT})\s?([-+*/×÷x−])\s?"
    rf"({_AMOUNT})\s?=\s?(-?{_AMOUNT})(?=\s*$|[.,;:!?)'\"”]?\s+[A-Za-z]|[.,;:!?)'\"”]+\s*$)(?!\s+[x]\b)"
)
# <<48/2=24>>, as worked answers mark a calculation.
_MARK = lazy_pattern(rf"<<({_AMOUNT})([-+*/])({_AMOUNT})=(-?{_AMOUNT})>>")
_BESIDE_MARK = lazy_pattern(
    r"<<[^<>\n]{1,120}=(-?[0-9]+(?:\.[0-9]+)?)>>\s?[$€£]?(-?[0-9][0-9,]*(?:\.[0-9]+)?)(?![0-9%]|\s*[-+*/x×:=])"
)
_PARTS = lazy_pattern(rf"{_AMOUNT}|[-+*/×÷x−]")
_SUM = rf"{_AMOUNT}(?:\s?[-+*/×÷x−]\s?{_AMOUNT}){{0,8}}"
# A chain with nothing beside it that could belong to it.
_CHAIN = lazy_pattern(
    rf"(?:^|(?<=[A-Za-z:;,('\"“]\s)|(?<=[.:;,]\s))(?<![0-9]x)(?<!of\s){_SUM}(?:\s?=\s?{_SUM}){{1,3}}"
    r"(?=\s*$|[.,;:!?)'\"”]?\s+[A-Za-z]|[.,;:!?)'\"”]+\s*$)(?!\s+[x]\b)"
)
_RULES = lazy_pattern(r"={2,}|[-=~*#]{4,}")
_SENTENCE_END = lazy_pattern(r"(?<=[.;!?])\s+")
# Where a sentence that is too long may be cut: before words, never inside a formula.
_CLAUSE_END = lazy_pattern(r",\s+(?=[a-z])|\s(?=(?:and|so|then|but|which) [a-z])")
_OPERATION = lazy_pattern(
    r"\\(?:d?frac|times|cdot|sqrt|div|binom)|\|-?[0-9]|[0-9][CP][0-9]|\b(?:sqrt|lcm|gcd|hcf|L\.C\.M|H\.C\.F)\b|"
    r"[0-9)a-zA-Z$€£]\s*[+*/×÷^−–·²³]|[0-9)%a-z]\s*[-–]\s*[0-9$€£(]|[0-9]!|√|%|"
    r"\bx\s?[0-9$€£(]|[0-9]x[0-9(]|[0-9]\s?@\s?[0-9$€£]|"
    r"\b(?:of|times|plus|minus|percent|squared|cubed|root|divided|multiplied|sum|difference|product|average)\b"
)
_SPOKEN = lazy_pattern(r"[0-9%)a-z]\s+(?:equals|is)\s+[-$€£0-9]")
# 365 = 52 * 7 + 1
_STATED = lazy_pattern(r"(?:^|[\s:,;(])[-$€£]?[0-9][0-9,.]*\s*$")
_RESULT = lazy_pattern(r"[\s*]*(?:Rs\.?\s*|about |approximately )?[-$€£₹(.√0-9<]")
# A letter beside a sign, in a line with a relation.
_ALGEBRA = lazy_pattern(r"(?:[0-9)]|(?<![A-Za-z]))[b-zB-HJ-Z] ?(?:&?=|[-+/*) ][^=\n]{0,80}=)")
_MAX_STEP_CHARACTERS: Final = 3_000
_MAX_SPLIT: Final = 2_000
_APPLY: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "+": lambda left, right: left + right,
    "-": lambda left, right: left - right,
    "*": lambda left, right: left * right,
    "/": lambda left, right: left / right if right else None,
}
_SIGNS: Final = str.maketrans("×÷x−", "*/*-")
_PUNCTUATION: Final = str.maketrans("", "", ",$€£ ")

Holds = Callable[[CalculationClaim], bool]


class JudgedCalculation(msgspec.Struct, frozen=True):
    """One calculation: `wrong` is empty where it holds."""

    wrong: str = ""


class EngineBudget:
    """How much the engine may still be asked about in this output."""

    def __init__(self) -> None:
        self._lines = MAX_ENGINE_CLAIMS
        self._characters = _MAX_ENGINE_CHARACTERS

    def take(self, characters: int) -> bool:
        self._lines -= 1
        self._characters -= characters
        return self._lines >= 0 and self._characters >= 0

    def charge(self, characters: int) -> None:
        self._characters -= characters


RIGHT: Final = JudgedCalculation()
TOO_MANY: Final = JudgedCalculation("too many calculations to check")


def judge_text(text: str, holds: Holds, budget: EngineBudget) -> Iterator[JudgedCalculation]:
    """One for each calculation that the text states and that was decided."""
    if not _speaks_of_results(text):
        return
    signs = 0
    told: dict[str, list[JudgedCalculation]] = {}
    for line in _lines(text):
        signs += line.count("=")
        if signs > _MAX_SIGNS:
            yield TOO_MANY
            return
        if line not in told:
            told[line] = list(_judge_line(line, holds, budget)) if _may_claim(line) else []
        for judged in told[line]:
            yield judged
            if judged is TOO_MANY:
                return
    yield from _judge_steps(text)


def _judge_steps(text: str) -> Iterator[JudgedCalculation]:
    """The values that letters get, each against the equations before it."""
    steps = [line for line in text.split("\n", _MAX_SPLIT) if len(line) <= MAX_LINE and _ALGEBRA.search(line)]
    joined = "\n".join(steps)[:_MAX_STEP_CHARACTERS]
    if joined.count("=") < 2:
        return
    wrong = _engine().wrong_step(joined)
    if wrong is not None:
        yield JudgedCalculation(f"{wrong} does not follow from the equations before it")


def _speaks_of_results(text: str) -> bool:
    return "=" in text or " is " in text or "equals" in text or "≈" in text


def _lines(text: str) -> Iterator[str]:
    """The lines, each with those that go on from it; long ones by their sentences."""
    held = ""
    for line in _RULES.sub(" ", text).split("\n"):
        if line.lstrip()[:1] in ("=", "≈") and held:
            held = f"{held}\n{line}"
            continue
        yield from _short(held)
        held = line
    yield from _short(held)


def _short(line: str) -> Iterator[str]:
    if len(line) <= MAX_LINE:
        if line:
            yield line
        return
    held = ""
    for sentence in _SENTENCE_END.split(line):
        if len(held) + len(sentence) > MAX_LINE:
            yield held
            held = ""
        if len(sentence) > MAX_LINE:
            yield from _CLAUSE_END.split(sentence)
        else:
            held = f"{held} {sentence}" if held else sentence
    yield held


def _may_claim(line: str) -> bool:
    """Whether a sign has an operation with numbers on its left and a number on its right."""
    if len(line) > MAX_LINE:
        return False
    if _SPOKEN.search(line) is not None and _OPERATION.search(line) is not None:
        return True
    pieces = line.replace("≈", "=").split("=")
    return any(
        (_RESULT.match(right[:_AFTER]) is not None and _is_computed(left[-_BEFORE:]))
        or (_STATED.search(left[-_BEFORE:]) is not None and _is_computed(right[:_BEFORE]))
        for left, right in pairwise(pieces)
    )


def _is_computed(left: str) -> bool:
    return any(map(str.isdigit, left)) and _OPERATION.search(left) is not None


def _judge_line(line: str, holds: Holds, budget: EngineBudget) -> Iterator[JudgedCalculation]:
    if "<<" in line:
        if (other := _beside_mark(line)) is not None:
            yield other
            return
        marks = [mark for mark in _MARK.finditer(line) if _holds_exactly(*mark.groups())]
        yield from [RIGHT] * len(marks)
        for mark in reversed(marks):
            line = line[: mark.start()] + line[mark.end() :]
        if not _may_claim(line):
            return
    matches = list(_PLAIN.finditer(line))
    exact = [match for match in matches if _holds_exactly(*match.groups())]
    if exact and len(exact) == line.count("=") and _SPOKEN.search(line) is None:
        yield from [RIGHT] * len(exact)
        return
    if not exact and _is_exact_sum(line):
        yield RIGHT
        return
    tolerated = [match for match in matches if match not in exact and _is_tolerated(match, holds)]
    for match in reversed(tolerated):
        line = line[: match.start()] + "; " + line[match.end() :]
    if not tolerated or _may_claim(line):
        yield from judge_by_engine(line, budget)
    yield from [RIGHT] * len(tolerated)


def _beside_mark(line: str) -> JudgedCalculation | None:
    """<<90-27=63>>43: the words have another result than the mark."""
    for mark in _BESIDE_MARK.finditer(line):
        marked, written = (number(text) for text in mark.groups())
        if marked is None or written is None:
            continue
        # 0.6 is written as 60 too, and 3.5 as 3 or 4.
        if abs(Fraction(marked.value) - Fraction(written.value)) >= 1 and marked.value * 100 != written.value:
            said = f"{mark.group(1)} is worked out, not {mark.group(2)}"
            return JudgedCalculation(f"{line.strip()[:200]}: {said}")
    return None


def _is_exact_sum(line: str) -> bool:
    """The quick answer for one chain of sums and products in a line of words: 3 + 4 * 5 = 23."""
    found = _CHAIN.search(line)
    if found is None or found.group().count("=") != line.count("=") or _SPOKEN.search(line) is not None:
        return False
    sides = [_quick_value(side) for side in found.group().split("=")]
    return sides[0] is not None and all(side == sides[0] for side in sides)


def _quick_value(side: str) -> Fraction | None:
    """What numbers with + - * and / between them come to; None for numbers that are long."""
    parts = _PARTS.findall(side)
    if len(side) > 60:
        return None
    if len(parts) == 1:
        return Fraction(parts[0].translate(_PUNCTUATION))
    total, product, sign = Fraction(0), Fraction(1), "+"
    for at in range(0, len(parts), 2):
        written = parts[at].translate(_PUNCTUATION)
        value = Fraction(int(written)) if written.isdigit() else Fraction(written)
        if sign in "+-":
            total, product = total + product * (at > 0), value if sign == "+" else -value
        elif sign == "*":
            product *= value
        elif value:
            product /= value
        else:
            return None
        sign = parts[at + 1].translate(_SIGNS) if at + 1 < len(parts) else ""
    return total + product


def _is_tolerated(match: re.Match[str], holds: Holds) -> bool:
    claim = _plain_claim(match)
    return claim is not None and holds(claim)


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


def _plain_claim(match: re.Match[str]) -> CalculationClaim | None:
    left, sign, right, stated = match.groups()
    numbers = [number(each.replace(" ", "")) for each in (left, right, stated)]
    if any(each is None for each in numbers):
        return None
    first, second, third = (each for each in numbers if each is not None)
    result = _APPLY[sign.translate(_SIGNS)](Fraction(first.value), second.value)
    return CalculationClaim(f"{left} {sign} {right}", () if result is None else (result,), third, False)


def judge_by_engine(line: str, budget: EngineBudget) -> Iterator[JudgedCalculation]:
    if len(line) > MAX_LINE:
        return
    if not budget.take(len(line)):
        yield TOO_MANY
        return
    finding: Finding = _engine().verify_numbers(line)
    if finding.status is Status.VERIFIED:
        yield RIGHT
    elif finding.failure is Failure.INCORRECT or finding.corrected is not None:
        budget.charge(_READ_AGAIN * len(line))
        yield JudgedCalculation(_say(line, finding))


def _say(line: str, finding: Finding) -> str:
    right = finding.corrected.query if finding.corrected is not None else None
    if right is None:
        return f"{line.strip()[:200]}: {finding.reason}"
    return f"{right.strip().rstrip('.')[:200]}, not {_find_change(line, right)}"


def _find_change(wrong: str, right: str) -> str:
    """The number that stands in the wrong text where the right one has another."""
    pairs = zip(wrong, right, strict=False)
    at = next((at for at, (old, new) in enumerate(pairs) if old != new), min(len(wrong), len(right)))
    while at and (wrong[at - 1].isdigit() or wrong[at - 1] in ".,"):
        at -= 1
    found = re.match(r"[-−]?[0-9][0-9,]*(?:\.[0-9]+)?", wrong[at:])
    return found.group() if found else wrong[at:].strip()[:40]


@functools.cache
def _engine() -> Any:
    return importlib.import_module("qwed.engines.math").MathEngine()
