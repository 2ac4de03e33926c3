"""One sentence: read whole where possible, else only the equations in it that are written with a sign."""

from qwed.engines.math import finance
from qwed.engines.math.approximations import approximated
from qwed.engines.math.comparison import find_stated
from qwed.engines.math.embedded import equations_in, without_subject
from qwed.engines.math.labels import without_labels
from qwed.engines.math.lexicon import ANSWER_LEADS, ARITHMETIC, ASKING, CONNECTIVES, LEADS
from qwed.engines.math.nodes import Node, Product, Symbol, walk
from qwed.engines.math.prose import rewrite
from qwed.engines.math.statements import MathSentence, MathStatement, Span, TokenLine, first_chain


def read_sentence(text: str) -> MathSentence:
    spoken = finance.read(text)
    if spoken is not None:
        return MathSentence([MathStatement(spoken.values, spoken.spans)])
    phrase = rewrite(text)
    tokens, spans = approximated(phrase.values, phrase.spans)
    whole = _whole_sentence(tokens, spans, text)
    return (
        MathSentence(whole) if whole is not None else equations_in(without_labels(tokens, spans, text), text)
    )


def _whole_sentence(tokens: list[str], spans: list[Span], text: str) -> list[MathStatement] | None:
    """Everything between the lead and the full stop is one or more claims."""
    end = len(tokens) - 1
    while end and tokens[end - 1] in ("?", ".", ",", ":", "="):
        end -= 1
    tokens, spans = [*tokens[:end], ""], [*spans[:end], spans[-1]]
    tokens, spans = _complete_question(tokens, spans)
    start = 0
    asked = True
    if tokens[0] in ("Q", "q", "A") and tokens[1] == ":":
        start = 2
    while tokens[start] in LEADS:
        # A bare value after "the answer is" claims nothing that can be checked.
        asked = tokens[start] in ASKING if start == 0 else asked or tokens[start] in ASKING
        start += 1
    # A lead word may itself begin the claim ("sum of 2 and 3"), so the whole is tried first.
    for begin in dict.fromkeys((0, start)):
        before = tokens[begin - 1] if begin else ""
        line = without_labels(tokens[begin:], spans[begin:], text)
        found = _claims(line, asked or begin == 0, before)
        if found:
            return found
    return None


def _complete_question(tokens: list[str], spans: list[Span]) -> tuple[list[str], list[Span]]:
    """What is 5 plus 7? 12: the answer completes the question."""
    if "?" not in tokens:
        return tokens, spans
    at = tokens.index("?")
    after = at + 1
    while tokens[after] in ANSWER_LEADS:
        after += 1
    if not tokens[after]:
        return [*tokens[:at], ""], [*spans[:at], spans[-1]]
    return [*tokens[:at], "=", *tokens[after:]], [*spans[:at], spans[at], *spans[after:]]


def _claims(line: TokenLine, asked: bool, before: str) -> list[MathStatement] | None:
    dropped = any(line.counted)
    found: list[MathStatement] = []
    while line.tokens[0]:
        chain, used = first_chain(line.tokens)
        if chain is None:
            return None
        is_last = not line.tokens[used]
        if not is_last and (not chain.relations or line.tokens[used] not in CONNECTIVES):
            return None
        if not chain.relations and (dropped or not asked or found or _is_name(chain.sides[0])):
            return None
        if found and line.tokens[0] in ARITHMETIC:
            # "= 120 minutes, plus 15 = 135": it goes on from the claim before.
            return None
        if _is_said_of_result(line.tokens[:used]):
            return None
        # "4 quarts = 1 gallon" converts what was dropped.
        if dropped and chain.relations and all(map(_is_plain_number, chain.sides)):
            return None
        start = without_subject(line, chain, before)
        if start is None:
            return None
        found.append(line.part(start, used).statement(dropped_words=dropped or start > 0))
        while line.tokens[used] in CONNECTIVES:
            used += 1
        before = ""
        line = line.part(used, len(line.tokens) - 1)
    return found or None


def _is_said_of_result(tokens: list[str]) -> bool:
    """90 - 30 = 60 is two thirds: the verb says something about a result, and gives none."""
    return "is" in tokens and any(sign in tokens[: tokens.index("is")] for sign in ("=", "≈"))


def _is_name(side: Node) -> bool:
    """Letters alone: a word that was taken for a product of variables."""
    return all(isinstance(part, Symbol | Product) for part in walk(side))


def _is_plain_number(side: Node) -> bool:
    number = find_stated(side)
    return number is not None and abs(number.factor) == 1
