"""Sentences into words, numbers with units, and dates."""

import re
from collections.abc import Iterator
from fractions import Fraction
from typing import Final

import msgspec

from qwed.engines.fact import dates
from qwed.engines.fact.dates import Span, compare_spans, year_span
from qwed.engines.fact.quantities import (
    NUMBER,
    NUMBER_WORDS,
    SCALES,
    UNITS,
    OpenQuantity,
    Relation,
    Unit,
    compare,
)
from qwed.engines.fact.sentences import plain_signs

Value = OpenQuantity | Span
MAX_NUMBER_LENGTH: Final = 40


class WordItem(msgspec.Struct, frozen=True):
    """A word, a sign, or a value; `lower` is what is compared."""

    text: str
    lower: str
    value: Value | None = None

    @property
    def is_word(self) -> bool:
        return self.value is None and self.text[0].isalnum()

    @property
    def is_capitalised(self) -> bool:
        return self.value is None and self.text[0].isupper()


def compare_values(claim: Value, source: Value) -> Relation:
    if isinstance(claim, Span) and isinstance(source, Span):
        return compare_spans(claim, source)
    if isinstance(claim, OpenQuantity) and isinstance(source, OpenQuantity):
        return compare(claim, source)
    claim_span, source_span = _as_span(claim), _as_span(source)
    if claim_span is None or source_span is None:
        return Relation.UNKNOWN
    return compare_spans(claim_span, source_span)


def _as_span(value: Value) -> Span | None:
    """A bare 1998 may be a year, when the other side says it is one."""
    if isinstance(value, Span):
        return value
    is_year = value.is_exact and value.unit == NUMBER and value.low is not None and value.low.denominator == 1
    return year_span(int(value.low)) if is_year and value.low and 1000 <= value.low <= 2100 else None


_TOKEN: Final = re.compile(
    r"(?P<number>(?:(?<![\w.)\]])-)?(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?))(?P<glued>km/h|m/s|[A-Za-z%°²]*[A-Za-z%²])?(?![\w])"
    r"|(?P<acronym>\b(?:[A-Za-z]\.)+[A-Za-z]\b\.?)"
    r"|(?P<word>[^\W_]+(?:[-_&][^\W_]+)*)"
    r"|(?P<genitive>'s\b|'(?=\s))"
    r"|(?P<sign>\S)"
)
_CONTRACTIONS: Final = (
    (re.compile(r"\bcan't\b", re.I), "can not"),
    (re.compile(r"\bcannot\b", re.I), "can not"),
    (re.compile(r"\bwon't\b", re.I), "will not"),
    (re.compile(r"n't\b", re.I), " not"),
    (re.compile(r"\bper cent\b", re.I), "percent"),
    (re.compile(r"\bsq(?:uare|\.)? (km|kilomet(?:er|re)s?)\b", re.I), "km2"),
    (re.compile(r"\bsq(?:uare|\.)? (m|met(?:er|re)s?)\b", re.I), "m2"),
    (re.compile(r"\bkilomet(?:er|re)s per hour\b", re.I), "km/h"),
    (re.compile(r"\bmiles per hour\b", re.I), "mph"),
    (re.compile(r"\bdegrees (celsius|fahrenheit)\b", re.I), r"\1"),
    (re.compile(r"° ?C\b"), " celsius"),
    (re.compile(r"° ?F\b"), " fahrenheit"),
)


# Most sentences hold none of these: one look instead of a dozen.
_CONTRACTED: Final = re.compile(r"n't\b|\bcannot\b|\bper\b|\bsq|°|\bdegrees\b", re.I)


def read_items(sentence: str) -> list[WordItem]:
    """The items of one sentence, its final stop left out."""
    plain = plain_signs(sentence).strip().rstrip(".!").strip()
    if _CONTRACTED.search(plain):
        for pattern, replacement in _CONTRACTIONS:
            plain = pattern.sub(replacement, plain)
    return _with_values(list(_tokens(plain)))


class _Token(msgspec.Struct, frozen=True):
    text: str
    kind: str
    glued: str = ""
    value: Value | None = None


def _tokens(plain: str) -> Iterator[_Token]:
    position = 0
    if any(character.isdigit() for character in plain):
        for match in dates.DATE.finditer(plain):
            span = dates.read_date(match)
            if span is not None:
                yield from _plain_tokens(plain[position : match.start()])
                yield _Token(match.group(), "date", "", span)
                position = match.end()
    yield from _plain_tokens(plain[position:])


def _plain_tokens(text: str) -> Iterator[_Token]:
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup or "sign"
        if match["number"]:
            yield _number_token(match)
        elif kind == "acronym":
            yield _Token(match.group().replace(".", ""), "word")
        else:
            yield _Token(match.group(), kind)


def _number_token(match: re.Match[str]) -> _Token:
    glued = (match["glued"] or "").lower()
    is_known = glued in UNITS or glued in ("k", "m", "bn", "b") or not glued
    if not is_known or len(match["number"]) > MAX_NUMBER_LENGTH:
        return _Token(match.group(), "word")
    return _Token(match["number"], "number", glued)


_APPROXIMATE: Final = frozenset(
    {"about", "approximately", "around", "roughly", "nearly", "almost", "circa", "~", "≈", "some"}
)
# Words before a number -> (is it a lower bound, is the bound itself excluded).
_BOUNDS: Final = {
    ("more", "than"): (True, True),
    ("greater", "than"): (True, True),
    ("over",): (True, True),
    ("above",): (True, True),
    ("exceeding",): (True, True),
    ("at", "least"): (True, False),
    ("no", "less", "than"): (True, False),
    ("no", "fewer", "than"): (True, False),
    ("less", "than"): (False, True),
    ("fewer", "than"): (False, True),
    ("under",): (False, True),
    ("below",): (False, True),
    ("at", "most"): (False, False),
    ("up", "to"): (False, False),
    ("no", "more", "than"): (False, False),
}
_EXACT: Final = frozenset({"exactly", "precisely"})
_BEFORE_YEARS: Final = frozenset(
    {"in", "since", "by", "until", "during", "before", "after", "from", "of", "year", "early", "late"}
)


def _with_values(tokens: list[_Token]) -> list[WordItem]:
    """Numbers joined with their signs, scales, units and bounds."""
    items: list[WordItem] = []
    index = 0
    while index < len(tokens):
        token = tokens[index]
        found = _read_quantity(tokens, index) if token.kind in ("number", "word", "sign") else None
        if found is not None:
            quantity, end = found
            text = " ".join(part.text + part.glued for part in tokens[index:end])
            items.append(_bound(items, quantity, text, _is_year(tokens, index, end, items)))
            index = end
            continue
        items.append(WordItem(token.text, token.text.lower(), token.value))
        index += 1
    return _with_ranges(items)


def _is_year(tokens: list[_Token], index: int, end: int, items: list[WordItem]) -> bool:
    if end - index != 1 or tokens[index].glued or not dates.YEAR.match(tokens[index].text) or not items:
        return False
    follows = items[-1].lower in _BEFORE_YEARS
    before_noun = end < len(tokens) and tokens[end].kind == "word" and tokens[end].text.islower()
    return follows and not (items[-1].lower == "of" and before_noun)


def _read_quantity(tokens: list[_Token], index: int) -> tuple[OpenQuantity, int] | None:
    """A number with what belongs to it, and the index after it."""
    position = index
    unit: Unit | None = None
    token = tokens[position]
    if token.text.lower() in UNITS and token.text in "$€£¥₹" and _has(tokens, position + 1, "number"):
        unit, position = UNITS[token.text], position + 1
        token = tokens[position]
    elif (
        token.kind == "word"
        and token.text in ("US", "USD", "EUR", "GBP")
        and _has(tokens, position + 1, "number")
    ):
        unit, position = UNITS.get(token.text.lower(), UNITS["$"]), position + 1
        token = tokens[position]
    number = _read_number(tokens, position)
    if number is None:
        return None
    value, step, position = number
    return _finish(tokens, position, value, step, unit, token)


def _has(tokens: list[_Token], index: int, kind: str) -> bool:
    return index < len(tokens) and tokens[index].kind == kind


def _read_number(tokens: list[_Token], index: int) -> tuple[Fraction, Fraction, int] | None:
    token = tokens[index]
    if token.kind == "number":
        digits = token.text.replace(",", "")
        places = len(digits.partition(".")[2])
        return Fraction(digits), Fraction(1, 10**places), index + 1
    word = token.text.lower()
    if token.kind != "word" or word.partition("-")[0] not in NUMBER_WORDS:
        return None
    following = tokens[index + 1].text.lower() if index + 1 < len(tokens) else ""
    if word == "one" and (following in ("of", "") or (following not in SCALES and not following.isalpha())):
        return None
    tens, hyphen, ones = word.partition("-")
    if hyphen and (ones not in NUMBER_WORDS or NUMBER_WORDS[tens] < 20):
        return None
    return NUMBER_WORDS[tens] + (NUMBER_WORDS[ones] if hyphen else 0), Fraction(1), index + 1


def _finish(
    tokens: list[_Token], position: int, value: Fraction, step: Fraction, unit: Unit | None, token: _Token
) -> tuple[OpenQuantity, int]:
    """The scale and the unit that follow the digits."""
    glued = token.glued
    scale = Fraction(1)
    if glued in ("k", "bn", "b") or (glued == "m" and unit is not None):
        scale = {"k": SCALES["thousand"], "m": SCALES["million"]}.get(glued, SCALES["billion"])
    elif glued:
        unit = UNITS[glued]
    while position < len(tokens) and tokens[position].text.lower() in SCALES and not (glued and unit is None):
        scale *= SCALES[tokens[position].text.lower()]
        position += 1
    if unit is None and position < len(tokens) and _is_unit(tokens, position):
        unit, position = UNITS[tokens[position].text.lower()], position + 1
        unit, position = _per_something(tokens, unit, position)
    return OpenQuantity(value * scale, value * scale, unit or NUMBER, step * scale), position


def _is_unit(tokens: list[_Token], position: int) -> bool:
    text = tokens[position].text
    if text.lower() not in UNITS or text in ("T", "G", "S", "H", "L", "W", "M") or text in "$€£¥₹":
        return False
    return tokens[position].kind == "word" or text == "%"


def _per_something(tokens: list[_Token], unit: Unit, position: int) -> tuple[Unit, int]:
    """A rate is another dimension: "5 dollars per hour" is no amount of dollars."""
    if position + 1 < len(tokens) and tokens[position].text.lower() in ("per", "/"):
        rate = f"{unit.dimension} per {tokens[position + 1].text.lower()}"
        return Unit(rate, unit.factor, unit.offset), position + 2
    return unit, position


def _bound(items: list[WordItem], quantity: OpenQuantity, text: str, is_year: bool) -> WordItem:
    """The value as an item; words that bound it are taken from the items before it."""
    if is_year:
        assert quantity.low is not None
        return WordItem(text, text, year_span(int(quantity.low)))
    before = [item.lower for item in items[-3:]]
    if before and before[-1] in _APPROXIMATE:
        items.pop()
        return WordItem(text, text, _approximate(quantity))
    if before and before[-1] in _EXACT:
        items.pop()
        return WordItem(text, text, quantity)
    for length in (3, 2, 1):
        bound = _BOUNDS.get(tuple(before[-length:])) if len(before) >= length else None
        if bound is not None:
            del items[-length:]
            return WordItem(text, text, _one_sided(quantity, *bound))
    return WordItem(text, text, quantity)


def _approximate(quantity: OpenQuantity) -> OpenQuantity:
    """About 300: the zeros at the end may be rounding."""
    assert quantity.low is not None
    step = quantity.step
    while step * 10 <= abs(quantity.low) and (quantity.low / (step * 10)).denominator == 1:
        step *= 10
    return OpenQuantity(quantity.low, quantity.high, quantity.unit, step, is_approximate=True)


def _one_sided(quantity: OpenQuantity, is_lower: bool, excluded: bool) -> OpenQuantity:
    if is_lower:
        return OpenQuantity(quantity.low, None, quantity.unit, quantity.step, low_excluded=excluded)
    return OpenQuantity(None, quantity.high, quantity.unit, quantity.step, high_excluded=excluded)


def _with_ranges(items: list[WordItem]) -> list[WordItem]:
    """`between 5 and 7 kg` and `5-7 kg` are one value."""
    result: list[WordItem] = []
    for item in items:
        start = _range_start(result)
        if start is not None and isinstance(item.value, OpenQuantity):
            low = result[start[1]].value
            assert isinstance(low, OpenQuantity)
            if (
                item.value.is_exact
                and low.unit in (NUMBER, item.value.unit)
                and _are_in_order(low, item.value)
            ):
                text = " ".join(part.text for part in result[start[0] :]) + " " + item.text
                del result[start[0] :]
                item = WordItem(
                    text, text, OpenQuantity(low.low, item.value.high, item.value.unit, item.value.step)
                )
        result.append(item)
    return result


def _range_start(items: list[WordItem]) -> tuple[int, int] | None:
    """Where a range begins and where its lower end is, if the items end in `between 5 and` or `5 -`."""
    if len(items) >= 3 and items[-1].lower == "and" and items[-3].lower == "between" and _is_exact(items[-2]):
        return len(items) - 3, len(items) - 2
    if len(items) >= 2 and items[-1].text == "-" and _is_exact(items[-2]):
        return len(items) - 2, len(items) - 2
    return None


def _is_exact(item: WordItem) -> bool:
    return isinstance(item.value, OpenQuantity) and item.value.is_exact


def _are_in_order(low: OpenQuantity, high: OpenQuantity) -> bool:
    return low.low is not None and high.low is not None and low.low < high.low
