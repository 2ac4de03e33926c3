"""A text to the statements in it that were understood, each as tokens with their places.

A sentence is read whole where possible. Otherwise only equations written with a sign are taken out
of it, when nothing around them can change their meaning. What is left unread is reported.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from qwed.engines.math import finance
from qwed.engines.math.comparison import stated
from qwed.engines.math.functions import ALIASES, CONSTANTS
from qwed.engines.math.grammar import CURRENCIES, RELATIONS, SEPARATORS, UNIT_MARK, Chain
from qwed.engines.math.nodes import Node
from qwed.engines.math.parser import WORD_RULES, Parser, is_letter_product
from qwed.engines.math.problems import MAX_STATEMENTS, MAX_TEXT, Malformed, MathProblem, Undecided
from qwed.engines.math.prose import rewrite
from qwed.engines.math.tokens import is_number, split

Span = tuple[int, int]

_NEEDS_READING: Final = re.compile(r"[A-Za-z;\n\\?:\[]|<<|(?<!\.)\.(?:\s|$)")
_ANNOTATION: Final = re.compile(r"<<([^<>\n]{1,400})>>")
_BREAK: Final = re.compile(r"[;\n]|(?<!\.)\.(?=\s|$)")


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Words that may stand before a claim without changing it.
_LEADS: Final = _words(
    "so then thus therefore hence and now also but because since we i get got have has know note see "
    "think believe claim say says said conclude found that answer result total sum value final it is "
    "what what's whats how much many calculate compute evaluate find determine simplify expand factor "
    "verify check prove work out show confirm true correct following equation expression of please "
    "can you tell me claimed statement identity : , calculated computed cost amount price given "
    "let for any all every real question fact indeed clearly if when"
)
_ASKING: Final = _words(
    "calculate compute evaluate find determine simplify what what's whats how expand factor give work "
    "differentiate integrate"
)
_ANSWER_LEADS: Final = _words("a A answer is it it's its the : = that , result")
_CONNECTIVES: Final = _words(", and so then therefore thus hence but while also when where given if")
# Anywhere in the text these may turn a claim around.
_DENIALS: Final = _words(
    "false wrong incorrect incorrectly untrue mistaken mistake error erroneous disprove invalid "
    "contradiction lie lies refute unless except deny denies doubt doubts mod modulo binary octal "
    "hexadecimal hex roman base"
)
_NEGATIONS: Final = _words(
    "not never no isn't isnt doesn't doesnt aren't wasn't cannot can't don't didn't won't nor neither"
)
_OPERATORS: Final = _words("+ - − – * × · ⋅ / ÷ ^ ** ( ) [ ] { } ! % | √ ° ± π ½ ¼ ¾ ² ³ ¢ mod of") | set(
    CURRENCIES
)
_PUNCTUATION: Final = frozenset(
    ("", ",", ":", ";", ".", "?", "'", '"', "“", "”", "’", "—", "#", "•", "...", "…")
)
_ARITHMETIC: Final = _words("+ - − * × · / ÷ ^ **")
_ENDS_VALUE: Final = frozenset({")", "%", "!", "]", "¢"})
_MAX_LABEL: Final = 5


class Statement(msgspec.Struct, frozen=True):
    """`spans` is None where the tokens are exactly those of the text."""

    tokens: list[str]
    spans: Sequence[Span] | None = None
    # Words around or inside it were left out.
    dropped_words: bool = False


class Reading(msgspec.Struct, frozen=True):
    statements: list[Statement]
    # Parts of the text that were not read.
    unread: list[str]


def is_formula(text: str) -> bool:
    """Nothing but numbers and signs: no sentence, no variable, one statement."""
    return _NEEDS_READING.search(text) is None


def read(text: str, names: frozenset[str] = frozenset()) -> Reading:
    """The statements of a text. Raises `Malformed` or `Undecided` when there is none."""
    if len(text) > MAX_TEXT:
        raise Undecided(f"a text of {len(text)} characters, more than {MAX_TEXT}")
    # The mark of units must not come from outside.
    if UNIT_MARK in text:
        raise Malformed("the text holds a null character")
    if is_formula(text):
        return Reading([Statement(split(text))], [])
    if names and (formula := _formula(text, names)) is not None:
        return Reading([formula], [])
    return _read_sentences(text)


def _formula(text: str, names: frozenset[str]) -> Statement | None:
    """A formula in given variables, whose names may be any word."""
    tokens = split(text)
    try:
        Parser(tokens, names=names).whole_chain()
    except MathProblem:
        return None
    return Statement(tokens)


def _read_sentences(text: str) -> Reading:
    statements: list[Statement] = []
    unread: list[str] = []
    named: list[str] = []
    for start, part, is_annotation in _segments(text):
        found = _sentence(part)
        if not found:
            if found is not None:
                named.append(part.strip()[:200])
                continue
            if is_annotation:
                raise Undecided(f"{part[:80]!r} is not understood")
            unread.append(part.strip()[:200])
            continue
        statements.extend(_moved(statement, start) for statement in found)
        if len(statements) > MAX_STATEMENTS:
            raise Undecided(f"more than {MAX_STATEMENTS} statements")
    _refuse_hidden_claims(text, statements, unread)
    return Reading(statements, named + unread)


def _refuse_hidden_claims(text: str, statements: list[Statement], unread: list[str]) -> None:
    """What was not read must not hold a claim or a denial."""
    for part in unread:
        if any(sign in part for sign in "=≈≠≤≥<>") and any(map(str.isdigit, part)):
            raise Undecided(f"{part[:80]!r} is not understood")
    if not statements:
        raise _nothing_found(text)
    if unread or any(statement.dropped_words for statement in statements):
        words = set(re.findall(r"[a-z]+(?:'[a-z]+)?", text.lower()))
        if words & _DENIALS:
            raise Undecided("the words around the claim may deny it")


def _nothing_found(text: str) -> MathProblem:
    """Signs and numbers that do not parse are malformed; words that were not understood are not."""
    if not text.strip():
        return Malformed("the text is empty")
    if re.search(r"[A-Za-z]{2,}", text) is None:
        try:
            Parser(split(text)).whole_chain()
        except MathProblem as problem:
            return problem
    return Undecided("no statement was understood")


def _segments(text: str) -> Iterator[tuple[int, str, bool]]:
    """(start, text, is it an annotation): `<<48/2=24>>` stands for itself, the rest is read around it."""
    for match in _ANNOTATION.finditer(text):
        yield match.start(1), match.group(1), True
    blank = _ANNOTATION.sub(lambda match: " " * len(match.group()), text)
    start = 0
    for match in _BREAK.finditer(blank):
        if blank[start : match.start()].strip():
            yield start, blank[start : match.start()], False
        start = match.end()
    if blank[start:].strip():
        yield start, blank[start:], False


def _moved(statement: Statement, start: int) -> Statement:
    """The statement of a sentence, with its places counted from the start of the whole text."""
    assert statement.spans is not None
    moved = [(first + start, last + start) for first, last in statement.spans]
    return msgspec.structs.replace(statement, spans=moved)


# -- one sentence ----------------------------------------------------------------------------------


def _sentence(text: str) -> list[Statement] | None:
    spoken = finance.read(text)
    if spoken is not None:
        return [Statement(spoken.values, spoken.spans)]
    phrase = rewrite(text)
    tokens, spans = phrase.values, phrase.spans
    whole = _whole_sentence(tokens, spans)
    return whole if whole is not None else _equations_in(tokens, spans, text)


def _whole_sentence(tokens: list[str], spans: list[Span]) -> list[Statement] | None:
    """Everything between the lead and the full stop is one or more claims."""
    end = len(tokens) - 1
    while end and tokens[end - 1] in ("?", ".", ",", ":", "="):
        end -= 1
    tokens, spans = [*tokens[:end], ""], [*spans[:end], spans[-1]]
    tokens, spans = _answered(tokens, spans)
    start = 0
    asked = True
    if tokens[0] in ("Q", "q", "A") and tokens[1] == ":":
        start = 2
    while tokens[start] in _LEADS:
        # A bare value after "the answer is" claims nothing that can be checked.
        asked = tokens[start] in _ASKING if start == 0 else asked or tokens[start] in _ASKING
        start += 1
    # A lead word may itself begin the claim ("sum of 2 and 3"), so the whole is tried first.
    for begin in dict.fromkeys((0, start)):
        found = _claims(tokens[begin:], spans[begin:], asked or begin == 0)
        if found:
            return found
    return None


def _answered(tokens: list[str], spans: list[Span]) -> tuple[list[str], list[Span]]:
    """What is 5 plus 7? 12: the answer completes the question."""
    if "?" not in tokens:
        return tokens, spans
    at = tokens.index("?")
    after = at + 1
    while tokens[after] in _ANSWER_LEADS:
        after += 1
    if not tokens[after]:
        return [*tokens[:at], ""], [*spans[:at], spans[-1]]
    return [*tokens[:at], "=", *tokens[after:]], [*spans[:at], spans[at], *spans[after:]]


def _claims(tokens: list[str], spans: list[Span], asked: bool) -> list[Statement] | None:
    kept = _without_labels(tokens)
    dropped = len(kept) != len(tokens)
    tokens, spans = [tokens[index] for index in kept], [spans[index] for index in kept]
    found: list[Statement] = []
    while tokens[0]:
        chain, used = _first_chain(tokens)
        if chain is None:
            return None
        is_last = not tokens[used]
        if not is_last and (not chain.relations or tokens[used] not in _CONNECTIVES):
            return None
        if not chain.relations and (dropped or not asked or found):
            return None
        # "4 quarts = 1 gallon" converts what was dropped.
        if dropped and chain.relations and all(map(_is_plain_number, chain.sides)):
            return None
        found.append(Statement([*tokens[:used], ""], [*spans[:used], spans[-1]], dropped))
        while tokens[used] in _CONNECTIVES:
            used += 1
        tokens, spans = tokens[used:], spans[used:]
    return found or None


def _is_plain_number(side: Node) -> bool:
    number = stated(side)
    return number is not None and abs(number.factor) == 1


def _first_chain(tokens: list[str]) -> tuple[Chain | None, int]:
    parser = Parser(tokens)
    try:
        chain = parser.chain()
    except MathProblem:
        return None, 0
    return chain, parser.at


def _is_word(lexeme: str) -> bool:
    return len(lexeme) > 1 and lexeme[0].isalpha()


def _without_labels(tokens: list[str]) -> list[int]:
    """The positions left when the nouns after numbers are dropped: 5 red apples + 3 apples."""
    kept: list[int] = []
    has_variables = any(len(lexeme) == 1 and lexeme.isalpha() for lexeme in tokens)
    at = 0
    while at < len(tokens):
        kept.append(at)
        at += 1
        before = tokens[at - 1]
        if not (is_number(before) or before in _ENDS_VALUE or before[:1] == UNIT_MARK):
            continue
        end = _label_end(tokens, at, has_variables)
        if end > at and (not tokens[end] or tokens[end] in _AFTER_LABEL):
            at = end
    return kept


def _label_end(tokens: list[str], at: int, has_variables: bool) -> int:
    """Past the words that say what was counted: red apples, boxes of pizza, miles/train, (in dollars)."""
    end = at
    while end - at < _MAX_LABEL:
        if tokens[end] in ("of", "/") and (end > at or tokens[at - 1][:1] == UNIT_MARK or tokens[end] == "/"):
            step = 2 if _is_label(tokens[end + 1]) else 0
        elif tokens[end] == "(" and tokens[end + 1] and ")" in tokens[end:]:
            closing = tokens.index(")", end)
            step = (
                closing + 1 - end
                if all(map(_is_word, tokens[end + 1 : closing])) and closing > end + 1
                else 0
            )
        else:
            step = 1 if _is_label(tokens[end]) else 0
            if has_variables and is_letter_product(tokens[end]):
                step = 0
        if not step:
            break
        end += step
    return end


_AFTER_LABEL: Final = (set(RELATIONS) | _OPERATORS | {",", "and"}) - {"(", "[", "{", "of"} - set(CURRENCIES)


def _is_label(lexeme: str) -> bool:
    if lexeme in ("for", "on", "at", "degrees", "radians"):
        return True
    if not _is_word(lexeme) or lexeme in RELATIONS or lexeme in SEPARATORS or lexeme in _NEGATIONS:
        return False
    return lexeme not in ALIASES and lexeme not in CONSTANTS and not _is_math_word(lexeme)


def _is_math_word(lexeme: str) -> bool:
    return lexeme in ("base", "derivative", "integral", "remainder", "wrt", "square", "cube", "than", "times")


# -- equations inside a sentence ---------------------------------------------------------------------


def _equations_in(tokens: list[str], spans: list[Span], text: str) -> list[Statement] | None:
    kept = _without_labels(tokens)
    tokens, spans = [tokens[index] for index in kept], [spans[index] for index in kept]
    if _hides_claim(tokens):
        raise Undecided(f"{text.strip()[:80]!r} is not understood")
    found: list[Statement] = []
    runs = [run for run in _runs(tokens) if any(lexeme in RELATIONS for lexeme in tokens[slice(*run)])]
    for start, end in runs:
        if any(word in _NEGATIONS for word in tokens[max(0, start - 3) : start]):
            return None
        names_result = tokens[start] in RELATIONS
        before = tokens[start - 1] if start and not names_result else ""
        if not _is_harmless(before) or _is_function(before) or not _is_harmless(tokens[end]):
            return None
        bounds = _trimmed(tokens, spans, start, end, text)
        if bounds is None:
            return None
        start, end = bounds
        if any(lexeme in RELATIONS for lexeme in tokens[start:end]):
            statement = Statement([*tokens[start:end], ""], [*spans[start:end], spans[-1]], True)
            if not _is_computation(statement.tokens):
                return None
            found.append(statement)
        elif not names_result:
            return None
    # "Total = 15" names a result and claims nothing that can be checked.
    return found if found or runs else None


def _hides_claim(tokens: list[str]) -> bool:
    """A computation that a verb seems to give a result: "3 plus 3, as everyone knows, is 7"."""
    computed = False
    runs = list(_runs(tokens))
    for index, (start, end) in enumerate(runs):
        run = tokens[start:end]
        if any(lexeme in RELATIONS for lexeme in run):
            computed = False
        elif _ARITHMETIC.intersection(run[1:-1]):
            computed = True
        elif computed and any(map(is_number, run)) and "is" in tokens[runs[index - 1][1] : start]:
            return True
    return False


def _is_harmless(neighbour: str) -> bool:
    """A plain word or a mark of the sentence: nothing that could belong to the formula beside it."""
    return neighbour[:1].isalpha() or neighbour in _PUNCTUATION


def _is_function(word: str) -> bool:
    return word in ALIASES or word in WORD_RULES or word == "root"


def _is_computation(tokens: list[str]) -> bool:
    """It parses, and its first side is worked out: in "4 pens at $2 each = $8" it is not."""
    chain, used = _first_chain(tokens)
    if chain is None or tokens[used] or not chain.relations:
        return False
    return stated(chain.sides[0]) is None or chain.relations[0] not in ("=", "≈")


def _runs(tokens: list[str]) -> Iterator[Span]:
    """The longest runs of tokens that can belong to a formula."""
    start = 0
    for at in range(len(tokens)):
        if not _is_formula(tokens, at):
            if at > start:
                yield start, at
            start = at + 1


def _is_formula(tokens: list[str], at: int) -> bool:
    lexeme = tokens[at]
    if is_number(lexeme) or lexeme in _OPERATORS or lexeme[:1] == UNIT_MARK:
        return True
    if lexeme in RELATIONS:
        return lexeme != "is"
    if len(lexeme) == 1 and lexeme.isalpha():
        return lexeme not in ("a", "A", "I")
    # The name of a function counts where it is used as one.
    return lexeme in ALIASES and len(lexeme) > 2 and tokens[at + 1] in ("(", "of", "[")


def _trimmed(tokens: list[str], spans: list[Span], start: int, end: int, text: str) -> Span | None:
    """Without the dash, the unmatched bracket or the half side that belongs to the words around it."""
    while start < end and tokens[start] in (")", "]", "}"):
        start += 1
    if start < end and tokens[start] in ("-", "–", "−") and _is_dash(spans, start, text):
        start += 1
    start = _after_unmatched(tokens, start, end)
    if start < end and (tokens[start] in RELATIONS or not _begins_side(tokens[start])):
        start = next((at + 1 for at in range(start, end) if tokens[at] in RELATIONS), end)
    # "60% of the students": the word after "of" was not a number.
    while start < end and tokens[end - 1] == "of":
        end -= 1
    if start < end and not _ends_side(tokens[end - 1]):
        end = next((at for at in range(end - 1, start, -1) if tokens[at] in RELATIONS), start)
        # An incomplete last side may have been the result itself.
        if not any(lexeme in RELATIONS for lexeme in tokens[start:end]):
            return None
    return start, end


def _is_dash(spans: list[Span], at: int, text: str) -> bool:
    following = text[spans[at][1] : spans[at][1] + 1]
    return at > 0 and following.isspace()


def _after_unmatched(tokens: list[str], start: int, end: int) -> int:
    """Past the last closing bracket that has no opening one: 1) 2+2=4."""
    depth = 0
    for at in range(start, end):
        if tokens[at] in ("(", "["):
            depth += 1
        elif tokens[at] in (")", "]"):
            depth -= 1
            if depth < 0:
                return _after_unmatched(tokens, at + 1, end)
    return start


def _begins_side(lexeme: str) -> bool:
    return lexeme not in ("*", "×", "·", "⋅", "/", "÷", "^", "**", "+", "%", "!", "of", "mod", "°")


def _ends_side(lexeme: str) -> bool:
    return (
        is_number(lexeme)
        or lexeme in _ENDS_VALUE
        or lexeme[:1] == UNIT_MARK
        or lexeme.isalpha()
        or lexeme in "²³½¼¾π}|°"
    )
