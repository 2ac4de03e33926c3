"""Claims about one whole number: prime, even, a multiple of seven."""

import re
from collections.abc import Callable
from functools import cache
from math import isqrt
from typing import Any, Final

import msgspec

from qwed.domain.findings import Failure, Status
from qwed.engines.math import exact
from qwed.engines.math.judge import MathOutcome
from qwed.engines.math.parser import Parser
from qwed.engines.math.problems import MathProblem, NotRational
from qwed.engines.math.prose import rewrite
from qwed.engines.math.ratios import integer_root, reduce_ratio

_MAX_TEXT: Final = 300
_LARGEST: Final = 10**24
_SMALL_FACTORS: Final = 10_000
_MENTIONED: Final = re.compile(
    r"\b(?:prime|composite|even|odd|divisible|multiple|factor|divisor|perfect)\b", re.IGNORECASE
)
_FORM: Final = (
    r"\s*(?P<number>[^?.]{1,100}?) (?P<verb>is not|isn't|is) (?:an? |the )?"
    r"(?P<property>prime|composite|even|odd|perfect square|perfect cube|divisible by|multiple of|factor of|"
    r"divisor of)"
    r"(?: number)?(?: (?P<other>[^?.]{1,100}?))?\s*[.?]?\s*"
)
# No composite below 3.3e24 passes for all of these.
_WITNESSES: Final = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41)


class Predicate(msgspec.Struct, frozen=True):
    number: int
    name: str
    other: int | None
    is_affirmed: bool
    verb_span: tuple[int, int]


def read(text: str) -> Predicate | None:
    """The property a text ascribes to a number; None when it is no such text."""
    if len(text) > _MAX_TEXT or _MENTIONED.search(text) is None:
        return None
    match = _form().fullmatch(text)
    if match is None:
        return None
    name, other_text = match.group("property").lower(), match.group("other")
    number, other = _whole(match.group("number")), None if other_text is None else _whole(other_text)
    if (
        number is None
        or (name in _OF_TWO) != (other is not None)
        or (other_text is not None and other is None)
    ):
        return None
    return Predicate(number, name, other, match.group("verb").lower() == "is", match.span("verb"))


@cache
def _form() -> re.Pattern[str]:
    return re.compile(_FORM, re.IGNORECASE)


def _whole(text: str) -> int | None:
    try:
        parser = Parser(rewrite(text).values)
        (side,) = parser.whole_chain().sides
        numerator, denominator = reduce_ratio(exact.evaluate(side))
    except (MathProblem, ValueError):
        return None
    is_usable = denominator == 1 and abs(numerator) < _LARGEST and not parser.ambiguous
    return numerator if is_usable and not parser.has_units else None


def judge_predicate(claim: Predicate) -> MathOutcome:
    """Decided for every whole number that `read` accepts, but for multiples of zero."""
    if claim.other == 0:
        return MathOutcome(Status.UNCERTAIN, "nothing is said of multiples of zero")
    if claim.other is not None:
        has_property = _OF_TWO[claim.name](claim.number, claim.other)
    else:
        has_property = _OF_ONE[claim.name](claim.number)
    said = claim.name if claim.other is None else f"{claim.name} {claim.other}"
    reason = f"{claim.number} {'is' if has_property else 'is not'} {said}"
    evidence: dict[str, Any] = {"relations": [], "property": said, "value": has_property}
    if claim.name in ("prime", "composite") and (factor := _small_factor(claim.number)) is not None:
        evidence["factor"] = str(factor)
    if has_property == claim.is_affirmed:
        return MathOutcome(Status.VERIFIED, reason, evidence)
    return MathOutcome(Status.CORRECTED, reason, evidence, Failure.INCORRECT)


def _small_factor(number: int) -> int | None:
    """A witness that a number is not prime, where a small one exists."""
    candidates = range(2, min(_SMALL_FACTORS, isqrt(abs(number)) + 1))
    return next((factor for factor in candidates if number % factor == 0), None)


def is_prime(number: int) -> bool:
    """Miller and Rabin's test, exact within the bound."""
    if number < 2:
        return False
    for prime in _WITNESSES:
        if number % prime == 0:
            return number == prime
    odd, twos = number - 1, 0
    while odd % 2 == 0:
        odd, twos = odd // 2, twos + 1
    return all(_passes(number, witness, odd, twos) for witness in _WITNESSES)


def _passes(number: int, witness: int, odd: int, twos: int) -> bool:
    power = pow(witness, odd, number)
    if power in (1, number - 1):
        return True
    for _ in range(twos - 1):
        power = power * power % number
        if power == number - 1:
            return True
    return False


def _is_cube(number: int) -> bool:
    try:
        integer_root(abs(number), 3)
    except NotRational:
        return False
    return True


_OF_ONE: Final[dict[str, Callable[[int], bool]]] = {
    "prime": is_prime,
    "composite": lambda number: number > 3 and not is_prime(number),
    "even": lambda number: number % 2 == 0,
    "odd": lambda number: number % 2 == 1,
    "perfect square": lambda number: number >= 0 and isqrt(number) ** 2 == number,
    "perfect cube": _is_cube,
}
_OF_TWO: Final[dict[str, Callable[[int, int], bool]]] = {
    "divisible by": lambda number, other: number % other == 0,
    "multiple of": lambda number, other: number % other == 0,
    "factor of": lambda number, other: number != 0 and other % number == 0,
    "divisor of": lambda number, other: number != 0 and other % number == 0,
}
