"""English to tokens: number words, spoken operators and phrases become the signs they stand for.

Nothing is guessed here. A word that is in no table stays a word, and the parser refuses it.
"""

from itertools import pairwise
from typing import Final

import msgspec

from qwed.engines.math.functions import ALIASES, ARITY, TRIGONOMETRIC
from qwed.engines.math.grammar import ROUND_MARK, SCALE_MARK, SEPARATORS, UNIT_MARK
from qwed.engines.math.phrases import PHRASES
from qwed.engines.math.problems import UndecidedMath
from qwed.engines.math.tokens import Tokens, is_number, locate
from qwed.engines.math.units import UNIT_LETTERS, UNIT_WORDS, UNITS


def _words(text: str) -> list[str]:
    return text.split()


_ONES: Final = {
    word: value
    for value, word in enumerate(
        _words(
            "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
            "sixteen seventeen eighteen nineteen"
        )
    )
}
_TENS: Final = {
    word: 10 * value
    for value, word in enumerate(_words("twenty thirty forty fifty sixty seventy eighty ninety"), start=2)
}
_SCALES: Final = {"thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}
_DOZENS: Final = frozenset({"dozen", "dozens"})
_PARTS: Final = {
    "half": 2,
    "halves": 2,
    "third": 3,
    "quarter": 4,
    "fourth": 4,
    "fifth": 5,
    "sixth": 6,
    "seventh": 7,
    "eighth": 8,
    "ninth": 9,
    "tenth": 10,
    "twelfth": 12,
    "hundredth": 100,
    "thousandth": 1000,
    "thirds": 3,
    "quarters": 4,
    "fourths": 4,
    "fifths": 5,
    "sixths": 6,
    "sevenths": 7,
    "eighths": 8,
    "ninths": 9,
    "tenths": 10,
    "twelfths": 12,
    "hundredths": 100,
    "thousandths": 1000,
}


_CHOICES: Final = {"C": "binomial", "P": "permutations"}
_FEW: Final = frozenset("0123456789")
_NEAREST: Final = {
    **dict.fromkeys(("integer", "whole", "full", "unit", "one", "dollar"), 0),
    "tenth": 1,
    "hundredth": 2,
    "cent": 2,
    "penny": 2,
    "thousandth": 3,
    "ten": -1,
    "hundred": -2,
    "thousand": -3,
    "million": -6,
}
_NEED_OPERAND: Final = tuple((sign,) for sign in ("+", "-", "*", "/", "^", "mod"))
_ARTICLES: Final = frozenset({"the", "a", "an"})
_SIGNS: Final = frozenset("+-−*×·/÷^(=")
_CURRENCY_WORDS: Final = {"rs.": "₹", "rs": "₹", "inr": "₹", "usd": "$", "eur": "€", "gbp": "£"}
_MONEY_WORDS: Final = {"dollars": "USD", "dollar": "USD", "bucks": "USD", "euros": "EUR", "euro": "EUR"}

_HOUR: Final = ("h", "hr", "hour")
_SECOND: Final = ("s", "sec", "second")
_RATES: Final[dict[str, list[tuple[tuple[str, ...], tuple[str, str]]]]] = {
    "mph": [(("mph",), ("mile", "hour"))],
    "kmph": [(("kmph",), ("km", "hour"))],
    "kph": [(("kph",), ("km", "hour"))],
    "km": [(("km", "/", hour), ("km", "hour")) for hour in _HOUR],
    "m": [(("m", "/", second), ("metre", "second")) for second in _SECOND],
}


class Phrase(msgspec.Struct, frozen=True):
    """Rewritten tokens; `spans[i]` is the place in the text that `values[i]` stands for."""

    values: list[str]
    spans: list[tuple[int, int]]


def rewrite(text: str) -> Phrase:
    return _Rewriter(locate(text)).run()


class _Rewriter:
    def __init__(self, tokens: Tokens) -> None:
        self.tokens = tokens
        # Upper case matters for symbols (A is not a), never for words.
        self.words = [value.lower() if len(value) > 1 else value for value in tokens.values]
        self.at = 0
        self.values: list[str] = []
        self.in_list: list[bool] = []
        self.spans: list[tuple[int, int]] = []

    def run(self) -> Phrase:
        while word := self.words[self.at]:
            # Most words are in no table, and most numbers have no comma.
            is_known = word in _KNOWN or ("," in word and len(word) > 1)
            if not is_known or not any(rule(self) for rule in _RULES):
                self.keep()
        self.emit("", len(self.tokens.text), len(self.tokens.text))
        return Phrase(self.values, self.spans)

    def emit(self, value: str, start: int, end: int) -> None:
        self.values.append(value)
        self.spans.append((start, end))

    def keep(self) -> None:
        word = self.words[self.at]
        if not self.is_article():
            value = self.tokens.values[self.at]
            self.emit(
                value if len(value) == 1 else word, self.tokens.starts[self.at], self.tokens.ends[self.at]
            )
        self.at += 1

    def is_article(self) -> bool:
        """`a` is a variable next to signs, an article before a word or a number."""
        if self.words[self.at] not in ("a", "A"):
            return self.words[self.at] in _ARTICLES
        following = self.words[self.at + 1]
        before = self.values[-1] if self.values else ""
        is_followed = len(following) > 1 or is_number(following) or following in ("$", "x")
        return is_followed and following not in ("**", "is") and before not in _SIGNS

    def take(self, count: int, values: tuple[str, ...]) -> None:
        """Replace the next `count` tokens; several new tokens share the place of the old ones."""
        start, end = self.tokens.starts[self.at], self.tokens.ends[self.at + count - 1]
        for value in values:
            self.emit(value, start, end)
        self.at += count

    def phrase(self) -> bool:
        for words, meaning in PHRASES.get(self.words[self.at], ()):
            count = self.matched(words)
            if count and (meaning[-1:] not in _NEED_OPERAND or self.begins_operand(self.at + count)):
                self.take(count, meaning)
                return True
        return False

    def begins_operand(self, at: int) -> bool:
        """Whether a number or a name follows: in "9 times" and "6 minutes less" none does."""
        while self.words[at] in _ARTICLES and self.words[at] != "a":
            at += 1
        word = self.words[at]
        if is_number(word) or (word and word in "($€£¥₹√π|-[.") or len(word) == 1:
            return bool(word) and word not in ",;:?="
        return word in _ONES or word in _TENS or word in _PARTS or word in ALIASES or word in PHRASES

    def matched(self, words: tuple[str, ...]) -> int:
        """How many tokens the phrase takes; an article may stand inside it."""
        at = self.at
        for word in words:
            if at > self.at and self.words[at] in _ARTICLES and word not in _ARTICLES:
                at += 1
            if self.words[at] != word:
                return 0
            at += 1
        return at - self.at

    # -- brackets --------------------------------------------------------------------------------

    def bracket(self) -> bool:
        """Keeps track of where a comma separates: in a list, and between the arguments of a function."""
        word = self.words[self.at]
        if word in ("(", "["):
            before = self.values[-1] if self.values else ""
            self.in_list.append(word == "[" or _takes_list(before))
        elif word in (")", "]") and self.in_list:
            self.in_list.pop()
        return False

    def listed(self) -> bool:
        """[100,200,300] is three numbers, not one."""
        value = self.words[self.at]
        if not (self.in_list and self.in_list[-1] and is_number(value) and "," in value):
            return False
        parts = value.split(",")
        if any(len(part) > 1 and part[0] == "0" and part[1].isdigit() for part in parts):
            raise UndecidedMath("a comma between digits may separate or group")
        start = self.tokens.starts[self.at]
        for index, part in enumerate(parts):
            if index:
                self.emit(",", start - 1, start)
            self.emit(part, start, start + len(part))
            start += len(part) + 1
        self.at += 1
        return True

    # -- numbers ---------------------------------------------------------------------------------

    def number_words(self) -> bool:
        """one hundred and twenty-three; two thirds; half; two and a half; a dozen."""
        at, value = self.read_number(self.at)
        # "the third" is an ordinal.
        if value is None and self.words[at] in ("a", "A", "an") and self.words[at + 1] in _PARTS:
            at, value = at + 1, 1
        if value is None:
            return self.lone_part()
        if self.words[at] == "-" and self.words[at + 1] in _PARTS:
            at += 1
        if self.words[at] in _PARTS and value > 0:
            self.take(at + 1 - self.at, ("(", str(value), "/", str(_PARTS[self.words[at]]), ")"))
        elif self.words[at : at + 3] == ["and", "a", "half"]:
            self.take(at + 3 - self.at, (f"{value}.5",))
        else:
            self.take(at - self.at, (str(value),))
        return True

    def lone_part(self) -> bool:
        """`half` needs no number; 'a third' does, or it is an ordinal."""
        if self.words[self.at] != "half":
            return False
        self.take(1, ("(", "1", "/", "2", ")"))
        if self.words[self.at] != "of":
            self.emit("of", *self.spans[-1])
        return True

    def read_number(self, at: int) -> tuple[int, int | None]:
        total, group, found = 0, 0, False
        while True:
            word = self.words[at]
            if word in _ONES:
                group += _ONES[word]
            elif word in _TENS:
                group += _TENS[word]
                if self.words[at + 1] == "-" and 0 < _ONES.get(self.words[at + 2], 0) < 10:
                    at += 1
            elif word == "hundred" and (found or self.follows_article(at)):
                group = max(group, 1) * 100
            elif word in _SCALES and (group or self.follows_article(at)):
                total, group = total + max(group, 1) * _SCALES[word], 0
            elif word == "and" and found and self.words[at - 1] in ("hundred", *_SCALES):
                if self.words[at + 1] not in _ONES and self.words[at + 1] not in _TENS:
                    break
            else:
                break
            found = True
            at += 1
            # "one two" is two numbers.
            if word in _ONES and (self.words[at] in _ONES or self.words[at] in _TENS):
                break
        return at, total + group if found else None

    def follows_article(self, at: int) -> bool:
        return at > 0 and self.words[at - 1] in ("a", "A", "an", "one")

    def scaled(self) -> bool:
        """1.5 million, 3 dozen, $20k: the scale is a factor of the number before it."""
        if not self.values or not (is_number(self.values[-1]) or self.values[-1][:2] == SCALE_MARK):
            return False
        word = self.words[self.at]
        if word in _DOZENS:
            self.take(1, (UNIT_MARK + "dozen",))
            return True
        if self.words[self.at : self.at + 3] == ["and", "a", "half"] and self.values[-1].isdigit():
            self.values[-1] += ".5"
            self.spans[-1] = (self.spans[-1][0], self.tokens.ends[self.at + 2])
            self.at += 3
            return True
        scale = _SCALES.get(word) or (100 if word == "hundred" else None)
        if scale is None and word == "k" and self.values[-2:-1] == ["$"]:
            scale = 1_000
        if scale is None:
            return False
        self.take(1, (f"{SCALE_MARK}{scale}",))
        return True

    def rounding(self) -> bool:
        """rounded to 2 decimal places; to the nearest ten. The verb may stand before the number."""
        words = self.words
        if words[self.at] in ("round", "rounding") and words[self.at + 1] != "(":
            self.at += 1
            return True
        at = self.at + (words[self.at] in ("rounded", "correct"))
        if words[at] != "to":
            return False
        at += 1 + (words[at + 1] == "the")
        found = self.precision(at)
        if found is None:
            return False
        count, places = found
        self.take(at + count - self.at, (f"{ROUND_MARK}{places}",))
        return True

    def precision(self, at: int) -> tuple[int, int] | None:
        """How many tokens name the precision, and the decimals it stands for."""
        words = self.words
        if words[at] == "nearest" and words[at + 1] in _NEAREST:
            return 2 + (words[at + 1] in ("whole", "full")), _NEAREST[words[at + 1]]
        places = _ONES.get(words[at], int(words[at]) if words[at] in _FEW else None)
        if places is None or words[at + 1] not in ("decimal", "decimals"):
            return None
        return 2 + (words[at + 2] in ("place", "places")), places

    def currency_word(self) -> bool:
        """Rs. 500, USD 20: the sign of the currency."""
        sign = _CURRENCY_WORDS.get(self.words[self.at])
        if sign is None or not (is_number(self.words[self.at + 1]) or self.words[self.at + 1] == "("):
            return False
        self.take(1, (sign,))
        return True

    def times_sign(self) -> bool:
        """An x between two numbers multiplies, and so does the @ of a price; a lone x does not."""
        if self.words[self.at] not in ("x", "X", "@") or not self.values:
            return False
        before, after = self.values[-1], self.words[self.at + 1]
        is_label = len(before) > 1 and before.isalpha() and before not in SEPARATORS
        if not (_is_measured(before) or before == "%" or is_label):
            return False
        if not (is_number(after) or (after and after in "$€£¥₹")):
            return False
        self.take(1, ("*",))
        return True

    def choice(self) -> bool:
        """8C2 and 5P3, written without blanks."""
        name = _CHOICES.get(self.tokens.values[self.at])
        if name is None or self.at == 0 or not self.words[self.at + 1].isdigit():
            return False
        tokens = self.tokens
        if (
            tokens.ends[self.at - 1] != tokens.starts[self.at]
            or tokens.ends[self.at] != tokens.starts[self.at + 1]
        ):
            return False
        if not self.values or not self.values[-1].isdigit():
            return False
        total, place = self.values.pop(), self.spans.pop()
        end = tokens.ends[self.at + 1]
        for value in (name, "(", total, ",", self.words[self.at + 1], ")"):
            self.emit(value, place[0], end)
        self.at += 2
        return True

    def degrees(self) -> bool:
        """A measure of an angle where an angle is asked for; anywhere else a thing that is counted."""
        if self.words[self.at] not in ("degrees", "degree") or not TRIGONOMETRIC.intersection(self.values):
            return False
        self.take(1, ("°",))
        return True

    def rate_word(self) -> bool:
        """60 mph, 60 km/h, 20 m/s: a length for each unit of time."""
        if not self.values or not is_number(self.values[-1]):
            return False
        for words, (length, time) in _RATES.get(self.words[self.at], ()):
            if tuple(self.words[self.at : self.at + len(words)]) == words:
                self.take(len(words), (UNIT_MARK + length, f"{UNIT_MARK}/{time}"))
                return True
        return False

    def unit_letter(self) -> str | None:
        """5 kg + 300 g: a letter after a number and a blank is a unit where another of its kind is near."""
        unit = UNIT_LETTERS.get(self.words[self.at])
        if unit is None or self.at == 0:
            return None
        # 60 min/h; but 5g may be five times g.
        if self.tokens.ends[self.at - 1] == self.tokens.starts[self.at] and self.words[self.at - 1] != "/":
            return None
        kind = UNITS[unit][0]
        near = {UNITS[other][0] for word in self.words if (other := UNIT_WORDS.get(word)) is not None}
        return unit if kind in near or (kind == "length" and self.has_speed()) else None

    def has_speed(self) -> bool:
        return any(pair == ("m", "/") for pair in pairwise(self.words))

    def unit_word(self) -> bool:
        """A unit of known size right after a number; `per hour` and `/hour` divide by one of it."""
        word = self.words[self.at]
        unit = _MONEY_WORDS.get(word) or UNIT_WORDS.get(word) or self.unit_letter()
        # Areas and volumes have no sizes here: "cm²" is left as a word.
        if unit is None or not self.values or self.words[self.at + 1] in ("²", "³", "^"):
            return False
        before = self.values[-1]
        if before in ("/", "per") and len(self.values) > 1 and _is_measured(self.values[-2]):
            self.values.pop()
            self.spans.pop()
            self.take(1, (f"{UNIT_MARK}/{unit}",))
            return True
        if not _is_measured(before):
            return False
        if self.values[-2:-1] == ["$"]:
            self.at += 1
        else:
            self.take(1, (UNIT_MARK + unit,))
        return True


def _is_measured(value: str) -> bool:
    """A number, or a quantity already: what a unit may follow."""
    return is_number(value) or value == ")" or value[:1] == UNIT_MARK


def _takes_list(name: str) -> bool:
    canonical = ALIASES.get(name)
    return canonical is not None and ARITY[canonical][1] > 1


_RULES: Final = (
    _Rewriter.bracket,
    _Rewriter.listed,
    _Rewriter.scaled,
    _Rewriter.rounding,
    _Rewriter.phrase,
    _Rewriter.number_words,
    _Rewriter.currency_word,
    _Rewriter.times_sign,
    _Rewriter.choice,
    _Rewriter.degrees,
    _Rewriter.rate_word,
    _Rewriter.unit_word,
)
# What a rule may begin with.
_KNOWN: Final = frozenset(
    (*_ONES, *_TENS, *_SCALES, *_DOZENS, *_ARTICLES, *PHRASES, *_CURRENCY_WORDS, *_MONEY_WORDS, *UNIT_WORDS)
) | {
    *("(", ")", "[", "]", "x", "X", "@", "A", "C", "P", "k", "hundred", "and", "half", "degrees", "degree"),
    *("round", "rounding", "rounded", "correct", "to"),
    *_RATES,
    *UNIT_LETTERS,
}
