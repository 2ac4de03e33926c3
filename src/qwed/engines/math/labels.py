"""The nouns after numbers, which say what was counted and are left out: 5 red apples + 3 apples."""

from typing import Final

from qwed.engines.math.functions import ALIASES, CONSTANTS
from qwed.engines.math.grammar import CURRENCIES, RELATIONS, SEPARATORS, UNIT_MARK
from qwed.engines.math.lexicon import ENDS_VALUE, NEGATIONS, OPERATORS
from qwed.engines.math.parser import is_letter_product
from qwed.engines.math.statements import Span, TokenLine
from qwed.engines.math.tokens import is_number

_MAX_LABEL: Final = 5
_AFTER_LABEL: Final = (set(RELATIONS) | OPERATORS | {",", "and"}) - {"(", "[", "{", "of"} - set(CURRENCIES)
_INSIDE_NAMES: Final = frozenset({"of", "'", "."})
_WORDS_OF_PLACE: Final = ("for", "on", "at", "degrees", "radians")
_MATH_WORDS: Final = frozenset(
    {"base", "derivative", "integral", "remainder", "wrt", "square", "cube", "than", "times"}
)
# Written after a number and a space these are units, not variables.
_UNIT_LETTERS: Final = frozenset("mglLhs")


def without_labels(tokens: list[str], spans: list[Span], text: str) -> TokenLine:
    """The tokens that are left."""
    kept = _find_kept(tokens, _unit_letters(tokens, spans), _names(tokens, spans, text))
    counted = [after - at > 1 for at, after in zip(kept, [*kept[1:], kept[-1] + 1], strict=True)]
    return TokenLine([tokens[at] for at in kept], [spans[at] for at in kept], counted)


def _names(tokens: list[str], spans: list[Span], text: str) -> frozenset[int]:
    """Where a capital begins the name of the next result: "= 120 Interest = 5 * 3"."""
    found: set[int] = set()
    is_before_relation = False
    for at in range(len(tokens) - 1, -1, -1):
        if tokens[at] in RELATIONS:
            is_before_relation = True
        elif not _is_word(tokens[at]) and tokens[at] not in _INSIDE_NAMES:
            is_before_relation = False
        elif is_before_relation and text[spans[at][0] : spans[at][0] + 1].isupper():
            found.add(at)
    return frozenset(found)


def _unit_letters(tokens: list[str], spans: list[Span]) -> frozenset[int]:
    """Where the letters stand that are units; none of them where any letter may be a variable."""
    letters = [at for at, lexeme in enumerate(tokens) if len(lexeme) == 1 and lexeme.isalpha()]
    for at in letters:
        is_spaced = at > 0 and is_number(tokens[at - 1]) and spans[at - 1][1] < spans[at][0]
        if tokens[at] not in _UNIT_LETTERS or not is_spaced or tokens[at + 1] == "(":
            return frozenset(at for at in letters if _names_the_result(tokens, spans, at))
    return frozenset(letters)


def _names_the_result(tokens: list[str], spans: list[Span], at: int) -> bool:
    """2(l + b) = 2(14 + 6) = 40 m: a letter that stands nowhere else, after the last number of all."""
    is_spaced = at > 1 and is_number(tokens[at - 1]) and spans[at - 1][1] < spans[at][0]
    is_last = not any(map(is_number, tokens[at:])) and tokens[at + 1] not in RELATIONS
    return (
        is_spaced
        and is_last
        and tokens[at] in _UNIT_LETTERS
        and tokens.count(tokens[at]) == 1
        and tokens[at - 2] in RELATIONS
    )


def _find_kept(tokens: list[str], unit_letters: frozenset[int], names: frozenset[int]) -> list[int]:
    kept: list[int] = []
    letters = sum(len(lexeme) == 1 and lexeme.isalpha() for lexeme in tokens)
    has_variables = letters > len(unit_letters)
    at = 0
    while at < len(tokens):
        kept.append(at)
        at += 1
        before = tokens[at - 1]
        if not (is_number(before) or before in ENDS_VALUE or before[:1] == UNIT_MARK):
            continue
        if at in unit_letters:
            at = _after_power(tokens, at + 1)
            continue
        end = _label_end(tokens, at, has_variables)
        if end > at and names.isdisjoint(range(at, end)) and (not tokens[end] or tokens[end] in _AFTER_LABEL):
            # "= 24 apples!" is no factorial.
            at = end + (tokens[end] == "!")
    return kept


def _label_end(tokens: list[str], at: int, has_variables: bool) -> int:
    """Past the words that say what was counted: red apples, boxes of pizza, miles/train, (in dollars)."""
    end = at
    while end - at < _MAX_LABEL:
        step = _label_step(tokens, at, end, has_variables)
        if not step:
            break
        end += step
    return end


def _label_step(tokens: list[str], at: int, end: int, has_variables: bool) -> int:
    if tokens[end] in ("of", "/") and (end > at or tokens[at - 1][:1] == UNIT_MARK or tokens[end] == "/"):
        return 2 if _is_label(tokens[end + 1]) or (tokens[end] == "/" and tokens[end + 1] == "square") else 0
    if tokens[end] == "(" and tokens[end + 1] and ")" in tokens[end : end + _MAX_LABEL + 2]:
        closing = tokens.index(")", end)
        inside = tokens[end + 1 : closing]
        return closing + 1 - end if inside and all(map(_is_word, inside)) else 0
    if tokens[end].isupper() and tokens[end + 1] == "-" and len(tokens[end + 2]) > 2:
        # T-shirts
        return 3 if _is_label(tokens[end + 2]) else 0
    if has_variables and is_letter_product(tokens[end]):
        return 0
    return _after_power(tokens, end + 1) - end if _is_label(tokens[end]) else 0


def _after_power(tokens: list[str], at: int) -> int:
    """Past the power of a unit: cm², m^2."""
    if tokens[at] in ("²", "³"):
        return at + 1
    return at + 2 if tokens[at] == "^" and tokens[at + 1] in ("2", "3") else at


def _is_word(lexeme: str) -> bool:
    return len(lexeme) > 1 and lexeme[0].isalpha()


def _is_label(lexeme: str) -> bool:
    if lexeme in _WORDS_OF_PLACE:
        return True
    if not _is_word(lexeme) or lexeme in RELATIONS or lexeme in SEPARATORS or lexeme in NEGATIONS:
        return False
    return lexeme not in ALIASES and lexeme not in CONSTANTS and lexeme not in _MATH_WORDS
