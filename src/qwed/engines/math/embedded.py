"""Equations inside a sentence: taken out only when nothing around them can change their meaning."""

from collections.abc import Iterator

from qwed.engines.math.comparison import find_stated
from qwed.engines.math.functions import ALIASES
from qwed.engines.math.grammar import CURRENCIES, RELATIONS, UNIT_MARK, Chain
from qwed.engines.math.lexicon import (
    ARITHMETIC,
    CONNECTIVES,
    ENDS_VALUE,
    FORMULA_COMMANDS,
    NEGATIONS,
    OPERATORS,
    PARTS_OF_TEXTS,
    PREPOSITIONS,
    PUNCTUATION,
)
from qwed.engines.math.nodes import Node
from qwed.engines.math.parser import WORD_RULES
from qwed.engines.math.statements import MathSentence, MathStatement, Span, TokenLine, first_chain
from qwed.engines.math.tokens import is_number

_OPEN = MathSentence([], is_open=True)
_MAX_TAILS = 4


def equations_in(line: TokenLine, text: str) -> MathSentence:
    """Every equation of the sentence, or none of them and that it is open."""
    tokens = line.tokens
    if _hides_claim(tokens):
        return _OPEN
    found: list[MathStatement] = []
    named: list[str] = []
    is_open = False
    clause = 0
    for start, end in _runs(tokens):
        if not any(lexeme in RELATIONS for lexeme in tokens[start:end]):
            continue
        if tokens[end] == "is" and (is_number(tokens[end + 1]) or tokens[end + 1] == "("):
            is_open = True
        equation = _equation(line, start, end, clause, text)
        if equation is None:
            if _is_denied(tokens, start):
                return _OPEN
            is_open = True
            equation = _tail(line, start, end)
        if isinstance(equation, str):
            named.append(equation)  # an empty one names a formula in words
        elif equation is not None:
            found.append(equation)
        clause = end
    nothing = not found and not named and _relates_numbers(tokens)
    return MathSentence(found, is_open=is_open or nothing, named=named)


def _is_denied(tokens: list[str], start: int) -> bool:
    return any(word in NEGATIONS for word in tokens[max(0, start - 3) : start])


def _tail(line: TokenLine, start: int, end: int) -> MathStatement | None:
    """What follows a sign of a run that is not understood: its own claim, where it is one."""
    tokens = line.tokens
    signs = [at for at in range(start, end) if tokens[at] in RELATIONS]
    if not _is_harmless(tokens[end]):
        return None
    tails = (_computation(line.part(at + 1, end), "") for at in signs[:-1][:_MAX_TAILS])
    return next((tail for tail in tails if tail is not None), None)


def _relates_numbers(tokens: list[str]) -> bool:
    has_relation = any(lexeme in RELATIONS and lexeme != "is" for lexeme in tokens)
    return has_relation and any(map(is_number, tokens))


def _equation(line: TokenLine, start: int, end: int, clause: int, text: str) -> MathStatement | str | None:
    """The statement that a run is, or the number that it gives a name to; None when that is unclear."""
    tokens = line.tokens
    if _is_denied(tokens, start) or (tokens[start] in ARITHMETIC and _is_spoken(line, start, text)):
        return None
    names_result = tokens[start] in RELATIONS
    if names_result and not _is_spoken(line, start, text) and not _is_name(tokens, clause, start):
        return None
    before = tokens[start - 1] if start and not names_result else ""
    if not names_result and _is_glued(line, start, text):
        return None
    if not _is_harmless(before) or _is_function(before) or not _is_harmless(tokens[end]):
        return None
    bounds = _trim(line, start, end, text)
    if bounds is None:
        return None
    start, end = bounds
    part = line.part(start, end)
    if not any(lexeme in RELATIONS for lexeme in part.tokens):
        return _only_number(part.tokens[:-1]) if names_result else None
    return _computation(part, tokens[start - 1] if start else "")


def _only_number(tokens: list[str]) -> str:
    """The number that is named, with its currency or unit; empty for a formula in words."""
    numbers = [token for token in tokens if is_number(token)]
    rest = [token for token in tokens if not is_number(token)]
    is_value = all(token in CURRENCIES or token in ("%", "¢") or token[:1] == UNIT_MARK for token in rest)
    return numbers[0] if len(numbers) == 1 and is_value else ""


def _is_spoken(line: TokenLine, at: int, text: str) -> bool:
    """ "…, which is 3 + 4 = 7": the words relate it to what the sentence is about."""
    return text[line.spans[at][0] : line.spans[at][1]][:1].isalpha()


def _is_glued(line: TokenLine, at: int, text: str) -> bool:
    """A name such as plugin-2<1.1 holds no comparison, and 10:30 + 45 no sum of 30."""
    place = line.spans[at][0]
    if place > 1 and text[place - 1] == ":" and text[place - 2].isdigit():
        return True
    return place > 0 and (text[place - 1].isalpha() or text[place - 1] == "_")


def _is_name(tokens: list[str], clause: int, start: int) -> bool:
    """Words and no number since the clause began: "Total = 15", but not "15 * 12 lamps/street = 182"."""
    for at in range(start - 1, clause - 1, -1):
        if tokens[at] in CONNECTIVES or tokens[at] == ":":
            return at < start - 1
        if is_number(tokens[at]) or tokens[at] == "?":
            return False
    return start > clause or start == 0


def _hides_claim(tokens: list[str]) -> bool:
    """A computation that a verb seems to give a result: "3 plus 3, as everyone knows, is 7"."""
    computed = False
    runs = list(_runs(tokens))
    for index, (start, end) in enumerate(runs):
        run = tokens[start:end]
        if any(lexeme in RELATIONS for lexeme in run):
            computed = False
        elif ARITHMETIC.intersection(run[1:-1]):
            computed = True
        elif computed and any(map(is_number, run)) and "is" in tokens[runs[index - 1][1] : start]:
            return True
    return False


def _is_harmless(neighbour: str) -> bool:
    """A plain word or a mark of the sentence: nothing that could belong to the formula beside it."""
    return neighbour[:1].isalpha() or neighbour in PUNCTUATION


def _is_function(word: str) -> bool:
    return word in ALIASES or word in WORD_RULES or word == "root"


def _computation(part: TokenLine, before: str) -> MathStatement | None:
    """It parses, and its first side is worked out: in "4 pens at $2 each = $8" it is not."""
    chain, used = first_chain(part.tokens)
    if chain is None or part.tokens[used] or not chain.relations:
        return None
    start = without_subject(part, chain, before)
    if start is None:
        return None
    worked_out = chain.sides[0] if start == 0 else chain.sides[1]
    if find_stated(worked_out) is not None and chain.relations[0] in ("=", "≈"):
        return None
    return part.part(start, len(part.tokens) - 1).statement(dropped_words=True)


def without_subject(line: TokenLine, chain: Chain, before: str) -> int | None:
    """Where the claim begins: "two shirts is $80 x 2 = $160" says nothing of the two.

    A number that counts something, or that follows a preposition, is what the sentence is about when a
    computation follows it. None where no claim is left then.
    """
    if any(map(_is_name_of_next, chain.sides[1:], chain.sides[2:], _ends(line, chain)[1:])):
        return None
    if not chain.relations or find_stated(chain.sides[0]) is None or find_stated(chain.sides[1]) is not None:
        return 0
    if not line.counted[chain.bounds[0][1] - 1] and before not in PREPOSITIONS:
        return 0
    return chain.bounds[1][0] if len(chain.sides) > 2 else None


def _ends(line: TokenLine, chain: Chain) -> list[bool]:
    return [line.counted[last - 1] for _, last in chain.bounds]


def _is_name_of_next(side: Node, following: Node, counted: bool) -> bool:
    """ "= 15 marks = 7 + 9": the words after a result may belong to what follows."""
    return counted and find_stated(side) is not None and find_stated(following) is None


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
    if is_number(lexeme) or lexeme in OPERATORS or lexeme[:1] == UNIT_MARK:
        return True
    if lexeme in RELATIONS:
        return lexeme != "is" or _gives_result(tokens, at)
    if lexeme[:1] == "\\":
        return lexeme in FORMULA_COMMANDS
    if len(lexeme) == 1 and lexeme.isalpha():
        return lexeme not in ("a", "A", "I")
    # The name of a function counts where it is used as one.
    return lexeme in ALIASES and len(lexeme) > 2 and tokens[at + 1] in ("(", "of", "[")


def _gives_result(tokens: list[str], at: int) -> bool:
    """10% of $45 is $4.50: a verb between what is computed and a number is a sign."""
    if at < 3 or not (is_number(tokens[at - 1]) or tokens[at - 1] in ENDS_VALUE):
        return False
    if not (is_number(tokens[at + 1]) or tokens[at + 1] in CURRENCIES):
        return False
    for back in range(at - 1, 0, -1):
        if not (is_number(tokens[back]) or tokens[back] in OPERATORS):
            return False
        if tokens[back] == "of":
            return is_number(tokens[back - 1]) or tokens[back - 1] in ENDS_VALUE
    return False


def _trim(line: TokenLine, start: int, end: int, text: str) -> Span | None:
    """Without the dash, the unmatched bracket or the sign that belongs to the words around it.

    None where a number would be left out together with the relation it stands in.
    """
    tokens = line.tokens
    while start < end and tokens[start] in (")", "]", "}", "%"):
        start += 1
    if start < end and tokens[start] in ("-", "–", "−") and _is_dash(line.spans, start, text):
        start += 1
    start = _after_unmatched(tokens, start, end)
    if start and tokens[start - 1] in PARTS_OF_TEXTS and tokens[start + 1] in ("-", "–", "—"):
        start += 2
    if _is_bracketed(tokens, start, end):
        start, end = start + 1, end - 1
    if start < end and tokens[start] in RELATIONS:
        start += 1
    if start < end and not _begins_side(tokens[start]):
        return None
    # "60% of the students": the word after "of" was not a number. "(so 3 + 4 = 7)" ends with a bracket.
    while start < end and (tokens[end - 1] == "of" or _closes_nothing(tokens, start, end)):
        end -= 1
    if start < end and not _ends_side(tokens[end - 1]):
        # "x + 3 = 7 =": a closing relation asks for what was said already.
        while end > start and tokens[end - 1] in RELATIONS:
            end -= 1
        if end == start or not _ends_side(tokens[end - 1]):
            return None
    return start, end


def _is_bracketed(tokens: list[str], start: int, end: int) -> bool:
    """Whether one pair of brackets holds the whole equation: (3 + 4 = 7)."""
    if end - start < 3 or tokens[start] != "(" or tokens[end - 1] != ")":
        return False
    depth = 0
    for at in range(start, end):
        depth += (tokens[at] == "(") - (tokens[at] == ")")
        if tokens[at] in RELATIONS and depth == 1:
            return True
    return False


def _closes_nothing(tokens: list[str], start: int, end: int) -> bool:
    part = tokens[start:end]
    return part[-1] == ")" and part.count(")") > part.count("(")


def _is_dash(spans: list[Span], at: int, text: str) -> bool:
    following = text[spans[at][1] : spans[at][1] + 1]
    return at > 0 and following.isspace()


def _after_unmatched(tokens: list[str], start: int, end: int) -> int:
    """Past the last closing bracket that has no opening one: 1) 2+2=4."""
    depth = 0
    first = start
    for at in range(start, end):
        if tokens[at] in ("(", "["):
            depth += 1
        elif tokens[at] in (")", "]"):
            depth -= 1
            if depth < 0 and at < end - 1:
                first, depth = at + 1, 0
    return first


def _begins_side(lexeme: str) -> bool:
    return lexeme not in ("*", "×", "·", "⋅", "/", "÷", "^", "**", "+", "%", "!", "of", "mod", "°")


def _ends_side(lexeme: str) -> bool:
    return (
        is_number(lexeme)
        or lexeme in ENDS_VALUE
        or lexeme[:1] == UNIT_MARK
        or lexeme.isalpha()
        or lexeme in "²³½¼¾π}|°"
    )
