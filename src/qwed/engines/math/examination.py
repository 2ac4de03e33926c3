"""One text: its statements judged under the readings its notation allows, and its correction."""

from collections.abc import Callable, Mapping
from fractions import Fraction
from itertools import combinations
from typing import Final

import msgspec

from qwed.domain.findings import Failure, Status
from qwed.engines.math import equations, predicates, reader
from qwed.engines.math.comparison import StatedValue, find_stated
from qwed.engines.math.derivations import wrong_step
from qwed.engines.math.equations import SolutionClaim
from qwed.engines.math.functions import CONSTANTS
from qwed.engines.math.grammar import CURRENCIES, DEFAULT, Chain, LessUsual
from qwed.engines.math.judge import MathOutcome, Repair, judge
from qwed.engines.math.nodes import Node, Symbol, substitute, symbols
from qwed.engines.math.numeric import is_numeric
from qwed.engines.math.parser import Parser
from qwed.engines.math.problems import MalformedMath, MathProblem
from qwed.engines.math.reader import MathStatement, Span
from qwed.engines.math.tokens import is_number, is_plain, locate, plain
from qwed.engines.math.values import exact_text, fraction_text, write_like

# A claim that is right only in one of these readings may have been meant so: a person decides.
_DOUBTFUL: Final = frozenset({LessUsual.SCALE, LessUsual.DOZEN_TERMS, LessUsual.DEGREES})
# Both readings are in use: a claim that is right in one of them is right, and the evidence says which.
_EITHER: Final = frozenset(LessUsual) - {LessUsual.TIGHT_PRODUCT, LessUsual.NOT_EQUAL} - _DOUBTFUL
_MAX_AMBIGUITIES: Final = 3
_MAX_REPAIRS: Final = 24

Variables = Mapping[str, Node]
# Which chains are worth judging here.
Accepts = Callable[[Chain], bool]


class ExaminedClaim(msgspec.Struct, frozen=True):
    outcomes: list[MathOutcome]
    unread: list[str]


def examine(text: str, variables: Variables) -> ExaminedClaim:
    """What became of each statement of a text. Raises `MathProblem` when there is none."""
    if not is_plain(text):
        text = plain(text)
    if not reader.is_formula(text):
        special = _special(text)
        if special is not None:
            return ExaminedClaim([special], [])
    outcomes, _, unread = _examine(text, variables, _every)
    if not variables and text.count("=") > 1 and (step := wrong_step(text)) is not None:
        outcomes.append(does_not_follow(step))
    return ExaminedClaim(outcomes, unread)


def does_not_follow(step: str) -> MathOutcome:
    reason = f"{step} does not follow from the equations before it"
    return MathOutcome(Status.FAILED, reason, {"step": step}, Failure.INCORRECT)


def examine_numbers(text: str) -> ExaminedClaim:
    """The same for arithmetic alone: whatever would need algebra is left open."""
    outcomes, _, unread = _examine(plain(text), {}, is_numeric)
    return ExaminedClaim(outcomes, unread)


def _every(_: Chain) -> bool:
    return True


def _open(part: str) -> MathOutcome:
    return MathOutcome(Status.UNCERTAIN, f"{part[:80]!r} is not understood")


def _special(text: str) -> MathOutcome | None:
    """Claims that are not relations between two sides."""
    solution = equations.read(text)
    if solution is not None:
        return equations.judge_solutions(solution)
    predicate = predicates.read(text)
    return None if predicate is None else predicates.judge_predicate(predicate)


class _Judged(msgspec.Struct, frozen=True):
    outcome: MathOutcome
    chain: Chain | None


def _examine(
    text: str, variables: Variables, accepts: Accepts
) -> tuple[list[MathOutcome], list[tuple[MathStatement, Chain | None]], list[str]]:
    reading = reader.read(text, frozenset(variables))
    unclear = [_open(part) for part in reading.open]
    if len(reading.statements) == 1:
        only = _judged(reading.statements[0], variables, accepts)
        return [only.outcome, *unclear], [(reading.statements[0], only.chain)], reading.unread
    given = _definitions(reading.statements, variables)
    known = {**variables, **{name: value for name, (_, value) in given.items()}}
    outcomes: list[MathOutcome] = []
    judged: list[tuple[MathStatement, Chain | None]] = []
    for index, statement in enumerate(reading.statements):
        if any(index == place for place, _ in given.values()):
            continue
        one = _judged(statement, known, accepts)
        has_words = reading.unread or statement.dropped_words
        is_next = any(place == index + 1 for place, _ in given.values()) and _is_solved_next(statement)
        if has_words and not is_next and not given.keys().isdisjoint(statement.tokens):
            one = _Judged(_without_blame(one.outcome), one.chain)
        defined_later = {name for name, (place, _) in given.items() if place > index}
        outcomes.append(_without_repair(one.outcome) if defined_later else one.outcome)
        judged.append((statement, one.chain))
    return [*outcomes, *unclear], judged, reading.unread


def _definitions(statements: list[MathStatement], variables: Variables) -> dict[str, tuple[int, Node]]:
    """What `x = 5` among several statements gives a value to, and where; a name given twice is not."""
    found: dict[str, tuple[int, Node]] = {}
    repeated: set[str] = set()
    for index, statement in enumerate(statements):
        try:
            chain = Parser(statement.tokens, names=frozenset(variables)).whole_chain()
        except MathProblem:
            continue
        name = _find_defined(chain)
        if name is None or name in variables:
            continue
        # x = 6 * 18 = 108 works a value out: that x may be another than the one of "x = 8".
        if name in found or len(chain.relations) > 1:
            repeated.add(name)
        if symbols(chain.sides[1]) - CONSTANTS - set(found):
            continue
        value = substitute(chain.sides[1], {known: node for known, (_, node) in found.items()})
        found.setdefault(name, (index, value))
    return {name: value for name, value in found.items() if name not in repeated}


def _is_solved_next(statement: MathStatement) -> bool:
    """8x = 64, x = 8: a letter that the very next statement gives a value to is the same letter."""
    match [token for token in statement.tokens if token]:
        case [factor, name, "=", value]:
            return is_number(factor) and name.isalpha() and is_number(value)
    return False


def _without_repair(outcome: MathOutcome) -> MathOutcome:
    """3x = 15; x = 4: either may be the mistake, so neither is corrected."""
    if outcome.status is not Status.CORRECTED:
        return outcome
    return msgspec.structs.replace(outcome, status=Status.FAILED, repair=None)


def _without_blame(outcome: MathOutcome) -> MathOutcome:
    """Among words, a letter may stand for one thing here and for another there."""
    if outcome.status not in (Status.CORRECTED, Status.FAILED):
        return outcome
    return MathOutcome(Status.UNCERTAIN, "a letter may stand for different things", outcome.evidence)


def _find_defined(chain: Chain | None) -> str | None:
    """The variable that `x = 5` gives a value to."""
    if chain is None or set(chain.relations) != {"="}:
        return None
    left = chain.sides[0]
    return left.name if isinstance(left, Symbol) and left.name not in CONSTANTS else None


# -- readings --------------------------------------------------------------------------------------


def _judged(statement: MathStatement, variables: Variables, accepts: Accepts) -> _Judged:
    first, ambiguous = _under(statement, variables, DEFAULT, accepts)
    if not ambiguous:
        return first
    kinds = sorted(ambiguous)[:_MAX_AMBIGUITIES]
    choices = [frozenset(some) for count in range(1, len(kinds) + 1) for some in combinations(kinds, count)]
    others = [(choice, _under(statement, variables, choice, accepts)[0]) for choice in choices]
    if first.chain is not None and not first.chain.relations:
        return _agree(first, [other for _, other in others])
    if ambiguous <= _EITHER | _DOUBTFUL:
        chosen = _any_verified(first, [other for other in others if not other[0] & _DOUBTFUL])
        if chosen.outcome.status is not Status.VERIFIED and _any_verified(first, others) is not first:
            return _Judged(_ambiguous(first, [other for _, other in others]), first.chain)
        return chosen
    if any(other.outcome.status is not first.outcome.status for _, other in others):
        return _Judged(_ambiguous(first, [other for _, other in others]), first.chain)
    return first


def _agree(first: _Judged, others: list[_Judged]) -> _Judged:
    """A bare expression has a value only when all readings give the same."""
    value = first.outcome.evidence.get("value")
    if value is not None and all(other.outcome.evidence.get("value") == value for other in others):
        return first
    return _Judged(_ambiguous(first, others), first.chain)


def _ambiguous(first: _Judged, others: list[_Judged]) -> MathOutcome:
    readings = [{"status": one.outcome.status.value, **one.outcome.evidence} for one in (first, *others)]
    return MathOutcome(Status.UNCERTAIN, "the notation has two readings that differ", {"readings": readings})


def _any_verified(first: _Judged, others: list[tuple[frozenset[LessUsual], _Judged]]) -> _Judged:
    if first.outcome.status is Status.VERIFIED:
        return first
    for choice, other in others:
        if other.outcome.status is Status.VERIFIED:
            evidence = {**other.outcome.evidence, "reading": "; ".join(sorted(choice))}
            return _Judged(msgspec.structs.replace(other.outcome, evidence=evidence), other.chain)
    return first


def _under(
    statement: MathStatement, variables: Variables, readings: frozenset[LessUsual], accepts: Accepts
) -> tuple[_Judged, set[LessUsual]]:
    parser = Parser(statement.tokens, readings, frozenset(variables))
    try:
        chain = parser.whole_chain()
    except MathProblem as problem:
        return _Judged(_report_unparsed(statement, problem), None), parser.ambiguous
    if variables:
        sides = tuple(substitute(side, dict(variables)) for side in chain.sides)
        chain = msgspec.structs.replace(chain, sides=sides)
    outcome = _outcome(chain, parser.has_units, statement.dropped_words, accepts)
    return _Judged(outcome, chain), parser.ambiguous


def _outcome(chain: Chain, has_units: bool, in_prose: bool, accepts: Accepts) -> MathOutcome:
    if accepts(chain):
        outcome = judge(chain, has_units, in_prose)
    else:
        outcome = MathOutcome(Status.UNCERTAIN, "more than arithmetic")
    if outcome.status is not Status.UNCERTAIN or len(chain.sides) < 3:
        return outcome
    if not outcome.evidence and (wrong := _wrong_link(chain, has_units, accepts)) is not None:
        return wrong
    # 2(l + b) = 2 * 11 = 23: whatever the first side means, the rest is wrong.
    rest = Chain(chain.sides[1:], chain.relations[1:], chain.bounds[1:])
    later = _outcome(rest, has_units, in_prose, accepts)
    if later.failure is not Failure.INCORRECT:
        return outcome
    return msgspec.structs.replace(later, status=Status.FAILED, repair=None)


def _wrong_link(chain: Chain, has_units: bool, accepts: Accepts) -> MathOutcome | None:
    """A computation and its stated result that are wrong however the other links are meant."""
    for at in range(len(chain.sides) - 1):
        link = Chain(chain.sides[at : at + 2], chain.relations[at : at + 1], chain.bounds[at : at + 2])
        if find_stated(link.sides[1]) is None or find_stated(link.sides[0]) is not None or not accepts(link):
            continue
        outcome = judge(link, has_units, True)
        if outcome.failure is Failure.INCORRECT or outcome.repair is not None:
            return msgspec.structs.replace(
                outcome, status=Status.FAILED, failure=Failure.INCORRECT, repair=None
            )
    return None


def _report_unparsed(statement: MathStatement, problem: MathProblem) -> MathOutcome:
    if isinstance(problem, MalformedMath) and not any(map(str.isalpha, statement.tokens)):
        raise problem
    return MathOutcome(Status.UNCERTAIN, str(problem))


# -- correction ------------------------------------------------------------------------------------


def correct_text(text: str, variables: Variables) -> str | None:
    """The text with every wrong result put right; None unless it then verifies."""
    changed = plain(text)
    solution = equations.read(changed)
    if solution is not None:
        return _with_solutions(text, changed, solution)
    predicate = predicates.read(changed)
    if predicate is not None:
        return _splice(text, predicate.verb_span, "is not" if predicate.is_affirmed else "is")
    return _repair(text, variables, _every)


def correct_numbers(text: str) -> str | None:
    return _repair(text, {}, is_numeric)


def _repair(original: str, variables: Variables, accepts: Accepts) -> str | None:
    text = plain(original)
    for _ in range(_MAX_REPAIRS):
        outcomes, judged, _ = _examine(text, variables, accepts)
        wrong = [index for index, outcome in enumerate(outcomes) if outcome.repair is not None]
        if not wrong:
            is_right = all(outcome.status is Status.VERIFIED for outcome in outcomes)
            return original if is_right else None
        edits = [_edit(text, *judged[index], outcomes[index].repair) for index in wrong]
        # From the end, so that the places before stay where they are.
        for span, new in sorted(edits, reverse=True):
            # The plain text has every character in the place of the original: only the value changes.
            text, original = _splice(text, span, new), _splice(original, span, new)
    return None


def _with_solutions(original: str, text: str, claim: SolutionClaim) -> str | None:
    found = equations.judge_solutions(claim).evidence.get("solutions")
    if found is None:
        return None
    changed = _splice(text, claim.values_span, found)
    again = equations.read(changed)
    is_right = again is not None and equations.judge_solutions(again).status is Status.VERIFIED
    return _splice(original, claim.values_span, found) if is_right else None


def _edit(
    text: str, statement: MathStatement, chain: Chain | None, repair: Repair | None
) -> tuple[Span, str]:
    """What to write instead, and where."""
    assert chain is not None and repair is not None
    spans = statement.spans or _locate(text)
    first, last = chain.bounds[repair.side]
    if repair.relation:
        return spans[last], _relation_text(text, spans[last], repair.relation)
    side_span = (spans[first][0], spans[last - 1][1])
    if repair.value is None:
        return side_span, repair.text
    old = text[slice(*side_span)]
    number = find_stated(chain.sides[repair.side])
    numeric = [at for at in range(first, last) if is_number(statement.tokens[at])]
    if number is None or len(numeric) != 1:
        return side_span, _side_text(old, repair.value, number)
    number_span = spans[numeric[0]]
    shown = write_like(abs(repair.value), number.literal, statement.tokens[numeric[0]])
    if repair.value >= 0:
        return number_span, shown
    # The sign changes, and it stands before the currency; what follows the number stays.
    sign = "" if number.factor < 0 else "-"
    return (side_span[0], number_span[1]), sign + _currency(old) + shown


def _locate(text: str) -> list[Span]:
    tokens = locate(text)
    return list(zip(tokens.starts, tokens.ends, strict=True))


def _splice(text: str, span: Span, new: str) -> str:
    return text[: span[0]] + new + text[span[1] :]


_SPOKEN: Final = {"<": " is less than ", ">": " is greater than ", "=": " is equal to "}


def _relation_text(text: str, span: Span, relation: str) -> str:
    """In words where there were words."""
    old = text[slice(*span)]
    return _SPOKEN[relation].strip() if old.strip()[:1].isalpha() else old.replace(old.strip(), relation)


def _side_text(old: str, value: Fraction, number: StatedValue | None) -> str:
    """A whole side written anew, in fractions where it spoke in fractions."""
    amount = value if number is None else value * number.factor
    size = abs(amount)
    digits = fraction_text(size) if "/" in old else exact_text((size.numerator, size.denominator))
    return ("-" if amount < 0 else "") + _currency(old) + digits


def _currency(old: str) -> str:
    return next((mark for mark in CURRENCIES if mark in old), "")
