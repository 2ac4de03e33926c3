"""A chain of sides and relations to an outcome: right, wrong with its repair, without value, or open."""

from fractions import Fraction
from typing import Any, Final

import msgspec

from qwed.domain.findings import Failure, Status
from qwed.engines.math import algebra, exact, matrices
from qwed.engines.math.certified import PRECISIONS, Interval, enclose
from qwed.engines.math.comparison import Link, StatedValue, compare, find_stated, find_written_factor
from qwed.engines.math.functions import CONSTANTS
from qwed.engines.math.grammar import Chain
from qwed.engines.math.looseness import is_loose
from qwed.engines.math.nodes import Literal, Negation, Node, Product, Symbol, symbols, walk
from qwed.engines.math.problems import (
    MalformedMath,
    MathProblem,
    NotRational,
    Symbolic,
    UndecidedMath,
    Undefined,
)
from qwed.engines.math.ratios import Ratio
from qwed.engines.math.units import bare, without_units
from qwed.engines.math.values import SHOWN_PLACES, bounds_text, exact_text, fixed


class Repair(msgspec.Struct, frozen=True):
    """What to write instead: a number in a stated side, a whole side, or the relation after a side."""

    side: int
    value: Fraction | None = None
    text: str = ""
    relation: str = ""


class MathOutcome(msgspec.Struct, frozen=True):
    status: Status
    reason: str
    evidence: dict[str, Any] = {}
    failure: Failure | None = None
    repair: Repair | None = None


_ONE: Final = Fraction(1)
_LONGEST_SHOWN: Final = 200
_TRUE_RELATION: Final = {-1: "<", 0: "=", 1: ">"}


def judge(chain: Chain, has_units: bool, in_prose: bool = False) -> MathOutcome:
    """Never raises: a problem is an outcome. Words around it allow readings that a bare formula does not."""
    try:
        if has_units:
            return _with_units(chain, in_prose)
        return _judge(chain.sides, chain.relations, _ONE, in_prose)
    except MalformedMath as problem:
        return MathOutcome(Status.FAILED, str(problem), failure=Failure.MALFORMED)
    except Undefined as problem:
        return MathOutcome(Status.FAILED, f"no value: {problem}", failure=Failure.INCORRECT)
    except MathProblem as problem:
        return MathOutcome(Status.UNCERTAIN, str(problem))


def _with_units(chain: Chain, in_prose: bool) -> MathOutcome:
    """Right in one way that the units may be meant is right; wrong is what is wrong in all of them."""
    wrong: list[MathOutcome] = []
    try:
        meant = without_units(chain.sides)
    except UndecidedMath as problem:
        return _by_numbers_alone(chain, in_prose, str(problem))
    for plain in meant:
        outcome = _judge(plain.sides, chain.relations, plain.size, in_prose)
        if not plain.agrees:
            evidence = {
                **outcome.evidence,
                "units": "of the two sides differ; only the numbers were compared",
            }
            outcome = msgspec.structs.replace(outcome, evidence=evidence)
        if outcome.status is not Status.CORRECTED and outcome.status is not Status.FAILED:
            return outcome
        wrong.append(outcome)
    if any(map(_is_conversion, (outcome.evidence.get("relations") for outcome in wrong))):
        return MathOutcome(Status.UNCERTAIN, "the units may convert one side to the other", wrong[0].evidence)
    numbers = bare(chain.sides)
    if numbers and _judge(numbers, chain.relations, _ONE, in_prose).status is Status.VERIFIED:
        return MathOutcome(Status.UNCERTAIN, "the numbers agree and their units do not", wrong[0].evidence)
    if len(wrong) == 1 or wrong[0].repair == wrong[1].repair:
        return wrong[0]
    return msgspec.structs.replace(wrong[0], status=Status.FAILED, repair=None)


# What 3 hours x 2 days may have been converted by.
_USUAL_FACTORS: Final = (
    *(
        1,
        2,
        3,
        4,
        5,
        7,
        10,
        12,
        16,
        20,
        24,
        25,
        28,
        30,
        31,
        36,
        50,
        52,
        60,
        90,
        100,
        144,
        168,
        365,
        366,
        1_000,
        1_440,
    ),
    *(1_760, 2_000, 3_600, 5_280, 7_200, 8_760, 10_000, 86_400, 100_000, 1_000_000),
)


def _by_numbers_alone(chain: Chain, in_prose: bool, reason: str) -> MathOutcome:
    """3 hours x 2 days = 7 hours: the units say nothing, and no usual factor makes the numbers agree."""
    open_ = MathOutcome(Status.UNCERTAIN, reason)
    numbers = bare(chain.sides) if len(chain.sides) == 2 and isinstance(chain.sides[0], Product) else None
    if not numbers or find_stated(numbers[1]) is None:
        return open_
    outcome = _judge(numbers, chain.relations, _ONE, in_prose)
    relations = outcome.evidence.get("relations")
    if outcome.status is not Status.CORRECTED or not relations:
        return open_
    try:
        left, right = (abs(Fraction(str(relations[-1].get(side)))) for side in ("left", "right"))
    except ValueError:
        return open_
    ratio = max(left, right) / min(left, right) if left and right else Fraction(0)
    return open_ if not ratio or ratio in _USUAL_FACTORS else outcome


# Minutes, hours and seconds: 30 min at 60 knots are 30 miles.
_CONVERSIONS: Final = frozenset({60, 3_600})


def _is_conversion(relations: Any) -> bool:
    if not relations or not isinstance(relations[-1].get("left"), str):
        return False
    try:
        left, right = (abs(Fraction(str(relations[-1].get(side)))) for side in ("left", "right"))
    except ValueError:
        return False
    if not left or not right:
        return False
    return left / right in _CONVERSIONS or right / left in _CONVERSIONS


def _judge(
    sides: tuple[Node, ...], relations: tuple[str, ...], size: Fraction, in_prose: bool
) -> MathOutcome:
    if len(sides) == 1:
        return _value_of(sides[0], size)
    outcome = _links(sides, relations, size)
    is_wrong = outcome.status in (Status.CORRECTED, Status.FAILED)
    if not is_wrong or not (is_loose(sides, relations, in_prose) or _may_have_units(sides)):
        return outcome
    return MathOutcome(
        Status.UNCERTAIN, "it may be meant in another way than it is written", outcome.evidence
    )


# m, s, h, g, l; the C and F of temperatures; sq m is read as letters.
_UNIT_LETTERS: Final = frozenset("mshglqCFL")


def _may_have_units(sides: tuple[Node, ...]) -> bool:
    """Two letters and more that are all letters of units, and each has its number: 108 / h = 30 m / s."""
    letters = frozenset().union(*map(symbols, sides)) - CONSTANTS
    return (
        len(letters) > 1 and letters <= _UNIT_LETTERS and not any(isinstance(side, Symbol) for side in sides)
    )


# -- a bare expression -----------------------------------------------------------------------------


def _value_of(node: Node, size: Fraction) -> MathOutcome:
    try:
        value = exact.evaluate(node)
    except NotRational:
        return _enclose(node)
    except Symbolic:
        return _judge_structures(node)
    if size != 1:
        value = (value[0] * size.denominator, value[1] * size.numerator)
    return _compute(value)


def _compute(value: Ratio) -> MathOutcome:
    text = exact_text(value)
    evidence = {"value": text, "method": "exact arithmetic"}
    if "/" in text:
        evidence["decimal"] = fixed(Fraction(*value), SHOWN_PLACES)
    return MathOutcome(Status.VERIFIED, "the exact value", evidence)


def _enclose(node: Node) -> MathOutcome:
    interval = enclose(node, PRECISIONS[0])
    evidence = {
        "value": _find_agreed_digits(interval),
        "enclosure": bounds_text(interval.low, interval.high),
        "method": "certified interval",
    }
    return MathOutcome(Status.VERIFIED, "a certified value", evidence)


def _judge_structures(node: Node) -> MathOutcome:
    if matrices.has_rows(node):
        return MathOutcome(
            Status.VERIFIED, "the exact value", {"value": matrices.text(node), "method": "exact arithmetic"}
        )
    if all(isinstance(part, Symbol | Product) for part in walk(node)):
        raise UndecidedMath("names alone are no expression")
    text, method = algebra.simplified(node)
    return MathOutcome(Status.VERIFIED, "the exact result", {"value": text, "method": method})


def _find_agreed_digits(interval: Interval) -> str:
    """The decimals that both ends of the interval share."""
    for places in (20, 15, 10, SHOWN_PLACES, 3, 1):
        low, high = fixed(interval.low, places), fixed(interval.high, places)
        if low == high:
            return low
    return fixed(interval.low, SHOWN_PLACES)


# -- relations -----------------------------------------------------------------------------------


def _links(sides: tuple[Node, ...], relations: tuple[str, ...], size: Fraction) -> MathOutcome:
    notes: list[dict[str, Any]] = []
    start = _first_computed(sides)
    for index, relation in enumerate(relations[start:], start):
        outcome = _link(sides, start, index, relation, size, notes)
        if outcome is not None:
            return outcome
    return MathOutcome(Status.VERIFIED, _summary(notes), {"relations": notes})


def _first_computed(sides: tuple[Node, ...]) -> int:
    """C = 2πr = 2 * π * 5 = 31.42: what stands before the numbers names them and gives the formula."""
    if not isinstance(sides[0], Symbol) or sides[0].name in CONSTANTS:
        return 0
    computed = [index for index, side in enumerate(sides) if not symbols(side) - CONSTANTS]
    is_tail = computed == list(range(len(sides) - len(computed), len(sides)))
    return computed[0] if is_tail and len(computed) > 1 else 0


def _summary(notes: list[dict[str, Any]]) -> str:
    ways = sorted({note["how"] for note in notes})
    return f"holds {', '.join(ways)}"


def _link(
    sides: tuple[Node, ...],
    start: int,
    index: int,
    relation: str,
    size: Fraction,
    notes: list[dict[str, Any]],
) -> MathOutcome | None:
    """The outcome of a relation that ends the chain; None when it holds."""
    left, right = sides[index], sides[index + 1]
    try:
        link = compare(left, relation, right)
        # 10/3 = 3.333 = 3.33: a result may be rounded again from the first side.
        if not link.holds and index > start and relation == "=":
            again = compare(sides[start], "=", right)
            link = again if again.holds else link
    except NotRational as problem:
        return _proven(left, relation, right, notes, problem)
    except Symbolic:
        return _beyond_numbers(left, relation, right, notes)
    how = link.how if link.holds else "does not hold"
    note = {"left": _text(link.left), "relation": relation, "right": _text(link.right), "how": how}
    notes.append(note)
    return None if link.holds else _wrong(sides, index, link, size, notes)


def _text(interval: Interval) -> Any:
    if interval.is_point:
        text = exact_text((interval.low.numerator, interval.low.denominator))
        if len(text) <= _LONGEST_SHOWN or "/" not in text:
            return text
    return bounds_text(interval.low, interval.high)


def _proven(
    left: Node, relation: str, right: Node, notes: list[dict[str, Any]], problem: NotRational
) -> MathOutcome | None:
    """Equal to a thousand bits: only algebra can say that it is equal."""
    if not algebra.is_zero_difference(left, right):
        raise UndecidedMath(str(problem))
    if relation not in ("=", "≈", "<=", ">="):
        return MathOutcome(Status.FAILED, "the two sides are equal", failure=Failure.INCORRECT)
    notes.append({"relation": relation, "how": "exactly, by symbolic proof"})
    return None


def _beyond_numbers(
    left: Node, relation: str, right: Node, notes: list[dict[str, Any]]
) -> MathOutcome | None:
    if matrices.has_rows(left) or matrices.has_rows(right):
        verdict = matrices.compare(left, relation, right)
    else:
        verdict = algebra.compare(left, relation, right)
    notes.append(verdict.note)
    if verdict.holds:
        return None
    evidence = {"relations": notes}
    if verdict.correction:
        repair = Repair(verdict.corrected_side, text=verdict.correction)
        return MathOutcome(Status.CORRECTED, verdict.reason, evidence, Failure.INCORRECT, repair)
    return MathOutcome(Status.FAILED, verdict.reason, evidence, Failure.INCORRECT)


def _wrong(
    sides: tuple[Node, ...], index: int, link: Link, size: Fraction, notes: list[dict[str, Any]]
) -> MathOutcome:
    note = notes[-1]
    reason = f"{_brief(note['left'])} {note['relation']} {_brief(note['right'])} does not hold"
    if note["relation"] in ("=", "≈"):
        repair = _correct_value(sides, index, link, size)
    else:
        order = (link.left.low > link.right.high) - (link.left.high < link.right.low)
        repair = Repair(index, relation=_TRUE_RELATION[order])
    status = Status.FAILED if repair is None else Status.CORRECTED
    return MathOutcome(status, reason, {"relations": notes}, Failure.INCORRECT, repair)


def _brief(value: Any) -> str:
    return str(value if isinstance(value, str) else value[0])[:40]


def _correct_value(sides: tuple[Node, ...], index: int, link: Link, size: Fraction) -> Repair | None:
    """The claimed value is the one after the last sign, or the stated side of two. None where neither is."""
    target, source = index + 1, link.left
    number = find_stated(sides[target])
    if number is None and len(sides) == 2 and (first := find_stated(sides[0])) is not None:
        target, source, number = 0, link.right, first
    if target and target < len(sides) - 1:
        return None
    if number is None:
        is_value = source.is_point and _is_fraction(sides[target])
        return Repair(target, value=source.low / size) if is_value else None
    factor = find_written_factor(number, sides[1 - target] if len(sides) == 2 else sides[index])
    return None if factor is None else Repair(target, value=_representative(source, number) / factor)


def _is_fraction(node: Node) -> bool:
    """1/2, a value that is written as a quotient."""
    return isinstance(node, Product) and node.inverse == (False, True) and all(map(_is_whole, node.factors))


def _is_whole(node: Node) -> bool:
    node = node.operand if isinstance(node, Negation) else node
    return isinstance(node, Literal) and not node.has_point


def _representative(interval: Interval, number: StatedValue | None) -> Fraction:
    """A rational to print: the value itself, or the decimals that are certain of an irrational one."""
    if interval.is_point:
        return interval.low
    has_places = number is not None and number.literal.has_point and number.literal.places > 0
    places = number.literal.places if number is not None and has_places else SHOWN_PLACES
    scale = abs(number.factor) if number is not None else Fraction(1)
    low, high = fixed(interval.low / scale, places), fixed(interval.high / scale, places)
    if low != high:
        raise UndecidedMath("the value could not be computed precisely enough")
    return Fraction(low) * scale
