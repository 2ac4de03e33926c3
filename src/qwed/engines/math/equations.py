"""Claims about the solutions of equations: each is put in, and all of them are counted.

A list of solutions is right when every one satisfies every equation and none is missing. For a
polynomial in one variable the real roots are counted exactly (Sturm's theorem); for linear systems
elimination counts. Where completeness cannot be counted, only "is a solution" is answered.
"""

import re
from fractions import Fraction
from functools import cache
from typing import Any, Final

import msgspec

from qwed.domain.findings import Failure, Status
from qwed.engines.math import algebra, polynomial
from qwed.engines.math.comparison import compare, find_stated
from qwed.engines.math.judge import MathOutcome
from qwed.engines.math.nodes import Literal, Negation, Node, PlusMinus, Symbol, substitute, subtract, symbols
from qwed.engines.math.parser import Parser
from qwed.engines.math.problems import MalformedMath, MathProblem, NotRational, UndecidedMath
from qwed.engines.math.prose import rewrite
from qwed.engines.math.real_roots import count_real_roots, exact_roots, number_text, value_at

_MAX_TEXT: Final = 1_000
_MAX_DEGREE: Final = 20
_MAX_EQUATIONS: Final = 8
_MENTIONED: Final = re.compile(
    r"\bsolve\b|\bsolutions?\b|\broots?\b|\bzeros?\b|=>|⇒|\b(?:then|implies|so|therefore)\b", re.IGNORECASE
)
_NOUN: Final = r"(?:real |distinct |integer )*(?:solutions?|roots?|zeros?)(?: set)?"
_SUBJECT: Final = r"(?:the )?(?:equations? |system(?: of equations)? |polynomial )?"
_OF: Final = r"(?:of|to|for)"
_COUNT: Final = r"(?:the |exactly |only |a |an |one |two |three |four |unique |single )*"

# Tried in this order. `eq` holds the equations, `values` what is claimed of them.
_FORMS: Final = (
    rf"{_SUBJECT}(?P<eq>.+?) has (?P<none>no) {_NOUN}\.?",
    rf"{_SUBJECT}(?P<eq>.+?) has {_COUNT}{_NOUN}\s*[:,]?\s*(?:at |of |are |is )?(?P<values>\S.*)",
    rf"(?:the |all )*{_NOUN} {_OF} {_SUBJECT}(?P<eq>.+?) (?:is|are):?\s+(?P<values>.+)",
    rf"(?P<values>.+?) (?:is|are) (?P<one>a |one )?(?:the )?{_NOUN} {_OF} {_SUBJECT}(?P<eq>.+)",
    rf"solve {_SUBJECT}(?:for [a-z]\s?[:,]?\s)?(?P<eq>[^;:\n?]+?)(?: for [a-z])?\s*"
    r"(?:[;:\n?]|\. |=>|⇒|→|->|,? (?:so|then|giving|gives|to get|we get)\b)\s*(?P<values>.+)",
    rf"solve {_SUBJECT}(?P<eq>[^;:\n?]+?)(?: for [a-z])?\s*[.?]?",
    r"(?:if )?(?P<eq>[^;⇒\n]+?),?\s+(?:then|implies(?: that)?|so|therefore)\s+"
    r"(?P<values>[a-z]\s*=[^=].*)",
    r"(?P<eq>[^;⇒\n]+?)\s*(?:=>|⇒|→)\s*(?P<values>[a-z]\s*=[^=].*)",
)
_SEPARATOR: Final = re.compile(r"\s*(?:,\s*and\b|,\s*or\b|,|;|\n|\band\b|\bor\b)\s*", re.IGNORECASE)

Assignment = dict[str, Node]


class SolutionClaim(msgspec.Struct, frozen=True):
    """`values` is None for a question; empty where none is claimed to exist."""

    equations: list[tuple[Node, Node]]
    values: list[tuple[str | None, Node]] | None
    is_complete: bool
    values_span: tuple[int, int]


def read(text: str) -> SolutionClaim | None:
    """The claim about solutions that a text consists of; None when it is no such text."""
    if len(text) > _MAX_TEXT or _MENTIONED.search(text) is None:
        return None
    stripped = text.strip()
    offset = text.index(stripped) if stripped else 0
    for pattern in _FORMS:
        match = _form(pattern).fullmatch(stripped)
        claim = None if match is None else _claim(match, offset)
        if claim is not None:
            return claim
    return None


@cache
def _form(pattern: str) -> re.Pattern[str]:
    """Compiled when first needed: most texts are about something else."""
    return re.compile(pattern, re.IGNORECASE | re.DOTALL)


def _claim(match: re.Match[str], offset: int) -> SolutionClaim | None:
    groups = match.groupdict()
    values_text = groups.get("values")
    try:
        equations = [_equation(part) for part in _parts(groups["eq"])]
        values = (
            None if values_text is None else [_value(part) for part in _parts(values_text.strip(" .[]{}"))]
        )
    except MathProblem:
        return None
    if not equations or len(equations) > _MAX_EQUATIONS or not _unknowns(equations):
        return None
    if groups.get("none"):
        values = []
    span = match.span("values") if values_text is not None else (0, 0)
    return SolutionClaim(equations, values, not groups.get("one"), (span[0] + offset, span[1] + offset))


def _parts(text: str) -> list[str]:
    return [part for part in _SEPARATOR.split(text) if part.strip()]


def _chain(text: str) -> tuple[Node, ...]:
    parser = Parser(rewrite(text).values)
    chain = parser.whole_chain()
    if parser.ambiguous or len(chain.sides) > 2 or (chain.relations and chain.relations != ("=",)):
        raise UndecidedMath("not one equation")
    return chain.sides


def _equation(text: str) -> tuple[Node, Node]:
    sides = _chain(text)
    return (sides[0], sides[1]) if len(sides) == 2 else (sides[0], Literal(0))


def _value(text: str) -> tuple[str | None, Node]:
    sides = _chain(text)
    if len(sides) == 1:
        return None, sides[0]
    if not isinstance(sides[0], Symbol):
        raise MalformedMath("a solution names its variable")
    return sides[0].name, sides[1]


def _unknowns(equations: list[tuple[Node, Node]]) -> list[str]:
    names = {name for left, right in equations for name in (*symbols(left), *symbols(right))}
    return sorted(name for name in names if not polynomial.is_constant_name(name))


# -- judgement -------------------------------------------------------------------------------------


def judge_solutions(claim: SolutionClaim) -> MathOutcome:
    """Never raises: a problem is an outcome."""
    try:
        names = _unknowns(claim.equations)
        if len(names) == 1 and len(claim.equations) == 1:
            return _one_variable(claim, names[0])
        return _system(claim, names)
    except MathProblem as problem:
        return MathOutcome(Status.UNCERTAIN, str(problem))


def _one_variable(claim: SolutionClaim, name: str) -> MathOutcome:
    equation = claim.equations[0]
    coefficients = _coefficients(equation, name)
    if claim.values is None:
        return _solve(coefficients, name)
    candidates = _candidates(claim.values, name)
    wrong = [node for node in candidates if not _satisfies(equation, name, node, coefficients)]
    evidence: dict[str, Any] = {"method": "substitution", "relations": []}
    if coefficients is not None:
        evidence["real_solutions"] = count = count_real_roots(coefficients)
    elif claim.is_complete and not wrong:
        raise UndecidedMath("each is a solution, but whether there are others was not proven")
    if wrong and not claim.is_complete:
        return MathOutcome(
            Status.FAILED, "the value does not satisfy the equation", evidence, Failure.INCORRECT
        )
    if wrong:
        return _not_solutions(
            f"{len(wrong)} of the values do not satisfy the equation", evidence, coefficients, name
        )
    if coefficients is not None and claim.is_complete and _distinct(candidates) != count:
        return _not_solutions(f"the equation has {count} real solutions", evidence, coefficients, name)
    return MathOutcome(Status.VERIFIED, "every value satisfies the equation", evidence)


def _candidates(values: list[tuple[str | None, Node]], name: str) -> list[Node]:
    found: list[Node] = []
    for given, node in values:
        if given is not None and given != name:
            raise UndecidedMath(f"{given!r} does not occur in the equation")
        if isinstance(node, PlusMinus):
            found.extend((node.operand, Negation(node.operand)))
        else:
            found.append(node)
    return found


def _distinct(candidates: list[Node]) -> int:
    count = 0
    for index, node in enumerate(candidates):
        count += all(compare(node, "!=", other).holds for other in candidates[:index])
    return count


def _satisfies(
    equation: tuple[Node, Node], name: str, node: Node, coefficients: list[Fraction] | None
) -> bool:
    left, right = (substitute(side, {name: node}) for side in equation)
    try:
        if compare(left, "!=", right).holds:
            return coefficients is not None and _is_rounded_root(node, coefficients)
        return True
    except NotRational:
        if algebra.is_zero_difference(left, right):
            return True
        raise


def _is_rounded_root(node: Node, coefficients: list[Fraction]) -> bool:
    """A value written with decimals stands for every number that rounds to it."""
    number = find_stated(node)
    if number is None or not number.literal.has_point:
        return False
    middle = Fraction(number.literal.numerator, number.literal.denominator) * number.factor
    half = abs(Fraction(10) ** -number.literal.places * number.factor) / 2
    return value_at(coefficients, middle - half) * value_at(coefficients, middle + half) <= 0


def _not_solutions(
    reason: str, evidence: dict[str, Any], coefficients: list[Fraction] | None, name: str
) -> MathOutcome:
    roots = None if coefficients is None else exact_roots(coefficients)
    if not roots:
        return MathOutcome(Status.FAILED, reason, evidence, Failure.INCORRECT)
    return MathOutcome(
        Status.CORRECTED, reason, {**evidence, "solutions": _roots_text(roots, name)}, Failure.INCORRECT
    )


def _roots_text(roots: list[str], name: str) -> str:
    return ", ".join(f"{name} = {root}" for root in roots)


def _solve(coefficients: list[Fraction] | None, name: str) -> MathOutcome:
    roots = None if coefficients is None else exact_roots(coefficients)
    if roots is None:
        raise UndecidedMath("the equation could not be solved exactly")
    value = _roots_text(roots, name) if roots else "no real solution"
    return MathOutcome(Status.VERIFIED, "all real solutions", {"value": value, "method": "exact algebra"})


# -- polynomials in one variable ---------------------------------------------------------------------


def _coefficients(equation: tuple[Node, Node], name: str) -> list[Fraction] | None:
    """left - right = 0 as a polynomial, lowest degree first; None when it is none."""
    try:
        difference = polynomial.quotient(subtract(*equation))
        if set(difference.bottom) != {()}:
            return None
        found = polynomial.coefficients(difference.top, name)
    except polynomial.NotPolynomial:
        return None
    if len(found) < 2:
        raise UndecidedMath("the equation holds always or never")
    if len(found) - 1 > _MAX_DEGREE:
        raise UndecidedMath(f"a degree above {_MAX_DEGREE}")
    return found


# -- systems ---------------------------------------------------------------------------------------


def _system(claim: SolutionClaim, names: list[str]) -> MathOutcome:
    solution = _linear_solution(claim.equations, names)
    if claim.values is None:
        if solution is None:
            raise UndecidedMath("the system could not be solved exactly")
        return MathOutcome(
            Status.VERIFIED, "the only solution", {"value": _show_solution(solution), "method": "elimination"}
        )
    given = {name: node for name, node in claim.values if name is not None}
    if len(given) != len(claim.values) or sorted(given) != names:
        raise UndecidedMath("the claimed solution does not name every variable once")
    if claim.is_complete and solution is None:
        raise UndecidedMath("whether the solution is the only one was not proven")
    for left, right in claim.equations:
        link = compare(substitute(left, given), "=", substitute(right, given))
        if not link.holds or link.how != "exactly":
            return _wrong_system(solution)
    evidence = {"method": "substitution", "relations": []}
    return MathOutcome(Status.VERIFIED, "the values satisfy every equation", evidence)


def _wrong_system(solution: dict[str, Fraction] | None) -> MathOutcome:
    reason = "the values do not satisfy every equation"
    if solution is None:
        return MathOutcome(Status.FAILED, reason, {"relations": []}, Failure.INCORRECT)
    evidence = {"relations": [], "solutions": _show_solution(solution)}
    return MathOutcome(Status.CORRECTED, reason, evidence, Failure.INCORRECT)


def _show_solution(solution: dict[str, Fraction]) -> str:
    return ", ".join(f"{name} = {number_text(value)}" for name, value in solution.items())


def _linear_solution(equations: list[tuple[Node, Node]], names: list[str]) -> dict[str, Fraction] | None:
    """The only solution of a linear system; None when it is not linear or has not exactly one."""
    rows = []
    for equation in equations:
        row = _linear_row(equation, names)
        if row is None:
            return None
        rows.append(row)
    rank = 0
    for column in range(len(names)):
        pivot = next((index for index in range(rank, len(rows)) if rows[index][column]), None)
        if pivot is None:
            return None
        rows[rank], rows[pivot] = rows[pivot], rows[rank]
        rows[rank] = [entry / rows[rank][column] for entry in rows[rank]]
        for index in range(len(rows)):
            factor = rows[index][column]
            if index != rank and factor:
                rows[index] = [a - factor * b for a, b in zip(rows[index], rows[rank], strict=True)]
        rank += 1
    if any(row[-1] for row in rows[rank:]):
        return None
    return {name: rows[index][-1] for index, name in enumerate(names)}


def _linear_row(equation: tuple[Node, Node], names: list[str]) -> list[Fraction] | None:
    try:
        difference = polynomial.quotient(subtract(*equation))
    except polynomial.NotPolynomial:
        return None
    if set(difference.bottom) != {()} or polynomial.degree(difference.top) > 1:
        return None
    scale = difference.bottom[()]
    row = [difference.top.get(((name, 1),), Fraction(0)) / scale for name in names]
    return [*row, -difference.top.get((), Fraction(0)) / scale]
