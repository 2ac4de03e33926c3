"""What words mean: the lexicon, read once, and asked word by word."""

import functools
import re
import unicodedata
from collections.abc import Iterator
from importlib import resources
from typing import Final

import msgspec

LANGUAGES: Final = (
    "en", "de", "fr", "es", "it", "pt", "nl", "pl", "cs", "sv", "da", "fi", "ro", "hu", "tr", "id", "vi",
    "ru", "uk", "el", "ar", "fa", "he", "hi", "ko", "zh", "ja", "th",
)  # fmt: skip
# These put no blanks between words: their words are looked for anywhere.
UNSPACED: Final = frozenset({"zh", "ja", "th"})
_CLITICS: Final = {
    "ar": ("وال", "بال", "لل", "ال", "و", "ف", "ب", "ل"),
    "he": ("וה", "ה", "ו", "ב", "ל", "מ", "ש"),
}
_SHORTEST_STEM: Final = 1
_LONGEST_STEM: Final = 14

Meaning = tuple[str, str]  # language, concept


class Lexicon(msgspec.Struct, frozen=True):
    """`words` are whole, `stems` begin a word, `endings` end one; `phrases` go by their first word."""

    words: dict[str, tuple[Meaning, ...]]
    stems: dict[str, tuple[Meaning, ...]]
    endings: dict[str, tuple[Meaning, ...]]
    phrases: dict[str, tuple[tuple[tuple[str, ...], Meaning], ...]]
    unspaced: dict[str, tuple[Meaning, ...]]


def fold(text: str) -> str:
    """Small letters without accents; the marks of Arabic and Hebrew vowels left out."""
    return text if text.isascii() else text.translate(_folds())


@functools.cache
def _folds() -> dict[int, str | None]:
    folds: dict[int, str | None] = {}
    for code in (*range(0xC0, 0x250), *range(0x386, 0x530), *range(0x1E00, 0x2000)):
        base = unicodedata.normalize("NFD", chr(code))
        if len(base) > 1:
            folds[code] = "".join(letter for letter in base if not unicodedata.combining(letter))
    folds |= {ord(letter): plain for letter, plain in zip("ıłđøßæœåðþ", _PLAIN, strict=True)}
    folds |= dict.fromkeys((*range(0x300, 0x370), *range(0x591, 0x5C8), *range(0x64B, 0x660), 0x670, 0x640))
    folds |= dict.fromkeys(map(ord, "أإآٱ"), "ا")
    return folds


_PLAIN: Final = ("i", "l", "d", "o", "ss", "ae", "oe", "a", "d", "th")


@functools.cache
def lexicon() -> Lexicon:
    words: dict[str, list[Meaning]] = {}
    stems: dict[str, list[Meaning]] = {}
    endings: dict[str, list[Meaning]] = {}
    phrases: dict[str, list[tuple[tuple[str, ...], Meaning]]] = {}
    unspaced: dict[str, list[Meaning]] = {}
    for entry, meaning in entries():
        if meaning[0] in UNSPACED:
            unspaced.setdefault(entry, []).append(meaning)
        elif "_" in entry:
            first, *rest = entry.split("_")
            phrases.setdefault(first, []).append((tuple(rest), meaning))
        elif entry.startswith("*"):
            endings.setdefault(entry[1:], []).append(meaning)
        elif entry.endswith("*"):
            stems.setdefault(entry[:-1], []).append(meaning)
        else:
            words.setdefault(entry, []).append(meaning)
    return Lexicon(
        words={word: tuple(found) for word, found in words.items()},
        stems={stem: tuple(found) for stem, found in stems.items()},
        endings={ending: tuple(found) for ending, found in endings.items()},
        phrases={first: tuple(found) for first, found in phrases.items()},
        unspaced={word: tuple(found) for word, found in unspaced.items()},
    )


def entries() -> Iterator[tuple[str, Meaning]]:
    """Every entry of every language, as it is written in the lexicon but for accents."""
    folder = resources.files("qwed_open_responses.orders").joinpath("lexicon")
    for language in LANGUAGES:
        for line in folder.joinpath(f"{language}.txt").read_text("utf-8").splitlines():
            concept, _, entries = line.partition(":")
            for entry in entries.split():
                yield (entry.lower() if language == "vi" else fold(entry.lower())), (language, concept)


@functools.lru_cache(maxsize=16384)
def meanings(word: str) -> tuple[Meaning, ...]:
    """The meanings of one word in small letters."""
    known = lexicon()
    plain = fold(word)
    found = [*known.words.get(word, ())] if plain != word else []
    for part in _parts(plain):
        found += known.words.get(part, ())
        for size in range(_SHORTEST_STEM, min(len(part), _LONGEST_STEM) + 1):
            found += known.stems.get(part[:size], ())
    if not plain.isascii():
        found += _with_clitics(plain)
        for size in range(1, min(len(plain), 6) + 1):
            found += known.endings.get(plain[-size:], ())
    return tuple(dict.fromkeys(found))


def _parts(word: str) -> tuple[str, ...]:
    """`l'utilisateur` and `user's` are read in parts as well."""
    return (word, *filter(None, word.split("'"))) if "'" in word else (word,)


def _with_clitics(word: str) -> Iterator[Meaning]:
    words = lexicon().words
    for language, clitics in _CLITICS.items():
        for clitic in clitics:
            if word.startswith(clitic) and len(word) > len(clitic) + 1:
                yield from (one for one in words.get(word[len(clitic) :], ()) if one[0] == language)


@functools.cache
def find_unspaced_words() -> re.Pattern[str]:
    """The words of languages without blanks, the longest first."""
    words = sorted(lexicon().unspaced, key=len, reverse=True)
    return re.compile("|".join(map(re.escape, words)))
