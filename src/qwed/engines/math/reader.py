"""A text to the statements in it that were understood, each as tokens with their places.

A sentence is read whole where possible. Otherwise only equations written with a sign are taken out
of it, when nothing around them can change their meaning. What is left unread is reported, and where it
may hold a claim, said to be open.
"""

import re
from collections.abc import Iterator
from fractions import Fraction
from typing import Final

import msgspec

from qwed.engines.math.grammar import RELATIONS, UNIT_MARK
from qwed.engines.math.lexicon import DENIALS
from qwed.engines.math.parser import Parser
from qwed.engines.math.problems import MAX_STATEMENTS, MAX_TEXT, MalformedMath, MathProblem, UndecidedMath
from qwed.engines.math.sentences import read_sentence
from qwed.engines.math.statements import MathStatement, Span
from qwed.engines.math.tokens import is_number, number, split

__all__ = ["MathReading", "MathStatement", "Span", "is_formula", "read", "segments"]

_NEEDS_READING: Final = re.compile(r"[A-Za-z;\n\\?:\[]|<<|(?<!\.)\.(?:\s|$)|^\s*=")
_ANNOTATION: Final = re.compile(r"<<([^<>\n]{1,400})>>")
_BREAK: Final = re.compile(r"[;\n]|(?<!\.)\.(?=\s|$)")
# Letters that make no formula: a word, an abbreviation, the P of 10P2.
_WORDLIKE: Final = re.compile(r"[A-Za-z]{2,}|[A-Z]\.|[0-9][A-Z][0-9]")
_CLAIM_SIGNS: Final = frozenset("=≈≠≤≥<>")
# 3 × 3 → 10
_ARROW: Final = re.compile(r"[0-9)]\s?[-+*/×÷^x]\s?[$€£(]?[0-9][^→≡⇒>]{0,40}(?:→|≡|⇒|->|=>)\s?[$€£]?[0-9]")
_WORDS: Final = re.compile(r"[a-z]+(?:'[a-z]+)?")
# A full stop after one of these ends no sentence; a title stands before a name.
_TITLE: Final = re.compile(r"(?:^|[^A-Za-z])(?:mr|mrs|ms|dr|st|prof)$", re.IGNORECASE)
_ABBREVIATION: Final = re.compile(r"(?:^|[^A-Za-z])(?:rs|no|approx|sq|cu|vs|i\.e|e\.g|[A-Z])$", re.IGNORECASE)
_LONGEST_ABBREVIATION: Final = 8
# The answer at the end, unless it is worked out there.
_FINAL: Final = re.compile(
    r"(?:####|\banswer(?: is|:| =)|\btotal(?: is|:))\s*[$€£]?(-?[0-9][0-9,]*(?:\.[0-9]+)?)"
    r"(?![0-9]*\s*[-+*/x×÷^(=])",
    re.IGNORECASE,
)

# "The average is 81.", at the very end.
_LAST_SENTENCE: Final = 160
_CONCLUSION: Final = re.compile(
    r"(?:^|[.;:] )[A-Z][a-z]*(?: [a-z]+){1,8} (?:is|are|was|were|equals) "
    r"[$€£]?([0-9][0-9,]*(?:\.[0-9]+)?)[ a-z%]{0,20}\.?$"
)


class MathReading(msgspec.Struct, frozen=True):
    statements: list[MathStatement]
    # Parts of the text that were not read.
    unread: list[str]
    # Parts that may hold a claim and were not understood.
    open: list[str] = []


def is_formula(text: str) -> bool:
    """Nothing but numbers and signs: no sentence, no variable, one statement."""
    return _NEEDS_READING.search(text) is None


def read(text: str, names: frozenset[str] = frozenset()) -> MathReading:
    """The statements of a text. Raises `MalformedMath` or `UndecidedMath` when there is none."""
    if len(text) > MAX_TEXT:
        raise UndecidedMath(f"a text of {len(text)} characters, more than {MAX_TEXT}")
    # The mark of units must not come from outside.
    if UNIT_MARK in text:
        raise MalformedMath("the text holds a null character")
    if is_formula(text):
        return MathReading([MathStatement(split(text))], [])
    if names and (formula := _formula(text, names)) is not None:
        return MathReading([formula], [])
    return _read_sentences(text)


def _formula(text: str, names: frozenset[str]) -> MathStatement | None:
    """A formula in given variables, whose names may be any word."""
    tokens = split(text)
    try:
        Parser(tokens, names=names).whole_chain()
    except MathProblem:
        return None
    return MathStatement(tokens)


def _read_sentences(text: str) -> MathReading:
    statements: list[MathStatement] = []
    unread: list[str] = []
    unclear: list[str] = []
    named: list[str] = []
    for start, part, is_annotation in segments(text):
        sentence = read_sentence(part)
        statements.extend(_move(statement, start) for statement in sentence.statements)
        if len(statements) > MAX_STATEMENTS:
            raise UndecidedMath(f"more than {MAX_STATEMENTS} statements")
        named.extend(filter(None, sentence.named))
        if (
            sentence.is_open
            or (is_annotation and not sentence.statements)
            or _may_claim(part, sentence.statements)
        ):
            unclear.append(part.strip()[:200])
        elif not sentence.statements:
            unread.append(part.strip()[:200])
    if not statements:
        raise _nothing_found(text, unclear)
    _refuse_denials(text, statements, [*unread, *unclear])
    final = [*_FINAL.findall(text), *_conclusions(text)]
    unclear.extend(f"= {value}" for value in dict.fromkeys(_find_unfounded(named, final, statements)))
    return MathReading(statements, unread, unclear)


def _may_claim(part: str, statements: list[MathStatement]) -> bool:
    """A part that gave no statement and no name, and yet may give a result to a computation."""
    if statements or not any(map(str.isdigit, part)):
        return False
    return (not _CLAIM_SIGNS.isdisjoint(part) and "?" in part) or _ARROW.search(part) is not None


def _find_unfounded(named: list[str], final: list[str], statements: list[MathStatement]) -> Iterator[str]:
    """Numbers that get a name and are in no statement, and answers that no statement has worked out."""
    if not named and not final:
        return
    lines = [statement.tokens for statement in statements]
    known = {_value(token) for line in lines for token in line if is_number(token)}
    worked_out = {
        _value(token) for line in lines for token in line[_first_relation(line) :] if is_number(token)
    }
    yield from (value for value in named if _value(value) not in known)
    yield from (value for value in final if _value(value) not in worked_out)


def _conclusions(text: str) -> list[str]:
    """The number that the last sentence gives, where it says so in words: "The average is 81." """
    last = text.rstrip().rsplit("\n", 1)[-1][-_LAST_SENTENCE:]
    found = _CONCLUSION.search(last)
    return [found.group(1)] if found is not None else []


def _first_relation(tokens: list[str]) -> int:
    return next((at for at, lexeme in enumerate(tokens) if lexeme in RELATIONS), len(tokens))


def _value(token: str) -> Fraction | None:
    """None for what is no number: it is nowhere."""
    bare = token.lstrip("-").rstrip(",")
    if not is_number(bare):
        return None
    literal = number(bare)
    return Fraction(literal.numerator, literal.denominator)


def _refuse_denials(text: str, statements: list[MathStatement], unread: list[str]) -> None:
    """Words around a claim must not deny it."""
    has_words = unread or any(statement.dropped_words for statement in statements)
    if has_words and DENIALS.intersection(_WORDS.findall(text.lower())):
        raise UndecidedMath("the words around the claim may deny it")


def _nothing_found(text: str, unclear: list[str]) -> MathProblem:
    """Signs and numbers that do not parse are malformed; words that were not understood are not."""
    if not text.strip():
        return MalformedMath("the text is empty")
    if not any(map(str.isalpha, text)):
        try:
            Parser(split(text)).whole_chain()
        except MathProblem as problem:
            return problem
    if unclear:
        return UndecidedMath(f"{unclear[0][:80]!r} is not understood")
    return UndecidedMath("no statement was understood")


def segments(text: str) -> Iterator[tuple[int, str, bool]]:
    """(start, text, is it an annotation): `<<48/2=24>>` stands for itself, the rest is read around it."""
    for match in _ANNOTATION.finditer(text):
        yield match.start(1), match.group(1), True
    blank = _ANNOTATION.sub(lambda match: " " * len(match.group()), text)
    start = 0
    for match in _BREAK.finditer(blank):
        if _goes_on(blank, match.start(), match.end()):
            continue
        if blank[start : match.start()].strip():
            yield start, blank[start : match.start()], False
        start = match.end()
    if blank[start:].strip():
        yield start, blank[start:], False


def _goes_on(text: str, start: int, end: int) -> bool:
    """A line that begins with = goes on from the one before; "Rs. 560" is one sentence."""
    following = text[end : end + 80].lstrip(" \t\n")[:1]
    if following in ("=", "≈"):
        return text[start] != ";"
    if text[start] != ".":
        return False
    before = text[max(0, start - _LONGEST_ABBREVIATION) : start]
    if _TITLE.search(before) is not None:
        return True
    return not following.isupper() and _ABBREVIATION.search(before) is not None


def _move(statement: MathStatement, start: int) -> MathStatement:
    """The statement of a sentence, with its places counted from the start of the whole text."""
    assert statement.spans is not None
    moved = [(first + start, last + start) for first, last in statement.spans]
    return msgspec.structs.replace(statement, spans=moved)
