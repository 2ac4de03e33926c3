"""Sentences as the meanings of their words, one clause for each language they may be in."""

import functools
import re
from collections.abc import Iterator
from typing import Final

import msgspec

from qwed.domain.lazy_pattern import lazy_pattern
from qwed_open_responses.orders.meanings import Meaning, find_unspaced_words, fold, lexicon, meanings

# A sentence without end is read in pieces of this many words.
MAX_WORDS: Final = 60
MAX_LENGTH: Final = 480
_TOKEN = lazy_pattern(
    r"https?://[^\s\"'<>]{1,300}|www\.[^\s\"'<>]{1,200}|[\w.+-]{1,64}@[\w.-]{3,80}|[\w-]{1,40}(?:\.[\w-]{2,40}){1,4}"
    r"|[^\W_][\w'\u0900-\u0963\u0966-\u0dff-]*"
)
_END = lazy_pattern(r"[.!?؟](?=[\s\"'”»)\]]|$)|[。！？।\n]|[;؛] ")
_PLACE = lazy_pattern(
    r"https?:|www\.|[\w.+-]+@\w|\+?[0-9]{9,}$|[a-z]{2}[0-9]{2}[a-z0-9]{10,30}$"
    r"|[\w.-]+\.(?:com|org|net|io|example|dev|app|info|biz|xyz|top|co|ru|cn|me|link|site|online)$"
)
_UNSPACED_SCRIPT = lazy_pattern(r"[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff]")
_HAS_PLACE = lazy_pattern(r"https?://|[\w.+-]@\w|www\.")
_COMMON: Final = "*"


class Clause(msgspec.Struct, frozen=True, gc=False):
    """`masks` has a bit for every word that means the concept; `opens` a bit for every word that begins the
    sentence or follows a sign; `raw` is the text of the sentence."""

    language: str
    masks: dict[str, int]
    opens: int
    raw: str

    def has(self, *concepts: str) -> bool:
        return any(concept in self.masks for concept in concepts)

    def mask(self, *concepts: str) -> int:
        found = 0
        for concept in concepts:
            found |= self.masks.get(concept, 0)
        return found

    def near(self, some: str, others: tuple[str, ...], distance: int) -> bool:
        """Whether words of two meanings stand within so many words; one word does not stand near itself."""
        one = self.masks.get(some, 0)
        other = self.mask(*others) if one else 0
        return bool(other) and bool((_reach(one, distance) | _reach_back(one, distance)) & other)

    def before(self, some: str, others: tuple[str, ...], distance: int) -> bool:
        """Whether a word of the first meaning has one of the others within so many words behind it."""
        one = self.masks.get(some, 0)
        return bool(one) and bool(_reach(one, distance) & self.mask(*others))

    def orders(self, concept: str) -> int:
        """The words of the concept that stand where an order begins. Only English is told apart so: the forms
        that the other lexicons list are mostly those of orders."""
        mask = self.masks.get(concept, 0)
        return (
            mask & (self.opens | self.mask("lead", "hide", "first") << 1) if self.language == "en" else mask
        )


def _reach(mask: int, distance: int) -> int:
    found = 0
    for step in range(1, distance + 1):
        found |= mask << step
    return found


def _reach_back(mask: int, distance: int) -> int:
    found = 0
    for step in range(1, distance + 1):
        found |= mask >> step
    return found


def spans(text: str) -> Iterator[tuple[int, int]]:
    """Where the sentences of a text stand."""
    start = 0
    for match in _END.finditer(text):
        if match.end() - start > 1:
            yield from _pieces(text, start, match.end())
        start = match.end()
    if start < len(text):
        yield from _pieces(text, start, len(text))


def _pieces(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """A sentence that does not end is read in pieces, cut at a blank where there is one."""
    while end - start > MAX_LENGTH:
        cut = text.rfind(" ", start + MAX_LENGTH // 2, start + MAX_LENGTH) + 1 or start + MAX_LENGTH
        yield start, cut
        start = cut
    yield start, end


def read(text: str, start: int, end: int) -> tuple[Clause, ...]:
    """What the words of one sentence mean."""
    raw = text[start:end].lstrip(" ")
    lowered = raw.lower().replace("’", "'")
    if not raw.isascii() and _UNSPACED_SCRIPT.search(lowered):
        return tuple(_read_unspaced(raw, lowered))
    tokens = list(_TOKEN.finditer(lowered))
    pieces = (tokens[first : first + MAX_WORDS] for first in range(0, len(tokens), MAX_WORDS))
    return tuple(clause for piece in pieces for clause in _clauses(piece, lowered, raw))


class _Entry(msgspec.Struct, frozen=True, gc=False):
    meanings: tuple[Meaning, ...]
    # By their second word, the words behind it and what they mean together.
    phrases: dict[str, list[tuple[tuple[str, ...], Meaning]]]


@functools.lru_cache(maxsize=32768)
def _entry(token: str) -> _Entry | None:
    word = token.rstrip("'-")
    found = meanings(word)
    if _PLACE.match(word):
        found = (*found, (_COMMON, "place"))
    elif "_" in word:
        found = (*found, (_COMMON, "tool"))
    table = lexicon().phrases
    phrases: dict[str, list[tuple[tuple[str, ...], Meaning]]] = {}
    for first in dict.fromkeys((word, fold(word))):
        for (second, *rest), meaning in table.get(first, ()):
            phrases.setdefault(second, []).append((tuple(rest), meaning))
    return _Entry(found, phrases) if found or phrases else None


def _clauses(tokens: list[re.Match[str]], lowered: str, raw: str) -> Iterator[Clause]:
    by_language: dict[str, dict[str, int]] = {}
    bit = 1
    opens = 1
    for index, token in enumerate(tokens):
        entry = _entry(token.group())
        if entry is not None:
            found = entry.meanings
            if entry.phrases:
                found = (*found, *_phrases(tokens, index, entry.phrases))
            for language, concept in found:
                masks = by_language.setdefault(language, {})
                masks[concept] = masks.get(concept, 0) | bit
            at = token.start()
            if at > 1 and (
                lowered[at - 1] in _SIGNS or (lowered[at - 1] == " " and lowered[at - 2] in _SIGNS)
            ):
                opens |= bit
        bit <<= 1
    common = by_language.pop(_COMMON, {})
    for language, masks in _likely(by_language):
        yield Clause(language, masks | common, opens, raw)


_SIGNS: Final = frozenset(":,;()[]<>\"'“”-*#>=.!?—–|{}/`")


def _phrases(
    tokens: list[re.Match[str]], index: int, phrases: dict[str, list[tuple[tuple[str, ...], Meaning]]]
) -> Iterator[Meaning]:
    if index + 1 >= len(tokens):
        return
    second = tokens[index + 1].group().rstrip("'-")
    found = phrases.get(second) or phrases.get(fold(second)) or _by_stem(second, phrases)
    for rest, meaning in found:
        following = tokens[index + 2 : index + 2 + len(rest)]
        if len(following) == len(rest) and all(
            _is_part(token.group().rstrip("'-"), part, meaning[0])
            for token, part in zip(following, rest, strict=True)
        ):
            yield meaning


def _by_stem(
    word: str, phrases: dict[str, list[tuple[tuple[str, ...], Meaning]]]
) -> list[tuple[tuple[str, ...], Meaning]]:
    plain = fold(word)
    return [
        one
        for part, found in phrases.items()
        if part.endswith("*") and plain.startswith(part[:-1])
        for one in found
    ]


def _is_part(word: str, part: str, language: str) -> bool:
    word = word if language == "vi" else fold(word)
    return word.startswith(part[:-1]) if part.endswith("*") else word == part


def _likely(by_language: dict[str, dict[str, int]]) -> Iterator[tuple[str, dict[str, int]]]:
    """The languages that most of the words belong to: a word may mean other things in other languages."""
    known = {language: _words_in(masks) for language, masks in by_language.items()}
    most = max(known.values(), default=0)
    for language, count in known.items():
        if count * 3 >= most * 2:
            yield language, by_language[language]


def _words_in(masks: dict[str, int]) -> int:
    found = 0
    for mask in masks.values():
        found |= mask
    return found.bit_count()


def _read_unspaced(raw: str, lowered: str) -> Iterator[Clause]:
    """Words of a dictionary, one after the other; what stands between them counts as little as blanks."""
    found = list(find_unspaced_words().finditer(lowered))
    common = {"place": 1 << MAX_WORDS // 4} if _HAS_PLACE.search(lowered) else {}
    table = lexicon().unspaced
    for first in range(0, len(found), MAX_WORDS):
        by_language: dict[str, dict[str, int]] = {}
        for index, match in enumerate(found[first : first + MAX_WORDS]):
            for language, concept in table[match.group()]:
                masks = by_language.setdefault(language, {})
                masks[concept] = masks.get(concept, 0) | 1 << index
        for language, masks in by_language.items():
            yield Clause(language, masks | common, 1, raw)
