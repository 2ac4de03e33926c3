"""Steps of a derivation: the value that a letter gets has to be one that some equation of the text gives it.

`4c + 10 = 90, so 4c = 50` states a step that does not follow. Only what is isolated (`k x = value`) is
judged, never a value that the text takes for granted ("if x = 5"), and only where the earlier equations
settle the letter.
"""

import re
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Final

import msgspec

from qwed.engines.math import polynomial
from qwed.engines.math.grammar import Chain
from qwed.engines.math.lexicon import words
from qwed.engines.math.nodes import Literal, Node, Power, UnitQuantity, walk
from qwed.engines.math.parser import Parser
from qwed.engines.math.polynomial import Polynomial
from qwed.engines.math.problems import MathProblem
from qwed.engines.math.tokens import split
from qwed.engines.math.units import UNIT_WORDS, UNITS

Row = dict[str, Fraction]

MAX_STEPS: Final = 40
_MAX_EXPONENT: Final = 4
_MAX_SNIPPET: Final = 120
_TOKEN: Final = re.compile(r"[0-9]+(?:,[0-9]{3})*(?:\.[0-9]+)?|[A-Za-z]+(?:[.'’][A-Za-z]+)*|\n|[^\s]")
_SIGNS: Final = frozenset("-+*/^()−–×·=&$€£₹")
_NO_LETTERS: Final = frozenset("aAI")
# f(3) and x1 are names of their own, and 5 m is a length.
_OTHER_NAMES: Final = re.compile(r"[A-Za-z][0-9_({]|[0-9)] [mshglLNJWKVCFT](?![A-Za-z])")
_ARROWS: Final = re.compile(r"[-=]{1,3}>|[→⇒]")
_WORD_BEFORE: Final = re.compile(r"([A-Za-z]+|[|])[\s:,(]*$")
_WORD: Final = re.compile(r"[A-Za-z]+")
_CURRENCY: Final = re.compile(r"Rs\.? ?|[$€£₹&]")
# After one of these a value is assumed, or it is one of several.
_GIVEN: Final = words(
    "if when let for suppose where given at put putting take taking try trying assume assuming with say case "
    "or either substitute substituting set setting plug plugging using since because and both but not as "
    "choose until unless find solve check is are has whenever once per"
)


class DerivationStep(msgspec.Struct, frozen=True):
    """`difference` is what the equation says is zero; `value` what it gives to the one letter `name`, if that
    stands alone."""

    text: str
    difference: Polynomial
    names: frozenset[str]
    is_given: bool
    unit: str
    name: str = ""
    value: Fraction = Fraction(0)
    # `4c = 80`: the factor and the number as they are written.
    factor: Fraction = Fraction(1)
    stated: Fraction = Fraction(0)
    places: int = 0

    @property
    def is_bare(self) -> bool:
        return bool(self.name) and self.factor == 1

    def misses(self, value: Fraction) -> bool:
        """Whether the letter can't be this, also if the number was rounded."""
        return bool(abs(self.factor * value - self.stated) * 10**self.places >= 1)


def wrong_step(text: str) -> str | None:
    """The first step that gives a letter a value which no equation of the text gives it."""
    steps = list(_steps(text))
    for index, step in enumerate(steps):
        if not step.name or step.is_given or _is_supported(steps, index) or _has_choices(steps[:index], step):
            continue
        settled = _solve_for(steps[:index], step.name)
        if settled is not None and step.misses(settled):
            return step.text
    return None


def _steps(text: str) -> Iterator[DerivationStep]:
    count = 0
    text = _ARROWS.sub("; ", text)
    for start, end in _equations(text):
        shown = text[start:end]
        if len(shown) > _MAX_SNIPPET or _OTHER_NAMES.search(shown):
            continue
        count += 1
        if count > MAX_STEPS:
            return
        step = _step(shown, text[max(0, start - 24) : start], text[end : end + 24])
        if step is not None:
            yield step


def _equations(text: str) -> Iterator[tuple[int, int]]:
    """Where numbers, signs and single letters stand together, with a relation among them and a letter."""
    start, end, has_sign, has_letter = -1, -1, False, False
    for token in _TOKEN.finditer(text):
        lexeme = token.group()
        is_letter = len(lexeme) == 1 and lexeme.isalpha() and lexeme not in _NO_LETTERS
        if is_letter or lexeme in _SIGNS or lexeme[0].isdigit():
            start = token.start() if start < 0 else start
            end = token.end()
            has_sign, has_letter = has_sign or lexeme == "=", has_letter or is_letter
            continue
        if has_sign and has_letter:
            yield start, end
        start, has_sign, has_letter = -1, False, False
    if has_sign and has_letter:
        yield start, end


def _step(shown: str, before: str, following: str) -> DerivationStep | None:
    try:
        chain = Parser(split(_CURRENCY.sub("", shown).replace("–", "-"))).whole_chain()
        if len(chain.sides) != 2 or not all(map(_is_small, chain.sides)):
            return None
        sides = [polynomial.quotient(side) for side in chain.sides]
        crossed = [
            polynomial.times(sides[0].top, sides[1].bottom),
            polynomial.times(sides[1].top, sides[0].bottom),
        ]
    except MathProblem:
        return None
    difference = polynomial.plus(crossed[0], crossed[1], -1)
    names = frozenset(name for monomial in difference for name, _ in monomial)
    following = following.lstrip()
    if not names or following[:1] == "%":
        return None
    is_given = _is_given(before) or following[:1] in (":", "?")
    return _isolate(DerivationStep(shown.strip(), difference, names, is_given, _unit(following)), chain)


def _unit(following: str) -> str:
    word = _WORD.match(following)
    return UNIT_WORDS.get(word.group(), word.group() if word.group() in UNITS else "") if word else ""


def _is_small(side: Node) -> bool:
    for part in walk(side):
        if isinstance(part, UnitQuantity):
            return False
        if isinstance(part, Power) and not (
            isinstance(part.exponent, Literal) and part.exponent.numerator <= _MAX_EXPONENT
        ):
            return False
    return True


def _is_given(before: str) -> bool:
    word = _WORD_BEFORE.search(before)
    return word is not None and word.group(1).lower() in _GIVEN


def _isolate(step: DerivationStep, chain: Chain) -> DerivationStep:
    """`4c = 80`, `c = 20`, `c/4 = 5`: one letter with its factor, and a number on the other side."""
    right = chain.sides[1]
    if len(step.names) != 1 or not isinstance(right, Literal) or len(step.difference) > 2:
        return step
    (name,) = step.names
    slope = step.difference.get(((name, 1),))
    if slope is None:
        return step
    stated = Fraction(right.numerator, right.denominator)
    value = -step.difference.get((), Fraction(0)) / slope
    factor = stated / value if value else Fraction(1)
    return msgspec.structs.replace(
        step, name=name, value=value, factor=factor, stated=stated, places=right.places
    )


def _has_choices(before: list[DerivationStep], step: DerivationStep) -> bool:
    """Points of a line (x = 3, y = 2; x = 0, y = 4), and measures that may be converted."""
    same = [one for one in before if step.name in one.names]
    if step.is_bare and any(one.is_bare and not _agree(step, one) for one in same):
        return True
    return len({one.unit for one in (step, *same)} - {""}) > 1


def _is_supported(steps: list[DerivationStep], index: int) -> bool:
    """Whether another equation of this letter alone holds for the value."""
    step = steps[index]
    others = (other for other in steps[:index] + steps[index + 1 :] if other.names == step.names)
    return any(_agree(step, other) for other in others)


def _agree(step: DerivationStep, other: DerivationStep) -> bool:
    if not other.name:
        return _at(other.difference, step.value) == 0
    return not step.misses(other.value) and not other.misses(step.value)


def _at(difference: Polynomial, value: Fraction) -> Fraction:
    powers = ((monomial[0][1] if monomial else 0, factor) for monomial, factor in difference.items())
    return sum((factor * value**count for count, factor in powers), Fraction(0))


def _solve_for(steps: list[DerivationStep], name: str) -> Fraction | None:
    """What the earlier equations make of the letter. None where they leave it open, contradict each other
    or are not linear, where a value alone was given to it before, and where units may convert it."""
    if all(step.is_bare for step in steps if name in step.names):
        return None
    rows: list[Row] = []
    for step in steps:
        if not _is_linear(step.difference):
            if name in step.names:
                return None
            continue
        row = _reduce(
            {monomial[0][0] if monomial else "": factor for monomial, factor in step.difference.items()}, rows
        )
        pivot = next((key for key in row if key), None)
        if pivot is None:
            if row:
                return None
            continue
        row = {key: factor / row[pivot] for key, factor in row.items()}
        rows = [*(_reduce(other, [row]) for other in rows), row]
    found = next((row for row in rows if name in row and row.keys() <= {name, ""}), None)
    return None if found is None else -found.get("", Fraction(0)) / found[name]


def _is_linear(difference: Polynomial) -> bool:
    return all(sum(count for _, count in monomial) <= 1 for monomial in difference)


def _reduce(row: Mapping[str, Fraction], rows: list[Row]) -> Row:
    """The row without the letters that the others begin with."""
    result = dict(row)
    for other in rows:
        factor = result.get(next(key for key in other if key))
        if factor:
            for key, value in other.items():
                total = result.get(key, Fraction(0)) - factor * value
                if total:
                    result[key] = total
                else:
                    result.pop(key, None)
    return result
